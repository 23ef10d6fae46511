"""Evaluators that ask a language model. Contexts that do not fit into one call are judged in several
calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from ragcore.concurrency import in_order
from ragcore.evaluation.base import BaseEvaluator, Case, Verdict
from ragcore.evaluation.judge_replies import parse_grade, parse_preference, parse_reason, parse_yes_no
from ragcore.llms.base import LLM, LLMCall
from ragcore.prompts.prompt import Passage, Prompt, Variable
from ragcore.prompts.structured_output import object_schema
from ragcore.prompts.templates import Wording, replace_prompt
from ragcore.prompts.wording import (
    ANSWER_RELEVANCY,
    CONTEXT_RELEVANCY,
    CORRECTNESS,
    FAITHFULNESS,
    GUIDELINE,
    PAIRWISE,
    RELEVANCY,
)
from ragcore.response_synthesizers.packer import Packer
from ragcore.settings import services
from ragcore.text.json_replies import parse_json_values


class _Judge(BaseEvaluator):
    prompt: ClassVar[Prompt]
    prompt_attributes: ClassVar = {"eval_template": "_prompt"}
    # the part before the reason
    verdict: ClassVar[tuple[str, Mapping[str, Any]]] = ("verdict", {"enum": ["YES", "NO"]})

    def __init__(self, llm: LLM | None = None, eval_template: Wording | None = None) -> None:
        self._llm = services(llm).llm
        self._prompt = replace_prompt(self.prompt, eval_template or self.prompt, self._llm)

    def _variables(self, case: Case) -> Mapping[str, Variable]:
        return {
            "query_str": case.query or "",
            "response": case.response or "",
            "reference": case.reference or "",
        }

    def _replies(self, case: Case, variables: Mapping[str, Variable]) -> list[str]:
        """One reply for each pack of contexts, or one reply if there are none. ContextWindowError if the rest
        does not fit."""
        packed = Packer(self._llm).pack(self._prompt, variables, self._passages(case))
        return in_order(self._verdict, packed.calls)

    def _reply(self, case: Case, variables: Mapping[str, Variable]) -> str:
        """One reply. The contexts, which only a script's own template contains, are cut to fit."""
        return self._verdict(Packer(self._llm).squeeze(self._prompt, variables, self._passages(case)))

    def _verdict(self, call: LLMCall) -> str:
        """The reply. JSON is converted to two lines: the verdict, and the reason."""
        name, kind = self.verdict
        reply = self._llm.generate(
            replace(call, schema=object_schema({name: kind, "reason": {"type": "string"}}))
        ).text
        values = parse_json_values(reply)
        if len(values) == 1 and isinstance(values[0], Mapping) and values[0].keys() >= {name, "reason"}:
            return f"{values[0][name]}\n{values[0]['reason']}"
        return reply

    def _passages(self, case: Case) -> tuple[Passage, ...]:
        contexts = case.contexts or () if "context_str" in self._prompt.variables else ()
        return tuple(Passage(text, number) for number, text in enumerate(contexts, 1))


class _YesOrNo(_Judge):
    """The score is 1.0 and passing for YES, 0.0 for NO. If the contexts need several calls, one YES is
    enough. Without contexts the verdict is NO."""

    def _judge(self, case: Case) -> Verdict:
        if "context_str" in self._prompt.variables and not case.contexts:
            return Verdict(0.0, False, "There are no passages.")
        replies = self._replies(case, self._variables(case))
        verdicts = [parse_yes_no(reply) for reply in replies]
        for verdict in (True, False):
            if verdict in verdicts:
                return Verdict(float(verdict), verdict, replies[verdicts.index(verdict)])
        return Verdict(None, None, "\n\n".join(replies))


class FaithfulnessEvaluator(_YesOrNo):
    """Whether the passages support the answer.

    >>> from ragcore.llms import ScriptedLLM
    >>> judge = FaithfulnessEvaluator(ScriptedLLM(["YES. The passage names her."]))
    >>> judge.evaluate(response="Ada built it.", contexts=["Ada Penrose built the tower."]).passing
    True
    """

    prompt = FAITHFULNESS
    needs = ("response", "contexts")


class RelevancyEvaluator(_YesOrNo):
    """Whether the answer fits the question, and the passages support it.

    >>> from ragcore.llms import ScriptedLLM
    >>> evaluator = RelevancyEvaluator(ScriptedLLM(["NO. It is about a boat."]))
    >>> evaluator.evaluate("Who?", "A boat.", ["A red boat."]).score
    0.0
    """

    prompt = RELEVANCY
    needs = ("query", "response", "contexts")


