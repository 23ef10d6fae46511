"""Our own page elements, each with a script and a style sheet in this folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import streamlit as st

HERE = Path(__file__).parent


class Component(Protocol):
    def __call__(self, *, key: str, data: Any, **events: Any) -> Any: ...


def component(name: str, html: str) -> Component:
    """Registers the component of `name`.js and `name`.css. base.js and base.css come before each."""
    style = HERE / f"{name}.css"
    css = (HERE / "base.css").read_text("utf-8") + (style.read_text("utf-8") if style.exists() else "")
    js = (HERE / "base.js").read_text("utf-8") + (HERE / f"{name}.js").read_text("utf-8")
    registered: Component = st.components.v2.component(f"lectern_{name}", html=html, css=css, js=js)
    return registered
