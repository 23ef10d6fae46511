"""Starts Lectern: `python app.py` or `streamlit run app.py`. The screens begin in lectern/lectern/ui/shell.py."""

import sys
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware
from starlette.routing import Route

from lectern.ui import exports, web
from lectern.ui.first_frame import FirstFrame

SCREENS = Path(__file__).resolve().parent / "lectern" / "ui"
# Else Streamlit puts it there for each run and takes it away again, and a thread that imports something just then, such as the
# embedder's libraries, passes over the folder behind it.
sys.path.append(str(SCREENS))

app = st.App(
    SCREENS / "shell.py",
    lifespan=web.lifespan,
    routes=[
        Route("/api/upload", web.upload, methods=["PUT"]),
        Route("/api/index", web.make_index, methods=["PUT"]),
        Route("/api/copy", web.make_copy, methods=["POST"]),
        Route("/api/copy/{id:uuid}", web.send_copy),
        Route("/api/map", web.map_points),
        Route("/api/map/{row:int}", web.map_passage),
        Route("/api/conversation/{id}/{form}", exports.conversation_file),
        Route("/api/page/{file_id}/{page_index:int}", web.page_image),
        Route("/api/card/{message_id}", web.run_card),
    ],
    middleware=[
        Middleware(web.ClosedTabs),
        Middleware(web.KnownHosts),
        Middleware(web.SecurityHeaders),
        Middleware(web.RequestLanguage),
        Middleware(FirstFrame),
    ],
    on_script_error=web.on_script_error,
)

if __name__ == "__main__":
    app.run()
