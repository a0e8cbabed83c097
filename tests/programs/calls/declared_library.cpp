// Defines what declared.cpp has pointers to.
#include <string>

#include "declared.h"

Shape::~Shape() = default;
int Shape::sides() const { return 3; }

struct Hidden {
    int value = 31;
    Hidden* next = nullptr;
};
Hidden gKept;

Shape* make_shape() { return new Shape; }
Hidden* make_hidden() { return new Hidden{31, &gKept}; }
