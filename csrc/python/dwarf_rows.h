// Rows of the DWARF reader as Python objects.
#pragma once

#include <pybind11/pybind11.h>

#include "dwarf/functions/signatures.h"

namespace strobe::bindings {

// One for each function; None where nothing can be read.
pybind11::list signature_rows(const dwarf::Signatures& signatures);

}  // namespace strobe::bindings
