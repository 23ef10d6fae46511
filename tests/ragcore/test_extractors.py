import threading
from collections import Counter
from collections.abc import Sequence

import pytest

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import LLMServerError
from ragcore.extractive.answerer import ExtractiveLLM
from ragcore.extractors import KeywordExtractor, QuestionsAnsweredExtractor, SummaryExtractor, TitleExtractor
from ragcore.llms.base import Generation, LLMCall
from ragcore.llms.scripted import ScriptedLLM
from ragcore.prompts.prompt import Passage, RenderedMessage, as_text
from ragcore.schema import Document, MetadataMode, TextNode


def node(text: str, document: str | None = "d", **metadata: str) -> TextNode:
    return TextNode(text, f"{document}/{text}", metadata, document)


def read_passage(call: LLMCall) -> str:
    return as_text(
        call.variables["context_str"] if "context_str" in call.variables else call.variables["text"]
    )


def summing_up() -> ScriptedLLM:
    return ScriptedLLM(lambda call: f" <{read_passage(call)}> ")


def titles(call: LLMCall) -> str:
    letter = "T" if call.prompt.name == "title_of_document" else "t"
    return f"{letter}({read_passage(call).replace(chr(10) * 2, '+')})"


def test_title_combines_first_passages_and_is_on_all_of_them() -> None:
    llm = ScriptedLLM(titles)
    given = [node("a1"), node("b1", "e"), node("a2"), node("  "), node("a3"), node("a4")]
    found = TitleExtractor(llm, nodes=3)(given)
    assert [each.metadata["document_title"] for each in found] == [
        "T(t(a1)+t(a2)+t(a3))" if each.ref_doc_id == "d" else "T(t(b1))" for each in given
    ]
    assert Counter(call.prompt for call in llm.calls) == {"title_of_passage": 4, "title_of_document": 2}


def test_passages_without_document_share_a_title() -> None:
    found = TitleExtractor(ScriptedLLM(titles))(
        [node("a", None), node("b", None), Document("c", "c"), Document("d", "d")]
    )
    assert [each.metadata["document_title"] for each in found] == ["T(t(a)+t(b))"] * 2 + [
        "T(t(c))",
        "T(t(d))",
    ]


def test_keywords_are_one_line_of_at_most_the_requested_number() -> None:
    llm = ScriptedLLM(
        ["**KEYWORDS:** cats, dogs, cats, Sea Birds.", "1. one\n2. two\n3. three\n4. four"], model_name="x"
    )
    found = KeywordExtractor(llm, keywords=3, num_workers=1, show_progress=True)([node("x"), node("y")])
    assert [each.metadata["excerpt_keywords"] for each in found] == [
        "cats, dogs, Sea Birds",
        "one, two, three",
    ]
    assert [call.variables["max_keywords"] for call in llm.calls] == ["3", "3"]


def test_questions_stand_one_a_line_as_the_model_wrote_them() -> None:
    llm = ScriptedLLM(["Why?\nWhen?\n"])
    assert QuestionsAnsweredExtractor(llm, questions=2)([node("x")])[0].metadata == {
        "questions_this_excerpt_can_answer": "Why?\nWhen?"
    }
    assert llm.calls[0].variables["num_questions"] == "2"


def test_passage_gets_its_summary_and_those_of_its_neighbours() -> None:
    given = [node("a"), node("b"), node("c"), node("d", "other")]
    llm = summing_up()
    found = SummaryExtractor(llm, ["self", "prev", "next"])(given)
    assert [dict(each.metadata) for each in found] == [
        {"section_summary": "<a>", "next_section_summary": "<b>"},
        {"section_summary": "<b>", "prev_section_summary": "<a>", "next_section_summary": "<c>"},
        {"section_summary": "<c>", "prev_section_summary": "<b>"},
        {"section_summary": "<d>"},
    ]
    assert len(llm.calls) == 4
    only_next = SummaryExtractor(summing_up(), ["next"])(given)
    assert [dict(each.metadata) for each in only_next] == [
        {"next_section_summary": "<b>"},
        {"next_section_summary": "<c>"},
        {},
        {},
    ]


