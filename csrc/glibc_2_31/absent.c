/* Functions that glibc 2.31 does not have, or not as functions, and that we or libstdc++.a call. Seen by nobody else.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* Since 2.32. Zero is right for every program; reference counts are then always atomic. */
HIDDEN char __libc_single_threaded = 0;

/* Functions since 2.33; before, a header made __xstat of them. struct stat is the kernel's on x86-64. */
HIDDEN int stat(const char* restrict path, struct stat* restrict status) {
    return (int)syscall(SYS_stat, path, status);
}

HIDDEN int lstat(const char* restrict path, struct stat* restrict status) {
    return (int)syscall(SYS_lstat, path, status);
}

HIDDEN int fstat(int file, struct stat* status) { return (int)syscall(SYS_fstat, file, status); }

HIDDEN int fstat64(int file, struct stat64* status) { return (int)syscall(SYS_fstat, file, status); }

/* Since 2.36, where std::random_device takes from. */
HIDDEN uint32_t arc4random(void) {
    uint32_t value = 0;
    while (getrandom(&value, sizeof value, 0) != (ssize_t)sizeof value && errno == EINTR) {
    }
    return value;
}
