"""The engines that answer questions, and suggested questions."""
