"""Texts that are at hand already, as documents."""

from __future__ import annotations

from collections.abc import Iterable

from ragcore.schema import Document


class StringIterableReader:
    def load_data(self, texts: Iterable[str]) -> list[Document]:
        """One document for each text, in order, each with a random id."""
        return [Document(text) for text in texts]
