"""How an answer came about: calls, cited passages, missed passages, the map of embeddings."""
