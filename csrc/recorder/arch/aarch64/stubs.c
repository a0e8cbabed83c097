/*
 * AArch64, where returns are not caught yet: the return address is in a register, and a probe that changes it would
 * need stubs and unwind information of its own. Entries are recorded, exits are counted as missed.
 *
 * What is written at run time is the probe of _exit alone.
 */
#include "../../recorder.h"

#define STROBE_PROT_RX 5
#define STROBE_PROBE_WORDS 20u
#define STROBE_PROBE_LITERALS 5u
#define STROBE_PAGE_BYTES_MOST 65536u /* the stubs' memory, which is not used otherwise, is larger */

int strobe_returns_can_be_caught(void) { return 0; }

/* There are no stubs: a state only gets its part of the frames. */
int64_t strobe_stubs_write(struct strobe_recorder* recorder, uint32_t state_index) {
    recorder->states[state_index].frames = recorder->frames + (uint64_t)state_index * STROBE_FRAMES;
    recorder->states[state_index].first_stub = 0;
    recorder->states[state_index].stubs_written = 1;
    return 0;
}

void strobe_return_path_write(struct strobe_recorder* recorder) { recorder->return_path_bytes = 0; }

/* An empty table: nothing of ours is ever on a stack. */
void strobe_unwind_table_write(struct strobe_recorder* recorder) { *(uint32_t*)recorder->unwind_table = 0; }

/* An instruction at `word` that reads literal `literal` into register `into`: ldr x, or ldr w. */
static uint32_t strobe_load_literal(uint32_t word, uint32_t literal, uint32_t into, int is_wide) {
    uint32_t distance = STROBE_PROBE_WORDS - word + 2 * literal;
    return (is_wide ? 0x58000000u : 0x18000000u) | (distance << 5) | into;
}

/* As on x86-64 (arch/x86_64/stubs.c): it outlives the script, and writes the status down unless this is a child. */
void* strobe_exit_probe_write(struct strobe_recorder* recorder, uint32_t cpu_offset, uint32_t x0_offset) {
    uint32_t* code = (uint32_t*)recorder->stubs;
    uint64_t* literals = (uint64_t*)(code + STROBE_PROBE_WORDS);
    code[0] = strobe_load_literal(0, 0, 9, 1);              /* ldr x9, &control->has_agent */
    code[1] = 0xb940012a;                                   /* ldr w10, [x9] */
    code[2] = 0x340001ea;                                   /* cbz w10, end */
    code[3] = 0xaa0003eb;                                   /* mov x11, x0 */
    code[4] = 0xd2800008 | (STROBE_SYS_GETPID << 5);        /* mov x8, getpid */
    code[5] = 0xd4000001;                                   /* svc 0 */
    code[6] = strobe_load_literal(6, 1, 9, 0);              /* ldr w9, pid */
    code[7] = 0x6b09001f;                                   /* cmp w0, w9 */
    code[8] = 0x54000121;                                   /* b.ne end */
    code[9] = 0xf9400169 | (cpu_offset / 8) << 10;          /* ldr x9, [x11, cpu_offset] */
    code[10] = 0xb940012a | (x0_offset / 4) << 10;          /* ldr w10, [x9, x0_offset] */
    code[11] = strobe_load_literal(11, 2, 9, 1);            /* ldr x9, &header->exit_code */
    code[12] = 0xb900012a;                                  /* str w10, [x9] */
    code[13] = strobe_load_literal(13, 3, 9, 1);            /* ldr x9, &header->exit_state */
    code[14] = 0x52800000 | (STROBE_EXIT_CALLED << 5) | 10; /* mov w10, STROBE_EXIT_CALLED */
    code[15] = 0xd5033bbf;                                  /* dmb ish */
    code[16] = 0xb900012a;                                  /* str w10, [x9] */
    code[17] = 0xd65f03c0;                                  /* end: ret */
    literals[0] = (uint64_t)&recorder->control->has_agent;
    literals[1] = recorder->pid;
    literals[2] = (uint64_t)&recorder->header->exit_code;
    literals[3] = (uint64_t)&recorder->header->exit_state;
    strobe_sync_code(code, literals + STROBE_PROBE_LITERALS);
    strobe_syscall(STROBE_SYS_MPROTECT, (int64_t)code, STROBE_PAGE_BYTES_MOST, STROBE_PROT_RX, 0, 0, 0);
    return code;
}

uint32_t strobe_exit_routine_write(struct strobe_recorder* recorder, uint8_t* memory) {
    (void)recorder;
    (void)memory;
    return 0;
}

uint32_t strobe_lone_routine_write(struct strobe_recorder* recorder, uint8_t* memory, uint32_t call,
                                   const uint8_t* displaced) {
    (void)recorder;
    (void)memory;
    (void)call;
    (void)displaced;
    return 0;
}

uint32_t strobe_guard_write(struct strobe_recorder* recorder, uint8_t* memory, uint64_t leads_to) {
    (void)recorder;
    (void)memory;
    (void)leads_to;
    return 0;
}

uint32_t strobe_loader_guard_write(struct strobe_recorder* recorder, uint8_t* memory, uint64_t leads_to) {
    (void)recorder;
    (void)memory;
    (void)leads_to;
    return 0;
}

uint32_t strobe_entry_guard_write(struct strobe_recorder* recorder, uint8_t* memory, uint64_t enter, int waits) {
    (void)recorder;
    (void)memory;
    (void)enter;
    (void)waits;
    return 0;
}
