"""A library of sample documents, made when all code was in `ragcore`: it opens, holds the same, and answers
the same.

    python -m tests.faults.test_library_before_split

writes what library_before_split.zip holds and answers into the .json, for a change that is meant to give
other answers. The zip is made only where it is missing: it stays as the code before the split made it.
"""

from __future__ import annotations

import json
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from lectern.db.evaluations import Setting
from lectern.db.feedback import Verdict
from lectern.indexes import Indexes
from lectern.jobs.intake import SAMPLE
from lectern.library import Library
from lectern.runs.answer_runs import AnswerRuns
from lectern.schema import Ask, Conversation, Message, Retrieval
from ragcore.evaluation.question_sets import ExpectedSource, Question
from ragcore.extractive.sentence_support import CheckedSentence
from ragcore.schema import content_hash

ARCHIVE = Path(__file__).with_name("library_before_split.zip")
EXPECTED = ARCHIVE.with_suffix(".json")
LEFT_OUT = ("worker.log", "keys.json")
MINUTES = "committee-minutes-2022-2024.md"
NAMES = (MINUTES, "history-of-the-railway.pdf", "passenger-figures.xlsx", "visitor-questions-2025.html")
CHANGES: dict[str, dict[str, Any]] = {
    "answers": {"top_k": 5, "system_prompt": "Answer in one sentence."},
    "ingest": {"chunk_size": 180, "chunk_overlap": 20, "max_file_mb": 50},
    "price": {"prompt_million": 0.5, "currency": "£"},
}
CONVERSATIONS = (
    ("How much is a ticket for an adult in 2025?", "And for a child?"),
    ("How high did the water stand in the lower station in the flood of 1953?",),
    ("What is the capital of France?",),  # which is not found
)
ALONE = (
    Ask("Which rope lasted longest?", chat_mode=None, top_k=4),
    Ask("How much was the surplus in 2022?", chat_mode=None, retrieval=Retrieval(diverse=True)),
)


def ask_in_chat(library: Library, *questions: str) -> Conversation:
    """A new conversation, in which the questions are answered one after the other."""
    conversation = library.conversations.create()
    for question in questions:
        answer(library, conversation, Ask(question, top_k=library.settings.answers.top_k))
    return conversation


def answer(library: Library, conversation: Conversation, ask: Ask) -> None:
    assert AnswerRuns(library).start(conversation.id, ask).wait(60)


def describe(message: Message) -> dict[str, Any]:
    places = [
        [one.number, one.file_name, one.page_label, one.start, one.end, one.score] for one in message.sources
    ]
    return {"role": message.role, "text": message.text, "state": message.state, "sources": places}


def describe_answers(library: Library) -> list[list[dict[str, Any]]]:
    """What it answers now, in conversations that are made for it."""
    made = [ask_in_chat(library, *questions) for questions in CONVERSATIONS]
    for ask in ALONE:
        made.append(library.conversations.create("query"))
        answer(library, made[-1], ask)
    return [[describe(message) for message in library.conversations.messages(each.id)] for each in made]


def describe_contents(library: Library) -> dict[str, Any]:
    status, settings, kept = library.status(), library.settings.model_dump(), library.conversations.all()
    texts = {file.name: library.store.document(file.id).text for file in library.files.all()}
    return {
        "counts": {"files": status.files, "passages": status.passages},
        "settings": {part: {name: settings[part][name] for name in names} for part, names in CHANGES.items()},
        "files": {
            file.name: [file.stage.value, file.size, file.pages, file.passages]
            for file in library.files.all()
        },
        "texts": {name: [len(text), content_hash(text, {})] for name, text in texts.items()},
        "damaged": library.store.current.verify(),
        "conversations": {
            one.title: [describe(message) for message in library.conversations.messages(one.id)]
            for one in kept
        },
        "verdicts": [[one.good, one.word] for each in kept for one in library.feedback.of(each.id).values()],
        "checks": [
            [one.text, one.verdict]
            for each in kept
            for found in library.checks.of(each.id).values()
            for one in found
        ],
        "prompts": [[one.number, *one.texts] for one in library.prompts.history("text_qa") if one.number],
        "questions": [
            [each.name, each.state, one.text, one.answers, [wanted.document for wanted in one.expected]]
            for each in library.evaluations.sets()
            for one in library.evaluations.questions(each.id)
        ],
        "eval_settings": [[one.name, one.ask.top_k] for one in library.evaluations.settings()],
    }


