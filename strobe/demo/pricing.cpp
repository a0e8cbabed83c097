#include "pricing.hpp"

namespace pricing {

namespace {
constexpr int kPieceCents[] = {95, 120, 250, 399, 480, 760, 999, 1499};
}

int quote(int article, int quantity) {
    int full = kPieceCents[article] * quantity;
    int discount_percent = quantity >= 10 ? 5 : 0;
    return full - full * discount_percent / 100;
}

}  // namespace pricing
