// An exception that nobody catches.
#include <stdexcept>
#include <string>

__attribute__((noinline)) int parse(const std::string& text) {
    if (text.empty()) throw std::invalid_argument("no text");
    return static_cast<int>(text.size());
}

__attribute__((noinline)) int parse_all(const std::string& text) { return parse(text) + 1; }

int main(int argc, char**) { return parse_all(std::string(static_cast<size_t>(argc - 1), 'x')); }
