#include "recipe/process_reader.h"

#include <limits.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>

namespace strobe {
namespace {

constexpr std::uint64_t kWord = 8;
constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kMaxAhead = 1 << 20;  // bytes that are read ahead for one recipe

struct Span {
    std::uint64_t start;
    std::uint64_t end;
};

// To whole words: the kernel copies these at once, and shorter ones byte by byte, while the process writes them. What
// is added lies on the same page, so it can be read if the rest can.
Span words_around(std::uint64_t address, std::uint64_t size) {
    const std::uint64_t start = address / kWord * kWord;
    const std::uint64_t end = address + size;
    const std::uint64_t up = (end + kWord - 1) / kWord * kWord;
    return {start, up < end ? end : up};
}

// The memory of one process, some of it read ahead.
class ProcessMemory {
  public:
    ProcessMemory(pid_t process, Fetch fetch) : process_(process), fetch_(std::move(fetch)) {}

    void read_ahead(std::vector<Span> wanted) {
        if (fetch_) return;
        std::sort(wanted.begin(), wanted.end(), [](Span a, Span b) { return a.start < b.start; });
        for (const Span& span : wanted) {
            if (!ahead_.empty() && span.start <= ahead_.back().span.end)
                ahead_.back().span.end = std::max(ahead_.back().span.end, span.end);
            else
                ahead_.push_back({span, {}});
        }
        for (std::size_t first = 0; first < ahead_.size();) first = read_some(first);
        std::erase_if(ahead_, [](const Ahead& known) { return known.bytes.empty(); });
    }

    std::uint32_t read(std::uint64_t address, void* to, std::uint32_t size) {
        if (address + size < address) return 0;
        const auto after = std::upper_bound(ahead_.begin(), ahead_.end(), address,
                                            [](std::uint64_t at, const Ahead& known) { return at < known.span.start; });
        if (after != ahead_.begin()) {
            const Ahead& known = *std::prev(after);
            if (address + size <= known.span.end) {
                std::memcpy(to, known.bytes.data() + (address - known.span.start), size);
                return size;
            }
        }
        return read_now(address, static_cast<std::uint8_t*>(to), size);
    }

    int error() const { return error_; }

  private:
    struct Ahead {
        Span span;
        std::vector<std::uint8_t> bytes;  // none: it could not be read
    };

    // Reads from the span `first` on, as many as the kernel takes; returns the one to go on with.
    std::size_t read_some(std::size_t first) {
        const std::size_t last = std::min(ahead_.size(), first + IOV_MAX);
        std::vector<iovec> local, remote;
        for (std::size_t index = first; index < last; index++) {
            Ahead& known = ahead_[index];
            const std::uint64_t size = known.span.end - known.span.start;
            known.bytes.resize(size);
            local.push_back({known.bytes.data(), size});
            remote.push_back({reinterpret_cast<void*>(known.span.start), size});
        }
        ssize_t got = process_vm_readv(process_, local.data(), local.size(), remote.data(), remote.size(), 0);
        note_error(got);
        std::size_t index = first;
        for (; index < last && got >= static_cast<ssize_t>(ahead_[index].bytes.size()); index++)
            got -= static_cast<ssize_t>(ahead_[index].bytes.size());
        if (index == last) return last;
        ahead_[index].bytes.clear();  // the kernel stops at the first span that is not all there
        return index + 1;
    }

    std::uint32_t read_now(std::uint64_t address, std::uint8_t* to, std::uint32_t size) {
        std::uint32_t done = 0;
        while (done < size) {  // page by page, as the kernel may leave out all of a part that is not all there
            const std::uint64_t from = address + done;
            const std::uint64_t part = std::min<std::uint64_t>(size - done, kPage - from % kPage);
            if (!read_part(from, to + done, part)) break;
            done += static_cast<std::uint32_t>(part);
        }
        return done;
    }

    // Within one page.
    bool read_part(std::uint64_t address, std::uint8_t* to, std::uint64_t size) {
        if (fetch_) return fetch_(address, to, size);
        const Span span = words_around(address, size);
        std::uint8_t page[kPage];
        const iovec local{page, span.end - span.start};
        const iovec remote{reinterpret_cast<void*>(span.start), span.end - span.start};
        const ssize_t got = process_vm_readv(process_, &local, 1, &remote, 1, 0);
        note_error(got);
        if (got != static_cast<ssize_t>(local.iov_len)) return false;
        std::memcpy(to, page + (address - span.start), size);
        return true;
    }

