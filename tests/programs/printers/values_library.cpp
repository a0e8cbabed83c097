// Variables of the standard library's types: empty ones, ones with a few, 100 and 101 elements, and nested ones.
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <bitset>
#include <chrono>
#include <complex>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <forward_list>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <stack>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

using namespace std::chrono_literals;

struct Point {
    int x;
    int y;
    bool operator<(const Point& other) const { return x < other.x; }
};
struct Person {
    std::string name;
    std::vector<int> marks;
    std::shared_ptr<Person> friend_of;
};
struct Crowd {
    std::vector<Person> people;
    int count;
};
struct Wide {
    char bytes[300];
};
struct alignas(64) Aligned {
    int value;
};
struct __attribute__((packed)) Packed {
    char first;
    int second;
    bool operator<(const Packed& other) const { return first < other.first; }
};
typedef float Quad __attribute__((vector_size(16)));
struct Names : std::vector<std::string> {
    int extra = 7;
};
enum class Colour { red, green };

std::string gEmptyText, gText = "short", gLongText(1000, 'x'), gTooLongText(1025, 'y'), gJustText(1024, 'z');
std::string gZeroText("a\0b", 3);
std::wstring gWideText = L"w\u00e4";
std::u16string gText16 = u"\u00e416";
std::u32string gText32 = U"\u00e432";
std::u8string gText8 = u8"\u00e48";
std::string_view gView = "a view", gPart(gLongText.data(), 3);

std::vector<int> gEmptyVector, gVector{1, 2, 3}, gHundred(100, 5), gHundredOne(101, 6);
std::vector<std::string> gTexts{"one", "two", std::string(40, 'l')};
std::vector<std::vector<int>> gNested{{1}, {}, {2, 3}};
std::vector<Point> gPoints{{1, 2}, {3, 4}};
std::vector<bool> gBools{true, false, true}, gManyBools(130, true), gNoBools;
std::array<int, 3> gArray{7, 8, 9};
std::array<int, 0> gNoArray;
std::array<std::string, 2> gTextArray{"x", "y"};
std::deque<int> gDeque, gEmptyDeque, gLongDeque;
std::deque<Wide> gWideDeque(3);
std::deque<std::string> gTextDeque{"p", "q"};
std::list<int> gList{1, 2, 3}, gEmptyList, gLongList(101, 4);
std::list<std::string> gTextList{"m", "n"};
std::list<Aligned> gAlignedList{{5}, {6}};
std::forward_list<int> gForward{1, 2, 3}, gEmptyForward, gLongForward;
std::map<int, std::string> gMap{{1, "a"}, {2, "b"}}, gEmptyMap;
std::map<std::string, std::vector<std::string>> gMapOfVectors{{"k", {"v", "w"}}, {"none", {}}};
std::map<int, int> gLongMap, gHundredMap;
std::map<Point, char> gPointMap{{{1, 2}, 'p'}};
std::map<Colour, bool> gColourMap{{Colour::red, true}, {Colour::green, false}};
std::multimap<int, int> gMultimap{{1, 2}, {1, 3}};
std::set<std::string> gSet{"b", "a"};
std::set<char> gCharSet{'b', 'a'};
std::set<int> gLongSet, gEmptySet;
std::multiset<int> gMultiset{2, 1, 2};
std::unordered_map<int, std::string> gTable{{7, "seven"}}, gEmptyTable;
std::unordered_map<std::string, int> gTextTable{{"a", 1}, {"b", 2}, {"c", 3}};
std::unordered_set<int> gHashSet{5}, gLongHashSet;
std::unordered_set<std::string> gTextSet{"t"};
std::pair<int, std::string> gPair{1, "two"};
std::tuple<int, std::string, double> gTuple{1, "t", 2.5};
std::tuple<> gNoTuple;
std::tuple<Point, std::tuple<char>> gDeepTuple{{1, 2}, {'c'}};

std::optional<int> gOptional = 5, gNullopt;
std::optional<std::string> gOptionalText = "there", gNoText;
std::variant<int, std::string> gVariant = "text", gOtherVariant = 3;
std::unique_ptr<int> gUnique = std::make_unique<int>(5), gNoUnique;
std::unique_ptr<Point> gUniquePoint(new Point{1, 2});
std::unique_ptr<int[]> gUniqueArray(new int[3]{1, 2, 3});
std::unique_ptr<FILE, int (*)(FILE*)> gFile(nullptr, &fclose);
std::shared_ptr<Point> gShared = std::make_shared<Point>(Point{3, 4}), gNoShared;
std::weak_ptr<Point> gWeak = gShared, gExpired, gNoWeak;
std::shared_ptr<Person> gPerson = std::make_shared<Person>();
Crowd gCrowd{{{"Bo", {}, nullptr}}, 1};
std::vector<std::shared_ptr<Point>> gSharedPoints{gShared, nullptr};

