/* For callers with a large stack: hosts and tests. */
#include "machine.h"

uint32_t strobe_recipe_run(const struct strobe_recipe_step* steps, uint32_t step_count, uint64_t start,
                           strobe_recipe_reader read, void* context, struct strobe_recipe_output* output) {
    struct recipe_run run;
    return strobe_recipe_run_on(&run, steps, step_count, start, 0, read, context, output);
}
