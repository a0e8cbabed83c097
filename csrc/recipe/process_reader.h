// Recipes over the memory of another process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "recipe/recipe.h"

namespace strobe {

// What one recipe gave. `status`: STROBE_RECIPE_OK or what ended it.
struct RecipeResult {
    std::uint32_t status;
    std::vector<std::uint8_t> bytes;
    std::vector<strobe_recipe_item> items;
};

// A recipe, and how many bytes and items it may give.
struct BoundedRecipe {
    std::vector<strobe_recipe_step> steps;
    std::uint32_t bytes;
    std::uint32_t items;
};

// Another way to the memory than the kernel's: copies `size` bytes, false where not all of them can be read.
using Fetch = std::function<bool(std::uint64_t address, std::uint8_t* to, std::size_t size)>;

// What all of the recipes read at addresses that are known beforehand is read in
// one call of the kernel, so as near to one instant as it can be. Throws std::system_error where the process is gone
// (ESRCH) or may not be read (EPERM); memory that is not there makes items, not errors.
std::vector<RecipeResult> run_recipes(pid_t process, const std::vector<BoundedRecipe>& recipes, Fetch fetch = {});

}  // namespace strobe
