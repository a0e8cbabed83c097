/* A library to be preloaded: ends the process by SIGKILL when it has changed something by ptrace for the ENDS_AT-th
   time. 0: never; then the file ENDS_COUNT has as many bytes as there were changes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <unistd.h>

static int owner, ends_at, count_file = -1, changes;

__attribute__((constructor)) static void begin(void) {
    const char* path = getenv("ENDS_COUNT");
    const char* number = getenv("ENDS_AT"); /* not of what Frida starts */
    owner = getpid();
    ends_at = number == NULL ? 0 : atoi(number);
    if (path != NULL) count_file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static int changes_something(int request) {
    return request != PTRACE_GETREGS && request != PTRACE_GETREGSET && request != PTRACE_GETSIGINFO &&
           request != PTRACE_GETSIGMASK && request != PTRACE_GET_SYSCALL_INFO && request != PTRACE_PEEKUSER &&
           request != PTRACE_PEEKSIGINFO;
}

static void note_change(void) {
    const int error = errno;
    const int number = __atomic_add_fetch(&changes, 1, __ATOMIC_SEQ_CST);
    if (number == ends_at) kill(owner, SIGKILL);
    if (count_file >= 0 && write(count_file, "", 1) != 1) abort();
    errno = error;
}

long ptrace(enum __ptrace_request request, ...) {
    static long (*real)(enum __ptrace_request, ...);
    va_list rest;
    va_start(rest, request);
    const pid_t thread = va_arg(rest, pid_t);
    void* address = va_arg(rest, void*);
    void* data = va_arg(rest, void*);
    va_end(rest);
    if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "ptrace");
    const long result = real(request, thread, address, data);
    if (getpid() == owner && changes_something((int)request)) note_change();
    return result;
}
