"""The whole application without a browser: every page, run by Streamlit's AppTest in this process.

A test asks for `sample_screen`, which is a tab over the sample documents, or for `open_screen`, which opens a
tab over the texts that the test gives:

    screen = open_screen({"weir.txt": "The weir was built in 1897."})
    screen.open("chat").ask("When was the weir built?")
    assert "1897" in screen.transcript()[-1]

Each test has its own library, which is read before the tab opens. `sample_screen` has the real built-in
embedder. That of `open_screen` counts words (HashEmbedding), which is much faster, but a question must share
words with its passage; `open_screen(texts, real=True)` has the real one. No worker process runs:
`screen.add(name, text)` reads what it adds. A test that needs a language model starts a `ScriptedServer`, and
names it with `screen.connect(server)`.

The words and states of our own elements (lists, menus and viewers, which are scripts in the browser) are in
`screen.data(key)`; what a person does in them is `screen.send(key, event, value)`. What those scripts draw,
and everything about pointer, focus, scrolling, upload and layout, needs a browser: see tests/app.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from streamlit.proto.Block_pb2 import Block as BlockProto
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Widget

from lectern.app_files import app_folder
from lectern.indexes import MAIN, Indexes
from lectern.library import Library
from lectern.settings import LLMSettings
from lectern.ui import navigation, resources
from lectern.ui.open_indexes import OpenIndexes
from ragcore.embeddings.base import Embedder
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.embeddings.huggingface import HuggingFaceEmbedding
from tests.sample_library import read_files, read_sample_once, worker_of
from tests.scripted_server import ScriptedServer

SHELL = app_folder() / "lectern" / "ui" / "shell.py"
RUN_SECONDS = 60.0  # for one run of a page, on a busy machine
TEXTS = ("label", "title", "body", "text", "placeholder")  # of an element
Texts: TypeAlias = Mapping[str, str | bytes]  # by the name of the file


@pytest.fixture(autouse=True)
def newest_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tab of AppTest sends the newest address with each click, however fast it is."""
    monkeypatch.setattr(navigation, "ADDRESS_DELAY_SECONDS", 0)


def add_files(library: Library, files: Texts) -> None:
    """Add files and read them."""
    for name, content in files.items():
        path = library.incoming / "given"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        library.intake.add(path, name)
    read_files(library)


def plain(markdown: str) -> str:
    """What a person reads: without escapes, marks of emphasis, and the addresses of links."""
    text = re.sub(r"\[((?:[^\[\]\\]|\\.)*)\]\((?:[^()\"]|\"[^\"]*\")*\)", r"\1", markdown)
    text = re.sub(r"(?<!\\)[*`]+", "", text)
    return re.sub(r"\\([\W_])", r"\1", text).replace("\u2060", "")


