"""Data sets for measurements, in a folder: documents, questions, and the expected passages or answers.

A person's own: `questions.csv` or `questions.jsonl` as the Evaluate screen reads and writes them, see
ragcore.evaluation.question_sets, and the files that they are about, of any kind that Lectern reads, in a
folder `documents`.

Conversations: the same folder and a `questions.jsonl` with lines {id, question, after, must, computes}.
`after` is the question before it in the conversation, "" for none; `must` are groups of strings, and a right
answer has one of each; it is null if the documents have no answer. `computes` is true if the answer must be
worked out.

Published ones: `corpus.jsonl`, lines {_id, title, text}, with one of

- `queries.jsonl`, lines {_id, text}, and `qrels.tsv`, a first line of names, then question, document, grade
  (BEIR's format);
- `queries.lastturn.jsonl`, `queries.questions.jsonl`, `queries.rewrite.jsonl` and `qrels.tsv` (MTRAG's): the
  last message of a conversation, all of a person's messages, and the last one as a person rewrote it to stand
  alone; turns begin with "|user|:";
- `qa.jsonl`, lines {id, question, answers, doc_ids}. No answers: the documents do not answer it. `spans` are
  the places of the answers in the document, in characters. `pages`, pairs of file and page, go with a folder
  `data` of files and no corpus.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from ragcore.errors import InputError
from ragcore.evaluation.question_sets import ExpectedSource, Question, read_question_set

Part = Literal["development", "validation", "all"]
T = TypeVar("T")

QUESTIONS = ("questions.jsonl", "questions.csv")
OWN, PUBLISHED = "documents", "data"
TURN = "|user|:"
_ACCEPTED = (
    "It needs questions.csv or questions.jsonl beside a folder “documents”; or corpus.jsonl with "
    "qa.jsonl or with "
    "queries.jsonl and qrels.tsv; or qa.jsonl beside a folder “data”."
)


@dataclass(frozen=True, slots=True)
class Text:
    """A document of a corpus."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Trial:
    """A question with what is known about it. `grades`: of documents by id; 1 and more are relevant.
    `answerable`: whether these documents answer it, None if that is unknown. `previous`: the person's earlier
    messages; `rewritten`: the question as a person rewrote it to be understood alone. `must`: groups of
    strings, of which a right answer has one each; `computes`: the answer is worked out from the documents."""

    question: Question
    grades: Mapping[str, int] = field(default_factory=dict)
    answerable: bool | None = None
    previous: tuple[str, ...] = ()
    rewritten: str = ""
    must: tuple[tuple[str, ...], ...] = ()
    computes: bool = False

    @property
    def part(self) -> Part:
        """Always the same half for the same id."""
        return "development" if zlib.crc32(self.question.id.encode()) % 2 == 0 else "validation"


@dataclass(frozen=True, slots=True)
class DataSet:
    """`texts` or `files` are its documents. `own`: a person's, measured as on the Evaluate screen;
    `conversations`: measured by the outcome of each answer. `questions_of`: the data set whose words the
    questions have, where that is another one."""

    name: str
    trials: tuple[Trial, ...]
    texts: tuple[Text, ...] = ()
    files: tuple[Path, ...] = ()
    own: bool = False
    conversations: bool = False
    questions_of: str = ""

    @property
    def title(self) -> str:
        return (
            f"{self.name}, asked with the questions of {self.questions_of}"
            if self.questions_of
            else self.name
        )

    def with_questions_of(self, other: DataSet) -> DataSet:
        """With the questions of another data set that have the same ids, such as translations, and the
        documents of this one. InputError where there are none."""
        texts = {trial.question.id: trial.question.text for trial in other.trials}
        trials = tuple(
            replace(trial, question=replace(trial.question, text=texts[trial.question.id]), answerable=None)
            for trial in self.trials
            if trial.question.id in texts
        )
        if not trials:
            raise InputError(
                f"{self.name} and {other.name} have no questions in common.",
                hint="Questions are matched by their ids.",
            )
        return replace(self, trials=trials, questions_of=other.name)

    def only(self, part: Part) -> DataSet:
        """The questions of a part. InputError where it has none."""
        chosen = (
            self
            if part == "all"
            else replace(self, trials=tuple(each for each in self.trials if each.part == part))
        )
        if not chosen.trials:
            raise InputError(
                f"{self.name} has no questions in its {part} part.", hint="Measure with: --part all"
            )
        return chosen

    def fingerprint(self) -> str:
        """Of the documents: the same for the same names and contents."""
        digest = hashlib.sha256()
        for text in self.texts:
            digest.update(json.dumps([text.id, text.title, text.text]).encode())
        for path in self.files:
            digest.update(f"\0{path.name}\0".encode())
            digest.update(path.read_bytes())
        return digest.hexdigest()


