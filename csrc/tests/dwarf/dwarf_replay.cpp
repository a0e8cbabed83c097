// Inputs of the fuzz target, with any compiler: `dwarf_replay FILE-OR-FOLDER…` reads each as dwarf_fuzz does, and the
// debug sections of programs likewise. `dwarf_replay --seed PROGRAM SEED [ALTERNATE]` makes such an input of a program,
// and of the alternate file that dwz has made for it.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string_view>

#include "dwarf_container.h"
#include "dwarf_reading.h"
#include "dwarf_sections.h"

using namespace strobe::test;
namespace fs = std::filesystem;

namespace {

Contents contents_of_program(const char* path) {
    SectionBytes sections = read_sections(path);
    Contents contents;
    for (size_t index = 0; index < kOwn; ++index) contents[index] = std::move(sections[kContained[index]]);
    return contents;
}

void add_alternate(Contents& contents, const char* path) {
    SectionBytes sections = read_sections(path);
    for (size_t index = kOwn; index < contents.size(); ++index) contents[index] = sections[kContained[index]];
}

bool write_seed(const char* program, const char* seed, const char* alternate) {
    Contents contents = contents_of_program(program);
    if (alternate != nullptr) add_alternate(contents, alternate);
    const std::vector<uint8_t> packed = pack(contents);
    std::ofstream file(seed, std::ios::binary);
    file.write(reinterpret_cast<const char*>(packed.data()), static_cast<std::streamsize>(packed.size()));
    return file.good() && !contents[0].empty();
}

void replay(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> input{std::istreambuf_iterator<char>(file), {}};
    const bool is_program = std::string_view(input.data(), input.size())
                                .starts_with(
                                    "\x7f"
                                    "ELF");
    const Contents contents = is_program ? contents_of_program(path.c_str())
                                         : unpack({reinterpret_cast<const uint8_t*>(input.data()), input.size()});
    std::mt19937 random(static_cast<unsigned>(input.size()));
    tolerating([&] { read_everything(sections_of(contents), alternate_of(contents), lists_of(contents), random); });
}

size_t replay_all(const fs::path& path) {
    if (!fs::is_directory(path)) return replay(path), 1;
    size_t count = 0;
    for (const auto& entry : fs::directory_iterator(path)) count += replay_all(entry.path());
    return count;
}

}  // namespace

int main(int count, char** arguments) {
    if (count >= 4 && std::string_view(arguments[1]) == "--seed") {
        return write_seed(arguments[2], arguments[3], count > 4 ? arguments[4] : nullptr) ? 0 : 1;
    }
    size_t inputs = 0;
    for (int index = 1; index < count; ++index) inputs += replay_all(arguments[index]);
    std::cout << inputs << " inputs read\n";
    return inputs > 0 ? 0 : 1;
}
