#include "columns.h"
#include "dwarf_rows.h"

namespace py = pybind11;

namespace strobe::bindings {
namespace {

using dwarf::Bytes;
using dwarf::SignatureRow;
using dwarf::TypeReference;

py::bytes bytes_of(Bytes content) { return {reinterpret_cast<const char*>(content.data()), content.size()}; }

// A signature is negative, an offset is not: ~signature.
py::object type_key(const TypeReference& type) {
    if (type.kind == TypeReference::kVoid) return py::none();
    const py::int_ value(type.value);
    return type.kind == TypeReference::kOffset ? py::object(value) : py::object(~value);
}

py::tuple parameter_row(const dwarf::ParameterRow& row) {
    return py::make_tuple(decoded(row.name), type_key(row.type), bytes_of(row.location.expression),
                          row.location.is_list);
}

py::object signature_row(const dwarf::Signatures& all, const SignatureRow& row) {
    if ((row.flags & SignatureRow::kIsUnreadable) != 0) return py::none();
    py::tuple parameters(row.parameter_count);
    for (size_t index = 0; index < row.parameter_count; ++index) {
        parameters[index] = parameter_row(all.parameters[row.first_parameter + index]);
    }
    const bool has_low_pc = (row.flags & SignatureRow::kHasLowPc) != 0;
    return py::make_tuple(row.unit, static_cast<int>(row.language), row.flags, decoded(row.name),
                          decoded(row.linkage_name), has_low_pc ? py::object(py::int_(row.low_pc)) : py::none(),
                          bytes_of(row.frame_base), type_key(row.returned), row.written_count, parameters);
}

}  // namespace

py::list signature_rows(const dwarf::Signatures& signatures) {
    py::list rows(signatures.functions.size());
    for (size_t index = 0; index < rows.size(); ++index) {
        rows[index] = signature_row(signatures, signatures.functions[index]);
    }
    return rows;
}

}  // namespace strobe::bindings
