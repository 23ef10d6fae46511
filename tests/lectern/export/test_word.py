"""Word files: ragcore's own reader finds in them what the Markdown says, and nothing of them leads
elsewhere."""

from __future__ import annotations

import re
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import docx
import pytest
from docx.oxml.ns import qn
from hypothesis import example, given
from hypothesis import strategies as st

from lectern.db.notes import Note
from lectern.export.notes import notes_markdown
from lectern.export.transcript import as_docx, as_markdown
from lectern.export.word import as_word
from ragcore.readers.base import ReadOptions
from ragcore.readers.registry import read_file
from tests.lectern.export.test_transcript import NASTY, source, transcript

MARKDOWN = """# The line

It was **Ada *Quill*** and `x < y` [1].
Second line.

- one
  - deeper
- two

  more of two

1. first
2. second

Then:

4. fourth

| Station | Height |
|---|--:|
| **Top** [2] | 84 |

```mermaid
if a < b:

  c
```

> quoted"""


def word(markdown: str) -> Any:
    return docx.Document(BytesIO(as_word(markdown, title="A", created=0)))


def read(folder: Path, content: bytes) -> str:
    path = folder / "a.docx"
    path.write_bytes(content)
    return read_file(path, ReadOptions(path.name)).text


def test_headings_lists_tables_and_code_are_words_own() -> None:
    document = word(MARKDOWN)
    found = [(each.style.name, each.text) for each in document.paragraphs]
    assert found == [
        ("Heading 1", "The line"),
        ("Normal", "It was Ada Quill and x < y [1].\nSecond line."),
        ("List Bullet", "one"),
        ("List Bullet 2", "deeper"),
        ("List Bullet", "two"),
        ("List Continue", "more of two"),
        ("List Number", "first"),
        ("List Number", "second"),
        ("Normal", "Then:"),
        ("List Number", "fourth"),
        ("Normal", ""),
        ("No Spacing", "if a < b:\n\n  c"),
        ("Quote", "quoted"),
    ]
    runs = [
        (run.text, bool(run.bold), bool(run.italic), run.font.name) for run in document.paragraphs[1].runs
    ]
    assert runs[1:5] == [
        ("Ada ", True, False, None),
        ("Quill", True, True, None),
        (" and ", False, False, None),
        ("x < y", False, False, "Courier New"),
    ]
    (table,) = document.tables
    assert [[cell.text for cell in row.cells] for row in table.rows] == [
        ["Station", "Height"],
        ["Top [2]", "84"],
    ]


def test_every_list_restarts_its_numbers_for_our_reader(tmp_path: Path) -> None:
    text = read(
        tmp_path, as_word("1. first\n2. second\n\nThen:\n\n4. fourth\n\nEnd.\n\n1. anew", title="", created=0)
    )
    assert re.findall(r"(\d+)\. (\w+)", text) == [
        ("1", "first"),
        ("2", "second"),
        ("4", "fourth"),
        ("1", "anew"),
    ]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Wer baute die Brücke?", "Die **Brücke** über die „Große Ache“ wurde 1890 gebaut – für 5 € [2]."),
        ("Qui l’a construit ?", "C’est **Zoé** qui, « déjà » en août, a bâti l’œuvre [2]."),
        ("¿Quién la construyó?", "La construyó **Íñigo Núñez**; ¡en sólo un año! [2]"),
        ("谁建造了这座塔？", "这座塔由**张伟**于一八九〇年建造。[2]"),
        ("من بنى البرج؟", "بناه **أحمد** سنة 1890 [2]."),
    ],
)
def test_our_reader_extracts_question_answer_and_sources(tmp_path: Path, question: str, answer: str) -> None:
    made = transcript(
        answer,
        question=question,
        title=question,
        sources=(source(2, answer.replace("*", ""), "塔 – Türme.pdf"),),
    )
    text = read(tmp_path, as_docx(made))
    said = answer.replace("*", "")
    for part in (question, said.replace("[2]", "[1]"), f"[1] 塔 – Türme.pdf, page 4: {said}"):
        assert part in text


def test_rtl_text_is_typeset_from_the_right() -> None:
    arabic, english = word("سنة 1890 **Ada**\n\nIn Arabic: سنة").paragraphs
    assert arabic._p.pPr.find(qn("w:bidi")) is not None
    assert all(run.font.rtl for run in arabic.runs)
    assert english._p.pPr is None or english._p.pPr.find(qn("w:bidi")) is None


