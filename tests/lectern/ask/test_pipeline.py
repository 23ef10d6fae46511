"""Which passages an ask finds: searched for in different ways, or exactly those that were chosen before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lectern.library import Library
from lectern.schema import Ask, Retrieval
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import ConfigError
from ragcore.extractive.fixed_replies import GREETED
from ragcore.llms.scripted import ScriptedLLM
from ragcore.observe import condensed_question
from ragcore.retrievers.hybrid import LEAST_SCORE
from ragcore.schema import ChatMessage, Document, MessageRole, TextNode

TEXTS = (
    "The tower was built by Ada Penrose in 1871.",
    "The tower was built by Ada Penrose in the year 1871.",
    "Ada Penrose is buried beside the tower.",
    "The cellar holds three hundred barrels.",
    "Nobody has counted the barrels since the flood.",
)
QUESTION = "Who built the tower?"


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    opened = Library(tmp_path, embedder=HashEmbedding())
    embedder = HashEmbedding()
    document = Document("".join(TEXTS), "d", {"file_name": "tower.txt"})
    opened.store.upsert(
        document,
        [
            TextNode(text, f"n{number}", {"file_name": "tower.txt"}, embedding=embedder.embed_query(text))
            for number, text in enumerate(TEXTS)
        ],
    )
    yield opened
    opened.close()


def test_greeting_is_answered_without_search_if_no_model_is_set(library: Library, tmp_path: Path) -> None:
    answer = library.answer(Ask("Hello!")).whole()
    assert (answer.response, answer.source_nodes, answer.trace) == (GREETED["en"], (), None)
    with_model = Library(tmp_path / "other", embedder=HashEmbedding(), llm=ScriptedLLM(["Hi. I am a model."]))
    assert str(with_model.answer(Ask("Hello!", chat_mode="simple"))) == "Hi. I am a model."
    with_model.close()


def test_a_greeting_before_is_no_topic_of_a_follow_up(library: Library) -> None:
    history = [ChatMessage(MessageRole.USER, "Hello!"), ChatMessage(MessageRole.ASSISTANT, GREETED["en"])]
    trace = library.answer(Ask("And Ada Penrose?"), history).whole().trace
    assert condensed_question(trace) == "And Ada Penrose?"


def retrieve_ids(library: Library, ask: Ask) -> list[str]:
    return [hit.node.id_ for hit in library.passages(ask)]


@pytest.mark.smoke
def test_chosen_passages_come_in_their_order_without_a_search(library: Library) -> None:
    ask = Ask(QUESTION, chat_mode=None, response_mode="no_text", top_k=1, node_ids=("n3", "n0", "n4"))
    assert retrieve_ids(library, ask) == ["n3", "n0", "n4"]
    answer = library.answer(ask).whole()
    assert [hit.node.id_ for hit in answer.source_nodes] == ["n3", "n0", "n4"]


def test_deleted_chosen_passages_are_skipped_and_named(library: Library) -> None:
    answer = library.answer(Ask(QUESTION, chat_mode=None, node_ids=("n3", "was", "n0", "is-no-more"))).whole()
    assert [hit.node.id_ for hit in answer.source_nodes] == ["n3", "n0"]
    assert answer.trace is not None
    (step,) = answer.trace.spans("retrieve")
    assert (step.facts["retriever"], step.facts["gone"]) == ("chosen", ["was", "is-no-more"])


def test_the_balance_goes_from_words_alone_to_meaning_alone(library: Library) -> None:
    (words,) = library.passages(Ask("barrels flood", top_k=1, retrieval=Retrieval(dense_share=0.0)))
    assert (words.node.id_, words.score) == ("n4", 1.0)  # the best by words has the whole score
    (meaning,) = library.passages(Ask(QUESTION, top_k=1, retrieval=Retrieval(dense_share=1.0)))
    assert meaning.score == pytest.approx(max(cosines(library)), abs=1e-5)


def cosines(library: Library) -> list[float]:
    question = library.embedder.embed_query(QUESTION)
    return [float(library.embedder.embed_query(text) @ question) for text in TEXTS]


def test_a_cutoff_leaves_out_what_scores_less(library: Library) -> None:
    every = library.passages(Ask(QUESTION, top_k=5))
    cutoff = sorted((hit.score or 0.0 for hit in every), reverse=True)[1]
    kept = library.passages(Ask(QUESTION, top_k=5, retrieval=Retrieval(cutoff=cutoff)))
    assert [hit.node.id_ for hit in kept] == [hit.node.id_ for hit in every if (hit.score or 0.0) >= cutoff]
    assert retrieve_ids(library, Ask(QUESTION, retrieval=Retrieval(cutoff=1.1))) == []


def test_far_weaker_passages_are_excluded_by_default(library: Library) -> None:
    every = library.passages(Ask(QUESTION, top_k=5, retrieval=Retrieval(weaker=True)))
    kept = library.passages(Ask(QUESTION, top_k=5))
    assert len(every) == 5
    assert 0 < len(kept) < 5
    assert [hit.node.id_ for hit in kept] == [hit.node.id_ for hit in every[: len(kept)]]
    assert every[len(kept)].get_score() < LEAST_SCORE * every[0].get_score()
    assert len(retrieve_ids(library, Ask(QUESTION, top_k=5, retrieval=Retrieval(diverse=True)))) == 5


def test_diverse_passages_do_not_say_the_same_twice(library: Library) -> None:
    question = "Ada Penrose and the tower"
    assert set(retrieve_ids(library, Ask(question, top_k=3))) == {"n0", "n1", "n2"}
    kept = retrieve_ids(library, Ask(question, top_k=2, retrieval=Retrieval(diverse=True)))
    assert "n2" in kept
    assert len(kept) == 2


def test_missing_reranker_is_named_in_the_error(library: Library) -> None:
    with pytest.raises(ConfigError, match="'nobody/has-this' is not on this computer"):
        library.passages(Ask(QUESTION, retrieval=Retrieval(reranker="nobody/has-this")))
