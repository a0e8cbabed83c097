/* A library that asks ptrace and waitpid as Frida's does: by calls that the dynamic linker binds. */
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/wait.h>

long library_ptrace(int request, pid_t thread, void* address, void* data) {
    return ptrace(request, thread, address, data);
}

pid_t library_waitpid(pid_t process, int* status, int options) { return waitpid(process, status, options); }
