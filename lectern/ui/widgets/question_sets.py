"""The question sets of the Evaluate page: type, upload, generate, browse, correct, delete."""

from __future__ import annotations

import time
from dataclasses import replace

import streamlit as st

from lectern.db.evaluations import QuestionSet
from lectern.ui import labels, navigation, resources
from lectern.ui.i18n import _, day, day_and_time, ngettext, numeral
from lectern.ui.safetext import label
from lectern.ui.state import fill_new_widget, fill_widget, session, widget
from lectern.ui.widgets.own_questions import own_questions
from lectern.ui.widgets.problem import problem, try_again
from ragcore.errors import Problem, RagError
from ragcore.evaluation.question_sets import ExpectedSource, Question, as_csv, as_jsonl, read_question_set

PAGE_SIZE = 8  # questions
DEFAULT_NUMBER = 20  # of questions to generate
POLL_SECONDS = 1.0


def question_set() -> QuestionSet | None:
    """Draws the chosen set with its actions. Returns None if there is none to measure."""
    evaluations, state = resources.library().evaluations, session()
    # A person's own questions say how well it works for that person, so they come first.
    by_origin = sorted(evaluations.sets(), key=lambda question_set: question_set.origin == "documents")
    sets = {question_set.id: question_set for question_set in by_origin}
    if not sets:
        st.markdown(_("Ask questions whose answers you know, and see how often each setting finds them."))
        st.header(_("Questions"), anchor=False)
        st.markdown(
            _("There are no questions yet. Type three whose answers you know, and say where each answer is.")
        )
        _new()
        return None
    chosen = sets.get(state.evaluate.question_set or "") or next(iter(sets.values()))
    state.evaluate.question_set = chosen.id
    fill_widget("evaluate_set", chosen.id)
    with st.container(key="set_row", horizontal=True, vertical_alignment="bottom"):
        st.selectbox(
            _("Question set"),
            list(sets),
            key="evaluate_set",
            format_func=lambda id_: sets[id_].name,
            on_change=_choose,
        )
        # A new key closes the form after each new set.
        with st.popover(_("New questions"), icon=":material/add:", key=f"new_set_{len(sets)}"):
            _new()
        with st.popover(_("More"), key=f"set_more_{chosen.id}"):
            _more(chosen)
    _facts(chosen)
    if chosen.size:
        with st.expander(
            _("View questions"), key=f"look_{chosen.id}", type="compact", on_change="rerun"
        ) as expander:
            if expander.open:
                _questions(chosen)
    return chosen if chosen.size and chosen.state != "running" else None


def _choose() -> None:
    state = session()
    state.evaluate.question_set, state.evaluate.question_page, state.panel = widget("evaluate_set"), 1, ""


def _new() -> None:
    if not len(resources.library().store):
        st.page_link(navigation.HOME, label=_("Add a document first"), icon=":material/upload_file:")
    else:
        own_questions()
    key = f"upload_set_{session().evaluate.uploads}"
    st.file_uploader(
        _("Or upload a table of questions"),
        type=["csv", "jsonl"],
        key=key,
        on_change=_upload,
        args=(key,),
        help=_(
            "A CSV table or JSON Lines file with the columns question, answer, document and "
            "pages. Only the question is required, but without a document or an answer there is "
            "no telling whether the right passages were found."
        ),
    )
    if len(resources.library().store):
        _from_documents()


def _from_documents() -> None:
    fill_new_widget("make_number", DEFAULT_NUMBER)
    with st.container(key="make_row", horizontal=True, vertical_alignment="bottom"):
        st.number_input(_("How many"), 1, 500, step=5, key="make_number", width=120, persist_state="session")
        st.button(
            _("Make questions from my documents"),
            key="make_set",
            on_click=lambda: _make(int(widget("make_number") or DEFAULT_NUMBER)),
        )
    st.caption(
        f"{generation_caveat()} "
        + (
            _("Your language model writes them, one call for each question.")
            if resources.library().settings.llm.provider != "none"
            else _(
                "No language model is set, so simple rules make them. Look through them and remove any "
                "that make no sense."
            )
        )
    )


def generation_caveat() -> str:
    """A caveat about questions generated from the documents."""
    return _(
        "Questions made from the documents use their words, so the figures are higher than in real use. "
        "Only questions of your own tell how well your questions are answered."
    )


def _make(number: int) -> None:
    state = session()
    name = _("From my documents, {when}").format(when=day_and_time(time.time()))
    try:
        new_set = resources.current_index().measuring.make_set(name, number)
    except RagError as error:
        state.evaluate.problem = Problem.of(error)
    else:
        state.evaluate.question_set, state.evaluate.question_page, state.evaluate.problem, state.panel = (
            new_set.id,
            1,
            None,
            "",
        )


