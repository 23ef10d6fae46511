"""From a question to the engine that answers it."""
