"""Measurements of a question set: settings, progress, and results as a table and a chart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from lectern.db.evaluation_scores import METRICS
from lectern.db.evaluations import EvalRun, QuestionSet, Scored, Setting
from lectern.runs.cost_estimate import of_measuring
from lectern.schema import Ask
from lectern.ui import resources
from lectern.ui.i18n import _, day_and_time, ngettext, numeral
from lectern.ui.pricing import run_with_consent
from lectern.ui.safetext import label
from lectern.ui.state import fill_new_widget, fill_widget, session, widget
from lectern.ui.widgets.own_results import answered_sentence, is_small, own_results
from lectern.ui.widgets.problem import problem
from lectern.ui.widgets.question_sets import generation_caveat, missing_documents
from lectern.ui.widgets.run_comparison import comparison, metric_names
from lectern.ui.widgets.setting_form import describe_ask, setting_form
from lectern.ui.widgets.wide_table import wide_table
from ragcore.errors import Problem, RagError
from ragcore.evaluation.question_sets import Question
from ragcore.evaluation.significance import Mean, mean
from ragcore.extractive.quoter import Quoter

MAX_RUNS = 6  # in the table and the chart
POLL_SECONDS = 1.0
ACTIVE = ("queued", "running")
ENGLISH_NAMES = {  # in the field's literature
    "hit_rate": "hit rate",
    "mrr": "MRR",
    "ndcg": "nDCG",
    "recall": "recall",
    "faithfulness": "faithfulness",
    "relevancy": "relevancy",
}
DEFAULT_NAME = "As in Settings"  # in the database, in every language


@dataclass(frozen=True, slots=True)
class NamedRun:
    """A measurement with a name that is unique on the screen."""

    run: EvalRun
    name: str
    scores: Sequence[Scored]

    def figure(self, metric: str) -> Mean | None:
        return mean([one.scores[metric] for one in self.scores if metric in one.scores])

    @property
    def seconds(self) -> float:
        return sum(one.seconds for one in self.scores) / max(len(self.scores), 1)


def measurements(chosen: QuestionSet) -> None:
    runs = resources.library().evaluations.runs(chosen.id)
    if chosen.origin == "upload":
        missing_documents(chosen)
    _start_form(chosen)
    _progress(runs)
    results = _runs_with_results(runs)
    if results:
        made = chosen.origin == "documents"
        if made:
            _made_results(results[0])
        else:
            st.header(_("Results"), anchor=False)
            if is_small(chosen):
                own_results(results[0].run)
            elif sentence := found_sentence(results[0]):
                st.markdown(sentence)
        is_open = not made and (not is_small(chosen) or len(results) > 1)
        with st.container(key="more_figures"), st.expander(_("Figures"), type="compact", expanded=is_open):
            _table(results)
            _chart(results)
        _remove(results)
    comparison([(one.run.id, one.name) for one in results], {one.run.id: one.scores for one in results})


def _made_results(measured: NamedRun) -> None:
    """The results of questions made from the documents, in small letters: their good figures say little."""
    sentence = found_sentence(measured)
    name = _("The search finds its own sentences")
    st.caption(f"**{name}** · {sentence}" if sentence else f"**{name}**")
    st.caption(generation_caveat())


def _default_setting() -> Setting:
    answers = resources.library().settings.answers
    ask = Ask("", None, answers.response_mode, answers.top_k, retrieval=answers.retrieval)
    return Setting(DEFAULT_NAME, ask)


def _setting_name(name: str) -> str:
    return _("As in Settings") if name == DEFAULT_NAME else name


def _start_form(chosen: QuestionSet) -> None:
    library = resources.library()
    settings = {one.name: one for one in (_default_setting(), *library.evaluations.settings())}
    fill_new_widget("evaluate_with", [next(iter(settings))])
    fill_widget("evaluate_with", [name for name in widget("evaluate_with") if name in settings])
    fill_new_widget("evaluate_answering", True)
    with st.container(key="measure_row", horizontal=True, vertical_alignment="bottom"):
        st.multiselect(
            _("With these settings"),
            list(settings),
            key="evaluate_with",
            format_func=_setting_name,
            max_selections=2,
            persist_state="session",
            placeholder=_("Choose one or two"),
            help=_(
                "Two settings are measured one after the other, and can then be compared question by "
                "question."
            ),
        )
        with st.popover(
            _("New setting"), icon=":material/tune:", key=f"new_setting_{session().evaluate.new_settings}"
        ):
            setting_form()
        st.button(
            _("Measure"),
            key="measure",
            type="primary",
            icon=":material/play_arrow:",
            disabled=not widget("evaluate_with"),
            on_click=_measure,
            args=(chosen.id, [settings[name] for name in widget("evaluate_with")]),
        )
    for name in widget("evaluate_with"):
        with st.container(
            key=f"setting_{settings[name].id or 'usual'}", horizontal=True, vertical_alignment="center"
        ):
            what = describe_ask(settings[name].ask)
            named = _("{name}: {what}").format(name=_setting_name(name), what=what)
            st.caption(label(name if name == what else named))
            if settings[name].id:
                st.button(
                    _("Remove"),
                    key=f"drop_setting_{settings[name].id}",
                    type="tertiary",
                    on_click=library.evaluations.delete_setting,
                    args=(settings[name].id,),
                )
    st.toggle(
        _("Also answer them and judge the answers"),
        key="evaluate_answering",
        persist_state="session",
        help=_("Takes longer. Otherwise only the search is measured."),
    )
    if widget("evaluate_answering"):
        st.caption(_judge_note(chosen, len(widget("evaluate_with"))))


def _judge_note(chosen: QuestionSet, settings: int) -> str:
    if resources.library().settings.llm.provider == "none":
        return _(
            "No language model is set: answers are quotes, judged by simple rules that are rough but "
            "consistent."
        )
    calls = 3 * chosen.size * max(settings, 1)
    text = ngettext(
        "Your language model answers, and judges its answers: at least {number} call.",
        "Your language model answers, and judges its answers: at least {number} calls.",
        calls,
    )
    return text.format(number=numeral(calls))


def _measure(set_id: str, settings: list[Setting]) -> None:
    answering = bool(widget("evaluate_answering"))
    questions = resources.library().evaluations.questions(set_id)
    _measure_with_consent(
        lambda: resources.current_index().measuring.start(set_id, settings, answering=answering),
        questions if answering else (),
        [setting.ask for setting in settings],
    )


def _resume(run: EvalRun) -> None:
    evaluations = resources.library().evaluations
    remaining = (
        evaluations.questions(run.set_id) if _has_another_model(run) else evaluations.unmeasured(run.id)
    )
    _measure_with_consent(
        lambda: resources.current_index().measuring.resume(run.id),
        remaining if run.answering else (),
        [run.ask],
    )


def _measure_with_consent(
    measure: Callable[[], object], to_answer: Sequence[Question], asks: Sequence[Ask]
) -> None:
    """Runs `measure` with the person's consent to the cost of answering these questions once per ask."""
    library = resources.library()

    def begin() -> None:
        state = session()
        try:
            measure()
        except RagError as error:
            state.evaluate.problem = Problem.of(error)
        else:
            state.evaluate.problem, state.panel = None, ""

    try:
        free = not to_answer or isinstance(library.writer(), Quoter)
        price = None if free else of_measuring(library, [question.text for question in to_answer], asks)
    except RagError:
        price = None  # starting reports the error
    if price is None:
        begin()
    else:
        run_with_consent(price, len(to_answer) * len(asks), begin)


