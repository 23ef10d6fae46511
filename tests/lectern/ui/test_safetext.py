from __future__ import annotations

import html
import re
import time
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lectern.ui.safetext import Mark, address_md, addresses_in, answer_md, breakable, label, plain_md

ACTIVE = "\\`*_{}[]()<>#+-.!|~$:^=&@/"
INVISIBLE = "\u2060"  # keeps Streamlit from seeing the name of an emoji, or an arrow


def unescaped(text: str) -> str:
    """What CommonMark shows for a text whose only markup is backslash escapes."""
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text)


@given(st.text())
def test_label_shows_the_text_without_active_markdown(text: str) -> None:
    made = label(text)
    assert unescaped(made).replace(INVISIBLE, "") == " ".join(text.split()).replace(INVISIBLE, "")
    assert not set(re.sub(r"\\.", "", made)) & set(ACTIVE)


def test_a_long_name_may_break_after_its_signs_and_nowhere_else() -> None:
    assert breakable("Benefits_Details-2.pdf · p. 8") == "Benefits_<wbr>Details-<wbr>2.<wbr>pdf · p. 8"
    assert breakable("<b>a & b</b>") == "&lt;b&gt;a &amp; b&lt;/b&gt;"


def test_plain_text_keeps_its_lines() -> None:
    assert plain_md("one\n\n# two") == "one  \n&nbsp;  \n\\# two"


@pytest.mark.parametrize(
    "text",
    [
        "![picture](https://evil.example/p.png)",
        "![ref][1]\n\n[1]: https://evil.example",
        "[a link](https://evil.example)",
        "<img src='https://evil.example'>",
        "<https://evil.example>",
        ":red[text] :material/home: :smile:",
        "\\:smile: \\\\:smile:",
        "$\\includegraphics{x}$",
        "[^1]: footnote",
        "| a | ![x](https://evil.example) |\n|---|---|",
        "\\[a link](https://evil.example)",
        "!\\\\[x](https://evil.example)",
    ],
)
def test_nothing_in_an_answer_loads_links_or_draws(text: str) -> None:
    made = answer_md(text)
    bare = re.sub(r"\\.", "", made)
    assert not re.search(r"\]\(|\]\[|\]:|<\w|<https?:|:\w+:|:\w+\[|\$", bare)


HOSTILE = st.lists(
    st.sampled_from(
        [
            "[x](https://e.example)",
            "![x](https://e.example)",
            "<https://e.example>",
            "\\",
            "`",
            "``",
            "```",
            "~~~",
            "\n",
        ]
    )
    | st.sampled_from(
        [
            "[1]",
            "[2]",
            "[",
            "]",
            "(",
            ")",
            "!",
            "*",
            " ",
            "| a |",
            "- ",
            "> ",
            "a",
            "<img src=https://e.example>",
        ]
    ),
    max_size=14,
).map("".join)


