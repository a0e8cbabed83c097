// libFuzzer target over everything that reads debug sections (csrc/tests/dwarf/dwarf_container.h has the form of its
// input). docs/testing.md tells how to run it. A finding belongs into csrc/tests/dwarf/fuzz, where dwarf_replay reads
// it ever after.
#include "dwarf_container.h"
#include "dwarf_reading.h"

using namespace strobe;
using namespace strobe::test;

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

// One section at a time: the others must keep their places, or nothing would fit together any more.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
    Contents contents = unpack({data, size});
    std::vector<uint8_t>& section = contents[seed % contents.size()];
    const size_t packed_size = pack(contents).size();
    if (packed_size > max_size) return 0;
    const size_t length = section.size();
    section.resize(length + max_size - packed_size);
    if (section.empty()) return packed_size;
    section.resize(LLVMFuzzerMutate(section.data(), length, section.size()));
    const std::vector<uint8_t> packed = pack(contents);
    std::memcpy(data, packed.data(), packed.size());
    return packed.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const Contents contents = unpack({data, size});
    std::mt19937 random(static_cast<unsigned>(size));
    tolerating([&] { read_everything(sections_of(contents), alternate_of(contents), lists_of(contents), random); });
    return 0;
}
