/* Which addresses are the thread's own stack. Return addresses are replaced there only: coroutine and signal stacks can
   be left and entered again in any order, which an array of frames cannot follow. */
#include "recorder.h"

#define STROBE_AT_FDCWD (-100)
#define STROBE_O_CLOEXEC 02000000
#define STROBE_RLIMIT_STACK 3
#define STROBE_SS_ONSTACK 1
#define STROBE_MAPS_BUFFER 512
#define STROBE_UNLIMITED_STACK (1ull << 30)

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

/* The mapping that holds `address`, from /proc/self/maps. */
static int strobe_maps_find(uint64_t address, uint64_t* low, uint64_t* high) {
    static const char path[] = "/proc/thread-self/maps"; /* the process has none once its main thread has ended */
    struct strobe_maps maps;
    int found = 0;
    maps.length = 0;
    maps.position = 0;
    maps.fd = strobe_syscall(STROBE_SYS_OPENAT, STROBE_AT_FDCWD, (int64_t)path, STROBE_O_CLOEXEC, 0, 0, 0);
    if (maps.fd < 0) return 0;
    while (!found && strobe_maps_hex(&maps, '-', low) && strobe_maps_hex(&maps, ' ', high)) {
        int c;
        found = *low <= address && address < *high;
        while ((c = strobe_maps_next(&maps)) >= 0 && c != '\n') continue;
    }
    strobe_syscall(STROBE_SYS_CLOSE, maps.fd, 0, 0, 0, 0, 0);
    return found;
}

/* The main thread's stack grows down to the limit; its mapping shows only what it has used so far. */
static uint64_t strobe_main_stack_low(uint64_t high) {
    uint64_t limit[2] = {0, 0};
    strobe_syscall(STROBE_SYS_GETRLIMIT, STROBE_RLIMIT_STACK, (int64_t)limit, 0, 0, 0, 0);
    if (limit[0] == 0 || limit[0] > STROBE_UNLIMITED_STACK) limit[0] = STROBE_UNLIMITED_STACK;
    return high > limit[0] ? high - limit[0] : 0;
}

void strobe_stack_bounds(struct strobe_recorder* recorder, struct strobe_thread_state* state) {
    uint64_t low = 0, high = 0;
    uint64_t control_block = strobe_thread_pointer();
    state->stack_low = state->stack_high = 0;
    if (state->tid == recorder->pid) {
        if (!strobe_maps_find(recorder->main_stack_address, &low, &high)) return;
        state->stack_low = strobe_main_stack_low(high);
        state->stack_high = high;
    } else {
        /* the guard page bounds the mapping below; above the control block another mapping may have been merged */
        if (!strobe_maps_find(control_block, &low, &high)) return;
        state->stack_low = low;
        state->stack_high = control_block;
    }
}

STROBE_COLD int strobe_stack_is_alternate(void) {
    struct {
        uint64_t address;
        int32_t flags;
        int32_t reserved;
        uint64_t size;
    } current = {0, 0, 0, 0};
    strobe_syscall(STROBE_SYS_SIGALTSTACK, 0, (int64_t)&current, 0, 0, 0, 0);
    return (current.flags & STROBE_SS_ONSTACK) != 0;
}
