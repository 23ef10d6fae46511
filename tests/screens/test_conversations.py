"""What can be done with a conversation and its answers: copied, branched, judged, deleted."""

from __future__ import annotations

from collections.abc import Callable

from lectern.schema import Ask, Kind
from tests.screens.conftest import Screen

DOG = "May I bring a large dog?"
STAIR = "How many steps has the Herring Stair?"
ROPE = "When was the present rope fitted?"
RAILWAY = {
    "dogs.txt": "You may bring a large dog, on a lead. Each car takes two dogs.",
    "stair.txt": "The Herring Stair has 214 steps.",
    "rope.txt": "The present rope was fitted in 2022, with a new brake.",
}


def listed(screen: Screen) -> dict[str, str]:
    """The ids of the conversations in the sidebar, by title."""
    return {item["title"]: item["id"] for item in screen.data("conversations")["items"]}


def do(screen: Screen, act: str, conversation: str, **more: str) -> Screen:
    """Press an entry of the menu of a conversation, or its title."""
    return screen.send("conversations", "act", {"do": act, "id": listed(screen)[conversation], **more})


def test_a_copy_is_named_and_goes_its_own_way(open_screen: Callable[..., Screen]) -> None:
    screen = open_screen(RAILWAY).open("chat").ask(DOG)
    before, address = screen.transcript(), screen.tab.query_params["c"]
    do(screen, "duplicate", DOG)
    assert screen.toasts() == [f"The copy is named “{DOG} (2)”."]
    assert screen.tab.query_params["c"] == address
    do(screen, "open", f"{DOG} (2)")
    assert screen.tab.query_params["c"] != address
    assert screen.transcript() == before
    screen.ask(STAIR)
    assert len(screen.transcript()) == 4
    do(screen, "open", DOG)
    assert screen.tab.query_params["c"] == address
    assert screen.transcript() == before


def test_conversation_is_renamed_pinned_and_deleted(
    open_screen: Callable[..., Screen], open_tab: Callable[..., Screen]
) -> None:
    screen = open_screen(RAILWAY).open("chat").ask(STAIR)
    screen.press("New chat").ask(DOG)
    do(screen, "rename", STAIR, title="The stair")
    do(screen, "pin", "The stair", pinned="yes")
    screen = open_tab()
    first, *others = screen.data("conversations")["items"]
    assert (first["title"], first["group"]) == ("The stair", "Pinned conversations")
    assert [item["title"] for item in others] == [DOG]
    screen.open("chat", c=first["id"])
    do(screen, "delete", "The stair")
    assert screen.toasts() == ["Conversation deleted."]
    assert "Ask your documents" in screen.words("empty_chat")
    assert [*listed(open_tab())] == [DOG]


def test_edited_question_branches_and_the_old_chat_stays(
    open_screen: Callable[..., Screen], open_tab: Callable[..., Screen]
) -> None:
    screen = open_screen(RAILWAY).open("chat").ask(DOG).ask(STAIR)
    before, address = screen.transcript(), screen.tab.query_params["c"]
    screen.act("edit")
    field = screen.tab.text_area(key="edited_question")
    assert field.value == STAIR
    field.set_value(ROPE)
    screen.press("Ask")
    said = screen.transcript()
    assert (said[:2], said[2], len(said)) == (before[:2], ROPE, 4)
    assert "2022" in said[3]
    screen = open_tab().open("chat", c=screen.tab.query_params["c"])  # as a reload does
    assert screen.transcript() == said
    screen.press(f"A branch of “{DOG}”")
    assert f"Continued differently in “{DOG} (2)”" in screen.buttons()
    assert (screen.transcript(), screen.tab.query_params["c"]) == (before, address)


