"""Events, values and times as a person reads them: lines of a call tree, durations, counts."""
