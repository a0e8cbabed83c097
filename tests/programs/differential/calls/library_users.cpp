// Much of the standard library, instantiated here: containers, strings, streams, regular expressions, algorithms.
#include <algorithm>
#include <cstdio>
#include <iomanip>
#include <iostream>
#include <map>
#include <numeric>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

static std::string words(int count) {
    std::ostringstream out;
    for (int i = 0; i < count; i++) out << "w" << i * 7919 % 101 << (i % 5 ? ' ' : '\n');
    return out.str();
}
static std::map<std::string, int> tally(const std::string& text) {
    std::map<std::string, int> counts;
    std::istringstream in(text);
    for (std::string word; in >> word;) counts[word]++;
    return counts;
}
static long match(const std::string& text) {
    static const std::regex pattern("w([1-9])([0-9])\\b");
    long sum = 0;
    for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at) sum += std::stol((*at)[2]);
    return sum;
}
static double visit(const std::vector<std::variant<int, double, std::string>>& values) {
    double sum = 0;
    for (const auto& value : values)
        sum += std::visit(
            [](const auto& v) -> double {
                if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::string>)
                    return double(v.size());
                else
                    return double(v);
            },
            value);
    return sum;
}

int main() {
    std::string text = words(100);
    for (const auto& [word, count] : tally(text)) std::cout << std::setw(6) << word << count;
    std::cout << '\n' << match(text) << ' ' << visit({1, 2.5, std::string("three")}) << '\n';
    std::vector<int> values(200);
    std::iota(values.begin(), values.end(), 0);
    std::stable_sort(values.begin(), values.end(), [](int a, int b) { return a * 37 % 200 < b * 37 % 200; });
    std::unordered_map<int, std::set<int>> groups;
    for (int value : values) groups[value % 7].insert(value);
    std::cout << values[10] << ' ' << groups[3].size() << ' ' << std::hex << std::hash<int>()(5) << std::endl;
    try {
        values.at(1000) = 1;
    } catch (const std::exception& error) {
        std::cout << error.what() << std::endl;
    }
}