def read_data_set(folder: Path, *, others: int | None = None, more_folders: Sequence[Path] = ()) -> DataSet:
    """The data set in a folder. `others`: only the graded documents of its corpus, and so many more.
    `more_folders`: folders of further files for its library.

    InputError for anything that is no data set, and for a file in it that is not as it should be.
    """
    data_set = _read(folder)
    if more_folders and not data_set.files:
        raise InputError(
            f"{data_set.name} has a corpus, and no files can stand beside it.", hint="Leave out: --beside"
        )
    data_set = replace(
        data_set, files=(*data_set.files, *(path for other in more_folders for path in _files(other)))
    )
    if others is None or not data_set.texts:
        return data_set
    graded = {id_ for trial in data_set.trials for id_ in trial.grades}
    more = sorted(
        (text.id for text in data_set.texts if text.id not in graded),
        key=lambda id_: zlib.crc32(id_.encode()),
    )
    chosen = graded | set(more[:others])
    return replace(data_set, texts=tuple(text for text in data_set.texts if text.id in chosen))


def _read(folder: Path) -> DataSet:
    if not folder.is_dir():
        raise InputError(f"There is no folder {folder}.", hint=f"Give the folder of a data set. {_ACCEPTED}")
    # xquad/de
    name = "/".join(folder.resolve().parts[-2:]) if len(folder.name) <= 2 else folder.resolve().name
    questions = next((folder / each for each in QUESTIONS if (folder / each).is_file()), None)
    if questions is not None and (folder / OWN).is_dir():
        if _has_must_words(questions):
            return DataSet(name, _in_conversations(questions), files=_files(folder / OWN), conversations=True)
        return DataSet(name, _read_own_questions(questions), files=_files(folder / OWN), own=True)
    if (folder / "qa.jsonl").is_file() and (folder / PUBLISHED).is_dir():
        return DataSet(name, _read_questions(folder / "qa.jsonl"), files=_files(folder / PUBLISHED))
    if not (folder / "corpus.jsonl").is_file():
        raise InputError(f"{folder} is not a data set.", hint=_ACCEPTED)
    texts = tuple(_lines(folder / "corpus.jsonl", _document))
    if (folder / "qa.jsonl").is_file():
        trials = _read_questions(folder / "qa.jsonl")
        if any(passage.start is not None for trial in trials for passage in trial.question.expected):
            # a title above a text would move its positions
            texts = tuple(replace(text, title="") for text in texts)
        return DataSet(name, trials, texts)
    if (folder / "queries.lastturn.jsonl").is_file():
        return DataSet(name, _conversations(folder), texts)
    if (folder / "queries.jsonl").is_file():
        return DataSet(name, _read_graded_questions(folder), texts)
    raise InputError(f"{folder} has documents and no questions.", hint=_ACCEPTED)


def _document(row: Mapping[str, Any]) -> Text:
    return Text(_text(row, "_id"), _text(row, "title") if row.get("title") else "", _text(row, "text"))


def _read_own_questions(path: Path) -> tuple[Trial, ...]:
    questions = read_question_set(path.read_bytes(), path.name).questions
    # The same id every time, so that a question stays in its part.
    return tuple(
        Trial(replace(each, id=hashlib.sha256(each.text.encode()).hexdigest()[:16])) for each in questions
    )


def _has_must_words(path: Path) -> bool:
    """Whether its first line has `must`."""
    with path.open(encoding="utf-8", errors="replace") as lines:
        return path.suffix == ".jsonl" and '"must"' in next(lines, "")


def _in_conversations(path: Path) -> tuple[Trial, ...]:
    """InputError where `after` is no question above it."""
    trials: list[Trial] = []
    before: dict[str, tuple[str, ...]] = {}  # by question, the conversation up to it
    for number, (after, trial) in enumerate(
        _lines(path, lambda row: (_text(row, "after"), _with_must_words(row))), 1
    ):
        if after and after not in before:
            raise InputError(
                f"{path}, question {number}: {after!r} is not asked above it.", hint="Put it on a line above."
            )
        previous = before[after] if after else ()
        before[trial.question.text] = (*previous, trial.question.text)
        trials.append(replace(trial, previous=previous))
    return tuple(trials)


