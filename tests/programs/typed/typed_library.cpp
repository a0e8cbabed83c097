// Classes of the standard library that stand for a value, and text of every kind of character. With a number for its
// argument: texts of so many characters.
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "typed.h"

#define USED(value) asm volatile("" : : "m"(value))

namespace library {

APART int texts(std::string s, const std::string& r, std::string_view v, std::string* p) {
    say("> texts(s=\"%s\", r=\"%s\", v=\"%.*s\", p=%p)", s.c_str(), r.c_str(), int(v.size()), v.data(),
        static_cast<void*>(p));
    return int(s.size());
}
APART std::string text(int n) {
    say("> text(n=%d)", n);
    return std::string(size_t(n), 'x');
}
APART int wide(const wchar_t* w, const char16_t* u, const char32_t* v, const char8_t* e) {
    USED(w);
    USED(u);
    USED(v);
    say("> wide(w=\"w\303\251\", u=\"u\303\251\", v=\"\360\237\216\271\", e=\"%s\")", reinterpret_cast<const char*>(e));
    return 1;
}
APART int wide_strings(const std::wstring& w, std::u16string u, std::u32string_view v) {
    USED(w);
    USED(u);
    USED(v);
    say("> wide_strings(w=\"%s\", u=\"\303\251t\303\251\", v=\"view\")", w.size() > 5 ? "wwwwwwwwwwww" : "w");
    return int(w.size());
}
APART std::optional<int> maybe(std::optional<int> a, std::optional<double> b) {
    if (a)
        say("> maybe(a=%d, b=nullopt)", *a);
    else
        say("> maybe(a=nullopt, b=%.1f)", *b);
    return a ? std::optional<int>(*a + 1) : std::nullopt;
}
APART long waits(std::chrono::milliseconds a, std::chrono::duration<double> b) {
    say("> waits(a=%ld, b=%.2f)", long(a.count()), b.count());
    return long(a.count());
}
APART int spans(std::span<int> a) {
    say("> spans(a={data=%p, size=%lu})", static_cast<void*>(a.data()), static_cast<unsigned long>(a.size()));
    return a[0];
}
APART std::unique_ptr<int> owners(std::unique_ptr<int> a, std::shared_ptr<int> b) {
    say("> owners(a=%p, b=%p)", static_cast<void*>(a.get()), static_cast<void*>(b.get()));
    return a;
}

}  // namespace library

using namespace library;

static void strings(size_t size) {
    std::string own(size, 'o');
    say("< texts = %d", texts(std::string(size, 's'), std::string(size + 1, 'r'), "view", &own));
    say("< text = \"%s\"", text(int(size)).c_str());
}

int main(int argc, char** argv) {
    if (argc > 1) {
        strings(size_t(atoi(argv[1])));
        return 0;
    }
    for (size_t size : {0, 3, 14, 15, 16, 21, 22, 23, 40}) strings(size);
    say("< wide = %d", wide(L"w\u00e9", u"u\u00e9", U"\U0001f3b9", u8"eight"));
    say("< wide_strings = %d", wide_strings(L"w", u"\u00e9t\u00e9", U"view"));
    say("< wide_strings = %d", wide_strings(L"wwwwwwwwwwww", u"\u00e9t\u00e9", U"view"));
    say("< maybe = %d", *maybe(argc, std::nullopt));
    maybe(std::nullopt, 2.5);
    say("< maybe = nullopt");
    say("< waits = %ld", waits(std::chrono::milliseconds(1500), std::chrono::duration<double>(0.25)));
    int values[] = {argc, 2, 3};
    say("< spans = %d", spans(values));
    say("< owners = %p", static_cast<void*>(owners(std::make_unique<int>(1), std::make_shared<int>(2)).get()));
    return 0;
}