    void note_error(ssize_t got) {
        if (got < 0 && errno != EFAULT && errno != EINVAL && error_ == 0) error_ = errno;
    }

    pid_t process_;
    Fetch fetch_;
    std::vector<Ahead> ahead_;  // by address, apart from each other
    int error_ = 0;
};

// What a recipe reads first, before anything depends on memory.
void add_known_spans(const std::vector<strobe_recipe_step>& steps, std::vector<Span>* spans) {
    std::uint64_t location = 0, total = 0;
    for (const strobe_recipe_step& step : steps) {
        std::uint64_t size = 0, offset = 0;
        if (step.op == STROBE_RECIPE_BASE) {
            location = static_cast<std::uint64_t>(step.operand);
        } else if (step.op == STROBE_RECIPE_ADD) {
            location += static_cast<std::uint64_t>(step.operand);
        } else if (step.op == STROBE_RECIPE_READ) {
            offset = static_cast<std::uint64_t>(step.operand);
            size = step.count;
        } else if (step.op == STROBE_RECIPE_NUMBER) {
            offset = static_cast<std::uint64_t>(step.operand);
            size = step.width;
        } else if (step.op == STROBE_RECIPE_DEREF) {
            offset = static_cast<std::uint64_t>(step.operand);
            size = kWord;
        } else if (step.op != STROBE_RECIPE_SAVE) {
            return;
        }
        const std::uint64_t address = location + offset;
        if (size && address + size + kWord > address && (total += size) <= kMaxAhead)
            spans->push_back(words_around(address, size));
        if (step.op == STROBE_RECIPE_DEREF) return;
    }
}

std::uint32_t read_process(void* context, std::uint64_t address, void* to, std::uint32_t size) {
    return static_cast<ProcessMemory*>(context)->read(address, to, size);
}

// Room for what a recipe gives, as large as the largest needs; only what is used is touched.
struct Room {
    explicit Room(const std::vector<BoundedRecipe>& recipes) {
        for (const BoundedRecipe& recipe : recipes) {
            byte_count = std::max(byte_count, recipe.bytes);
            item_count = std::max(item_count, recipe.items);
        }
        bytes = std::make_unique_for_overwrite<std::uint8_t[]>(byte_count);
        items = std::make_unique_for_overwrite<strobe_recipe_item[]>(item_count);
    }

    std::uint32_t byte_count = 0, item_count = 0;
    std::unique_ptr<std::uint8_t[]> bytes;
    std::unique_ptr<strobe_recipe_item[]> items;
};

RecipeResult run_one(ProcessMemory* memory, const BoundedRecipe& recipe, Room* room) {
    RecipeResult result{};
    strobe_recipe_output output{room->bytes.get(), recipe.bytes, 0, room->items.get(), recipe.items, 0, 0};
    const auto count = static_cast<std::uint32_t>(recipe.steps.size());
    result.status = strobe_recipe_run(recipe.steps.data(), count, 0, read_process, memory, &output);
    result.bytes.assign(room->bytes.get(), room->bytes.get() + output.used);
    result.items.assign(room->items.get(), room->items.get() + output.item_count);
    return result;
}

}  // namespace

std::vector<RecipeResult> run_recipes(pid_t process, const std::vector<BoundedRecipe>& recipes, Fetch fetch) {
    ProcessMemory memory(process, std::move(fetch));
    std::vector<Span> spans;
    for (const BoundedRecipe& recipe : recipes) add_known_spans(recipe.steps, &spans);
    memory.read_ahead(std::move(spans));
    Room room(recipes);
    std::vector<RecipeResult> results;
    for (const BoundedRecipe& recipe : recipes) {
        results.push_back(run_one(&memory, recipe, &room));
        if (memory.error()) throw std::system_error(memory.error(), std::generic_category(), "process_vm_readv");
    }
    return results;
}

}  // namespace strobe
