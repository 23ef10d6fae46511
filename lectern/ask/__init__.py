"""From a question to the engine that answers it; and questions that are suggested."""
