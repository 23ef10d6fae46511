"""Whether a question is in a language that the documents are not in, and the index cannot find passages across languages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lectern.jobs.rebuild import RebuildPlan
from lectern.library import Library
from lectern.schema import Source
from ragcore.embeddings import multilingual_e5
from ragcore.errors import UnknownDocumentError
from ragcore.text.language import language_of

DOCUMENTS = 40  # at most, that are looked at for their languages
SAMPLE = 2_000  # characters of each


def plan_across_languages(library: Library, question: str, sources: Iterable[Source]) -> RebuildPlan | None:
    """What it takes to rebuild the index with the multilingual embedder, where that would help with this question.

    None where the index has another embedder than that for English, or one is being made; where the language of the question is
    not known; and where a passage in `sources`, or one of the first documents, is in it: unless that is not English, and there
    was no multilingual embedder when they were added. None, too, where it is neither on this computer nor may be downloaded.
    """
    asked = language_of(question)
    if not asked or not library.knows_only_english or library.store.versions.coming() is not None or not _can_be_had():
        return None
    if asked == "en" or multilingual_e5.is_installed():
        if any(language_of(source.text) == asked for source in sources):
            return None
        languages = {language_of(text) for text in _beginnings(library)} - {""}
        if not languages or asked in languages:
            return None
    return library.rebuilds.plan(embed_model=multilingual_e5.available())


def _can_be_had() -> bool:
    if multilingual_e5.is_installed():
        return True
    from huggingface_hub import constants

    return not constants.is_offline_mode()


def _beginnings(library: Library) -> Iterator[str]:
    for stored in library.store.documents()[:DOCUMENTS]:
        try:
            yield library.store.document(stored.id_).text[:SAMPLE]
        except UnknownDocumentError:  # deleted meanwhile
            continue
