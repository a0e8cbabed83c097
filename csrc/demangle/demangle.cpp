#include "demangle/demangle.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

#include "demangle/rust_v0.h"

namespace strobe::demangle {

// Only names that begin as the Itanium C++ ABI says: __cxa_demangle takes any other for a type, "i" for int.
std::optional<std::string> demangled(const std::string& name) {
    if (name.starts_with("_R")) return rust_v0(name);
    if (!name.starts_with("_Z")) return std::nullopt;
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                           &std::free);
    if (status != 0 || !text) return std::nullopt;
    return std::string(text.get());
}

}  // namespace strobe::demangle
