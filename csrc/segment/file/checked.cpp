#include "segment/file/checked.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <system_error>

#include "abi/strobe_abi.h"

namespace strobe {

void note_checked(const std::string& path, uint64_t ticks) {
    const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) throw std::system_error(errno, std::generic_category(), path);
    const auto written = pwrite(fd, &ticks, sizeof ticks, offsetof(strobe_header, checked_ticks));
    const int error = errno;
    close(fd);
    if (written != sizeof ticks) throw std::system_error(error, std::generic_category(), path);
}

}  // namespace strobe
