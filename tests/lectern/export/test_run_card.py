"""The run card: everything about an answer on one page that runs nothing, asks for nothing, and holds no
key."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from lectern.export.run_card import Voice, run_card
from lectern.keys import write_key
from lectern.library import Library
from lectern.runs.answer_runs import AnswerRuns
from lectern.schema import Ask, Message
from lectern.settings import LLMSettings
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import LLMServerError
from ragcore.llms.scripted import ScriptedLLM
from tests.lectern.test_library import take_in

KEY = "sk-very-secret-0123456789"
HOSTILE = (
    "The tower </p><script>alert(1)</script> <img src=http://evil.example/x.png onerror=alert(2)> "
    "<a href='javascript:alert(3)'>here</a> was built in 1871 & <b>by Ada</b> Penrose \"herself\"."
)


class Parsed(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.style = ""
        self.headings: list[str] = []
        self.said: list[tuple[str, str]] = []  # each text with the tag around it
        self._inside: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._inside and self._inside.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self._inside and self._inside[-1] == "style":
            self.style += data
        else:
            self.text += data
            self.said.append((self._inside[-1] if self._inside else "", data))
        if self._inside and self._inside[-1] == "h3":
            self.headings.append(data)


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    llm = ScriptedLLM(
        lambda call: f"<i>Ada</i> {KEY} at https://ada:hunter22@tower.example did. Was built in 1871. [1]"
    )
    library = Library(tmp_path / "library", embedder=HashEmbedding(), llm=llm)
    write_key(library.folder, "openai_compatible", KEY)
    connected = LLMSettings(provider="openai_compatible", base_url="http://127.0.0.1:9/v1", model="m")
    library.update_settings(library.settings.model_copy(update={"llm": connected}))
    take_in(library, HOSTILE, "tower <b>&.txt")
    yield library
    library.close()


def answered(library: Library, ask: Ask) -> Message:
    run = AnswerRuns(library).start(library.conversations.create().id, ask)
    assert run.wait(30)
    message = library.conversations.message(run.message_id)
    assert message is not None
    return message


def test_the_card_tells_the_whole_run(library: Library) -> None:
    message = answered(library, Ask("Who built the tower?", chat_mode=None, response_mode="refine", top_k=3))
    shown = Parsed(run_card(library, [message])).text
    [file] = library.files.all()
    for told in (
        "Who built the tower?",
        "refine",
        "<i>Ada</i>",
        HOSTILE,
        file.name,
        file.hash,
        "Instructions",
        "Documents",
    ):
        assert told in shown
    assert "scripted" in shown  # the model
    assert "passages per answer (top k)3" in shown


def test_nothing_in_the_card_runs_or_loads(library: Library) -> None:
    message = answered(library, Ask(f"Who? {HOSTILE}", chat_mode=None))
    card = Parsed(run_card(library, [message]))
    names = {tag for tag, _ in card.tags}
    assert not names & {
        "script",
        "img",
        "link",
        "iframe",
        "object",
        "embed",
        "base",
        "form",
        "svg",
        "video",
        "audio",
    }
    attributes = [(name, value or "") for _, given in card.tags for name, value in given.items()]
    assert not [
        name
        for name, _ in attributes
        if name.startswith("on") or name in ("src", "srcset", "action", "background")
    ]
    links = [value for name, value in attributes if name == "href"]
    assert links
    assert all(link.startswith("#") for link in links)
    assert {link[1:] for link in links} <= {value for name, value in attributes if name == "id"}
    assert "url(" not in card.style
    assert "@import" not in card.style
    assert "prefers-color-scheme: dark" in card.style
    policy = next(given["content"] for tag, given in card.tags if tag == "meta" and "http-equiv" in given)
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"


def test_keys_and_passwords_are_not_in_it(library: Library) -> None:
    message = answered(library, Ask("Who built the tower?", chat_mode=None))
    assert KEY in message.text
    card = run_card(library, [message])
    assert KEY not in card
    assert "hunter22" not in card


def test_two_cards_of_one_run_are_the_same(library: Library) -> None:
    message = answered(library, Ask("Who built the tower?", chat_mode=None))
    assert run_card(library, [message]) == run_card(library, [message])


def test_a_comparison_has_a_column_for_each_answer(library: Library) -> None:
    modes = ("compact", "tree_summarize")
    both = [answered(library, Ask("Who built it?", chat_mode=None, response_mode=mode)) for mode in modes]
    card = Parsed(run_card(library, both))
    assert card.text.count("Who built it?\n") == 1
    assert [title for title in card.headings if title in ("compact", "tree summarize")][:2] == [
        "compact",
        "tree summarize",
    ]
    ids = [given["id"] for _, given in card.tags if "id" in given]
    assert ids == ["passage-0-1", "passage-1-1"]


def test_a_failed_answer_has_a_card_too(tmp_path: Path) -> None:
    failing = ScriptedLLM([LLMServerError("The model is out of memory.", hint="Choose a smaller one.")])
    library = Library(tmp_path / "library", embedder=HashEmbedding(), llm=failing)
    take_in(library, "The tower was built in 1871.", "tower.txt")
    shown = Parsed(run_card(library, [answered(library, Ask("When?", chat_mode=None))])).text
    assert "The model is out of memory. Choose a smaller one." in shown
    library.close()


def test_a_deleted_document_is_marked_as_deleted(library: Library) -> None:
    message = answered(library, Ask("Who built the tower?", chat_mode=None))
    library.delete_file(library.files.all()[0].id)
    assert "deleted since" in run_card(library, [message])


def test_card_uses_the_reader_s_language_and_plain_code_names(library: Library) -> None:
    message = answered(library, Ask("Who built the tower?", chat_mode=None, response_mode="refine", top_k=3))
    card = run_card(library, [message], Voice("zh", lambda text: f"«{text}»"))
    assert '<html lang="zh">' in card
    own = [text for tag, text in Parsed(card).said if tag in ("h2", "th", "b")]
    names = {"SHA-256", "Lectern", "Python"}  # the same in every language
    assert len(own) > 20
    assert [
        text for text in own if text not in names and not (text.startswith("«") and text.endswith("»"))
    ] == []
    plain = (
        "«calls: 1»",
        "«passages: 1 of 1»",
        "«tokens: ",
        "«no»",
        "«score ",
        "«characters 0 to",
        "«Reply»",
        "refine",
    )
    for told in (*plain, "«Lectern run card»", "«run card»", "«built-in»"):
        assert told in Parsed(card).text


def test_card_uses_the_screens_names_and_omits_unset_values(library: Library) -> None:
    message = answered(library, Ask("Who built the tower?"))
    ways = {"condense_plus_context": "Follow-ups and documents", "compact": "Compact"}
    card = Parsed(
        run_card(
            library, [message], Voice(ways=ways, readings={"best": "Best"}, prompts={"context_chat": "Chat"})
        )
    )
    assert set(card.headings) == {"Follow-ups and documents"}
    assert [text for tag, text in card.said if tag == "summary"][1] == "1 · Chat (context_chat) "
    assert "condense plus context" not in card.text
    cells = [text for tag, text in card.said if tag in ("th", "td")]
    settings = dict(zip(cells[::2], cells[1::2], strict=False))
    assert settings["chat mode"] == "Follow-ups and documents (condense_plus_context)"
    assert settings["response mode"] == "Compact"  # which is its name in code, too
    assert settings["what to read"] == "Best"
    assert "–" not in cells
    assert not {"only these passages", "weight of meaning", "only these documents"} & set(cells)


def test_a_failures_reason_is_in_the_readers_language(tmp_path: Path) -> None:
    failing = ScriptedLLM([LLMServerError("The model is out of memory.", hint="Choose a smaller one.")])
    library = Library(tmp_path / "library", embedder=HashEmbedding(), llm=failing)
    take_in(library, "The tower was built in 1871.", "tower.txt")
    message = answered(library, Ask("When?", chat_mode=None))
    shown = Parsed(run_card(library, [message], Voice("xx", "«{}»".format, str.upper))).text
    assert "«failed»" in shown
    assert "THE MODEL IS OUT OF MEMORY. CHOOSE A SMALLER ONE." in shown
    library.close()


def test_no_answer_is_no_card(library: Library) -> None:
    with pytest.raises(ValueError, match="at least one answer"):
        run_card(library, [])
