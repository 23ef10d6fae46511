"""What a synthesizer says to its model, and how a script changes it; what of a passage's metadata a model
sees."""

from __future__ import annotations

import logging

import pytest

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.extractive.answerer import ExtractiveLLM
from ragcore.indices import VectorStoreIndex
from ragcore.llms.scripted import ScriptedLLM
from ragcore.prompts.document_text import CLOSING, OPENING
from ragcore.prompts.prompt import Prompt
from ragcore.prompts.templates import ChatPromptTemplate, PromptTemplate, SelectorPromptTemplate
from ragcore.prompts.wording import GENERATION, REFINE, TEXT_QA, TREE_SUMMARIZE
from ragcore.query_engine import RetrieverQueryEngine
from ragcore.response_synthesizers import ResponseMode, Synthesizer, TreeSummarize, get_response_synthesizer
from ragcore.response_synthesizers.base import NOTHING_FOUND, passages_from
from ragcore.response_synthesizers.quoting import QuotingSynthesizer
from ragcore.schema import MessageRole, NodeWithScore, Template, TextNode
from ragcore.settings import Settings
from tests.ragcore.response_synthesizers.doubles import ListRetriever, counting, nodes, prompts, word_llm


def test_each_mode_names_the_prompts_that_it_uses() -> None:
    def used(mode: ResponseMode) -> dict[str, object]:
        return dict(get_response_synthesizer(word_llm([]), mode).get_prompts())

    both = {"text_qa_template": TEXT_QA, "refine_template": REFINE}
    assert {mode.value: used(mode) for mode in ResponseMode} == {
        "refine": both,
        "compact": both,
        "simple_summarize": {"text_qa_template": TEXT_QA},
        "tree_summarize": {"summary_template": TREE_SUMMARIZE},
        "generation": {"simple_template": GENERATION},
        "no_text": {},
        "accumulate": {"text_qa_template": TEXT_QA},
        "compact_accumulate": {"text_qa_template": TEXT_QA},
    }


@pytest.mark.parametrize("prompt", [TEXT_QA, REFINE, TREE_SUMMARIZE], ids=lambda prompt: str(prompt.name))
def test_model_is_instructed_to_answer_from_passages_alone(prompt: Prompt) -> None:
    first = prompt.messages[0]
    assert first.role is MessageRole.SYSTEM
    assert "Use only the passages you are given" in first.content
    assert "could not find it in the documents" in first.content


def test_updated_prompts_are_used_from_then_on() -> None:
    llm = word_llm(counting())
    synthesizer = Synthesizer(llm, "refine")
    synthesizer.update_prompts({"text_qa_template": PromptTemplate('{"q": "{query_str}"} {context_str}')})
    synthesizer.synthesize("What?", nodes("a", "b"))
    assert prompts(llm) == ["text_qa", "refine"]
    assert (
        llm.calls[0].messages[0].content == f'{{"q": "What?"}} {OPENING}\n[1] book.pdf, page 1\na\n{CLOSING}'
    )
    assert synthesizer.get_prompts()["refine_template"] is REFINE


def test_unknown_prompt_is_refused_and_known_ones_are_named() -> None:
    synthesizer = Synthesizer(word_llm([]), "refine")
    with pytest.raises(ValueError, match=r"summary_template.*refine_template.*text_qa_template"):
        synthesizer.update_prompts(
            {"summary_template": PromptTemplate("x"), "text_qa_template": PromptTemplate("y")}
        )
    assert synthesizer.get_prompts()["text_qa_template"] is TEXT_QA


@pytest.mark.parametrize(
    ("mode", "slot", "name"),
    [
        ("compact", "text_qa_template", "text_qa"),
        ("simple_summarize", "text_qa_template", "text_qa"),
        ("tree_summarize", "summary_template", "tree_summarize"),
        ("generation", "simple_template", "generation"),
        ("accumulate", "text_qa_template", "text_qa"),
    ],
)
def test_a_template_does_the_task_of_its_place(mode: str, slot: str, name: str) -> None:
    llm = word_llm(counting())
    chat = ChatPromptTemplate.from_messages([("system", "Be brief."), ("user", "own {query_str}")])
    synthesizer = Synthesizer(llm, mode)
    synthesizer.update_prompts(
        {slot: SelectorPromptTemplate(PromptTemplate("other"), [(lambda model: model is llm, chat)])}
    )
    synthesizer.synthesize("What?", nodes("a"))
    assert prompts(llm) == [name]
    assert [message.content for message in llm.calls[0].messages] == ["Be brief.", "own What?"]


