"""HTMLNodeParser: which text belongs to which element, and what is a run."""

from __future__ import annotations

from ragcore.node_parser import HTMLNodeParser
from ragcore.schema import Document


def runs(html: str, **options: object) -> list[tuple[object, str]]:
    return [(node.metadata["tag"], node.text) for node in HTMLNodeParser(**options)([Document(html)])]  # type: ignore[arg-type]


def test_consecutive_elements_of_one_kind_are_one_passage() -> None:
    html = (
        "<html><body><h1>Fares</h1><p>One.</p><div><p>Two.</p></div><ul><li>a</li>\n"
        "<li>b</li></ul><p>Three.</p></body></html>"
    )
    assert runs(html) == [("h1", "Fares"), ("p", "One.\nTwo."), ("li", "a\nb"), ("p", "Three.")]


def test_text_belongs_to_the_innermost_element_that_is_listed() -> None:
    assert runs("<section>before<p>in <b>bold</b> out</p>after</section>") == [
        ("section", "before\nafter"),
        ("p", "in\nout"),
        ("b", "bold"),
    ]
    assert runs("<p>in <b>bold</b> out</p>", tags=["p"]) == [("p", "in\nbold\nout")]


def test_text_outside_of_the_listed_elements_is_omitted() -> None:
    assert runs("<title>t</title><div>lost</div><p>kept</p>") == [("p", "kept")]
    assert runs("<p>seen<script>x = '<p>no</p>'</script><style>p {}</style><!-- no --></p>") == [
        ("p", "seen")
    ]
    assert runs("<div>lost</div>") == []


def test_entities_are_the_characters_they_stand_for() -> None:
    assert runs("<p>fish &amp; chips &#8364;5 &lt;b&gt;</p>") == [("p", "fish & chips €5 <b>")]


def test_unclosed_elements_are_read_as_in_a_browser() -> None:
    assert runs("<p>one<p>two<br>more</div><ul><li>a<li>b</ul>") == [("p", "one\ntwo\nmore"), ("li", "a\nb")]


def test_only_a_contiguous_html_passage_has_offsets() -> None:
    html = "<h1>\n  Fares </h1><p>fish &amp; chips</p>\n\n<li>a</li><li>b</li>"
    nodes = HTMLNodeParser()([Document(html)])
    assert [node.start_char_idx is not None for node in nodes] == [True, False, False]
    assert html[nodes[0].start_char_idx : nodes[0].end_char_idx] == nodes[0].text == "Fares"
    assert [node.end_char_idx for node in nodes[1:]] == [None, None]
    assert len({node.id_ for node in nodes}) == 3
    assert nodes[0].next_id == nodes[1].id_


def test_ten_thousand_nested_elements_are_no_trouble() -> None:
    assert runs("<div>" * 10_000 + "<p>deep</p>" + "</div>" * 10_000) == [("p", "deep")]
