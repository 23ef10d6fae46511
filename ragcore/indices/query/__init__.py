"""Question transforms, where scripts of LlamaIndex look for them."""
