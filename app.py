"""Starts Lectern: `python app.py` or `streamlit run app.py`. The screens begin in ui/shell.py."""

from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware
from starlette.routing import Route

from ui import exports, web
from ui.first_frame import FirstFrame

app = st.App(
    Path(__file__).resolve().parent / "ui" / "shell.py",
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
        Middleware(web.KnownHosts),
        Middleware(web.SecurityHeaders),
        Middleware(web.RequestLanguage),
        Middleware(FirstFrame),
    ],
    on_script_error=web.on_script_error,
)

if __name__ == "__main__":
    app.run()
