"""`lectern eval DATASET`: measures finding and answering with a data set, or compares two settings."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import platformdirs

from benchmarks.datasets import report
from benchmarks.datasets.data_set import read_data_set
from benchmarks.datasets.index import indexed
from benchmarks.datasets.measure import Measured, measured
from benchmarks.datasets.settings import setting_of


def run(given: argparse.Namespace) -> int:
    """`given` has the options of `lectern eval`; gives the exit status."""

    def tell(text: str, end: str = "\n") -> None:
        print(text, end=end, file=sys.stderr, flush=True)

    def asked(number: int) -> None:
        if sys.stderr.isatty():
            tell(f"\r{number:,} of {len(data_set.trials):,} questions ", end="\n" if number == len(data_set.trials) else "")

    settings = [setting_of(text) for text in given.compare or [given.setting]]
    data_set = read_data_set(given.folder, others=given.others, beside=given.beside)
    if given.questions is not None:
        data_set = data_set.asked_with(read_data_set(given.questions))
    data_set = data_set.only(given.part)
    work = given.work or Path(platformdirs.user_cache_dir("lectern", appauthor=False)) / "eval"
    made: list[Measured] = []
    for setting in settings:
        with indexed(data_set, setting, work, tell) as opened:
            made.append(measured(data_set, setting, opened, answering=not given.finding, tell=asked))
        print("\n".join(report.table(made[-1], given.part)), flush=True)
    if len(made) == 2:
        print("\n".join(report.comparison(*made)))
    if given.each is not None:
        given.each.write_text("".join(f"{line}\n" for one in made for line in report.each_question(one)), "utf-8")
    print(report.as_json(made, given.part))
    return 0
