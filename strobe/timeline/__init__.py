"""What happened in a session: the segment (calls) and strobe.db (everything of low rate), asked together."""
