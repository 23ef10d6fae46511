"""Strings as documents."""

from __future__ import annotations

from collections.abc import Iterable

from ragcore.schema import Document


class StringIterableReader:
    """
    >>> [document.text for document in StringIterableReader().load_data(["A boat.", "A gull."])]
    ['A boat.', 'A gull.']
    """

    def load_data(self, texts: Iterable[str]) -> list[Document]:
        """One document per text, in order, with random ids."""
        return [Document(text) for text in texts]
