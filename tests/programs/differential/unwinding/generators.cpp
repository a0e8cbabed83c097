// C++20 coroutines: generators, nested ones, exceptions out of them, ones that end on another thread.
#include <coroutine>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <thread>
#include <utility>

#define TRACED [[gnu::noinline]]

struct Generator {
    struct promise_type {
        long value = 0;
        std::exception_ptr error;
        TRACED Generator get_return_object() { return Generator{Handle::from_promise(*this)}; }
        std::suspend_always initial_suspend() { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        TRACED std::suspend_always yield_value(long v) {
            value = v;
            return {};
        }
        TRACED void return_void() {}
        TRACED void unhandled_exception() { error = std::current_exception(); }
    };
    using Handle = std::coroutine_handle<promise_type>;
    Handle handle;
    explicit Generator(Handle h) : handle(h) {}
    Generator(Generator&& other) noexcept : handle(std::exchange(other.handle, nullptr)) {}
    TRACED ~Generator() {
        if (handle) handle.destroy();
    }
    TRACED bool next() {
        handle.resume();
        if (handle.promise().error) std::rethrow_exception(handle.promise().error);
        return !handle.done();
    }
};

TRACED long square(long value) {
    asm volatile("" : "+r"(value));
    return value * value;
}
TRACED Generator squares(long count) {
    for (long i = 0; i < count; i++) co_yield square(i);
}
TRACED Generator twice(Generator inner, long limit) {
    while (inner.next()) {
        if (inner.handle.promise().value > limit) throw std::out_of_range("limit");
        co_yield 2 * inner.handle.promise().value;
    }
}
TRACED long drain(Generator generator) {
    long sum = 0;
    try {
        while (generator.next()) sum += generator.handle.promise().value;
    } catch (const std::out_of_range&) {
        return -sum;
    }
    return sum;
}
struct Moves {
    std::thread* thread;
    bool await_ready() { return false; }
    TRACED void await_suspend(std::coroutine_handle<> handle) {
        std::thread& started = *thread;  // this object may be gone as soon as the thread runs
        started = std::thread(handle);
    }
    void await_resume() {}
};
struct Task {
    struct promise_type {
        Task get_return_object() { return {}; }
        std::suspend_never initial_suspend() { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
};
TRACED Task moves(std::thread& thread, long& result) {
    long before = square(3);
    co_await Moves{&thread};
    result = before + square(4);
}

int main() {
    long sum = 0;
    for (long i = 0; i < 50; i++) sum = sum * 7 % 1000003 + drain(squares(i)) + drain(twice(squares(i), 900));
    for (long i = 0; i < 50; i++) {
        std::thread thread;
        long result = 0;
        moves(thread, result);
        thread.join();
        sum += result;
    }
    std::printf("%ld\n", sum);
}
