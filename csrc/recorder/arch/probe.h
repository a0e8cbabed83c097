/* Where a probe of the portable form finds what the function was called with: each arch/<cpu>/probe.h gives the same.
 */
#if defined(__x86_64__)
#include "x86_64/probe.h"
#else
#include "aarch64/probe.h"
#endif