def _has_another_model(run: EvalRun) -> bool:
    try:
        return resources.current_index().measuring.has_another_model(run)
    except RagError:
        return False  # resuming reports the error


def _progress(runs: Sequence[EvalRun]) -> None:
    """Progress bars of the running measurements, and the actions for stopped ones."""
    active = [run for run in runs if run.state in ACTIVE]
    if active:
        st.fragment(_bars, run_every=POLL_SECONDS)([run.id for run in reversed(active)])
    for run in runs[:MAX_RUNS]:
        if run.state in ("stopped", "failed"):
            _draw_ended(run)


def _bars(ids: list[str]) -> None:
    evaluations = resources.library().evaluations
    for id_ in ids:
        run = evaluations.run(id_)
        if run is None or run.state not in ACTIVE:
            st.rerun()
        remaining = len(evaluations.unmeasured(id_))
        text = (
            _("waiting for the previous one")
            if run.state == "queued" and not run.done
            else f"{numeral(run.done)} / {numeral(run.done + remaining)}"
        )
        with st.container(key=f"bar_{id_}", horizontal=True, vertical_alignment="center"):
            line = _("{name}: {what}").format(name=label(_setting_name(run.name)), what=text)
            st.progress(run.done / max(run.done + remaining, 1), line)
            stop = resources.current_index().measuring.stop
            st.button(_("Stop"), key=f"stop_run_{id_}", icon=":material/stop:", on_click=stop, args=(id_,))


