#pragma once

namespace pricing {

/// Price of `quantity` pieces in cents, after the discount for ten or more.
int quote(int article, int quantity);

}  // namespace pricing
