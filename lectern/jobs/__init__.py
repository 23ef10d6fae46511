"""Files on their way into an index: stored, read in isolation, split, embedded; and indexes that are rebuilt."""
