"""Tables in the database of a library: conversations, their checks and feedback, prompt versions, evaluations."""
