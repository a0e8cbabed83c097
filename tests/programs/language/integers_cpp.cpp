// integers.h in C++, where enumerators are ints.
#include "integers.h"
