/*
 * How frames of a module are unwound, compiled from its .eh_frame on the host (compile.cpp) and looked up in the target
 * (lookup.h), as the kernel's ORC does: plain C that both read.
 *
 *   table of a module:  struct strobe_unwind_table
 *                       offsets[row_count]   uint32_t, from the module's start, ascending: where a rule begins to hold
 *                       rules_of[row_count]  uint16_t: which one
 *                       rules[rule_count]    struct strobe_unwind_rule; the first one: nothing is known
 *
 * A table stays mapped as long as a thread may read it; what comes and goes is the directory, which is replaced whole.
 */
#ifndef STROBE_UNWIND_TABLE_H
#define STROBE_UNWIND_TABLE_H

#include <stdint.h>

#include "../abi/strobe_agent.h"

/* strobe_unwind_rule.cfa_kind: where the canonical frame address is, the return address lying 8 bytes below it */
#define STROBE_UNWIND_UNKNOWN 0u
#define STROBE_UNWIND_REGISTER 1u /* a register, plus an offset */
#define STROBE_UNWIND_DEREF 2u    /* what lies there */
#define STROBE_UNWIND_PLT 3u      /* rsp + 8; and 8 more where pc & 15 is not below `plt_limit` */
#define STROBE_UNWIND_SIGNAL 4u   /* rsp points to the context of what a signal has interrupted */
#define STROBE_UNWIND_OUTERMOST 5u

/* strobe_unwind_rule.rbp_kind: the caller's rbp */
#define STROBE_UNWIND_SAME 0u
#define STROBE_UNWIND_AT_CFA 1u /* saved so far from the CFA */
#define STROBE_UNWIND_AT_RBP 2u /* saved so far from what rbp is here */
#define STROBE_UNWIND_LOST 3u

#define STROBE_UNWIND_RBP 6u /* DWARF's numbers */
#define STROBE_UNWIND_RSP 7u

struct strobe_unwind_rule {
    uint8_t cfa_kind;
    uint8_t cfa_register;
    uint8_t rbp_kind;
    uint8_t plt_limit;
    int32_t cfa_offset;
    int32_t rbp_offset;
    uint32_t reserved;
};

struct strobe_unwind_table {
    uint32_t row_count;
    uint32_t rule_count;
    uint32_t rules_of; /* bytes from the table's beginning, as the next; the offsets follow this */
    uint32_t rules;
};

struct strobe_unwind_module {
    uint64_t start;
    uint64_t end;
    uint64_t table; /* its address */
};

/*
 * What was found for an address, by its hash: 35 bits of that, then 29 of the rule. Nearly every rule is PLAIN and
 * stands there itself: the CFA is rsp or rbp (FROM_RBP) plus 8 times the 17 bits from CFA_SHIFT on; the caller's rbp is
 * the same, or lies 8 times the low 9 bits below the CFA. Of another one there is its number, in the low 16 bits, and
 * the module's plus 1.
 */
#define STROBE_UNWIND_CACHED_BITS 13
#define STROBE_UNWIND_TAG_SHIFT 29
#define STROBE_UNWIND_PLAIN 0x10000000ull
#define STROBE_UNWIND_FROM_RBP 0x8000000ull
#define STROBE_UNWIND_CFA_SHIFT 9
#define STROBE_UNWIND_CFA_MASK 0x1ffffull
#define STROBE_UNWIND_RBP_MASK 0x1ffull
#define STROBE_UNWIND_MODULE_SHIFT 16
#define STROBE_UNWIND_MODULE_MASK 0xfffull

struct strobe_unwind_directory {
    uint64_t module_count; /* by address, none overlaps */
    uint64_t generation;   /* the recorder's own: each directory has another one */
    uint64_t own_start;    /* of the recorder's own code, whose frames are left out */
    uint64_t own_end;
    uint64_t cached[STROBE_UNWIND_CACHED];
    struct strobe_unwind_module modules[];
};

#endif
