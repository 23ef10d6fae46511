"""What web pages show by marks and styles."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragcore.readers.base import ReadOptions
from ragcore.readers.registry import read_file
from ragcore.readers.web.html import page_text
from ragcore.readers.web.html_text import html_text


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        (
            "<ruby>漢<rp>(</rp><rt>かん</rt><rp>)</rp>字<rp>(</rp><rt>じ</rt><rp>)</rp></ruby>です",
            "漢字(かんじ)です",
        ),
        ("<p>It grew<sup><a href='#n1'>3</a></sup> fast<sup>[4]</sup>.</p>", "It grew[3] fast[4]."),
        ("<div style='float:left'>C</div><p>astleford was sold.</p>", "Castleford was sold."),
        ("<p><span class='dropcap'>C</span>astleford</p>", "Castleford"),
        ("<style>.t{display:none}.t.on{display:block}</style><p class='t'>a</p><p class='t on'>b</p>", "b"),
        ("<style>body{display:none}</style><p>Shown by a program.</p>", "Shown by a program."),
        ("<p>a</p><p style='visibility:hidden'>b</p><p hidden='until-found'>c</p>", "a\n\nc"),
        (
            "<style media='print'>.a{display:none}</style><p class='a'>Open from 9 to 5</p>",
            "Open from 9 to 5",
        ),
        (
            "<style>.answer{display:none}</style><p>How long?</p><p class='answer'>Two years.</p>",
            "How long?\n\nTwo years.",
        ),
        ("<button aria-controls='t2'></button><p>a</p><p id='t2' hidden>b</p>", "a\n\nb"),
        ("<div class='avatar-initial'>A</div><div>anna.smith</div>", "A\nanna.smith"),
        ("<ul><li><p>One</p><li>Two</ul>", "- One\n\n- Two"),
        ("<ol><li>1. One<li>Two</ol>", "- 1. One\n2. Two"),
    ],
)
def test_a_page_is_read_as_it_is_seen(html: str, expected: str) -> None:
    assert html_text(f"<body>{html}</body>") == expected


def test_marks_within_what_is_hidden_do_no_harm() -> None:
    inner = (
        "<sup style='vertical-align:super'>6</sup><ruby>a<rt>b</rt></ruby><math><mi>x</mi></math><div "
        "hidden>c</div>"
    )
    hidden = f"<div style='display:none' class='drop'><p style='float:left'>C</p><p>astle</p>{inner}</div>"
    assert html_text(
        f"<body>{hidden * 50}<p>Shown words of the page, longer than what is hidden</p></body>"
    ).startswith("Shown")


@pytest.mark.parametrize(
    ("mathml", "latex"),
    [
        (
            "<mi>t</mi><mo>=</mo><mfrac><mi>a</mi><mrow><mn>2</mn><mi>c</mi></mrow></mfrac>",
            r"$t=\frac{a}{2c}$",
        ),
        ("<msqrt><msup><mi>x</mi><mn>3</mn></msup></msqrt>", r"$\sqrt{x^3}$"),
        ("<mroot><mi>x</mi><mn>3</mn></mroot>", r"$\sqrt[3]{x}$"),
        (
            "<munderover><mo>∑</mo><mi>i</mi><mi>n</mi></munderover><msub><mi>α</mi><mi>i</mi></msub>",
            r"$\sum_i^n\alpha_i$",
        ),
        ("<mover><mi>x</mi><mo>→</mo></mover>", r"$\vec{x}$"),
        ("<mfenced><mi>a</mi><mi>b</mi></mfenced><mo>≤</mo><mn>1</mn>", r"$(a,b)\le 1$"),
        (
            "<mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>0</mn></mtd></mtr></mtable>",
            r"$\begin{matrix}1&0\end{matrix}$",
        ),
        (
            (
                "<semantics><mi>x</mi><annotation encoding='application/x-tex'>{\\displaystyle "
                "x^2}</annotation></semantics>"
            ),
            "$x^2$",
        ),
        ("<mi>x</mi><mo>=</mo><mn>5</mn>", "x=5"),
    ],
)
def test_equations_of_a_page_are_latex(mathml: str, latex: str) -> None:
    assert html_text(f"<p>Here: <math>{mathml}</math> end</p>") == f"Here: {latex} end"


def test_an_article_has_its_numbers_powers_and_struck_words_too() -> None:
    story = "".join(
        f"<p>Paragraph {n} tells of the railway and of the people who built it by hand.</p>"
        for n in range(30)
    )
    marks = (
        "<p>It carried 10<sup>6</sup> people for <del>30</del> 25 euro.</p><ol start=4><li>The fourth "
        "rule of the line.</ol>"
    )
    links = "".join(f"<li><a href='/{n}'>Some other story of the day, number {n}</a></li>" for n in range(60))
    text = page_text(
        f"<body><article><h1>Rails</h1>{story}{marks}</article><div><ul>{links}</ul></div></body>"
    )
    assert "It carried 10^6 people for ~~30~~ 25 euro." in text
    assert "4. The fourth rule" in text
    assert "Some other story" not in text


def test_hidden_text_of_a_page_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_text("<p>The fee is 25.</p><p hidden>We take 15.</p><nav hidden>Menu</nav>")
    found: list[str] = []
    assert (
        "15"
        not in read_file(path, ReadOptions(path.name, on_loss=lambda error: found.append(str(error)))).text
    )
    assert found == ["Hidden text in a.html was left out (places: 1)."]


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "tag", ["sup", "del", "ruby", "math", "span style='vertical-align:super'", "span hidden"]
)
def test_a_page_of_thousands_of_nested_marks_takes_no_long_time(tag: str) -> None:
    assert "x" in html_text(f"<p>a{f'<{tag}>x' * 20_000}{f'</{tag.split()[0]}>' * 20_000}<p>{'x' * 9_000}")
