"""Starts Lectern: `python app.py`, which `lectern` does too, or `streamlit run app.py`, for those who change the screens, which
waits without end for the header of a request. The screens begin in lectern/ui/shell.py."""

import sys
from pathlib import Path

import streamlit as st

from lectern.ui.server import header_deadline
from lectern.ui.server.app import MIDDLEWARE, ROUTES, lifespan, on_script_error

SCREENS = Path(__file__).resolve().parent / "lectern" / "ui"
# Else Streamlit puts it there for each run and takes it away again, and a thread that imports something just then, such as the
# embedder's libraries, passes over the folder behind it.
sys.path.append(str(SCREENS))

header_deadline.install()
app = st.App(SCREENS / "shell.py", lifespan=lifespan, routes=ROUTES, middleware=MIDDLEWARE, on_script_error=on_script_error)

if __name__ == "__main__":
    app.run()
