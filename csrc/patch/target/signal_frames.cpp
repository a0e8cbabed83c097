#include "patch/target/signal_frames.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "abi/strobe_abi.h"

namespace strobe {

namespace {

// struct rt_sigframe of x86-64 (arch/x86/include/asm/sigframe.h), in words from where the handler's return address
// lies: ucontext begins right behind it, and sigcontext in that.
constexpr std::size_t kFlags = 1, kLink = 2, kStackPointer = 21, kPc = 22, kSegments = 24, kFloats = 29, kMask = 38;
// behind ucontext, of a handler with SA_SIGINFO: si_signo, and in the next word si_code. Of another handler that is
// what was there before: therefore the recorder's handler leaves no signal number behind (native/faults.c)
constexpr std::size_t kSignal = 39;
constexpr std::size_t kFrameWords = 41;
constexpr std::uint32_t kBreakpointCode = 0x80;  // SI_KERNEL
constexpr std::uint64_t kUserCode = 0x33;
constexpr std::uint64_t kAllFlags = 0xff;
constexpr std::uint64_t kFarthestFloats = 1 << 16;  // they lie right above the frame
constexpr std::uint64_t kMagicOffset = 464;
constexpr std::uint32_t kMagic = 0x46505853;  // FP_XSTATE_MAGIC1
constexpr std::uint64_t kMostStack = 64 << 20;
constexpr std::size_t kChunkWords = 1 << 13;
constexpr std::size_t kMostStacks = 32;

// mov rax, 15 (rt_sigreturn), as C libraries and Go have it; syscall
constexpr std::array<unsigned char, 9> kLongRestorer{0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
constexpr std::array<unsigned char, 7> kShortRestorer{0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05};

constexpr std::uint64_t kMostMapping = 16ull << 30;  // what is larger is reserved, and hardly used
constexpr std::uint64_t kMostScanned = 128 << 20;
constexpr std::uint64_t kPageBytes = 4096;
constexpr std::size_t kPagesAtOnce = 1 << 15;

}  // namespace

SignalFrames::SignalFrames(pid_t process, const ProcessMemory& memory) : process_(process), memory_(memory) {
    std::ifstream file("/proc/" + std::to_string(process) + "/maps");
    for (std::string line; std::getline(file, line);) {
        const char* const line_end = line.data() + line.size();
        Mapping mapping{};
        const char* at = std::from_chars(line.data(), line_end, mapping.start, 16).ptr;
        if (at == line_end) continue;
        at = std::from_chars(at + 1, line_end, mapping.end, 16).ptr;
        if (line_end - at < 5) continue;
        mapping.is_executable = at[3] == 'x';  // " r-xp"
        mapping.is_private_data = at[1] == 'r' && at[2] == 'w' && at[4] == 'p';
        mapping.is_main_stack = line.ends_with("[stack]");
        mappings_.push_back(mapping);
    }
}

const SignalFrames::Mapping* SignalFrames::mapping_of(std::uint64_t address) const {
    const auto next = std::ranges::upper_bound(mappings_, address, {}, &Mapping::start);
    if (next == mappings_.begin() || address >= std::prev(next)->end) return nullptr;
    return &*std::prev(next);
}

bool SignalFrames::is_restorer(std::uint64_t address) {
    const auto known = restorers_.find(address);
    if (known != restorers_.end()) return known->second;
    const Mapping* mapping = mapping_of(address);
    std::array<unsigned char, 9> code{};
    const bool found =
        mapping != nullptr && mapping->is_executable &&
        memory_.read(address, code.data(), code.size()) == code.size() &&
        (code == kLongRestorer || std::equal(kShortRestorer.begin(), kShortRestorer.end(), code.begin()));
    restorers_.emplace(address, found);
    return found;
}

// Whether the kernel has saved the state of vector registers there (struct _fpx_sw_bytes, at the end of FXSAVE's area).
bool SignalFrames::has_floats(std::uint64_t address) const {
    std::uint32_t magic = 0;
    return address != 0 && memory_.read(address + kMagicOffset, &magic, sizeof magic) == sizeof magic &&
           magic == kMagic;
}

// Every frame that begins in `words`, which lie at `address`, and is whole in them; and every note of a stack of ours,
// which may be nearer to the end than a frame is long.
void SignalFrames::scan(const std::vector<std::uint64_t>& words, std::uint64_t address,
                        std::vector<SavedContext>& found, std::vector<std::uint64_t>& stacks) {
    for (std::size_t i = 0; i + 1 < words.size(); i++)
        if (words[i] == STROBE_STACK_NOTE) stacks.push_back(words[i + 1]);
    for (std::size_t i = 0; i + kFrameWords <= words.size(); i++) {
        const std::uint64_t* frame = &words[i];
        if ((frame[kSegments] & 0xffff) != kUserCode || frame[kLink] != 0 || frame[kFlags] > kAllFlags) continue;
        const std::uint64_t start = address + 8 * i;
        if (frame[kFloats] != 0 && frame[kFloats] - start > kFarthestFloats) continue;
        // where the handler's return is recorded a stub, or its number, stands for the restorer
        if (!is_restorer(frame[0]) && !has_floats(frame[kFloats])) continue;
        const bool is_breakpoint = static_cast<std::uint32_t>(frame[kSignal]) == SIGTRAP &&
                                   static_cast<std::uint32_t>(frame[kSignal + 1]) == kBreakpointCode;
        found.push_back({start + 8 * kPc, frame[kPc], frame[kMask], is_breakpoint});
        stacks.push_back(frame[kStackPointer]);
    }
}

void SignalFrames::scan_stack(std::uint64_t stack_pointer, std::uint64_t end, std::vector<SavedContext>& found,
                              std::vector<std::uint64_t>& stacks) {
    std::vector<std::uint64_t> words;
    while (stack_pointer < end) {
        words.resize(std::min<std::uint64_t>(kChunkWords, (end - stack_pointer) / 8));
        words.resize(memory_.read(stack_pointer, words.data(), 8 * words.size()) / 8);
        scan(words, stack_pointer, found, stacks);
        if (words.size() < kChunkWords) return;
        stack_pointer += 8 * (kChunkWords - kFrameWords + 1);  // one may begin in this chunk and end in the next
    }
}

// Reads up to `most` bytes; gives how many. Pages that nobody has used are not read: the kernel would make them.
std::uint64_t SignalFrames::scan_pages(const PageMap& pagemap, const Mapping& mapping, std::uint64_t most,
                                       std::vector<SavedContext>& found) {
    std::vector<std::uint64_t> pages, stacks;
    std::uint64_t used_from = 0, done = 0;
    const auto scan_used = [&](std::uint64_t end) {
        if (used_from == 0) return;
        end = std::min(end, used_from + (most - done));
        scan_stack(used_from, end, found, stacks);
        done += end - used_from;
        used_from = 0;
    };
    std::uint64_t at = mapping.start;
    while (at < mapping.end && done < most) {
        pages.resize(std::min<std::uint64_t>(kPagesAtOnce, (mapping.end - at) / kPageBytes));
        pages.resize(pagemap.read(at / kPageBytes, pages.data(), pages.size()));
        if (pages.empty()) break;
        for (const std::uint64_t page : pages) {
            const bool is_used = (page & PageMap::kInUse) != 0;
            if (!is_used || (used_from != 0 && at - used_from >= most - done)) scan_used(at);
            if (is_used && used_from == 0) used_from = at;
            at += kPageBytes;
        }
    }
    scan_used(at);
    return done;
}

std::vector<SavedContext> SignalFrames::anywhere() {
    std::vector<SavedContext> found;
#ifdef __x86_64__
    const PageMap pagemap(process_);
    const auto bytes = [](const Mapping& mapping) { return mapping.end - mapping.start; };
    std::vector<Mapping> smallest_first;
    std::ranges::copy_if(mappings_, std::back_inserter(smallest_first), &Mapping::is_private_data);
    std::ranges::sort(smallest_first, {}, bytes);
    std::uint64_t left = kMostScanned;
    for (const Mapping& mapping : smallest_first) {
        if (left == 0 || bytes(mapping) > kMostMapping) break;
        left -= scan_pages(pagemap, mapping, left, found);
    }
#endif
    return found;
}

bool SignalFrames::is_left(std::uint64_t place, std::uint64_t stack_pointer, std::uint64_t thread_pointer) const {
    const Mapping* mapping = mapping_of(place);
    if (mapping == nullptr || place >= stack_pointer || mapping != mapping_of(stack_pointer)) return false;
    return mapping->is_main_stack || mapping == mapping_of(thread_pointer);
}

std::vector<SavedContext> SignalFrames::above(std::uint64_t stack_pointer) {
    std::vector<SavedContext> found;
#ifdef __x86_64__
    // the restorer itself has taken its address from the stack already
    std::vector<std::uint64_t> stacks{stack_pointer - 8};
    std::vector<std::pair<const Mapping*, std::uint64_t>> seen;
    for (std::size_t next = 0; next < stacks.size() && seen.size() < kMostStacks; next++) {
        const std::uint64_t start = stacks[next] & ~std::uint64_t{7};
        const Mapping* mapping = mapping_of(start);
        const auto covers = [mapping, start](const auto& one) { return one.first == mapping && one.second <= start; };
        if (mapping == nullptr || std::ranges::any_of(seen, covers)) continue;
        seen.emplace_back(mapping, start);
        scan_stack(start, std::min(mapping->end, start + kMostStack), found, stacks);
    }
#else
    (void)stack_pointer;
#endif
    return found;
}

}  // namespace strobe
