"""Benchmarks: one file per figure, each with its baseline in the same run; `strobe bench` runs them."""
