#include "patch/threads/forked_children.h"

#include <link.h>
#include <linux/kcmp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <system_error>

#include "patch/target/exports.h"
#include "patch/target/loader_locks.h"
#include "patch/target/tracer.h"

namespace strobe {

namespace {

bool share_memory(pid_t one, pid_t other) {
    return syscall(SYS_kcmp, one, other, KCMP_VM, 0, 0) <= 0;  // 0: they do; -1: not known
}

}  // namespace

ForkedChildren::ForkedChildren(pid_t thread, const ProcessMemory& memory) {
    const std::uint64_t base = loader_base(thread);
    const auto debug = base == 0 ? std::nullopt : Exports(memory, base).find("_r_debug");
    std::uint64_t notifier = 0;
    if (!debug || memory.read(debug->address + offsetof(r_debug, r_brk), &notifier, sizeof notifier) != sizeof notifier)
        return;
    if (memory.read(notifier, code_.data(), code_.size()) == code_.size()) notifier_ = notifier;
}

void ForkedChildren::restore(pid_t thread, pid_t forked) {
    forked_.push_back(forked);
    if (share_memory(thread, forked)) return;
    try {
        const ProcessMemory child(forked);
        put_code_back(child);
        LoaderLocks(forked, child).free_but_of(own_number(thread));
    } catch (const std::system_error&) {  // it was killed
    }
}

void ForkedChildren::put_code_back(const ProcessMemory& child) const {
    std::array<unsigned char, 16> now{};
    if (notifier_ == 0 || child.read(notifier_, now.data(), now.size()) != now.size() || now == code_) return;
    child.write(notifier_, code_.data(), code_.size());
}

void ForkedChildren::let_go() {
    std::erase_if(forked_, [](pid_t child) { return has_ended(child) || strobe::let_go(child); });
}

}  // namespace strobe