def _draw_ended(run: EvalRun) -> None:
    if run.problem is not None:
        problem(run.problem, key=f"run_{run.id}")
    with st.container(key=f"ended_{run.id}", horizontal=True, vertical_alignment="center"):
        text = ngettext(
            "{name}: stopped after {number} question.", "{name}: stopped after {number} questions.", run.done
        )
        st.markdown(text.format(name=label(_setting_name(run.name)), number=numeral(run.done)))
        starts_over = run.done > 0 and _has_another_model(run)
        st.button(
            _("Start over") if starts_over else _("Continue"),
            key=f"resume_{run.id}",
            on_click=_resume,
            args=(run,),
        )
        if not run.done:
            delete = resources.library().evaluations.delete_run
            st.button(_("Remove"), key=f"drop_{run.id}", type="tertiary", on_click=delete, args=(run.id,))
    if starts_over:
        st.caption(
            _(
                "The language model has changed. Its answers are measured again from the first question, so "
                "that no figure mixes two models."
            )
        )


def _runs_with_results(runs: Sequence[EvalRun]) -> list[NamedRun]:
    evaluations = resources.library().evaluations
    measured = [run for run in runs if run.done][:MAX_RUNS]
    names = [_setting_name(run.name) for run in measured]
    return [
        NamedRun(
            run,
            name if names.count(name) == 1 else f"{name}, {day_and_time(run.created, seconds=True)}",
            evaluations.scores(run.id),
        )
        for run, name in zip(measured, names, strict=True)
    ]


def _table(results: Sequence[NamedRun]) -> None:
    names = metric_names()
    used = [metric for metric in METRICS if any(one.figure(metric) for one in results)]
    heads = [_("Figure"), *(label(one.name) for one in results)]
    rows = [[_figure_name(metric), *(_cell(one.figure(metric)) for one in results)] for metric in used]
    wide_table(heads, [*rows, [_("Seconds"), *(numeral(one.seconds, 2) for one in results)]], key="figures")
    with st.popover(_("What the figures mean"), type="tertiary"):
        st.markdown("\n".join(f"- **{names[metric][0]}**: {names[metric][1]}" for metric in used))
        st.markdown(
            _(
                "All figures except seconds run from 0 to 1; higher is better. ± is half the 95% confidence "
                "interval (bootstrap). Seconds are the time to search for and answer one question, without "
                "the judging."
            )
        )


