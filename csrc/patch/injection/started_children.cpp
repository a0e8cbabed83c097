#include "patch/injection/started_children.h"

#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <set>

namespace strobe {

namespace {

pid_t host = 0;

thread_local std::set<pid_t> forked;  // that have not stopped yet: on the thread of Frida that traces them

}  // namespace

void begin_ending_children() { host = getpid(); }

pid_t fork_with_end() {
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (parent != host) return child;
    if (child > 0) {
        const int error = errno;
        forked.insert(child);
        errno = error;
    } else if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(1);  // it has ended before
    }
    return child;
}

int execve_without_end(const char* path, char* const* arguments, char* const* environment) {
    prctl(PR_SET_PDEATHSIG, 0);
    return execve(path, arguments, environment);
}

void note_child(pid_t child, int status) {
    if (forked.erase(child) != 0 && WIFSTOPPED(status)) ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_EXITKILL);
}

}  // namespace strobe
