#include <pybind11/stl.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <map>
#include <memory>
#include <mutex>

#include "bindings.h"
#include "columns.h"
#include "dwarf/functions/code_search.h"
#include "dwarf/functions/inlined_sites.h"
#include "dwarf/index.h"
#include "dwarf/lines/line_search.h"
#include "dwarf/units/children.h"
#include "dwarf_rows.h"

namespace py = pybind11;

namespace strobe::bindings {
namespace {

using dwarf::Bytes;
using dwarf::LineRow;
using dwarf::Unit;

using Buffers = std::map<std::string, py::buffer>;

Bytes bytes_in(const py::buffer_info& view) {
    return Bytes(static_cast<const uint8_t*>(view.ptr), static_cast<size_t>(view.size * view.itemsize));
}

// `held` keeps the buffers where they are.
dwarf::Sections views(const Buffers& buffers, std::vector<py::buffer_info>& held) {
    dwarf::Sections all;
    const std::map<std::string, Bytes*> places = {
        {".debug_info", &all.info}, {".debug_types", &all.types},       {".debug_abbrev", &all.abbrev},
        {".debug_str", &all.str},   {".debug_line_str", &all.line_str}, {".debug_str_offsets", &all.str_offsets},
        {".debug_addr", &all.addr}, {".debug_ranges", &all.ranges},     {".debug_rnglists", &all.rnglists},
        {".debug_line", &all.line},
    };
    for (const auto& [name, buffer] : buffers) {
        const auto place = places.find(name);
        if (place == places.end()) continue;
        held.push_back(buffer.request());
        *place->second = bytes_in(held.back());
    }
    return all;
}

constexpr uint64_t kLargeBytes = 64 << 20;

void give_back_memory() {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

// The sections of one file and of its alternate file, held as long as this lives.
class Dwarf {
  public:
    Dwarf(const Buffers& sections, const Buffers& alternate, bool has_code_at_zero) {
        dwarf::Sections own = views(sections, held_);
        own.has_code_at_zero = has_code_at_zero;
        const dwarf::Sections other = views(alternate, held_);
        const py::gil_scoped_release release;
        units_ = std::make_unique<dwarf::Units>(own, other);
        scopes_ = std::make_unique<dwarf::ScopeTable>(*units_);
    }

    // A scan's memory is in pieces all over the heap of a process that lives for days.
    ~Dwarf() {
        uint64_t bytes = 0;
        for (const py::buffer_info& view : held_) bytes += static_cast<uint64_t>(view.size);
        scopes_.reset();
        units_.reset();
        if (bytes > kLargeBytes) give_back_memory();
    }
    Dwarf(const Dwarf&) = delete;
    Dwarf& operator=(const Dwarf&) = delete;

    const dwarf::Units& units() const { return *units_; }
    const Unit& unit(size_t index) const {
        if (index >= units_->all().size()) throw py::index_error("no such unit");
        return units_->all()[index];
    }

    dwarf::Index scan(const std::vector<std::pair<uint64_t, uint64_t>>& executable, unsigned threads) const {
        const py::gil_scoped_release release;
        return dwarf::build_index(*units_, {executable, threads});
    }

    py::str qualified_name(uint64_t die) const {
        std::string name;
        {
            const py::gil_scoped_release release;
            name = dwarf::Namer(*units_, *scopes_).qualified(units_->at(die), die);
        }
        return decoded(name);
    }

    std::vector<uint64_t> children(uint64_t die, uint32_t tag) const {
        const py::gil_scoped_release release;
        return dwarf::children(*units_, die, tag);
    }

    py::dict inlined_sites() const {
        std::vector<dwarf::InlinedSite> found;
        {
            const py::gil_scoped_release release;
            found = dwarf::inlined_sites(*units_);
        }
        std::vector<uint64_t> origins, dies, entries;
        for (const dwarf::InlinedSite& site : found) {
            origins.push_back(site.origin);
            dies.push_back(site.die);
            entries.push_back(site.entry);
        }
        py::dict columns;
        columns["origin"] = column(origins);
        columns["die"] = column(dies);
        columns["entry"] = column(entries);
        return columns;
    }

    py::list signatures(const std::vector<uint64_t>& functions, const py::buffer& loc,
                        const py::buffer& loclists) const {
        const py::buffer_info old = loc.request(), current = loclists.request();
        dwarf::Signatures found;
        {
            const py::gil_scoped_release release;
            found = dwarf::read_signatures(*units_, {bytes_in(old), bytes_in(current)}, functions);
        }
        return signature_rows(found);
    }

    py::str producer(uint64_t die) const {
        dwarf::WholeDie top;
        const Unit& unit = units_->at(die);
        units_->read(unit, unit.first_die, top);
        return decoded(units_->text(unit, top.find(dwarf::kAttrProducer)).value_or(""));
    }

    std::optional<uint64_t> function_at(uint64_t address) {
        const py::gil_scoped_release release;
        std::call_once(code_made_, [this] { code_ = std::make_unique<dwarf::CodeSearch>(*units_); });
        return code_->function_at(address);
    }

    py::list scope_dies(uint64_t function, uint64_t address) const {
        std::vector<dwarf::ScopeDie> found;
        {
            const py::gil_scoped_release release;
            found = dwarf::scope_dies(*units_, function, address);
        }
        py::list rows;
        for (const dwarf::ScopeDie& row : found) rows.append(py::make_tuple(row.die, row.tag, row.scope, row.is_apart));
        return rows;
    }

    py::tuple declaration(uint64_t die) {
        const Unit& unit = units_->at(die);
        dwarf::Die content;
        units_->read(unit, die, content);
        const auto found = dwarf::Namer(*units_, *scopes_).declaration(unit, content, die);
        const py::object path = found.file_unit == nullptr ? py::none() : file_of(*found.file_unit, found.file);
        return py::make_tuple(decoded(found.linkage_name), path, found.has_line ? found.line : 0);
    }

    py::object file_path(uint64_t die, uint64_t file) { return file_of(units_->at(die), file); }
    uint64_t unit_offset(uint64_t die) const { return units_->at(die).offset; }

    bool unit_has_tag(uint64_t die, uint32_t tag) const {
        const py::gil_scoped_release release;
        return dwarf::has_die(*units_, units_->at(die), tag);
    }

    py::list unit_rows() const {
        py::list rows;
        for (const Unit& unit : units_->all()) {
            rows.append(py::make_tuple(unit.offset, unit.end - unit.offset, unit.layout.version,
                                       static_cast<int>(unit.kind), unit.in_types, unit.own.has(dwarf::kDwoName)));
        }
        return rows;
    }

    std::vector<std::pair<uint64_t, uint64_t>> unit_ranges(size_t index) const {
        const py::gil_scoped_release release;
        return units_->ranges(unit(index), unit(index).own);
    }

    py::list unit_files(size_t index) const {
        const dwarf::LineHeader header(*units_, unit(index));
        py::list paths;
        for (size_t file = 0; file < header.file_count(); ++file) paths.append(decoded(header.path(file)));
        return paths;
    }

    py::dict unit_lines(size_t index) const {
        std::vector<LineRow> rows;
        {
            const py::gil_scoped_release release;
            rows = dwarf::line_rows(*units_, unit(index));
        }
        py::dict columns;
        columns["address"] = column(rows, &LineRow::address);
        columns["file"] = column(rows, &LineRow::file);
        columns["line"] = column(rows, &LineRow::line);
        columns["column"] = column(rows, &LineRow::column);
        columns["flags"] = column(rows, &LineRow::flags);
        return columns;
    }

    py::object line_at(uint64_t address) {
        std::optional<dwarf::LineAt> found;
        {
            const py::gil_scoped_release release;
            std::call_once(addresses_made_, [this] { addresses_ = std::make_unique<dwarf::AddressLines>(*units_); });
            found = addresses_->at(address);
        }
        if (!found) return py::none();
        const LineRow& row = found->row;
        return py::make_tuple(decoded(found->path), row.line, row.column, row.flags, row.address);
    }

    py::tuple lines_of_file(const std::string& file) const {
        dwarf::FoundLines found;
        {
            const py::gil_scoped_release release;
            found = dwarf::lines_of_file(*units_, file);
        }
        py::dict columns;
        columns["address"] = column(found.rows, &dwarf::FoundLine::address);
        columns["unit"] = column(found.rows, &dwarf::FoundLine::unit);
        columns["file"] = column(found.rows, &dwarf::FoundLine::file);
        columns["line"] = column(found.rows, &dwarf::FoundLine::line);
        columns["column"] = column(found.rows, &dwarf::FoundLine::column);
        columns["flags"] = column(found.rows, &dwarf::FoundLine::flags);
        py::list paths;
        for (const std::string& path : found.paths) paths.append(decoded(path));
        return py::make_tuple(columns, paths);
    }

  private:
    // The header of the last unit is kept: one function's variables are all of one unit, whose table may be long.
    py::object file_of(const Unit& unit, uint64_t file) {
        if (header_unit_ != &unit) {
            header_.reset();
            header_unit_ = &unit;
            try {
                header_ = std::make_unique<dwarf::LineHeader>(*units_, unit);
            } catch (const dwarf::DwarfError&) {
                return py::none();  // what is declared there is worth having without its file
            }
        }
        const std::string path = header_ ? header_->path(file) : std::string();
        if (path.empty()) return py::none();
        return decoded(path);
    }

    std::vector<py::buffer_info> held_;
    std::unique_ptr<dwarf::Units> units_;
    std::unique_ptr<dwarf::ScopeTable> scopes_;
    std::unique_ptr<dwarf::LineHeader> header_;  // null: of a unit without one
    const Unit* header_unit_ = nullptr;
    std::once_flag code_made_;
    std::unique_ptr<dwarf::CodeSearch> code_;
    std::once_flag addresses_made_;
    std::unique_ptr<dwarf::AddressLines> addresses_;
};

}  // namespace

void add_dwarf(py::module_& module) {
    py::class_<Dwarf>(module, "Dwarf")
        .def(py::init<const Buffers&, const Buffers&, bool>(), py::arg("sections"), py::arg("alternate") = Buffers(),
             py::arg("has_code_at_zero") = false)
        .def("scan", &Dwarf::scan, py::arg("executable"), py::arg("threads") = 0)
        .def("qualified_name", &Dwarf::qualified_name, py::arg("die"))
        .def("children", &Dwarf::children, py::arg("die"), py::arg("tag"))
        .def("signatures", &Dwarf::signatures, py::arg("functions"), py::arg("loc"), py::arg("loclists"))
        .def("inlined_sites", &Dwarf::inlined_sites)
        .def("producer", &Dwarf::producer, py::arg("die"))
        .def("function_at", &Dwarf::function_at, py::arg("address"))
        .def("scope_dies", &Dwarf::scope_dies, py::arg("function"), py::arg("address"))
        .def("declaration", &Dwarf::declaration, py::arg("die"))
        .def("file_path", &Dwarf::file_path, py::arg("die"), py::arg("file"))
        .def("unit_offset", &Dwarf::unit_offset, py::arg("die"))
        .def("unit_has_tag", &Dwarf::unit_has_tag, py::arg("die"), py::arg("tag"))
        .def("units", &Dwarf::unit_rows)
        .def("line_at", &Dwarf::line_at, py::arg("address"))
        .def("lines_of_file", &Dwarf::lines_of_file, py::arg("file"))
        .def("unit_ranges", &Dwarf::unit_ranges, py::arg("unit"))
        .def("unit_files", &Dwarf::unit_files, py::arg("unit"))
        .def("unit_lines", &Dwarf::unit_lines, py::arg("unit"));
}

}  // namespace strobe::bindings
