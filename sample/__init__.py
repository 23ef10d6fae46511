"""The sample documents, their sources, and the questions that they answer."""
