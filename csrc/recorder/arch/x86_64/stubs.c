/*
 * Return stubs and the common return path, as machine code written at run time (unwind.c: what unwinders know of it).
 *
 *   stub n:   call [frame n's resume]   leaves the address behind it as the function's return address
 *             push $n                   takes the place of the return address that `ret` has just popped
 *             jmp return_path           ends with a `ret` to where the function was called from
 *
 * Calls and returns come in pairs, as the CPU's predictor expects. The portable form writes the address behind the call
 * onto the stack and does not run it.
 *
 * Where the recorder's code goes with the agent the return path keeps account of the threads that are in it (guards.c).
 *
 * All registers and the arithmetic flags are kept: with -fipa-ra gcc leaves values in caller-saved registers across
 * calls to functions it has seen. strobe_exit does not touch vector registers.
 */
#include "machine_code.h"

#define STROBE_ARCH_SHSTK_STATUS 0x5005
#define STROBE_PROT_RW 3
#define STROBE_PROT_RX 5

static int64_t strobe_protect(uint8_t* start, uint64_t bytes, int64_t protection) {
    return strobe_syscall(STROBE_SYS_MPROTECT, (int64_t)start, (int64_t)bytes, protection, 0, 0, 0);
}

/* Not where the CPU checks return addresses (shadow stack). */
int strobe_returns_can_be_caught(void) {
    uint64_t features = 0;
    int64_t result = strobe_syscall(STROBE_SYS_ARCH_PRCTL, STROBE_ARCH_SHSTK_STATUS, (int64_t)&features, 0, 0, 0, 0);
    return !(result == 0 && (features & 1));
}

/* The stubs of one thread state; nobody runs them before the state is in use. */
int64_t strobe_stubs_write(struct strobe_recorder* recorder, uint32_t state_index) {
    uint64_t first = (uint64_t)state_index * STROBE_FRAMES;
    uint8_t* start = recorder->stubs + first * STROBE_STUB_BYTES;
    uint8_t* path = strobe_return_path(recorder);
    uint64_t bytes = (uint64_t)STROBE_FRAMES * STROBE_STUB_BYTES;
    uint64_t index;
    int64_t result;
    /* a handler that has left by siglongjmp may have interrupted this once already */
    if (*start != 0 && (result = strobe_protect(start, bytes, STROBE_PROT_RW)) < 0) return result;
    for (index = 0; index < STROBE_FRAMES; index++) {
        struct strobe_bytes out;
        out.at = start + index * STROBE_STUB_BYTES;
        strobe_put(&out, 0x15ff, 2); /* call [rip + distance] */
        strobe_put(&out, (uint64_t)&recorder->frames[first + index].resume - (uint64_t)(out.at + 4), 4);
        strobe_put(&out, 0x68, 1); /* push imm32, extended by sign */
        strobe_put(&out, STROBE_RETURNING_MARK | (first + index), 4);
        strobe_put(&out, 0xe9, 1); /* jmp rel32 */
        strobe_put(&out, (uint64_t)(path - (out.at + 4)), 4);
    }
    result = strobe_protect(start, bytes, STROBE_PROT_RX);
    if (result < 0) return result;
    recorder->states[state_index].frames = recorder->frames + first;
    recorder->states[state_index].first_stub = (uint64_t)start + STROBE_STUB_CALL_BYTES;
    recorder->states[state_index].stubs_written = 1;
    return 0;
}

