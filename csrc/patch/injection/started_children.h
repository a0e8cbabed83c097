// Programs that Frida starts in this process end with it until Frida lets go of them: were this process killed before,
// they would stand still for ever, or go on without anybody who knows of them.
#pragma once

#include <sys/types.h>

namespace strobe {

// Before Frida forks: the children of this process are meant. Frida's helper is the child of one that ends at once, and
// goes on.
void begin_ending_children();
// In the place of fork, in Frida: the child ends with the thread that calls this.
pid_t fork_with_end();
// In the place of execve, in Frida, in such a child: from here on it ends with who traces it alone. Linux clears
// neither at exec.
int execve_without_end(const char* path, char* const* arguments, char* const* environment);
// On the thread that has called fork_with_end: waitpid has found this status. A child that has stopped for the first
// time ends with this thread for as long as this thread traces it.
void note_child(pid_t child, int status);

}  // namespace strobe
