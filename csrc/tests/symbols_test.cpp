// Symbol tables and debug information put together, case by case.
#include <cstring>
#include <sstream>

#include "check.h"
#include "symbols/argument_stores.h"
#include "symbols/instruction_length.h"
#include "symbols/merged_functions.h"
#include "symbols/result_uses.h"

using namespace strobe::symbols;

namespace {

TableFunction local(std::string_view name, uint64_t address, uint64_t size = 1) {
    return {name, address, size, false, false};
}
TableFunction global(std::string_view name, uint64_t address) { return {name, address, 1, true, false}; }
TableFunction exported(std::string_view name, uint64_t address) { return {name, address, 1, true, true}; }

CodeRow row(std::string_view name, std::string_view linkage_name, uint64_t address) {
    return {name, linkage_name, address, 16, 100 + address, kNoFile, kNoLine};
}

// "address name=raw name" of each function.
std::string merged(const std::vector<TableFunction>& symbols, std::vector<CodeRow> code) {
    const FunctionColumns columns = merged_functions({symbols, std::move(code), {}, {0, 0}});
    std::istringstream names(columns.names), raw_names(columns.raw_names);
    std::string text, name, raw_name;
    for (const uint64_t address : columns.addresses) {
        std::getline(names, name, '\0');
        std::getline(raw_names, raw_name, '\0');
        text += (text.empty() ? "" : ", ") + std::to_string(address) + ' ' + name + '=' + raw_name;
    }
    return text;
}

void names_come_from_where_they_say_most() {
    CHECK_EQUAL(merged({local("_ZN1a1fEv", 2), local("g", 1)}, {}), "1 g=g, 2 a::f=_ZN1a1fEv");
    CHECK_EQUAL(merged({}, {row("a::f", "_ZN1a1fEv", 1), row("g", "", 0)}), "0 g=g, 1 a::f=_ZN1a1fEv");
    CHECK_EQUAL(merged({local("_ZZ1fvENKUlvE_clEv", 1)}, {row("f::<lambda()>::operator()", "", 1)}),
                "1 f::{lambda()#1}::operator()=_ZZ1fvENKUlvE_clEv");
    CHECK_EQUAL(merged({}, {row("f", "", 1), row("folded", "", 1)}), "1 f=f");
}

void of_several_symbols_the_own_one_counts() {
    CHECK_EQUAL(merged({global("b", 1), global("a", 1)}, {row("b", "", 1)}), "1 b=b");
    CHECK_EQUAL(merged({global("b", 1), global("a", 1)}, {}), "1 a=a");
    CHECK_EQUAL(merged({local("a", 1), global("__bb", 1)}, {}), "1 __bb=__bb");
    CHECK_EQUAL(merged({global("f", 1), local("g.isra.0", 1)}, {row("h", "", 1)}), "1 h=g.isra.0");
}

void a_public_alias_names_a_function_of_c() {
    CHECK_EQUAL(merged({exported("__lib_grow", 1), exported("grow", 1)}, {row("__lib_grow", "", 1)}), "1 grow=grow");
    CHECK_EQUAL(merged({local("inner", 1), exported("_outer", 1)}, {row("inner", "", 1)}), "1 _outer=_outer");
    CHECK_EQUAL(merged({exported("plain", 1), exported("also", 1)}, {row("plain", "", 1)}), "1 plain=plain");
    CHECK_EQUAL(merged({global("_Z1fv", 1), exported("f", 1)}, {row("f", "_Z1fv", 1)}), "1 f=_Z1fv");
}

void what_is_no_function_of_its_own_is_left_out() {
    CHECK_EQUAL(merged({local("f", 1), local("f.cold", 2)}, {}), "1 f=f");
    CHECK_EQUAL(merged({global("_ZThn8_N1A1fEv", 1)}, {row("A::{unnamed}", "", 1)}), "");
    CHECK_EQUAL(merged({global("_ZThn8_N1A1fEv", 1)}, {row("A::f", "", 1)}), "1 A::f=A::f");
}

void flags_and_sizes_are_of_all_names() {
    const FunctionColumns columns =
        merged_functions({{local("f", 1, 4), exported("g", 1), local("only", 9, 8), local("only", 9, 12)},
                          {row("f", "", 1)},
                          {},
                          {9, 10}});
    CHECK_EQUAL(columns.sizes[0], 16u);
    CHECK_EQUAL(columns.sizes[1], 12u);
    CHECK_EQUAL(unsigned{columns.flags[0]}, unsigned{kExported | kOpen});
    CHECK_EQUAL(unsigned{columns.flags[1]}, unsigned{kGo});
    CHECK_EQUAL(columns.dies[0], 101u);
    CHECK_EQUAL(columns.dies[1], kNoDie);
}

void an_elf_table_may_be_damaged() {
    const std::string strings("\0f\0end", 6);  // the last one has no end
    struct {
        uint32_t name;
        uint8_t info, other;
        uint16_t section;
        uint64_t address, size;
    } const entries[] = {{1, 0x12, 0, 1, 10, 1}, {3, 0x02, 0, 1, 11, 1}, {99, 0x12, 2, 1, 12, 1},
                         {1, 0x11, 0, 1, 13, 1}, {1, 0x12, 0, 0, 14, 1}, {1, 0x12, 0, 1, 99, 1}};
    std::vector<uint8_t> bytes(sizeof entries + 5);  // a part of one more
    std::memcpy(bytes.data(), entries, sizeof entries);
    SymbolTable table;
    table.add_elf({bytes, strings, {{10, 20}}, true});
    std::string text;
    for (const TableFunction& function : table.functions()) {
        text += std::string(function.name) + (function.is_global ? "+" : "-") + (function.is_exported ? "+ " : "- ");
    }
    CHECK_EQUAL(text, "f++ end-- +- ");
    CHECK(table.hidden_address("end") == 11u);
    CHECK(!table.hidden_address("f"));
}

// Of code at 0x100 that is a function; another one begins at `next`, and at 0x1000 the one asked for.
unsigned uses_in(const std::vector<uint8_t>& code, bool has_traps = false, uint64_t next = 0x900) {
    const std::vector<uint64_t> entries{0x100, next, 0x1000};
    std::vector<uint8_t> uses(entries.size());
    add_result_uses({0x100, code, has_traps}, entries, uses);
    CHECK_EQUAL(uses[0] + uses[1], 0);
    return uses[2];
}

// Of a call at 0x100, and what follows it.
unsigned uses_behind_a_call(const std::vector<uint8_t>& behind, bool has_traps = false, uint64_t next = 0x900) {
    std::vector<uint8_t> code{0xe8, 0xfb, 0x0e, 0, 0};
    code.insert(code.end(), behind.begin(), behind.end());
    const unsigned uses = uses_in(code, has_traps, next);
    CHECK((uses & kIsCalled) != 0);
    return uses & ~unsigned{kIsCalled};
}

void callers_show_which_results_they_read() {
    CHECK_EQUAL(uses_behind_a_call({0x84, 0xc0}), unsigned{kUsesRax});            // test al, al
    CHECK_EQUAL(uses_behind_a_call({0x48, 0x89, 0xc3}), unsigned{kUsesRax});      // mov rbx, rax
    CHECK_EQUAL(uses_behind_a_call({0x49, 0x89, 0xc0}), unsigned{kUsesRax});      // mov r8, rax
    CHECK_EQUAL(uses_behind_a_call({0x4c, 0x89, 0xc3}), 0u);                      // mov rbx, r8
    CHECK_EQUAL(uses_behind_a_call({0x31, 0xc0, 0x89, 0xc3}), 0u);                // xor eax, eax; …
    CHECK_EQUAL(uses_behind_a_call({0x8b, 0x04, 0x24, 0x89, 0xc3}), 0u);          // mov eax, [rsp]; …
    CHECK_EQUAL(uses_behind_a_call({0x89, 0x44, 0x24, 8, 0x89, 0x54, 0x24, 16}),  // mov [rsp + 8], eax
                unsigned{kUsesRax} | unsigned{kUsesRdx});                         // mov [rsp + 16], edx
    CHECK_EQUAL(uses_behind_a_call({0x48, 0x83, 0xc4, 8, 0x0f, 0xb6, 0xc0}), unsigned{kUsesRax});  // add rsp, 8; movzx
    CHECK_EQUAL(uses_behind_a_call({0xf2, 0x0f, 0x11, 0x44, 0x24, 8}), unsigned{kUsesXmm0});  // movsd [rsp + 8], xmm0
    CHECK_EQUAL(uses_behind_a_call({0x0f, 0x57, 0xc0, 0x0f, 0x28, 0xc8}), 0u);                // xorps xmm0, xmm0; …
    CHECK_EQUAL(uses_behind_a_call({0x88, 0x23}), 0u);                                        // mov [rbx], ah
    CHECK_EQUAL(uses_behind_a_call({0xeb, 0x00, 0x84, 0xc0}), 0u);                            // jmp; test al, al
    CHECK_EQUAL(uses_behind_a_call({0x90, 0x84, 0xc0}), 0u);                                  // nop; test al, al
    CHECK_EQUAL(uses_behind_a_call({0xf3, 0x0f, 0x1e, 0xfa, 0x84, 0xc0}), 0u);                // endbr64; test al, al
    CHECK_EQUAL(uses_behind_a_call({0xc3, 0x84, 0xc0}), 0u);                                  // ret; test al, al
}

void what_is_not_reached_by_the_call_shows_nothing() {
    for (const bool has_traps : {false, true}) {
        CHECK_EQUAL(uses_behind_a_call({0x84, 0xc0}, has_traps, 0x105), 0u);  // the next function begins there
        CHECK_EQUAL(uses_behind_a_call({0x48, 0x84, 0xc0}, has_traps, 0x106), 0u);
        CHECK_EQUAL(uses_behind_a_call({0x84, 0xc0}, has_traps, 0x107), unsigned{kUsesRax});
        const unsigned seen = has_traps ? unsigned{kUsesRax} : 0u;
        CHECK_EQUAL(uses_behind_a_call({0x84, 0xc0, 0x75, 0xfc}, has_traps), seen);                // jne there
        CHECK_EQUAL(uses_behind_a_call({0x84, 0xc0, 0x75, 0xfd}, has_traps), unsigned{kUsesRax});  // elsewhere
        CHECK_EQUAL(uses_behind_a_call({0x84, 0xc0, 0xe2, 0xfc}, has_traps), seen);                // loop
        CHECK_EQUAL(uses_behind_a_call({0x84, 0xc0, 0xe9, 0xf9, 0xff, 0xff, 0xff}, has_traps), seen);
        CHECK_EQUAL(uses_behind_a_call({0x84, 0xc0, 0x0f, 0x85, 0xf8, 0xff, 0xff, 0xff}, has_traps), seen);
        CHECK_EQUAL(uses_behind_a_call({0x84, 0xc0, 0x75, 0xfc}, has_traps, 0x107), seen);  // from another function
        CHECK_EQUAL(uses_behind_a_call({0x84, 0xc0, 0xff, 0xe2}, has_traps), seen);         // jmp rdx
        CHECK_EQUAL(uses_behind_a_call({0x84, 0xc0, 0xff, 0x24, 0xc5, 0, 0, 0, 0}, has_traps), seen);
        CHECK_EQUAL(uses_behind_a_call({0x84, 0xc0, 0xff, 0xd2}, has_traps), unsigned{kUsesRax});  // call rdx
        CHECK_EQUAL(uses_behind_a_call({0x84, 0xc0, 0x06}, has_traps), seen);                      // no instruction
    }
}

void a_call_within_an_instruction_is_none() {
    CHECK_EQUAL(uses_in({0xb8, 0xe8, 0xfa, 0x0e, 0, 0, 0x84, 0xc0}, true), 0u);              // mov eax, 0xefae8; …
    CHECK_EQUAL(uses_in({0x48, 0x8d, 0x05, 0xe8, 0xf8, 0x0e, 0, 0, 0x84, 0xc0}, true), 0u);  // lea rax, [rip + …]
    CHECK_EQUAL(uses_in({0x90, 0xe8, 0xfa, 0x0e, 0, 0, 0x84, 0xc0}, true), unsigned{kUsesRax} | unsigned{kIsCalled});
    CHECK_EQUAL(uses_in({0x66, 0x48, 0xe8, 0xf9, 0x0e, 0, 0, 0x84, 0xc0}, true),
                unsigned{kUsesRax} | unsigned{kIsCalled});
    CHECK_EQUAL(uses_in({0x06, 0xe8, 0xfa, 0x0e, 0, 0, 0x84, 0xc0}, true), 0u);  // behind what is not decoded
}

void instructions_have_their_lengths() {
    const std::vector<std::vector<uint8_t>> all{
        {0x48, 0x83, 0xec, 0x08},                                      // sub rsp, 8
        {0x48, 0x8b, 0x05, 0x6d, 0xcb, 0x3b, 0x00},                    // mov rax, [rip + …]
        {0x66, 0xc7, 0x00, 0x00, 0x00},                                // mov word [rax], 0
        {0x66, 0x81, 0x3b, 0x2d, 0x2d},                                // cmp word [rbx], …
        {0xc7, 0x47, 0x50, 0x0a, 0x00, 0x00, 0x00},                    // mov dword [rdi + 80], 10
        {0xc6, 0x05, 0x6d, 0x34, 0x3b, 0x00, 0x01},                    // mov byte [rip + …], 1
        {0x66, 0xb8, 0x01, 0x00},                                      // mov ax, 1
        {0xb8, 0x01, 0x00, 0x00, 0x00},                                // mov eax, 1
        {0x48, 0xb8, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08},  // mov rax, …
        {0x48, 0xa1, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08},  // mov rax, [absolute]
        {0x67, 0xa1, 0x01, 0x02, 0x03, 0x04},                          // the same, with a short address
        {0x8b, 0x84, 0x24, 0x80, 0x2f, 0x00, 0x00},                    // mov eax, [rsp + …]
        {0x8b, 0x04, 0x25, 0x80, 0x2f, 0x00, 0x00},                    // mov eax, [absolute]
        {0x8b, 0x44, 0xc8, 0x08},                                      // mov eax, [rax + 8 * rcx + 8]
        {0x74, 0x02},                                                  // je
        {0x0f, 0x82, 0xe9, 0x02, 0x00, 0x00},                          // jb
        {0xe3, 0xe3},                                                  // jrcxz
        {0xeb, 0x02},                                                  // jmp
        {0xe9, 0xdd, 0x00, 0x00, 0x00},                                // jmp
        {0xff, 0xd0},                                                  // call rax
        {0xff, 0x15, 0xe0, 0x00, 0x00, 0x00},                          // call [rip + …]
        {0x66, 0x66, 0x48, 0x1b, 0xe8},                                // sbb rbp, rax, with prefixes
        {0x66, 0x66, 0x48, 0xe8, 0x01, 0x02, 0x03, 0x04},              // call
        {0xc2, 0x08, 0x00},                                            // ret 8
        {0xc8, 0x10, 0x00, 0x00},                                      // enter
        {0x6a, 0x01},                                                  // push 1
        {0x68, 0x01, 0x02, 0x03, 0x04},                                // push …
        {0xf6, 0xc3, 0x01},                                            // test bl, 1
        {0xf6, 0xd3},                                                  // not bl
        {0xf7, 0xc3, 0x01, 0x02, 0x03, 0x04},                          // test ebx, …
        {0x66, 0xf7, 0xc3, 0x01, 0x02},                                // test bx, …
        {0x48, 0xf7, 0xd9},                                            // neg rcx
        {0x6b, 0xc0, 0x02},                                            // imul eax, eax, 2
        {0x69, 0xc0, 0x01, 0x02, 0x03, 0x04},                          // imul eax, eax, …
        {0x41, 0x0f, 0xba, 0xe2, 0x1c},                                // bt r10d, 28
        {0xf3, 0x48, 0xa5},                                            // rep movsq
        {0x0f, 0x05},                                                  // syscall
        {0x0f, 0x0b},                                                  // ud2
        {0x0f, 0xc8},                                                  // bswap eax
        {0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},              // nop [rax + rax]
        {0xf2, 0x0f, 0x10, 0x44, 0x24, 0x08},                          // movsd xmm0, [rsp + 8]
        {0x0f, 0xc6, 0xc0, 0x1b},                                      // shufps xmm0, xmm0, 27
        {0x66, 0x0f, 0x38, 0xdc, 0xd1},                                // aesenc
        {0x66, 0x0f, 0x3a, 0x0f, 0xc1, 0x08},                          // palignr
        {0xd9, 0xe1},                                                  // fabs
        {0xc5, 0xf8, 0x77},                                            // vzeroupper
        {0xc5, 0xb9, 0x73, 0xdb, 0x04},                                // vpsrldq
        {0xc4, 0x41, 0x01, 0xef, 0x10},                                // vpxor
        {0xc4, 0xe2, 0x69, 0xdc, 0xd1},                                // vaesenc
        {0xc4, 0xe3, 0x71, 0x0f, 0xe0, 0x08},                          // vpalignr
        {0x62, 0xf1, 0x7d, 0x28, 0xef, 0xc0},                          // vpxord
        {0x62, 0xf1, 0xfd, 0x48, 0x6f, 0x41, 0x02},                    // vmovdqa64 zmm0, [rcx + 128]
        {0x62, 0xf3, 0xfd, 0x20, 0x03, 0xc9, 0x01},                    // valignq
        {0x62, 0xf5, 0x7c, 0x48, 0x58, 0xc1},                          // vaddph
    };
    for (const std::vector<uint8_t>& one : all) {
        std::vector<uint8_t> code = one;
        CHECK_EQUAL(instruction_length(code), one.size());
        code.resize(code.size() + 8, 0x66);
        CHECK_EQUAL(instruction_length(code), one.size());
        code.resize(one.size() - 1);
        CHECK_EQUAL(instruction_length(code), 0u);
    }
    CHECK_EQUAL(instruction_length({}), 0u);
    CHECK_EQUAL(instruction_length(std::vector<uint8_t>(40, 0x66)), 0u);
}

// "register:base+offset" of each.
std::string stores(std::vector<uint8_t> code) {
    std::string text;
    for (const ArgumentStore& one : argument_stores(code))
        text += std::to_string(one.argument) + ':' + std::to_string(one.base) + '+' + std::to_string(one.offset) + ' ';
    return text;
}

void functions_show_where_they_put_their_arguments() {
    CHECK_EQUAL(stores({0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x83, 0xec, 0x18, 0x48, 0x89, 0x74, 0x24, 8}), "64:4+8 ");
    CHECK_EQUAL(stores({0x48, 0x89, 0x3c, 0x24}), "128:4+0 ");                           // mov [rsp], rdi
    CHECK_EQUAL(stores({0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0x7d, 0xf8}), "128:5+-8 ");  // push rbp; …
    CHECK_EQUAL(stores({0xf2, 0x0f, 0x11, 0x44, 0x24, 8}), "65536:4+8 ");                // movsd [rsp + 8], xmm0
    CHECK_EQUAL(stores({0x48, 0x89, 0xf7, 0x48, 0x89, 0x3c, 0x24}), "");                 // mov rdi, rsi; …
    CHECK_EQUAL(stores({0x48, 0x89, 0x3c, 0x24, 0x48, 0x83, 0xec, 8}), "");              // …; sub rsp, 8
    CHECK_EQUAL(stores({0x48, 0x89, 0x3c, 0x24, 0x50}), "");                             // …; push rax
    CHECK_EQUAL(stores({0x48, 0x89, 0x3c, 0x04}), "");                                   // mov [rsp + rax], rdi
    CHECK_EQUAL(stores({0x48, 0x01, 0x3c, 0x24}), "");                                   // add [rsp], rdi
    CHECK_EQUAL(stores({0xeb, 0x00, 0x48, 0x89, 0x3c, 0x24}), "");                       // jmp; …
}

void any_bytes_may_follow_a_call() {
    uint64_t random = 88172645463325252u;
    for (int round = 0; round < 100'000; ++round) {
        std::vector<uint8_t> behind(static_cast<size_t>(round % 24));
        for (uint8_t& byte : behind) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            byte = static_cast<uint8_t>(random >> 32);
        }
        CHECK(uses_behind_a_call(behind) < 16u);
        CHECK(argument_stores(behind).size() <= behind.size());
    }
}

}  // namespace

int main() {
    callers_show_which_results_they_read();
    what_is_not_reached_by_the_call_shows_nothing();
    a_call_within_an_instruction_is_none();
    instructions_have_their_lengths();
    functions_show_where_they_put_their_arguments();
    any_bytes_may_follow_a_call();
    names_come_from_where_they_say_most();
    of_several_symbols_the_own_one_counts();
    a_public_alias_names_a_function_of_c();
    what_is_no_function_of_its_own_is_left_out();
    flags_and_sizes_are_of_all_names();
    an_elf_table_may_be_damaged();
    return strobe::test::verdict();
}
