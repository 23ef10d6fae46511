"""Conversations as files: what is in them, that JSON is read back the same, and that nothing in them runs."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lectern.db.feedback import Verdict
from lectern.export.transcript import (
    FORMS,
    Labels,
    Transcript,
    as_html,
    as_json,
    as_markdown,
    file_name,
    from_json,
)
from lectern.schema import AnswerFacts, Ask, Conversation, FileAnswer, Message, Price, Source
from ragcore.errors import InputError, Problem

NASTY = "<script>alert(1)</script><img src=x onerror=alert(2)> ![x](http://evil/?q=1) \"' & </q></style>"
OURS = {
    *(
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "section",
        "a",
        "ul",
        "ol",
        "li",
        "b",
        "q",
        "br",
        "pre",
        "code",
        "s",
    ),
    *("h1", "h4", "p", "strong", "em", "blockquote", "hr", "table", "thead", "tbody", "tr", "th", "td"),
}
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=80)


def source(number: int, text: str = "The tower was built by Ada.", name: str = "tower.pdf") -> Source:
    return Source(number, f"n{number}", "f1", name, 0, len(text), text, 0.5, "4", "page", 3)


def transcript(
    answer: str = "It was **Ada** [2].",
    *,
    question: str = "Who built it?",
    title: str = "Who built it?",
    sources: tuple[Source, ...] = (source(1, "Another."), source(2)),
    verdict: Verdict | None = None,
) -> Transcript:
    facts = AnswerFacts("compact", "compact", 2, 1.8, 6, 340)
    return Transcript(
        Conversation("c1", "chat", title, 1_700_000_000.0, 1_700_000_001.0),
        (
            Message("q1", "c1", "user", question, "done", 1_700_000_000.0),
            Message(
                "a1",
                "c1",
                "assistant",
                answer,
                "done",
                1_700_000_000.0,
                Ask(question, file_ids=("f1",)),
                facts,
                sources,
            ),
        ),
        {"a1": verdict} if verdict else {},
    )


class Page(HTMLParser):
    """The elements of a page, with their attributes, and its text outside of its style."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.elements and self.elements[-1][0] != "style":
            self.text += data


def test_markdown_has_the_turns_with_citations_under_answers() -> None:
    said = as_markdown(transcript(verdict=Verdict(False, "no date")))
    assert said == (
        "# Who built it?\n\n## Question\n\n> Who built it?\n\n## Answer\n\nIt was **Ada** [1].\n\n"
        "### Passages\n\n- \\[1\\] **tower.pdf, page 4**: The tower was built by Ada.\n\n"
        "Thumb down: no date\n"
    )


def test_html_leads_from_a_citation_to_its_passage() -> None:
    page = Page(as_html(transcript(verdict=Verdict(True))))
    (link,) = [attributes["href"] for tag, attributes in page.elements if tag == "a"]
    assert link is not None
    assert [attributes["id"] for tag, attributes in page.elements if tag == "li"] == [link[1:]]
    for part in (
        "Who built it?",
        "It was Ada [1].",
        "[1] tower.pdf, page 4",
        "The tower was built by Ada.",
        "Thumb up",
    ):
        assert part in page.text
    assert "Another." not in page.text


def test_html_and_markdown_have_the_quote_with_its_neighbours() -> None:
    text = "One is far. Two is before. Ada built it. Four is after. Five is far."
    made = transcript("Ada built it. [2]", sources=(source(2, text),))
    for exported in (as_html(made), as_markdown(made)):
        assert "… Two is before. Ada built it. Four is after. …" in exported


def test_a_citation_of_the_thousandth_passage_is_one_as_well() -> None:
    passages = tuple(replace(source(number), page_label=str(number)) for number in range(1, 1202))
    page = as_html(transcript("Ada [1000], then Ben [2; 1201].", sources=passages))
    assert re.findall(r'<a href="#[^"]*">\[(\d+)\]</a>', page) == ["1", "2", "3"]


def test_without_citations_all_passages_are_listed() -> None:
    assert transcript("I cannot tell.").messages[1].cited == []
    assert [each.number for each in transcript("So [2, 1] and [9], or [2].").messages[1].cited] == [2, 1]
    for said in (as_markdown(transcript("I cannot tell.")), Page(as_html(transcript("I cannot tell."))).text):
        assert "Another." in said
        assert "The tower was built by Ada." in said


def test_lists_headings_and_code_of_an_answer_look_like_that() -> None:
    page = as_html(
        transcript(
            "## Two\n- a <b>\n- `x < y`\n\n1. one\n2. two\n\n```mermaid\nif a < b:\n\n  c\n```\nend\nit"
        )
    )
    lists = "<ul><li>a &lt;b&gt;</li><li><code>x &lt; y</code></li></ul><ol><li>one</li><li>two</li></ol>"
    assert f"<h4>Two</h4>{lists}<pre>if a &lt; b:\n\n  c</pre><p>end<br>it</p>" in re.sub(
        r">\n<", "><", page
    ).replace("<br>\n", "<br>")


def test_tables_and_nested_marks_render_and_escapes_do_not_cite() -> None:
    page = as_html(transcript("| a | b |\n|---|--:|\n| *x **y*** [2] | \\[2\\] |\n\n> - quoted"))
    (row,) = re.findall(r"<td>(.*)</td>\n<td style=\"text-align:right\">(.*)</td>", page)
    assert row == ('<em>x <strong>y</strong></em> <a href="#p2-1">[1]</a>', "[2]")
    assert "<blockquote><ul><li>quoted</li></ul></blockquote>" in page.replace("\n", "")


