"""The results of a small question set in words: how many answers were right, and each question with its answer."""

from __future__ import annotations

import streamlit as st

from lectern.db.evaluations import EvalRun, QuestionSet
from lectern.ui import resources
from lectern.ui.i18n import _, ngettext, numeral
from lectern.ui.safetext import answer_md, label
from lectern.ui.widgets.question_sets import expected_answer

FEW = 12  # questions at most


def are_few(chosen: QuestionSet) -> bool:
    return chosen.origin == "upload" and chosen.size <= FEW


def own_results(run: EvalRun) -> None:
    """The results of one measurement, in the order of the questions."""
    evaluations = resources.library().evaluations
    results = [
        result for one in evaluations.scores(run.id) if (result := evaluations.result(run.id, one.question_id)) is not None
    ]
    known = [result.scores["hit_rate"] > 0 for result in results if "hit_rate" in result.scores]
    if known:
        text = ngettext("{found} of {number} found", "{found} of {number} found", len(known))
        st.markdown(f"**{text.format(found=numeral(sum(known)), number=numeral(len(known)))}**")
    for result in results:
        with st.container(key=f"own_result_{result.question.id}", gap="xxsmall"):
            is_found = result.scores.get("hit_rate")
            sign = "help" if is_found is None else "check_circle" if is_found else "cancel"
            st.markdown(f":material/{sign}: **{label(result.question.text)}**")
            st.caption(_("Expected: {what}").format(what=label(expected_answer(result.question))))
            if result.answer:
                st.markdown(answer_md(result.answer))
            elif run.answering:
                st.caption(_("There is no answer."))
