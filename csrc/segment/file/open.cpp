#include "segment/file/open.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "segment/file/segment.h"

namespace strobe {

int open_segment(const std::string& path, int flags) {
    // Without O_NONBLOCK a pipe of that name would be waited for.
    const int fd = open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) throw std::system_error(errno, std::generic_category(), path);
    struct stat status{};
    const bool known = fstat(fd, &status) == 0;
    if (known && S_ISREG(status.st_mode) && status.st_uid == geteuid()) return fd;
    close(fd);
    throw SegmentError(known && S_ISREG(status.st_mode) ? "it belongs to another user" : "it is not a regular file");
}

}  // namespace strobe
