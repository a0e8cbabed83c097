static int helper(int x) { return x * 2; }

int second_entry(int x) { return helper(x); }
