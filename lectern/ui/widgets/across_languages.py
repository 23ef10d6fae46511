"""The offer below an answer to index the documents for every language."""

from __future__ import annotations

import streamlit as st

from lectern.explain.across_languages import plan_across_languages
from lectern.jobs.embedders import DOWNLOADED_MULTILINGUAL, MULTILINGUAL
from lectern.schema import Message
from lectern.ui import labels, resources
from lectern.ui.i18n import _
from lectern.ui.widgets.rebuild_status import rebuild_status
from ragcore.embeddings import multilingual_e5


def across_languages(message: Message) -> None:
    """Draws the offer if it would help, or a progress bar during the rebuild."""
    library = resources.library()
    coming = library.store.versions.next_version()
    if coming is not None and coming.embed_model in (MULTILINGUAL, DOWNLOADED_MULTILINGUAL):
        rebuild_status()
        return
    ask, facts = message.ask, message.facts
    if ask is None or facts is None or ask.reading != "best" or not ask.reads_documents:
        return  # without facts, it is the reply to a greeting
    answered = facts.outcome == "answer"
    plan = plan_across_languages(library, ask.question, message.sources, answered=answered)
    if plan is None:
        return
    st.markdown(_("Your documents are indexed for questions in English, so some passages may be missed."))
    if not multilingual_e5.is_installed():
        st.caption(_("This first downloads a 490 MB search model from Hugging Face."))
    st.button(
        _("Search across languages ({time})").format(time=labels.duration(plan.seconds)),
        key=f"across_languages_{message.id}",
        icon=":material/translate:",
        on_click=_rebuild,
        help=_("Rebuilds the index for all languages in the background. You can keep asking questions."),
    )


def _rebuild() -> None:
    library = resources.library()
    library.rebuilds.start(embed_model=multilingual_e5.available())
    library.worker.start()
