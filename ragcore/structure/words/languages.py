"""The languages in which questions over rows are understood."""

from __future__ import annotations

from ragcore.structure.words.chinese import CHINESE
from ragcore.structure.words.english import ENGLISH
from ragcore.structure.words.french import FRENCH
from ragcore.structure.words.german import GERMAN
from ragcore.structure.words.spanish import SPANISH
from ragcore.structure.words.vocabulary import Vocabulary
from ragcore.text.language import language_of

VOCABULARIES = (ENGLISH, GERMAN, FRENCH, SPANISH, CHINESE)


def vocabulary_of(question: str, names: str) -> Vocabulary:
    """That of the question's language, or if it is unclear, that with most of its words. `names` are those of
    the columns, which decide where two have as many."""
    language = language_of(question)
    return max(
        VOCABULARIES,
        key=lambda vocabulary: (
            vocabulary.language == language,
            vocabulary.share(question),
            vocabulary.share(names),
        ),
    )
