// Threads of the standard library: async, packaged tasks, promises with exceptions, call_once that fails, condition
// variables, shared locks.
#include <condition_variable>
#include <cstdio>
#include <future>
#include <mutex>
#include <numeric>
#include <queue>
#include <shared_mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#define TRACED [[gnu::noinline]]

TRACED long work(long value) {
    if (value % 10 == 9) throw std::invalid_argument("nine");
    return value * 2;
}
TRACED long through_async(long value) {
    std::future<long> future = std::async(std::launch::async, work, value);
    try {
        return future.get();
    } catch (const std::invalid_argument&) {
        return -1;
    }
}
TRACED long through_promise(long value) {
    std::promise<long> promise;
    std::thread thread([&] {
        try {
            promise.set_value(work(value));
        } catch (...) {
            promise.set_exception(std::current_exception());
        }
    });
    thread.join();
    try {
        return promise.get_future().get();
    } catch (const std::exception&) {
        return -2;
    }
}
static std::once_flag flag;
static int attempts;
TRACED void once() {
    if (++attempts < 3) throw attempts;
}
TRACED void try_once() {
    try {
        std::call_once(flag, once);
    } catch (int) {
    }
}
class Channel {
    std::mutex mutex_;
    std::condition_variable some_;
    std::queue<long> items_;

  public:
    TRACED void put(long value) {
        std::lock_guard lock(mutex_);
        items_.push(value);
        some_.notify_one();
    }
    TRACED long take() {
        std::unique_lock lock(mutex_);
        some_.wait(lock, [&] { return !items_.empty(); });
        long value = items_.front();
        items_.pop();
        return value;
    }
};

int main() {
    long sum = 0;
    for (long i = 0; i < 30; i++) sum += through_async(i) + through_promise(i);
    for (int i = 0; i < 5; i++) try_once();
    Channel channel;
    std::thread producer([&] {
        for (long i = 0; i < 2000; i++) channel.put(i);
    });
    for (int i = 0; i < 2000; i++) sum += channel.take();
    producer.join();
    std::printf("%ld %d\n", sum, attempts);
}
