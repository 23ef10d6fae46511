"""Taking a question: from any page into a conversation, or on its own, with what is wrong said and the text kept."""

from __future__ import annotations

from ragcore.conversations import Ask
from ragcore.errors import Problem, RagError
from ui import resources
from ui.state import fill_widget, session, widget


def chat_ask(question: str) -> Ask:
    """The question with what the chat page and the settings say about how to answer."""
    answers = resources.library().settings.answers
    return Ask(
        question,
        chat_mode=widget("chat_mode") or answers.chat_mode,
        response_mode=answers.response_mode,
        top_k=answers.top_k,
        file_ids=tuple(widget("chat_files") or ()) or None,
    )


def ask_in_chat(question: str, *, box: str, new: bool = False) -> bool:
    """Begin to answer in the open conversation, or a new one. Refused, the text goes back into the widget `box`."""
    state, conversations = session(), resources.library().conversations
    opened = None if new or state.conversation is None else conversations.get(state.conversation)
    conversation = opened or conversations.create()
    try:
        resources.runs().start(conversation.id, chat_ask(question))
    except RagError as error:
        if opened is None:
            conversations.delete(conversation.id)
        state.problem = Problem.of(error)
        fill_widget(box, question)
        return False
    state.conversation, state.problem, state.panel = conversation.id, None, ""
    return True


def ask_once(question: str, ask: Ask) -> bool:
    """Begin to answer a question that stands alone."""
    state, conversations = session(), resources.library().conversations
    made = conversations.create("query")
    try:
        resources.runs().start(made.id, ask)
    except RagError as error:
        conversations.delete(made.id)
        state.problem = Problem.of(error)
        return False
    state.query, state.problem, state.panel = made.id, None, ""
    return True


def answer_again(message_id: str, *, extractive: bool | None = None) -> None:
    try:
        resources.runs().retry(message_id, extractive=extractive)
    except RagError as error:
        session().problem = Problem.of(error)
    else:
        session().problem = None
