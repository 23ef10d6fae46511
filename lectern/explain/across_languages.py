"""Whether a question is in another language than the documents, and the embedder knows only English."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from lectern.jobs.rebuild import RebuildPlan
from lectern.library import Library
from lectern.schema import Source
from ragcore.embeddings import multilingual_e5
from ragcore.errors import UnknownDocumentError
from ragcore.text.language import language_of

MAX_DOCUMENTS = 40  # whose languages are detected
SAMPLE_CHARS = 2_000  # of each document
# by the hash of a document; kept because the offer below the last answer is considered at each rerun
_languages: dict[str, str] = {}


def plan_across_languages(
    library: Library,
    question: str,
    sources: Iterable[Source],
    *,
    answered: bool = True,
    file_ids: Sequence[str] | None = None,
) -> RebuildPlan | None:
    """The plan to rebuild the index with the multilingual embedder, if that may help with this question.

    None if the index has another embedder than the one for English, or is being rebuilt; if the language of
    the question is unknown; and if the multilingual embedder is neither on this computer nor can be
    downloaded. None also if most of the searched documents, `file_ids` or by default all, are in the language
    of the question, and for a question that is `answered` if a passage in `sources` or one of the documents
    is. These last rules are only for English, or if the embedder is on this computer.
    """
    spoken = language_of(question)
    if (
        not spoken
        or not library.knows_only_english
        or library.store.versions.next_version() is not None
        or not _is_available()
    ):
        return None
    if spoken == "en" or multilingual_e5.is_installed():
        if answered and any(language_of(source.text) == spoken for source in sources):
            return None
        languages = _languages_of_documents(library, file_ids)
        spoken_in, documents = languages[spoken], languages.total()
        if not documents or 2 * spoken_in > documents or (answered and spoken_in):
            return None
    return library.rebuilds.plan(embed_model=multilingual_e5.available())


def _is_available() -> bool:
    if multilingual_e5.is_installed():
        return True
    from huggingface_hub import constants

    return not constants.is_offline_mode()


def _languages_of_documents(library: Library, file_ids: Sequence[str] | None) -> Counter[str]:
    """The number of documents in each language, without those whose language is unknown."""
    documents = library.store.documents()
    if file_ids is not None:
        documents = [document for document in documents if document.id_ in file_ids]
    languages: Counter[str] = Counter()
    for document in documents[:MAX_DOCUMENTS]:
        if document.hash not in _languages:
            try:
                text = library.store.document(document.id_).text
            except UnknownDocumentError:  # deleted meanwhile
                continue
            _languages[document.hash] = language_of(text[:SAMPLE_CHARS])
        languages[_languages[document.hash]] += 1
    del languages[""]
    return languages
