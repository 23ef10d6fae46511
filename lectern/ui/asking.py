"""Starts answers to the questions of all pages. An error puts the text back into its field."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lectern.runs.answer_runs import check_question
from lectern.schema import Ask, Kind, Price
from lectern.ui import resources
from lectern.ui.i18n import _
from lectern.ui.pricing import run_within_limits
from lectern.ui.state import fill_menu, fill_widget, menu_value, session
from ragcore.errors import Problem, RagError
from ragcore.extractive.quoter import Quoter


def reset_chat_options(file_ids: Sequence[str] = ()) -> None:
    """A new chat has the mode of the settings, and these documents; () for all."""
    fill_menu("chat_mode", resources.library().settings.answers.chat_mode)
    fill_menu("chat_files", list(file_ids))


def chat_ask(question: str) -> Ask:
    """The question with the options of the chat page and the settings."""
    answers = resources.library().settings.answers
    return Ask(
        question,
        chat_mode=menu_value("chat_mode") or answers.chat_mode,
        response_mode=answers.response_mode,
        top_k=answers.top_k,
        file_ids=tuple(menu_value("chat_files") or ()) or None,
        retrieval=answers.retrieval,
    )


def ask_in_chat(question: str, *, box: str, new: bool = False) -> bool:
    """Starts an answer in the open conversation or a new one. On an error the text goes back into the widget
    `box`.

    Returns whether the answer has started. If the person must confirm its price first, it starts later, and
    `go_to_chat` tells the page about a new conversation.
    """
    state, conversations = session(), resources.library().conversations
    if new:
        reset_chat_options()
    opened = None if new or state.chat.conversation is None else conversations.get(state.chat.conversation)
    ask, started, waited = chat_ask(question), False, False

    def start(expected: Sequence[Price | None]) -> None:
        nonlocal started
        if problem := mode_problem(ask.chat_mode or ""):
            state.problem = Problem(problem, _("Choose another way to answer."))
            fill_widget(box, question)
            return
        try:
            state.chat.conversation = start_answer(opened.id if opened else None, ask, expected[0])
        except RagError as error:
            state.problem = Problem.of(error)
            fill_widget(box, question)
            return
        state.problem, state.panel, started = None, "", True
        state.chat.go_to_chat = new and waited

    history = resources.current_index().runs.history(opened.id) if opened else []
    run_within_limits([ask], start, history=history, cancelled=lambda: fill_widget(box, question))
    waited = True
    return started


def ask_outside_chat(asks: Sequence[Ask]) -> bool:
    """Starts an answer to each of `asks`, outside any chat. Returns whether they have started."""
    state, runs = session(), resources.current_index().runs
    started = False

    def start(expected: Sequence[Price | None]) -> None:
        nonlocal started
        try:
            state.query.conversation = (
                runs.compare(asks, expected=expected)
                if len(asks) > 1
                else start_answer(None, asks[0], expected[0], kind="query")
            )
        except RagError as error:
            state.problem = Problem.of(error)
            return
        state.problem, state.panel, started = None, "", True

    run_within_limits(asks, start)
    return started


def start_answer(
    conversation_id: str | None, ask: Ask, expected: Price | None, *, kind: Kind = "chat"
) -> str:
    """Starts an answer in this conversation, or in a new one of this kind. Returns its id. An error deletes
    the new one."""
    conversations = resources.library().conversations
    id_ = conversation_id or conversations.create(kind).id
    try:
        resources.current_index().runs.start(id_, ask, expected=expected)
    except RagError:
        if conversation_id is None:
            conversations.delete(id_)
        raise
    return id_


def ask_in_branch(message_id: str, ask: Ask) -> None:
    """Copies the conversation up to the question of this answer, and asks `ask` in the copy."""
    state, conversations = session(), resources.library().conversations

    def start(expected: Sequence[Price | None]) -> None:
        branch = None
        try:
            check_question(ask.question)
            branch = conversations.branch(message_id)
            resources.current_index().runs.start(branch.id, ask, expected=expected[0])
        except RagError as error:
            if branch is not None:
                conversations.delete(branch.id)
            state.problem = Problem.of(error)
            return
        state.chat.conversation, state.problem, state.panel, state.chat.earlier = branch.id, None, "", 0
        state.notice = _("This is a new conversation. The earlier one has not changed.")

    message = conversations.message(message_id)
    history = (
        resources.current_index().runs.history(message.conversation_id, before=message_id) if message else []
    )
    run_within_limits([ask], start, history=history)


def mode_problem(chat_mode: str) -> str:
    """Why the language model of the settings cannot answer in this chat mode; "" if it can."""
    if chat_mode != "openai":
        return ""
    try:
        writer = resources.library().writer()
    except RagError:
        return ""  # asking reports the wrong setting
    if isinstance(writer, Quoter) or writer.metadata.is_function_calling_model:
        return ""
    hint = _("{model} is not set up to call functions. “Step by step” does the same with any model.")
    return hint.format(model=writer.metadata.model_name)


def answer_again(message_id: str, *, extractive: bool | None = None, ask: Ask | None = None) -> None:
    """Answers again and replaces the answer. `ask`: another question or other options."""

    def start(expected: Sequence[Price | None]) -> None:
        try:
            resources.current_index().runs.retry(
                message_id, extractive=extractive, ask=ask, expected=expected[0]
            )
        except RagError as error:
            session().problem = Problem.of(error)
        else:
            session().problem = None

    message = resources.library().conversations.message(message_id)
    new_ask = ask or (message.ask if message else None)
    if message is None or new_ask is None:
        start([None])  # an error that says the answer is gone
        return
    if extractive is not None:
        new_ask = replace(new_ask, extractive=extractive)
    run_within_limits(
        [new_ask],
        start,
        history=resources.current_index().runs.history(message.conversation_id, before=message_id),
    )
