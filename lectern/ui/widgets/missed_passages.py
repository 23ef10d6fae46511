""" "Why wasn't it found?": the best missed passage, why the answer did not use it, and a button that changes
that."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import streamlit as st

from lectern.explain.missed_cause import Cause, Missed
from lectern.explain.missed_passages import nearest, why_missed
from lectern.library import Library
from lectern.schema import Message
from lectern.ui import labels, resources
from lectern.ui.analyses import analysis_result, discard_analysis, start_analysis
from lectern.ui.asking import answer_again
from lectern.ui.i18n import _, ngettext
from lectern.ui.navigation import HOME, SETTINGS
from lectern.ui.safetext import label, plain_md
from lectern.ui.state import fill_menu, fill_widget, session, widget
from lectern.ui.widgets.passage import passage
from lectern.ui.widgets.search_options import fill_search_options
from ragcore.text.sentences import sentences

SNIPPET_CHARS = 420  # of the missed passage
MAX_DEFAULT_TOP_K = (
    20  # a higher number of passages applies to one question only and is not saved in the settings
)
OPEN = 1  # the number in the panel's address that opens the missed passage
# no passage contains the answer
_NO_PASSAGE = (Cause.ABSENT, Cause.NO_TEXT, Cause.READING, Cause.STOPPED, Cause.FAILED)
_SETTINGS_HELP = (Cause.TOP_K, Cause.FAR, Cause.FILTERED, Cause.REORDERED, Cause.SUMMARY)


def can_miss(message: Message) -> bool:
    """Whether the answer comes from a search, which can miss passages."""
    facts = message.facts
    ask = message.ask
    searched = (
        ask is not None and ask.reading == "best" and ask.node_ids is None and not ask.without_documents
    )
    return searched and message.state == "done" and facts is not None and facts.recorded is None


def open_missed_passages(message: Message) -> None:
    session().panel = f"why.{message.id}"
    start_analysis(_key(message, ""), partial(_analyse, resources.library(), message, ""))


def missed_passages_title(message: Message) -> str:
    return _("Why wasn’t it found?") if can_miss(message) else ""


def draw_missed_passages(message: Message, number: int) -> None:
    """Fills the side panel; `number` is OPEN for the missed passage itself."""
    place = st.container()
    if number != OPEN:
        st.text_input(
            _("What did you expect to find?"),
            key=f"expected_{message.id}",
            placeholder=_("A name, a number or a sentence from the document"),
            help=_("A few of its words are enough to find the exact passage."),
            persist_state="session",
        )
    with place:
        _draw_cause_or_passage(message, number, str(widget(f"expected_{message.id}") or "").strip())


def _draw_cause_or_passage(message: Message, number: int, expected: str) -> None:
    key = _key(message, expected)
    missed = analysis_result(
        key,
        partial(_analyse, resources.library(), message, expected),
        _("Looking through your documents…"),
        name="why",
    )
    if missed is None:
        return
    if number == OPEN and missed.source is not None:
        st.button(
            _("Back"),
            key="why_back",
            icon=":material/arrow_back:",
            type="tertiary",
            on_click=_show,
            args=(message, 0),
        )
        st.markdown(f"**{label(labels.place(missed.source))}**")
        passage(missed.source, question=missed.searched)
        return
    _draw_cause(message, missed, expected)


def _draw_cause(message: Message, missed: Missed, expected: str) -> None:
    with st.container(key="why_cause"):
        st.markdown(cause_text(missed))
        _remedy_button(message, missed)
    if missed.source is not None:
        with st.container(key="why_passage", border=True):
            st.caption(_rank(message, missed))
            st.markdown(plain_md(_snippet(missed.source.text, f"{missed.searched} {expected}")))
            st.button(
                label(labels.place(missed.source)),
                key="why_open",
                icon=":material/description:",
                type="tertiary",
                help=_("Show the passage in its document"),
                on_click=_show,
                args=(message, OPEN),
            )
    st.caption(_("Searched for: {question}").format(question=label(labels.excerpt(missed.searched))))


def _rank(message: Message, missed: Missed) -> str:
    if missed.cause is Cause.USED:
        return _("Passage {number} of this answer").format(number=missed.rank)
    read = {source.node_id for source in message.sources}
    if missed.cause in _NO_PASSAGE and missed.source is not None and missed.source.node_id in read:
        return _("The closest passage, which was read")
    return _("The closest passage that was not read")


def _snippet(text: str, words: str) -> str:
    """The start of a passage, or the sentence that is closest to `words` and what follows it."""
    parts = sentences(text)
    first = nearest(parts, words) if len(" ".join(parts)) > SNIPPET_CHARS else 0
    cut = labels.cut_at_word(" ".join(" ".join(parts[first:]).split()), SNIPPET_CHARS)
    return f"… {cut}" if first else cut


def _remedy_button(message: Message, missed: Missed) -> None:
    text = button_text(missed)
    if missed.ask is not None:
        st.button(
            text,
            key="why_do",
            type="primary",
            icon=":material/refresh:",
            on_click=_ask_again,
            args=(message, missed),
        )
    elif missed.cause is Cause.STOPPED:
        st.button(
            text,
            key="why_do",
            type="primary",
            icon=":material/play_arrow:",
            on_click=_read,
            args=(message, missed),
        )
    elif missed.cause is not Cause.USED and st.button(
        text, key="why_do", type="primary", icon=":material/arrow_forward:"
    ):
        st.switch_page(SETTINGS if missed.cause in (Cause.SPLIT, Cause.LANGUAGE, *_SETTINGS_HELP) else HOME)


def _ask_again(message: Message, missed: Missed) -> None:
    """Answers the question again with the change, which also applies to the options of the page."""
    state, ask = session(), missed.ask
    if ask is None:
        return
    library = resources.library()
    answers = library.settings.answers
    if ask.chat_mode is None:
        fill_search_options(ask, fill_widget)
    else:
        fill_menu("chat_mode", ask.chat_mode)
        fill_menu("chat_files", list(ask.file_ids or ()))
        if answers.top_k < ask.top_k <= MAX_DEFAULT_TOP_K:
            changed = answers.model_copy(update={"top_k": ask.top_k})
            library.update_settings(library.settings.model_copy(update={"answers": changed}))
            state.notice = _(
                "From now on, {number} passages are read for each answer. You can change this in Settings."
            ).format(number=ask.top_k)
    state.panel = ""
    discard_analysis(_key(message, str(widget(f"expected_{message.id}") or "").strip()))
    discard_analysis(_key(message, ""))
    answer_again(message.id, ask=ask)


def _read(message: Message, missed: Missed) -> None:
    if missed.file is not None:
        resources.library().files.queue.retry(missed.file.id)
        session().notice = _("{name} is being read. Ask again when it is ready.").format(
            name=missed.file.name
        )
    discard_analysis(_key(message, str(widget(f"expected_{message.id}") or "").strip()))


def _show(message: Message, number: int) -> None:
    session().panel = f"why.{message.id}.{number}"


def _key(message: Message, expected: str) -> str:
    return f"why.{message.id}.{hash((message.ask, message.text, expected))}"


def _analyse(library: Library, message: Message, expected: str) -> Missed:
    return why_missed(library, message, expected, library.answer_check.sentences)


def cause_text(missed: Missed) -> str:
    """The sentence about a cause, in Markdown."""
    file = missed.file.name if missed.file else ""
    if missed.cause is Cause.FILTERED:
        file = missed.source.file_name if missed.source else ""
    question_language, document_language = (_languages().get(code, code) for code in missed.languages)
    return _sentences(missed)[missed.cause].format(
        file=label(file),
        page=label(missed.page),
        question=label(labels.excerpt(missed.searched)),
        number=missed.rank,
        rank=missed.rank,
        looked_at=missed.looked_at,
        written=document_language,
        asked=question_language,
        words=label(labels.excerpt(missed.unknown)),
    )


def _sentences(missed: Missed) -> Mapping[Cause, str]:
    no_text = _("**{file} contains only pictures, no text**, so nothing in it can be found.")
    if missed.page:
        no_text = _("**Page {page} of {file} is a picture without text**, so nothing on it can be found.")
    absent = _(
        "**No passage seems to say it.** The closest one may say it in other words. If you know "
        "that a document does, type a few words from it below."
    )
    if missed.unknown:
        absent = _("**“{words}” is in none of your documents.**")
    top_k = ngettext(
        "**Lectern read only the first passage.** This one was number {rank}.",
        "**Lectern read the first {looked_at} passages.** This one was number {rank}.",
        missed.looked_at,
    )
    return {
        Cause.NOT_LOOKED: _("**This mode does not look in your documents.**"),
        Cause.USED: _(
            "**It was found.** This is passage {number} of those the answer was written from. The "
            "answer may still have missed what it says."
        ),
        Cause.FILTERED: _("**{file} was left out.** Only other documents were asked."),
        Cause.CUT_OFF: _("**It scores below the minimum score**, so it was left out."),
        Cause.WEAKER: _("**It fits the question much less than the best passage**, so it was left out."),
        Cause.REORDERED: _(
            "**A later step ranked other passages higher**, although the search had found this one."
        ),
        Cause.SUMMARY: _(
            "**The question asks for a summary**, so the central passages of each document were used "
            "instead of the closest ones."
        ),
        Cause.CONDENSED: _(
            "**The question was reworded:** “{question}”. Your exact words do find this passage."
        ),
        Cause.SPLIT: _(
            "**It is split across two passages.** One ends in the middle of it and the next "
            "continues, so neither says all of it. Longer passages or more overlap keep such text "
            "together: see Settings."
        ),
        Cause.ADDED_SINCE: _(
            "**It can be found now.** The document had not been read yet when this answer was given."
        ),
        Cause.LANGUAGE: _(
            "**The document is in {written}, and the question in {asked}.** The built-in search is weak "
            "across languages."
        ),
        Cause.TOP_K: top_k,
        Cause.FAR: _(
            "**The question has too little in common with this passage** to find it. A few of its words "
            "would help."
        ),
        Cause.NO_TEXT: no_text,
        Cause.READING: _("**{file} is still being read.** You can ask about it as soon as it is ready."),
        Cause.STOPPED: _("**Reading {file} was stopped** before it was finished."),
        Cause.FAILED: _("**{file} could not be read**, so nothing in it can be found."),
        Cause.ABSENT: absent,
    }


def button_text(missed: Missed) -> str:
    more = with_passage_words = _("Open settings")
    if missed.ask is not None:
        more = ngettext("Read {number} passage", "Read {number} passages", missed.ask.top_k).format(
            number=missed.ask.top_k
        )
        with_passage_words = _("Ask with words from the passage")
    return {
        Cause.NOT_LOOKED: _("Search my documents"),
        Cause.USED: _("Ask each passage separately"),
        Cause.FILTERED: _("Ask all documents"),
        Cause.CUT_OFF: _("Ask without a minimum score"),
        Cause.WEAKER: _("Ask again, including weaker passages"),
        Cause.REORDERED: _("Ask without that step"),
        Cause.SUMMARY: with_passage_words,
        Cause.CONDENSED: _("Ask with my exact words"),
        Cause.SPLIT: more,
        Cause.ADDED_SINCE: _("Ask again"),
        Cause.LANGUAGE: with_passage_words,
        Cause.TOP_K: more,
        Cause.FAR: with_passage_words,
        Cause.NO_TEXT: _("Show the documents"),
        Cause.READING: _("Ask again"),
        Cause.STOPPED: _("Read it now"),
        Cause.FAILED: _("Show the documents"),
        Cause.ABSENT: _("Add a document"),
    }[missed.cause]


def _languages() -> Mapping[str, str]:
    return {
        "en": _("English"), "de": _("German"), "fr": _("French"), "es": _("Spanish"), "it": _("Italian"),
        "pt": _("Portuguese"), "nl": _("Dutch"), "zh": _("Chinese"), "ja": _("Japanese"), "ko": _("Korean"),
        "ru": _("Russian"), "el": _("Greek"), "he": _("Hebrew"), "ar": _("Arabic"), "hi": _("Hindi"),
        "th": _("Thai"),
    }  # fmt: skip
