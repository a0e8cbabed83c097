/*
 * Trampolines, made on the agent's thread. The function's entry becomes a jump to its trampoline:
 *
 *   memory:          address of strobe_native_enter; in the portable form of a guard (guards.c)
 *   memory + 8:      the number of this memory (agent/trampolines.ts)
 *   trampoline - 4:  the function's number
 *   trampoline:      push rax
 *                    lea rax, [resume]
 *                    jmp [memory]
 *   resume:          the instructions that the jump displaced, run from a return stub (stubs.c), or jumped to
 *                    jmp behind them
 *   trampoline + 76: struct strobe_trampoline_origin
 *
 * `endbr64` stays where it is, the jump lies behind it: an indirect call must find it.
 * A displaced call becomes a push of the original return address and a jump. Executed from here it would leave a return
 * address in memory without unwind information, and an exception from below would end the program.
 *
 * An instruction that is probed, anywhere in a function, becomes a jump to its trampoline where it is as long as one;
 * else its first byte becomes a breakpoint instruction, and the handler of SIGTRAP has the thread go on there
 * (native/faults.c). So no other instruction is displaced, and it does not matter where the code jumps to.
 *
 *   memory:          address of strobe_native_site
 *   trampoline - 4:  the number of the instruction's first probe
 *   trampoline:      lea rsp, [rsp - 128]; the function may have something there, without having moved it
 *                    call [memory]
 *                    lea rsp, [rsp + 128]
 *                    the instruction
 *                    jmp behind it
 */
#include "patchable.h"

/* How many bytes could be read at `from`. A bad address is no fault: the kernel reads, unless it refuses to. */
static uint64_t strobe_code_read(uint64_t from, uint8_t* into, uint64_t bytes) {
    uint64_t source[2], target[2];
    int64_t pid = strobe_syscall(STROBE_SYS_GETPID, 0, 0, 0, 0, 0, 0);
    int64_t result;
    source[0] = from;
    target[0] = (uint64_t)into;
    source[1] = target[1] = bytes;
    result = strobe_syscall(STROBE_SYS_PROCESS_VM_READV, pid, (int64_t)target, 1, (int64_t)source, 1, 0);
    if (result != -STROBE_EPERM && result != -STROBE_ENOSYS) return result < 0 ? 0 : (uint64_t)result;
    for (source[1] = 0; source[1] < bytes; source[1]++) into[source[1]] = ((const volatile uint8_t*)from)[source[1]];
    return bytes;
}

/* What may stand in the program's code, in the order in which it was made. */
struct strobe_changes {
    const struct strobe_jump* jumps;
    uint64_t count;
};

/* In a copy of code from `from` on: what was there before our changes, or before those of probes alone. */
static void strobe_undo(const struct strobe_changes* changes, int probes_alone, uint64_t from, uint8_t* copy,
                        uint64_t copied) {
    uint64_t index;
    uint32_t at;
    for (index = changes->count; index-- > 0;) {
        const struct strobe_jump* one = &changes->jumps[index];
        if ((probes_alone && !one->is_probe) || one->address + one->written <= from || one->address >= from + copied)
            continue;
        for (at = 0; at < one->written; at++)
            if (one->address + at >= from && one->address + at < from + copied)
                copy[one->address + at - from] = (uint8_t)(one->original >> 8 * at);
    }
}

#define STROBE_PUSH_BYTES 5u /* of a push of 4 bytes */
/* before it lie 18 bytes, copies of 31 at most (a call: 13 and 15; of three loops: 27), and a jump */
STROBE_STATIC_ASSERT(STROBE_TRAMPOLINE_ORIGIN + sizeof(struct strobe_trampoline_origin) == STROBE_TRAMPOLINE_BYTES,
                     "room for it");

struct strobe_output {
    uint8_t* at;
    int failed; /* STROBE_ENTRY_* */
};

static void strobe_emit(struct strobe_output* out, uint64_t value, uint32_t count) {
    while (count-- > 0) {
        *out->at++ = (uint8_t)value;
        value >>= 8;
    }
}

/* The distance to `target`, which ends an instruction. */
static void strobe_emit_distance(struct strobe_output* out, uint64_t target) {
    int64_t distance = (int64_t)(target - ((uint64_t)out->at + 4));
    if (distance != (int64_t)(int32_t)distance) out->failed = STROBE_REFUSED_TOO_FAR;
    strobe_emit(out, (uint64_t)distance, 4);
}

static void strobe_emit_jump(struct strobe_output* out, uint64_t target) {
    strobe_emit(out, 0xe9, 1);
    strobe_emit_distance(out, target);
}

/* The operand that counts from the instruction; NULL where none does. */
static const cs_x86_op* strobe_relative_operand(const cs_x86* x86) {
    uint32_t index;
    for (index = 0; index < x86->op_count; index++)
        if (x86->operands[index].type == X86_OP_MEM && x86->operands[index].mem.base == X86_REG_RIP)
            return &x86->operands[index];
    return NULL;
}

