// `forgets leak [COUNT]`: requests whose header is wrong are not freed. `forgets reuse`: a session that was closed is
// used again by a timer that still has it. Ends with 1, as who looks would. `forgets all`: what gives and takes memory,
// in its forms.
#include <malloc.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

struct Request {
    char header[16];
    char* body;
};

__attribute__((noinline)) Request* read_request(int number) {
    Request* request = new Request;
    std::snprintf(request->header, sizeof request->header, number % 10 == 7 ? "PUT" : "GET");
    request->body = static_cast<char*>(std::malloc(1000));  // body
    std::memset(request->body, 'x', 1000);
    return request;
}

__attribute__((noinline)) int handle(int number) {
    Request* request = read_request(number);
    if (std::strcmp(request->header, "GET") != 0) return -1;
    std::free(request->body);
    delete request;
    return 0;
}

struct Session {
    int id;
    int state;
};

static Session* timer_has;

__attribute__((noinline)) void close_session(Session* session) {
    session->state = 0;
    delete session;  // closed
}

__attribute__((noinline)) int fire(Session* session) { return session->id + 1; }

static int leak(int count) {
    int failed = 0;
    for (int number = 0; number < count; number++) failed -= handle(number);
    std::printf("%d failed\n", failed);
    return 1;
}

static int reuse() {
    for (int id = 1; id <= 20; id++) {
        Session* session = new Session{id, 1};
        if (id == 13) timer_has = session;
        close_session(session);
    }
    std::printf("%d\n", fire(timer_has) > 0);
    return 1;
}

// Of each kind one block stays: 10 * 8, 200, 48, 64, and of new 24.
static int all() {
    void* numbers = std::calloc(10, 8);
    void* grown = std::realloc(std::malloc(20), 200);
    void* moved = std::realloc(nullptr, 48);
    void* aligned = std::aligned_alloc(64, 64);
    char* text = new char[24];
    std::free(std::realloc(std::malloc(10), 30));
    std::free(nullptr);
    delete[] new int[7];
    std::unique_ptr<std::string> kept = std::make_unique<std::string>(100, 'x');
    std::printf("%d\n", numbers && grown && moved && aligned && text && !kept->empty());
    std::fflush(stdout);
    kept.reset();
    std::_Exit(0);
}

int main(int argc, char** argv) {
    const std::string asked = argc > 1 ? argv[1] : "";
    std::setvbuf(stdout, nullptr, _IONBF, 0);
    return asked == "leak"    ? leak(argc > 2 ? std::atoi(argv[2]) : 100)
           : asked == "reuse" ? reuse()
           : asked == "all"   ? all()
                              : 2;
}
