// Rows as columns: one bytes object per field, to be cast by memoryview or array without a Python object per value.
#pragma once

#include <pybind11/pybind11.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

namespace strobe::bindings {

template <typename Row, typename Field>
pybind11::bytes column(const std::vector<Row>& rows, Field Row::* field) {
    PyObject* object = PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(rows.size() * sizeof(Field)));
    if (object == nullptr) throw pybind11::error_already_set();
    char* out = PyBytes_AS_STRING(object);
    for (const Row& row : rows) {
        std::memcpy(out, &(row.*field), sizeof(Field));
        out += sizeof(Field);
    }
    return pybind11::reinterpret_steal<pybind11::bytes>(object);
}

template <typename Number>
pybind11::bytes column(const std::vector<Number>& numbers) {
    return pybind11::bytes(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number));
}

// Text of a file: any bytes are to be expected.
inline pybind11::str decoded(std::string_view text) {
    PyObject* object = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
    if (object == nullptr) throw pybind11::error_already_set();
    return pybind11::reinterpret_steal<pybind11::str>(object);
}

}  // namespace strobe::bindings