/* Where in the instruction its operand's 4 bytes are; 0 where that is not certain. The decoder does not say so of every
   instruction (comisd): then they are looked for. */
static uint32_t strobe_displacement_offset(const cs_insn* instruction, const cs_x86_op* operand) {
    const cs_x86* x86 = &instruction->detail->x86;
    uint32_t found = 0;
    uint32_t at, index;
    if (x86->encoding.disp_size == 4) return x86->encoding.disp_offset;
    for (at = 1; at + 4 <= instruction->size; at++) {
        uint32_t value = 0;
        for (index = 0; index < 4; index++) value |= (uint32_t)instruction->bytes[at + index] << 8 * index;
        if (value != (uint32_t)operand->mem.disp) continue;
        if (found) return 0;
        found = at;
    }
    return found;
}

/* The instruction as it is, save for an operand that counts from it. */
static void strobe_emit_copy(struct strobe_output* out, const cs_insn* instruction) {
    const cs_x86* x86 = &instruction->detail->x86;
    uint8_t* start = out->at;
    const cs_x86_op* relative = strobe_relative_operand(x86);
    uint32_t index, offset;
    int64_t moved, distance;
    for (index = 0; index < instruction->size; index++) *out->at++ = instruction->bytes[index];
    if (relative == NULL) return;
    offset = strobe_displacement_offset(instruction, relative);
    moved = (int64_t)(instruction->address - (uint64_t)start);
    distance = relative->mem.disp + moved;
    if (offset == 0 || distance != (int64_t)(int32_t)distance) {
        out->failed = STROBE_REFUSED_TOO_FAR;
        return;
    }
    for (index = 0; index < 4; index++) start[offset + index] = (uint8_t)(distance >> (8 * index));
}

static int strobe_uses_stack_pointer(const cs_x86* x86) {
    const cs_x86_op* operand = &x86->operands[0];
    if (operand->type == X86_OP_REG) return operand->reg == X86_REG_RSP;
    return operand->mem.base == X86_REG_RSP || operand->mem.index == X86_REG_RSP;
}

/* `code`: from there on the program's own code goes on, and there the return address must lie. */
static void strobe_emit_call(struct strobe_output* out, const cs_insn* instruction, uint64_t code) {
    const cs_x86* x86 = &instruction->detail->x86;
    uint64_t back = instruction->address + instruction->size;
    int direct = x86->operands[0].type == X86_OP_IMM;
    uint8_t* start;
    if (back < code || (!direct && strobe_uses_stack_pointer(x86)) || (!direct && x86->opcode[0] != 0xff)) {
        out->failed = STROBE_REFUSED_CALL_IN_ENTRY;
        return;
    }
    strobe_emit(out, 0x68, 1); /* push imm32, extended by sign */
    strobe_emit(out, back, 4);
    strobe_emit(out, 0x042444c7, 4); /* mov dword [rsp + 4], imm32 */
    strobe_emit(out, back >> 32, 4);
    if (direct) {
        strobe_emit_jump(out, (uint64_t)x86->operands[0].imm);
        return;
    }
    start = out->at;
    strobe_emit_copy(out, instruction); /* of a site's at STROBE_SITE_CALLED */
    /* FF /2 is a call, FF /4 a jump */
    start[x86->encoding.modrm_offset] = (uint8_t)((start[x86->encoding.modrm_offset] & 0xc7) | 0x20);
}

/* A conditional jump, loop or jrcxz; 0 when it is none of these. */
static int strobe_emit_conditional(struct strobe_output* out, const cs_insn* instruction) {
    const cs_x86* x86 = &instruction->detail->x86;
    uint64_t target = (uint64_t)x86->operands[0].imm;
    uint8_t opcode = x86->opcode[0];
    if (x86->op_count != 1 || x86->operands[0].type != X86_OP_IMM) return 0;
    if ((opcode & 0xf0) == 0x70 || (opcode == 0x0f && (x86->opcode[1] & 0xf0) == 0x80)) {
        strobe_emit(out, 0x0f, 1);
        strobe_emit(out, 0x80 | ((opcode == 0x0f ? x86->opcode[1] : opcode) & 15), 1);
        strobe_emit_distance(out, target);
        return 1;
    }
    if (opcode < 0xe0 || opcode > 0xe3) return 0;
    if (instruction->size > 2) strobe_emit(out, instruction->bytes[0], 1); /* its size prefix */
    strobe_emit(out, opcode, 1);
    strobe_emit(out, 0x05eb02, 3); /* taken: over the next jump; else: over the one behind it */
    strobe_emit_jump(out, target);
    return 1;
}

