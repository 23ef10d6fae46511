"""Sources of a written answer: each sentence cites the passage that supports it, whatever the model cited."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lectern.library import Library
from lectern.runs.answer_runs import AnswerRuns
from lectern.schema import Ask
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.embeddings.huggingface import HuggingFaceEmbedding
from ragcore.errors import EmbeddingError
from ragcore.extractive.sentence_support import SentenceCheck
from ragcore.llms.base import Generation, LLMCall, Stream
from ragcore.llms.scripted import ScriptedLLM
from ragcore.observe import Span
from ragcore.prompts.prompt import Passage, RenderedMessage
from ragcore.response_synthesizers import AnswerCheck, AttributedAnswer
from ragcore.response_synthesizers.attribution import attribute, cite_quotes
from tests.lectern.test_library import TOWER, finished, take_in

if TYPE_CHECKING:
    from ragcore.schema import Vectors

PASSAGES = [
    "The Eiffel Tower is 330 metres tall. The tower was built in 1889 by the company of Gustave Eiffel.",
    (
        "The Louvre holds 380,000 objects. The Louvre is the most visited museum, with 8.9 million visitors "
        "in 2023."
    ),
]


@pytest.fixture(scope="module")
def check() -> SentenceCheck:
    return SentenceCheck(HuggingFaceEmbedding())


@pytest.mark.parametrize(
    ("written", "attributed"),
    [
        ("The tower was built in 1889.", "The tower was built in 1889. [1]"),
        ("The Louvre holds 380,000 objects [1].", "The Louvre holds 380,000 objects [2]."),
        ("The Louvre holds 380,000 objects [7].", "The Louvre holds 380,000 objects. [2]"),
        (
            "According to passage 1, the tower is 330 metres tall.",
            "According to [1], the tower is 330 metres tall.",
        ),
        (
            "According to [2], the tower is 330 metres tall.",
            "According to [1], the tower is 330 metres tall.",
        ),
        (
            "The tower is 330 metres tall. This is in [1].",
            "The tower is 330 metres tall. [1] This is in [1].",
        ),
        (
            "Response 1: The Louvre holds 380,000 objects (passage 2).",
            "Response 1: The Louvre holds 380,000 objects [2].",
        ),
        ("The tower is 330 metres tall [1][2].", "The tower is 330 metres tall [1]."),
        ("The tower was built in 1887 [1].", "The tower was built in 1887."),
        ("| Building | Objects |\n|---|---|\n| Louvre | 380,000 objects |", None),
        ("The tower is 330 m tall.", "The tower is 330 m tall. [1]"),
        (
            "The Louvre is 330 metres tall [1].",
            "The Louvre is 330 metres tall.",
        ),  # weak: something alike is there
        ("The answer is not in the passages.", "The answer is not in the passages."),
        ("", ""),
    ],
)
def test_a_citation_is_of_the_passage_that_supports_its_sentence(
    check: SentenceCheck, written: str, attributed: str | None
) -> None:
    answer = attribute(written, PASSAGES, check)
    if attributed is None:  # the citation of a row stands in its last cell
        attributed = written.removesuffix(" |") + " [2] |"
    assert answer.text == attributed


@pytest.mark.parametrize(
    ("written", "cited"),
    [
        (
            "The Louvre holds 380,000 objects. The tower is",
            "The Louvre holds 380,000 objects. [2] The tower is",
        ),
        (
            "It is tall. The Eiffel Tower is 330 metres tall [2]. The",
            "It is tall. The Eiffel Tower is 330 metres tall [2]. The",
        ),
        ("The Eiffel Tower is 331 metres tall. It is not", "The Eiffel Tower is 331 metres tall. It is not"),
        ("", ""),
    ],
)
def test_an_unfinished_answer_cites_what_it_quotes(written: str, cited: str) -> None:
    assert cite_quotes(written, PASSAGES) == cited


def test_an_answer_without_any_passage_cites_none(check: SentenceCheck) -> None:
    answer = attribute("It opened in 1884 [2].", [], check)
    assert (answer.text, [each.verdict for each in answer.sentences]) == ("It opened in 1884.", ["absent"])


def test_what_no_passage_says_is_known_and_cites_nothing(check: SentenceCheck) -> None:
    answer = attribute(
        "The tower is 330 metres tall [1]. It was painted green by Portuguese sailors [1].", PASSAGES, check
    )
    assert [answer.text[each.start : each.end] for each in answer.sentences if each.verdict == "absent"] == [
        "It was painted green by Portuguese sailors"
    ]
    assert answer.text.count("[1]") == 1


@given(st.text(alphabet="ab .!?\n[1]9#*|塔高。:-(passage 2)", max_size=80))
def test_answer_is_unchanged_and_its_sentences_have_offsets(written: str) -> None:
    answer = attribute(written, PASSAGES, SentenceCheck(HashEmbedding()))
    again = attribute(answer.text, PASSAGES, SentenceCheck(HashEmbedding()))
    assert answer.text == again.text
    end = 0
    for sentence in answer.sentences:
        assert end <= sentence.start < sentence.end <= len(answer.text)
        end = sentence.end


def test_written_answer_is_stored_with_sources_and_marks(tmp_path: Path) -> None:
    llm = ScriptedLLM(["Ada Penrose built the tower in 1871. Portuguese sailors painted it green [1]."])
    library = Library(tmp_path / "library", embedder=HashEmbedding(), llm=llm)
    take_in(library, TOWER, "tower.txt")
    message = library.conversations.message(
        finished(library, AnswerRuns(library), Ask("Who built it?", chat_mode=None))
    )
    assert message is not None
    assert message.text == "Ada Penrose built the tower in 1871. [1] Portuguese sailors painted it green."
    assert [source.number for source in message.cited] == [1]
    marks = library.checks.of(message.conversation_id)[message.id]
    assert [(each.verdict, message.text[each.start : each.end]) for each in marks] == [
        ("supported", "Ada Penrose built the tower in 1871."),
        ("absent", "Portuguese sailors painted it green"),
    ]
    library.close()


class Pausing(ScriptedLLM):
    """Waits after its first sentence until it is cancelled."""

    def _stream(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> Stream:
        stream = super()._stream(call, messages)
        text = ""
        for piece in stream:
            text += piece
            yield piece
            if "1871." in text:
                break
        for _ in range(500):
            time.sleep(0.02)
            yield ""
        return Generation(text, self.usage(messages, text))


def test_a_stopped_answer_cites_what_it_quotes(tmp_path: Path) -> None:
    library = Library(
        tmp_path / "library", embedder=HashEmbedding(), llm=Pausing(["The tower was built in 1871. It is"])
    )
    take_in(library, "The tower was built in 1871. It is tall.", "tower.txt")
    runs = AnswerRuns(library)
    run = runs.start(library.conversations.create().id, Ask("When was the tower built?", chat_mode=None))
    deadline = time.monotonic() + 30
    while "1871." not in run.text and time.monotonic() < deadline:
        time.sleep(0.02)
    run.stop()
    message = library.conversations.message(run.message_id)
    assert message is not None
    assert (message.state, message.text) == ("stopped", "The tower was built in 1871. [1]")
    library.close()


class FailingBehindTheModel(HashEmbedding):
    """Fails as soon as the language model has been asked, as an embedder whose memory that took."""

    def __init__(self, llm: ScriptedLLM) -> None:
        super().__init__()
        self._llm = llm

    def _embed(self, texts: Sequence[str], step: Span, *, is_query: bool) -> Vectors:
        if self._llm.calls:
            raise EmbeddingError("The embedder is gone.", hint="Start it again.")
        return super()._embed(texts, step, is_query=is_query)


def test_answer_with_uncheckable_citations_stays_as_written(tmp_path: Path) -> None:
    llm = ScriptedLLM(["Ada Penrose built the tower in 1871 [1]."])
    library = Library(tmp_path / "library", embedder=FailingBehindTheModel(llm), llm=llm)
    take_in(library, TOWER, "tower.txt")
    message = library.conversations.message(
        finished(library, AnswerRuns(library), Ask("Who built it?", chat_mode=None))
    )
    assert message is not None
    assert (message.state, message.text) == ("done", "Ada Penrose built the tower in 1871 [1].")
    library.close()


@pytest.mark.parametrize(
    ("question", "written", "outcome"),
    [
        ("When was the Eiffel Tower built?", "The tower was built in 1889.", "answer"),
        ("How many objects does the Louvre hold?", "The Louvre holds 380,000 objects [2].", "answer"),
        (
            "Who paid for the swimming pool of the hotel?",
            "The company of Gustave Eiffel paid for the pool.",
            "closest",
        ),
        ("How old is the director of the opera?", "The director of the opera is 330 years old.", "closest"),
        (
            "How old is the director of the opera?",
            "The passages do not mention the director of the opera.",
            "nothing",
        ),
        ("How old is the director of the opera?", "", "nothing"),
    ],
)
def test_unanswered_questions_are_distinguished_from_answers(
    question: str, written: str, outcome: str
) -> None:
    passages = [Passage(text, number) for number, text in enumerate(PASSAGES, 1)]
    answer: AttributedAnswer = AnswerCheck(HuggingFaceEmbedding()).check(question, written, passages)
    assert answer.outcome == outcome