@pytest.mark.parametrize("where", ["answer", "question", "title", "passage"])
def test_nothing_in_it_leads_elsewhere_or_runs(tmp_path: Path, where: str) -> None:
    nasty = f"{NASTY} [click](javascript:alert(3)) <http://evil/> http://evil/ [a]: http://evil\x00\x0b\ufffe"
    made = {
        "answer": transcript(nasty),
        "question": transcript(question=nasty),
        "title": transcript(title=nasty),
        "passage": transcript(sources=(source(2, nasty, nasty),)),
    }[where]
    content = as_docx(made)
    with zipfile.ZipFile(BytesIO(content)) as packed:
        names = packed.namelist()
        relations = "".join(packed.read(name).decode() for name in names if name.endswith(".rels"))
        body = packed.read("word/document.xml").decode()
    assert not [name for name in names if "vba" in name.lower() or "media" in name or "embed" in name]
    assert "External" not in relations
    assert "<w:hyperlink" not in body
    assert "instrText" not in body
    assert "[click](javascript:alert(3))" in read(tmp_path, content)


@example("", "~~~")
@given(st.text(max_size=200), st.text(st.sampled_from("-*_|#>` \n1.[]()\\~ab\t"), max_size=120))
def test_any_text_becomes_a_file_that_word_can_open(text: str, marks: str) -> None:
    made = docx.Document(BytesIO(as_word(f"{text}\n\n{marks}", title=text, created=0)))
    assert made.core_properties.author == ""


def test_markdown_and_word_of_a_conversation_say_the_same(tmp_path: Path) -> None:
    made = transcript("It was **Ada** [2].\n\n- a [link](http://evil)\n- `code`")
    bare = re.sub(r"\\(.)", r"\1", as_markdown(made))
    words = re.findall(r"\w+", re.sub(r"[*#>`]|^- ", "", bare, flags=re.M))
    assert re.findall(r"\w+", read(tmp_path, as_docx(made))) == words


def test_word_file_has_the_quotes_and_not_the_whole_contract() -> None:
    contract = (
        "# Lease\n\nThe rent is 980 EUR. It is due on the first day. Pets are allowed.\n\n"
        "Item | Quantity | Value\nItem: Bed; Quantity: 1; Value: 120 EUR\n"
        "Item: Desk; Quantity: 2; Value: 80 EUR\n"
        "\nThe tenant keeps the stairs clean. The landlord repairs the roof. Nobody smokes."
    )
    answer = "The landlord repairs the roof. [1]\n- Item: Desk; Quantity: 2; Value: 80 EUR [1]"
    note = Note("a", "Who repairs what?", answer, (source(1, contract, "lease.docx"),), 1.0)
    markdown = notes_markdown([note], title="Notes", passages="Passages", place=lambda one: one.file_name)
    assert [(one.style.name, one.text) for one in word(markdown).paragraphs[-3:]] == [
        ("Heading 3", "Passages"),
        (
            "List Bullet",
            "[1] lease.docx: … Item: Bed; Quantity: 1; Value: 120 EUR\n"
            "Item: Desk; Quantity: 2; Value: 80 EUR",
        ),
        ("List Continue", "The tenant keeps the stairs clean. The landlord repairs the roof. Nobody smokes."),
    ]


def test_passages_of_a_note_have_their_paragraphs() -> None:
    note = Note(
        "a",
        "",
        "It is due [1].",
        (source(1, "Dear Ada,\n\n4. Deposit\nis due.\n\n- or not", "letter.png"),),
        1.0,
    )
    made = word(notes_markdown([note], title="Notes", passages="Passages", place=lambda one: one.file_name))
    assert [(one.style.name, one.text) for one in made.paragraphs[-3:]] == [
        ("List Bullet", "[1] letter.png: Dear Ada,"),
        ("List Continue", "4. Deposit is due."),
        ("List Continue", "- or not"),
    ]


def test_notes_are_one_file_with_the_passages_that_they_cite(tmp_path: Path) -> None:
    notes = [
        Note("a", "Who *built* it?", "It was **Ada** [1].", (source(1),), 2.0),
        Note("b", "", "> a quote [1]\n\n![x](http://evil)", (source(1, "a quote", "ferry.pdf"),), 1.0),
    ]
    markdown = notes_markdown(
        notes, title="Notizen", passages="Quellen", place=lambda one: f"{one.file_name}, S. {one.page_label}"
    )
    assert markdown == (
        "# Notizen\n\n## Who \\*built\\* it?\n\nIt was **Ada** [1].\n\n### Quellen\n\n"
        "- \\[1\\] **tower.pdf, S. 4**: The tower was built by Ada.\n\n---\n\n> a quote [1]\n\n"
        "!\\[x\\](http://evil)\n\n"
        "### Quellen\n\n- \\[1\\] **ferry.pdf, S. 4**: a quote\n"
    )
    text = read(tmp_path, as_word(markdown, title="Notizen", created=0))
    for part in (
        "Who *built* it?",
        "It was Ada [1].",
        "[1] tower.pdf, S. 4: The tower",
        "a quote [1]",
        "![x](http://evil)",
    ):
        assert part in text
