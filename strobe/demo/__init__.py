"""The program of `strobe demo`, its sources, and the tour through what Strobe sees of it."""
