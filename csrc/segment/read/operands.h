// What the operators of a condition make of values, as strobe/expressions/normal.py has it.
#pragma once

#include "segment/read/condition.h"

namespace strobe::operands {

Operand integer(Integer value);             // a long, or what has it
Operand integer(Integer value, Type type);  // that is within the type
Operand enumerator(Integer value);
// Types as C has them: of what two operands become, and of a number that wraps.
bool is_unsigned(Type type);
Type common(Type one, Type other);
Integer wrapped(Integer value, Type type);
// `test ? value : other`: of one type.
Operand chosen(const Operand& value, const Operand& other);
Operand real(double value);
Operand boolean(bool value);
Operand text(const char* begin, uint32_t bytes, bool is_cut);
Operand undecided();
Operand absent();
Operand ask();

// A float as the shortest decimal that it is the nearest to, in the way that floats.py finds it.
double shortest(float value);

bool is_known(const Operand& value);
// kHolds or kFails as a condition; else what keeps that from being known.
Verdict truth(const Operand& value);
// A number, no float of 4 bytes among them; undecided for a text.
Operand number(const Operand& value);
// The same of an integer; undecided for a float.
Operand whole(const Operand& value);

Operand compared(Condition::Op op, const Operand& left, const Operand& right);
Operand calculated(Condition::Op op, const Operand& left, const Operand& right);
Operand changed(Condition::Op op, const Operand& value, uint32_t bytes);
Operand text_test(Condition::Op op, const Operand& within, const Operand& part);

}  // namespace strobe::operands
