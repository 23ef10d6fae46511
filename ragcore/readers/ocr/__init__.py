"""Text in pictures."""
