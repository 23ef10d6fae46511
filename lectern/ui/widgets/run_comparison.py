"""Compares two measurements of a question set: averages, significance, and single questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from lectern.db.evaluation_scores import METRICS, RETRIEVAL_METRICS, Result, RetrievedPassage
from lectern.db.evaluations import Scored
from lectern.ui import labels, resources
from lectern.ui.i18n import _, ngettext, numeral, translate
from lectern.ui.safetext import answer_md, label, plain_md
from lectern.ui.state import fill_widget, session, widget
from lectern.ui.widgets.question_sets import expected_answer, place_of
from lectern.ui.widgets.wide_table import wide_table
from ragcore.evaluation.significance import Difference, difference

MAX_QUESTIONS = 12  # listed
SIGNIFICANCE = 0.05  # below this p-value a difference counts as real
SNIPPET_CHARS = 260  # of a passage


@dataclass(frozen=True, slots=True)
class Pair:
    """The scores of one question in both measurements."""

    question_id: str
    question: str
    first: float
    second: float


def metric_names() -> Mapping[str, tuple[str, str]]:
    """The title and description of each metric."""
    return {
        "hit_rate": (_("Passage found"),
                     _("Hit rate: the share of questions for which at least one right passage was found.")),
        "mrr": (_("Near the top"), _(
            "Mean reciprocal rank (MRR): 1 if the first passage is right, ½ if the second is, and so on.")),
        "ndcg": (_("Good order"), _(
            "nDCG: how close the order is to the ideal one, with all right passages first; 1 is ideal.")),
        "answered": (_("Answered"), _(
            "The share of questions that got an answer; the others got the closest passages or nothing.")),
        "recall": (_("Word recall"), _(
            "The share of the right answer’s words that appear in the answer, where the right "
            "answer is known.")),
        "faithfulness": (_("True to the passages"), _(
            "Faithfulness: the share of answers that say only what their passages say.")),
        "relevancy": (_("Fits the question"), _(
            "Relevancy: the share of answers that answer the question and are backed by the passages.")),
    }  # fmt: skip


def comparison(runs: Sequence[tuple[str, str]], scores: Mapping[str, Sequence[Scored]]) -> None:
    """`runs` are ids and names, newest first."""
    if len(runs) < 2:
        if runs:
            st.caption(_("Measure a second setting to compare the two question by question."))
        return
    st.header(_("Compare two settings"), anchor=False)
    run_names = dict(runs)
    first, second, opened = _chosen_runs(list(run_names))
    fill_widget("compare_first", first)
    fill_widget("compare_second", second)
    with st.container(key="compare_row", horizontal=True):
        for key, title in (("compare_first", _("First")), ("compare_second", _("Second"))):
            st.selectbox(
                title,
                list(run_names),
                key=key,
                format_func=run_names.__getitem__,
                on_change=_open,
                args=("",),
                width=300,
            )
    if first == second:
        st.caption(_("Choose two different ones."))
        return
    pairs = {metric: _pairs(scores[first], scores[second], metric) for metric in METRICS}
    used = [metric for metric in METRICS if pairs[metric]]
    if not used:
        st.caption(_("No question has been measured with both."))
        return
    _differences(used, pairs)
    _questions(used, pairs, (first, run_names[first]), (second, run_names[second]), opened)


def _chosen_runs(ids: Sequence[str]) -> tuple[str, str, str]:
    """The ids of both runs and of the opened question, from the address. The default are the newest runs,
    older one first."""
    kind, *chosen = session().panel.split(".")
    if kind == "compare" and len(chosen) == 3 and chosen[0] in ids and chosen[1] in ids:
        return chosen[0], chosen[1], chosen[2]
    return ids[1], ids[0], ""


def _open(question_id: str) -> None:
    session().panel = f"compare.{widget('compare_first')}.{widget('compare_second')}.{question_id}"


def _pairs(first: Sequence[Scored], second: Sequence[Scored], metric: str) -> list[Pair]:
    seconds = {scored.question_id: scored.scores[metric] for scored in second if metric in scored.scores}
    return [
        Pair(scored.question_id, scored.question, scored.scores[metric], seconds[scored.question_id])
        for scored in first
        if metric in scored.scores and scored.question_id in seconds
    ]


def _differences(used: Sequence[str], pairs: Mapping[str, Sequence[Pair]]) -> None:
    heads = [
        _("Figure"),
        _("First"),
        _("Second"),
        _("Difference"),
        _("Better on"),
        _("Worse on"),
        _("Verdict"),
    ]
    rows = []
    for metric in used:
        first, second = [pair.first for pair in pairs[metric]], [pair.second for pair in pairs[metric]]
        result = difference(first, second)
        assert result is not None  # there are pairs
        span = f"{_with_sign(result.value)} ({_with_sign(result.low)} … {_with_sign(result.high)})"
        cells = [numeral(sum(first) / len(first), 2), numeral(sum(second) / len(second), 2), span]
        rows.append(
            [metric_names()[metric][0], *cells, str(result.higher), str(result.lower), _verdict(result)]
        )
    wide_table(heads, rows, key="differences")
    number = len(pairs[used[0]])
    count = ngettext(
        "Over {number} question measured with both.", "Over {number} questions measured with both.", number
    )
    st.caption(
        count.format(number=number)
        + " "
        + _(
            "p is how often chance alone would produce a difference this large; below 0.05 it "
            "counts as real (randomization test)."
        )
    )


def _with_sign(value: float) -> str:
    rounded = round(value, 2) + 0.0  # not -0.0
    return f"{'+' if rounded > 0 else ''}{numeral(rounded, 2)}"


def _verdict(result: Difference) -> str:
    chance = f"p < {numeral(0.001, 3)}" if result.p < 0.001 else f"p = {numeral(result.p, 3)}"
    if result.p >= SIGNIFICANCE and round(result.value, 2) == 0:
        return _("no difference")
    if result.p >= SIGNIFICANCE:
        return _("may be chance, {chance}").format(chance=chance)
    text = (
        _("**the second is better**, {chance}")
        if result.value > 0
        else _("**the first is better**, {chance}")
    )
    return text.format(chance=chance)


def _questions(
    used: Sequence[str],
    pairs: Mapping[str, Sequence[Pair]],
    first: tuple[str, str],
    second: tuple[str, str],
    opened: str,
) -> None:
    st.markdown(f"**{_('Question by question')}**")
    default = used.index("ndcg") if "ndcg" in used else 0
    with st.container(key="compare_filter", horizontal=True, vertical_alignment="bottom"):
        metric = st.selectbox(
            _("By"),
            used,
            default,
            format_func=lambda name: metric_names()[name][0],
            key="compare_metric",
            width=180,
        )
        kinds = {"better": _("Better"), "worse": _("Worse"), "same": _("Same")}
        counts = {kind: sum(_kind(pair) == kind for pair in pairs[metric]) for kind in kinds}
        opened_kind = next((_kind(pair) for pair in pairs[metric] if pair.question_id == opened), None)
        kind = st.segmented_control(
            _("Second compared with first"),
            list(kinds),
            default=opened_kind or next((name for name in ("worse", "better") if counts[name]), "same"),
            format_func=lambda name: f"{kinds[name]} ({counts[name]})",
            required=True,
            key=f"compare_kind_{first[0]}_{second[0]}_{metric}",
        )
    matching = sorted(
        (pair for pair in pairs[metric] if _kind(pair) == kind),
        key=lambda pair: -abs(pair.second - pair.first),
    )
    if not matching:
        st.caption(_("There are none."))
    for pair in [
        pair for place, pair in enumerate(matching) if place < MAX_QUESTIONS or pair.question_id == opened
    ]:
        with st.container(key=f"pair_{pair.question_id}", border=pair.question_id == opened):
            with st.container(horizontal=True, vertical_alignment="center"):
                is_open = pair.question_id == opened
                st.button(
                    label(pair.question),
                    key=f"open_pair_{pair.question_id}",
                    type="tertiary",
                    icon=":material/expand_less:" if is_open else ":material/expand_more:",
                    on_click=_open,
                    args=("" if is_open else pair.question_id,),
                )
                st.caption(f"{numeral(pair.first, 2)} → {numeral(pair.second, 2)}")
            if is_open:
                _side_by_side(pair.question_id, first, second)
    if len(matching) > MAX_QUESTIONS:
        text = (
            _("The first {number} are shown.")
            if kind == "same"
            else _("The {number} with the largest difference are shown.")
        )
        st.caption(text.format(number=MAX_QUESTIONS))


def _kind(pair: Pair) -> str:
    return "better" if pair.second > pair.first else "worse" if pair.second < pair.first else "same"


def _side_by_side(question_id: str, first: tuple[str, str], second: tuple[str, str]) -> None:
    evaluations = resources.library().evaluations
    results = [(name, evaluations.result(run_id, question_id)) for run_id, name in (first, second)]
    known = next((result for _name, result in results if result is not None), None)
    if known is None:
        return
    st.caption(_("Expected: {what}").format(what=label(expected_answer(known.question))))
    for column, (name, result) in zip(st.columns(2), results, strict=True):
        with column:
            st.markdown(f"**{label(name)}**")
            if result is not None:
                _result(result)


def _result(result: Result) -> None:
    if result.problem is not None:
        st.markdown(label(translate(result.problem.what)))
    if not result.passages and result.problem is None:
        st.caption(_("Nothing was found."))
    for number, passage in enumerate(result.passages, 1):
        _passage(number, passage)
    if result.answer:
        with st.expander(_("The answer, and what the judge said"), type="compact"):
            st.markdown(answer_md(result.answer))
            for metric, reason in result.reasons.items():
                if metric not in RETRIEVAL_METRICS and reason:
                    st.caption(plain_md(reason))


def _passage(number: int, passage: RetrievedPassage) -> None:
    where = place_of(passage.document, passage.pages)
    mark = f" :green-badge[:material/check: {_('right')}]" if passage.right else ""
    st.markdown(f"{number} · {label(where)}{mark}")
    text = " ".join(passage.text.split())
    st.caption(label(labels.cut_at_word(text, SNIPPET_CHARS)))
