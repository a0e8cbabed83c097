/*
 * Whether Interceptor may overwrite the first bytes of a function. It writes up to four instructions, and moves those
 * that were there; what it could not move without harm is refused here. Runs on the agent's thread.
 */
#include "../../recorder.h"

#define STROBE_INSTRUCTION_BYTES 4u
#define STROBE_JUMP_BYTES 16u /* ldr, br, and an address */
#define STROBE_NOP 0xd503201fu
#define STROBE_AT_HWCAP2 26u
#define STROBE_HWCAP2_BTI (1u << 17)

/* Sign-extended field of `bits` bits at `shift`, in instructions. */
static int64_t strobe_branch_distance(uint32_t instruction, uint32_t shift, uint32_t bits) {
    return (int64_t)((uint64_t)instruction << (64 - shift - bits)) >> (64 - bits);
}

/* Where a direct branch leads that is not a call; 0 for any other instruction. */
static uint64_t strobe_branch_target(uint32_t instruction, uint64_t address) {
    int64_t distance;
    if ((instruction & 0xfc000000u) == 0x14000000u) { /* b */
        distance = strobe_branch_distance(instruction, 0, 26);
    } else if ((instruction & 0xff000000u) == 0x54000000u || (instruction & 0x7e000000u) == 0x34000000u) {
        distance = strobe_branch_distance(instruction, 5, 19); /* b.cond, cbz, cbnz */
    } else if ((instruction & 0x7e000000u) == 0x36000000u) {   /* tbz, tbnz */
        distance = strobe_branch_distance(instruction, 5, 14);
    } else {
        return 0;
    }
    return address + (uint64_t)(distance * (int64_t)STROBE_INSTRUCTION_BYTES);
}

/* bl, and blr with its authenticated forms. */
static int strobe_is_call(uint32_t instruction) {
    return (instruction & 0xfc000000u) == 0x94000000u || (instruction & 0xfefff000u) == 0xd63f0000u;
}

/* bti and paciasp: what an indirect call must find where the CPU checks it. */
static int strobe_is_landing(uint32_t instruction) {
    return (instruction & 0xffffff3fu) == 0xd503241fu || (instruction & 0xffffffbfu) == 0xd503233fu;
}

/* Whether the first instruction begins a jump to another function, which Interceptor would hook instead: b, or adrp and
   br within what is overwritten. */
static int strobe_is_jump_at_entry(const uint32_t* code, uint32_t count) {
    uint32_t index;
    if ((code[0] & 0xfc000000u) == 0x14000000u) return 1;
    for (index = 0; index < count && index < STROBE_JUMP_BYTES / STROBE_INSTRUCTION_BYTES; index++)
        if ((code[index] & 0xfffffc1fu) == 0xd61f0000u) return (code[0] & 0x9f000000u) == 0x90000000u;
    return 0;
}

/* Padding on another page is not looked at: there may be none. */
static int strobe_has_room(uint64_t entry, uint64_t bytes) {
    for (; bytes < STROBE_JUMP_BYTES; bytes += STROBE_INSTRUCTION_BYTES)
        if ((entry + bytes) % 4096 == 0 || *(const uint32_t*)(entry + bytes) != STROBE_NOP) return 0;
    return 1;
}

/* STROBE_ENTRY_* of a function of `bytes` bytes. `checks_landing`: the CPU does. */
int strobe_patchable(uint64_t entry, uint64_t bytes, int checks_landing) {
    const uint32_t* code = (const uint32_t*)entry;
    uint32_t count = (uint32_t)(bytes / STROBE_INSTRUCTION_BYTES);
    uint32_t index;
    int loops = 0;
    if (entry % STROBE_INSTRUCTION_BYTES != 0 || count == 0) return STROBE_REFUSED_NOT_CODE;
    if (checks_landing && strobe_is_landing(code[0])) return STROBE_REFUSED_LANDING_AT_ENTRY;
    if (strobe_is_jump_at_entry(code, count)) return STROBE_REFUSED_JUMP_AT_ENTRY;
    for (index = 0; index < count; index++) {
        uint64_t offset = index * STROBE_INSTRUCTION_BYTES;
        uint64_t target = strobe_branch_target(code[index], entry + offset);
        if (offset < STROBE_JUMP_BYTES && strobe_is_call(code[index])) return STROBE_REFUSED_CALL_IN_ENTRY;
        if (target > entry && target < entry + STROBE_JUMP_BYTES) return STROBE_REFUSED_BRANCH_INTO_ENTRY;
        if (target == entry) loops = STROBE_ENTRY_LOOPS;
    }
    return strobe_has_room(entry, bytes) ? loops : STROBE_REFUSED_TOO_SHORT;
}

/* From /proc/self/auxv; 1 where that cannot be read. */
static int strobe_checks_landing(void) {
    static const char path[] = "/proc/self/auxv";
    uint64_t pairs[64][2];
    int64_t file = strobe_syscall(STROBE_SYS_OPENAT, -100, (int64_t)path, 02000000, 0, 0, 0);
    int64_t bytes, index;
    if (file < 0) return 1;
    bytes = strobe_syscall(STROBE_SYS_READ, file, (int64_t)pairs, sizeof pairs, 0, 0, 0);
    strobe_syscall(STROBE_SYS_CLOSE, file, 0, 0, 0, 0, 0);
    for (index = 0; index < bytes / 16; index++)
        if (pairs[index][0] == STROBE_AT_HWCAP2) return (pairs[index][1] & STROBE_HWCAP2_BTI) != 0;
    return bytes <= 0;
}

/* For `count` functions: results[i] is STROBE_ENTRY_*. */
void strobe_agent_check_patchable(uint32_t count, const uint64_t* addresses, const uint64_t* sizes, uint32_t* results) {
    int checks_landing = strobe_checks_landing();
    uint32_t index;
    for (index = 0; index < count; index++)
        results[index] = (uint32_t)strobe_patchable(addresses[index], sizes[index], checks_landing);
}