def _upload(key: str) -> None:
    state, uploaded = session(), widget(key)
    if uploaded is None:
        return
    state.evaluate.uploads += 1
    try:
        read = read_question_set(uploaded.getvalue(), uploaded.name)
        new_set = resources.library().evaluations.add_set(uploaded.name.rsplit(".", 1)[0], read.questions)
    except RagError as error:
        state.evaluate.problem = Problem.of(error)
        return
    state.evaluate.question_set, state.evaluate.question_page, state.evaluate.problem, state.panel = (
        new_set.id,
        1,
        None,
        "",
    )
    number = len(read.questions)
    imported = ngettext(
        "{number} question was imported.", "{number} questions were imported.", number
    ).format(number=number)
    ignored = _("These columns are not used and were ignored: {names}.").format(names=", ".join(read.ignored))
    state.notice = f"{imported} {ignored}" if read.ignored else imported


def _facts(chosen: QuestionSet) -> None:
    st.fragment(_draw_facts, run_every=POLL_SECONDS if chosen.state == "running" else None)(
        chosen.id, chosen.state
    )


def _draw_facts(set_id: str, state_before: str) -> None:
    now = resources.library().evaluations.find_set(set_id)
    if now is None or now.state != state_before:
        st.rerun()
    if now.state == "running":
        text = _("Making questions: {done} of {number}").format(done=now.size, number=now.target_size)
        st.progress(min(1.0, now.size / max(now.target_size, 1)), text)
        stop = resources.current_index().measuring.stop_set
        st.button(_("Stop"), key="stop_set", icon=":material/stop:", on_click=stop, args=(set_id,))
        return
    origin = _("made from your documents") if now.origin == "documents" else _("your own")
    number = ngettext("{number} question", "{number} questions", now.size).format(number=numeral(now.size))
    stopped = [_("stopped before all were made")] if now.state == "stopped" else []
    st.caption(" · ".join([number, origin, day(now.created), *stopped]))
    if now.state == "done" and now.size < now.target_size:
        fewer = _("{number} of {target}: the other passages have no sentence that makes a sensible question.")
        st.caption(fewer.format(number=numeral(now.size), target=numeral(now.target_size)))
    if now.problem is not None and problem(now.problem, [try_again()], key="set_problem"):
        if not now.size:
            resources.library().evaluations.delete_set(set_id)
        _make(now.target_size)
        st.rerun()


def _more(chosen: QuestionSet) -> None:
    evaluations = resources.library().evaluations
    fill_new_widget(f"set_name_{chosen.id}", chosen.name)
    st.text_input(
        _("Name"),
        key=f"set_name_{chosen.id}",
        on_change=_rename,
        args=(chosen.id,),
        max_chars=80,
        persist_state="session",
    )
    file_name = chosen.name.replace("/", "-")
    st.download_button(
        _("Download for a spreadsheet"),
        lambda: as_csv(evaluations.questions(chosen.id)).encode("utf-8-sig"),
        f"{file_name}.csv",
        "text/csv",
        key="set_csv",
        icon=":material/download:",
        on_click="ignore",
    )
    st.download_button(
        _("Download as JSON Lines"),
        lambda: as_jsonl(evaluations.questions(chosen.id)),
        f"{file_name}.jsonl",
        "application/jsonl",
        key="set_jsonl",
        icon=":material/download:",
        on_click="ignore",
    )
    if session().evaluate.deleting_set != chosen.id:
        st.button(
            _("Delete with all its measurements"),
            key="delete_set",
            icon=":material/delete:",
            on_click=_ask_to_delete,
            args=(chosen.id,),
        )
        return
    sure = _("Delete **{name}** with all its measurements? This cannot be undone.")
    st.markdown(sure.format(name=label(chosen.name)))
    with st.container(horizontal=True, gap="small"):
        st.button(_("Delete"), key="delete_set_now", type="primary", on_click=_delete, args=(chosen.id,))
        st.button(_("Keep"), key="keep_set", on_click=_ask_to_delete, args=("",))


def _rename(set_id: str) -> None:
    if name := str(widget(f"set_name_{set_id}") or "").strip():
        resources.library().evaluations.rename_set(set_id, name)


def _ask_to_delete(set_id: str) -> None:
    session().evaluate.deleting_set = set_id


def _delete(set_id: str) -> None:
    resources.library().evaluations.delete_set(set_id)
    state = session()
    state.evaluate.question_set, state.panel, state.notice = None, "", _("Question set deleted.")


