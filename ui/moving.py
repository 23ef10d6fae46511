"""Parts of a screen that are drawn again and again while something goes on, and no longer once it is over."""

from __future__ import annotations

from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.scriptrunner_utils.script_run_context import ThreadState, enqueue_message


def be_still() -> None:
    """Have the browser ask no more for the part that is being drawn, until the whole screen is drawn: what it follows is over.

    Without this a tab that is left open would keep the server busy for ever.
    """
    part = ThreadState.get().fragment_id
    if part is not None:
        message = ForwardMsg()
        message.stop_auto_rerun.fragment_ids.append(part)
        enqueue_message(message)
