"""What nobody else has, on documents that others have written, quoted and by a model; skipped where they are
not.

A handbook and two leaflets as PDF, an essay, and the declaration of human rights in French.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lectern.library import Library
from ragcore.embeddings.base import Embedder
from tests.needs import SHARED, needs_documents
from tests.screens.conftest import Screen, add_files
from tests.screens.test_read_everything import agree
from tests.screens.test_why_and_check import expect, open_why
from tests.scripted_server import ScriptedServer

DATA = SHARED / "data"
NORTHWIND = DATA / "azure_northwind" / "data"
FILES = [
    NORTHWIND / "PerksPlus.pdf",
    NORTHWIND / "Benefit_Options.pdf",
    NORTHWIND / "employee_handbook.pdf",
    DATA / "paul_graham" / "paul_graham_essay.txt",
    DATA / "udhr" / "txt" / "fra.txt",
]
QUESTION = "Up to how much does PerksPlus reimburse for fitness activities?"

pytestmark = [needs_documents(*FILES), pytest.mark.nightly]


def cite_passage(messages: Sequence[Mapping[str, Any]]) -> str:
    """What stands in one of the passages it is shown, and what does not."""
    passages = re.findall(r"^\[(\d+)\]([^\[]*)", str(messages[-1]["content"]), re.MULTILINE)
    number = next((number for number, text in passages if "$1000" in text), "1")
    return (
        f"Employees can expense up to $1000 for fitness-related programs. [{number}]\n\nElephants "
        f"painted the opera. [{number}]"
    )


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory, real_embedder: Embedder) -> Path:
    folder = tmp_path_factory.mktemp("real") / "library"
    with closing(Library(folder, embedder=real_embedder)) as library:
        add_files(library, {path.name: path.read_bytes() for path in FILES})
    return folder


@pytest.fixture(params=["quotes", "a model"])
def screen(
    request: pytest.FixtureRequest,
    library: Path,
    tmp_path: Path,
    open_tab: Callable[..., Screen],
    real_embedder: Embedder,
) -> Iterator[Screen]:
    """The chat, with the question answered without a language model and by a scripted one."""
    shutil.copytree(library, tmp_path / "library")
    screen = open_tab(real_embedder)
    with ScriptedServer(cite_passage) as server:
        if request.param == "a model":
            screen.connect(server)
        yield screen.open("chat").ask(QUESTION)


def test_first_question_is_answered_with_its_page(screen: Screen) -> None:
    assert "$1000" in screen.transcript()[-1].replace(",", "")
    source = screen.library.conversations.messages(screen.tab.query_params["c"])[-1].cited[0]
    assert source.file_name == "PerksPlus.pdf"
    screen.send("citation_clicks", "open", {"panel": f"passage.{screen.message_id()}.{source.number}"})
    assert "PerksPlus.pdf" in screen.words("panel_head")
    shown = screen.data("passage")
    assert (shown["kind"], shown["unmarked"]) == ("page", "")
    assert any(shown["quoted"])


def test_everything_is_read_and_the_coverage_says_so(screen: Screen) -> None:
    some = re.search(rf"(\d+) of (\d+) passages, \d+ of {len(FILES)} files", screen.facts())
    assert some is not None
    assert int(some.group(1)) < int(some.group(2))
    agree(screen.act("everything"), "panel", "Read everything")
    assert "{0} of {0} passages, {1} of {1} files".format(some.group(2), len(FILES)) in screen.facts()


def test_each_document_answers_in_a_table(screen: Screen) -> None:
    agree(screen.act("each_file"), "panel", "Ask each document")
    message = screen.library.conversations.messages(screen.tab.query_params["c"])[-1]
    assert message.facts is not None
    rows = {row.file_name: row.text for row in message.facts.rows}
    assert rows.keys() == {file.name for file in FILES}
    assert "$1000" in rows["PerksPlus.pdf"].replace(",", "")


def test_why_explains_a_passage_that_was_not_retrieved(screen: Screen) -> None:
    open_why(screen)
    right = "Tous les êtres humains naissent libres et égaux en dignité et en droits"
    expect(screen, right, "fra.txt")
    expect(screen, "A submarine landed on Jupiter", "is in none of your documents.")


def test_each_sentence_is_checked_against_the_passages(screen: Screen) -> None:
    screen.act("check").until(lambda: screen.has("sentences_"))
    first, *others = screen.data("sentences_")["sentences"]
    assert first["verdict"] == "supported"
    assert first["place"].endswith(" · PerksPlus.pdf · p. 3")
    invented = [sentence["verdict"] for sentence in others if "Elephants" in sentence["text"]]
    assert invented == (["absent"] if "tiny" in screen.facts() else [])
    screen.send("sentences_", "open", {"number": 1})
    assert screen.data("passage")["kind"] == "page"
    assert "PerksPlus.pdf" in screen.words("panel_head")
