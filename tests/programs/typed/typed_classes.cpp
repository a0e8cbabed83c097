// What C++ passes and returns beyond C: classes, references, strings.
#include <memory>
#include <string>
#include <string_view>

#include "typed.h"

static const char* name(bool value) { return value ? "true" : "false"; }

namespace typed {

enum class Mode : unsigned char { Off, Once, Loop = 7 };
enum Flags : unsigned { kRead = 1, kWrite = 2, kRun = 8 };
struct Base {
    int id;
};
struct Derived : Base {
    float weight;
};
struct Empty {};
struct Counted {  // passed by address
    explicit Counted(int n) : count(n) {}
    Counted(const Counted& other) : count(other.count + 1) {}
    ~Counted() { asm volatile("" : : "r"(this)); }
    int count;
};
struct Huge {
    long values[9];
};
struct Row {
    double a, b;
    int n;
};

APART Mode mode(Mode m, Flags f) {
    say("> mode(m=Loop(7), f=kRead|kRun(9))");
    return m == Mode::Loop && f == 9 ? Mode::Once : Mode::Off;
}
APART int by_value(std::string s, int n) {
    say("> by_value(s=\"%s\", n=%d)", s.c_str(), n);
    return n;
}
APART std::string by_reference(const std::string& s, std::string& other, std::string&& moved) {
    say("> by_reference(s=\"%s\", other=\"%s\", moved=\"%s\")", s.c_str(), other.c_str(), moved.c_str());
    return s + other + moved;
}
APART std::string_view part(std::string_view v, const std::string_view& other) {
    say("> part(v=\"%.*s\", other=\"%.*s\")", int(v.size()), v.data(), int(other.size()), other.data());
    return v.substr(1);
}
APART int pushed(int a, int b, int c, int d, int e, std::string_view v, const char* s) {
    say("> pushed(a=%d, b=%d, c=%d, d=%d, e=%d, v=\"%s\", s=\"%s\")", a, b, c, d, e, v.data(), s);
    return e;
}
APART Derived derived(Derived d, Empty, float f) {
    say("> derived(d={id=%d, weight=%.1f}, arg1=?, f=%.1f)", d.id, d.weight, f);
    return {{d.id + 1}, -d.weight};
}
APART int counted(int n, Counted c, double d) {
    say("> counted(n=%d, c=%p, d=%.1f)", n, static_cast<void*>(&c), d);
    return c.count;
}
APART Row row(const Row& r, int& n, Row* p) {
    say("> row(r=%p, n=%p, p=%p)", static_cast<const void*>(&r), static_cast<void*>(&n), static_cast<void*>(p));
    return {r.b, r.a, n};
}
APART Huge huge(int n, double d) {
    say("> huge(n=%d, d=%.1f)", n, d);
    return {{n, 2, 3, 4, 5, 6, 7, 8, 9}};
}
APART std::unique_ptr<Row> made(float f) {
    say("> made(f=%.1f)", f);
    return std::make_unique<Row>();
}

class Synth {
  public:
    explicit Synth(float gain) : gain_(gain) {}
    virtual ~Synth() = default;
    APART float play(float freq, std::string_view name, Mode mode) {
        say("> play(this=%p, freq=%.1f, name=\"%s\", mode=%s)", static_cast<void*>(this), freq, name.data(),
            mode == Mode::Loop ? "Loop(7)" : "Once(1)");
        return freq * gain_;
    }
    APART virtual bool is_on(const char* why) const {
        say("> is_on(this=%p, why=\"%s\")", static_cast<const void*>(this), why);
        return gain_ > 0;
    }

  private:
    float gain_;
};

template <typename T>
APART T twice(T value) {
    say("> twice<double>(value=%.1f)", double(value));
    return value + value;
}

}  // namespace typed

using namespace typed;

static void strings() {
    say("< by_value = %d", by_value("short", 1));
    say("< by_value = %d", by_value(std::string(40, 'l'), 2));
    std::string other = "and";
    const std::string joined = by_reference("a", other, std::string(30, 'm'));
    say("< by_reference = \"%s\"", joined.c_str());
    const std::string_view rest = part("lead", "bass");
    say("< part = \"%.*s\"", int(rest.size()), rest.data());
    say("< pushed = %d", pushed(1, 2, 3, 4, 5, "view", "text"));
}

static void classes() {
    say("< mode = %s", mode(Mode::Loop, Flags(9)) == Mode::Once ? "Once(1)" : "Off(0)");
    const Derived moved = derived({{4}, 2.5f}, {}, 0.5f);
    say("< derived = {id=%d, weight=%.1f}", moved.id, moved.weight);
    const Counted one(5);
    say("< counted = %d", counted(3, one, 1.5));
    Row r{1.5, 2.5, 3};
    int n = 4;
    const Row back = row(r, n, &r);
    say("< row = {a=%.1f, b=%.1f, n=%d}", back.a, back.b, back.n);
    say("< huge = ?%s", huge(1, 2.5).values[0] == 1 ? "" : " wrong");
    say("< made = %p", static_cast<void*>(made(0.5f).release()));
    Synth synth(0.5f);
    say("< play = %.1f", synth.play(440.0f, "lead", Mode::Loop));
    say("< is_on = %s", name(synth.is_on("check")));
    say("< twice<double> = %.1f", twice(1.5));
}

int main() {
    strings();
    classes();
    return 0;
}
