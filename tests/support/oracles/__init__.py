"""Who else knows what Strobe says: gdb, and debug information read in another way."""
