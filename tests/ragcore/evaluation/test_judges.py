from __future__ import annotations

import asyncio
import threading

import pytest

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import ContextWindowError
from ragcore.evaluation import (
    AnswerRelevancyEvaluator,
    BaseEvaluator,
    ContextRelevancyEvaluator,
    CorrectnessEvaluator,
    EvaluationResult,
    FaithfulnessEvaluator,
    GuidelineEvaluator,
    PairwiseComparisonEvaluator,
    RelevancyEvaluator,
    SemanticSimilarityEvaluator,
)
from ragcore.extractive.answerer import ExtractiveLLM
from ragcore.llms.base import LLMCall
from ragcore.llms.scripted import ScriptedLLM
from ragcore.observe import span
from ragcore.prompts.document_text import CLOSING, OPENING
from ragcore.prompts.templates import PromptTemplate
from ragcore.schema import NodeWithScore, Response, TextNode
from tests.ragcore.response_synthesizers.doubles import UnlockedLLM, passages_of, word_llm

CONTEXTS = ["Rome was founded in 753 BC.", "Paris is on the Seine."]
YES_NO = [
    FaithfulnessEvaluator,
    RelevancyEvaluator,
    AnswerRelevancyEvaluator,
    ContextRelevancyEvaluator,
    GuidelineEvaluator,
]


def judged(evaluator: BaseEvaluator, contexts: list[str] | None = None) -> EvaluationResult:
    return evaluator.evaluate("When?", "In 753 BC.", CONTEXTS if contexts is None else contexts)


@pytest.mark.smoke
@pytest.mark.parametrize("kind", YES_NO)
def test_yes_passes_no_fails_and_the_reply_is_the_feedback(kind: type[FaithfulnessEvaluator]) -> None:
    yes = judged(kind(ScriptedLLM(["**Yes**, it does."])))
    assert (yes.score, yes.passing, yes.feedback, yes.invalid_result) == (
        1.0,
        True,
        "**Yes**, it does.",
        False,
    )
    assert (yes.query, yes.response, yes.contexts) == ("When?", "In 753 BC.", tuple(CONTEXTS))
    no = judged(kind(ScriptedLLM(["no"])))
    assert (no.score, no.passing) == (0.0, False)


@pytest.mark.parametrize("kind", YES_NO)
def test_a_reply_that_says_neither_is_an_invalid_result(kind: type[FaithfulnessEvaluator]) -> None:
    result = judged(kind(ScriptedLLM(["I would rather not say."])))
    assert (result.score, result.passing, result.invalid_result) == (None, None, True)
    assert result.feedback == "I would rather not say."
    assert result.invalid_reason


def test_each_judges_prompt_has_what_it_judges() -> None:
    shown = {
        FaithfulnessEvaluator: ["In 753 BC.", "[1]\nRome was", "[2]\nParis"],
        RelevancyEvaluator: ["When?", "In 753 BC.", "[1]\nRome was"],
        AnswerRelevancyEvaluator: ["When?", "In 753 BC."],
        ContextRelevancyEvaluator: ["When?", "[1]\nRome was"],
    }
    for kind, texts in shown.items():
        llm = ScriptedLLM(["YES"])
        judged(kind(llm))
        assert [text for text in texts if text not in llm.calls[0].messages[-1].content] == [], kind


def test_the_prompt_has_the_guidelines() -> None:
    llm = ScriptedLLM(["YES"])
    judged(GuidelineEvaluator(llm, guidelines="Cite the year."))
    assert "Cite the year." in llm.calls[0].messages[-1].content


def rule(call: LLMCall) -> str:
    return "YES there" if any("needle" in passage.text for passage in passages_of(call)) else "NO not there"


@pytest.mark.parametrize(("needle", "passing"), [(True, True), (False, False)])
def test_contexts_beyond_the_window_need_one_yes_among_packs(needle: bool, passing: bool) -> None:
    contexts = [f"hay {number} " * 30 for number in range(20)]
    if needle:
        contexts[17] += " needle"
    llm = word_llm(rule, window=300)
    result = FaithfulnessEvaluator(llm).evaluate(response="There is one.", contexts=contexts)
    assert len(llm.calls) > 3
    shown = [passage.number for logged in llm.calls for passage in passages_of(logged.call)]
    assert sorted(set(shown), key=str) == sorted(range(1, 21), key=str)
    assert result.passing is passing
    assert result.feedback == ("YES there" if passing else "NO not there")


def test_packs_are_judged_at_the_same_time() -> None:
    together = threading.Barrier(2, timeout=5)

    def waits(call: LLMCall) -> str:
        together.wait()
        return "YES"

    llm = UnlockedLLM(waits, window=160)
    assert FaithfulnessEvaluator(llm).evaluate(response="r", contexts=["hay " * 60] * 2).passing


