/* Whether the first bytes of a function can be overwritten with a jump: found by decoding it. Runs on the agent's
   thread, with the Capstone that Frida brings. */
#include "patchable.h"

#define STROBE_ENDBR64 0xfa1e0ff3u
#define STROBE_ENDBR64_BYTES 4

/* The `bytes` behind the function's end. */
static int strobe_is_padding(csh decoder, const struct strobe_code* function, uint64_t bytes) {
    cs_insn* instruction = cs_malloc(decoder);
    const uint8_t* code = function->copy + function->bytes;
    size_t left = function->copied - function->bytes; /* a multi-byte nop may reach beyond */
    uint64_t address = function->entry + function->bytes;
    uint64_t end = address + bytes;
    int padding = 1;
    while (padding && address < end) {
        padding = cs_disasm_iter(decoder, &code, &left, &address, instruction) &&
                  (instruction->id == X86_INS_NOP || instruction->id == X86_INS_INT3);
    }
    cs_free(instruction, 1);
    return padding;
}

static int strobe_is_loop(const cs_insn* instruction) {
    return instruction->id == X86_INS_LOOP || instruction->id == X86_INS_LOOPE || instruction->id == X86_INS_LOOPNE;
}

/* A thread that waits in a system call stands behind the instruction, and the kernel may begin it again two bytes
   before that, wherever the thread was moved to. */
static int strobe_is_system_call(const cs_insn* instruction) {
    return instruction->id == X86_INS_SYSCALL || instruction->id == X86_INS_SYSENTER || instruction->id == X86_INS_INT;
}

/* What an instruction means for a jump that is to lie at `jump`, `entry` being where the function begins. */
static int strobe_judge(const cs_insn* instruction, csh decoder, uint64_t entry, uint64_t jump) {
    const cs_x86* x86 = &instruction->detail->x86;
    int is_call = cs_insn_group(decoder, instruction, CS_GRP_CALL);
    uint64_t target;
    if (instruction->address < jump + STROBE_JUMP_BYTES && strobe_is_system_call(instruction))
        return STROBE_REFUSED_SYSTEM_CALL_IN_ENTRY;
    if (!is_call && !cs_insn_group(decoder, instruction, CS_GRP_JUMP) && !strobe_is_loop(instruction)) return 0;
    if (x86->op_count != 1 || x86->operands[0].type != X86_OP_IMM) return 0;
    target = (uint64_t)x86->operands[0].imm;
    if (target > jump && target < jump + STROBE_JUMP_BYTES) return STROBE_REFUSED_BRANCH_INTO_ENTRY;
    return !is_call && (target == entry || target == jump) ? STROBE_ENTRY_LOOPS : 0;
}

static int strobe_scan(csh decoder, const struct strobe_code* function, uint64_t skip) {
    cs_insn* instruction = cs_malloc(decoder);
    const uint8_t* at = function->copy + skip;
    size_t left = function->bytes - skip;
    uint64_t jump = function->entry + skip;
    uint64_t address = jump;
    uint64_t displaced = 0;
    int result = STROBE_REFUSED_NOTHING;
    if (!cs_disasm_iter(decoder, &at, &left, &address, instruction)) result = STROBE_REFUSED_NOT_CODE;
    at = function->copy + skip;
    left = function->bytes - skip;
    address = jump;
    while (!(result & 0xff) && cs_disasm_iter(decoder, &at, &left, &address, instruction)) {
        int judged = strobe_judge(instruction, decoder, function->entry, jump);
        result = (judged & 0xff) ? judged : (result | judged);
        if (instruction->address < jump + STROBE_JUMP_BYTES) displaced = address - jump;
    }
    cs_free(instruction, 1);
    return result | (int)(displaced << STROBE_ENTRY_DISPLACED_SHIFT);
}

int strobe_patchable(csh decoder, const struct strobe_code* function, uint64_t skip) {
    uint64_t own = function->bytes - skip;
    int result;
    if (function->copied < function->bytes) return STROBE_REFUSED_NOT_CODE;
    result = strobe_scan(decoder, function, skip);
    if (own < STROBE_JUMP_BYTES && !(result & 0xff) && !strobe_is_padding(decoder, function, STROBE_JUMP_BYTES - own))
        return STROBE_REFUSED_TOO_SHORT;
    return result;
}

uint64_t strobe_jump_offset(const struct strobe_code* function) {
    int is_marked = function->bytes >= STROBE_ENDBR64_BYTES + STROBE_JUMP_BYTES &&
                    function->copied >= STROBE_ENDBR64_BYTES && *(const uint32_t*)function->copy == STROBE_ENDBR64;
    return is_marked ? STROBE_ENDBR64_BYTES : 0;
}

csh strobe_decoder_open(void) {
    csh decoder = 0;
    if (cs_open(CS_ARCH_X86, CS_MODE_64, &decoder) != CS_ERR_OK) return 0;
    cs_option(decoder, CS_OPT_DETAIL, CS_OPT_ON);
    return decoder;
}
