"""What tests of every folder share: compiled programs, bounded waits, and the search for leftovers."""