def _questions(chosen: QuestionSet) -> None:
    state = session().evaluate
    questions = resources.library().evaluations.questions(chosen.id)
    pages = max(1, -(-len(questions) // PAGE_SIZE))
    state.question_page = min(max(1, state.question_page), pages)
    first = (state.question_page - 1) * PAGE_SIZE
    for question in questions[first : first + PAGE_SIZE]:
        with st.container(key=f"question_{question.id}"):
            if state.editing == question.id:
                _draw_editor(question)
            else:
                _draw_question(question)
    if pages > 1:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(
                _("Previous"),
                key="questions_back",
                disabled=state.question_page == 1,
                on_click=_turn_page,
                args=(-1,),
                type="tertiary",
            )
            st.caption(_("Page {page} of {pages}").format(page=state.question_page, pages=pages))
            st.button(
                _("Next"),
                key="questions_on",
                disabled=state.question_page == pages,
                on_click=_turn_page,
                args=(1,),
                type="tertiary",
            )


def _turn_page(step: int) -> None:
    session().evaluate.question_page += step


def _draw_question(question: Question) -> None:
    with st.container(key=f"shown_{question.id}", horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(label(question.text))
        st.button(
            _("Edit"),
            key=f"edit_{question.id}",
            icon=":material/edit:",
            type="tertiary",
            on_click=_open_editor,
            args=(question,),
        )
        st.button(
            _("Remove"),
            key=f"remove_{question.id}",
            icon=":material/close:",
            type="tertiary",
            on_click=resources.library().evaluations.remove_question,
            args=(question.id,),
        )
    st.caption(label(expected_answer(question)))


def expected_answer(question: Question) -> str:
    """The place of the answer and the right answer, as far as they are known."""
    where = "; ".join(place_of(place.document, place.pages) for place in question.expected)
    right = (
        _("right answer: {answers}").format(answers=" / ".join(question.answers)) if question.answers else ""
    )
    return " · ".join(filter(None, (where, right))) or _(
        "no document or answer given: only the reply itself is judged"
    )


def place_of(document: str, pages: tuple[str, ...]) -> str:
    """ "handbook.pdf, p. 4", "talk.pptx, slide 8" or "figures.xlsx, sheet By year"."""
    if not pages:
        return document
    page_word = resources.library().files.page_word(document)
    return f"{document}, {labels.part(page_word, ', '.join(pages))}"


def _open_editor(question: Question) -> None:
    session().evaluate.editing, key = question.id, question.id
    fill_widget(f"q_text_{key}", question.text)
    fill_widget(f"q_docs_{key}", [place.document for place in question.expected])
    fill_widget(f"q_pages_{key}", ", ".join(question.expected[0].pages) if question.expected else "")
    fill_widget(f"q_answers_{key}", "\n".join(question.answers))


def _draw_editor(question: Question) -> None:
    files = [file.name for file in resources.library().files.all() if file.ready]
    documents = [place.document for place in question.expected]
    key = question.id
    st.text_input(_("Question"), key=f"q_text_{key}", persist_state="session")
    st.multiselect(
        _("Documents that answer it"),
        list(dict.fromkeys([*documents, *files])),
        key=f"q_docs_{key}",
        persist_state="session",
    )
    st.text_input(_("Pages, separated by commas"), key=f"q_pages_{key}", persist_state="session")
    st.text_area(_("Right answers, one per line"), key=f"q_answers_{key}", height=70, persist_state="session")
    with st.container(horizontal=True):
        st.button(_("Save"), key=f"q_save_{key}", on_click=_save, args=(question,))
        st.button(_("Cancel"), key=f"q_cancel_{key}", type="tertiary", on_click=_close_editor)


def _close_editor() -> None:
    session().evaluate.editing = ""


def _save(question: Question) -> None:
    key = question.id
    text = " ".join(str(widget(f"q_text_{key}")).split())
    if not text:
        session().evaluate.problem = Problem(
            _("A question cannot be empty."), _("Type the question, or remove it from the set.")
        )
        return
    pages = tuple(page.strip() for page in str(widget(f"q_pages_{key}")).split(",") if page.strip())
    old_places = {place.document: place for place in question.expected}
    places = tuple(
        old_places[name]
        if name in old_places and old_places[name].pages == pages
        else ExpectedSource(name, pages)
        for name in widget(f"q_docs_{key}") or ()
    )
    answers = tuple(line.strip() for line in str(widget(f"q_answers_{key}")).splitlines() if line.strip())
    changed = Question(text, answers, places)
    if replace(changed, id=question.id) != question:
        resources.library().evaluations.replace_question(question.id, changed)
    session().evaluate.editing, session().evaluate.problem = "", None


def unknown_documents(questions: list[Question]) -> list[str]:
    known = {file.name.casefold() for file in resources.library().files.all()}
    documents = dict.fromkeys(place.document for question in questions for place in question.expected)
    return [name for name in documents if name.casefold() not in known]


def missing_documents(chosen: QuestionSet) -> None:
    """Names the documents that the questions are about and the library lacks."""
    if missing := unknown_documents(resources.library().evaluations.questions(chosen.id)):
        listed = ", ".join(missing[:5]) + (" …" if len(missing) > 5 else "")
        text = ngettext(
            "Some questions are about {number} document that is not here: {names}. Their answers cannot "
            "be found.",
            "Some questions are about {number} documents that are not here: {names}. Their answers "
            "cannot be found.",
            len(missing),
        )
        st.caption(f":material/warning: {label(text.format(number=len(missing), names=listed))}")
