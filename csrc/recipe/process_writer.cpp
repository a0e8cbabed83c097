#include "recipe/process_writer.h"

#include <sys/uio.h>

#include <cerrno>

namespace strobe {
namespace {

bool masked(pid_t process, const MemoryChange& change, std::string* bytes) {
    std::string present(change.bytes.size(), '\0');
    const iovec local{present.data(), present.size()};
    const iovec remote{reinterpret_cast<void*>(change.address), present.size()};
    if (process_vm_readv(process, &local, 1, &remote, 1, 0) != static_cast<ssize_t>(present.size())) return false;
    for (std::size_t index = 0; index < present.size(); index++)
        present[index] =
            static_cast<char>((present[index] & ~change.mask[index]) | (change.bytes[index] & change.mask[index]));
    *bytes = present;
    return true;
}

}  // namespace

int write_process(pid_t process, const MemoryChange& change) {
    std::string bytes = change.bytes;
    errno = EFAULT;  // what a part of it means, too
    if (!change.mask.empty() && !masked(process, change, &bytes)) return errno;
    const iovec local{bytes.data(), bytes.size()};
    const iovec remote{reinterpret_cast<void*>(change.address), bytes.size()};
    errno = EFAULT;
    return process_vm_writev(process, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes.size()) ? 0 : errno;
}

}  // namespace strobe
