"""The results of a small question set in words: how many answers were right, and each question with its
answer."""

from __future__ import annotations

import streamlit as st

from lectern.db.evaluations import EvalRun, QuestionSet
from lectern.ui import resources
from lectern.ui.i18n import _, ngettext, numeral
from lectern.ui.safetext import answer_md, label
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
    hits = [result.scores["hit_rate"] > 0 for result in results if "hit_rate" in result.scores]
    if hits:
        text = ngettext("{found} of {number} found", "{found} of {number} found", len(hits))
        st.markdown(f"**{text.format(found=numeral(sum(hits)), number=numeral(len(hits)))}**")
    for result in results:
        with st.container(key=f"own_result_{result.question.id}", gap="xxsmall"):
            hit_rate = result.scores.get("hit_rate")
            icon = "help" if hit_rate is None else "check_circle" if hit_rate else "cancel"
            st.markdown(f":material/{icon}: **{label(result.question.text)}**")
            st.caption(_("Expected: {what}").format(what=label(expected_answer(result.question))))
            if result.answer:
                st.markdown(answer_md(result.answer))
            elif run.answering:
                st.caption(_("There is no answer."))