/* 1 when nothing follows it. `code`: as strobe_emit_call has it. */
static int strobe_emit_moved(struct strobe_output* out, csh decoder, const cs_insn* instruction, uint64_t code) {
    const cs_x86* x86 = &instruction->detail->x86;
    if (cs_insn_group(decoder, instruction, CS_GRP_CALL)) {
        strobe_emit_call(out, instruction, code);
        return 1;
    }
    if (instruction->id == X86_INS_JMP && x86->operands[0].type == X86_OP_IMM) {
        strobe_emit_jump(out, (uint64_t)x86->operands[0].imm);
        return 1;
    }
    if (instruction->id == X86_INS_XBEGIN) out->failed = STROBE_REFUSED_NOT_CODE;
    if (!strobe_emit_conditional(out, instruction)) strobe_emit_copy(out, instruction);
    return instruction->id == X86_INS_JMP || cs_insn_group(decoder, instruction, CS_GRP_RET);
}

static uint64_t strobe_jump_target(const cs_insn* instruction) {
    const cs_x86* x86 = &instruction->detail->x86;
    uint64_t place, target = 0;
    if (instruction->id != X86_INS_JMP) return 0;
    if (x86->operands[0].type == X86_OP_IMM) return (uint64_t)x86->operands[0].imm;
    if (strobe_relative_operand(x86) == NULL) return 0;
    place = instruction->address + instruction->size + (uint64_t)x86->disp;
    return strobe_code_read(place, (uint8_t*)&target, sizeof target) == sizeof target ? target : 0;
}

static void strobe_emit_function(struct strobe_output* out, csh decoder, struct strobe_trampoline* one,
                                 const struct strobe_code* function, struct strobe_trampoline_origin* origin) {
    uint64_t jump = one->entry + one->skip;
    const uint8_t* code = function->copy + one->skip;
    uint64_t address = jump;
    size_t left = function->copied - one->skip;
    int ended = 0;
    uint32_t index;
    cs_insn* instruction = cs_malloc(decoder);
    while (!ended && !out->failed && address < jump + STROBE_JUMP_BYTES) {
        if (!cs_disasm_iter(decoder, &code, &left, &address, instruction)) {
            out->failed = STROBE_REFUSED_NOT_CODE;
            break;
        }
        if (instruction->address == jump) {
            one->leads_to = strobe_jump_target(instruction);
        } else {
            one->copies[instruction->address - jump - 1] = (uint8_t)((uint64_t)out->at - one->address);
        }
        if (cs_insn_group(decoder, instruction, CS_GRP_CALL))
            origin->call = (uint8_t)((uint64_t)out->at - one->address + STROBE_PUSH_BYTES);
        ended = strobe_emit_moved(out, decoder, instruction, jump + STROBE_JUMP_BYTES);
    }
    cs_free(instruction, 1);
    origin->jump = jump;
    for (index = 0; index < 4; index++) origin->copies[index] = one->copies[index];
    origin->displaced = (uint8_t)(address - jump);
    if (ended) return;
    origin->back = (uint8_t)((uint64_t)out->at - one->address);
    strobe_emit_jump(out, address);
}

static void strobe_write_trampoline(csh decoder, struct strobe_trampoline* one, uint8_t* memory, uint8_t* place,
                                    uint8_t* copy, const struct strobe_changes* changes) {
    struct strobe_output out;
    struct strobe_code function;
    struct strobe_trampoline_origin* origin = (struct strobe_trampoline_origin*)(place + STROBE_TRAMPOLINE_ORIGIN);
    uint32_t index;
    int result;
    uint64_t behind = (0 - (one->entry + one->size)) % STROBE_PAGE_BYTES; /* what is beyond may not be there */
    function.entry = one->entry;
    function.bytes = one->size;
    function.copy = copy;
    if (behind > STROBE_CODE_BEHIND) behind = STROBE_CODE_BEHIND;
    function.copied = strobe_code_read(one->entry, copy, one->size + behind);
    strobe_undo(changes, 1, one->entry, copy, function.copied);
    one->skip = (uint32_t)strobe_jump_offset(&function);
    result = strobe_patchable(decoder, &function, one->skip);
    one->displaced = (uint32_t)result >> STROBE_ENTRY_DISPLACED_SHIFT;
    for (index = 0; index < STROBE_JUMP_BYTES; index++) one->original[index] = copy[one->skip + index];
    out.at = place;
    out.failed = result & 0xff;
    strobe_emit(&out, one->function, 4);
    one->address = (uint64_t)out.at;
    strobe_emit(&out, 0x50, 1);     /* push rax */
    strobe_emit(&out, 0x058d48, 3); /* lea rax, [rip + 6]: behind the jump */
    strobe_emit(&out, 6, 4);
    strobe_emit(&out, 0x25ff, 2); /* jmp [memory] */
    strobe_emit_distance(&out, (uint64_t)memory);
    if (!out.failed) strobe_emit_function(&out, decoder, one, &function, origin);
    one->result = (uint32_t)((result & 0xff00) | out.failed);
}

