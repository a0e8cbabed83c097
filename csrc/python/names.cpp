#include <pybind11/stl.h>

#include <string_view>
#include <vector>

#include "bindings.h"
#include "columns.h"
#include "names/edit_distance.h"
#include "names/raw_name.h"
#include "names/scoped_name.h"
#include "symbols/readable_name.h"

namespace py = pybind11;

namespace strobe::bindings {
namespace {

// The text of strings that a tuple keeps alive.
std::vector<std::string_view> views(const py::tuple& strings) {
    std::vector<std::string_view> all;
    all.reserve(strings.size());
    for (const py::handle item : strings) {
        Py_ssize_t length = 0;
        const char* text = PyUnicode_AsUTF8AndSize(item.ptr(), &length);
        if (text == nullptr) throw py::error_already_set();
        all.emplace_back(text, static_cast<size_t>(length));
    }
    return all;
}

template <std::string Change(std::string_view)>
py::list each(const py::sequence& names) {
    const py::tuple kept(names);
    const std::vector<std::string_view> texts = views(kept);
    std::vector<std::string> changed;
    changed.reserve(texts.size());
    {
        const py::gil_scoped_release released;
        for (const std::string_view text : texts) changed.push_back(Change(text));
    }
    py::list answer(changed.size());
    for (size_t index = 0; index < changed.size(); ++index) answer[index] = decoded(changed[index]);
    return answer;
}

std::vector<unsigned> distances(const std::string& wanted, const py::sequence& texts, bool part) {
    const py::tuple kept(texts);
    const std::vector<std::string_view> all = views(kept);
    const names::EditDistance distance(wanted);
    std::vector<unsigned> found;
    found.reserve(all.size());
    const py::gil_scoped_release released;
    for (const std::string_view text : all) found.push_back(part ? distance.to_part_of(text) : distance.to(text));
    return found;
}

}  // namespace

void add_names(py::module_& module) {
    module.def("scoped_names", &each<names::scoped>, py::arg("names"));
    module.def("plain_names", &each<symbols::plain_name>, py::arg("demangled"));
    module.def("readable_names", &each<symbols::readable_name>, py::arg("raw_names"));
    module.def("clearest_name", &symbols::clearest_name, py::arg("name"), py::arg("raw_name"));
    module.def("without_clone", [](std::string_view name) { return names::without_clone(name); }, py::arg("raw_name"));
    module.def("edit_distances", &distances, py::arg("wanted"), py::arg("texts"), py::arg("part") = false);
}

}  // namespace strobe::bindings
