"""The examples of README.md and docs, page by page, in a folder with a text about a tower."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from ragcore import Settings
from ragcore.observe import Span
from ragcore.settings import SettingsOfAScript
from tests.documentation import DOCS, PAGES, WALKTHROUGH, examples
from tests.scripted_server import ScriptedServer, plausible_answer

LIBRARY = DOCS / "library.md"
WITH_EXAMPLES = [page for page in PAGES if "```python" in page.read_text("utf-8")]
OTHERS = [page for page in WITH_EXAMPLES if page not in (LIBRARY, *WALKTHROUGH)]
TEXT = "The tower was built by Ada Penrose in 1871. It is forty metres high."


def reply(messages: Sequence[Mapping[str, Any]]) -> str:
    """An agent asks the documents, then the function, then answers."""
    last = str(messages[-1]["content"])
    if "Action Input:" not in str(messages[0]["content"]):
        return plausible_answer(messages)
    if last == "Observation: 29":
        return "Thought: I can answer now.\nAnswer: 29 years."
    if last.startswith("Observation: "):
        return 'Thought: 1871.\nAction: years_between\nAction Input: {"first": 1871, "last": 1900}'
    return (
        'Thought: When was it built?\nAction: documents\nAction Input: {"input": "When was the tower built?"}'
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "tower.txt").write_text(TEXT, "utf-8")
    monkeypatch.chdir(tmp_path)
    with ScriptedServer(reply, models=("llama3",)) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        yield tmp_path
    for each in fields(SettingsOfAScript):
        setattr(Settings, each.name, None)


def run(page: Path, capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, Any], list[str]]:
    """The names after the last example, and what each example printed, which is what the page shows below
    it."""
    names: dict[str, Any] = {"__name__": "example"}
    outputs = []
    for number, example in enumerate(examples(page), 1):
        exec(compile(example.code, f"{page.name}, example {number}", "exec", dont_inherit=True), names)
        outputs.append(capsys.readouterr().out)
        if example.output:
            assert outputs[-1] == f"{example.output}\n"
    return names, outputs


@pytest.mark.parametrize("page", OTHERS, ids=lambda page: page.name)
def test_the_examples_of_a_page_print_what_it_shows(
    page: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(run(page, capsys)[1]) == page.read_text("utf-8").count("```python")


def test_the_examples_of_the_library_do_what_their_page_says(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names, (_, _, chatted, checked, _, outlined, _, _, compared) = run(LIBRARY, capsys)
    assert (folder / "storage").is_dir()
    assert chatted.startswith("The documents say: “The tower was built by Ada Penrose")
    assert checked == "It is 40 m high. [1] It is green. ['supported', 'absent'] answer\n"
    assert outlined == f"{names['answer'].trace.outline()}\n"
    assert outlined.startswith("chat: ")
    (line,) = (folder / "traces.jsonl").read_text("utf-8").splitlines()
    assert Span.from_dict(json.loads(line)).outline().startswith("chat: ")
    assert [hit.text for hit in names["index"].as_retriever().retrieve("Who?")] == [TEXT]
    assert (folder / "chroma").is_dir()
    assert [line.partition(":")[0] for line in compared.splitlines()] == ["user", "assistant", "assistant"]
