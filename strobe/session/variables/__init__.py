"""Variables and memory of a session's program: read, written, and polled."""
