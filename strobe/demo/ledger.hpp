#pragma once

#include <cstdint>

namespace ledger {

/// Books an amount on the account of an article.
void post(int article, std::int16_t cents);

/// Everything booked so far, in cents.
long balance();

}  // namespace ledger