def test_model_sees_visible_metadata_and_a_quoting_reader_none() -> None:
    seen = TextNode("text", "n", {"a": "1", "b": "2"}, excluded_llm_metadata_keys=("b",))
    llm = summing_up()
    SummaryExtractor(llm)([seen])
    assert llm.calls[0].variables["context_str"] == (Passage("a: 1\n\ntext"),)
    dogs = TextNode(
        "Dogs bark at night when they are alone in the garden of the house.", "n", {"zebra": "xylophone"}
    )
    quoted = SummaryExtractor(ExtractiveLLM(HashEmbedding()))([dogs])[0].metadata["section_summary"]
    assert "Dogs bark" in str(quoted)
    assert "zebra" not in str(quoted)


def test_new_metadata_joins_the_old_and_inputs_stay_unchanged() -> None:
    given = node("x", lang="en")
    before = dict(given.metadata)
    found = SummaryExtractor(summing_up())([given])[0]
    assert found.metadata == {"lang": "en", "section_summary": "<lang: en\n\nx>"}
    assert (found.id_, found.text, found.ref_doc_id) == (given.id_, given.text, given.ref_doc_id)
    assert given.metadata == before


def test_empty_passages_and_empty_lists_make_no_calls() -> None:
    llm = ScriptedLLM()
    for extractor in (
        TitleExtractor(llm),
        KeywordExtractor(llm),
        QuestionsAnsweredExtractor(llm),
        SummaryExtractor(llm),
    ):
        assert [dict(each.metadata) for each in extractor([node(" \n")])] == [{}]
        assert extractor([]) == []
    assert llm.calls == []


def test_calls_run_in_parallel_with_results_in_order() -> None:
    together = threading.Barrier(5, timeout=10)

    class Waiting(ScriptedLLM):
        def _generate(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> Generation:
            together.wait()  # goes on only once five calls have come
            return super()._generate(call, messages)

    found = SummaryExtractor(Waiting(read_passage), num_workers=5)(
        [node(str(number)) for number in range(10)]
    )
    assert [each.metadata["section_summary"] for each in found] == [str(number) for number in range(10)]


def test_a_failing_call_fails_the_whole_step() -> None:
    llm = ScriptedLLM(
        lambda call: LLMServerError("The server failed.") if read_passage(call) == "b" else "ok"
    )
    given = [node("a"), node("b"), node("c")]
    with pytest.raises(LLMServerError, match="The server failed"):
        SummaryExtractor(llm)(given)
    assert [dict(each.metadata) for each in given] == [{}, {}, {}]


def test_invalid_numbers_are_reported_at_once() -> None:
    llm = ScriptedLLM()
    for make in (
        lambda: TitleExtractor(llm, nodes=0),
        lambda: KeywordExtractor(llm, keywords=0),
        lambda: QuestionsAnsweredExtractor(llm, questions=0),
        lambda: SummaryExtractor(llm, num_workers=0),
        lambda: SummaryExtractor(llm, ["self", "before"]),  # type: ignore[list-item]
    ):
        with pytest.raises(ValueError, match=r"is 0|before"):
            make()


def test_a_model_reads_the_metadata_that_the_mode_says() -> None:
    seen = {}
    for mode in (None, MetadataMode.EMBED, MetadataMode.NONE):
        llm = ScriptedLLM(["a"])
        titled = TextNode(
            "x", metadata={"title": "Tides", "secret": "Salt"}, excluded_llm_metadata_keys=("secret",)
        )
        QuestionsAnsweredExtractor(llm, metadata_mode=mode)([titled])
        seen[mode] = [word in llm.calls[0].messages[0].content for word in ("Tides", "Salt")]
    assert seen == {None: [True, False], MetadataMode.EMBED: [True, True], MetadataMode.NONE: [False, False]}


def test_nodes_are_edited_only_with_in_place() -> None:
    for in_place in (False, True):
        passage = TextNode("x")
        (found,) = KeywordExtractor(ScriptedLLM(["a"]), in_place=in_place)([passage])
        assert (found is passage, passage.metadata == found.metadata) == (in_place, in_place)