@pytest.mark.parametrize("place", ["answer", "question", "title", "passage", "name", "word"])
def test_nothing_in_a_transcript_runs_or_loads(place: str) -> None:
    made = {
        "answer": transcript(NASTY),
        "question": transcript(question=NASTY),
        "title": transcript(title=NASTY),
        "passage": transcript(sources=(source(2, NASTY),)),
        "name": transcript(sources=(source(2, name=NASTY),)),
        "word": transcript(verdict=Verdict(True, NASTY)),
    }[place]
    page = Page(as_html(made))
    assert {tag for tag, _ in page.elements} <= OURS
    assert not any(
        name.startswith("on") or name == "src" for _, attributes in page.elements for name in attributes
    )
    assert all((attributes.get("href") or "#").startswith("#") for _, attributes in page.elements)
    assert "".join(NASTY.split()) in "".join(page.text.split())
    markdown = as_markdown(made)
    assert "<script" not in markdown.replace("\\<", "")
    assert "![" not in markdown.replace("\\!", "").replace("!\\[", "")


def test_markdown_reference_does_not_replace_citations() -> None:
    assert "\n\\[1\\]: http://evil" in as_markdown(transcript("It was Ada [1].\n\n[1]: http://evil"))
    assert "\n\\[1\\]: http://evil" in as_markdown(transcript("It was Ada [1].\n\n[1\\]: http://evil"))


def test_backslash_does_not_undo_the_escape_of_a_picture() -> None:
    assert "It is \\!\\[x\\](http://evil)" in as_markdown(transcript("It is \\![x](http://evil)"))


@given(answer=TEXT, question=TEXT, title=TEXT, text=TEXT, word=TEXT)
def test_json_is_read_back_the_same(answer: str, question: str, title: str, text: str, word: str) -> None:
    made = transcript(
        answer, question=question, title=title, sources=(source(1, text),), verdict=Verdict(False, word)
    )
    assert from_json(as_json(made)) == made


@given(answer=TEXT, question=TEXT, text=TEXT)
def test_html_has_only_our_elements_whatever_the_text(answer: str, question: str, text: str) -> None:
    page = Page(
        as_html(transcript(f"{answer}\n```\n{answer}", question=question, sources=(source(1, text),)))
    )
    assert {tag for tag, _ in page.elements} <= OURS


def test_the_price_and_the_rows_of_an_answer_are_read_back() -> None:
    rows = (
        FileAnswer("tower.pdf", "Ada [1].", "found", ("4",)),
        FileAnswer("ferry.pdf", "Gone.", "failed", hint="Again."),
    )
    facts = AnswerFacts(
        "compact", "compact", 2, 1.8, 2, 340, expected=Price(2, 90, 8, 1.5), reading="each_file", rows=rows
    )
    answer = Message(
        "a1",
        "c1",
        "assistant",
        "Ada [1].",
        "done",
        1.0,
        Ask("Who?", reading="each_file"),
        facts,
        (source(1),),
    )
    made = Transcript(Conversation("c1", "chat", "", 1.0, 1.0), (answer,))
    assert from_json(as_json(made)) == made


def test_a_failure_is_read_back_and_reported() -> None:
    failed = Message(
        "a1",
        "c1",
        "assistant",
        "It",
        "failed",
        1.0,
        Ask("Who?"),
        problem=Problem("The server is gone.", "Start it."),
    )
    made = Transcript(Conversation("c1", "chat", "", 1.0, 1.0), (failed,))
    assert from_json(as_json(made)) == made
    assert "The server is gone. Start it." in as_html(made)
    assert "The server is gone. Start it." in as_markdown(made)
    stopped = Transcript(made.conversation, (Message("a1", "c1", "assistant", "It", "stopped", 1.0),))
    assert "Nicht fertig" in as_html(stopped, Labels(unfinished="Nicht fertig"))


@pytest.mark.parametrize(("extractive", "doubted"), [(False, True), (True, False)])
def test_possibly_unsupported_answer_is_marked(extractive: bool, doubted: bool) -> None:
    facts = AnswerFacts("compact", "compact", 1, 1.8, 2, 340, extractive=extractive, outcome="closest")
    answer = Message("a1", "c1", "assistant", "Ada.", "done", 1.0, Ask("Who?"), facts)
    made = Transcript(Conversation("c1", "chat", "", 1.0, 1.0), (answer,))
    for text in (as_html(made, Labels(doubtful="Doubtful")), as_markdown(made, Labels(doubtful="Doubtful"))):
        assert ("Doubtful" in text) is doubted
        assert ("Not sure" in text) is extractive


@pytest.mark.parametrize("extractive", [True, False])
def test_quoted_figures_say_that_nobody_has_added_them_up(extractive: bool) -> None:
    facts = AnswerFacts("compact", "compact", 1, 1.8, 2, 340, extractive=extractive)
    ask = Ask("How much do we pay in all?")
    answer = Message(
        "a1", "c1", "assistant", "The rent is 980. [1] Heating is 85. [1]", "done", 1.0, ask, facts
    )
    made = Transcript(Conversation("c1", "chat", "", 1.0, 1.0), (answer,))
    for text in (as_html(made), as_markdown(made)):
        assert ("does not add them up" in text) is extractive


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"form": 2}', '{"form": 1, "conversation": {}, "messages": [{}]}']
)
def test_what_is_no_conversation_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="not a conversation that Lectern exported"):
        from_json(text)


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Who built it?", "Who built it.md"),
        ("../a\\b:c\n", "a b c.md"),
        ("", "conversation.md"),
        ("...", "conversation.md"),
        ("塔" * 200, "塔" * 80 + ".md"),
    ],
)
def test_a_file_is_named_by_the_title(title: str, name: str) -> None:
    assert file_name(transcript(title=title), "md") == name
    assert set(FORMS) == {"docx", "md", "html", "json"}