@dataclass
class Screen:
    """One tab of the application."""

    indexes: OpenIndexes
    tab: AppTest

    @property
    def library(self) -> Library:
        return self.indexes.get(MAIN).library

    @property
    def home(self) -> Path:
        return self.library.folder

    def open(self, page: str, **address: str) -> Screen:
        """Go to a page, such as "chat" or "settings", with these parameters in its address."""
        self.tab.query_params.clear()
        self.tab.query_params.update(address)
        self.tab.switch_page(str(navigation.PAGES / f"{page}.py"))
        return self.run()

    def run(self) -> Screen:
        """Draw the page again, as it is a moment later."""
        return self._drawn(self.tab.run())

    def until(self, condition: Callable[[], object]) -> Screen:
        """Draw the page again and again, until something in the background is finished."""
        deadline = time.monotonic() + RUN_SECONDS
        while not condition():
            assert time.monotonic() < deadline, f"it did not come to be:\n{self.words()}"
            time.sleep(0.05)
            self.run()
        return self

    def ask(self, question: str) -> Screen:
        """Type a question into the field of the chat, and wait for the whole answer."""
        return self._drawn(self.tab.chat_input(key="ask").set_value(question).run())

    def press(self, label: str) -> Screen:
        """Press the only button with this label or key."""
        buttons = [button for button in self.tab.button if label in (plain(button.label), button.key)]
        assert len(buttons) == 1, f"{label!r} is not one of {self.buttons()}"
        return self._drawn(buttons[0].click().run())

    def type_option(self, key: str, text: str) -> Screen:
        """Type into a list of options that takes other texts as well."""
        box = self.tab.selectbox(key=key)
        if text not in box.options:
            box.options.append(text)
        box.set_value(text)
        return self.run()

    def buttons(self) -> list[str]:
        """The labels of the buttons on the page."""
        return [plain(button.label) for button in self.tab.button]

    def send(self, key: str, event: str, value: object) -> Screen:
        """Report an event of one of our own elements, as its script in the browser does."""
        element = self._element(key)
        # AppTest has no interactions with such an element. Streamlit receives its events under this id.
        events = f"$$STREAMLIT_INTERNAL_KEY_{element.proto.id}__events"
        states = self.tab._tree.get_widget_states()
        payload = json.dumps([{"event": event, "value": value}])
        states.widgets.append(WidgetState(id=events, json_trigger_value=payload))
        return self._drawn(self.tab._run(states))

    def choose(self, key: str, name: str, value: object) -> Screen:
        """Set a lasting value of one of our own elements, such as which rows are chosen."""
        states = self.tab._tree.get_widget_states()
        payload = json.dumps({name: value})
        states.widgets.append(WidgetState(id=self._element(key).proto.id, json_value=payload))
        return self._drawn(self.tab._run(states))

    def data(self, key: str) -> Any:
        """What one of our own elements was given to draw. `key` may be the beginning of the key; the last one
        with it counts."""
        return json.loads(self._element(key).proto.json)

    def pieces(self) -> list[tuple[str, int]]:
        """The text of the passage that is open, in pieces. Each has 0, or 1 if it is of the passage, or 2 if
        the answer quotes it."""
        data = self.data("passage")
        if data["kind"] != "cards":
            marked = [(text, 2 if is_quoted else 1) for text, is_quoted in data["marked"]]
            return [(data["before"], 0), *marked, (data["after"], 0)]
        pieces: list[tuple[str, int]] = []
        for card in data["cards"]:
            for block in card["blocks"]:
                pieces += block.get("pieces", [])
                for row in block.get("rows", []):
                    for cell in row:
                        pieces += cell
        return [(text, mark) for text, mark in pieces]

    def has(self, key: str) -> bool:
        """Whether an element, or a group of elements, with this key or its beginning is on the page."""
        return any((getattr(node, "key", None) or "").startswith(key) for node in self.tab._tree)

    def words(self, key: str = "") -> str:
        """What the page says, a line for each element, without our own elements. `key`: of this group of
        elements alone."""
        within = self.tab.get_by_key(key) if key else self.tab._tree
        lines: list[str] = []
        for node in within:
            lines += _words_of(node)
        return plain("\n".join(lines))

    def given_texts(self) -> Iterator[str]:
        """Texts of the page in Markdown, also explanations, without what is typed or chosen."""
        for node in self.tab._tree:
            yield from _texts_of(node, (*TEXTS, "help"))

    def own_data(self) -> list[Any]:
        """What our own elements were given to draw."""
        found = [node for node in self.tab._tree if node.type == "bidi_component" and node.proto.json]
        return [json.loads(node.proto.json) for node in found]

    def groups(self, start: str) -> list[str]:
        """What the groups of elements say whose keys begin so, such as "hit_", the passages of an answer."""
        keys = [group.key for group in self.tab.get("flex_container")]
        return [self.words(key) for key in keys if key and key.startswith(start)]

    def transcript(self) -> list[str]:
        """The questions and answers of a conversation, in turn."""
        return [plain(message.markdown[0].value) for message in self.tab.chat_message]

    def facts(self, number: int = -1) -> str:
        """How an answer was made, as the word under it tells who points at it. `number`: from 0; -1 is the
        last."""
        found = [caption.value for caption in self.tab.caption if "](#calls-" in caption.value]
        return re.sub(r"\\([\W_])", r"\1", found[number].partition('"')[2].rpartition('"')[0])

    def message_id(self, number: int = -1) -> str:
        """Of an answer of the open conversation, from 0; -1 is the last."""
        messages = self.library.conversations.messages(self.tab.query_params["c"])
        return [message.id for message in messages if message.role == "assistant"][number]

    def act(self, do: str, number: int = -1) -> Screen:
        """Press an action under an answer, or in its menu; see `ACTIONS` in lectern/ui/widgets/actions.py."""
        return self.send(f"actions_{self.message_id(number)}", "act", {"do": do})

    def toasts(self) -> list[str]:
        return [plain(toast.value) for toast in self.tab.toast]

    def add(self, name: str, content: str | bytes, *, read: bool = True) -> Screen:
        """Add a file, as an upload does."""
        path = self.library.incoming / "given"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        self.library.intake.add(path, name)
        return self.read() if read else self.run()

    def read(self) -> Screen:
        """Read the files that wait."""
        read_files(self.library)
        return self.run()

    def rebuild(self) -> Screen:
        """Rebuild the index, as the worker does when it is asked to."""
        worker = worker_of(self.library)
        while worker.rebuild_once():
            pass
        return self.run()

    def row(self, name: str) -> Any:
        """The row of a file in the list of documents."""
        (row,) = [row for row in self.data("files")["files"] if row["name"] == name]
        return row

    def rows(self) -> list[str]:
        """The names in the list of documents."""
        return [row["name"] for row in self.data("files")["files"]]

    def connect(self, server: ScriptedServer, **options: Any) -> None:
        """Answer with this language model from now on."""
        llm = LLMSettings(provider="openai_compatible", base_url=f"{server.url}/v1", model="tiny", **options)
        self.library.update_settings(self.library.settings.model_copy(update={"llm": llm}))

    def _element(self, key: str) -> Any:
        found = [
            node
            for node in self.tab._tree
            if node.type == "bidi_component" and (node.key or "").startswith(key)
        ]
        assert found, f"{key} is not on this page"
        return found[-1]

    def _drawn(self, tab: AppTest) -> Screen:
        tab._page_hash = ""  # the next run stays where this one ended, and not where the test last went
        assert not tab.exception, [error.value for error in tab.exception]
        for box in tab.selectbox:  # AppTest sends no value that is none of the options
            if box.proto.accept_new_options and isinstance(box.value, str) and box.value not in box.options:
                box.options.append(box.value)
        return self


