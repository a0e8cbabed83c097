/*
 * Return stubs and the common return path, as machine code written at run time, and the unwind information that lets
 * exceptions, longjmp by unwinding, thread cancellation and backtraces pass through them.
 *
 *   stub n:   nop                  unwinders look up pc - 1, so the address put on the stack is stub + 1
 *             push $n              takes the place of the return address that `ret` has just popped
 *             jmp return_path
 *
 * All registers and the arithmetic flags are kept: with -fipa-ra gcc leaves values in caller-saved registers across
 * calls to functions it has seen. strobe_exit does not touch vector registers.
 */
#include "../../recorder.h"

#define STROBE_PROT_RW 3
#define STROBE_PROT_RX 5
#define STROBE_NOP 0x90
#define STROBE_EXIT_PROBE_OFFSET 1024 /* behind the return path, in the same page */

struct strobe_bytes {
    uint8_t* at;
};

static void strobe_put(struct strobe_bytes* out, uint64_t value, uint32_t count) {
    while (count-- > 0) {
        *out->at++ = (uint8_t)value;
        value >>= 8;
    }
}

static uint8_t* strobe_return_path(const struct strobe_recorder* recorder) {
    return recorder->stubs + (uint64_t)STROBE_THREAD_STATES * STROBE_FRAMES * STROBE_STUB_BYTES;
}

static int64_t strobe_protect(uint8_t* start, uint64_t bytes, int64_t protection) {
    return strobe_syscall(STROBE_SYS_MPROTECT, (int64_t)start, (int64_t)bytes, protection, 0, 0, 0);
}

/* The stubs of one thread state; nobody runs them before the state is in use. */
int64_t strobe_stubs_write(struct strobe_recorder* recorder, uint32_t state_index) {
    uint64_t first = (uint64_t)state_index * STROBE_FRAMES;
    uint8_t* start = recorder->stubs + first * STROBE_STUB_BYTES;
    uint8_t* path = strobe_return_path(recorder);
    uint64_t index;
    int64_t result;
    for (index = 0; index < STROBE_FRAMES; index++) {
        struct strobe_bytes out;
        out.at = start + index * STROBE_STUB_BYTES;
        strobe_put(&out, STROBE_NOP, 1);
        strobe_put(&out, 0x68, 1); /* push imm32, extended by sign */
        strobe_put(&out, STROBE_RETURNING_MARK | (first + index), 4);
        strobe_put(&out, 0xe9, 1); /* jmp rel32 */
        strobe_put(&out, (uint64_t)(path - (out.at + 4)), 4);
    }
    result = strobe_protect(start, (uint64_t)STROBE_FRAMES * STROBE_STUB_BYTES, STROBE_PROT_RX);
    if (result < 0) return result;
    recorder->states[state_index].frames = recorder->frames + first;
    recorder->states[state_index].first_stub = (uint64_t)start + 1; /* behind the nop */
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
    strobe_put(&out, 0xb848, 2);     /* mov rax, &control->exit_handler */
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
    strobe_put(&out, 0xbf48, 2);     /* mov rdi, recorder */
    strobe_put(&out, (uint64_t)recorder, 8);
    strobe_put(&out, 0xf0e48348, 4); /* and rsp, -16 */
    strobe_put(&out, 0xd0ff, 2);     /* call rax */
    strobe_put(&out, 0xdc8948, 3);   /* mov rsp, rbx */
    strobe_put(&out, 0x12eb, 2);     /* jmp over the next 18 bytes */
    *jump = (uint8_t)(out.at - (jump + 1));
    strobe_put(&out, 0x06e2c148, 4); /* shl rdx, 6: sizeof(struct strobe_frame) */
    strobe_put(&out, 0xb848, 2);     /* mov rax, frames */
    strobe_put(&out, (uint64_t)recorder->frames, 8);
    strobe_put(&out, 0x10048b48, 4);   /* mov rax, [rax + rdx]: return_address */
    strobe_put(&out, 0x58438948, 4);   /* mov [rbx + 88], rax */
    strobe_put(&out, 0x5b, 1);         /* pop rbx */
    strobe_put(&out, 0x5a415b41, 4);   /* pop r11, r10 */
    strobe_put(&out, 0x58415941, 4);   /* pop r9, r8 */
    strobe_put(&out, 0x595a5e5f, 4);   /* pop rdi, rsi, rdx, rcx */
    strobe_put(&out, 0x58, 1);         /* pop rax */
    strobe_put(&out, 0x7f04, 2);       /* add al, 0x7f: sets OF again */
    strobe_put(&out, 0x9e, 1);         /* sahf */
    strobe_put(&out, 0x58, 1);         /* pop rax */
    strobe_put(&out, 0x0824648d48, 5); /* lea rsp, [rsp + 8]: keeps the flags */
    strobe_put(&out, 0xf82464ff, 4);   /* jmp [rsp - 8]: the red zone keeps it */
}

/*
 * A probe for _exit, as machine code of its own: Frida's agent listens there too, unloads the script from its listener,
 * and then calls this one, when a CModule's code has been freed. It writes down the status, unless this is a vfork
 * child (another pid) or a fork child (the control page is clear). `cpu_offset` and `rdi_offset`: where the probe's
 * context keeps them.
 */
