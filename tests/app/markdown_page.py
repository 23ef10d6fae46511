"""Draws each text of the JSON list in the file TEXTS as the application does: in an answer, as plain text, as
a caption and as a button."""

import json
import os
from pathlib import Path

import streamlit as st

from lectern.ui.safetext import answer_md, label, plain_md

for number, text in enumerate(json.loads(Path(os.environ["TEXTS"]).read_text("utf-8"))):
    with st.container(key=f"answer_{number}"):
        st.markdown(answer_md(text))
    with st.container(key=f"plain_{number}"):
        st.markdown(plain_md(text))
    with st.container(key=f"caption_{number}"):
        st.caption(label(text))
    with st.container(key=f"button_{number}"):
        st.button(label(text), key=f"press_{number}")
