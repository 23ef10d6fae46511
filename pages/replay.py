"""Modes: the questions of a conversation in every chat mode, side by side. Its id is in the address for
reloads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import streamlit as st

from lectern.runs.chat_mode_replay import MODES, Replay, find_lack
from lectern.ui import labels, navigation, resources
from lectern.ui.i18n import _, ngettext
from lectern.ui.pricing import calls_a_model, run_with_consent
from lectern.ui.safetext import label
from lectern.ui.state import Confirm, fill_new_widget, session, widget
from lectern.ui.widgets.chat_mode_replay import describe_lack, draw_table
from lectern.ui.widgets.panel import opened_panel, side_panel
from lectern.ui.widgets.passage import citation_clicks
from lectern.ui.widgets.problem import session_problem
from ragcore.errors import Problem, RagError

MAX_CONVERSATIONS = 200  # in the list, the latest
POLL_SECONDS = 0.6  # between two updates of unfinished answers
READ_ONLY_PANELS = ("passage", "calls")

library, replays, state = resources.library(), resources.current_index().replays, session()

asked_for = navigation.id_from_address("r", state.replay.conversation)
conversation = library.conversations.get(asked_for) if asked_for else None
state.replay.conversation = conversation.id if conversation else None
replay = replays.get(conversation.id) if conversation else None
message = library.conversations.message(state.panel.partition(".")[2].partition(".")[0])
shown_in = (
    message.conversation_id
    if message and conversation and message.conversation_id.startswith(conversation.id)
    else None
)
opened = opened_panel(shown_in)
if opened is not None and opened.kind not in READ_ONLY_PANELS:
    opened = None
navigation.write_address("r", state.replay.conversation, state.panel if opened else "")


def start() -> None:
    replayed, modes = str(state.replay.conversation), list(widget("replay_modes") or ())

    replay_in(modes, lambda: replays.start(replayed, modes))


def again(mode: str) -> None:
    """Repeats the unfinished answer in this mode, and asks the next questions."""
    replayed = str(state.replay.conversation)
    replay_in([mode], lambda: replays.go_on(replayed, mode))


def replay_in(modes: list[str], begin: Callable[[], None]) -> None:
    """Runs `begin`; a high price needs the person's consent."""

    def start() -> None:
        try:
            begin()
            state.problem, state.replay.choosing = None, False
        except RagError as error:
            state.problem = Problem.of(error)

    try:
        replayed = str(state.replay.conversation)
        run_with_consent(replays.price(replayed, modes), len(modes) * len(replays.questions(replayed)), start)
    except RagError as error:
        state.problem = Problem.of(error)


def stop() -> None:
    replays.stop(str(state.replay.conversation))


def choose_modes(choosing: bool) -> None:
    state.replay.choosing = choosing


def conversation_picker() -> None:
    titles: dict[str, str] = {}
    repeated: Counter[str] = Counter()
    for one in library.conversations.all("chat", limit=MAX_CONVERSATIONS):
        title = one.title or _("New conversation")
        repeated[title] += 1  # options need different texts
        titles[one.id] = title if repeated[title] == 1 else f"{title} ({repeated[title]})"
    if not titles:
        st.page_link(
            navigation.CHAT, label=_("Ask something in the chat first"), icon=":material/chat_bubble:"
        )
        return
    now = state.replay.conversation
    chosen = st.selectbox(
        _("Conversation"),
        list(titles),
        key=f"replayed_{now}",  # a new key for each, so that a conversation opened from a chat is selected
        index=list(titles).index(now) if now in titles else None,
        format_func=lambda one: titles.get(one, ""),
        placeholder=_("Choose a conversation"),
    )
    if chosen is not None and chosen != now:
        state.replay.conversation, state.replay.choosing, state.panel, state.problem = chosen, False, "", None
        st.rerun()


def choices() -> None:
    writer = library.writer()
    available = [mode for mode in labels.chat_modes() if mode in MODES and find_lack(mode, writer) is None]
    fill_new_widget("replay_modes", available)
    st.pills(
        _("Chat modes"),
        available,
        selection_mode="multi",
        key="replay_modes",
        format_func=lambda mode: labels.chat_modes()[mode].label,
    )
    for mode in labels.chat_modes():
        if (lack := find_lack(mode, writer)) is not None:
            st.caption(f"**{label(labels.chat_modes()[mode].label)}**: {label(describe_lack(lack))}")
    chosen = list(widget("replay_modes") or ())
    if chosen and calls_a_model():
        st.markdown(label(price(chosen)))
    elif len(chosen) > 1:
        st.caption(labels.quotes_are_similar())
    with st.container(horizontal=True):
        st.button(
            _("Replay"),
            key="replay_start",
            type="primary",
            icon=":material/replay:",
            on_click=start,
            disabled=not chosen,
        )
        if replay is not None:
            st.button(_("Cancel"), key="replay_keep", on_click=choose_modes, args=(False,))


def price(chosen: list[str]) -> str:
    turns = len(replays.questions(str(state.replay.conversation)))
    questions = ngettext("{number} question", "{number} questions", turns).format(number=turns)
    ways = ngettext("{number} mode", "{number} modes", len(chosen)).format(number=len(chosen))
    total = labels.price(
        replays.price(str(state.replay.conversation), chosen), library.settings.price.currency
    )
    return _("{questions} in {ways}: {price}").format(questions=questions, ways=ways, price=total)


def grid(before: Replay, drawn: tuple[Problem | None, Confirm | None]) -> None:
    """The answers so far. Reruns the page when they are complete, when one is repeated, or when an error or a
    price confirmation has changed."""
    now = replays.get(str(state.replay.conversation))
    if now is None or before.running != now.running or (state.problem, state.confirm) != drawn:
        st.rerun()
    draw_table(now, library.writer(), again)


with st.container(key="replay_head", horizontal=True, vertical_alignment="center"):
    st.title(_("Modes"), anchor=False)
    if conversation is not None:
        if st.button(_("Back to the chat"), key="replay_back", type="tertiary", icon=":material/arrow_back:"):
            navigation.go_to_chat(conversation.id)
        if replay is not None and replay.running:
            st.button(_("Stop"), key="replay_stop", type="primary", icon=":material/stop:", on_click=stop)
        elif replay is not None and not state.replay.choosing:
            st.button(
                _("Replay again"),
                key="replay_again",
                icon=":material/replay:",
                on_click=choose_modes,
                args=(True,),
            )

st.markdown(
    _(
        "Ask a conversation’s questions again in other chat modes, and see how each one understands and "
        "answers them."
    )
)
conversation_picker()
if conversation is not None and not replays.questions(conversation.id):
    st.markdown(_("Nothing has been asked in this conversation yet."))
elif conversation is not None:
    st.caption(_("The same questions in the same order; each mode keeps its own history."))
    session_problem("replay")
    if replay is None or (state.replay.choosing and not replay.running):
        choices()
    if replay is not None:
        questions = tuple(ask.question for ask in replays.questions(conversation.id))
        if questions != replay.questions and not replay.running:
            st.caption(_("The conversation has changed since this replay. Replay it again to see all of it."))
        with st.container(key="replay"):
            drawn = state.problem, state.confirm
            st.fragment(grid, run_every=POLL_SECONDS if replay.running else None)(replay, drawn)

answers = [cell.state for lane in replay.lanes for cell in lane.cells] if replay else []
answering = replay is not None and replay.running
citation_clicks(
    answering=answering, conversation_id=state.replay.conversation or "", ended=labels.end_message(answers)
)
if opened is not None:
    side_panel(opened)