def _with_must_words(row: Mapping[str, Any]) -> Trial:
    must = None if row["must"] is None else tuple(tuple(map(str, group)) for group in row["must"])
    question = Question(_text(row, "question"), id=str(row.get("id") or row["question"]))
    return Trial(question, answerable=must is not None, must=must or (), computes=bool(row.get("computes")))


def _files(folder: Path) -> tuple[Path, ...]:
    files = tuple(
        sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    )
    if not files:
        raise InputError(
            f"{folder} has no files.", hint="Put the documents that the questions are about into it."
        )
    return files


def _read_questions(path: Path) -> tuple[Trial, ...]:
    return tuple(_lines(path, _trial))


def _trial(row: Mapping[str, Any]) -> Trial:
    answers, documents = (
        tuple(map(str, row.get("answers") or ())),
        [str(each) for each in row.get("doc_ids") or ()],
    )
    expected = tuple(ExpectedSource(str(file), (str(page),)) for file, page in row.get("pages") or ())
    if spans := row.get("spans"):
        expected = tuple(ExpectedSource(documents[0], (), int(start), int(end)) for start, end in spans)
    question = Question(_text(row, "question"), answers, expected, str(row.get("id") or row["question"]))
    grades = dict.fromkeys(documents, 1) if answers and not expected else {}
    # If the answers are the expected passages themselves, there is nothing to answer.
    return Trial(question, grades, None if spans else bool(answers))


def _read_graded_questions(folder: Path) -> tuple[Trial, ...]:
    grades = _grades(folder / "qrels.tsv")
    questions = _lines(
        folder / "queries.jsonl", lambda row: Question(_text(row, "text"), id=_text(row, "_id"))
    )
    return tuple(Trial(each, grades[each.id]) for each in questions if each.id in grades)


def _conversations(folder: Path) -> tuple[Trial, ...]:
    grades = _grades(folder / "qrels.tsv")
    last, every, rewritten = (
        dict(
            _lines(
                folder / f"queries.{name}.jsonl", lambda row: (_text(row, "_id"), _turns(_text(row, "text")))
            )
        )
        for name in ("lastturn", "questions", "rewrite")
    )
    if missing := [id_ for id_ in grades if not (id_ in last and id_ in every and id_ in rewritten)]:
        raise InputError(
            f"{folder} does not have all of the question {missing[0]}.",
            hint="It must be in queries.lastturn.jsonl, queries.questions.jsonl and queries.rewrite.jsonl.",
        )
    return tuple(
        Trial(
            Question(last[id_][-1], id=id_), of, previous=tuple(every[id_][:-1]), rewritten=rewritten[id_][-1]
        )
        for id_, of in grades.items()
    )


def _turns(text: str) -> list[str]:
    return [turn.strip() for turn in text.removeprefix(TURN).split(f"\n{TURN}")]


def _grades(path: Path) -> dict[str, dict[str, int]]:
    """By question and document; only of questions that have a relevant one."""
    if not path.is_file():
        raise InputError(
            f"There is no file {path}.", hint="It says which documents are relevant to which question."
        )
    by_question: dict[str, dict[str, int]] = defaultdict(dict)
    for number, line in enumerate(path.read_text("utf-8").splitlines()[1:], 2):
        try:
            question, document, grade = line.split("\t")
            by_question[question][document] = int(grade)
        except ValueError as error:
            raise _damaged_line(
                path, number, "question, document and a whole number, with tabs between them"
            ) from error
    return {question: grades for question, grades in by_question.items() if max(grades.values()) > 0}


def _lines(path: Path, parse: Callable[[Mapping[str, Any]], T]) -> Iterator[T]:
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not text in UTF-8.", hint="Save it as UTF-8.") from error
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            yield parse(json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            raise _damaged_line(path, number, "one JSON object with what this kind of file has") from error


def _text(row: Mapping[str, Any], name: str) -> str:
    value = row[name]
    if not isinstance(value, str):
        raise TypeError(name)
    return value


def _damaged_line(path: Path, line: int, expected: str) -> InputError:
    return InputError(
        f"{path}, line {line} cannot be read.", hint=f"It must be {expected}; see docs/quality.md."
    )
