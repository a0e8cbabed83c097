/* integers.h in C. */
#include "integers.h"
