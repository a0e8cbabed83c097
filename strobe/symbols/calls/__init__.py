"""How functions are called: where their arguments and results are, and what a recorder keeps of them."""
