"""Measures questions that only rows, counts, sums or places in a document answer.

    python -m benchmarks.structure                      # without a language model
    python -m benchmarks.structure --model FILE.gguf    # with one, which this process runs
    python -m benchmarks.structure tatqa large --first 60

Prints, for each part, how many questions are answered right, how many wrong answers are shown as an answer,
and how many show the closest passages or nothing. `--first N` asks N questions of each kind, spread evenly;
`--each FILE` writes every question with its answer as lines of JSON.

- `cases`: questions about invented files that were once answered wrong, of ../shared/cases.
- `household`: the questions about a bank statement, those that compute and the others, beside other
  documents.
- `tatqa`: tables of annual reports (TAT-QA, Zhu et al. 2021, https://aclanthology.org/2021.acl-long.254):
  computed numbers, and values and spans. As there, a number counts with its scale and without, its sign
  counts, and a percentage may be a share. The number is rounded like the expected one.
- `public`: questions over tables of public repositories, in structure_questions.jsonl. The files are not
  part of this repository. `--files` is the folder that has them as OWNER/NAME/PATH, at the commit of the
  questions.
- `formats`: one table as CSV, XLSX, DOCX, HTML and PDF. The answers must be the same.
- `large`: a CSV of 100,000 rows (`--rows`): the time until it can be asked relative to embedding its
  passages alone, and the time of a sum.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import platformdirs

from benchmarks.datasets.data_set import DataSet, Trial, read_data_set
from benchmarks.datasets.index import open_index
from benchmarks.datasets.measure import CONDENSED_CHAT
from benchmarks.datasets.outcomes import Reply, has_must_words
from benchmarks.datasets.settings import setting_of
from benchmarks.reader import DATA, WORK, lines
from lectern.jobs.worker import Worker
from lectern.library import Library
from lectern.schema import Ask
from ragcore.embeddings.huggingface import HuggingFaceEmbedding
from ragcore.evaluation.answer_match import contains_answer
from ragcore.llms.base import LLM
from ragcore.llms.llama_cpp import LlamaCPP
from ragcore.schema import ChatMessage, MessageRole
from ragcore.text.citations import MARKS

CASES = DATA.parent / "cases"
FILES = Path(platformdirs.user_cache_dir("lectern", appauthor=False)) / "public_files"
QUESTIONS = Path(__file__).with_name("structure_questions.jsonl")
SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "percent": Decimal("0.01"), "": 1}
_BOLD = re.compile(r"\*\*(.+?)\*\*")
_NUMBER = re.compile(
    r"(?P<minus>[-−(]\s?)?[$€£]?\s?(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)"
)
_WORD = r"(?<!\w){}(?!\w)"


@dataclass(frozen=True, slots=True)
class Check:
    """A question, the questions before it in its conversation, and whether a text answers it."""

    kind: str
    question: str
    is_right: Callable[[str], bool]
    previous: tuple[str, ...] = ()


class Asker:
    """Asks libraries, with a language model or without, and prints what comes of it."""

    def __init__(self, model: LLM | None, first: int | None, each: Path | None) -> None:
        self._model, self._first, self._each = model, first, each
        self.embedder = HuggingFaceEmbedding()

    def measure(self, data_set: DataSet, checks: Sequence[Check]) -> list[str]:
        """Prints a line for each kind of the checks. Returns "right", or "wrong, " and the outcome, of each
        check."""
        if self._first is not None:
            checks = checks[:: -(-len(checks) // self._first)]
        results: dict[str, list[str]] = {}
        with open_index(data_set, setting_of("default"), WORK, print, self.embedder) as opened:
            began = time.monotonic()
            for check in checks:
                reply = self._reply(opened.library, check)
                result = "right" if check.is_right(reply.text) else f"wrong, {reply.outcome}"
                results.setdefault(check.kind, []).append(result)
                self._write(data_set.name, check, reply, result)
            seconds = (time.monotonic() - began) / len(checks)
        for kind, of_kind in results.items():
            print_counts(f"{data_set.name}, {kind}", of_kind)
        print(f"  {seconds:.2f} s a question", flush=True)
        return [result for of_kind in results.values() for result in of_kind]

    def _reply(self, library: Library, check: Check) -> Reply:
        """As in a chat, after the questions before it; a first question stands alone."""
        history: list[ChatMessage] = []
        mode = CONDENSED_CHAT if check.previous else None
        for question in (*check.previous, check.question):
            stream = library.answer(Ask(question, chat_mode=mode), history, writer=self._model)
            text = "".join(stream)
            messages = ((MessageRole.USER, question), (MessageRole.ASSISTANT, text))
            history += [ChatMessage(role, content) for role, content in messages]
        return Reply(stream.outcome, text, ())

    def _write(self, name: str, check: Check, reply: Reply, result: str) -> None:
        if self._each is None:
            return
        row = {
            "set": name,
            "kind": check.kind,
            "question": check.question,
            "result": result,
            "answer": reply.text,
        }
        with self._each.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def print_counts(name: str, results: Sequence[str]) -> None:
    right, shown = results.count("right"), results.count("wrong, answer")
    others = len(results) - right - shown
    print(
        f"  {name:44} {len(results):5} questions: right {right:4} ({right / len(results):.3f}), "
        f"wrong as answer {shown:4} ({shown / len(results):.3f}), closest or nothing {others:4}"
    )


def stated_numbers(text: str) -> list[Decimal]:
    """The numbers that an answer states: those in bold, else those above the rows, without citations.

    >>> stated_numbers("**-12.5 million** is the difference. [1]")
    [Decimal('-12.5')]
    """
    bold = _BOLD.findall(text)
    stated = " ".join(bold) if bold else MARKS.sub("", text)
    return [
        (-1 if match["minus"] else 1) * Decimal(match["digits"].replace(",", ""))
        for match in _NUMBER.finditer(stated)
    ]


def states_number(text: str, expected: str, scale: str = "") -> bool:
    """Whether a number of the answer is the expected one, rounded as that, with its scale or without.

    >>> states_number("**0.1122** is the change.", "11.22", "percent")
    True
    """
    goal = Decimal(expected.replace(",", ""))
    step = Decimal(1).scaleb(int(goal.as_tuple().exponent))
    factor = Decimal(SCALES[scale])
    return any(
        goal == (number / divisor).quantize(step, ROUND_HALF_UP)
        for number in stated_numbers(text)
        for divisor in {Decimal(1), factor}
    )


def cases(asker: Asker, options: argparse.Namespace) -> None:
    results: list[str] = []
    for folder in sorted(CASES.glob("*/A*")):
        files = tuple(path for path in sorted(folder.iterdir()) if path.name != "expected.json")
        checks = [
            Check("cases", row["question"], _has(row["must"], row["must_not"]), tuple(row.get("after") or ()))
            for row in json.loads((folder / "expected.json").read_text("utf-8"))
            if row["how"] == "ask"
        ]
        results += asker.measure(DataSet(folder.name, (), files=files), checks)
    print_counts("all cases", results)


def _has(must: Sequence[str], must_not: Sequence[str]) -> Callable[[str], bool]:
    def is_right(text: str) -> bool:
        return all(word in text for word in must) and not any(word in text for word in must_not)

    return is_right


def household(asker: Asker, options: argparse.Namespace) -> None:
    data_set = read_data_set(
        DATA / "household", more_folders=(DATA / "azure_northwind" / "data", DATA / "paul_graham")
    )
    documents = {row["question"]: row["document"] for row in lines(DATA / "household" / "questions.jsonl")}
    checks = [
        Check(
            "computes" if trial.computes else "others", trial.question.text, _has_must(trial), trial.previous
        )
        for trial in data_set.trials
        if documents[trial.question.text].startswith("bank_statement")
    ]
    asker.measure(data_set, checks)


def _has_must(trial: Trial) -> Callable[[str], bool]:
    return lambda text: has_must_words(text, trial.must)


def tatqa(asker: Asker, options: argparse.Namespace) -> None:
    computed: list[Check] = []
    quoted: list[Check] = []
    for row in lines(DATA / "tatqa_dev" / "qa.jsonl"):
        if row["answer_type"] in ("arithmetic", "count"):
            computed.append(Check("a number to be computed", row["question"], _is_number(row)))
        else:
            quoted.append(Check("span and value", row["question"], _has_spans(row)))
    data_set = replace(read_data_set(DATA / "tatqa_dev"), trials=())
    asker.measure(data_set, computed)
    asker.measure(data_set, quoted)


def _is_number(row: Mapping[str, Any]) -> Callable[[str], bool]:
    return lambda text: states_number(text, str(row["answers"][0]), row["scale"])


def _has_spans(row: Mapping[str, Any]) -> Callable[[str], bool]:
    """Each span is needed where the question has several answers that belong together."""

    def is_right(text: str) -> bool:
        plain = MARKS.sub("", text)
        spans = [contains_answer(plain, [answer]) for answer in row["answers"]]
        return all(spans) if row["all_required"] else any(spans)

    return is_right


def public(asker: Asker, options: argparse.Namespace) -> None:
    rows = lines(QUESTIONS)
    files = {
        (row["repository"], row["path"]): options.files / row["repository"] / row["path"] for row in rows
    }
    if missing := [path for path in files.values() if not path.exists()]:
        print(f"  public: skipped, {len(missing)} of {len(files)} files are missing, such as {missing[0]}")
        return
    checks = [Check(row["kind"], row["question"], _is_public_answer(row)) for row in rows]
    asker.measure(DataSet("public", (), files=tuple(files.values())), checks)


def _is_public_answer(row: Mapping[str, Any]) -> Callable[[str], bool]:
    """A whole number exactly, others to two decimals; words as whole words."""
    if "number" in row:
        number = row["number"]
        expected = f"{number:.0f}" if number == int(number) else f"{number:.2f}"
        return lambda text: states_number(text, expected)

    def has_word(text: str, word: str) -> bool:
        return re.search(_WORD.format(re.escape(word)), text) is not None

    return lambda text: (
        all(has_word(text, word) for word in row["must"])
        and not any(has_word(text, word) for word in row.get("must_not", ()))
    )


ROOMS = [
    ["Cabin", "Beds", "Stove", "Price a night", "Built"],
    ["Alder", "4", "yes", "85", "1998-05-02"],
    ["Beech", "2", "no", "60", "2004-03-17"],
    ["Chestnut", "6", "yes", "120", "2011-09-30"],
    ["Hazel", "2", "no", "55", "1987-06-11"],
    ["Larch", "8", "yes", "150", "2019-04-01"],
    ["Maple", "5", "no", "95", "2015-10-23"],
]
ABOUT_ROOMS = (
    ("Which cabins have no stove?", ["Beech", "Hazel", "Maple"], ["Alder", "Larch"]),
    ("How many cabins have a stove?", ["**3**"], []),
    ("Which cabin has the most beds?", ["Larch"], ["Maple"]),
    ("Which cabins cost less than 90 a night?", ["Alder", "Beech", "Hazel"], ["Maple", "Larch"]),
    ("What is the average number of beds?", ["4.5"], []),
)


def formats(asker: Asker, options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for path in write_formats(Path(folder)):
            checks = [
                Check("the same table", question, _has(must, not_)) for question, must, not_ in ABOUT_ROOMS
            ]
            asker.measure(DataSet(path.suffix[1:].upper(), (), files=(path,)), checks)


def write_formats(folder: Path) -> Iterator[Path]:
    """The table in files of five formats."""
    import docx
    import openpyxl
    from reportlab.platypus import SimpleDocTemplate  # type: ignore[import-untyped]
    from reportlab.platypus import Table as PdfTable

    with (folder / "cabins.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(ROOMS)
    workbook = openpyxl.Workbook()
    for row in ROOMS:
        workbook.worksheets[0].append([int(cell) if cell.isdecimal() else cell for cell in row])
    workbook.save(folder / "cabins.xlsx")
    document = docx.Document()
    table = document.add_table(len(ROOMS), len(ROOMS[0]))
    for row, cells in zip(ROOMS, table.rows, strict=True):
        for text, cell in zip(row, cells.cells, strict=True):
            cell.text = text
    document.save(str(folder / "cabins.docx"))
    html = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in ROOMS)
    html = html.replace("td>", "th>", 2 * len(ROOMS[0]))
    (folder / "cabins.html").write_text(f"<html><body><table>{html}</table></body></html>", "utf-8")
    SimpleDocTemplate(str(folder / "cabins.pdf")).build(
        [PdfTable(ROOMS, style=[("GRID", (0, 0), (-1, -1), 1, "black")])]
    )
    yield from sorted(folder.glob("cabins.*"))


def large(asker: Asker, options: argparse.Namespace) -> None:
    """The seconds are of one run; other programs on the machine lengthen both."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "payments.csv"
        total = write_payments(path, options.rows)
        with closing(Library(Path(folder) / "library", embedder=asker.embedder)) as library:
            library.intake.add(path, path.name)
            asker.embedder.embed_query("")  # loads the model
            worker = Worker(library.files, library.store, asker.embedder, lambda: library.settings.ingest)
            began = time.perf_counter()
            while worker.run_once():
                pass
            ready = time.perf_counter() - began
            (document_id,) = [file.id for file in library.files.all()]
            texts = [node.text for node in library.store.passages(document_id)]
            began = time.perf_counter()
            asker.embedder.embed_passages(texts)
            embedding = time.perf_counter() - began
            print(
                f"  {options.rows:,} rows, {len(texts):,} passages: ready after {ready:.0f} s, "
                f"{ready / embedding:.2f} times the embedding alone"
            )
            check = Check(
                "sum", "What is the total amount?", lambda text: states_number(text, f"{total:.2f}")
            )
            for name in ("first", "second"):
                began = time.perf_counter()
                reply = asker._reply(library, check)
                seconds = time.perf_counter() - began
                result = "right" if check.is_right(reply.text) else f"wrong: {reply.text[:200]}"
                print(f"  {name} sum: {seconds:.2f} s, {result}")


