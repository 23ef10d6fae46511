from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.extractive.answerer import ExtractiveLLM
from ragcore.llamaindex.query_engine import CitationQueryEngine
from ragcore.llms.scripted import ScriptedLLM
from ragcore.node_parser.sentence import SentenceSplitter
from ragcore.prompts.templates import PromptTemplate
from ragcore.response_synthesizers.answer import AnswerStream
from ragcore.response_synthesizers.synthesizer import Synthesizer
from ragcore.schema import Document, MetadataMode, NodeWithScore, QueryBundle, Template, TextNode
from tests.ragcore.response_synthesizers.doubles import ListRetriever

TEXT = "".join(f"Sentence number {number} is here to be cited. " for number in range(60))
DOCUMENT = Document(f"A preface. {TEXT}", "doc")


def retrieved(start: int | None = 11) -> NodeWithScore:
    end = None if start is None else start + len(TEXT)
    return NodeWithScore(
        TextNode(TEXT, "node", {"file_name": "book.txt"}, "doc", start, end, prev_id="before"), 0.7
    )


def engine(
    *hits: NodeWithScore, size: int = 40, overlap: int = 5, reply: str = "Yes [3]."
) -> CitationQueryEngine:
    splitter = SentenceSplitter(size, overlap, tokenizer=str.split)
    return CitationQueryEngine.from_args(
        retriever=ListRetriever(hits), llm=ScriptedLLM([reply]), text_splitter=splitter
    )


def test_citation_names_a_small_passage_with_its_place() -> None:
    response = engine(retrieved()).query("Is it?")
    assert str(response) == "Yes [3]."
    assert len(response.source_nodes) > 10
    for hit in response.source_nodes:
        node = hit.node
        assert DOCUMENT.text[node.start_char_idx : node.end_char_idx] == node.text
        assert len(node.text.split()) <= 40
        assert (node.ref_doc_id, node.metadata["file_name"], hit.score) == ("doc", "book.txt", 0.7)
    assert len({hit.node.id_ for hit in response.source_nodes}) == len(response.source_nodes)


def test_the_model_sees_each_small_passage_below_its_number() -> None:
    llm = ScriptedLLM(["Yes."])
    splitter = SentenceSplitter(40, 5, tokenizer=str.split)
    response = CitationQueryEngine(ListRetriever([retrieved()]), llm, text_splitter=splitter).query("Is it?")
    sent = llm.calls[0].messages[-1].content
    for number, hit in enumerate(response.source_nodes, 1):
        assert f"[{number}] book.txt\n{hit.text}" in sent


def test_templates_and_mode_are_those_of_its_synthesizer() -> None:
    llm = ScriptedLLM(["first", "second"])
    engine = CitationQueryEngine.from_args(
        retriever=ListRetriever([NodeWithScore(TextNode("One."), 1.0), NodeWithScore(TextNode("Two."), 0.9)]),
        llm=llm,
        citation_qa_template=PromptTemplate("{query_str} from {context_str}"),
        citation_refine_template=PromptTemplate("{existing_answer} with {context_str}"),
        response_mode="refine",
        streaming=True,
    )
    answer = engine.query("Is it?")
    assert isinstance(answer, AnswerStream)
    assert "".join(answer) == "second"
    first, second = (call.messages[-1].content for call in llm.calls)
    assert (first[:11], second[:10], "Two." in second) == ("Is it? from", "first with", True)


def test_without_overlap_parts_cover_passages_once_in_order() -> None:
    other = NodeWithScore(TextNode("Short.", "short"), 0.9)
    hits = engine(other, retrieved(), overlap=0).retrieve("Is it?")
    assert hits[0] == other, "what is short enough stays as it is"
    assert "".join(" ".join(hit.text for hit in hits[1:]).split()) == "".join(TEXT.split())


def test_parts_of_a_passage_without_place_have_none() -> None:
    assert {hit.node.start_char_idx for hit in engine(retrieved(None)).retrieve("?")} == {None}


def test_default_sizes_are_those_of_llama_index() -> None:
    retriever = ListRetriever([retrieved()])
    assert len(CitationQueryEngine(retriever, ScriptedLLM()).retrieve("?")) == 2
    assert len(CitationQueryEngine(retriever, ScriptedLLM(), None, 50, 0).retrieve("?")) > 10