def describe_all(folder: Path) -> dict[str, Any]:
    """What is in the library of the folder, what it answers, and what is in the other index beside it."""
    with closing(Library(folder)) as library:
        contents, answers = describe_contents(library), describe_answers(library)
    others = []
    for index in Indexes(folder).all()[1:]:
        with closing(Library.open(index.where)) as library:
            others.append([index.name, library.settings.ingest.chunk_size, library.status().passages])
    plain: dict[str, Any] = json.loads(
        json.dumps({"contents": contents, "answers": answers, "others": others})
    )
    return plain


def rounded(value: Any) -> Any:
    """Scores to four digits, in lists and dictionaries of any depth."""
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return round(value, 4) if isinstance(value, float) else value


@contextmanager
def reading(where: Path | str) -> Iterator[Library]:
    """A library whose worker reads what is added; at the end, all of it is ready."""
    with closing(Library.open(where)) as library:
        yield library
        library.worker.start()
        until = time.monotonic() + 120
        while not all(file.ready for file in library.files.all()):
            assert time.monotonic() < until
            time.sleep(0.1)


def make(folder: Path) -> None:
    with reading(folder) as library:
        now = library.settings
        changed = {part: getattr(now, part).model_copy(update=values) for part, values in CHANGES.items()}
        library.update_settings(now.model_copy(update=changed))
        for name in NAMES:
            library.intake.add(SAMPLE / name, name)
    with reading(Indexes(folder).create("Minutes").where) as minutes:
        minutes.intake.add(SAMPLE / MINUTES, MINUTES)
    with closing(Library(folder)) as library:
        conversation = ask_in_chat(library, "May I bring a large dog?", "And two of them?")
        _, first, _, second = library.conversations.messages(conversation.id)
        library.feedback.give(first.id, Verdict(good=True))
        library.feedback.give(second.id, Verdict(good=False, word="too short"))
        library.checks.keep(
            first.id, first.text, [CheckedSentence(0, len(first.text), first.text, "supported", 0)]
        )
        system, user = library.prompts.in_use("text_qa").texts
        library.prompts.save("text_qa", [f"{system}\n- Be polite.", user])
        dog = Question(
            "May I bring a dog?",
            ("one dog of any size",),
            (ExpectedSource("visitor-questions-2025.html"),),
            "dog",
        )
        library.evaluations.add_set(
            "Visitors", [dog, Question("When does the last car leave?", ("20.30",), id="car")]
        )
        library.evaluations.keep_setting(Setting("many passages", Ask("", top_k=12)))


def unpack(folder: Path) -> Path:
    with zipfile.ZipFile(ARCHIVE) as archive:
        archive.extractall(folder)
    return folder


def test_library_from_before_the_split_answers_the_same(tmp_path: Path) -> None:
    expected = json.loads(EXPECTED.read_text("utf-8"))
    found = rounded(describe_all(unpack(tmp_path)))
    for part, values in expected["contents"].items():
        assert found["contents"][part] == values, part
    assert found["answers"] == expected["answers"]
    assert found["others"] == expected["others"]


def main() -> None:
    with tempfile.TemporaryDirectory() as made, tempfile.TemporaryDirectory() as copy:
        if not ARCHIVE.exists():
            make(Path(made))
            with zipfile.ZipFile(ARCHIVE, "w", zipfile.ZIP_DEFLATED) as archive:
                for path in sorted(Path(made).rglob("*")):
                    if path.is_file() and path.name not in LEFT_OUT:
                        archive.write(path, path.relative_to(made))
        described = rounded(describe_all(unpack(Path(copy))))
    EXPECTED.write_text(json.dumps(described, ensure_ascii=False, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
