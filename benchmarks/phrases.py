"""Adds one of PHRASES to each question of a data set, as people do. No sentence of the text contains them.

`python -m benchmarks.phrases ../shared/data/squad2_500 FOLDER` writes it to a folder, for `lectern eval
FOLDER`.
"""

from __future__ import annotations

import argparse
import json
import shutil
import zlib
from pathlib import Path

PHRASES = (
    "In this article, {}?",
    "According to the document, {}?",
    "Based on the passage, {}?",
    "{} according to the text?",
)


def add_phrase(line: str) -> str:
    row = json.loads(line)
    phrase = PHRASES[zlib.crc32(row["id"].encode()) // 2 % len(PHRASES)]
    return json.dumps({**row, "question": phrase.format(row["question"].rstrip("? "))}) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data_set", type=Path)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    shutil.copytree(options.data_set, options.folder)
    questions = options.folder / "qa.jsonl"
    questions.write_text("".join(map(add_phrase, questions.read_text("utf-8").splitlines())), "utf-8")


if __name__ == "__main__":
    main()
