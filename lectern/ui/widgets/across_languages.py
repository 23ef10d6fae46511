"""The offer below an answer to index the documents for every language. Its question is then asked again."""

from __future__ import annotations

import streamlit as st

from lectern.explain.across_languages import plan_across_languages
from lectern.jobs.embedders import DOWNLOADED_MULTILINGUAL, MULTILINGUAL
from lectern.schema import Ask, Message
from lectern.ui import labels, resources
from lectern.ui.asking import answer_again
from lectern.ui.i18n import _
from lectern.ui.live_fragments import dialog_is_open
from lectern.ui.widgets.rebuild_status import rebuild_status
from ragcore.embeddings import multilingual_e5
from ragcore.text.language import language_of


def across_languages(message: Message) -> None:
    """Draws the offer if it would help, or a progress bar during the rebuild. Asks the question again when
    the new index is ready."""
    ask, facts, library = message.ask, message.facts, resources.library()
    awaited = library.questions_to_repeat.index_awaited(message.id, ask.question) if ask else ""
    coming = library.store.versions.next_version()
    if coming is not None and coming.embed_model in (MULTILINGUAL, DOWNLOADED_MULTILINGUAL):
        if awaited == coming.name:
            st.caption(_("Your question is asked again as soon as the index is ready."))
        rebuild_status()
        return
    if awaited and awaited == library.store.versions.current().name and not dialog_is_open():
        if library.questions_to_repeat.take(message.id):
            answer_again(message.id)
        st.rerun()
    if ask is None or facts is None or ask.reading != "best" or not ask.reads_documents:
        return  # without facts, it is the reply to a greeting
    answered = facts.outcome == "answer"
    plan = plan_across_languages(
        library, ask.question, message.sources, answered=answered, file_ids=ask.file_ids
    )
    if plan is None:
        return
    text = _("Your documents are indexed for questions in English, so some passages may be missed.")
    if language_of(ask.question) == "en":
        text = _("Some of your documents are in another language, so passages in them may be missed.")
    st.markdown(text)
    if not multilingual_e5.is_installed():
        st.caption(_("This first downloads a 490 MB search model from Hugging Face."))
    st.button(
        _("Search across languages ({time})").format(time=labels.duration(plan.seconds)),
        key=f"across_languages_{message.id}",
        icon=":material/translate:",
        on_click=_rebuild,
        args=(message.id, ask),
        help=_(
            "Rebuilds the index for all languages in the background and asks this question again. You can "
            "keep asking questions."
        ),
    )


def _rebuild(message_id: str, ask: Ask) -> None:
    library = resources.library()
    if not library.knows_only_english:  # another tab has rebuilt it
        answer_again(message_id)
        return
    library.rebuilds.start(embed_model=multilingual_e5.available())
    coming = library.store.versions.next_version()
    if coming is not None:
        library.questions_to_repeat.add(message_id, ask.question, coming.name)
    library.worker.start()