void* strobe_exit_probe_write(struct strobe_recorder* recorder, uint32_t cpu_offset, uint32_t rdi_offset) {
    struct strobe_bytes out;
    uint8_t* start = strobe_return_path(recorder) + STROBE_EXIT_PROBE_OFFSET;
    uint8_t* jumps[2];
    uint32_t index;
    out.at = start;
    strobe_put(&out, 0xb848, 2); /* mov rax, &control->reports_exit */
    strobe_put(&out, (uint64_t)&recorder->control->reports_exit, 8);
    strobe_put(&out, 0x003883, 3); /* cmp dword [rax], 0 */
    strobe_put(&out, 0x74, 1);     /* je end */
    jumps[0] = out.at++;
    strobe_put(&out, 0xb8, 1); /* mov eax, getpid */
    strobe_put(&out, STROBE_SYS_GETPID, 4);
    strobe_put(&out, 0x050f, 2); /* syscall */
    strobe_put(&out, 0x3d, 1);   /* cmp eax, pid */
    strobe_put(&out, recorder->pid, 4);
    strobe_put(&out, 0x75, 1); /* jne end */
    jumps[1] = out.at++;
    strobe_put(&out, 0x878b48, 3); /* mov rax, [rdi + cpu_offset] */
    strobe_put(&out, cpu_offset, 4);
    strobe_put(&out, 0x888b, 2); /* mov ecx, [rax + rdi_offset] */
    strobe_put(&out, rdi_offset, 4);
    strobe_put(&out, 0xb848, 2); /* mov rax, &header->exit_code */
    strobe_put(&out, (uint64_t)&recorder->header->exit_code, 8);
    strobe_put(&out, 0x0889, 2); /* mov [rax], ecx */
    strobe_put(&out, 0xb848, 2); /* mov rax, &header->exit_state */
    strobe_put(&out, (uint64_t)&recorder->header->exit_state, 8);
    strobe_put(&out, 0x00c7, 2); /* mov dword [rax], STROBE_EXIT_CALLED */
    strobe_put(&out, STROBE_EXIT_CALLED, 4);
    for (index = 0; index < 2; index++) *jumps[index] = (uint8_t)(out.at - (jumps[index] + 1));
    strobe_put(&out, 0xc3, 1); /* ret */
    strobe_protect(strobe_return_path(recorder), 4096, STROBE_PROT_RX);
    return start;
}

static void strobe_put_uleb(struct strobe_bytes* out, uint64_t value) {
    while (value >= 0x80) {
        *out->at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *out->at++ = (uint8_t)value;
}

/* DWARF expression: the return address of the frame whose stub the pc (register 16) lies in, minus 1, because after a
   signal frame ("S") unwinders take the pc as it is, and a call at the end of a try block must still be found in it. */
static uint32_t strobe_put_return_expression(struct strobe_bytes* out, const struct strobe_recorder* recorder) {
    uint8_t* start = out->at;
    strobe_put(out, 0x0080, 2); /* DW_OP_breg16 0 */
    strobe_put(out, 0x0e, 1);   /* DW_OP_const8u */
    strobe_put(out, (uint64_t)recorder->stubs, 8);
    strobe_put(out, 0x1c, 1);   /* DW_OP_minus */
    strobe_put(out, 0x2534, 2); /* DW_OP_lit4, DW_OP_shr: / STROBE_STUB_BYTES */
    strobe_put(out, 0x2436, 2); /* DW_OP_lit6, DW_OP_shl: * sizeof(struct strobe_frame) */
    strobe_put(out, 0x0e, 1);
    strobe_put(out, (uint64_t)recorder->frames, 8);
    strobe_put(out, 0x22, 1);   /* DW_OP_plus */
    strobe_put(out, 0x06, 1);   /* DW_OP_deref */
    strobe_put(out, 0x1c31, 2); /* DW_OP_lit1, DW_OP_minus */
    return (uint32_t)(out->at - start);
}

static void strobe_put_length(uint8_t* start, struct strobe_bytes* out) {
    struct strobe_bytes length;
    while ((out->at - start) % 8 != 0) strobe_put(out, 0, 1); /* DW_CFA_nop */
    length.at = start;
    strobe_put(&length, (uint64_t)(out->at - start - 4), 4);
}

/*
 * One CIE and one FDE for all stubs (DWARF 5 section 6.4, and the "S" augmentation of the LSB's .eh_frame). CFA = rsp +
 * 0. "S": an unwinder tells frames apart by their CFA, and a stub's is that of its caller; a signal frame counts as
 * different.
 */
void strobe_unwind_table_write(struct strobe_recorder* recorder) {
    struct strobe_bytes out;
    uint8_t* cie = recorder->unwind_table;
    uint8_t* fde;
    uint8_t expression[64];
    struct strobe_bytes scratch;
    uint32_t length, index;
    scratch.at = expression;
    length = strobe_put_return_expression(&scratch, recorder);
    out.at = cie + 4;
    strobe_put(&out, 0, 4);        /* CIE id */
    strobe_put(&out, 1, 1);        /* version */
    strobe_put(&out, 0x53, 2);     /* augmentation "S" */
    strobe_put_uleb(&out, 1);      /* code alignment */
    strobe_put(&out, 0x78, 1);     /* data alignment -8 */
    strobe_put(&out, 16, 1);       /* return address column */
    strobe_put(&out, 0x00070c, 3); /* DW_CFA_def_cfa rsp, 0 */
    strobe_put(&out, 0x1016, 2);   /* DW_CFA_val_expression, register 16 */
    strobe_put_uleb(&out, length);
    for (index = 0; index < length; index++) strobe_put(&out, expression[index], 1);
    strobe_put_length(cie, &out);
    fde = out.at;
    out.at = fde + 4;
    strobe_put(&out, (uint64_t)(fde + 4 - cie), 4);
    strobe_put(&out, (uint64_t)recorder->stubs, 8);
    strobe_put(&out, (uint64_t)(strobe_return_path(recorder) - recorder->stubs), 8);
    strobe_put_length(fde, &out);
    strobe_put(&out, 0, 4); /* end of the table */
}
