"""Questions and answers: streamed text first, then passages, facts and actions."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING

import streamlit as st

from lectern.ask.computed_answer import split_select
from lectern.runs.answer_runs import Run
from lectern.schema import AnswerPart, Ask, Message, Source
from lectern.ui import labels, resources
from lectern.ui.asking import answer_again
from lectern.ui.i18n import _, ngettext, numeral
from lectern.ui.live_fragments import answer_placeholder
from lectern.ui.navigation import go_to_settings
from lectern.ui.safetext import address_md, addresses_in, answer_md, label, plain_md
from lectern.ui.state import allow_interruption, fill_menu
from lectern.ui.widgets.across_languages import across_languages
from lectern.ui.widgets.actions import actions
from lectern.ui.widgets.answer_forms import is_chat
from lectern.ui.widgets.answer_rows import parts_with_tables
from lectern.ui.widgets.file_table import file_table, stream_table
from lectern.ui.widgets.group_chart import group_chart
from lectern.ui.widgets.passage import calls_address
from lectern.ui.widgets.problem import Choice, problem, try_again
from lectern.ui.widgets.read_everything import draw_progress
from lectern.ui.widgets.reading_progress import move_reading_bar
from lectern.ui.widgets.sentence_support import sentence_marks, unsupported_line
from lectern.ui.widgets.source_links import source_address, source_links
from lectern.ui.widgets.streamed_text import StreamedText, call_words, waiting_words, waits_for
from lectern.ui.widgets.table_readings import table_readings
from lectern.ui.widgets.thumbs import verdict_line
from ragcore.errors import Problem
from ragcore.extractive.fixed_replies import shared_words
from ragcore.text.sentences import sentences

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

CHIPS = 12  # links to passages below an answer; the others are in an expander
MAX_ADDRESSES = 20  # listed per answer
MIN_PARAGRAPHS = 2  # always visible of closest passages: the sentence about them, and the closest sentences
VISIBLE_CHARS = 700  # of closest passages; further paragraphs are in an expander
POLL_SECONDS = 1.0  # between two checks of an answer from another server


def question(message: Message) -> None:
    with st.chat_message("user"):
        st.markdown(plain_md(message.text))


def answer(message: Message, *, last: bool, alone: bool = True) -> None:
    """A finished answer. Only the `last` one has all buttons. Offers for the whole index are only below an
    answer that is `alone`."""
    with st.chat_message("assistant"):
        if message.facts is not None and message.facts.rows:
            file_table(message, message.facts.rows)
        elif message.text:
            outcome = message.facts.outcome if message.facts else "answer"
            frame = f"said_{outcome}_{message.id}" if outcome != "answer" else ""
            with st.container(key=frame, gap="xsmall") if frame else nullcontext():
                if message.facts is not None and message.facts.is_unsure:
                    unsure_mark()
                _draw_text(message, folds=outcome == "closest")
            if message.facts is not None and message.facts.is_doubtful:
                st.caption(_("Your documents may not answer this. Check the passages."))
            if message.leaves_adding:
                st.caption(_("Lectern quotes these figures and does not add them up."))
            unsupported_line(message)
            group_chart(message)
        if not message.saved:
            unsaved_line(message.id)
        if message.state == "interrupted":
            text = _("The text so far has been kept.") if message.text else ""
            _retry(message, Problem(_("This answer was interrupted."), text), [try_again()])
            return
        if message.state == "failed":
            _draw_failure(message)
            return
        if message.state == "stopped":
            text = (
                _("Stopped. The text so far has been kept.")
                if message.text
                else _("Stopped before anything was written.")
            )
            st.caption(text)
        sources_row(message)
        _other_versions(message)
        _addresses(message)
        if last:
            table_readings(message)
            _narrow_scope_line(message)
            _unread(message)
            if alone:
                across_languages(message)
        _below(message, last=last)


def unsure_mark() -> None:
    """Above a text that only quotes the closest passages."""
    st.caption(f":material/contrast: {_('Not sure')}")


def unsure_badges(parts: Sequence[AnswerPart]) -> dict[int, str]:
    """Badges of `answer_md` before the parts of an answer that only quote the closest passages."""
    badge = f":small[:gray[:material/contrast: {_('Not sure')}]] "
    return {part.start: badge for part in parts if part.outcome == "closest"}


@st.fragment(run_every=POLL_SECONDS)
def unsaved_line(message_id: str) -> None:
    """A warning below an answer that could not be saved, until it is."""
    message = resources.library().conversations.message(message_id)
    if message is None or message.saved:
        st.rerun()
    st.warning(
        _(
            "This answer is not saved yet: the disk is full, or the database is not responding. "
            "Lectern saves it as soon as it can. Please keep Lectern open until then."
        ),
        icon=":material/save:",
    )


def answer_without_text(message: Message) -> None:
    """The rest of an answer without text; its passages are listed elsewhere."""
    _unread(message)
    _below(message, last=True)
    verdict_line(message)


def stream_answer(run: Run, message: Message, where: DeltaGenerator | None = None) -> None:
    """Draws an answer until it is finished. `where`: the `place` of `answer_placeholder`."""
    reading = message.ask.reading if message.ask else "best"
    place, ask, library = answer_placeholder(where), message.ask, resources.library()
    quotes = ask is not None and (ask.extractive or library.settings.llm.provider == "none")
    # The tables of an answer in parts are drawn once its parts are known.
    draws_tables = quotes and ask is not None and not ask.answers_in_parts
    with place:
        if reading == "each_file":
            stream_table(run, message)
            return
        bar = st.empty() if reading == "everything" else None
        text, passages, polled = StreamedText(st.container()), StreamedSources(message), 0.0
        for piece in run.follow():
            allow_interruption()
            if time.monotonic() - polled > POLL_SECONDS:
                polled = time.monotonic()
                move_reading_bar()
                if bar is not None:
                    draw_progress(run, message, bar)
            now = replace(message, text=run.text, sources=run.sources)
            step = waits_for(run) if bar is None else call_words(run.call)
            rows_for = run.standalone_question if draws_tables else None
            text.add(piece, _links(now), step, now.shown_numbers, rows_for=rows_for)
            passages.draw(run.sources)


def find_answer_elsewhere(messages: Sequence[Message]) -> Message | None:
    """The answer that another server of this library is writing."""
    return next((message for message in messages if message.state == "writing"), None)


def follow_answer_elsewhere(message: Message, where: DeltaGenerator | None = None) -> None:
    """Draws an answer from another server until it is finished, or that server is silent. `where` as
    above."""
    current: Message | None = message
    with answer_placeholder(where):
        slot, passages = st.empty(), StreamedSources(message)
        while current is not None and current.state == "writing":
            text = answer_md(current.text, _links(current), numbers=current.shown_numbers)
            slot.markdown(text or f":shimmer[{waiting_words()}]")
            passages.draw(current.sources)
            allow_interruption()
            time.sleep(POLL_SECONDS)
            current = resources.library().conversations.message(message.id)


class StreamedSources:
    """The row of sources below a streamed answer, in the place where the complete answer draws its own row.
    On a narrow screen it has one line, as that row usually has."""

    def __init__(self, message: Message) -> None:
        self._message = message
        self._drawn: tuple[Source, ...] = ()
        with st.container(key=f"chips_found_{message.id}"):
            self._slot = st.empty()

    def draw(self, sources: tuple[Source, ...]) -> None:
        """Sends nothing if they are the same."""
        ask = self._message.ask
        if sources == self._drawn or ask is None or ask.reading != "best" or not ask.reads_documents:
            return
        self._drawn = sources
        now = replace(self._message, sources=sources)
        chips = source_links(sources, now.id, now.shown_numbers, numbered=False)
        row, more = [_row_caption(_("Reading:")), *chips[:CHIPS]], len(chips) - CHIPS
        if more > 0:
            row.append(
                _row_caption(
                    ngettext("{number} more place", "{number} more places", more).format(number=more)
                )
            )
        self._slot.markdown(" ".join(row))


def sources_row(message: Message) -> None:
    facts = message.facts
    if not message.sources or (facts is not None and (not facts.has_sources or facts.rows)):
        return
    # none of them answers the question
    if facts is not None and facts.extractive and facts.outcome == "nothing":
        return
    quoted = message.cited
    chips = source_links(quoted or message.sources, message.id, message.shown_numbers)
    caption = [] if quoted else [_row_caption(_("Read but not quoted:"))]
    with st.container(key=f"chips_{message.id}"):
        st.markdown(" ".join([*caption, *chips[:CHIPS]]))
        if rest := chips[CHIPS:]:
            with st.expander(
                ngettext("{number} more place", "{number} more places", len(rest)).format(number=len(rest))
            ):
                st.markdown(" ".join(rest))


def _other_versions(message: Message) -> None:
    """The other versions of the cited documents, which the text does not cite, with their dates."""
    cited = {source.file_name for source in message.cited}
    versions = {
        source.file_id: source
        for source in message.sources
        if source.leader in cited and source.file_name not in cited
    }
    if not versions:
        return
    title = ngettext("{number} other version", "{number} other versions", len(versions))
    lines = [
        " ".join([*source_links([source], message.id, numbered=False), _row_caption(source.version)])
        for source in versions.values()
    ]
    with (
        st.container(key=f"chips_versions_{message.id}"),
        st.expander(title.format(number=numeral(len(versions))), type="compact"),
    ):
        st.markdown("\n\n".join(lines))


def _addresses(message: Message) -> None:
    """The addresses in the answer as links. In the answer itself they are plain text."""
    if not (addresses := addresses_in(message.text)[:MAX_ADDRESSES]):
        return
    many = ngettext("{number} web address", "{number} web addresses", len(addresses)).format(
        number=len(addresses)
    )
    with st.container(key=f"addresses_{message.id}"), st.expander(many, type="compact"):
        st.caption(
            _(
                "These addresses come from a language model or a document. Check the whole address "
                "before you open it."
            )
        )
        st.markdown("\n".join(f"- {address_md(address)}" for address in addresses))


def _row_caption(text: str) -> str:
    return f":small[{label(text)}]"


def _below(message: Message, *, last: bool) -> None:
    """The actions of an answer, and a link to its model calls: one word in a chat, the facts elsewhere."""
    with st.container(key=f"below_{message.id}", horizontal=True, vertical_alignment="center", gap="xsmall"):
        actions(message, last=last)
        if (facts := message.facts) is None:
            return
        facts_line = labels.answer_facts(facts)
        whole = label(facts_line).replace('"', "&quot;")
        with st.container(key=f"facts_{message.id}"):
            st.caption(
                f"[{_('Details') if is_chat(message) else label(facts_line)}]({calls_address(message)} "
                f'"{whole}")'
            )
        if facts.meant:
            st.caption(_("Searched for: {question}").format(question=label(labels.excerpt(facts.meant))))


def _draw_text(message: Message, *, folds: bool) -> None:
    """The text of an answer. If it `folds`, later paragraphs are in an expander, but not the line with most
    words of the question."""
    text, query = split_select(message.text)
    marks, facts = sentence_marks(message), message.facts
    question = message.standalone_question
    is_quote = facts is not None and facts.extractive
    parts = facts.parts if facts is not None else ()
    if is_quote and question and not marks:  # marks are places in the text as it is
        text, parts = parts_with_tables(text, parts, question)
    badges = unsure_badges(parts) if is_quote else {}
    written = answer_md(text, _links(message), marks, message.shown_numbers, badges)
    ends = accumulate(map(len, text.split("\n\n")))
    fitting = sum(end <= VISIBLE_CHARS for end in ends)
    visible = max(MIN_PARAGRAPHS, fitting, _matching_paragraph(text, question))
    paragraphs = written.split("\n\n")
    if query:
        st.markdown(written)
        with st.container(key=f"query_{message.id}"), st.expander(_("The query"), type="compact"):
            st.code(query, language="sql")
        return
    if not folds or len(paragraphs) <= visible:
        st.markdown(written)
        return
    st.markdown("\n\n".join(paragraphs[:visible]))
    with st.container(key=f"more_{message.id}"), st.expander(_("Show more"), type="compact"):
        st.markdown("\n\n".join(paragraphs[visible:]))


def _matching_paragraph(text: str, question: str) -> int:
    """The number of the paragraph, from 1, whose line shares most words with the question."""
    shared = [
        max(shared_words(question, line) for line in sentences(paragraph) or [""])
        for paragraph in text.split("\n\n")
    ]
    return shared.index(max(shared)) + 1


def _narrow_scope_line(message: Message) -> None:
    """If a search of some documents gave no answer, offers to search all."""
    ask, facts = message.ask, message.facts
    if ask is None or not ask.file_ids or facts is None or facts.outcome == "answer" or not is_chat(message):
        return
    names = resources.library().files.ready_names()
    searched = [names[file_id] for file_id in ask.file_ids if file_id in names]
    number = len(searched)
    text = ngettext("Searched only in {number} document.", "Searched only in {number} documents.", number)
    text = text.format(number=numeral(number))
    if number == 1:
        text = _("Searched only in {documents}.").format(documents=label(searched[0]))
    with st.container(
        key=f"narrowed_{message.id}", horizontal=True, vertical_alignment="center", gap="xsmall"
    ):
        st.caption(text)
        st.button(
            _("Search all documents"),
            key="search_all",
            type="tertiary",
            on_click=_search_all,
            args=(message.id, ask),
        )


def _search_all(message_id: str, ask: Ask) -> None:
    fill_menu("chat_files", [])
    answer_again(message_id, ask=replace(ask, file_ids=None))


def _unread(message: Message) -> None:
    if message.facts is None or not (unread := message.facts.files_unread):
        return
    text = ngettext(
        "{number} document was still being read. Try again to include it.",
        "{number} documents were still being read. Try again to include them.",
        unread,
    )
    st.caption(text.format(number=numeral(unread)))


def _draw_failure(message: Message) -> None:
    error, again = message.problem or Problem(_("The answer could not be finished.")), try_again()
    quote, settings = Choice(_("Answer without a model"), "quote"), Choice(_("Open settings"), "settings")
    if error.needs_reading or resources.library().settings.llm.provider == "none":
        _retry(message, error, [again])
    else:
        _retry(message, error, [again, quote, settings] if error.retryable else [quote, settings, again])


def _retry(message: Message, error: Problem, choices: Sequence[Choice]) -> None:
    pressed = problem(error, choices, key=message.id)
    if pressed == "settings":
        go_to_settings()
    if pressed is not None:
        answer_again(message.id, extractive=True if pressed == "quote" else None)
        st.rerun()


def _links(message: Message) -> dict[int, str]:
    return {source.number: source_address(message.id, source) for source in message.sources}
