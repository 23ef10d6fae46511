"""The results of a small question set in words: for how many questions the passage was found and for how many
there is an answer, and each question with its answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import streamlit as st

from lectern.db.evaluation_scores import Result
from lectern.db.evaluations import EvalRun, QuestionSet
from lectern.ui import resources
from lectern.ui.i18n import _, numeral
from lectern.ui.safetext import answer_md, label
from lectern.ui.widgets.answer import unsure_badges, unsure_mark
from lectern.ui.widgets.question_sets import expected_answer

MAX_QUESTIONS = 12  # of a small set


def is_small(chosen: QuestionSet) -> bool:
    return chosen.origin == "upload" and chosen.size <= MAX_QUESTIONS


def own_results(run: EvalRun) -> None:
    """The results of one measurement, in the order of the questions."""
    evaluations = resources.library().evaluations
    results = [
        result
        for scored in evaluations.scores(run.id)
        if (result := evaluations.result(run.id, scored.question_id)) is not None
    ]
    scores = [result.scores for result in results]
    sentence = _count_sentence(_("Passage found: {count} of {number}."), "hit_rate", scores)
    if headline := f"{sentence} {answered_sentence(scores)}".strip():
        st.markdown(f"**{headline}**")
    for result in results:
        with st.container(key=f"own_result_{result.question.id}", gap="xxsmall"):
            icon, verdict = _verdict(result, answering=run.answering)
            expected = _("Expected: {what}").format(what=label(expected_answer(result.question)))
            st.markdown(f":material/{icon}: **{label(result.question.text)}**")
            st.caption(f"{verdict} · {expected}" if verdict else expected)
            if result.answer:
                if result.outcome == "closest":
                    unsure_mark()
                st.markdown(answer_md(result.answer, badges=unsure_badges(result.parts)))
            elif run.answering:
                st.caption(_("There is no answer."))


def answered_sentence(scores: Iterable[Mapping[str, float]]) -> str:
    """How many questions were answered; "" if that is unknown, as for the answers of a language model."""
    return _count_sentence(_("Answered: {count} of {number}."), "answered", scores)


def _count_sentence(text: str, metric: str, scores: Iterable[Mapping[str, float]]) -> str:
    """The text with the `count` of positive scores and the `number` of scores; "" without a score."""
    values = [each[metric] > 0 for each in scores if metric in each]
    return text.format(count=numeral(sum(values)), number=numeral(len(values))) if values else ""


def _verdict(result: Result, *, answering: bool) -> tuple[str, str]:
    """An icon and its meaning. Only an answered question has a tick, unless the run only searches."""
    hit_rate = result.scores.get("hit_rate")
    if hit_rate is None:
        return "help", ""
    if not hit_rate:
        return "cancel", _("Passage not found")
    if answering and not (result.answer and result.outcome == "answer"):
        return "contrast", _("Passage found, but no sure answer")
    return "check_circle", _("Passage found")
