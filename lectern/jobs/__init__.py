"""Adds files to an index: they are stored, read in isolation, split and embedded. Also rebuilds the index."""
