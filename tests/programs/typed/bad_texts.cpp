// Texts that are none: pointers that lead nowhere, to the end of memory, to bytes that are not UTF-8, and lies.
#include <sys/mman.h>

#include <cstring>
#include <string>
#include <string_view>

#include "typed.h"

namespace {

char* pages;  // one that can be read, then one that cannot
const size_t page = 4096;

char* at_end(const char* bytes) {
    char* start = pages + page - strlen(bytes);
    memcpy(start, bytes, strlen(bytes));
    return start;
}

}  // namespace

namespace bad {

APART int chars(const char* s, int n) {
    asm volatile("" : : "r"(s));
    return n;
}
APART int room(char* s, int n) {
    asm volatile("" : : "r"(s));
    return n;
}
APART int view(std::string_view v, int n) {
    asm volatile("" : : "r"(v.data()));
    return n;
}
APART int string(const std::string& s, int n) {
    asm volatile("" : : "r"(&s));
    return n;
}
APART const char* back(const char* s) {
    asm volatile("" : "+r"(s));
    return s;
}

}  // namespace bad

static void called(const char* name, const char* shown, int n, bool quoted) {
    const char* quote = quoted ? "\"" : "";
    say("> %s(%c=%s%s%s, n=%d)", name, name[0] == 'v' ? 'v' : 's', quote, shown, quote, n);
    say("< %s = %d", name, n);
}

static void chars(const char* s, const char* shown, bool quoted) {
    called("chars", shown, 1, quoted);
    bad::chars(s, 1);
}

static void room(char* s, const char* shown, bool quoted) {
    called("room", shown, 2, quoted);
    bad::room(s, 2);
}

static void view(const char* s, size_t length, const char* shown, bool quoted) {
    called("view", shown, 3, quoted);
    bad::view(std::string_view(s, length), 3);
}

static void string(const std::string& s, const char* shown, bool quoted) {
    called("string", shown, 4, quoted);
    bad::string(s, 4);
}

static std::string address(const void* pointer) {
    char text[32];
    snprintf(text, sizeof text, "0x%lx", reinterpret_cast<unsigned long>(pointer));
    return text;
}

static void pointers_to_nowhere() {
    char* const wrong[] = {nullptr,
                           reinterpret_cast<char*>(8),
                           reinterpret_cast<char*>(~0ul),
                           reinterpret_cast<char*>(0x8000000000000000),
                           pages + page,
                           pages + 2 * page};
    for (char* pointer : wrong) {
        const std::string shown = address(pointer);
        chars(pointer, shown.c_str(), false);
        room(pointer, shown.c_str(), false);
        view(pointer, 5, shown.c_str(), false);
        view(pointer, 0, "", true);
        if (pointer != nullptr) string(*reinterpret_cast<std::string*>(pointer), shown.c_str(), false);
    }
    say("> back(s=%s)", "0x8");
    say("< back = %s", "0x8");
    bad::back(reinterpret_cast<char*>(8));
}

static void ends_of_memory() {
    chars(at_end("abc"), "abc…", true);
    room(at_end("abc"), address(at_end("abc")).c_str(), false);
    view(at_end("abc"), 3, "abc", true);
    view(at_end("abc"), 4, "abc…", true);
    view(at_end("abc"), ~0ul, "abc…", true);
    view(at_end("abc"), 1ul << 63, "abc…", true);
    *(pages + page - 1) = 0;
    chars(pages + page - 1, "", true);
    room(pages + page - 1, "", true);
}

// A string object of libstdc++ with any pointer and length.
static void lie(const char* pointer, size_t length, const char* shown, bool quoted) {
    alignas(std::string) char object[sizeof(std::string)] = {};
    memcpy(object, &pointer, sizeof pointer);
    memcpy(object + sizeof pointer, &length, sizeof length);
    const std::string& lying = *reinterpret_cast<std::string*>(object);
    string(lying, shown == nullptr ? address(object).c_str() : shown, quoted);
}

static void lies() {
    lie(at_end("xyz"), 3, "xyz", true);
    lie(at_end("xyz"), 1000, "xyz…", true);
    lie(pages + page, 1, nullptr, false);
    lie(nullptr, 1, nullptr, false);
    lie(nullptr, 0, "", true);
    string(*reinterpret_cast<std::string*>(pages + page - 8), address(pages + page - 8).c_str(), false);
}

static void bytes() {
    char text[600];
    memset(text, 'm', sizeof text);
    text[599] = 0;
    const std::string first(256, 'm'), cut = first + "…";
    chars(text, cut.c_str(), true);
    view(text, 256, first.c_str(), true);
    view(text, 257, cut.c_str(), true);
    string(std::string(300, 'm'), cut.c_str(), true);
    string(std::string("short"), "short", true);
    text[255] = '\xc3', text[256] = '\xa4';  // a letter of two bytes across the bound
    chars(text, (std::string(255, 'm') + "…").c_str(), true);
    room(text, address(text).c_str(), false);
    text[2] = 0, text[0] = '\xff', text[1] = 'a';
    chars(text, "\\\\xffa", true);
    room(text, address(text).c_str(), false);
    view(std::string_view("a\0b", 3).data(), 3, "a\\u0000b", true);
    strcpy(text, "gr\xc3\xbc\xc3\x9f");
    chars(text, "grüß", true);
    room(text, "grüß", true);
    say("> back(s=\"%s\")", text);
    say("< back = \"%s\"", text);
    bad::back(text);
}

int main() {
    pages = static_cast<char*>(mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(pages + page, page, PROT_NONE);
    munmap(pages + 2 * page, page);
    pointers_to_nowhere();
    ends_of_memory();
    lies();
    bytes();
    return 0;
}