class AnswerRelevancyEvaluator(_YesOrNo):
    """Whether the answer fits the question, right or wrong.

    >>> from ragcore.llms import ScriptedLLM
    >>> AnswerRelevancyEvaluator(ScriptedLLM(["YES"])).evaluate("Who built it?", "Ada did.").passing
    True
    """

    prompt = ANSWER_RELEVANCY
    needs = ("query", "response")


class ContextRelevancyEvaluator(_YesOrNo):
    """Whether the passages contain the answer to the question.

    >>> from ragcore.llms import ScriptedLLM
    >>> judge = ContextRelevancyEvaluator(ScriptedLLM(["YES"]))
    >>> judge.evaluate("Who built it?", contexts=["Ada Penrose built the tower."]).passing
    True
    """

    prompt = CONTEXT_RELEVANCY
    needs = ("query", "contexts")


class GuidelineEvaluator(_YesOrNo):
    """Whether the answer follows the `guidelines`, which are plain sentences.

    >>> from ragcore.llms import ScriptedLLM
    >>> judge = GuidelineEvaluator(
    ...     ScriptedLLM(["NO. It has no year."]), guidelines="The answer names a year."
    ... )
    >>> judge.evaluate("When was it built?", "Long ago.").feedback
    'NO. It has no year.'
    """

    prompt = GUIDELINE
    needs = ("query", "response")

    def __init__(
        self,
        llm: LLM | None = None,
        guidelines: str = (
            "The answer says what was asked, in full. It is clear and specific, and holds no contradiction."
        ),
        eval_template: Wording | None = None,
    ) -> None:
        super().__init__(llm, eval_template)
        self._guidelines = guidelines

    def _variables(self, case: Case) -> Mapping[str, Variable]:
        return {**super()._variables(case), "guidelines": self._guidelines}


class CorrectnessEvaluator(_Judge):
    """Compares the answer with the right one, `reference`. The score is 1 to 5, and passing from
    `score_threshold` upwards.

    >>> from ragcore.llms import ScriptedLLM
    >>> result = CorrectnessEvaluator(ScriptedLLM(["4/5"])).evaluate("Who?", "Ada.", reference="Ada Penrose.")
    >>> result.score, result.passing
    (4.0, True)
    """

    prompt = CORRECTNESS
    verdict = ("score", {"enum": [1, 2, 3, 4, 5]})
    needs = ("query", "response", "reference")

    def __init__(
        self, llm: LLM | None = None, eval_template: Wording | None = None, score_threshold: float = 4.0
    ) -> None:
        super().__init__(llm, eval_template)
        self._threshold = score_threshold

    def _judge(self, case: Case) -> Verdict:
        reply = self._reply(case, self._variables(case))
        score = parse_grade(reply)
        return Verdict(score, None if score is None else score >= self._threshold, parse_reason(reply))


class PairwiseComparisonEvaluator(_Judge):
    """Which of two answers is better: score 1.0 and passing for `response`, 0.0 for `second_response`, 0.5
    for a tie.

    Models prefer the answer that comes first. With `enforce_consensus` they judge both orders, and an answer
    must win in both (Zheng et al. 2023, https://arxiv.org/abs/2306.05685).

    >>> from ragcore.llms import ScriptedLLM
    >>> prefers_ada = lambda call: "A is better" if "Ada" in call.variables["response"] else "B is better"
    >>> judge = PairwiseComparisonEvaluator(ScriptedLLM(prefers_ada))
    >>> judge.evaluate("Who?", "Ada Penrose.", second_response="Nobody.").score
    1.0
    """

    prompt = PAIRWISE
    verdict = ("better", {"enum": ["A", "B", "TIE"]})
    needs = ("query", "response", "second_response")

    def __init__(
        self, llm: LLM | None = None, eval_template: Wording | None = None, *, enforce_consensus: bool = True
    ) -> None:
        super().__init__(llm, eval_template)
        self._enforce_consensus = enforce_consensus

    def _judge(self, case: Case) -> Verdict:
        order = {**self._variables(case), "second_response": case.second_response or ""}
        reversed_order = {**order, "response": order["second_response"], "second_response": order["response"]}
        orders = [order, reversed_order] if self._enforce_consensus else [order]
        replies = in_order(lambda variables: self._reply(case, variables), orders)
        scores = [parse_preference(reply) for reply in replies]
        feedback = "\n\n".join(replies)
        if None in scores:
            return Verdict(None, None, feedback)
        if scores[0] in (0.0, 1.0) and (len(scores) == 1 or scores[1] == 1.0 - scores[0]):
            return Verdict(scores[0], scores[0] == 1.0, feedback)
        return Verdict(0.5, None, feedback)