/* `memory`: 16 bytes, and STROBE_TRAMPOLINE_BYTES for each of them. `copy`: room for the longest function and
   STROBE_CODE_BEHIND bytes. `jumps`: what stands in the code. 0, or -1 where there is no decoder. */
int strobe_agent_write_trampolines(uint32_t count, struct strobe_trampoline* trampolines, uint8_t* memory,
                                   uint64_t enter, uint8_t* copy, const struct strobe_jump* jumps,
                                   uint64_t jump_count) {
    csh decoder = strobe_decoder_open();
    struct strobe_changes changes;
    uint32_t index;
    if (decoder == 0) return -1;
    changes.jumps = jumps;
    changes.count = jump_count;
    *(uint64_t*)memory = enter;
    for (index = 0; index < count; index++)
        strobe_write_trampoline(decoder, &trampolines[index], memory,
                                memory + 16 + (uint64_t)index * STROBE_TRAMPOLINE_BYTES, copy, &changes);
    cs_close(&decoder);
    return 0;
}

#define STROBE_INSTRUCTION_BYTES 15u
STROBE_STATIC_ASSERT(STROBE_SITE_CALL == 4 + 5 && STROBE_SITE_INSTRUCTION == STROBE_SITE_CALL + 6 + 8, "as below");
STROBE_STATIC_ASSERT(STROBE_SITE_CALLED == STROBE_SITE_INSTRUCTION + 5 + 8, "as strobe_emit_call");

/* What the kernel, the CPU or a debugger knows by its place, or what leaves no trace of it. */
static int strobe_is_unmovable(const cs_insn* instruction) {
    return strobe_is_system_call(instruction) || instruction->id == X86_INS_XBEGIN || instruction->id == X86_INS_INT3 ||
           instruction->id == X86_INS_HLT || instruction->id == X86_INS_ENDBR64 || instruction->id == X86_INS_UD2;
}

static void strobe_write_site(csh decoder, struct strobe_site* one, uint8_t* memory, uint8_t* at,
                              const struct strobe_changes* changes) {
    uint8_t copy[16];
    const uint8_t* code = copy;
    uint64_t address = one->address;
    size_t left = strobe_code_read(one->address, copy, STROBE_INSTRUCTION_BYTES);
    cs_insn* instruction = cs_malloc(decoder);
    struct strobe_output out;
    uint32_t index;
    strobe_undo(changes, 0, one->address, copy, left);
    out.at = at;
    out.failed = 0;
    strobe_emit(&out, one->function, 4);
    one->leads_to = (uint64_t)out.at;
    strobe_emit(&out, 0x8024648d48, 5); /* lea rsp, [rsp - 128] */
    strobe_emit(&out, 0x15ff, 2);       /* call [memory] */
    strobe_emit_distance(&out, (uint64_t)memory);
    strobe_emit(&out, 0x8024a48d48, 5); /* lea rsp, [rsp + 128] */
    strobe_emit(&out, 0, 3);
    if (!cs_disasm_iter(decoder, &code, &left, &address, instruction)) {
        out.failed = STROBE_REFUSED_NOT_CODE;
    } else if (strobe_is_unmovable(instruction)) {
        out.failed = STROBE_REFUSED_UNMOVABLE;
    } else {
        one->size = instruction->size;
        for (index = 0; index < instruction->size; index++) one->original[index] = copy[index];
        if (!strobe_emit_moved(&out, decoder, instruction, 0)) {
            one->back = (uint64_t)out.at;
            strobe_emit_jump(&out, address);
        }
        if (out.failed == STROBE_REFUSED_CALL_IN_ENTRY) out.failed = STROBE_REFUSED_UNMOVABLE;
    }
    one->result = (uint32_t)out.failed;
    cs_free(instruction, 1);
}

/* As strobe_agent_write_trampolines, of instructions; `leads_to`: strobe_native_site. */
int strobe_agent_write_sites(uint32_t count, struct strobe_site* sites, uint8_t* memory, uint64_t leads_to,
                             const struct strobe_jump* jumps, uint64_t jump_count) {
    csh decoder = strobe_decoder_open();
    struct strobe_changes changes;
    uint32_t index;
    if (decoder == 0) return -1;
    changes.jumps = jumps;
    changes.count = jump_count;
    *(uint64_t*)memory = leads_to;
    for (index = 0; index < count; index++)
        strobe_write_site(decoder, &sites[index], memory, memory + 16 + (uint64_t)index * STROBE_TRAMPOLINE_BYTES,
                          &changes);
    cs_close(&decoder);
    return 0;
}
