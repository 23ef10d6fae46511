"""`python -m tests.differential [AREA ...] [--peer PYTHON]`: a table of what is the same and what differs,
and why.

Exits with 1 when a difference is unexplained. `--peer` names an interpreter with llama-index-core 0.14.25,
this one by default.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections import Counter

from tests.differential.cases import area_names
from tests.differential.run import compared


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description=__doc__)
    parser.add_argument("areas", nargs="*", default=area_names())
    parser.add_argument("--peer", default=sys.executable)
    parser.add_argument("--show", action="store_true", help="print the unexplained cases in full")
    options = parser.parse_args()
    # what the library warns of would stand between the rows
    logging.getLogger("ragcore").setLevel(logging.ERROR)
    total: Counter[str] = Counter()
    print(f"{'area':24}{'cases':>7}{'same':>7}{'by design':>11}{'unexplained':>13}  reasons")
    for name in options.areas:
        verdicts = compared(name, options.peer)
        reasons = Counter(verdict.reason for verdict in verdicts if verdict.reason not in ("", "unexplained"))
        row = Counter(cases=len(verdicts), design=sum(reasons.values()))
        row["unexplained"] = sum(verdict.reason == "unexplained" for verdict in verdicts)
        total += row
        _print_row(name, row, ", ".join(f"{reason} {count}" for reason, count in sorted(reasons.items())))
        for verdict in verdicts:
            if options.show and verdict.reason == "unexplained":
                shown = {
                    "case": verdict.case.id_,
                    "given": verdict.case.given,
                    "theirs": verdict.theirs,
                    "ours": verdict.ours,
                }
                print(json.dumps(shown, ensure_ascii=False, indent=1))
    _print_row("all", total, "")
    return 1 if total["unexplained"] else 0


def _print_row(name: str, row: Counter[str], reasons: str) -> None:
    same = row["cases"] - row["design"] - row["unexplained"]
    print(
        f"{name:24}{row['cases']:7}{same:7}{row['design']:11}{row['unexplained']:13}  {reasons}", flush=True
    )


if __name__ == "__main__":
    sys.exit(main())
