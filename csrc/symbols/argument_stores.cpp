#include "symbols/argument_stores.h"

namespace strobe::symbols {

namespace {

constexpr int kLooked = 32;  // instructions

}  // namespace

std::vector<ArgumentStore> argument_stores(std::span<const uint8_t> code) {
    std::vector<ArgumentStore> stores;
    Decoder decoder(code);
    Registers written = 0;
    for (int count = 0; count < kLooked; ++count) {
        const std::optional<Instruction> found = decoder.next();
        if (!found) break;
        // what was stored by an earlier value of a base lies elsewhere from now on
        std::erase_if(stores, [&](const ArgumentStore& one) { return (found->writes & general(one.base)) != 0; });
        const bool is_frame = found->base == kRsp || found->base == kRbp;
        if (is_frame && found->stored != 0 && (found->stored & written) == 0)
            stores.push_back({found->stored, found->base, found->offset});
        written |= found->writes;
    }
    return stores;
}

}  // namespace strobe::symbols
