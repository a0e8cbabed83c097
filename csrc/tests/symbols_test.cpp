// Symbol tables and debug information put together, case by case.
#include <cstring>
#include <sstream>

#include "check.h"
#include "symbols/argument_stores.h"
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

// A call of what begins at 0x1000, from 0x100, and what follows it.
unsigned uses_behind_a_call(std::vector<uint8_t> behind) {
    std::vector<uint8_t> code{0xe8, 0xfb, 0x0e, 0, 0};
    code.insert(code.end(), behind.begin(), behind.end());
    const std::vector<uint64_t> entries{0x100, 0x900, 0x1000};
    std::vector<uint8_t> uses(entries.size());
    add_result_uses(0x100, code, entries, uses);
    CHECK_EQUAL(uses[0] + uses[1], 0);
    return uses[2];
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
