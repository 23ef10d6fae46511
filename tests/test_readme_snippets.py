"""The examples of README.md, run one after the other in a folder with a text about a tower."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from ragcore import Settings
from ragcore.observe import Span
from ragcore.settings import SettingsOfAScript
from tests.scripted_server import ScriptedServer, plausible_answer

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
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
    return 'Thought: When was it built?\nAction: documents\nAction Input: {"input": "When was the tower built?"}'


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


def test_the_examples_do_what_the_readme_says(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {"__name__": "readme"}
    quoted, kept, chatted, acted, observed = EXAMPLES

    exec(compile(quoted, "README.md", "exec"), names)
    shown = re.search(r"^```\n\n    (.+)$", README, re.MULTILINE)
    assert shown is not None
    assert capsys.readouterr().out == f"{shown[1]}\n"

    exec(compile(kept, "README.md", "exec"), names)
    assert (folder / "storage").is_dir()

    exec(compile(chatted, "README.md", "exec"), names)
    assert capsys.readouterr().out.startswith("The documents say: “The tower was built by Ada Penrose")
    assert [hit.text for hit in names["index"].as_retriever().retrieve("Who?")] == [TEXT]

    exec(compile(acted, "README.md", "exec"), names)
    assert capsys.readouterr().out == "29 years.\n"

    exec(compile(observed, "README.md", "exec"), names)
    answer = names["chat_engine"].chat("And how high is it?")
    names["stop"]()
    assert answer.trace.outline().startswith("chat: ")
    (line,) = (folder / "traces.jsonl").read_text("utf-8").splitlines()
    assert Span.from_dict(json.loads(line)).outline() == answer.trace.outline()
