#include "patch/target/exports.h"

#include <elf.h>

#include <cstring>
#include <string>

namespace strobe {

namespace {

constexpr int kMostHeaders = 256;
constexpr int kMostEntries = 256;      // of the dynamic section
constexpr int kMostSymbols = 1 << 16;  // of one bucket, which has some few
constexpr unsigned kWordBits = 64;     // of the Bloom filter

struct HashHeader {
    std::uint32_t buckets, first_symbol, filter_words, shift;
};

std::uint32_t hash_of(std::string_view name) {
    std::uint32_t hash = 5381;
    for (const char letter : name) hash = hash * 33 + static_cast<unsigned char>(letter);
    return hash;
}

}  // namespace

template <typename T>
std::optional<T> Exports::read(std::uint64_t address) const {
    T value{};
    if (memory_.read(address, &value, sizeof value) != sizeof value) return std::nullopt;
    return value;
}

Exports::Exports(const ProcessMemory& memory, std::uint64_t base) : memory_(memory) {
    const auto file = read<Elf64_Ehdr>(base);
    if (!file || std::memcmp(file->e_ident, ELFMAG, SELFMAG) != 0 || file->e_phentsize != sizeof(Elf64_Phdr)) return;
    std::uint64_t dynamic = 0;
    std::optional<std::uint64_t> bias;
    for (int i = 0; i < file->e_phnum && i < kMostHeaders; i++) {
        const auto header = read<Elf64_Phdr>(base + file->e_phoff + i * sizeof(Elf64_Phdr));
        if (!header) return;
        if (header->p_type == PT_LOAD && !bias) bias = base - (header->p_vaddr - header->p_offset);
        if (header->p_type == PT_DYNAMIC) dynamic = header->p_vaddr;
    }
    if (!bias || dynamic == 0) return;
    bias_ = *bias;
    read_dynamic(bias_ + dynamic);
}

void Exports::read_dynamic(std::uint64_t address) {
    for (int i = 0; i < kMostEntries; i++) {
        const auto entry = read<Elf64_Dyn>(address + i * sizeof(Elf64_Dyn));
        if (!entry || entry->d_tag == DT_NULL) return;
        // glibc's loader has written addresses here, others leave what is in the file
        const std::uint64_t value = entry->d_un.d_ptr < bias_ ? bias_ + entry->d_un.d_ptr : entry->d_un.d_ptr;
        if (entry->d_tag == DT_GNU_HASH) hashes_ = value;
        if (entry->d_tag == DT_SYMTAB) symbols_ = value;
        if (entry->d_tag == DT_STRTAB) strings_ = value;
    }
}

std::optional<Export> Exports::find(std::string_view name) const {
    if (!are_readable()) return std::nullopt;
    const auto header = read<HashHeader>(hashes_);
    if (!header || header->buckets == 0 || header->filter_words == 0) return std::nullopt;
    const std::uint32_t hash = hash_of(name);
    const std::uint64_t filter = hashes_ + sizeof(HashHeader);
    const auto word = read<std::uint64_t>(filter + 8 * (hash / kWordBits % header->filter_words));
    const unsigned second = hash >> (header->shift % 32);
    if (!word || (*word >> (hash % kWordBits) & *word >> (second % kWordBits) & 1) == 0) return std::nullopt;
    const std::uint64_t buckets = filter + 8ULL * header->filter_words;
    const std::uint64_t chains = buckets + 4ULL * header->buckets;
    auto symbol = read<std::uint32_t>(buckets + 4ULL * (hash % header->buckets));
    if (!symbol || *symbol < header->first_symbol) return std::nullopt;
    for (int i = 0; i < kMostSymbols; i++, ++*symbol) {
        const auto found = read<std::uint32_t>(chains + 4ULL * (*symbol - header->first_symbol));
        if (!found) return std::nullopt;
        if ((*found | 1) == (hash | 1)) {
            if (const auto symbol_found = named(*symbol, name)) return symbol_found;
        }
        if ((*found & 1) != 0) return std::nullopt;
    }
    return std::nullopt;
}

std::optional<Export> Exports::named(std::uint32_t symbol, std::string_view name) const {
    const auto entry = read<Elf64_Sym>(symbols_ + sizeof(Elf64_Sym) * symbol);
    if (!entry || entry->st_shndx == SHN_UNDEF) return std::nullopt;
    std::string here(name.size() + 1, '\1');
    if (memory_.read(strings_ + entry->st_name, here.data(), here.size()) != here.size()) return std::nullopt;
    if (std::string_view(here.data(), name.size()) != name || here.back() != '\0') return std::nullopt;
    return Export{bias_ + entry->st_value, entry->st_size};
}

}  // namespace strobe
