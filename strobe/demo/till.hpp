#pragma once

namespace till {

/// Serves one customer: works out the price, books it, and gives what went into the drawer, in cents.
int settle(int article, int quantity);

/// Serves `customers` customers, one after the other; gives what is in the drawer at the end, in cents.
long serve(int number, int customers);

}  // namespace till
