"""Makes the recordings of stage mode anew: `lectern record`. See lectern.runs.recorded_demo, which plays
them."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from lectern.keys import read_key, write_key
from lectern.library import Library
from lectern.local_models import models_folder
from lectern.runs.answer_runs import AnswerRuns
from lectern.runs.chat_mode_replay import MODES as CHAT_MODES
from lectern.runs.chat_mode_replay import find_lack
from lectern.runs.recorded_demo import Recording, recordings
from lectern.schema import Ask
from lectern.settings import home_of
from ragcore.errors import RagError, StoreError
from ragcore.response_synthesizers.response_mode import ResponseMode

CHAT = ("In what wind does the railway stop?", "And what did Dr Greaves recommend?")
QUERY = "May I bring a large dog?"
Part: TypeAlias = Literal["chat", "query"]
LOOKS = 500.0  # a second, at an answer that is being recorded


def record(
    library: Library,
    told: Callable[[Recording], object] = lambda made: None,
    *,
    parts: Sequence[Part] = ("chat", "query"),
) -> list[Recording]:
    """Every question of the stage, asked about the sample alone with the language model of `library`'s
    settings.

    `told` hears of each as it is done. LLMErrors. StoreError when the sample cannot be read.
    """
    with tempfile.TemporaryDirectory() as folder:
        sample = Library(Path(folder))
        try:
            llm = library.settings.llm
            if llm.provider == "llama_cpp":
                models = models_folder(home_of(library.folder))
                models_folder(sample.folder).symlink_to(models, target_is_directory=True)
            sample.update_settings(sample.settings.model_copy(update={"llm": llm}))
            write_key(
                sample.folder,
                llm.provider,
                read_key(library.folder, llm.provider, llm.base_url),
                llm.base_url,
            )
            _read_sample(sample)
            sample.embedder_loader.load()
            writer = sample.writer()
            made: list[Recording] = []
            talks = [
                [Ask(question, chat_mode=mode) for question in CHAT]
                for mode in CHAT_MODES
                if not find_lack(mode, writer)
            ]
            alone = [[Ask(QUERY, chat_mode=None, response_mode=mode.value)] for mode in ResponseMode]
            for asks in (*(talks if "chat" in parts else ()), *(alone if "query" in parts else ())):
                for one in _recorded_talk(sample, asks):
                    told(one)
                    made.append(one)
            return made
        finally:
            sample.close()


def write(made: Sequence[Recording], folder: Path) -> None:
    """Each into a file of its own; one of the same model, way and question is replaced. StoreError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for one in made:
            (folder / one.name).write_text(one.to_json(), "utf-8")
    except OSError as error:
        raise StoreError(
            f"The recordings cannot be written to {folder}: {error.strerror or error}.",
            hint="Name another folder, with: lectern record --into FOLDER",
        ) from error
    recordings.cache_clear()


def _read_sample(sample: Library) -> None:
    sample.intake.add_sample()
    sample.worker.start()
    while any(file.active for file in sample.files.all()):
        time.sleep(0.1)
    failed = [file.problem for file in sample.files.all() if file.problem is not None]
    if failed:
        raise StoreError(f"The sample cannot be read. {failed[0].what}", hint=failed[0].hint)


def _recorded_talk(sample: Library, asks: Sequence[Ask]) -> Iterator[Recording]:
    runs, conversations = AnswerRuns(sample), sample.conversations
    talk = conversations.create("chat")
    for number, ask in enumerate(asks):
        made, began = time.time(), time.perf_counter()
        pieces: list[tuple[float, str]] = []
        run = runs.start(talk.id, ask)
        for piece in run.follow(LOOKS):
            if piece:
                pieces.append((round(time.perf_counter() - began, 3), piece))
        message, trace = conversations.message(run.message_id), conversations.trace(run.message_id)
        if message is None or message.facts is None or trace is None:
            problem = message.problem if message else None
            raise RagError(
                f"“{ask.question}” could not be recorded. {problem.what if problem else ''}".strip(),
                hint=problem.hint if problem else "Try again.",
            )
        whole = round(message.facts.seconds, 3)
        yield Recording(
            created=made,
            before=tuple(earlier.question for earlier in asks[:number]),
            ask=ask,
            pieces=(*pieces, (max(whole, pieces[-1][0] if pieces else 0.0), "")),
            sources=message.sources,
            facts=message.facts,
            trace=trace,
            text=message.text,
            sentences=tuple(sample.checks.of(talk.id).get(run.message_id, ())),
        )