def write_payments(path: Path, rows: int) -> Decimal:
    """A CSV of invented payments; returns their sum."""
    cents = [(number * 7919) % 90_000 + 100 for number in range(rows)]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["Payment", "Date", "Category", "Amount"])
        for number, amount in enumerate(cents, 1):
            date = f"2025-{number % 12 + 1:02}-{number % 28 + 1:02}"
            writer.writerow(
                [f"P{number:06}", date, ("Food", "Travel", "Rent")[number % 3], f"{amount / 100:.2f}"]
            )
    return Decimal(sum(cents)) / 100


PARTS = {part.__name__: part for part in (cases, household, tatqa, public, formats, large)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; by default all")
    parser.add_argument("--model", type=Path, metavar="FILE", help="a language model as a GGUF file")
    parser.add_argument("--first", type=int, metavar="N", help="at most N questions of each part")
    parser.add_argument(
        "--each", type=Path, metavar="FILE", help="where to write each question with its answer"
    )
    parser.add_argument("--files", type=Path, default=FILES, help="the folder of public files")
    parser.add_argument("--rows", type=int, default=100_000, help="of the large table")
    options = parser.parse_args()
    model = None if options.model is None else LlamaCPP(options.model, temperature=0.0, max_new_tokens=256)
    asker = Asker(model, options.first, options.each)
    for name in options.parts or PARTS:
        PARTS[name](asker, options)


if __name__ == "__main__":
    main()
