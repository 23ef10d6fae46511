"""Conversations as files to download."""

from __future__ import annotations

from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from lectern.export.transcript import FORMS, Labels, Transcript, as_html, file_name
from lectern.library import Library
from lectern.ui import labels as screen_labels
from lectern.ui import resources
from lectern.ui.i18n import _, translate
from lectern.ui.server.index_address import requested_index, with_index_parameter
from ragcore.errors import RagError

PRINT = "print"  # the form that opens in the browser


def export_address(conversation_id: str, form: str) -> str:
    """The address of a conversation's file; `form` is one of FORMS, or PRINT."""
    return with_index_parameter(f"/api/conversation/{conversation_id}/{form}")


def conversation_file(request: Request) -> Response:
    """A conversation as a file named after its title, or as a page to print. Only its own pages know its
    id."""
    conversation_id, form = str(request.path_params["id"]), str(request.path_params["form"])
    try:
        transcript = _transcript(resources.get_index(requested_index(request)).library, conversation_id)
    except RagError as error:
        return PlainTextResponse(f"{translate(error.what)} {translate(error.hint)}", status_code=404)
    if transcript is not None and form == PRINT:
        return HTMLResponse(as_html(transcript, labels()), headers={"Cache-Control": "no-store"})
    if transcript is None or form not in FORMS:
        return PlainTextResponse(_("This conversation no longer exists."), status_code=404)
    write, media_type = FORMS[form]
    name = file_name(transcript, form)
    headers = {
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}",
        "Cache-Control": "no-store",
    }
    return Response(write(transcript, labels()), media_type=media_type, headers=headers)


def _transcript(library: Library, conversation_id: str) -> Transcript | None:
    conversation = library.conversations.get(conversation_id)
    if conversation is None:
        return None
    messages = tuple(library.conversations.messages(conversation_id))
    return Transcript(conversation, messages, library.feedback.of(conversation_id))


def labels() -> Labels:
    return Labels(
        question=_("Question"),
        answer=_("Answer"),
        passages=_("Passages"),
        good=_("Good answer"),
        bad=_("Bad answer"),
        unfinished=_("This answer was not finished."),
        doubtful=_("Your documents may not answer this. Check the passages."),
        unsure=_("Not sure"),
        not_added=_("Lectern quotes these figures and does not add them up."),
        untitled=_("Conversation"),
        place=screen_labels.place,
    )
