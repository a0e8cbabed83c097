// strobe._core. What it offers is written down in strobe/_core.pyi.
#include <system_error>

#include "bindings.h"
#include "dwarf/units/cursor.h"
#include "segment/file/segment.h"

namespace py = pybind11;

namespace {

void translate(std::exception_ptr failure) {
    try {
        if (failure) std::rethrow_exception(failure);
    } catch (const std::system_error& error) {
        strobe::bindings::set_os_error(error);
    } catch (const strobe::SegmentError& error) {
        PyErr_SetString(PyExc_ValueError, error.what());
    } catch (const strobe::dwarf::DwarfError& error) {
        PyErr_SetString(PyExc_ValueError, error.what());
    }
}

}  // namespace

PYBIND11_MODULE(_core, module) {
    py::register_local_exception_translator(&translate);
    strobe::bindings::add_clock(module);
    strobe::bindings::add_demangle(module);
    strobe::bindings::add_limits(module);
    strobe::bindings::add_mapping(module);
    strobe::bindings::add_names(module);
    strobe::bindings::add_patch(module);
    strobe::bindings::add_recipe(module);
    strobe::bindings::add_dwarf_index(module);
    strobe::bindings::add_dwarf(module);
    strobe::bindings::add_segment(module);
    strobe::bindings::add_sieve(module);
    strobe::bindings::add_symbols(module);
}
