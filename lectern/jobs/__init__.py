"""Files on their way into an index: stored, read in isolation, split, embedded; indexes that are rebuilt;
and which index of a library answers (`index_versions`)."""
