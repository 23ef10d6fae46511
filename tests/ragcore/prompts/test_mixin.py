"""Every part that has prompts names them as LlamaIndex does, and uses those that a script puts in their
place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from pydantic import BaseModel

from ragcore.chat_engine import (
    CondensePlusContextChatEngine,
    CondenseQuestionChatEngine,
    ContextChatEngine,
    SimpleChatEngine,
)
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.evaluation import (
    AnswerRelevancyEvaluator,
    CorrectnessEvaluator,
    FaithfulnessEvaluator,
    PairwiseComparisonEvaluator,
    SemanticSimilarityEvaluator,
)
from ragcore.extractors import KeywordExtractor, QuestionsAnsweredExtractor, SummaryExtractor, TitleExtractor
from ragcore.indices import VectorStoreIndex
from ragcore.llamaindex.postprocessor import AutoPrevNextNodePostprocessor
from ragcore.llamaindex.program.llm_program import LLMTextCompletionProgram
from ragcore.llamaindex.query_engine import (
    CitationQueryEngine,
    CustomQueryEngine,
    LLMQuestionGenerator,
    MultiStepQueryEngine,
    SubQuestionQueryEngine,
    TransformQueryEngine,
)
from ragcore.llamaindex.retrievers import QueryFusionRetriever, TransformRetriever, VectorIndexAutoRetriever
from ragcore.llamaindex.retrievers.transform_retriever import (
    DecomposeQueryTransform,
    HyDEQueryTransform,
    StepDecomposeQueryTransform,
)
from ragcore.llms.scripted import ScriptedLLM
from ragcore.postprocessor import LLMRerank, RankGPTRerank, SimilarityPostprocessor
from ragcore.prompts.mixin import PromptDictType, PromptMixin, PromptMixinType
from ragcore.prompts.templates import ChatPromptTemplate, PromptTemplate, SelectorPromptTemplate
from ragcore.query_engine import RetrieverQueryEngine, RouterQueryEngine
from ragcore.response_synthesizers import TreeSummarize, get_response_synthesizer
from ragcore.retrievers import RouterRetriever
from ragcore.schema import ChatMessage, MessageRole, TextNode
from ragcore.selectors import EmbeddingSingleSelector, LLMMultiSelector, LLMSingleSelector
from ragcore.storage.docstore import SimpleDocumentStore
from ragcore.tools import QueryEngineTool, RetrieverTool
from ragcore.vector_stores import MetadataInfo, VectorStoreInfo
from tests.ragcore.response_synthesizers.doubles import ListRetriever, nodes, word_llm

TWO = nodes("Ada wrote notes.", "Maps.")
QA = "response_synthesizer:text_qa_template"
REFINE = "response_synthesizer:refine_template"


class Song(BaseModel):
    title: str


def index(llm: ScriptedLLM) -> VectorStoreIndex:
    return VectorStoreIndex([hit.node for hit in TWO], embed_model=HashEmbedding(), llm=llm)


def engine(llm: ScriptedLLM, mode: str = "compact") -> RetrieverQueryEngine:
    return RetrieverQueryEngine.from_args(ListRetriever(TWO), llm, mode)


def tool(llm: ScriptedLLM) -> QueryEngineTool:
    return QueryEngineTool.from_defaults(engine(llm), "letters", "Letters.")


def filled_from(llm: ScriptedLLM) -> VectorIndexAutoRetriever:
    return VectorIndexAutoRetriever(
        index(llm), VectorStoreInfo([MetadataInfo("year", "integer", "When.")], "Letters"), llm
    )


PARTS: Mapping[str, tuple[Callable[[ScriptedLLM], PromptMixin], Sequence[str]]] = {
    "compact": (lambda llm: get_response_synthesizer(llm), ["text_qa_template", "refine_template"]),
    "tree": (lambda llm: TreeSummarize(llm), ["summary_template"]),
    "retriever engine": (engine, [QA, REFINE]),
    "citation": (lambda llm: CitationQueryEngine(ListRetriever(TWO), llm), [QA, REFINE]),
    "router": (
        lambda llm: RouterQueryEngine(LLMSingleSelector(llm), [tool(llm)], llm),
        ["summarizer:summary_template", "selector:prompt"],
    ),
    "sub-questions": (
        lambda llm: SubQuestionQueryEngine([tool(llm)], llm),
        ["question_gen:question_gen_prompt", "response_synthesizer:summary_template"],
    ),
    "steps": (
        lambda llm: MultiStepQueryEngine(engine(llm), StepDecomposeQueryTransform(llm), TreeSummarize(llm)),
        ["response_synthesizer:summary_template", "query_transform:step_decompose_query_prompt"],
    ),
    "transform": (
        lambda llm: TransformQueryEngine(engine(llm), HyDEQueryTransform(llm)),
        ["query_transform:hyde_prompt", f"query_engine:{QA}", f"query_engine:{REFINE}"],
    ),
    "question generator": (lambda llm: LLMQuestionGenerator(llm), ["question_gen_prompt"]),
    "decompose": (lambda llm: DecomposeQueryTransform(llm), ["decompose_query_prompt"]),
    "fusion": (lambda llm: QueryFusionRetriever([index(llm).as_retriever()], llm), ["query_gen_prompt"]),
    "auto": (filled_from, ["prompt"]),
    "router of retrievers": (
        lambda llm: RouterRetriever(
            LLMSingleSelector(llm), [RetrieverTool.from_defaults(index(llm).as_retriever(), "a", "b")]
        ),
        ["selector:prompt"],
    ),
    "transformed retriever": (
        lambda llm: TransformRetriever(index(llm).as_retriever(), HyDEQueryTransform(llm)),
        ["query_transform:hyde_prompt"],
    ),
    "vector retriever": (lambda llm: index(llm).as_retriever(), []),
    "rerank": (lambda llm: LLMRerank(llm), ["choice_select_prompt"]),
    "rankgpt": (lambda llm: RankGPTRerank(llm=llm), ["rankgpt_rerank_prompt"]),
    "reading on": (lambda llm: AutoPrevNextNodePostprocessor(SimpleDocumentStore(), llm), ["prompt"]),
    "cutoff": (lambda llm: SimilarityPostprocessor(), []),
    "single selector": (lambda llm: LLMSingleSelector(llm), ["prompt"]),
    "multi selector": (lambda llm: LLMMultiSelector(llm), ["prompt"]),
    "embedding selector": (lambda llm: EmbeddingSingleSelector(HashEmbedding()), []),
    "faithfulness": (lambda llm: FaithfulnessEvaluator(llm), ["eval_template"]),
    "answer relevancy": (lambda llm: AnswerRelevancyEvaluator(llm), ["eval_template"]),
    "correctness": (lambda llm: CorrectnessEvaluator(llm), ["eval_template"]),
    "pairwise": (lambda llm: PairwiseComparisonEvaluator(llm), ["eval_template"]),
    "similarity": (lambda llm: SemanticSimilarityEvaluator(HashEmbedding()), []),
    "titles": (lambda llm: TitleExtractor(llm), ["node_template", "combine_template"]),
    "keywords": (lambda llm: KeywordExtractor(llm), ["prompt_template"]),
    "questions": (lambda llm: QuestionsAnsweredExtractor(llm), ["prompt_template"]),
    "summaries": (lambda llm: SummaryExtractor(llm), ["prompt_template"]),
    "program": (
        lambda llm: LLMTextCompletionProgram.from_defaults(
            output_cls=Song, prompt_template_str="Sing.", llm=llm
        ),
        ["prompt"],
    ),
    "condense": (
        lambda llm: CondenseQuestionChatEngine.from_defaults(engine(llm), llm=llm),
        ["condense_question_prompt", f"query_engine:{QA}", f"query_engine:{REFINE}"],
    ),
    "context": (lambda llm: ContextChatEngine.from_defaults(ListRetriever(TWO), llm), ["context_template"]),
    "condense plus context": (
        lambda llm: CondensePlusContextChatEngine.from_defaults(ListRetriever(TWO), llm),
        ["context_prompt", "condense_prompt"],
    ),
    "simple chat": (lambda llm: SimpleChatEngine.from_defaults(llm), []),
}


@pytest.mark.parametrize("name", PARTS)
def test_every_part_names_its_prompts_and_takes_others(name: str) -> None:
    make, names = PARTS[name]
    part = make(word_llm([]))
    before = part.get_prompts()
    assert list(before) == names
    for key in names:
        part.update_prompts({key: PromptTemplate("Own words for {query_str}")})
        after = part.get_prompts()
        assert "Own words for {query_str}" in after[key].get_template()
        assert (after[key].name, after[key].task) == (before[key].name, before[key].task)
        before = before | {key: after[key]}
        assert after == before


def test_a_prompt_of_a_part_is_what_its_model_is_sent() -> None:
    llm = word_llm(['[{"choice": 1, "reason": "It fits."}]', "Ada."])
    router = RouterQueryEngine(LLMSingleSelector(llm), [tool(llm)], llm)
    router.update_prompts({"selector:prompt": "Choose from {choices}: {query_str}"})
    router.query("Who?")
    assert llm.calls[0].messages[-1].content == "Choose from (1) letters: Letters.: Who?"


def test_selector_template_chooses_the_prompt_for_the_model() -> None:
    llm = word_llm(["Doc: 1, Relevance: 9"])
    rerank = LLMRerank(llm)
    own = SelectorPromptTemplate(
        PromptTemplate("other"), [(lambda model: model is llm, PromptTemplate("{query_str}!"))]
    )
    rerank.update_prompts({"choice_select_prompt": own})
    rerank.postprocess_nodes(TWO, query_str="Who?")
    assert llm.calls[0].messages[-1].content == "Who?!"


def test_a_conversation_goes_on_with_the_updated_prompts() -> None:
    llm = word_llm(["Who is Ada?", "A writer."])
    chat = CondensePlusContextChatEngine.from_defaults(ListRetriever(TWO), llm, system_prompt="Be kind.")
    chat.update_prompts(
        {"condense_prompt": "Alone: {chat_history} {question}", "context_prompt": "By {context_str}"}
    )
    chat.chat(
        "And she?", [ChatMessage(MessageRole.USER, "Hello"), ChatMessage(MessageRole.ASSISTANT, "Hello.")]
    )
    condensing, answering = llm.calls
    assert condensing.messages[0].content == "Alone: user: Hello\nassistant: Hello. And she?"
    assert answering.messages[0].content == "Be kind."
    assert answering.messages[-1].content.startswith("By ")
    assert answering.messages[-1].content.endswith("And she?")


def test_an_extractor_asks_with_a_template_of_a_script() -> None:
    llm = word_llm(["a, b"])
    KeywordExtractor(llm, keywords=2, prompt_template="{keywords} words of {context_str}")(
        [TextNode("Ada wrote.")]
    )
    assert "2 words of" in llm.calls[0].messages[0].content
    assert "Ada wrote." in llm.calls[0].messages[0].content


def test_an_unknown_prompt_is_refused_and_nothing_changes() -> None:
    part = engine(word_llm([]))
    before = part.get_prompts()
    for wrong in ("text_qa_template", "response_synthesizer:summary_template", "retriever:prompt"):
        with pytest.raises(ValueError, match=rf"RetrieverQueryEngine has no prompt \['{wrong}'\].*{QA}"):
            part.update_prompts({QA: "x", wrong: "y"})
    assert part.get_prompts() == before


class OwnRetriever(PromptMixin):
    """A part of a script, in LlamaIndex's way."""

    def __init__(self) -> None:
        self.own: dict[str, Any] = {"abc": PromptTemplate("{abc}")}

    def _get_prompts(self) -> PromptDictType:
        return self.own

    def _update_prompts(self, prompts: Mapping[str, Any]) -> None:
        self.own.update(prompts)


class OwnEngine(CustomQueryEngine):
    retriever: Any

    def custom_query(self, query_str: str) -> str:
        return query_str

    def _get_prompt_modules(self) -> PromptMixinType:
        return {"retriever": self.retriever}


def test_a_script_says_itself_which_prompts_its_parts_have() -> None:
    own = OwnEngine(retriever=OwnRetriever())
    chat = ChatPromptTemplate.from_messages([("system", "Be brief."), ("user", "{abc}")])
    own.update_prompts({"retriever:abc": chat})
    assert own.get_prompts() == {"retriever:abc": chat}
    own.retriever.own["a:b"] = chat
    with pytest.raises(ValueError, match="colon"):
        own.get_prompts()
