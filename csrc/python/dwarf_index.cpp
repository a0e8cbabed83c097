#include <pybind11/stl.h>

#include "bindings.h"
#include "columns.h"
#include "dwarf/index.h"

namespace py = pybind11;

namespace strobe::bindings {
namespace {

using dwarf::FunctionRow;
using dwarf::Index;
using dwarf::TypeRow;
using dwarf::VariableRow;

py::dict functions(const Index& index) {
    const auto& rows = index.functions;
    py::dict columns;
    columns["name"] = py::bytes(index.function_names);
    columns["linkage_name"] = py::bytes(index.linkage_names);
    columns["die"] = column(rows, &FunctionRow::die);
    columns["address"] = column(rows, &FunctionRow::address);
    columns["size"] = column(rows, &FunctionRow::size);
    columns["unit"] = column(rows, &FunctionRow::unit);
    columns["file"] = column(rows, &FunctionRow::file);
    columns["line"] = column(rows, &FunctionRow::line);
    columns["first_range"] = column(rows, &FunctionRow::first_range);
    columns["range_count"] = column(rows, &FunctionRow::range_count);
    columns["flags"] = column(rows, &FunctionRow::flags);
    columns["parent"] = column(rows, &FunctionRow::parent);
    return columns;
}

py::dict variables(const Index& index) {
    const auto& rows = index.variables;
    py::dict columns;
    columns["name"] = py::bytes(index.variable_names);
    columns["linkage_name"] = py::bytes(index.variable_linkage_names);
    columns["die"] = column(rows, &VariableRow::die);
    columns["address"] = column(rows, &VariableRow::address);
    columns["unit"] = column(rows, &VariableRow::unit);
    columns["file"] = column(rows, &VariableRow::file);
    columns["line"] = column(rows, &VariableRow::line);
    columns["flags"] = column(rows, &VariableRow::flags);
    columns["parent"] = column(rows, &VariableRow::parent);
    return columns;
}

py::dict types(const Index& index) {
    py::dict columns;
    columns["name"] = py::bytes(index.type_names);
    columns["die"] = column(index.types, &TypeRow::die);
    columns["unit"] = column(index.types, &TypeRow::unit);
    columns["tag"] = column(index.types, &TypeRow::tag);
    columns["flags"] = column(index.types, &TypeRow::flags);
    return columns;
}

py::dict inlined(const Index& index) {
    py::dict columns;
    columns["name"] = py::bytes(index.inlined_names);
    columns["linkage_name"] = py::bytes(index.inlined_linkage_names);
    columns["sites"] = column(index.inlined_sites);
    columns["file"] = column(index.inlined_files);
    return columns;
}

py::bytes ranges(const Index& index) {
    return py::bytes(reinterpret_cast<const char*>(index.ranges.data()), index.ranges.size() * 16);
}

py::list files(const Index& index) {
    py::list paths;
    for (const std::string& path : index.files) paths.append(decoded(path));
    return paths;
}

py::list damage(const Index& index) {
    py::list rows;
    for (const dwarf::Damage& unit : index.damage) rows.append(py::make_tuple(unit.unit_offset, unit.reason));
    return rows;
}

}  // namespace

void add_dwarf_index(py::module_& module) {
    py::class_<Index>(module, "DwarfIndex")
        .def_property_readonly("function_count", [](const Index& index) { return index.functions.size(); })
        .def("functions", &functions)
        .def("variables", &variables)
        .def("types", &types)
        .def("inlined", &inlined)
        .def("ranges", &ranges)
        .def("files", &files)
        .def("damage", &damage);
}

}  // namespace strobe::bindings
