// What two programs, and two units of each, have in common: dwz moves it to one place.
#pragma once

#include <map>
#include <string>

namespace store {

enum class Kind : unsigned char { kSolid, kLiquid };

struct Item {
    std::string name;
    Kind kind : 2;
    unsigned weight : 12;
    union {
        int pieces;
        double liters;
    };
    virtual ~Item() = default;
    virtual long price(int count) const { return count * static_cast<long>(weight); }
};

template <typename Key>
class Shelf {
  public:
    void put(const Key& key, int count) { counts_[key] += count; }
    int count(const Key& key) const {
        const auto found = counts_.find(key);
        return found == counts_.end() ? 0 : found->second;
    }

  private:
    std::map<Key, int> counts_;
};

inline int opened = 0;

inline int twice(int value) {
    static int calls = 0;
    return 2 * value + ++calls;
}

long stocked(const Shelf<int>& shelf, const Item& item);

}  // namespace store