def test_engine_from_args_uses_its_sizes_and_components() -> None:
    class Last:
        def postprocess_nodes(
            self, nodes: Sequence[NodeWithScore], query_bundle: QueryBundle | None = None
        ) -> list[NodeWithScore]:
            return list(nodes[-1:])

    found = ListRetriever([NodeWithScore(TextNode("First.", "first")), retrieved()])
    llm = ScriptedLLM(["refined"])
    made = CitationQueryEngine.from_args(
        None,
        ScriptedLLM(),
        Synthesizer(llm, "simple_summarize"),
        50,
        7,
        retriever=found,
        node_postprocessors=[Last()],
    )
    parts = SentenceSplitter(50, 7).split_spans(TEXT)
    assert [hit.text for hit in made.retrieve("?")] == [TEXT[start:end] for start, end in parts]
    assert str(made.query("?")) == "refined"
    assert [hit.text for hit in asyncio.run(made.aretrieve("?"))] == [hit.text for hit in made.retrieve("?")]


def test_a_small_passage_shows_a_model_what_the_whole_one_did() -> None:
    node = TextNode(
        TEXT,
        "n",
        {"year": "1871", "secret": "x"},
        excluded_llm_metadata_keys=("secret",),
        excluded_embed_metadata_keys=("year",),
        template=Template("<{metadata_str}> {content}", "{key}={value}"),
    )
    first = engine(NodeWithScore(node)).retrieve("?")[0].node
    assert first.get_content(MetadataMode.LLM) == f"<year=1871> {first.text}"
    assert first.get_content(MetadataMode.EMBED) == f"<secret=x> {first.text}"


def test_postprocessors_see_the_passages_before_they_are_cut() -> None:
    seen: list[int] = []

    class Watching:
        def postprocess_nodes(
            self, nodes: Sequence[NodeWithScore], query_bundle: QueryBundle | None = None
        ) -> list[NodeWithScore]:
            seen.append(len(nodes))
            return list(nodes)

    splitter = SentenceSplitter(40, 5, tokenizer=str.split)
    CitationQueryEngine(
        ListRetriever([retrieved()]), ScriptedLLM(), None, 1, 1, splitter, [Watching()]
    ).retrieve("?")
    assert seen == [1]


def test_an_index_gives_its_retriever() -> None:
    class Index:
        def as_retriever(self, similarity_top_k: int = 1) -> ListRetriever:
            return ListRetriever([retrieved(), retrieved(), retrieved()][:similarity_top_k])

    one = CitationQueryEngine.from_args(Index(), ScriptedLLM()).retrieve("?")
    assert one[0].node.id_.startswith("node:")
    assert len(
        CitationQueryEngine.from_args(Index(), ScriptedLLM(), similarity_top_k=3).retrieve("?")
    ) == 3 * len(one)
    with pytest.raises(ValueError, match="index or a retriever"):
        CitationQueryEngine.from_args(llm=ScriptedLLM())


def test_citation_leads_to_the_sentence_without_a_model() -> None:
    splitter = SentenceSplitter(12, 0, tokenizer=str.split)
    hit = NodeWithScore(
        TextNode(
            "Bread needs flour. Beer needs malt and hops to be brewed. Wine needs grapes.",
            "n",
            {},
            "d",
            0,
            74,
        ),
        1.0,
    )
    response = CitationQueryEngine(
        ListRetriever([hit]), ExtractiveLLM(HashEmbedding()), text_splitter=splitter
    ).query("What does beer need?")
    cited = response.source_nodes[int(str(response).split("[")[1].split("]")[0]) - 1]
    assert "malt and hops" in str(response)
    assert "malt and hops" in cited.text


@given(st.text("ab. \n", min_size=1, max_size=200), st.integers(0, 50), st.integers(2, 10))
def test_every_small_passage_stands_where_it_says(text: str, start: int, size: int) -> None:
    document = " " * start + text
    node = TextNode(text, "n", ref_doc_id="d", start_char_idx=start, end_char_idx=start + len(text))
    for hit in engine(NodeWithScore(node), size=size, overlap=0).retrieve("?"):
        assert document[hit.node.start_char_idx : hit.node.end_char_idx] == hit.text