def _words_of(node: Any) -> Iterator[str]:
    """The text of an element, or the name of a group of elements, and what is typed or chosen in it."""
    yield from _texts_of(node, TEXTS)
    value = getattr(node, "value", None)
    if isinstance(node, Widget) and isinstance(value, str) and value:
        yield value


def _texts_of(node: Any, names: Sequence[str]) -> Iterator[str]:
    """The texts of these names that an element, or a group of elements, has been given."""
    proto = getattr(node, "proto", None)
    if node.type == "bidi_component":
        return
    if isinstance(proto, BlockProto):
        kind = proto.WhichOneof("type")
        proto = getattr(proto, kind) if kind else None
    for name in names:
        text = getattr(proto, name, "")
        if isinstance(text, str) and text:
            yield re.sub("<[^>]*>", "", text) if node.type == "html" else text
    for option in getattr(proto, "options", ()):
        if isinstance(option, str):
            yield option


@pytest.fixture(autouse=True, scope="module")
def main_module() -> Iterator[None]:
    """A script that AppTest ran stays the main module, which the processes of a later test would run
    again."""
    main = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = main


@pytest.fixture(scope="session")
def real_embedder() -> Embedder:
    return HuggingFaceEmbedding()


@pytest.fixture
def open_tab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Screen]]:
    """Open a tab over the library of the test, with this embedder; a further tab shares both.
    `drawn`: with its first page."""
    opened: list[OpenIndexes] = []

    def open_library(where: Path | str, embedder: Embedder) -> Library:
        library = Library(where, embedder=embedder)
        library.worker.close()  # it would read with another embedder
        return library

    def open_it(embedder: Embedder | None = None, *, drawn: bool = True) -> Screen:
        if not opened:
            assert embedder is not None
            indexes = Indexes(tmp_path / "library", partial(open_library, embedder=embedder))
            opened.append(OpenIndexes(indexes, embedder))
            monkeypatch.setattr(resources, "open_indexes", lambda: opened[0])
        opened[0].get(MAIN).library.worker.close()
        screen = Screen(opened[0], AppTest.from_file(SHELL, default_timeout=RUN_SECONDS))
        return screen.run() if drawn else screen

    yield open_it
    for indexes in opened:
        indexes.get(MAIN).library.suggestions.wait()  # a thread that looks into the library
        indexes.close()


@pytest.fixture
def open_screen(
    tmp_path: Path, open_tab: Callable[..., Screen], request: pytest.FixtureRequest
) -> Callable[..., Screen]:
    """Open a tab over a library with these texts, by name; it is empty without any."""

    def open_it(files: Texts | None = None, *, real: bool = False) -> Screen:
        embedder: Embedder = request.getfixturevalue("real_embedder") if real else HashEmbedding()
        with closing(Library(tmp_path / "library", embedder=embedder)) as library:
            add_files(library, files or {})
        return open_tab(embedder)

    return open_it


@pytest.fixture
def sample_screen(
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    open_tab: Callable[..., Screen],
    real_embedder: Embedder,
) -> Screen:
    """A tab over the sample documents."""
    shutil.copytree(read_sample_once(tmp_path_factory), tmp_path / "library")
    return open_tab(real_embedder)
