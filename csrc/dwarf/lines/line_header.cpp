#include "dwarf/lines/line_program.h"

namespace strobe::dwarf {
namespace {

enum Content : uint64_t { kContentPath = 1, kContentDirectory = 2 };

std::string join(std::string_view folder, std::string_view name) {
    if (folder.empty() || name.starts_with('/')) return std::string(name);
    return std::string(folder) + '/' + std::string(name);
}

struct Field {
    uint64_t content;
    uint32_t form;
};

std::vector<Field> read_fields(Cursor& cursor) {
    std::vector<Field> fields(cursor.u8());
    for (Field& field : fields) {
        field.content = cursor.uleb();
        field.form = static_cast<uint32_t>(cursor.uleb());
    }
    return fields;
}

}  // namespace

LineHeader::LineHeader(const Units& units, const Unit& unit) : units_(units) {
    const Attribute* where = unit.own.find(kStmtList);
    if (where == nullptr) throw DwarfError("a unit without lines");
    base_ = units.text(unit, unit.own.find(kCompDir)).value_or(std::string_view());
    const Bytes section = units.sections_of(unit).line;
    Cursor cursor(section, where->value);
    uint64_t length = cursor.fixed(4);
    offset_size_ = length == UINT32_MAX ? 8 : 4;
    if (offset_size_ == 8) length = cursor.fixed(8);
    if (length > cursor.left()) throw DwarfError("a line program that is longer than its section");
    end = cursor.position() + length;
    cursor = Cursor(section.first(end), cursor.position());
    version_ = static_cast<uint8_t>(cursor.fixed(2));
    if (version_ < 2 || version_ > 5) throw DwarfError("a line program of unknown version");
    address_size = unit.layout.address_size;
    if (version_ == 5) {
        address_size = cursor.u8();
        cursor.skip(1);  // segment selectors
    }
    if (address_size != 4 && address_size != 8) throw DwarfError("addresses of odd size");
    const uint64_t header_length = cursor.fixed(offset_size_);
    if (header_length > cursor.left()) throw DwarfError("a line header that is longer than its program");
    program = cursor.position() + header_length;
    min_instruction_length = cursor.u8();
    if (version_ >= 4) cursor.skip(1);  // operations per instruction: one, but for VLIW
    default_is_stmt = cursor.u8() != 0;
    line_base = static_cast<int8_t>(cursor.u8());
    line_range = cursor.u8();
    opcode_base = cursor.u8();
    if (opcode_base == 0 || line_range == 0) throw DwarfError("a line header that cannot be");
    for (unsigned opcode = 1; opcode < opcode_base; ++opcode) operand_counts.push_back(cursor.u8());
    if (version_ < 5) {
        read_old_tables(cursor);
    } else {
        for (const File& folder : read_table(cursor, unit)) folders_.push_back(folder.name);
        files_ = read_table(cursor, unit);
    }
}

void LineHeader::read_old_tables(Cursor& cursor) {
    folders_.push_back(base_);
    for (std::string_view name = cursor.text(); !name.empty(); name = cursor.text()) folders_.push_back(name);
    files_.push_back({});
    for (std::string_view name = cursor.text(); !name.empty(); name = cursor.text()) {
        const uint64_t folder = cursor.uleb();
        cursor.skip_leb();  // time of change
        cursor.skip_leb();  // size
        files_.push_back({name, folder});
    }
}

std::vector<LineHeader::File> LineHeader::read_table(Cursor& cursor, const Unit& unit) const {
    const std::vector<Field> fields = read_fields(cursor);
    Layout layout = unit.layout;
    layout.offset_size = offset_size_;
    const uint64_t count = cursor.uleb();
    // no name and no number takes less than a byte
    if (count > cursor.left() || (fields.empty() && count > 0)) throw DwarfError("too many files");
    std::vector<File> table;
    for (uint64_t index = 0; index < count; ++index) {
        File file{};
        for (const Field& field : fields) {
            const Attribute value = read_value(cursor, field.form, layout);
            if (field.content == kContentDirectory) file.folder = value.value;
            if (field.content != kContentPath) continue;
            if (field.form == kFormString) {
                file.name = Cursor(units_.sections_of(unit).line, value.value).text();
            } else {
                file.name = units_.text(unit, &value).value_or(std::string_view());
            }
        }
        table.push_back(file);
    }
    return table;
}

std::string LineHeader::path(uint64_t number) const {
    if (number >= files_.size() || files_[number].name.empty()) return {};
    const File& file = files_[number];
    const std::string folder = join(base_, file.folder < folders_.size() ? folders_[file.folder] : base_);
    return normal_path(join(folder, file.name));
}

std::string normal_path(std::string_view path) {
    const bool is_absolute = path.starts_with('/');
    std::vector<std::string_view> parts;
    while (!path.empty()) {
        const size_t slash = path.find('/');
        const std::string_view part = path.substr(0, slash);
        path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
        if (part.empty() || part == ".") continue;
        if (part != ".." || (parts.empty() && !is_absolute) || (!parts.empty() && parts.back() == "..")) {
            parts.push_back(part);
        } else if (!parts.empty()) {
            parts.pop_back();
        }
    }
    std::string normal = is_absolute ? "/" : "";
    for (const std::string_view part : parts) {
        if (normal.size() > 1 || (normal.size() == 1 && !is_absolute)) normal += '/';
        normal += part;
    }
    return normal.empty() ? "." : normal;
}

}  // namespace strobe::dwarf
