/* Which rule holds at an address. Runs in the target, anywhere: reads tables and nothing else, waits for nobody. */
#ifndef STROBE_UNWIND_LOOKUP_H
#define STROBE_UNWIND_LOOKUP_H

#include "table.h"

/* Odd, so that no two addresses of 48 bits become one. */
#define STROBE_UNWIND_FACTOR 0x9e3779b97f4bull
#define STROBE_UNWIND_MASK ((1ull << 48) - 1)

static inline const struct strobe_unwind_rule* strobe_unwind_rule_of(const struct strobe_unwind_module* module,
                                                                     uint64_t number) {
    const struct strobe_unwind_table* table = (const struct strobe_unwind_table*)module->table;
    return (const struct strobe_unwind_rule*)((const uint8_t*)table + table->rules) + number;
}

/* How many of the modules begin at or below `pc`. */
static inline uint64_t strobe_unwind_modules_below(const struct strobe_unwind_directory* directory, uint64_t pc) {
    uint64_t low = 0, high = directory->module_count;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (directory->modules[middle].start <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The number of the rule; 0: nothing is known. */
static inline uint64_t strobe_unwind_search(const struct strobe_unwind_module* module, uint64_t pc) {
    const struct strobe_unwind_table* table = (const struct strobe_unwind_table*)module->table;
    const uint32_t* offsets = (const uint32_t*)(table + 1);
    uint64_t offset = pc - module->start;
    uint32_t low = 0, high = table->row_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (offsets[middle] <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low == 0 ? 0 : ((const uint16_t*)((const uint8_t*)table + table->rules_of))[low - 1];
}

/* The rule as a word of the cache has it, or 0 where it is none of those. */
static inline uint64_t strobe_unwind_packed(const struct strobe_unwind_rule* rule) {
    uint64_t cfa = (uint64_t)(int64_t)rule->cfa_offset / 8, rbp = 0;
    if (rule->cfa_kind != STROBE_UNWIND_REGISTER || rule->cfa_offset < 8 || rule->cfa_offset % 8 != 0) return 0;
    if (rule->cfa_register != STROBE_UNWIND_RSP && rule->cfa_register != STROBE_UNWIND_RBP) return 0;
    if (rule->rbp_kind == STROBE_UNWIND_AT_CFA && rule->rbp_offset < 0 && rule->rbp_offset % 8 == 0)
        rbp = (uint64_t)-(int64_t)rule->rbp_offset / 8;
    else if (rule->rbp_kind != STROBE_UNWIND_SAME)
        return 0;
    if (cfa > STROBE_UNWIND_CFA_MASK || rbp > STROBE_UNWIND_RBP_MASK) return 0;
    return STROBE_UNWIND_PLAIN | (rule->cfa_register == STROBE_UNWIND_RBP ? STROBE_UNWIND_FROM_RBP : 0) |
           cfa << STROBE_UNWIND_CFA_SHIFT | rbp;
}

static inline uint64_t strobe_unwind_hash(uint64_t pc) { return pc * STROBE_UNWIND_FACTOR & STROBE_UNWIND_MASK; }

/* What is known of `pc` already, as the cache has it, without its tag; 0: nothing. */
static inline uint64_t strobe_unwind_known(const struct strobe_unwind_directory* directory, uint64_t pc) {
    uint64_t hash = strobe_unwind_hash(pc);
    uint64_t known =
        *(const volatile uint64_t*)&directory->cached[hash >> (48 - STROBE_UNWIND_CACHED_BITS)]; /* whole */
    /* the tag's bits are the low ones of the hash, at the top */
    return (known ^ hash << STROBE_UNWIND_TAG_SHIFT) >> STROBE_UNWIND_TAG_SHIFT == 0
               ? known & ((1ull << STROBE_UNWIND_TAG_SHIFT) - 1)
               : 0;
}

/* NULL where no module lies there; a rule may be one that says that nothing is known. */
static inline const struct strobe_unwind_rule* strobe_unwind_find(struct strobe_unwind_directory* directory,
                                                                  uint64_t pc) {
    uint64_t hash = strobe_unwind_hash(pc), known = strobe_unwind_known(directory, pc);
    const struct strobe_unwind_rule* rule;
    uint64_t number, found;
    if (known != 0 && !(known & STROBE_UNWIND_PLAIN))
        return strobe_unwind_rule_of(
            &directory->modules[(known >> STROBE_UNWIND_MODULE_SHIFT & STROBE_UNWIND_MODULE_MASK) - 1], known & 0xffff);
    number = strobe_unwind_modules_below(directory, pc);
    if (number == 0 || pc >= directory->modules[number - 1].end) return (const struct strobe_unwind_rule*)0;
    found = strobe_unwind_search(&directory->modules[number - 1], pc);
    rule = strobe_unwind_rule_of(&directory->modules[number - 1], found);
    known = strobe_unwind_packed(rule);
    if (known == 0) known = number << STROBE_UNWIND_MODULE_SHIFT | found;
    *(volatile uint64_t*)&directory->cached[hash >> (48 - STROBE_UNWIND_CACHED_BITS)] =
        hash << STROBE_UNWIND_TAG_SHIFT | known;
    return rule;
}

#endif
