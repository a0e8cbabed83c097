// Functions that a library loaded in this process calls from others.
#pragma once

#include <string>

namespace strobe {

// Has the library whose file is `path` call `replacement` wherever it calls `function` of another library. Returns
// false where it is not loaded, or does not call that by its table of relocations.
bool replace_import(const std::string& path, const std::string& function, void* replacement);

}  // namespace strobe
