"""What a question asks for: its topic, the type of its answer, whether it follows up on another."""