def test_answer_in_another_mode_replaces_or_branches(open_screen: Callable[..., Screen]) -> None:
    screen = open_screen(RAILWAY).open("chat").ask(DOG)
    address = screen.tab.query_params["c"]
    screen.act("ways")
    screen.tab.selectbox(key="other_chat_mode").set_value("context")
    screen.tab.selectbox(key="other_response_mode").set_value("accumulate")
    assert "Asks each passage separately" in screen.run().words()
    screen.press("Replace this answer")
    assert (len(screen.transcript()), screen.tab.query_params["c"]) == (2, address)
    assert screen.facts().startswith("Documents each time")

    screen.ask(STAIR).act("ways", 0)  # under an answer that others build on
    assert "Replace this answer" not in screen.buttons()
    screen.tab.selectbox(key="other_chat_mode").set_value("condense_question")
    screen.press("Answer in a new conversation")
    assert screen.tab.query_params["c"] != address
    assert screen.facts().startswith("One complete question")
    assert screen.transcript()[0] == DOG


def test_thumb_with_a_word_is_kept_and_can_be_undone(
    open_screen: Callable[..., Screen], open_tab: Callable[..., Screen]
) -> None:
    def pressed(screen: Screen) -> list[str]:
        return [action["do"] for action in screen.data("actions_")["actions"] if action["pressed"]]

    screen = open_screen(RAILWAY).open("chat").ask(DOG).act("bad")
    (field,) = [field for field in screen.tab.text_input if field.label == "What was wrong?"]
    field.set_value("no *page* <b>4</b>")
    screen.run()
    screen = open_tab().open("chat", c=screen.tab.query_params["c"])  # as a reload does
    assert "You said it was wrong: no *page* <b>4</b>" in screen.words()
    assert pressed(screen) == ["bad"]
    screen.act("bad")
    assert "You said it was wrong" not in screen.words()
    assert pressed(open_tab().open("chat", c=screen.tab.query_params["c"])) == []


def test_all_conversations_are_deleted_at_once(open_screen: Callable[..., Screen]) -> None:
    screen = open_screen()
    kept = screen.library.conversations
    kinds: tuple[Kind, ...] = ("chat", "query")
    for kind in kinds:
        kept.write(kept.begin(kept.create(kind).id, Ask(STAIR)).id, text="It has 214.", state="done")
    assert STAIR in listed(screen.open("settings", s="privacy"))
    screen.press("delete_conversations")
    assert not listed(screen)
    assert not any(map(kept.all, kinds))


def test_citation_survives_reindex_and_rename_until_deletion(open_screen: Callable[..., Screen]) -> None:
    built = "The lock at Ossing was dug in 1911 by Nathan Crewe."
    text = " ".join(f"The keeper oiled gate {number}." for number in range(20))
    screen = (
        open_screen({"lock.txt": f"{text} {built} {text}"}).open("chat").ask("Who dug the lock at Ossing?")
    )
    panel, answer = f"passage.{screen.message_id()}.1", screen.tab.query_params["c"]
    shown = screen.send("citation_clicks", "open", {"panel": panel}).data("passage")
    assert [text for text, mark in screen.pieces() if mark == 2] == [built]
    assert shown["before"] + shown["after"]

    do(screen, "rename", "Who dug the lock at Ossing?", title="The lock")
    screen.open("settings", s="reading")
    length = next(field for field in screen.tab.number_input if field.label.startswith("Length of a passage"))
    length.set_value(40)
    screen.run()
    rebuild = next(label for label in screen.buttons() if label.startswith("Rebuild the index ("))
    (lock,) = screen.library.store.documents()
    screen.press(rebuild).rebuild()
    assert screen.library.store.documents()[0].passages > lock.passages
    assert screen.open("chat", c=answer, p=panel).data("passage") == shown

    screen.open("home")
    (lock,) = [file["id"] for file in screen.data("files")["files"]]
    screen.send("files", "act", {"do": "delete", "id": lock})
    screen.open("chat", c=answer, p=panel)
    assert "lock.txt has been deleted since this answer was given." in screen.words("panel")
    assert [text for text, mark in screen.pieces() if mark == 2] == [built]


def test_closest_passages_are_named_in_the_language_of_the_question(
    open_screen: Callable[..., Screen],
) -> None:
    screen = open_screen({"lock.txt": "The lock at Ossing was dug in 1911 by Nathan Crewe."}, real=True)
    screen.open("chat").ask("Wer hat den Mond an die Bahn gekettet?")
    assert "Ähnlichste Passagen:" in screen.transcript()[-1]
