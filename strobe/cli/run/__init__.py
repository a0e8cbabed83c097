"""`strobe run`: a program under observation in the terminal, to its end."""
