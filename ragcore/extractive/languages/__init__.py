"""The words that the reader knows of languages."""
