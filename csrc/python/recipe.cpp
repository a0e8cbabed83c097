// Recipes run over the memory of another process.
#include <pybind11/stl.h>

#include <cstring>
#include <exception>

#include "bindings.h"
#include "recipe/process_reader.h"
#include "recipe/process_writer.h"

namespace py = pybind11;

namespace {

std::vector<strobe_recipe_step> steps_of(const py::bytes& code) {
    const std::string_view content = code;
    if (content.size() % sizeof(strobe_recipe_step) != 0) throw py::value_error("a recipe of a part of a step");
    std::vector<strobe_recipe_step> steps(content.size() / sizeof(strobe_recipe_step));
    if (!content.empty()) std::memcpy(steps.data(), content.data(), content.size());
    return steps;
}

py::tuple row_of(const strobe::RecipeResult& result) {
    py::list items;
    for (const strobe_recipe_item& item : result.items) {
        const auto* start = reinterpret_cast<const char*>(result.bytes.data()) + item.offset;
        items.append(py::make_tuple(item.status, item.address, item.step, py::bytes(start, item.size)));
    }
    return py::make_tuple(result.status, items);
}

using Row = std::tuple<py::bytes, std::uint32_t, std::uint32_t>;

// What Python reads. No exception may pass through the interpreter, which is C: the first is kept for later.
strobe::Fetch fetch_by(const py::object& read, std::exception_ptr* error) {
    return [&read, error](std::uint64_t address, std::uint8_t* to, std::size_t size) {
        try {
            const py::object found = *error ? py::none() : read(address, size);
            if (found.is_none()) return false;
            const std::string content = found.cast<py::bytes>();
            if (content.size() != size) return false;
            std::memcpy(to, content.data(), size);
            return true;
        } catch (...) {
            *error = std::current_exception();
            return false;
        }
    };
}

py::list run_rows(pid_t process, const std::vector<Row>& rows, const py::object& read) {
    std::vector<strobe::BoundedRecipe> recipes;
    for (const auto& [code, bytes, items] : rows) recipes.push_back({steps_of(code), bytes, items});
    std::vector<strobe::RecipeResult> results;
    if (read.is_none()) {
        const py::gil_scoped_release release;
        results = strobe::run_recipes(process, recipes);
    } else {
        std::exception_ptr error;
        results = strobe::run_recipes(process, recipes, fetch_by(read, &error));
        if (error) std::rethrow_exception(error);
    }
    py::list given;
    for (const strobe::RecipeResult& result : results) given.append(row_of(result));
    return given;
}

std::vector<int> write_rows(pid_t process, const std::vector<std::tuple<std::uint64_t, py::bytes, py::bytes>>& rows) {
    std::vector<strobe::MemoryChange> changes;
    for (const auto& [address, bytes, mask] : rows) {
        changes.push_back({address, bytes, mask});
        const strobe::MemoryChange& change = changes.back();
        if (!change.mask.empty() && change.mask.size() != change.bytes.size()) throw py::value_error("an unfit mask");
    }
    std::vector<int> errors;
    const py::gil_scoped_release release;
    for (const strobe::MemoryChange& change : changes) errors.push_back(strobe::write_process(process, change));
    return errors;
}

// What recipe.h calls these, without its prefix.
py::dict named_steps() {
    py::dict steps;
    steps["END"] = static_cast<int>(STROBE_RECIPE_END);
    steps["BASE"] = static_cast<int>(STROBE_RECIPE_BASE);
    steps["PASSED"] = static_cast<int>(STROBE_RECIPE_PASSED);
    steps["ADD"] = static_cast<int>(STROBE_RECIPE_ADD);
    steps["DEREF"] = static_cast<int>(STROBE_RECIPE_DEREF);
    steps["VIRTUAL_BASE"] = static_cast<int>(STROBE_RECIPE_VIRTUAL_BASE);
    steps["SAVE"] = static_cast<int>(STROBE_RECIPE_SAVE);
    steps["RESTORE"] = static_cast<int>(STROBE_RECIPE_RESTORE);
    steps["READ"] = static_cast<int>(STROBE_RECIPE_READ);
    steps["TEXT"] = static_cast<int>(STROBE_RECIPE_TEXT);
    steps["READ_MANY"] = static_cast<int>(STROBE_RECIPE_READ_MANY);
    steps["NOTE"] = static_cast<int>(STROBE_RECIPE_NOTE);
    steps["CONSTANT"] = static_cast<int>(STROBE_RECIPE_CONSTANT);
    steps["NUMBER"] = static_cast<int>(STROBE_RECIPE_NUMBER);
    steps["LOCATION"] = static_cast<int>(STROBE_RECIPE_LOCATION);
    steps["TURN"] = static_cast<int>(STROBE_RECIPE_TURN);
    steps["SLOT"] = static_cast<int>(STROBE_RECIPE_SLOT);
    steps["PICK"] = static_cast<int>(STROBE_RECIPE_PICK);
    steps["DROP"] = static_cast<int>(STROBE_RECIPE_DROP);
    steps["CALC"] = static_cast<int>(STROBE_RECIPE_CALC);
    steps["EXTEND"] = static_cast<int>(STROBE_RECIPE_EXTEND);
    steps["GO"] = static_cast<int>(STROBE_RECIPE_GO);
    steps["REQUIRE"] = static_cast<int>(STROBE_RECIPE_REQUIRE);
    steps["TEST_TEXT"] = static_cast<int>(STROBE_RECIPE_TEST_TEXT);
    steps["TEST_TEXTS"] = static_cast<int>(STROBE_RECIPE_TEST_TEXTS);
    steps["MATCH_TEXT"] = static_cast<int>(STROBE_RECIPE_MATCH_TEXT);
    steps["DATA"] = static_cast<int>(STROBE_RECIPE_DATA);
    steps["SET"] = static_cast<int>(STROBE_RECIPE_SET);
    steps["GET"] = static_cast<int>(STROBE_RECIPE_GET);
    steps["FACT"] = static_cast<int>(STROBE_RECIPE_FACT);
    steps["BEFORE"] = static_cast<int>(STROBE_RECIPE_BEFORE);
    steps["SCAN"] = static_cast<int>(STROBE_RECIPE_SCAN);
    steps["SWEEP"] = static_cast<int>(STROBE_RECIPE_SWEEP);
    steps["LEAVE"] = static_cast<int>(STROBE_RECIPE_LEAVE);
    steps["WHEN"] = static_cast<int>(STROBE_RECIPE_WHEN);
    steps["REPEAT"] = static_cast<int>(STROBE_RECIPE_REPEAT);
    steps["REPEAT_MANY"] = static_cast<int>(STROBE_RECIPE_REPEAT_MANY);
    steps["CHAIN"] = static_cast<int>(STROBE_RECIPE_CHAIN);
    steps["BTREE"] = static_cast<int>(STROBE_RECIPE_BTREE);
    steps["TREE"] = static_cast<int>(STROBE_RECIPE_TREE);
    steps["BRANCHES"] = static_cast<int>(STROBE_RECIPE_BRANCHES);
    steps["SLOTS"] = static_cast<int>(STROBE_RECIPE_SLOTS);
    steps["NEXT"] = static_cast<int>(STROBE_RECIPE_NEXT);
    return steps;
}

py::dict named_operations() {
    py::dict operations;
    operations["FROM_EXTENDED"] = static_cast<int>(STROBE_RECIPE_FROM_EXTENDED);
    operations["PLUS"] = static_cast<int>(STROBE_RECIPE_PLUS);
    operations["MINUS"] = static_cast<int>(STROBE_RECIPE_MINUS);
    operations["TIMES"] = static_cast<int>(STROBE_RECIPE_TIMES);
    operations["DIVIDED"] = static_cast<int>(STROBE_RECIPE_DIVIDED);
    operations["MODULO"] = static_cast<int>(STROBE_RECIPE_MODULO);
    operations["BIT_AND"] = static_cast<int>(STROBE_RECIPE_BIT_AND);
    operations["BIT_OR"] = static_cast<int>(STROBE_RECIPE_BIT_OR);
    operations["BIT_XOR"] = static_cast<int>(STROBE_RECIPE_BIT_XOR);
    operations["LEFT"] = static_cast<int>(STROBE_RECIPE_LEFT);
    operations["RIGHT"] = static_cast<int>(STROBE_RECIPE_RIGHT);
    operations["EQUAL"] = static_cast<int>(STROBE_RECIPE_EQUAL);
    operations["LESS"] = static_cast<int>(STROBE_RECIPE_LESS);
    operations["SIGNED_LESS"] = static_cast<int>(STROBE_RECIPE_SIGNED_LESS);
    operations["SIGNED_DIVIDED"] = static_cast<int>(STROBE_RECIPE_SIGNED_DIVIDED);
    operations["SIGNED_MODULO"] = static_cast<int>(STROBE_RECIPE_SIGNED_MODULO);
    operations["SIGNED_RIGHT"] = static_cast<int>(STROBE_RECIPE_SIGNED_RIGHT);
    operations["TO_DOUBLE"] = static_cast<int>(STROBE_RECIPE_TO_DOUBLE);
    operations["DOUBLE_EQUAL"] = static_cast<int>(STROBE_RECIPE_DOUBLE_EQUAL);
    operations["DOUBLE_LESS"] = static_cast<int>(STROBE_RECIPE_DOUBLE_LESS);
    operations["DOUBLE_PLUS"] = static_cast<int>(STROBE_RECIPE_DOUBLE_PLUS);
    operations["DOUBLE_MINUS"] = static_cast<int>(STROBE_RECIPE_DOUBLE_MINUS);
    operations["DOUBLE_TIMES"] = static_cast<int>(STROBE_RECIPE_DOUBLE_TIMES);
    operations["DOUBLE_DIVIDED"] = static_cast<int>(STROBE_RECIPE_DOUBLE_DIVIDED);
    operations["TO_SINGLE"] = static_cast<int>(STROBE_RECIPE_TO_SINGLE);
    operations["TO_INTEGER"] = static_cast<int>(STROBE_RECIPE_TO_INTEGER);
    operations["AND"] = static_cast<int>(STROBE_RECIPE_AND);
    operations["OR"] = static_cast<int>(STROBE_RECIPE_OR);
    operations["SELECT"] = static_cast<int>(STROBE_RECIPE_SELECT);
    return operations;
}

py::dict named_constants() {
    py::dict constants;
    constants["FROM_UNSIGNED"] = static_cast<int>(STROBE_RECIPE_FROM_UNSIGNED);
    constants["FROM_SIGNED"] = static_cast<int>(STROBE_RECIPE_FROM_SIGNED);
    constants["FROM_FLOAT"] = static_cast<int>(STROBE_RECIPE_FROM_FLOAT);
    constants["SINGLE_FROM_UNSIGNED"] = static_cast<int>(STROBE_RECIPE_SINGLE_FROM_UNSIGNED);
    constants["SINGLE_FROM_SIGNED"] = static_cast<int>(STROBE_RECIPE_SINGLE_FROM_SIGNED);
    constants["AS_FLOAT"] = static_cast<int>(STROBE_RECIPE_AS_FLOAT);
    constants["TEXT_EQUALS"] = static_cast<int>(STROBE_RECIPE_TEXT_EQUALS);
    constants["TEXT_STARTS"] = static_cast<int>(STROBE_RECIPE_TEXT_STARTS);
    constants["TEXT_ENDS"] = static_cast<int>(STROBE_RECIPE_TEXT_ENDS);
    constants["TEXT_CONTAINS"] = static_cast<int>(STROBE_RECIPE_TEXT_CONTAINS);
    constants["MAX_LITERAL"] = static_cast<int>(STROBE_RECIPE_MAX_LITERAL);
    constants["MAX_TABLE"] = static_cast<int>(STROBE_RECIPE_MAX_TABLE);
    constants["MAX_TEXT"] = static_cast<int>(STROBE_RECIPE_MAX_TEXT);
    constants["MAX_VARIABLES"] = static_cast<int>(STROBE_RECIPE_MAX_VARIABLES);
    constants["SCAN_SIGNED"] = static_cast<int>(STROBE_RECIPE_SCAN_SIGNED);
    constants["SCAN_LESS"] = static_cast<int>(STROBE_RECIPE_SCAN_LESS);
    constants["SCAN_EQUAL"] = static_cast<int>(STROBE_RECIPE_SCAN_EQUAL);
    constants["SCAN_MORE"] = static_cast<int>(STROBE_RECIPE_SCAN_MORE);
    constants["SCAN_SIGNED_ORDER"] = static_cast<int>(STROBE_RECIPE_SCAN_SIGNED_ORDER);
    constants["SCAN_COUNTS"] = static_cast<int>(STROBE_RECIPE_SCAN_COUNTS);
    constants["SWEEP_ANY"] = static_cast<int>(STROBE_RECIPE_SWEEP_ANY);
    constants["SWEEP_ALL"] = static_cast<int>(STROBE_RECIPE_SWEEP_ALL);
    constants["SWEEP_FIRST"] = static_cast<int>(STROBE_RECIPE_SWEEP_FIRST);
    constants["SWEEP_COUNT"] = static_cast<int>(STROBE_RECIPE_SWEEP_COUNT);
    constants["SWEEP_SUM"] = static_cast<int>(STROBE_RECIPE_SWEEP_SUM);
    constants["SWEEP_LEAST"] = static_cast<int>(STROBE_RECIPE_SWEEP_LEAST);
    constants["SWEEP_MOST"] = static_cast<int>(STROBE_RECIPE_SWEEP_MOST);
    constants["SWEEP_SIGNED_LEAST"] = static_cast<int>(STROBE_RECIPE_SWEEP_SIGNED_LEAST);
    constants["SWEEP_SIGNED_MOST"] = static_cast<int>(STROBE_RECIPE_SWEEP_SIGNED_MOST);
    constants["COLUMNS"] = static_cast<int>(STROBE_RECIPE_COLUMNS);
    constants["COLUMN_NUMBERS"] = static_cast<int>(STROBE_RECIPE_COLUMN_NUMBERS);
    constants["COLUMN_LOCATIONS"] = static_cast<int>(STROBE_RECIPE_COLUMN_LOCATIONS);
    constants["MAX_NUMBERS"] = static_cast<int>(STROBE_RECIPE_MAX_NUMBERS);
    return constants;
}

py::dict named_statuses() {
    py::dict statuses;
    statuses["OK"] = static_cast<int>(STROBE_RECIPE_OK);
    statuses["NULL"] = static_cast<int>(STROBE_RECIPE_NULL);
    statuses["UNREADABLE"] = static_cast<int>(STROBE_RECIPE_UNREADABLE);
    statuses["FULL"] = static_cast<int>(STROBE_RECIPE_FULL);
    statuses["CUT"] = static_cast<int>(STROBE_RECIPE_CUT);
    statuses["BROKEN"] = static_cast<int>(STROBE_RECIPE_BROKEN);
    statuses["MALFORMED"] = static_cast<int>(STROBE_RECIPE_MALFORMED);
    statuses["ENDLESS"] = static_cast<int>(STROBE_RECIPE_ENDLESS);
    return statuses;
}

}  // namespace

namespace strobe::bindings {

void add_recipe(py::module_& module) {
    module.def("run_recipes", &run_rows, py::arg("pid"), py::arg("recipes"), py::arg("read") = py::none());
    module.def("write_memory", &write_rows, py::arg("pid"), py::arg("changes"));
    module.attr("RECIPE_STEPS") = named_steps();
    module.attr("RECIPE_OPERATIONS") = named_operations();
    module.attr("RECIPE_CONSTANTS") = named_constants();
    module.attr("RECIPE_STATUSES") = named_statuses();
}

}  // namespace strobe::bindings
