// The second unit of the program warehouse.
#include "warehouse.h"

namespace store {

thread_local int visitors = 3;

long stocked(const Shelf<int>& shelf, const Item& item) {
    ++visitors;
    opened += twice(shelf.count(1));
    return item.price(shelf.count(2)) + opened;
}

}  // namespace store
