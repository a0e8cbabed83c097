#include "patch/injection/imports.h"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

namespace strobe {

namespace {

struct Wanted {
    const std::string& path;
    const std::string& function;
    void* replacement;
    bool is_done;
};

// What ld.so has read of PT_DYNAMIC (System V gABI, chapter 5).
struct Dynamic {
    const ElfW(Sym) * symbols;
    const char* strings;
    const ElfW(Rela) * tables[2];  // of the procedure linkage table, and all others
    std::size_t sizes[2];          // in bytes
};

Dynamic read_dynamic(const dl_phdr_info& object, const ElfW(Dyn) * entries) {
    Dynamic found{};
    const auto at = [&object](ElfW(Addr) address) {  // most have been relocated by ld.so
        return reinterpret_cast<const void*>(address < object.dlpi_addr ? object.dlpi_addr + address : address);
    };
    for (; entries->d_tag != DT_NULL; entries++) {
        const ElfW(Addr) value = entries->d_un.d_ptr;
        switch (entries->d_tag) {
            case DT_SYMTAB:
                found.symbols = static_cast<const ElfW(Sym)*>(at(value));
                break;
            case DT_STRTAB:
                found.strings = static_cast<const char*>(at(value));
                break;
            case DT_JMPREL:
                found.tables[0] = static_cast<const ElfW(Rela)*>(at(value));
                break;
            case DT_PLTRELSZ:
                found.sizes[0] = value;
                break;
            case DT_RELA:
                found.tables[1] = static_cast<const ElfW(Rela)*>(at(value));
                break;
            case DT_RELASZ:
                found.sizes[1] = value;
                break;
            default:
                break;
        }
    }
    return found;
}

// The table may have been made read-only after its relocation (RELRO).
bool set_slot(void** slot, void* value) {
    if (*slot == value) return true;
    const auto page_size = static_cast<std::uintptr_t>(getpagesize());
    const std::uintptr_t page = reinterpret_cast<std::uintptr_t>(slot) & ~(page_size - 1);
    if (mprotect(reinterpret_cast<void*>(page), page_size, PROT_READ | PROT_WRITE) != 0) return false;
    __atomic_store_n(slot, value, __ATOMIC_RELEASE);
    return true;
}

int visit(dl_phdr_info* object, std::size_t, void* data) {
    auto& wanted = *static_cast<Wanted*>(data);
    if (wanted.path != object->dlpi_name) return 0;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) & header = object->dlpi_phdr[i];
        if (header.p_type != PT_DYNAMIC) continue;
        const Dynamic dynamic =
            read_dynamic(*object, reinterpret_cast<const ElfW(Dyn)*>(object->dlpi_addr + header.p_vaddr));
        if (dynamic.symbols == nullptr || dynamic.strings == nullptr) return 1;
        for (int table = 0; table < 2; table++) {
            const std::size_t count = dynamic.tables[table] == nullptr ? 0 : dynamic.sizes[table] / sizeof(ElfW(Rela));
            for (std::size_t number = 0; number < count; number++) {
                const ElfW(Rela) & relocation = dynamic.tables[table][number];
                const auto symbol = ELF64_R_SYM(relocation.r_info);
                if (symbol == 0 || wanted.function != dynamic.strings + dynamic.symbols[symbol].st_name) continue;
                auto* const slot = reinterpret_cast<void**>(object->dlpi_addr + relocation.r_offset);
                wanted.is_done = set_slot(slot, wanted.replacement) || wanted.is_done;
            }
        }
    }
    return 1;
}

}  // namespace

bool replace_import(const std::string& path, const std::string& function, void* replacement) {
    Wanted wanted{path, function, replacement, false};
    dl_iterate_phdr(visit, &wanted);
    return wanted.is_done;
}

}  // namespace strobe
