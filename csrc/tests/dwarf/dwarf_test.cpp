// The rows of a small program, and of copies of it that are cut or have bits flipped: `dwarf_test SUBJECT…`.
#include <algorithm>
#include <map>
#include <memory>
#include <random>

#include "../check.h"
#include "dwarf_reading.h"
#include "dwarf_sections.h"

using namespace strobe::dwarf;
using namespace strobe::test;

namespace {

constexpr unsigned kDamagedCopies = 400;

// The strings of a column, sorted: "a b c".
std::string sorted(const std::string& column) {
    std::vector<std::string> names;
    for (size_t start = 0; start < column.size(); start = column.find('\0', start) + 1) names.push_back(&column[start]);
    std::sort(names.begin(), names.end());
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
    return text;
}

void rows_are_complete(const SectionBytes& bytes) {
    const Units units(views(bytes));
    const Index index = build_index(units, {});
    CHECK_EQUAL(index.damage.size(), 0u);
    CHECK_EQUAL(sorted(index.variable_names),
                "outer::Shape::area::calls outer::Shape::made outer::counter outer::per_thread");
    CHECK_EQUAL(sorted(index.inlined_names), "outer::twice");
    CHECK_EQUAL(index.inlined_sites.at(0), 2u);
    const std::string functions = sorted(index.function_names);
    for (const char* name : {"main", "main::Local::inside", "outer::(anonymous namespace)::hidden",
                             "outer::Shape::area", "outer::largest<int>", "plain", "moved"}) {
        CHECK((" " + functions + " ").find(std::string(" ") + name + " ") != std::string::npos);
    }
    const std::string types = sorted(index.type_names);
    for (const char* name : {"int", "main::Local", "outer::(anonymous namespace)::Alias", "outer::Shape",
                             "outer::Shape::Kind", "outer::Shape::Size"}) {
        CHECK((" " + types + " ").find(std::string(" ") + name + " ") != std::string::npos);
    }
    const auto thread_local_rows = std::count_if(index.variables.begin(), index.variables.end(),
                                                 [](const auto& row) { return (row.flags & kThreadLocalRow) != 0; });
    CHECK_EQUAL(thread_local_rows, 1);
    CHECK(std::all_of(index.functions.begin(), index.functions.end(), [&index](const FunctionRow& row) {
        return row.file != kNone && index.files[row.file].ends_with("dwarf_subject.cpp");
    }));
}

void threads_change_nothing(const SectionBytes& bytes) {
    const Units units(views(bytes));
    const Index one = build_index(units, {{}, 1}), three = build_index(units, {{}, 3});
    CHECK_EQUAL(one.function_names, three.function_names);
    CHECK_EQUAL(one.type_names, three.type_names);
}

void lines_lie_in_functions(const SectionBytes& bytes) {
    const Units units(views(bytes));
    const Index index = build_index(units, {});
    const std::vector<LineRow> rows = line_rows(units, units.all().at(0));
    for (const FunctionRow& function : index.functions) {
        CHECK(std::any_of(rows.begin(), rows.end(), [&function](const LineRow& row) {
            return row.address == function.address && row.line >= function.line && row.line < function.line + 3;
        }));
    }
}

void lines_are_found_both_ways(const SectionBytes& bytes) {
    const Units units(views(bytes));
    const FoundLines found = lines_of_file(units, "tests/dwarf/dwarf_subject.cpp");
    CHECK_EQUAL(found.paths.size(), 1u);
    CHECK(found.rows.size() > 10);
    const AddressLines addresses(units);
    for (const FoundLine& row : found.rows) {
        const auto there = addresses.at(row.address);
        CHECK(there.has_value() && there->path == found.paths[row.file]);
    }
    CHECK(lines_of_file(units, "subject.cpp").rows.empty());
    CHECK(!addresses.at(1).has_value());
}

// "returned(type name@, …)": `v` for void, `t` for a type; `@` where it has a location at the entry.
std::string shown(const Signatures& all, const SignatureRow& row) {
    const auto type = [](const TypeReference& one) { return one.kind == TypeReference::kVoid ? "v" : "t"; };
    std::string text = std::string(type(row.returned)) + "(";
    for (size_t index = 0; index < row.parameter_count; ++index) {
        const ParameterRow& one = all.parameters[row.first_parameter + index];
        if (index > 0) text += ", ";
        text += std::string(type(one.type)) + " " + std::string(one.name);
        if (!one.location.expression.empty()) text += "@";
    }
    return text + ")";
}

void signatures_are_read(const SectionBytes& bytes) {
    const Units units(views(bytes));
    const Index index = build_index(units, {});
    std::vector<uint64_t> dies;
    for (const FunctionRow& row : index.functions) dies.push_back(row.die);
    const Signatures all = read_signatures(units, location_lists(bytes), dies);
    std::map<std::string, std::string> found;
    size_t start = 0;
    for (const SignatureRow& row : all.functions) {
        const std::string name = &index.function_names[start];
        start += name.size() + 1;
        found[name] = shown(all, row);
        CHECK(row.language == Language::kCpp);
        CHECK_EQUAL(row.flags & (SignatureRow::kLostParameters | SignatureRow::kIsUnreadable), 0);
        if (name == "outer::Shape::area") CHECK_EQUAL(row.written_count, 1u);  // without `this`
        if (name == "moved") CHECK(all.parameters.at(row.first_parameter).location.is_list);
    }
    CHECK_EQUAL(found["outer::Shape::area"], "t(t this@, t side@)");
    CHECK_EQUAL(found["outer::largest<int>"], "t(t left@, t right@)");
    CHECK_EQUAL(found["plain"], "t(t count@)");
    CHECK_EQUAL(found["moved"], "t(t count@)");
    CHECK_EQUAL(found["main"], "t()");
}

void a_function_that_is_none_gives_nothing(const SectionBytes& bytes) {
    const Units units(views(bytes));
    const uint64_t dies[] = {UINT64_MAX, bytes.at(".debug_info").size(), 1};
    for (const SignatureRow& row : read_signatures(units, location_lists(bytes), dies).functions) {
        CHECK((row.flags & SignatureRow::kIsUnreadable) != 0);
        CHECK_EQUAL(row.parameter_count, 0u);
    }
}

void damage(SectionBytes& bytes, std::mt19937& random) {
    auto section = bytes.begin();
    std::advance(section, random() % bytes.size());
    std::vector<uint8_t>& content = section->second;
    if (content.empty()) return;
    if (random() % 4 == 0) {
        content.resize(random() % content.size());
        content.shrink_to_fit();
        return;
    }
    for (unsigned left = 1 + random() % 6; left > 0; --left) {
        uint8_t& byte = content[random() % content.size()];
        const uint8_t choices[] = {0, 0x7f, 0x80, 0xff, static_cast<uint8_t>(byte ^ 1u << random() % 8)};
        byte = choices[random() % 5];
    }
}

void damaged_copies_are_survived(const SectionBytes& bytes) {
    std::mt19937 random(1);  // the same copies each time
    for (unsigned copy = 0; copy < kDamagedCopies; ++copy) {
        SectionBytes damaged = bytes;
        for (unsigned left = 1 + random() % 2; left > 0; --left) damage(damaged, random);
        tolerating([&] { read_everything(views(damaged), {}, location_lists(damaged), random); });
    }
}

void paths_are_made_plain() {
    CHECK_EQUAL(normal_path("/a/./b/../c//d"), "/a/c/d");
    CHECK_EQUAL(normal_path("/../a"), "/a");
    CHECK_EQUAL(normal_path("../a/.."), "..");
    CHECK_EQUAL(normal_path("a/.."), ".");
}

}  // namespace

int main(int count, char** arguments) {
    paths_are_made_plain();
    CHECK(count > 1);
    for (int index = 1; index < count; ++index) {
        const SectionBytes bytes = read_sections(arguments[index]);
        rows_are_complete(bytes);
        threads_change_nothing(bytes);
        lines_lie_in_functions(bytes);
        lines_are_found_both_ways(bytes);
        signatures_are_read(bytes);
        a_function_that_is_none_gives_nothing(bytes);
        damaged_copies_are_survived(bytes);
    }
    return verdict();
}