@pytest.mark.parametrize(
    ("mode", "slots"),
    [("refine", ["text_qa", "refine"]), ("tree_summarize", ["summary"]), ("generation", ["simple"])],
)
def test_each_template_argument_replaces_its_prompt(mode: str, slots: list[str]) -> None:
    wording = {
        f"{slot}_template": PromptTemplate(slot) for slot in ("text_qa", "refine", "summary", "simple")
    }
    index = VectorStoreIndex([TextNode("a"), TextNode("b")], embed_model=HashEmbedding())

    def made(llm: ScriptedLLM) -> list[Synthesizer | RetrieverQueryEngine]:
        return [
            get_response_synthesizer(llm, mode, *wording.values()),
            RetrieverQueryEngine.from_args(ListRetriever(nodes("a", "b")), llm, mode, *wording.values()),
            index.as_query_engine(llm, mode, **wording),  # type: ignore[arg-type]
        ]

    for place in range(3):
        llm = word_llm(counting())
        asked = made(llm)[place]
        _ = asked.synthesize("What?", nodes("a", "b"))
        assert [call.messages[-1].content for call in llm.calls] == slots


def test_template_function_may_change_how_passages_are_displayed() -> None:
    def shout(**values: str) -> str:
        return values["context_str"].upper()

    llm = word_llm(counting(), window=300)
    own = PromptTemplate("{context_str} {query_str}", function_mappings={"context_str": shout})
    synthesizer = get_response_synthesizer(llm, "compact", text_qa_template=own)
    synthesizer.synthesize("What?", nodes("some words", "word " * 400))
    assert llm.calls[0].messages[0].content == f"{OPENING}\n[1] BOOK.PDF, PAGE 1\nSOME WORDS\n{CLOSING} What?"
    assert len(llm.calls) > 1


def test_quoting_reader_answers_with_any_prompt() -> None:
    own = PromptTemplate("Bitte: {context_str} {query_str}")
    synthesizer = get_response_synthesizer(ExtractiveLLM(HashEmbedding()), text_qa_template=own)
    answer = synthesizer.synthesize("Who was elected chair?", nodes("Maria Silva was elected chair."))
    assert str(answer) == "Maria Silva was elected chair. [1]"


def test_without_a_model_that_of_the_settings_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    llm = word_llm(["said"])
    monkeypatch.setattr(Settings, "llm", llm)
    assert (
        get_response_synthesizer(response_mode="generation").synthesize("What?", nodes("a")).response
        == "said"
    )
    monkeypatch.setattr(Settings, "llm", None)
    assert isinstance(get_response_synthesizer(), QuotingSynthesizer)


def test_additional_sources_are_returned_but_not_sent() -> None:
    llm = word_llm(["said"])
    found, more = nodes("a", "b")
    response = get_response_synthesizer(llm).synthesize("What?", [found], additional_source_nodes=[more])
    assert response.source_nodes == (found, more)
    assert response.metadata == {found.node_id: found.metadata, more.node_id: more.metadata}
    assert "page 2" not in llm.calls[0].messages[-1].content


def test_an_answer_goes_on_from_an_earlier_one() -> None:
    llm = word_llm(counting())
    response = get_response_synthesizer(llm, "refine").synthesize(
        "What?", nodes("a", "b"), prev_response="before"
    )
    assert (response.response, prompts(llm)) == ("A2", ["refine", "refine"])
    assert [call.variables["existing_answer"] for call in llm.calls] == ["before", "A1"]
    assert get_response_synthesizer(llm).synthesize("What?", [], prev_response="before").response == "before"
    with pytest.raises(ValueError, match="accumulate"):
        get_response_synthesizer(llm, "accumulate").synthesize("What?", nodes("a"), prev_response="before")


def test_a_verbose_synthesizer_logs_each_trace(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "ragcore.response_synthesizers")
    for verbose in (False, True):
        TreeSummarize(word_llm(counting()), verbose=verbose).get_response("What?", ["a"])
        get_response_synthesizer(word_llm(counting()), verbose=verbose).synthesize("What?", nodes("a"))
    assert [message.split()[0].rstrip(":") for message in caplog.messages] == ["synthesize", "synthesize"]


async def _synthesize(synthesizer: Synthesizer) -> str:
    return (await synthesizer.asynthesize("What?", [])).response


def test_an_answer_can_be_awaited() -> None:
    import asyncio

    assert asyncio.run(_synthesize(get_response_synthesizer(word_llm([])))) == NOTHING_FOUND


def test_model_sees_non_file_metadata_in_the_node_s_template() -> None:
    metadata = {"file_name": "a.pdf", "page_label": "3", "title": "A", "year": "1871", "secret": "x"}
    plain = TextNode("text", metadata=metadata, excluded_llm_metadata_keys=("secret",))
    own = TextNode(
        "text",
        metadata={"year": "{content}"},
        template=Template("<{metadata_str}> {content}", "{key}={value}"),
    )
    made = passages_from(
        [NodeWithScore(plain), NodeWithScore(own), NodeWithScore(TextNode("text", metadata={"path": "a"}))]
    )
    assert [str(passage) for passage in made] == [
        "[1] a.pdf, page 3\nyear: 1871\n\ntext",
        "[2]\n<year={content}> text",
        "[3]\ntext",
    ]
