#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "abi/strobe_abi.h"
#include "bindings.h"
#include "columns.h"
#include "symbols/argument_stores.h"
#include "symbols/code_parts.h"
#include "symbols/code_rows.h"
#include "symbols/frame_ranges.h"
#include "symbols/instruction_length.h"
#include "symbols/jumps/beginnings.h"
#include "symbols/merged_functions.h"
#include "symbols/result_uses.h"
#include "symbols/settled_entries.h"
#include "symbols/symbol_table.h"
#include "unwind/compile.h"

namespace py = pybind11;

namespace strobe::bindings {
namespace {

using symbols::CodePart;
using symbols::SymbolTable;
using Range = std::pair<uint64_t, uint64_t>;
using Row = std::tuple<std::string, uint64_t, uint64_t, std::optional<std::string>, std::optional<uint32_t>>;

void add_elf(SymbolTable& table, const py::bytes& entries, const py::bytes& strings, std::vector<Range> executable,
             bool is_dynamic) {
    const auto content = static_cast<std::string_view>(entries);
    const std::span bytes(reinterpret_cast<const uint8_t*>(content.data()), content.size());
    const auto texts = static_cast<std::string_view>(strings);
    const py::gil_scoped_release release;
    table.add_elf({bytes, texts, std::move(executable), is_dynamic});
}

void add(SymbolTable& table, const std::string& name, uint64_t address, uint64_t size, bool is_global,
         bool is_exported) {
    table.add({name, address, size, is_global, is_exported});
}

py::list rows(const SymbolTable& table) {
    py::list all;
    for (const auto& function : table.functions()) {
        all.append(py::make_tuple(decoded(function.name), function.address, function.size, function.is_global,
                                  function.is_exported));
    }
    return all;
}

py::dict merged(const SymbolTable& table, const dwarf::Index* index, const std::vector<Row>& others, Range go_code) {
    symbols::FunctionColumns made;
    {
        const py::gil_scoped_release release;
        symbols::CodeRows code;
        if (index != nullptr) code.add(*index);
        for (const auto& [name, address, size, file, line] : others) code.add(name, address, size, file, line);
        made = symbols::merged_functions({table.functions(), code.rows(), code.files(), go_code});
    }
    py::dict columns;
    columns["name"] = py::bytes(made.names);
    columns["raw_name"] = py::bytes(made.raw_names);
    columns["address"] = column(made.addresses);
    columns["size"] = column(made.sizes);
    columns["file"] = column(made.files);
    columns["line"] = column(made.lines);
    columns["flags"] = column(made.flags);
    columns["die"] = column(made.dies);
    columns["path"] = py::bytes(made.paths);
    columns["shared_name"] = py::bytes(made.shared_names);
    columns["sharing"] = column(made.sharing);
    columns["thunk_name"] = py::bytes(made.thunk_names);
    columns["thunk"] = column(made.thunks);
    columns["thunk_size"] = column(made.thunk_sizes);
    return columns;
}

void settle_entries(dwarf::Index& index, const SymbolTable& table) {
    const py::gil_scoped_release release;
    symbols::settle_entries(index, table.functions());
}

py::bytes result_uses(const std::vector<std::pair<uint64_t, py::bytes>>& code, const std::vector<uint64_t>& entries,
                      bool has_traps) {
    std::vector<std::pair<uint64_t, std::string_view>> pieces;
    pieces.reserve(code.size());
    for (const auto& [address, content] : code) pieces.emplace_back(address, static_cast<std::string_view>(content));
    std::vector<uint8_t> uses(entries.size());
    {
        const py::gil_scoped_release release;
        for (const auto& [address, content] : pieces) {
            const std::span bytes(reinterpret_cast<const uint8_t*>(content.data()), content.size());
            symbols::add_result_uses({address, bytes, has_traps}, entries, uses);
        }
    }
    return {reinterpret_cast<const char*>(uses.data()), uses.size()};
}

// General registers in the order of arguments, as instructions number them.
constexpr uint8_t kArguments[] = {7, 6, 2, 1, 8, 9};
constexpr uint32_t kVectorArguments = 8;
constexpr int kDwarfRbp = 6, kDwarfRsp = 7;

// STROBE_SOURCE_* of a register; nothing for what passes no argument.
std::optional<uint32_t> source_of(symbols::Registers argument) {
    for (uint32_t index = 0; index < std::size(kArguments); ++index)
        if (argument == symbols::general(kArguments[index])) return index;
    for (uint32_t index = 0; index < kVectorArguments; ++index)
        if (argument == symbols::vector(static_cast<uint8_t>(index))) return STROBE_SOURCE_XMM0 + index;
    return std::nullopt;
}

py::list argument_stores(const py::bytes& code) {
    const auto content = static_cast<std::string_view>(code);
    py::list all;
    for (const auto& [argument, base, offset] :
         symbols::argument_stores({reinterpret_cast<const uint8_t*>(content.data()), content.size()})) {
        if (const auto source = source_of(argument))
            all.append(py::make_tuple(*source, base == symbols::kRsp ? kDwarfRsp : kDwarfRbp, offset));
    }
    return all;
}

py::dict code_parts(const dwarf::Index& index) {
    std::vector<CodePart> parts;
    {
        const py::gil_scoped_release release;
        parts = symbols::code_parts(index);
    }
    py::dict columns;
    columns["start"] = column(parts, &CodePart::start);
    columns["end"] = column(parts, &CodePart::end);
    columns["entry"] = column(parts, &CodePart::entry);
    return columns;
}

void add_frames(symbols::FrameRanges& ranges, const py::buffer& section, uint64_t address, bool is_eh) {
    const py::buffer_info content = section.request();
    const std::span bytes(static_cast<const uint8_t*>(content.ptr), static_cast<size_t>(content.size));
    const py::gil_scoped_release release;
    ranges.add(bytes, address, is_eh);
}

std::vector<bool> covered(const symbols::FrameRanges& ranges, const std::vector<uint64_t>& addresses) {
    return ranges.cover(addresses);
}

std::span<const uint8_t> span_of(const py::bytes& content) {
    const auto bytes = static_cast<std::string_view>(content);
    return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

py::bytes beginnings(const std::vector<std::tuple<uint64_t, py::bytes, bool>>& loaded, const py::bytes& relocations,
                     const py::bytes& relative_relocations, bool is_fixed, const symbols::FrameRanges& frames,
                     const std::vector<Range>& functions) {
    std::vector<symbols::LoadedPiece> pieces;
    pieces.reserve(loaded.size());
    for (const auto& [address, content, is_code] : loaded) pieces.push_back({address, span_of(content), is_code});
    std::vector<symbols::Beginning> entries;
    entries.reserve(functions.size());
    for (const auto& [entry, size] : functions) entries.push_back({entry, size});
    const symbols::ModuleImage image{pieces, span_of(relocations), span_of(relative_relocations), is_fixed};
    std::vector<uint8_t> found;
    {
        const py::gil_scoped_release release;
        found = symbols::beginnings(image, frames, entries);
    }
    return {reinterpret_cast<const char*>(found.data()), found.size()};
}

py::bytes unwind_table(const py::buffer& section, uint64_t address, uint64_t start, uint64_t size) {
    const py::buffer_info content = section.request();
    const std::span bytes(static_cast<const uint8_t*>(content.ptr), static_cast<size_t>(content.size));
    std::vector<uint8_t> table;
    {
        const py::gil_scoped_release release;
        table = unwind::compile(bytes, address, start, size);
    }
    return {reinterpret_cast<const char*>(table.data()), table.size()};
}

}  // namespace

void add_symbols(py::module_& module) {
    py::class_<symbols::FrameRanges>(module, "FrameRanges")
        .def(py::init<>())
        .def("add", &add_frames, py::arg("section"), py::arg("address"), py::arg("is_eh"))
        .def("cover", &covered, py::arg("addresses"))
        .def("merged", &symbols::FrameRanges::merged, py::arg("most_padding"));
    py::class_<SymbolTable>(module, "SymbolTable")
        .def(py::init<>())
        .def("add_elf", &add_elf, py::arg("entries"), py::arg("strings"), py::arg("executable"), py::arg("is_dynamic"))
        .def("add", &add, py::arg("name"), py::arg("address"), py::arg("size"), py::arg("is_global"),
             py::arg("is_exported"))
        .def("rows", &rows)
        .def("hidden_address", &SymbolTable::hidden_address, py::arg("name"));
    module.def("merged_functions", &merged, py::arg("table"), py::arg("index"), py::arg("others"), py::arg("go_code"));
    module.def("beginnings", &beginnings, py::arg("loaded"), py::arg("relocations"), py::arg("relative_relocations"),
               py::arg("is_fixed"), py::arg("frames"), py::arg("functions"));
    module.def("unwind_table", &unwind_table, py::arg("section"), py::arg("address"), py::arg("start"),
               py::arg("size"));
    module.def("settle_entries", &settle_entries, py::arg("index"), py::arg("table"));
    module.def(
        "result_uses", &result_uses, py::arg("code"), py::arg("entries"), py::arg("has_traps"),
        "Of each of these functions, ascending entries, which registers of its result a direct call's caller reads.");
    module.def(
        "instruction_length",
        [](const py::bytes& code) {
            const auto content = static_cast<std::string_view>(code);
            return symbols::instruction_length({reinterpret_cast<const uint8_t*>(content.data()), content.size()});
        },
        py::arg("code"), "Bytes of the x86-64 instruction that the code begins with; 0 where it is not known, or cut.");
    module.def("argument_stores", &argument_stores, py::arg("code"),
               "Where the function that begins with this code stores its arguments: (source, base register, offset).");
    module.def("code_parts", &code_parts, py::arg("index"));
}

}  // namespace strobe::bindings
