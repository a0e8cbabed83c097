// Processes that end while it is read what the kernel says of them.
#include "patch/target/task_state.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <iostream>
#include <thread>

#include "../check.h"
#include "patch/target/program_identity.h"

namespace {

constexpr auto kTime = std::chrono::seconds(2);

void look_at(pid_t process) {
    const char state = strobe::task_state(process, process);
    CHECK(std::string("RSDZXt").find(state) != std::string::npos);
    CHECK(strobe::task_ids(process).size() <= 2);
    strobe::start_ticks(process);
    strobe::ProgramIdentity(process).is_current();
}

void looks_while_processes_end() {
    std::atomic<pid_t> living = getpid();
    std::atomic<bool> is_over = false;
    long looks = 0;
    std::thread forking([&] {
        while (!is_over) {
            const pid_t child = fork();
            if (child == 0) _exit(0);
            living = child;
            waitpid(child, nullptr, 0);
        }
    });
    try {
        for (const auto end = std::chrono::steady_clock::now() + kTime; std::chrono::steady_clock::now() < end; looks++)
            look_at(living);
    } catch (const std::exception& error) {
        CHECK_EQUAL(std::string(error.what()), std::string());
    }
    is_over = true;
    forking.join();
    CHECK(looks > 0);
}

}  // namespace

int main() {
    looks_while_processes_end();
    return strobe::test::failures == 0 ? 0 : 1;
}