def test_without_contexts_nothing_is_faithful_and_no_call_is_due() -> None:
    llm = ScriptedLLM()
    result = judged(FaithfulnessEvaluator(llm), [])
    assert (result.score, result.passing, result.invalid_result) == (0.0, False, False)
    assert llm.calls == []


def test_what_does_not_fit_and_cannot_be_packed_is_an_error() -> None:
    with pytest.raises(ContextWindowError):
        AnswerRelevancyEvaluator(word_llm(lambda call: "YES", window=120)).evaluate("When?", "word " * 200)


@pytest.mark.parametrize(
    ("reply", "score", "passing"),
    [("4\nGood.", 4.0, True), ("3.5\nFair.", 3.5, False), ("Score: 5/5", 5.0, True), ("?", None, None)],
)
def test_correctness_passes_from_four_of_five(reply: str, score: float | None, passing: bool | None) -> None:
    result = CorrectnessEvaluator(ScriptedLLM([reply])).evaluate("When?", "In 753.", reference="753 BC")
    assert (result.score, result.passing, result.invalid_result) == (score, passing, score is None)


def test_correctness_uses_the_reference_and_a_chosen_threshold() -> None:
    llm = ScriptedLLM(["3\nHalf right."])
    result = CorrectnessEvaluator(llm, score_threshold=3.0).evaluate("When?", "In 753.", reference="753 BC")
    assert (result.passing, result.feedback) == (True, "Half right.")
    assert "753 BC" in llm.calls[0].messages[-1].content


@pytest.mark.parametrize(
    ("prefers", "score", "passing"),
    [
        ("good", 1.0, True),
        ("bad", 0.0, False),
        ("the first", 0.5, None),
        ("the second", 0.5, None),
        ("neither", 0.5, None),
    ],
)
def test_only_an_answer_that_wins_in_both_orders_is_better(
    prefers: str, score: float, passing: bool | None
) -> None:
    def says(call: LLMCall) -> str:
        fixed = {"the first": "A", "the second": "B", "neither": "TIE"}
        return fixed.get(prefers, "A" if call.variables["response"] == prefers else "B")

    llm = ScriptedLLM(says)
    result = PairwiseComparisonEvaluator(llm).evaluate(
        "Which?", "good", second_response="bad", reference="right"
    )
    assert (result.score, result.passing, result.invalid_result) == (score, passing, False)
    assert sorted(str(logged.variables["second_response"]) for logged in llm.calls) == ["bad", "good"]
    assert {logged.variables["reference"] for logged in llm.calls} == {"right"}


def test_one_order_alone_may_decide() -> None:
    llm = ScriptedLLM(["B"])
    result = PairwiseComparisonEvaluator(llm, enforce_consensus=False).evaluate(
        "Which?", "bad", second_response="good"
    )
    assert (result.score, result.passing, len(llm.calls)) == (0.0, False, 1)


def test_preference_in_one_order_is_a_tie_and_none_is_invalid() -> None:
    def once(call: LLMCall) -> str:
        return "A" if call.variables["response"] == "x" else "TIE"

    assert PairwiseComparisonEvaluator(ScriptedLLM(once)).evaluate("?", "x", second_response="y").score == 0.5

    def unclear(call: LLMCall) -> str:
        return "A" if call.variables["response"] == "x" else "Hm."

    assert (
        PairwiseComparisonEvaluator(ScriptedLLM(unclear))
        .evaluate("?", "x", second_response="y")
        .invalid_result
    )


def test_similarity_is_the_cosine_of_both_texts() -> None:
    embedder = HashEmbedding()
    evaluator = SemanticSimilarityEvaluator(embedder)
    same = evaluator.evaluate(response="cats sleep on mats", reference="cats sleep on mats")
    assert (same.score, same.passing) == (pytest.approx(1.0), True)
    result = evaluator.evaluate(response="cats sleep", reference="cats sleep on warm mats")
    cosine = float(embedder.embed_query("cats sleep") @ embedder.embed_query("cats sleep on warm mats"))
    assert (result.score, result.passing) == (pytest.approx(cosine), False)
    assert result.score is not None
    for threshold, passing in [
        (result.score - 0.01, True),
        (result.score, True),
        (result.score + 1e-6, False),
    ]:
        evaluator = SemanticSimilarityEvaluator(embedder, threshold)
        assert (
            evaluator.evaluate(response="cats sleep", reference="cats sleep on warm mats").passing is passing
        )


