"""What the check of sentences found stays with its answer, and never with another text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lectern.db.conversations import SCHEMA as CONVERSATIONS
from lectern.db.conversations import Conversations
from lectern.db.sentence_checks import SCHEMA, Checks
from lectern.schema import Ask
from ragcore.extractive.sentence_support import CheckedSentence
from ragcore.sql.base import Database
from tests.databases import KINDS, opening

FOUND = [CheckedSentence(0, 4, "One.", "weak", 0, "One and more.", -1.5), CheckedSentence(5, 9, "Two?")]


@pytest.fixture(params=KINDS)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Database]]:
    yield from opening(request.param, tmp_path, CONVERSATIONS, SCHEMA)


def test_sentence_checks_are_shared_until_the_answer_is_deleted(database: Callable[[], Database]) -> None:
    here = database()
    conversations, checks = Conversations(here), Checks(here)
    talk = conversations.create()
    answer = conversations.begin(talk.id, Ask("Who?"))
    checks.keep(answer.id, answer.text, FOUND[:1])
    checks.keep(answer.id, answer.text, FOUND)
    assert Checks(database()).of(talk.id) == {answer.id: FOUND}
    conversations.delete(talk.id)
    assert checks.of(talk.id) == {}
    checks.keep(answer.id, answer.text, FOUND)  # the check was slower than the person who deleted the answer
    assert checks.of(talk.id) == {}


def test_checks_of_another_text_are_not_displayed(database: Callable[[], Database]) -> None:
    here = database()
    conversations, checks = Conversations(here), Checks(here)
    talk = conversations.create()
    answer = conversations.begin(talk.id, Ask("Who?"))
    checks.keep(answer.id, "Another text.", FOUND)
    assert checks.of(talk.id) == {}
