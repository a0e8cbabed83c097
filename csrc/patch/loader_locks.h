// The locks of a process's dynamic loader.
#pragma once

#include <sys/types.h>

#include "patch/process_memory.h"

namespace strobe {

// Whether the main thread holds one, as in the middle of dlopen or dl_iterate_phdr: other threads that load a library
// wait for it. glibc's alone: false where another loader, or none, is at work.
bool holds_loader_lock(pid_t main_thread, const ProcessMemory& memory);

}  // namespace strobe
