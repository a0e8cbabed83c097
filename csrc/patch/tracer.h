// What asks the kernel for ptrace runs on a thread of its own.
#pragma once

#include <exception>
#include <thread>

namespace strobe {

// Runs `work` on a new thread and waits for it; what it throws is thrown here. When a tracing thread ends the kernel
// lets go of all that it has seized, also of those that have not stopped yet, which nobody else can let go of.
template <typename Work>
void as_tracer(Work&& work) {
    std::exception_ptr error;
    std::thread tracer([&work, &error] {
        try {
            work();
        } catch (...) {
            error = std::current_exception();
        }
    });
    tracer.join();
    if (error) std::rethrow_exception(error);
}

}  // namespace strobe
