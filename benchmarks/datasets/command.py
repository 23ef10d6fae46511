"""`lectern eval DATASET`: measures retrieval and answers with a data set, or compares two settings."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import platformdirs

from benchmarks.datasets import report
from benchmarks.datasets.data_set import read_data_set
from benchmarks.datasets.index import open_index
from benchmarks.datasets.measure import Measurement, measure_data_set
from benchmarks.datasets.settings import setting_of


def run(options: argparse.Namespace) -> int:
    """`options` are those of `lectern eval`. Returns the exit status."""

    def tell(text: str, end: str = "\n") -> None:
        print(text, end=end, file=sys.stderr, flush=True)

    def show_progress(number: int) -> None:
        if sys.stderr.isatty():
            tell(
                f"\r{number:,} of {len(data_set.trials):,} questions ",
                end="\n" if number == len(data_set.trials) else "",
            )

    settings = [setting_of(text) for text in options.compare or [options.setting]]
    data_set = read_data_set(options.folder, others=options.others, more_folders=options.beside)
    if options.questions is not None:
        data_set = data_set.with_questions_of(read_data_set(options.questions))
    data_set = data_set.only(options.part)
    work = options.work or Path(platformdirs.user_cache_dir("lectern", appauthor=False)) / "eval"
    measurements: list[Measurement] = []
    for setting in settings:
        with open_index(data_set, setting, work, tell) as opened:
            measurements.append(
                measure_data_set(data_set, setting, opened, answering=not options.finding, tell=show_progress)
            )
        print("\n".join(report.table(measurements[-1], options.part)), flush=True)
    if len(measurements) == 2:
        print("\n".join(report.comparison(*measurements)))
    if options.each is not None:
        options.each.write_text(
            "".join(
                f"{line}\n" for measurement in measurements for line in report.each_question(measurement)
            ),
            "utf-8",
        )
    print(report.as_json(measurements, options.part))
    return 0
