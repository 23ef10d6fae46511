"""A minimal Streamlit application with as many pages, for comparison on the same machine: one line on each
page, and a conversation as in the tutorials. It runs with `streamlit run`, with Streamlit's own settings.
"""

import streamlit as st

PAGES = ("Documents", "Chat", "Compare", "Indexes", "Evaluate", "Settings")
MESSAGES = 200
WORDS = (
    "The works and the wind were discussed, and it was resolved that the railway stops when the wind is "
    "high. "
) * 3


def line(name: str) -> None:
    st.container(key=f"one_{name.lower()}").title(name)


def conversation() -> None:
    for number in range(MESSAGES):
        st.chat_message("assistant" if number % 2 else "user").markdown(WORDS)


def pages() -> list[st.Page]:
    one_liners = [st.Page(lambda name=name: line(name), title=name, url_path=name.lower()) for name in PAGES]
    return [*one_liners, st.Page(conversation, title="Conversation", url_path="conversation")]


if __name__ == "__main__":
    st.navigation(pages()).run()
