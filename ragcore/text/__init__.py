"""Functions on strings: tokens, sentences, language, keywords, citations, replies of models."""
