// Stands between Frida, which takes a process's main thread to load its agent, and ptrace(2).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace strobe {

// While it lives, Frida in this process injects into `process` in a way that leaves the program as it was:
// - The main thread is first brought to a safe point: Frida has it call pthread_create, which allocates.
// - The threads stand still from the time the agent is loaded: what they forked then would inherit locks of the dynamic
//   loader that nobody lets go of, and its lists as they were. The main thread as soon as Frida lets go of it.
// - Its vector registers are put back with the others. Frida keeps the general ones alone.
// - No signal is delivered to it while it runs what Frida calls, but for faults and SIGSTOP.
// - The loader's code stays where Frida gives up, for its thread may be in it still and ends by itself.
// x86-64 alone; elsewhere nothing is done.
class InjectionGuard {
  public:
    struct Injection;

    // `library`: the file of Frida. Throws std::runtime_error where it calls ptrace in a way that is not known.
    // `limit`: for reaching a safe point; Frida does nothing else meanwhile. 0: none is needed, as Frida removes what
    // is left of an agent, for which the thread makes one system call; it stays where that is filtered. `is_fridas`:
    // Frida has started the program, and waits for its end. That of any other child of this process is left for who
    // waits for it, from now on. `binds_apart`: the agent is to find its functions in its own libraries first; of a
    // program that Frida has started nothing else is done then.
    InjectionGuard(pid_t process, const std::string& library, std::chrono::milliseconds limit, bool is_fridas,
                   bool binds_apart);
    InjectionGuard(const InjectionGuard&) = delete;
    InjectionGuard& operator=(const InjectionGuard&) = delete;
    ~InjectionGuard();

    // Frida has come, or has given up. The threads stand still on.
    void end();
    // These threads stand still, while an agent unloads itself, until `release_threads` or until Frida comes.
    void hold_threads(std::vector<pid_t> threads);
    // They go on; after some seconds they do so anyway.
    void release_threads();
    // Whether it stands still, after Frida has let go of it.
    bool holds_main_thread() const;
    // Why Frida was not let in, as of reach_safe_point and asks_for_clock, or ESRCH where a filter of system calls may
    // end the thread for what Frida is about to do; 0 where it was let in, or has not come yet.
    int refusal() const;

  private:
    pid_t process_;
    std::shared_ptr<Injection> injection_;
};

// From now on the kernel ends a program that Frida in this process has started when this process ends before Frida lets
// go of it (started_children.h). `library`: the file of Frida. x86-64 alone.
void end_children_with_us(const std::string& library);

}  // namespace strobe
