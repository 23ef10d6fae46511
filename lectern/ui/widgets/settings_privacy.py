"""Settings: what is sent where, and where everything is kept."""

from __future__ import annotations

import streamlit as st

from lectern.jobs.confinement import describe_confinement
from lectern.ui import labels, resources
from lectern.ui.i18n import _, said
from lectern.ui.safetext import label


def what_leaves() -> str:
    """What is sent where, as a list; of the model in use, not of what is typed above."""
    library = resources.library()
    llm = library.settings.llm
    where = {
        "none": "",
        "llama_cpp": "",
        "ollama": llm.base_url or "localhost:11434",
        "openai": "OpenAI",
        "openai_compatible": llm.base_url,
    }[llm.provider]
    lines = [
        _(
            "Your documents are kept on the server that is named under *Where things are kept*, and are read and cut into"
            " passages on this computer, or on another one that works for the same library. For that nothing is sent anywhere"
            " else."
        )
        if library.shared
        else _("Your documents are read, cut into passages and searched on this computer. For that nothing is sent anywhere."),
        said(describe_confinement()),
        _("No figures about how Lectern is used are collected, and the pages load nothing from elsewhere."),
    ]
    if where:
        lines.append(
            _(
                "A language model is set: for each answer the question, the passages found for it, what was said before in the"
                " chat, and the prompts above are sent to **{where}**. Whole documents are not, unless everything is read."
            ).format(where=label(where))
        )
    elif llm.provider == "llama_cpp":
        lines.append(_("The language model runs on this computer: nothing is sent to another one for an answer."))
    elif library.shared:
        lines.append(_("There is no language model, so nothing is sent to one."))
    else:
        lines.append(_("There is no language model, so nothing at all leaves this computer."))
    lines.append(
        _(
            "A web link or a storage that you add, and a language model that you download, is fetched from where it is, and"
            " nothing else is told about it."
        )
    )
    return "\n".join(f"- {line}" for line in lines)


def storage_place() -> None:
    library = resources.library()
    status = library.status()
    if library.shared:
        kept = _(
            "Documents, passages, conversations and settings are in one database on a server, {size} so far. "
            "Models' keys are on this computer alone."
        )
    else:
        kept = _(
            "Documents, passages, conversations and settings are in one folder on this computer, {size} so far. "
            "Delete the folder and everything is gone."
        )
    st.markdown(kept.format(size=labels.size(status.bytes_on_disk)))
    st.code(status.name, language=None, wrap_lines=True)
