"""Rows that a person made, in the database of their library: conversations, feedback, prompt versions, evaluations."""
