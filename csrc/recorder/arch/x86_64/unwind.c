/*
 * Unwind information of the return stubs and the return path: with it exceptions, longjmp by unwinding, thread
 * cancellation and backtraces pass through them, from any of their instructions.
 */
#include "machine_code.h"

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

/* DWARF expression: rsp, and a word more behind the stub's push. */
static uint32_t strobe_put_stub_cfa(struct strobe_bytes* out) {
    uint8_t* start = out->at;
    strobe_put(out, 0x0077, 2);   /* DW_OP_breg7 0 */
    strobe_put(out, 0x0080, 2);   /* DW_OP_breg16 0 */
    strobe_put(out, 0x1a3f, 2);   /* DW_OP_lit15, DW_OP_and: into the stub */
    strobe_put(out, 0x2a3b, 2);   /* DW_OP_lit11, DW_OP_ge: STROBE_STUB_CALL_BYTES + 5 */
    strobe_put(out, 0x222433, 3); /* DW_OP_lit3, DW_OP_shl, DW_OP_plus */
    return (uint32_t)(out->at - start);
}

/* DWARF expression, with the CFA on its stack: what lies below it, as an address or as a frame's number, gives the
   return address minus 1, as above. */
static uint32_t strobe_put_path_expression(struct strobe_bytes* out, const struct strobe_recorder* recorder,
                                           int is_number) {
    uint8_t* start = out->at;
    strobe_put(out, 0x061c38, 3); /* DW_OP_lit8, DW_OP_minus, DW_OP_deref */
    if (is_number) {
        strobe_put(out, 0x0c, 1); /* DW_OP_const4u */
        strobe_put(out, (uint32_t)~STROBE_RETURNING_MARK, 4);
        strobe_put(out, 0x24361a, 3); /* DW_OP_and, DW_OP_lit6, DW_OP_shl: * sizeof(struct strobe_frame) */
        strobe_put(out, 0x0e, 1);     /* DW_OP_const8u */
        strobe_put(out, (uint64_t)recorder->frames, 8);
        strobe_put(out, 0x0622, 2); /* DW_OP_plus, DW_OP_deref */
    }
    strobe_put(out, 0x1c31, 2); /* DW_OP_lit1, DW_OP_minus */
    return (uint32_t)(out->at - start);
}

static void strobe_put_block(struct strobe_bytes* out, const uint8_t* block, uint32_t length) {
    uint32_t index;
    strobe_put_uleb(out, length);
    for (index = 0; index < length; index++) strobe_put(out, block[index], 1);
}

/* The CFA's distance from rsp changes by `change` after each instruction of these sizes. */
static void strobe_put_stack_moves(struct strobe_bytes* out, const char* sizes, uint32_t cfa_offset, int32_t change) {
    for (; *sizes != 0; sizes++) {
        cfa_offset += (uint32_t)change;
        strobe_put(out, 0x40 | (uint32_t)(*sizes - '0'), 1); /* DW_CFA_advance_loc */
        strobe_put(out, 0x0e, 1);                            /* DW_CFA_def_cfa_offset */
        strobe_put_uleb(out, cfa_offset);
    }
}

/* For the return path, instruction by instruction: a thread may be cancelled, or a profiler look, at any of them. */
static void strobe_put_path_instructions(struct strobe_bytes* out, const struct strobe_recorder* recorder) {
    uint8_t expression[64];
    struct strobe_bytes scratch;
    strobe_put(out, 0x08070c, 3); /* DW_CFA_def_cfa rsp, 8 */
    strobe_put(out, 0x1016, 2);   /* DW_CFA_val_expression, register 16 */
    scratch.at = expression;
    strobe_put_block(out, expression, strobe_put_path_expression(&scratch, recorder, 1));
    strobe_put_stack_moves(out, "15111122221", 8, 8); /* the pushes; the second with the flags' instructions */
    strobe_put(out, 0x0c83, 2);                       /* DW_CFA_offset rbx: 96 bytes below the CFA */
    strobe_put(out, 0x43, 1);                         /* DW_CFA_advance_loc: mov rbx, rsp */
    strobe_put(out, 0x030d, 2);                       /* DW_CFA_def_cfa_register rbx */
    strobe_put(out, 0x03, 1);                         /* DW_CFA_advance_loc2 */
    strobe_put(out, recorder->return_path_pops - STROBE_PATH_PUSHES_BYTES, 2);
    strobe_put(out, 0x070d, 2); /* DW_CFA_def_cfa_register rsp: it is the same again */
    strobe_put(out, 0x1016, 2); /* the slot has the return address now */
    scratch.at = expression;
    strobe_put_block(out, expression, strobe_put_path_expression(&scratch, recorder, 0));
#ifndef STROBE_STAYS_LOADED
    strobe_put(out, 0x40 | STROBE_DEPARTURE_BYTES, 1); /* DW_CFA_advance_loc */
#endif
    strobe_put_stack_moves(out, "1", 96, -8);
    strobe_put(out, 0x0308, 2); /* DW_CFA_same_value rbx */
    strobe_put_stack_moves(out, "222211111", 88, -8);
    strobe_put_stack_moves(out, "4", 16, -8); /* flags, then rax */
}

static void strobe_put_fde(struct strobe_bytes* out, const struct strobe_recorder* recorder, uint64_t start,
                           uint64_t bytes, int is_path) {
    uint8_t* fde = out->at;
    out->at = fde + 4;
    strobe_put(out, (uint64_t)(fde + 4 - recorder->unwind_table), 4);
    strobe_put(out, start, 8);
    strobe_put(out, bytes, 8);
    if (is_path) strobe_put_path_instructions(out, recorder);
    strobe_put_length(fde, out);
}

/*
 * One CIE, one FDE for all stubs and one for the return path (DWARF 5 section 6.4, and the "S" augmentation of the
 * LSB's .eh_frame). "S": an unwinder tells frames apart by their CFA, and a stub's is that of its caller; a signal
 * frame counts as different.
 */
void strobe_unwind_table_write(struct strobe_recorder* recorder) {
    struct strobe_bytes out, scratch;
    uint8_t* cie = recorder->unwind_table;
    uint64_t path = (uint64_t)strobe_return_path(recorder);
    uint8_t expression[64];
    out.at = cie + 4;
    strobe_put(&out, 0, 4);    /* CIE id */
    strobe_put(&out, 1, 1);    /* version */
    strobe_put(&out, 0x53, 2); /* augmentation "S" */
    strobe_put_uleb(&out, 1);  /* code alignment */
    strobe_put(&out, 0x78, 1); /* data alignment -8 */
    strobe_put(&out, 16, 1);   /* return address column */
    strobe_put(&out, 0x0f, 1); /* DW_CFA_def_cfa_expression */
    scratch.at = expression;
    strobe_put_block(&out, expression, strobe_put_stub_cfa(&scratch));
    strobe_put(&out, 0x1016, 2); /* DW_CFA_val_expression, register 16 */
    scratch.at = expression;
    strobe_put_block(&out, expression, strobe_put_return_expression(&scratch, recorder));
    strobe_put_length(cie, &out);
    strobe_put_fde(&out, recorder, (uint64_t)recorder->stubs, path - (uint64_t)recorder->stubs, 0);
    strobe_put_fde(&out, recorder, path, recorder->return_path_bytes, 1);
    strobe_put(&out, 0, 4); /* end of the table */
}
