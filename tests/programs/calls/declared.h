// A class that a unit with its vtable alone defines, for clang, and one that is only declared here.
#pragma once

class Shape {
  public:
    virtual ~Shape();
    virtual int sides() const;
    int number = 7;
};

struct Hidden;
Shape* make_shape();
Hidden* make_hidden();
