#ifndef STROBE_RECORDER_PROBE_H
#define STROBE_RECORDER_PROBE_H

#include <gum/guminterceptor.h>

/* Trampolines call the recorder without Interceptor: guards.c. */
#define STROBE_PROBE_FIRST_ARGUMENT offsetof(GumCpuContext, rdi)

#endif