@pytest.mark.parametrize(
    ("evaluator", "missing"),
    [
        (FaithfulnessEvaluator(ScriptedLLM()), "response and contexts"),
        (RelevancyEvaluator(ScriptedLLM()), "query and response and contexts"),
        (CorrectnessEvaluator(ScriptedLLM()), "query and response and reference"),
        (PairwiseComparisonEvaluator(ScriptedLLM()), "query and response and second_response"),
        (SemanticSimilarityEvaluator(HashEmbedding()), "response and reference"),
    ],
)
def test_what_is_missing_is_named(evaluator: BaseEvaluator, missing: str) -> None:
    with pytest.raises(ValueError, match=f"{type(evaluator).__name__} needs {missing}"):
        evaluator.evaluate()


def test_an_answer_is_judged_with_its_passages() -> None:
    llm = ScriptedLLM(["YES", "YES"])
    response = Response("In 753 BC.", tuple(NodeWithScore(TextNode(text)) for text in CONTEXTS))
    result = FaithfulnessEvaluator(llm).evaluate_response(response=response)
    assert result.contexts == tuple(CONTEXTS)
    assert asyncio.run(FaithfulnessEvaluator(llm).aevaluate_response(response=response)) == result
    with pytest.raises(ValueError, match="needs response"):
        FaithfulnessEvaluator(llm).evaluate_response("When?")


def test_the_trace_has_the_verdict_and_the_call() -> None:
    with span("root") as root:
        judged(FaithfulnessEvaluator(ScriptedLLM(["YES"])))
    (step,) = root.spans("evaluate")
    assert (step.facts["evaluator"], step.facts["score"], step.facts["passing"]) == (
        "FaithfulnessEvaluator",
        1.0,
        True,
    )
    assert len(step.spans("llm")) == 1


def test_the_wording_may_be_chosen() -> None:
    llm = ScriptedLLM(["YES"])
    judged(FaithfulnessEvaluator(llm, PromptTemplate("Is {response} in this?\n{context_str}")))
    (message,) = llm.calls[0].messages
    assert (
        message.content
        == f"Is In 753 BC. in this?\n{OPENING}\n[1]\n{CONTEXTS[0]}\n\n[2]\n{CONTEXTS[1]}\n{CLOSING}"
    )
    assert llm.calls[0].prompt == "faithfulness"


def test_contexts_in_a_custom_template_are_cut_to_one_call() -> None:
    template = PromptTemplate("Passages: {context_str}\nAnswer: {response}\nGrade?")
    llm = word_llm(["4"], window=100)
    result = CorrectnessEvaluator(llm, template).evaluate(
        "When?", "In 753 BC.", ["word " * 300, "end"], "753 BC"
    )
    assert result.score == 4.0
    (call,) = llm.calls
    assert "[1]" in call.messages[0].content
    assert "end" in call.messages[0].content


def test_all_judges_run_without_a_language_model() -> None:
    llm, embedder = ExtractiveLLM(HashEmbedding()), HashEmbedding()
    query, right, wrong = "When was Rome founded?", "Rome was founded in 753 BC.", "Rome was founded in 1998."
    assert FaithfulnessEvaluator(llm).evaluate(query, right, CONTEXTS).passing is True
    assert FaithfulnessEvaluator(llm).evaluate(query, wrong, CONTEXTS).passing is False
    assert RelevancyEvaluator(llm).evaluate(query, right, CONTEXTS).passing is True
    assert AnswerRelevancyEvaluator(llm).evaluate(query, right).passing is True
    assert ContextRelevancyEvaluator(llm).evaluate(query, contexts=CONTEXTS).passing is True
    assert GuidelineEvaluator(llm, "Give a number.").evaluate(query, "Long ago.").passing is False
    assert CorrectnessEvaluator(llm).evaluate(query, right, reference=right).score == 5.0
    assert (
        PairwiseComparisonEvaluator(llm)
        .evaluate(query, right, second_response=wrong, reference=right)
        .passing
        is True
    )
    assert SemanticSimilarityEvaluator(embedder).evaluate(response=right, reference=right).passing is True


def test_schema_verdict_is_read_and_its_reason_is_the_feedback() -> None:
    llm = ScriptedLLM(['{"verdict": "NO", "reason": "They say 754."}', '{"score": 4, "reason": "Nearly."}'])
    unfaithful = judged(FaithfulnessEvaluator(llm))
    assert (unfaithful.passing, unfaithful.feedback) == (False, "NO\nThey say 754.")
    nearly = CorrectnessEvaluator(llm).evaluate("When?", "In 753 BC.", reference="753 BC")
    assert (nearly.score, nearly.feedback) == (4.0, "Nearly.")
    assert [call.call.schema is not None for call in llm.calls] == [True, True]


def test_which_answer_is_better_is_read_by_the_schema() -> None:
    llm = ScriptedLLM(['{"better": "A", "reason": "x"}', '{"better": "B", "reason": "y"}'])
    assert PairwiseComparisonEvaluator(llm).evaluate("When?", "a", second_response="b").score == 1.0
