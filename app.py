"""Starts Lectern with `python app.py`, as `lectern` does. For work on the screens use `streamlit run app.py`,
which has no time limit for request headers. The screens begin in lectern/ui/shell.py."""

import sys
from pathlib import Path

import streamlit as st

import lectern
from lectern.ui.server import header_deadline
from lectern.ui.server.app import MIDDLEWARE, ROUTES, lifespan, on_script_error

SCREENS = Path(lectern.__file__).resolve().parent / "ui"
# Without this, Streamlit adds and removes the folder in every run. An import in another thread at that
# moment, such as that of the embedder's libraries, would miss the next folder of the path.
sys.path.append(str(SCREENS))

header_deadline.install()
app = st.App(
    SCREENS / "shell.py",
    lifespan=lifespan,
    routes=ROUTES,
    middleware=MIDDLEWARE,
    on_script_error=on_script_error,
)

if __name__ == "__main__":
    app.run()
