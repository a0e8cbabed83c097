// Tables of frames: of this very program, and of what has been damaged.
#include <link.h>

#include <cstring>
#include <random>
#include <vector>

#include "check.h"
#include "unwind/compile.h"
extern "C" {
#include "unwind/lookup.h"
}

namespace {

struct Module {
    std::uint64_t start = 0, size = 0, address = 0;
    std::vector<std::uint8_t> section;
};

// The program itself, the first that the loader lists.
Module own_module() {
    Module found;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* context) {
            auto& module = *static_cast<Module*>(context);
            std::uint64_t frames = 0, end = 0;
            for (int number = 0; number < info->dlpi_phnum; number++) {
                const ElfW(Phdr) & header = info->dlpi_phdr[number];
                const std::uint64_t address = info->dlpi_addr + header.p_vaddr;
                if (header.p_type == PT_GNU_EH_FRAME) {
                    std::int32_t distance = 0;
                    std::memcpy(&distance, reinterpret_cast<const void*>(address + 4), sizeof distance);
                    frames = address + 4 + static_cast<std::uint64_t>(static_cast<std::int64_t>(distance));
                }
                if (header.p_type == PT_LOAD) {
                    if (module.start == 0) module.start = address;
                    module.size = address + header.p_memsz - module.start;
                    if (frames == 0 || frames < address || frames >= address + header.p_filesz) continue;
                    end = address + header.p_filesz;
                }
            }
            for (int number = 0; number < info->dlpi_phnum && end == 0; number++) {
                const ElfW(Phdr) & header = info->dlpi_phdr[number];
                const std::uint64_t address = info->dlpi_addr + header.p_vaddr;
                if (header.p_type == PT_LOAD && frames >= address && frames < address + header.p_filesz)
                    end = address + header.p_filesz;
            }
            module.address = frames;
            module.section.resize(end - frames);
            std::memcpy(module.section.data(), reinterpret_cast<const void*>(frames), end - frames);
            return 1;
        },
        &found);
    return found;
}

void check_whole(const std::vector<std::uint8_t>& bytes) {
    strobe_unwind_table head;
    CHECK(bytes.size() >= sizeof head);
    std::memcpy(&head, bytes.data(), sizeof head);
    CHECK_EQUAL(bytes.size(), head.rules + sizeof(strobe_unwind_rule) * head.rule_count);
    const auto* offsets = reinterpret_cast<const std::uint32_t*>(bytes.data() + sizeof head);
    const auto* numbers = reinterpret_cast<const std::uint16_t*>(bytes.data() + head.rules_of);
    for (std::uint32_t row = 0; row < head.row_count; row++) {
        CHECK(row == 0 || offsets[row - 1] < offsets[row]);
        CHECK(numbers[row] < head.rule_count);
    }
}

struct Directory {
    std::vector<std::uint64_t> words;
    strobe_unwind_directory* get() { return reinterpret_cast<strobe_unwind_directory*>(words.data()); }
};

Directory directory_of(const Module& module, const std::vector<std::uint8_t>& table) {
    Directory made;
    made.words.resize((sizeof(strobe_unwind_directory) + sizeof(strobe_unwind_module)) / 8);
    made.get()->module_count = 1;
    made.get()->modules[0] = {module.start, module.start + module.size, reinterpret_cast<std::uint64_t>(table.data())};
    return made;
}

__attribute__((noinline)) void a_function() { __asm__ volatile("nop"); }

void the_first_instruction_has_its_return_address_on_the_stack() {
    const Module module = own_module();
    const auto table = strobe::unwind::compile(module.section, module.address, module.start, module.size);
    check_whole(table);
    Directory directory = directory_of(module, table);
    const auto pc = reinterpret_cast<std::uint64_t>(&a_function);
    for (int round = 0; round < 2; round++) {
        const strobe_unwind_rule* rule = strobe_unwind_find(directory.get(), pc);
        CHECK(rule != nullptr);
        CHECK_EQUAL(int(rule->cfa_kind), int(STROBE_UNWIND_REGISTER));
        CHECK_EQUAL(int(rule->cfa_register), int(STROBE_UNWIND_RSP));
        CHECK_EQUAL(rule->cfa_offset, 8);
    }
    const std::uint64_t packed = strobe_unwind_known(directory.get(), pc);
    CHECK(packed & STROBE_UNWIND_PLAIN);
    CHECK_EQUAL(packed >> STROBE_UNWIND_CFA_SHIFT & STROBE_UNWIND_CFA_MASK, std::uint64_t{1});
    CHECK_EQUAL(packed & STROBE_UNWIND_RBP_MASK, std::uint64_t{0});
    CHECK(strobe_unwind_find(directory.get(), module.start + module.size) == nullptr);
    CHECK(strobe_unwind_find(directory.get(), module.start - 1) == nullptr);
}

void what_is_damaged_gives_a_table_all_the_same() {
    const Module module = own_module();
    std::mt19937 random(7);
    std::vector<std::uint8_t> section(
        module.section.begin(),
        module.section.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(module.section.size(), 6000)));
    for (int round = 0; round < 3000; round++) {
        auto damaged = section;
        for (int count = 0; count < 8; count++)
            damaged[random() % damaged.size()] = static_cast<std::uint8_t>(random());
        damaged.resize(random() % (damaged.size() + 1));
        check_whole(strobe::unwind::compile(damaged, module.address, module.start, module.size));
    }
}

}  // namespace

int main() {
    the_first_instruction_has_its_return_address_on_the_stack();
    what_is_damaged_gives_a_table_all_the_same();
}