@given(HOSTILE)
@example("https://e.example``[x](https://e.example)``")
@example("``[x](https://e.example)``https://e.example")
@example("[x](https://e.example)(``[x](https://e.example)[x](https://e.example)``")
def test_nothing_in_an_answer_becomes_a_link_or_a_picture(text: str) -> None:
    markdown = pytest.importorskip("markdown_it").MarkdownIt("commonmark").enable("table")
    shown = markdown.render(
        answer_md(text, {1: "#a"}, [Mark(len(text) // 3, len(text) * 2 // 3, "told", "#check-m.weak")])
    )
    assert "<img" not in shown
    assert all(link in ("#a", "#check-m.weak") for link in re.findall(r'<a href="([^"]*)"', shown))


def test_a_block_of_code_ends_where_the_page_sees_its_end() -> None:
    shown = answer_md("   ```\n    ```\n![x](https://evil.example/a.png)")
    assert shown.endswith(r"!\[x\](`https://evil.example/a.png`)")


@pytest.mark.parametrize(
    "text", ["_https://e.example/x_", r"https\://e.example", r"https:\/\/e.example", r"www\.e.example"]
)
def test_an_address_is_code_however_its_signs_are_written(text: str) -> None:
    assert "`" in answer_md(text)


@pytest.mark.parametrize(
    "text", ["Ask boss@evil.example", r"boss\@evil.example", r"**boss@evil\.example**", "a+b.c@x-y.example."]
)
@pytest.mark.parametrize("shown", [answer_md, plain_md, label])
def test_an_address_of_mail_is_code(shown: Callable[[str], str], text: str) -> None:
    assert re.search(r"`[\w.+]+@[\w-]+\.example`", shown(text))


@pytest.mark.parametrize("host", ["xn--ls8h.la", "xn--0.pt", "xn--a.example"])
def test_an_address_that_encodes_no_letters_stays_as_it_is(host: str) -> None:
    assert addresses_in(f"See https://{host}/") == [f"https://{host}/"]


@pytest.mark.parametrize("fence", ["```", "~~~"])
@pytest.mark.parametrize("list_item", ["- a\n  ", "1. a\n   ", "> a\n", "- > a\n  ", "a\n   "])
def test_link_behind_a_code_block_ended_by_its_list_is_no_link(list_item: str, fence: str) -> None:
    markdown = pytest.importorskip("markdown_it").MarkdownIt("commonmark")
    for text in (
        f"{list_item}{fence}\n[x](https://evil.example)",
        f"{list_item}{fence}\n  b\n![x](https://evil.example)",
    ):
        shown = markdown.render(answer_md(text))
        assert "<a" not in shown
        assert "<img" not in shown
    assert "<pre><code>b\n</code></pre>" in markdown.render(answer_md(f"- a\n  {fence}\n  b\n  {fence}"))


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ("See https://a.example/x?y=1&z=2#part.", ["https://a.example/x?y=1&z=2"]),
        (
            "[A bank](https://evil.example/path) and ![x](HTTP://Pictures.example/p.png)",
            ["https://evil.example/path", "http://pictures.example/p.png"],
        ),
        ("(see https://a.example/b_(c)) and https://a.example/b_(c)!", ["https://a.example/b_(c)"]),
        (
            "<https://a.example> **https://b.example** `https://c.example`",
            ["https://a.example/", "https://b.example/", "https://c.example/"],
        ),
        ("https://аpple.example/\u202egnp.exe", ["https://xn--pple-43d.example/%E2%80%AEgnp.exe"]),
        ("https://bank.example@evil.example/ https://bank.example:443@evil.example", []),
        (
            "javascript:alert(1) data:text/html,x file:///etc/passwd ftp://a.example vbscript:x JaVaScRiPt:x",
            [],
        ),
        ("https:// http://] https://[::1 https://:80", []),
        ("no address at all", []),
    ],
)
def test_addresses_in_an_answer_are_listed_as_a_browser_asks(text: str, addresses: list[str]) -> None:
    assert addresses_in(text) == addresses


@given(st.text(alphabet="ab:/.@()[]<>&;#?=%\\`*_ https\n"))
def test_whatever_is_listed_is_one_link_to_what_it_shows(text: str) -> None:
    markdown = pytest.importorskip("markdown_it").MarkdownIt("commonmark")
    for address in addresses_in(f"https://a.example/{text} https://{text}"):
        shown = html.unescape(markdown.render(address_md(address)))
        assert re.fullmatch(r'<p><a href="(.*?)">(.*)</a></p>\n', shown)
        assert address.startswith(("https://", "http://"))
        assert f">{address}</a>" in shown.replace("\u2060", "")  # it keeps a line from breaking there


def test_address_becomes_code_that_no_renderer_links() -> None:
    markdown = pytest.importorskip("markdown_it").MarkdownIt("commonmark")
    for text in (
        "See **https://a.example/b_(c)**.",
        "[x](https://a.example/b_(c))",
        "a\\https://a.example/b_(c)",
        "`https://a.example/b_(c)",
    ):
        shown = re.sub(r"<code>https://a.example/b_\(c\)</code>", "CODE", markdown.render(answer_md(text)))
        assert shown.count("CODE") == 1
        assert "https" not in shown


def test_what_a_model_escaped_itself_is_escaped_once() -> None:
    assert answer_md("**a \\[1\\].pdf** is \\*it\\*", {1: "#a"}) == "**a \\[1\\].pdf** is \\*it\\*"


def test_number_that_does_not_continue_its_list_stays() -> None:
    assert answer_md("6. Bake it.\n\n4. Duties\n- Clean") == "6. Bake it.\n\n4\\. Duties\n- Clean"
    for as_written in (
        "1. One\n2. Two\n\n3. Three",
        "6. Bake it.\n\nThen\n\n4. Duties",
        "3. Bake\n   long\n\n4. Cool",
    ):
        assert answer_md(as_written) == as_written


def test_citation_links_only_to_an_existing_passage() -> None:
    assert (
        answer_md("So it is [1][3], or not [2].", {1: "#a", 2: "#b"})
        == "So it is [1](#a)\\[3\\], or not [2](#b)."
    )


def test_citations_written_together_are_separated() -> None:
    assert answer_md("So it is [1, 2; 3].", {1: "#a", 2: "#b", 3: "#c"}) == "So it is [1](#a)[2](#b)[3](#c)."


def test_a_citation_of_the_thousandth_passage_is_a_link_too() -> None:
    assert answer_md("So it is [1000].", {1000: "#a"}) == "So it is [1000](#a)."


def test_a_document_cannot_change_a_citations_address() -> None:
    made = answer_md("[1](https://evil.example)", {1: "#a"})
    assert "](https" not in re.sub(r"\\.", "", made)


def test_code_stays_code_and_a_diagram_becomes_text() -> None:
    assert (
        answer_md("`a[1]:b`\n\n```python\nx[1] = '$'\n```", {1: "#a"})
        == "`a[1]:b`\n\n```python\nx[1] = '$'\n```"
    )
    assert answer_md("```mermaid\ngraph TD\n```") == "```\ngraph TD\n```"


def test_a_time_of_day_is_no_emoji_and_columns_stay_aligned() -> None:
    made = answer_md("At 20:47:12, :+1: or :-1:")
    assert made == f"At 20\\:47\\:12, \\:{INVISIBLE}+1: or \\:{INVISIBLE}-1:"
    assert answer_md("a | b\n:-- | --:\n1 | 2") == "a | b\n:-- | --:\n1 | 2"


def test_an_open_fence_ends_with_the_answer() -> None:
    assert answer_md("```\nx") == "```\nx\n```"


def test_headings_are_small_and_lists_and_emphasis_stay() -> None:
    assert answer_md("# Big\n- **one**\n- *two*") == "#### Big\n- **one**\n- *two*"


def test_line_of_dashes_is_a_rule_and_makes_no_heading() -> None:
    assert (
        answer_md("Response 1: yes\n---------------------\nResponse 2: no")
        == "Response 1: yes\n\n---\n\nResponse 2: no"
    )
    assert answer_md("so\n==") == "so\n\\=="
    assert answer_md("a | b\n--- | ---\n1 | 2") == "a | b\n--- | ---\n1 | 2"
    assert answer_md("```\nso\n---\n```") == "```\nso\n---\n```"


def test_a_long_line_of_signs_takes_no_long_time() -> None:
    begun = time.process_time()
    assert answer_md("|" * 30_000 + "x").endswith("x")
    assert time.process_time() - begun < 2


def marked(text: str, *stretches: str) -> str:
    spans = [(text.index(stretch), text.index(stretch) + len(stretch)) for stretch in stretches]
    return answer_md(
        text, {1: "#one"}, [Mark(start, end, "Weak: not all", "#check-m.weak") for start, end in spans]
    )


AT = '(#check-m.weak "Weak\\: not all")'


def test_marked_sentence_links_to_why_and_keeps_its_citation() -> None:
    text = "Gulls came [1]. There are 9 www.gulls. More."
    assert (
        marked(text, "There are 9 www.gulls.")
        == f"Gulls came [1](#one). [There are 9 `www.gulls`.]{AT} More."
    )


def test_mark_leaves_markdown_structure_unchanged() -> None:
    assert marked("- It rains.", "- It rains.") == f"- [It rains.]{AT}"
    assert marked("12) It rains.", "12) It rains.") == f"12) [It rains.]{AT}"
    assert marked("**Note** it rains here.", "**Note** it rains here.") == f"**Note** [it rains here.]{AT}"
    assert marked("| It rains | no |", "| It rains | no |") == f"| [It rains]{AT} | no |"
    assert marked("Say `rain now` or so.", "Say `rain now` or so.") == f"Say `rain now` [or so.]{AT}"
    code = "```\nIt rains. It pours.\n```"
    assert marked(code, "It rains.") == code


PIECES = st.text(alphabet=ACTIVE + "ab1 \n\ue000\uf000")


@given(PIECES, st.tuples(PIECES, PIECES).map("a".join), PIECES)
@example("", "\\:a", "")
@example("", "`a`", ":1")
@example("", r"\\!a", "")
@example("", "a\n--", "")
@example("", "a@1._", "")
def test_marks_add_one_link_and_change_nothing_else(before: str, said: str, after: str) -> None:
    before, after = f"{before} ", f" {after}"
    made = answer_md(
        before + said + after, {}, [Mark(len(before), len(before + said), "told", "#check-m.weak")]
    )
    unmarked = answer_md(before + said + after)
    # Where the link begins or ends, these need no backslash any more, or need one.
    bare = _unescaped(unmarked)
    without = _unescaped(made.replace('](#check-m.weak "told")', "", 1))
    opened = [found.start() for found in re.finditer(r"\[", without)]
    assert made == unmarked or any(without[:at] + without[at + 1 :] == bare for at in opened)


def _unescaped(text: str) -> str:
    """Without the backslashes before these signs, but for those that are escaped themselves, without
    invisible characters, and without those that make code of an address, which a mark may cut."""
    bare = re.sub(r"(\\\\)|\\([!@:])", r"\1\2", text.replace(INVISIBLE, ""))
    return re.sub(r"`([^`\s]+@[^`\s]+)`", r"\1", bare)
