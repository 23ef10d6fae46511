"""The data that walks through the library: what a text shows of its metadata, and what its hash depends
on."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.schema import (
    BaseNode,
    ChatMessage,
    Document,
    IndexNode,
    MessageRole,
    MetadataMode,
    Node,
    NodeRelationship,
    NodeWithScore,
    ObjectType,
    Page,
    QueryBundle,
    RelatedNodeInfo,
    Response,
    StreamingResponse,
    Template,
    TextNode,
    content_hash,
)

KEYS = {"title": "Gulls", "secret": 7, "folder": "birds"}


@pytest.mark.parametrize("kind", [Document, TextNode])
def test_each_mode_shows_the_metadata_that_is_not_hidden_from_it(
    kind: type[Document] | type[TextNode],
) -> None:
    item = kind(
        "They eat.",
        metadata=KEYS,
        excluded_embed_metadata_keys=("secret",),
        excluded_llm_metadata_keys=("secret", "folder"),
    )
    assert item.get_content(MetadataMode.ALL) == "title: Gulls\nsecret: 7\nfolder: birds\n\nThey eat."
    assert item.get_content(MetadataMode.EMBED) == "title: Gulls\nfolder: birds\n\nThey eat."
    assert item.get_content(MetadataMode.LLM) == "title: Gulls\n\nThey eat."
    assert (
        item.get_content(MetadataMode.NONE) == item.get_content() == item.get_content("none") == "They eat."
    )  # type: ignore[arg-type]
    assert item.get_content("all") == item.get_content(MetadataMode.ALL)  # type: ignore[arg-type]


def test_text_without_visible_metadata_is_unchanged() -> None:
    node = TextNode("  a \n", metadata={"k": "v"}, excluded_llm_metadata_keys=("k",))
    assert node.get_content(MetadataMode.LLM) == "  a \n"
    assert node.get_content(MetadataMode.ALL) == "k: v\n\n  a"  # with metadata the whole is stripped


def test_a_template_says_how_text_and_metadata_are_laid_out() -> None:
    template = Template("[{metadata_str}] {content}", "{key}={value}", ", ")
    document = Document("words", metadata={"a": 1, "b": None}, template=template)
    assert document.get_content(MetadataMode.ALL) == "[a=1, b=None] words"


def test_a_template_may_be_set_in_parts() -> None:
    parts = {"text_template": "[{metadata_str}] {content}", "metadata_template": "{key}={value}"}
    for separator in ("metadata_separator", "metadata_seperator"):
        document = Document("words", metadata={"a": 1, "b": 2}, **parts, **{separator: "::"})
        assert document.template == Template("[{metadata_str}] {content}", "{key}={value}", "::")
    assert Document("words", template=Template("-{content}"), metadata_separator="").template == Template(
        "-{content}", separator=""
    )
    assert Document("words").template == Template()


def test_the_metadata_and_the_text_can_be_had_by_themselves() -> None:
    for item in (
        Document("text", metadata=KEYS, excluded_llm_metadata_keys=["secret"]),
        TextNode("text", metadata=KEYS),
    ):
        assert item.get_metadata_str() == "title: Gulls\nsecret: 7\nfolder: birds"
        assert item.get_metadata_str(MetadataMode.NONE) == ""
        assert item.get_text() == "text"
    hidden = Document("text", metadata=KEYS, excluded_llm_metadata_keys=["secret"])
    assert hidden.get_metadata_str(mode=MetadataMode.LLM) == "title: Gulls\nfolder: birds"
    hit = NodeWithScore(TextNode("text", id_="n", metadata=KEYS))
    assert (hit.get_text(), hit.id_) == ("text", "n")


def test_a_passage_can_refer_to_another_object() -> None:
    node = TextNode(
        "text",
        "n",
        {"k": 1},
        "d",
        3,
        7,
        "before",
        "after",
        "above",
        ("below",),
        np.ones(2, np.float32),
        ("k",),
    )
    stands = IndexNode.from_text_node(node, "far")
    assert (stands.index_id, stands.obj) == ("far", None)
    for each in fields(TextNode):
        value = getattr(node, each.name)
        assert getattr(stands, each.name) is value or getattr(stands, each.name) == value


def test_braces_in_a_text_or_its_metadata_are_only_text() -> None:
    node = TextNode("{metadata_str} {key}", metadata={"{value}": "{content}"})
    assert node.get_content(MetadataMode.ALL) == "{value}: {content}\n\n{metadata_str} {key}"


def test_hash_depends_on_text_and_metadata_but_not_order_or_id() -> None:
    document = Document("text", metadata={"a": 1, "b": 2})
    assert document.hash == Document("text", id_="other", metadata={"b": 2, "a": 1}).hash
    assert document.hash == TextNode("text", metadata={"b": 2, "a": 1}).hash
    others = [
        Document("Text", metadata={"a": 1, "b": 2}),
        Document("text", metadata={"a": 1, "b": 3}),
        Document("text"),
    ]
    assert len({document.hash, *(other.hash for other in others)}) == 4


@given(
    st.text(max_size=9),
    st.text(max_size=9),
    st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=3), max_size=2),
)
def test_different_texts_have_different_hashes(one: str, two: str, metadata: dict[str, str | int]) -> None:
    assert (content_hash(one, metadata) == content_hash(two, metadata)) == (one == two)


def test_document_id_has_two_names_and_is_random_by_default() -> None:
    assert Document("a", doc_id="x").id_ == Document("a", id_="x").doc_id == "x"
    assert Document("a").id_ != Document("a").id_
    with pytest.raises(ValueError, match=r"'x'.*'y'"):
        Document("a", id_="x", doc_id="y")


def test_the_example_is_a_document_with_text_and_metadata() -> None:
    assert len(Document.example().text) > 100
    assert Document.example().metadata["file_name"] == "lectern.txt"


def test_documents_and_passages_share_a_base_and_have_old_names() -> None:
    assert Node is TextNode
    assert isinstance(Document("t"), BaseNode)
    assert isinstance(TextNode("t"), BaseNode)


def test_edited_node_has_the_hash_of_its_current_content() -> None:
    node, before = (
        TextNode("text", id_="n", metadata={"a": 1}, excluded_llm_metadata_keys=("b",)),
        TextNode("text").hash,
    )
    node.text = "other"
    node.metadata = {"b": [1]}
    node.metadata["c"] = 3
    node.excluded_llm_metadata_keys.append("c")
    node.node_id = "m"
    assert node.hash == TextNode("other", metadata={"b": [1], "c": 3}).hash != before
    assert (node.id_, node.get_content(MetadataMode.LLM)) == ("m", "other")
    node.set_content("last")
    node.metadata_template, node.metadata_seperator, node.text_template = (
        "{key}={value}",
        "; ",
        "{content} ({metadata_str})",
    )
    assert node.get_content(MetadataMode.ALL) == "last (b=[1]; c=3)"
    document = Document("text", extra_info={"k": 1})
    document.doc_id = "d"
    document.extra_info = {"k": 2}
    assert (document.id_, document.metadata) == ("d", {"k": 2})
    hit = NodeWithScore(node, 0.5)
    hit.score = hit.get_score() - 1
    assert hit.score == -0.5
    with pytest.raises(AttributeError, match="txet"):
        node.txet = "misspelt"  # type: ignore[attr-defined]
    with pytest.raises(FrozenInstanceError):
        QueryBundle("why?").query_str = "how?"  # type: ignore[misc]


def test_nodes_of_the_same_values_share_no_state() -> None:
    metadata, hidden = {"tags": ["a"]}, ["tags"]
    first, second = Document("t", metadata=metadata), TextNode("t")
    second.metadata, second.excluded_llm_metadata_keys = first.metadata, hidden
    second.metadata["only"] = 1
    second.excluded_llm_metadata_keys.append("only")
    assert (first.metadata, hidden) == ({"tags": ["a"]}, ["tags"])
    one, other = (
        TextNode("t", metadata=metadata, excluded_llm_metadata_keys=hidden),
        Document("t", metadata=metadata),
    )
    one.metadata["tags"].append("b")  # type: ignore[union-attr]
    one.excluded_llm_metadata_keys.clear()
    other.metadata["more"] = 1
    assert (metadata, hidden) == ({"tags": ["a"]}, ["tags"])


def test_a_changed_copy_leaves_the_first_alone() -> None:
    node, vector = TextNode("text", id_="n"), np.ones(3, np.float32)
    assert node.with_embedding(vector).embedding is vector
    assert node.embedding is None
    assert node.get_content() == "text"
    with pytest.raises(ValueError, match="'n' has no embedding"):
        node.get_embedding()
    assert node.with_embedding(vector).get_embedding() is vector
    assert replace(node, prev_id="m").id_ == "n"


class Note(TextNode):
    by: list[str]


def test_a_copy_has_everything_and_shares_nothing() -> None:
    inner = IndexNode("inner", id_="i", metadata={"k": [1]})
    node = IndexNode(
        "text", "n", {"k": [1]}, "d", 3, 7, "b", "a", "p", ("c",), np.ones(2, np.float32), ("k",), obj=inner
    )
    inner.obj = NodeWithScore(TextNode("innermost"), 0.5)
    node.relationships[NodeRelationship.NEXT] = RelatedNodeInfo(node_id="a", metadata={"k": [1]})
    shown, copy = repr(node), node.copy()
    assert repr(copy) == shown
    assert copy.embedding is not None
    copy.embedding[0] = 5
    copy.metadata["k"].append(2)  # type: ignore[union-attr]
    copy.next_node.metadata["k"].append(2)  # type: ignore[union-attr]
    copy.obj.text, copy.obj.obj.score = "other", 0
    copy.excluded_embed_metadata_keys.clear()
    assert repr(node) == shown
    note = Note("text")
    note.by = ["Ann"]
    note.copy().by.append("Bob")
    assert note.by == ["Ann"]


def test_nodes_that_stand_for_each_other_are_copied_as_they_are() -> None:
    one, other = IndexNode("one"), IndexNode("other")
    one.obj, other.obj = other, one
    copy = one.copy()
    assert copy is not one
    assert copy.obj.obj is copy
    assert copy.obj.text == "other"


def test_relationships_are_the_links_of_a_node() -> None:
    node = TextNode("t", ref_doc_id="d", next_id="n")
    assert dict(node.relationships) == {
        NodeRelationship.SOURCE: RelatedNodeInfo(node_id="d"),
        NodeRelationship.NEXT: RelatedNodeInfo(node_id="n"),
    }
    told = RelatedNodeInfo(node_id="p", metadata={"k": "v"}, hash="h", node_type=ObjectType.TEXT)
    node.relationships[NodeRelationship.PARENT] = told
    node.relationships[NodeRelationship.CHILD] = [RelatedNodeInfo(node_id="c"), RelatedNodeInfo(node_id="e")]
    del node.relationships[NodeRelationship.NEXT]
    assert (node.parent_id, node.child_ids, node.next_id, node.next_node) == ("p", ("c", "e"), None, None)
    assert node.parent_node == told
    assert [child.node_id for child in node.child_nodes or ()] == ["c", "e"]
    assert (node.source_node and node.source_node.node_id, node.prev_node) == ("d", None)
    assert NodeRelationship.PREVIOUS not in node.relationships
    with pytest.raises(KeyError):
        node.relationships[NodeRelationship.NEXT]
    with pytest.raises(TypeError, match="RelatedNodeInfo"):
        node.relationships[NodeRelationship.NEXT] = "n"
    with pytest.raises(TypeError, match="list of RelatedNodeInfo"):
        node.relationships[NodeRelationship.CHILD] = told
    node.relationships = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id="other")}
    assert (node.ref_doc_id, node.parent_id, node.child_ids, node.related) == ("other", None, (), None)
    made = TextNode("t", id_="m", relationships={NodeRelationship.NEXT: node.as_related_node_info()})
    assert (made.next_id, made.next_node and made.next_node.hash) == (node.id_, node.hash)
    assert deepcopy(made).next_node == made.copy().next_node == made.next_node


def test_documents_and_nodes_cross_process_boundaries_unchanged() -> None:
    document = Document(
        "text", id_="d", metadata=KEYS, pages=(Page("iv", 0, 4),), excluded_llm_metadata_keys=("secret",)
    )
    node = IndexNode("n", metadata=KEYS, child_ids=("a", "b"), index_id="i")
    for item in (document, node):
        copy = pickle.loads(pickle.dumps(item))
        fields = [name for kind in type(item).__mro__ for name in getattr(kind, "__slots__", ())]
        assert {name: getattr(copy, name) for name in fields} == {
            name: getattr(item, name) for name in fields
        }


def test_an_index_node_is_a_node_that_stands_for_something_else() -> None:
    node = IndexNode("about gulls", index_id="gulls", obj=len)
    assert isinstance(node, TextNode)
    assert (node.index_id, node.obj, node.get_content()) == ("gulls", len, "about gulls")


def test_a_place_in_a_document_is_on_the_page_that_holds_it() -> None:
    document = Document("aaa\n\nbbb", pages=(Page("1", 0, 3), Page("2", 5, 8)))
    assert [page and page.label for page in map(document.page_at, (0, 2, 4, 5, 7))] == [
        "1",
        "1",
        "1",
        "2",
        "2",
    ]
    assert Document("x").page_at(0) is None
    assert Document("a letter\n\naaa", pages=(Page("aaa.csv", 10, 13),)).page_at(0) is None, (
        "it is no part of what comes with it"
    )


def test_node_without_score_counts_zero_unless_that_is_an_error() -> None:
    assert NodeWithScore(TextNode("x"), 0.5).get_score(raise_error=True) == 0.5
    hit = NodeWithScore(TextNode("x", id_="n7"))
    assert hit.get_score() == 0.0
    with pytest.raises(ValueError, match="n7"):
        hit.get_score(raise_error=True)


def test_question_is_embedded_as_itself_or_as_its_texts() -> None:
    assert QueryBundle("why?").embedding_strs == ("why?",)
    assert QueryBundle("why?", ("because",)).embedding_strs == ("because",)
    assert QueryBundle("").embedding_strs == ()


def test_response_has_metadata_and_beginning_of_each_source() -> None:
    response = Response(
        "Yes.", (NodeWithScore(TextNode("abcdefgh", id_="n", metadata={"k": 1})),), extra={"kind": "short"}
    )
    assert response.metadata == {"n": {"k": 1}, "kind": "short"}
    assert response.get_formatted_sources(6) == "> Source (Doc id: n): abc..."
    assert response.get_formatted_sources(8) == "> Source (Doc id: n): abcdefgh"


def test_a_role_may_be_text_and_must_exist() -> None:
    assert ChatMessage(role="assistant", content="Yes.") == ChatMessage(MessageRole.ASSISTANT, "Yes.")  # type: ignore[arg-type]
    assert str(ChatMessage(role="assistant", content="Yes.")) == "assistant: Yes."  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="teacher"):
        ChatMessage(role="teacher")  # type: ignore[arg-type]


def test_a_stream_can_be_written_to_the_terminal_as_it_comes(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[str] = []

    def pieces() -> Iterator[str]:
        for piece in ("One ", "two."):
            yield piece
            seen.append(capsys.readouterr().out)

    answer = StreamingResponse(pieces())
    answer.print_response_stream()
    assert (seen, answer.text) == (["One ", "two."], "One two.")


def test_a_passage_prints_in_short_with_its_id_and_score() -> None:
    node = TextNode("A boat is\n  red. " + "It sails. " * 20, id_="n", embedding=np.ones(3, np.float32))
    id_line, text_line = str(node).splitlines()
    assert id_line == "Node ID: n"
    assert text_line.startswith("Text: A boat is red. It sails. ")
    assert text_line.endswith("[...]")
    assert len(text_line) <= len("Text: ") + 80
    assert (
        str(NodeWithScore(TextNode("A gull.", id_="g"), 0.12345)) == "Node ID: g\nText: A gull.\nScore: 0.123"
    )
    assert str(NodeWithScore(TextNode("A gull.", id_="g"))).endswith("Score: none")


def test_nodes_are_equal_where_everything_of_them_is() -> None:
    node = TextNode("t", "n", {"k": [1]}, embedding=np.ones(2, np.float32))
    assert node == node.copy()
    assert node.with_embedding([1.0, 1.0]) == node  # type: ignore[arg-type]
    assert NodeWithScore(node, 0.5) == NodeWithScore(node.copy(), 0.5)
    for name, value in {"text": "u", "metadata": {}, "embedding": None, "next_id": "m"}.items():
        other = node.copy()
        setattr(other, name, value)
        assert other != node
    assert node.with_embedding(np.zeros(2, np.float32)) != node
    assert Document("t", "n") != TextNode("t", "n")
    with pytest.raises(TypeError, match="unhashable"):
        hash(node)
