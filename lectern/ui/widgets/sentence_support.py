""" "Is it in the passages?": each sentence of an answer with whether its passages support it. A click opens
the place."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from lectern.explain.source_view import locate_sentence
from lectern.library import Library
from lectern.schema import Message, Source
from lectern.ui import labels, resources
from lectern.ui.analyses import analysis_result, start_analysis
from lectern.ui.i18n import _, ngettext, numeral
from lectern.ui.safetext import Mark
from lectern.ui.state import event, session
from lectern.ui.widgets.component import component
from ragcore.extractive.sentence_support import CheckedSentence, plain

_SENTENCES = component("sentence_support", '<div class="root"></div>')


def can_be_checked(message: Message) -> bool:
    return bool(message.text.strip()) and bool(message.sources) and message.state in ("done", "stopped")


def check_sentences(message: Message) -> None:
    session().panel = f"check.{message.id}"
    start_analysis(_key(message), partial(_analyse, resources.library(), message))


def read_checks(conversation_id: str | None) -> None:
    """Reads the checks once per run, before the answers are drawn."""
    session().answers.checks = resources.library().checks.of(conversation_id) if conversation_id else {}


def sentence_marks(message: Message) -> list[Mark]:
    """Marks for the sentences that the passages support weakly or not at all. Empty for an unchecked
    answer."""
    titles = {
        "weak": _("Weak: the passages say something similar, but not all of it."),
        "absent": _("Not in the passages."),
    }
    checked = session().answers.checks.get(message.id, ())
    return [
        Mark(
            sentence.start, sentence.end, titles[sentence.verdict], f"#check-{message.id}.{sentence.verdict}"
        )
        for sentence in checked
        if sentence.verdict is not None and sentence.verdict in titles
    ]


def unsupported_line(message: Message) -> None:
    """The number of unsupported sentences, below an answer."""
    checked = session().answers.checks.get(message.id, ())
    if count := sum(sentence.verdict == "absent" for sentence in checked):
        st.caption(
            ngettext(
                "{number} underlined sentence is not in your documents.",
                "{number} underlined sentences are not in your documents.",
                count,
            ).format(number=numeral(count))
        )


def sentences_title(message: Message) -> str:
    return _("Sentences of this answer") if can_be_checked(message) else ""


def draw_sentences(message: Message) -> None:
    checked = analysis_result(
        _key(message),
        partial(_analyse, resources.library(), message),
        _("Checking every sentence…"),
        name="check",
    )
    if checked is None:
        return
    if message.id not in session().answers.checks and message.id in resources.library().checks.of(
        message.conversation_id
    ):
        st.rerun()  # the answer was drawn without its marks
    judged = [sentence for sentence, _source in checked if sentence.verdict is not None]
    if not judged:
        st.markdown(_("There is nothing in this answer to check."))
        return
    supported = sum(sentence.verdict == "supported" for sentence in judged)
    st.markdown(
        ngettext(
            "**{good} of {number} sentence is supported** by the passages.",
            "**{good} of {number} sentences are supported** by the passages.",
            len(judged),
        ).format(good=supported, number=len(judged))
    )
    words = {
        "supported": _("Supported"),
        "weak": _("Weak"),
        "absent": _("Not in the passages"),
        "open": _("Open the passage"),
        "miscited": _("It cites another passage, which does not say this."),
    }
    data = {
        "words": words,
        "sentences": [
            _sentence_data(number, sentence, source, message)
            for number, (sentence, source) in enumerate(checked, 1)
        ],
    }
    _SENTENCES(key=f"sentences_{message.id}", data=data, on_open_change=partial(_open, message))
    st.caption(
        _(
            "Compared by words, numbers, names and meaning, without a language model. Weak "
            "means the passages say something similar, but not all of it. The check can be "
            "wrong; the passage has the last word."
        )
    )


def find_evidence(message: Message, number: int) -> Source | None:
    """The sentence of a passage that supports sentence `number` of an answer, counted from 1."""
    library = resources.library()
    checked = library.checks.of(message.conversation_id).get(message.id, [])
    return _evidence(library, message, checked[number - 1]) if 0 < number <= len(checked) else None


def _evidence(library: Library, message: Message, sentence: CheckedSentence) -> Source | None:
    if sentence.passage is None or sentence.verdict == "absent":
        return None
    return locate_sentence(library.store, message.sources[sentence.passage], sentence.evidence)


def _sentence_data(
    number: int, sentence: CheckedSentence, source: Source | None, message: Message
) -> dict[str, object]:
    return {
        "text": " · ".join(
            cell.strip() for cell in plain(message.text[sentence.start : sentence.end]).strip("|").split("|")
        ),
        "verdict": sentence.verdict or "",
        "number": number if source else 0,
        "place": f"{message.shown_numbers.get(source.number, source.number)} · {labels.place(source)}"
        if source
        else "",
        "evidence": sentence.evidence if source else "",
        "miscited": sentence.miscited,
    }


def _open(message: Message) -> None:
    if request := event(f"sentences_{message.id}", "open"):
        session().panel = f"evidence.{message.id}.{int(request.get('number', 0))}"


def _analyse(library: Library, message: Message) -> Sequence[tuple[CheckedSentence, Source | None]]:
    """Each sentence with the passage that supports it. Reads the stored check, or checks and stores."""
    checked = library.checks.of(message.conversation_id).get(message.id)
    if checked is None:
        checked = library.answer_check.sentences.check(
            message.text, [source.text for source in message.sources]
        )
        library.checks.keep(message.id, message.text, checked)
    return [(sentence, _evidence(library, message, sentence)) for sentence in checked]


def _key(message: Message) -> str:
    return f"check.{message.id}.{hash(message.text)}"
