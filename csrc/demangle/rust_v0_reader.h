// The parser of v0 names: reads and writes in one pass. Paths and types are in rust_v0.cpp, constants in
// rust_v0_constants.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace strobe::demangle {

constexpr unsigned kMaxDepth = 200;
constexpr unsigned kMaxSteps = 100'000;  // back references can double the work each
constexpr size_t kMaxBytes = 1 << 16;

struct Malformed {};

struct Identifier {
    uint64_t disambiguator = 0;
    std::string name;
};

// Positions count behind the "_R", as back references do.
class Reader {
  public:
    explicit Reader(std::string_view text) : text_(text) {}

    std::string name();

  private:
    // Counts a step down; what is too deep or too long is refused.
    class Level {
      public:
        explicit Level(Reader& reader) : reader_(reader) {
            if (++reader.depth_ > kMaxDepth || ++reader.steps_ > kMaxSteps) throw Malformed();
        }
        ~Level() { --reader_.depth_; }
        Level(const Level&) = delete;
        Level& operator=(const Level&) = delete;

      private:
        Reader& reader_;
    };

    char peek() const { return position_ < text_.size() ? text_[position_] : '\0'; }
    char next() {
        if (position_ >= text_.size()) throw Malformed();
        return text_[position_++];
    }
    bool take(char letter) {
        if (peek() != letter) return false;
        ++position_;
        return true;
    }
    void write(std::string_view piece) {
        if (is_silent_) return;
        if (out_.size() + piece.size() > kMaxBytes) throw Malformed();
        out_.append(piece);
    }

    uint64_t decimal();
    uint64_t base_62();
    uint64_t optional_base_62(char tag) { return take(tag) ? base_62() + 1 : 0; }
    std::string plain_identifier();
    Identifier identifier() {
        const uint64_t disambiguator = optional_base_62('s');
        return {disambiguator, plain_identifier()};
    }

    void path();
    bool open_path();  // whether the `>` of generic arguments is missing: the caller can add to them
    void nested();
    void impl(bool has_impl_path, bool has_trait);
    bool arguments();
    void argument();
    void type();
    void reference(bool is_mutable);
    void tuple();
    void function();
    void dynamic();
    void constant();
    void integer(bool is_signed);
    void character();
    void text_constant();
    void record();
    template <typename Item>
    size_t list(const char* separator, Item item);
    template <typename Rest>
    void back(Rest rest);

    std::string_view text_;
    size_t position_ = 0;
    unsigned depth_ = 0, steps_ = 0;
    bool is_silent_ = false;
    std::string out_;
};

template <typename Item>
size_t Reader::list(const char* separator, Item item) {
    size_t count = 0;
    while (!take('E')) {
        if (count++ > 0) write(separator);
        item();
    }
    return count;
}

// Goes on at an earlier position, once. Nothing there can be of interest when nothing is written.
template <typename Rest>
void Reader::back(Rest rest) {
    const size_t tag = position_ - 1;
    const uint64_t target = base_62();
    if (target >= tag) throw Malformed();
    if (is_silent_) return;
    const size_t behind = position_;
    position_ = target;
    rest();
    position_ = behind;
}

}  // namespace strobe::demangle
