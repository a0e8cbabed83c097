// Memory for many small things that go all at once.
#pragma once

#include <cstring>
#include <initializer_list>
#include <memory_resource>
#include <string_view>

namespace strobe::dwarf {

class Arena {
  public:
    std::pmr::memory_resource* resource() { return &memory_; }

    // The texts one behind the other, for as long as the arena lives.
    std::string_view joined(std::initializer_list<std::string_view> texts) {
        size_t size = 0;
        for (const std::string_view text : texts) size += text.size();
        char* const start = static_cast<char*>(memory_.allocate(size + 1, 1));
        char* end = start;
        for (const std::string_view text : texts) {
            if (!text.empty()) std::memcpy(end, text.data(), text.size());
            end += text.size();
        }
        return {start, size};
    }

  private:
    std::pmr::monotonic_buffer_resource memory_{size_t{16} << 10};
};

}  // namespace strobe::dwarf
