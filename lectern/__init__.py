"""Lectern, the application: a person's library of documents, its jobs, conversations, explanations and
screens."""
