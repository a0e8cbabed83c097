#include "patch/injection/clock.h"

#ifdef __x86_64__

#include <sys/prctl.h>

#include <cerrno>
#include <cstdint>

#include "patch/injection/way_back.h"
#include "patch/target/process_memory.h"

namespace strobe {

int asks_for_clock(pid_t thread, WayBack& way_back) {
    const ProcessMemory memory(thread);
    const std::uint64_t place = way_back.scratch();
    int mode = 0;
    memory.write(place, &mode, sizeof mode);
    const std::int64_t result = way_back.call_prctl(PR_GET_TSC, place);
    if (result == -EBUSY || result == -ETIMEDOUT || result == -ESRCH) return static_cast<int>(-result);
    if (result != 0 || memory.read(place, &mode, sizeof mode) != sizeof mode) return 0;
    return mode == PR_TSC_SIGSEGV ? ENOTSUP : 0;
}

}  // namespace strobe

#else

namespace strobe {

int asks_for_clock(pid_t, WayBack&) { return 0; }

}  // namespace strobe

#endif
