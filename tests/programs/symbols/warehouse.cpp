// Two programs that share most of their types; built together with warehouse_part.cpp.
#include "warehouse.h"

namespace {

#ifdef SECOND
struct Barrel : store::Item {
    long price(int count) const override { return count * 7L + static_cast<long>(liters); }
};
using Goods = Barrel;
#else
struct Crate : store::Item {
    int corners[8];
    long price(int count) const override { return count * 3L + pieces + corners[2]; }
};
using Goods = Crate;
#endif

}  // namespace

int main(int argc, char**) {
    store::Shelf<int> shelf;
    store::Shelf<std::string> labels;
    shelf.put(argc, store::twice(argc));
    labels.put("one", argc);
    Goods goods{};
    goods.name = "goods";
    return store::stocked(shelf, goods) + labels.count("two") == 0;
}
