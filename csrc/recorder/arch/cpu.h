/* What the recorder needs of the CPU and the kernel: each arch/<cpu>/cpu.h gives the same. */
#if defined(__x86_64__)
#include "x86_64/cpu.h"
#elif defined(__aarch64__)
#include "aarch64/cpu.h"
#else
#error "csrc/recorder/arch has no folder for this CPU"
#endif
