"""Events: reading what has happened, in order, and giving numbers to it."""