void strobe_return_path_write(struct strobe_recorder* recorder) {
    struct strobe_bytes out;
    uint8_t* jump;
    out.at = strobe_return_path(recorder);
    strobe_put(&out, 0x50, 1);       /* push rax */
    strobe_put(&out, 0x9f, 1);       /* lahf: SF ZF AF PF CF */
    strobe_put(&out, 0xc0900f, 3);   /* seto al */
    strobe_put(&out, 0x50, 1);       /* push rax */
    strobe_put(&out, 0x57565251, 4); /* push rcx, rdx, rsi, rdi */
    strobe_put(&out, 0x51415041, 4); /* push r8, r9 */
    strobe_put(&out, 0x53415241, 4); /* push r10, r11 */
    strobe_put(&out, 0x53, 1);       /* push rbx; now [rsp + 88] = n, [rsp + 80] = rax of the returned function */
    strobe_put(&out, 0xe38948, 3);   /* mov rbx, rsp */
#ifndef STROBE_STAYS_LOADED
    strobe_put_arrival(&out, recorder);
#endif
    strobe_put(&out, 0xb848, 2); /* mov rax, &control->exit_handler */
    strobe_put(&out, (uint64_t)&recorder->control->exit_handler, 8);
    strobe_put(&out, 0x008b48, 3); /* mov rax, [rax] */
    strobe_put(&out, 0x58538b, 3); /* mov edx, [rbx + 88] */
    strobe_put(&out, 0xe281, 2);   /* and edx, ~mark */
    strobe_put(&out, (uint32_t)~STROBE_RETURNING_MARK, 4);
    strobe_put(&out, 0xc08548, 3); /* test rax, rax */
    strobe_put(&out, 0x74, 1);     /* jz: the recorder is off, only return */
    jump = out.at++;
    strobe_put(&out, 0xd68948, 3);   /* mov rsi, rdx: frame index */
    strobe_put(&out, 0x50538b48, 4); /* mov rdx, [rbx + 80]: rax */
    strobe_put(&out, 0x384b8b48, 4); /* mov rcx, [rbx + 56]: rdx */
    strobe_put(&out, 0x58438d4c, 4); /* lea r8, [rbx + 88]: slot */
    strobe_put(&out, 0xbf48, 2);     /* mov rdi, recorder */
    strobe_put(&out, (uint64_t)recorder, 8);
#ifndef STROBE_STAYS_LOADED
    strobe_put(&out, 0xf8638d48, 4); /* lea rsp, [rbx - 8] */
#else
    strobe_put(&out, 0x55, 1); /* push rbp: the program's, STROBE_RETURNED_RBP below the slot, for stacks */
#endif
    strobe_put(&out, 0xf0e48348, 4); /* and rsp, -16 */
    strobe_put(&out, 0xd0ff, 2);     /* call rax */
    strobe_put(&out, 0xdc8948, 3);   /* mov rsp, rbx */
    strobe_put(&out, 0x12eb, 2);     /* jmp over the next 18 bytes */
    *jump = (uint8_t)(out.at - (jump + 1));
    strobe_put(&out, 0x06e2c148, 4); /* shl rdx, 6: sizeof(struct strobe_frame) */
    strobe_put(&out, 0xb848, 2);     /* mov rax, frames */
    strobe_put(&out, (uint64_t)recorder->frames, 8);
    strobe_put(&out, 0x10048b48, 4); /* mov rax, [rax + rdx]: return_address */
    strobe_put(&out, 0x58438948, 4); /* mov [rbx + 88], rax */
    recorder->return_path_pops = (uint32_t)(out.at - strobe_return_path(recorder));
#ifndef STROBE_STAYS_LOADED
    strobe_put_departure(&out, recorder);
#endif
    strobe_put(&out, 0x5b, 1);       /* pop rbx */
    strobe_put(&out, 0x5a415b41, 4); /* pop r11, r10 */
    strobe_put(&out, 0x58415941, 4); /* pop r9, r8 */
    strobe_put(&out, 0x595a5e5f, 4); /* pop rdi, rsi, rdx, rcx */
    strobe_put(&out, 0x58, 1);       /* pop rax */
    strobe_put(&out, 0x7f04, 2);     /* add al, 0x7f: sets OF again */
    strobe_put(&out, 0x9e, 1);       /* sahf */
    strobe_put(&out, 0x58, 1);       /* pop rax */
    strobe_put(&out, 0xc3, 1);       /* ret */
    recorder->return_path_bytes = (uint32_t)(out.at - strobe_return_path(recorder));
    strobe_protect(strobe_return_path(recorder), STROBE_PAGE_BYTES, STROBE_PROT_RX);
}