int doubled(int number) { return 2 * number; }
struct Adder {
    int by;
    int operator()(int number) const { return number + by; }
};
std::function<int(int)> gFunction = doubled, gFunctor = Adder{2}, gNoFunction;
std::function<int(int)> gLambda = [](int number) { return number + 1; };

std::chrono::milliseconds gMilliseconds = 250ms;
std::chrono::hours gHours = 2h;
std::chrono::duration<double> gSeconds = 1.5s;
std::chrono::system_clock::time_point gDate(1700000000123456us);
std::chrono::steady_clock::time_point gSteady(5s);
std::atomic<int> gAtomic = 4;
std::atomic<bool> gFlag = true;
std::atomic<Point*> gAtomicPointer = nullptr;
std::atomic<double> gAtomicDouble = 0.5;
std::mutex gUnlocked, gLocked;
std::recursive_mutex gRecursive;
std::thread gNoThread;
std::span<int> gSpan(gVector);
std::span<int, 2> gFixedSpan(gVector.data(), 2);
std::bitset<12> gBits(0b101);
std::bitset<100> gManyBits(3);
std::complex<double> gComplex(1.5, -2);
std::initializer_list<int> gInitializers = {4, 5};
std::reference_wrapper<int> gReference = gVector[0];
Names gNames;
std::set<Packed> gPackedSet{{1, 2}, {3, 4}};
std::map<char, Packed> gPackedMap{{'a', {5, 6}}};
std::map<short, char> gSmallMap{{1, 'x'}, {2, 'y'}};
std::set<short> gShortSet{3, 4};
std::set<long double> gLongDoubleSet{1.5L, 2.5L};
std::forward_list<Aligned> gAlignedForward{{7}, {8}};
std::map<char, Aligned> gAlignedMap{{'a', {9}}};
std::unordered_map<char, Aligned> gAlignedTable{{'a', {10}}};
std::forward_list<Quad> gQuads(1, Quad{1, 2, 3, 4});
std::filesystem::path gPath("/tmp/a");
std::stack<int> gStack;
std::vector<int>::iterator gIterator = gVector.begin() + 1;
pthread_mutex_t gPlainMutex = PTHREAD_MUTEX_INITIALIZER;
std::atomic_flag gOnce;
std::chrono::duration<int, std::ratio<1, 60>> gFrames(3);
std::pair<const std::string, std::unique_ptr<int>> gOwningPair("key", nullptr);
std::optional<std::vector<std::optional<int>>> gDeepOptional{{1, std::nullopt}};
std::variant<std::monostate, std::vector<int>> gMonostate, gVectorVariant = std::vector<int>{1};
std::unordered_map<std::string, std::map<int, std::list<std::string>>> gDeepMap{{"a", {{1, {"x", "y"}}}}};

// Memory that is not a container, or not any more.
alignas(std::vector<int>) unsigned char gHalfVector[sizeof(std::vector<int>)];
std::vector<int>& gNoVector = reinterpret_cast<std::vector<int>&>(gHalfVector);
alignas(std::map<int, int>) unsigned char gWildMemory[sizeof(std::map<int, int>)];
std::map<int, int>& gWildMap = reinterpret_cast<std::map<int, int>&>(gWildMemory);
alignas(std::list<int>) unsigned char gWildListMemory[sizeof(std::list<int>)];
std::list<int>& gWildList = reinterpret_cast<std::list<int>&>(gWildListMemory);
alignas(std::string) unsigned char gWildTextMemory[sizeof(std::string)];
std::string& gWildText = reinterpret_cast<std::string&>(gWildTextMemory);

__attribute__((noinline)) void all_set() {
    std::puts("ready");
    std::fflush(stdout);
}

static void fill() {
    for (int number = 0; number < 10; number++) gDeque.push_front(number);
    for (int number = 0; number < 1000; number++) gLongDeque.push_back(number);
    for (int number = 0; number < 300; number++) gLongDeque.pop_front();
    for (int number = 0; number < 101; number++) gLongForward.push_front(number);
    for (int number = 0; number < 101; number++) gLongMap[number] = number * number;
    for (int number = 0; number < 100; number++) gHundredMap[number * 7 % 100] = number;
    for (int number = 0; number < 101; number++) gLongSet.insert(number * 7 % 101), gLongHashSet.insert(number);
    gWideDeque[2].bytes[0] = 'w';
    gPerson->name = "Ada";
    gPerson->marks = {1, 2};
    gPerson->friend_of = gPerson;
    gExpired = std::make_shared<Point>();
    gNames.push_back("n");
    gStack.push(4);
    for (auto* memory : {&gHalfVector[0], &gWildMemory[0], &gWildListMemory[0], &gWildTextMemory[0]})
        for (unsigned at = 0; at < sizeof(std::vector<int>); at++) memory[at] = static_cast<unsigned char>(17 * at + 1);
}

int main() {
    fill();
    gLocked.lock();
    pthread_mutex_lock(&gPlainMutex);
    all_set();
    pause();
    gPerson->friend_of = nullptr;
}
