"""Tables in the database of a library: conversations, their checks and feedback, notes, prompt versions,
evaluations."""
