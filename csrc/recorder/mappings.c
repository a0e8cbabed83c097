/* What is mapped where, from /proc: read on the agent's thread, and where the program locks all of its memory. */
#include "recorder.h"

#define STROBE_AT_FDCWD (-100)
#define STROBE_O_CLOEXEC 02000000
#define STROBE_MAPS_BUFFER 512
#define STROBE_MCL_CURRENT 1u
#define STROBE_MCL_FUTURE 2u
#define STROBE_MCL_ONFAULT 4u

struct strobe_maps {
    int64_t fd;
    int64_t length;
    int64_t position;
    char buffer[STROBE_MAPS_BUFFER];
};

static int strobe_maps_next(struct strobe_maps* maps) {
    if (maps->position == maps->length) {
        maps->length = strobe_syscall(STROBE_SYS_READ, maps->fd, (int64_t)maps->buffer, STROBE_MAPS_BUFFER, 0, 0, 0);
        maps->position = 0;
        if (maps->length <= 0) {
            maps->length = 0;
            return -1;
        }
    }
    return (unsigned char)maps->buffer[maps->position++];
}

/* Reads hexadecimal digits up to `stop`. */
static int strobe_maps_hex(struct strobe_maps* maps, int stop, uint64_t* value) {
    int c;
    *value = 0;
    while ((c = strobe_maps_next(maps)) >= 0 && c != stop)
        *value = *value * 16 + (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    return c == stop;
}

struct strobe_mapping {
    uint64_t low, high;
    uint64_t inode; /* 0: of no file */
    int is_code;
};

static int strobe_maps_open(struct strobe_maps* maps) {
    static const char path[] = "/proc/thread-self/maps"; /* the process has none once its main thread has ended */
    maps->length = 0;
    maps->position = 0;
    maps->fd = strobe_syscall(STROBE_SYS_OPENAT, STROBE_AT_FDCWD, (int64_t)path, STROBE_O_CLOEXEC, 0, 0, 0);
    return maps->fd >= 0;
}

int strobe_main_thread_has_ended(void) {
    static const char path[] = "/proc/self/maps";
    char first;
    int64_t length, fd = strobe_syscall(STROBE_SYS_OPENAT, STROBE_AT_FDCWD, (int64_t)path, STROBE_O_CLOEXEC, 0, 0, 0);
    if (fd < 0) return 0;
    length = strobe_syscall(STROBE_SYS_READ, fd, (int64_t)&first, 1, 0, 0, 0);
    strobe_syscall(STROBE_SYS_CLOSE, fd, 0, 0, 0, 0, 0);
    return length == 0;
}

static int strobe_begins_with(const char* text, const char* with) {
    while (*with != 0 && *text == *with) text++, with++;
    return *with == 0;
}

struct strobe_directory_entry { /* struct linux_dirent64 */
    uint64_t inode;
    int64_t next;
    uint16_t bytes;
    uint8_t type;
    char name[5];
};

static int strobe_is_userfaultfd(int64_t directory, const char* name) {
    char leads_to[32];
    int64_t length =
        strobe_syscall(STROBE_SYS_READLINKAT, directory, (int64_t)name, (int64_t)leads_to, sizeof leads_to - 1, 0, 0);
    if (length < 0) return 0;
    leads_to[length] = 0;
    return strobe_begins_with(leads_to, "anon_inode:[userfaultfd]");
}

int strobe_has_userfaultfd(void) {
    static const char path[] = "/proc/thread-self/fd";
    uint64_t buffer[STROBE_MAPS_BUFFER / 8];
    int64_t length, at;
    int found = 0;
    int64_t fd = strobe_syscall(STROBE_SYS_OPENAT, STROBE_AT_FDCWD, (int64_t)path, STROBE_O_CLOEXEC, 0, 0, 0);
    if (fd < 0) return 0;
    while (!found &&
           (length = strobe_syscall(STROBE_SYS_GETDENTS64, fd, (int64_t)buffer, sizeof buffer, 0, 0, 0)) > 0) {
        for (at = 0; !found && at < length;) {
            const struct strobe_directory_entry* entry = (const struct strobe_directory_entry*)((char*)buffer + at);
            found = strobe_is_userfaultfd(fd, entry->name);
            at += entry->bytes;
        }
    }
    strobe_syscall(STROBE_SYS_CLOSE, fd, 0, 0, 0, 0, 0);
    return found;
}

static void strobe_maps_close(const struct strobe_maps* maps) {
    strobe_syscall(STROBE_SYS_CLOSE, maps->fd, 0, 0, 0, 0, 0);
}

static uint64_t strobe_maps_decimal(struct strobe_maps* maps, int* last) {
    uint64_t value = 0;
    while ((*last = strobe_maps_next(maps)) >= '0' && *last <= '9') value = value * 10 + (uint64_t)(*last - '0');
    return value;
}

/* A line: "7f00-7f10 r-xp 00026000 fe:00 326269   /usr/lib/libc.so.6". */
static int strobe_maps_line(struct strobe_maps* maps, struct strobe_mapping* found) {
    uint64_t unused;
    int c, column;
    if (!strobe_maps_hex(maps, '-', &found->low) || !strobe_maps_hex(maps, ' ', &found->high)) return 0;
    found->is_code = 0;
    for (column = 0; (c = strobe_maps_next(maps)) >= 0 && c != ' '; column++)
        if (c == 'x') found->is_code = 1;
    if (!strobe_maps_hex(maps, ' ', &unused) || !strobe_maps_hex(maps, ' ', &unused)) return 0;
    found->inode = strobe_maps_decimal(maps, &c);
    while (c >= 0 && c != '\n') c = strobe_maps_next(maps);
    return 1;
}

int strobe_mapping_find(uint64_t address, uint64_t* low, uint64_t* high) {
    struct strobe_maps maps;
    struct strobe_mapping next;
    int found = 0;
    if (!strobe_maps_open(&maps)) return 0;
    while (!found && strobe_maps_line(&maps, &next)) found = next.low <= address && address < next.high;
    strobe_maps_close(&maps);
    if (!found) return 0;
    *low = next.low;
    *high = next.high;
    return 1;
}

int strobe_code_find(uint64_t address, uint64_t* range) {
    struct strobe_maps maps;
    struct strobe_mapping next;
    uint64_t inode = 0;
    int found = 0;
    range[0] = range[1] = 0;
    if (!strobe_maps_open(&maps)) return 0;
    while (strobe_maps_line(&maps, &next)) {
        if (!next.is_code || next.low != range[1] || next.inode != inode) {
            if (found) break;
            range[0] = next.low;
            inode = next.inode;
        }
        if (!next.is_code) continue;
        range[1] = next.high;
        if (next.low <= address && address < next.high) found = 1;
    }
    strobe_maps_close(&maps);
    if (!found) range[0] = range[1] = 0;
    return found;
}

static void strobe_lock_between(uint64_t low, uint64_t high) {
    if (low < high) strobe_syscall(STROBE_SYS_MLOCK, (int64_t)low, (int64_t)(high - low), 0, 0, 0, 0);
}

/* The recorder's range `index`, the last one being the segment; 0 where there are no more. */
static int strobe_own_range(const struct strobe_recorder* recorder, uint32_t index, uint64_t* low, uint64_t* high) {
    if (index > recorder->own_count) return 0;
    *low = index < recorder->own_count ? recorder->own[index][0] : (uint64_t)recorder->header;
    *high = index < recorder->own_count ? recorder->own[index][1] : *low + recorder->segment_bytes;
    return 1;
}

/* Adjacent mappings are one line: what of it is ours is left out. */
static void strobe_lock_others(const struct strobe_recorder* recorder, uint64_t low, uint64_t high) {
    while (low < high) {
        uint64_t next = high, behind = high, own_low, own_high;
        uint32_t index;
        for (index = 0; strobe_own_range(recorder, index, &own_low, &own_high); index++) {
            if (own_high <= low || own_low >= next) continue;
            next = own_low < low ? low : own_low;
            behind = own_high;
        }
        strobe_lock_between(low, next);
        low = behind;
    }
}

void strobe_observe_mlockall(const struct strobe_recorder* recorder, uint64_t* flags) {
    struct strobe_maps maps;
    struct strobe_mapping next;
    uint64_t low, high;
    uint32_t index;
    if (!(*flags & STROBE_MCL_CURRENT) || *flags & STROBE_MCL_ONFAULT || !recorder->control->alive) return;
    if (!strobe_calls_begin(recorder)) return;
    /* brings nothing in, and fails as the program's call would */
    if (strobe_syscall(STROBE_SYS_MLOCKALL, STROBE_MCL_CURRENT | STROBE_MCL_ONFAULT, 0, 0, 0, 0, 0) == 0 &&
        strobe_maps_open(&maps)) {
        while (strobe_maps_line(&maps, &next)) strobe_lock_others(recorder, next.low, next.high);
        strobe_maps_close(&maps);
        for (index = 0; strobe_own_range(recorder, index, &low, &high); index++)
            strobe_syscall(STROBE_SYS_MUNLOCK, (int64_t)low, (int64_t)(high - low), 0, 0, 0, 0);
        *flags = *flags & STROBE_MCL_FUTURE ? STROBE_MCL_FUTURE : STROBE_MCL_CURRENT | STROBE_MCL_ONFAULT;
    }
    strobe_calls_end(recorder);
}
