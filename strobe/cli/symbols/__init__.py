"""`strobe symbols`: what is in a binary."""