def found_sentence(measured: NamedRun) -> str:
    """For how many questions the search found a right passage, and how many were answered; "" if no question
    says which passage is right."""
    hits = [one.scores["hit_rate"] > 0 for one in measured.scores if "hit_rate" in one.scores]
    if not hits:
        return ""
    text = ngettext(
        "{name}: for {found} of {number} question, a right passage was among those found.",
        "{name}: for {found} of {number} questions, a right passage was among those found.",
        len(hits),
    )
    sentence = text.format(
        name=f"**{label(measured.name)}**", found=numeral(sum(hits)), number=numeral(len(hits))
    )
    return f"{sentence} {answered_sentence(one.scores for one in measured.scores)}".rstrip()


def _figure_name(metric: str) -> str:
    """The plain name of a metric in Markdown, then its English name in the literature if that differs."""
    name, english = metric_names()[metric][0], ENGLISH_NAMES.get(metric, "")
    return name if english.casefold() in name.casefold() else f"{name} :small[:gray[{english}]]"


def _cell(figure: Mean | None) -> str:
    if figure is None:
        return "–"
    return f"{numeral(figure.value, 2)} ± {numeral((figure.high - figure.low) / 2, 2)}"


def _chart(results: Sequence[NamedRun]) -> None:
    import altair as alt

    names = metric_names()
    values = [
        {
            "setting": one.name, "metric": names[metric][0],
            "value": figure.value, "low": figure.low, "high": figure.high,
            "mean": numeral(figure.value, 2), "from": numeral(figure.low, 2), "to": numeral(figure.high, 2),
        }
        for one in results
        for metric in METRICS
        if (figure := one.figure(metric)) is not None
    ]  # fmt: skip
    drawn = {value["metric"] for value in values}
    metrics = [names[metric][0] for metric in METRICS if names[metric][0] in drawn]
    settings = [one.name for one in results]
    base = alt.Chart(alt.InlineData(values)).encode(
        y=alt.Y(
            "metric:N", sort=metrics, title=None, axis=alt.Axis(labelLimit=140, ticks=False, domain=False)
        ),
        yOffset=alt.YOffset("setting:N", sort=settings),
        color=alt.Color(
            "setting:N",
            sort=settings,
            title=None,
            scale=alt.Scale(
                domain=settings, range=["#0e8574", "#c2702b", "#6a6fc4", "#a8457e", "#7c8a2c", "#8a6f5a"]
            ),
            legend=alt.Legend(orient="bottom", direction="vertical", labelLimit=320),
        ),
        tooltip=[
            alt.Tooltip("setting:N", title=_("Setting")),
            alt.Tooltip("metric:N", title=_("Figure")),
            alt.Tooltip("mean:N", title=_("Mean")),
            alt.Tooltip("from:N", title=_("From")),
            alt.Tooltip("to:N", title=_("To")),
        ],
    )
    scale, point = alt.Scale(domain=[0, 1], padding=8), numeral(0.5, 1)[1]
    axis = alt.Axis(
        values=[0, 0.25, 0.5, 0.75, 1], labelExpr=f"replace(format(datum.value, '.2f'), '.', '{point}')"
    )
    lines = base.mark_rule(strokeWidth=2.5, opacity=0.55).encode(
        x=alt.X("low:Q", scale=scale, title=None, axis=axis), x2="high:Q"
    )
    points = base.mark_point(filled=True, size=75, opacity=1).encode(
        x=alt.X("value:Q", scale=scale, title=None, axis=axis)
    )
    height = max(160, len(metrics) * (22 + 16 * len(results)))
    st.altair_chart(
        (lines + points).properties(height=height),
        key="figures_drawn",
        alt=_("The figures from the table above, as points on lines from 0 to 1 with their intervals."),
    )


def _remove(results: Sequence[NamedRun]) -> None:
    delete = resources.library().evaluations.delete_run
    with st.popover(_("Remove results"), type="tertiary", key=f"remove_results_{len(results)}"):
        for one in results:
            st.button(
                label(one.name),
                key=f"remove_run_{one.run.id}",
                icon=":material/delete:",
                type="tertiary",
                on_click=delete,
                args=(one.run.id,),
            )
