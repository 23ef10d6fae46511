"""Runs an area's cases through both and judges each: same, different for a checked reason, or unexplained."""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.differential.cases import Area, Case, area, error

ROOT = Path(__file__).parents[2]
LIMIT = 280.0  # seconds for an area


@dataclass(frozen=True, slots=True)
class Verdict:
    """`reason` is "" where the outcomes are the same, "unexplained" where nothing accounts for the
    difference."""

    case: Case
    theirs: Any
    ours: Any
    reason: str


def compared(name: str, python: str = sys.executable) -> list[Verdict]:
    """`python`: an interpreter that has llama-index-core 0.14.25."""
    chosen = area(name)
    cases = list(chosen.cases())
    with ThreadPoolExecutor(1) as beside:
        waiting = beside.submit(_theirs, name, cases, python)
        outcomes = [_plain(_ours(name, case)) for case in cases]
    return [
        Verdict(case, theirs, ours, reason_for(chosen, case, theirs, ours))
        for case, theirs, ours in zip(cases, waiting.result(), outcomes, strict=True)
    ]


def reason_for(chosen: Area, case: Case, theirs: Any, ours: Any) -> str:
    """ "" where they are the same; "unexplained" where ours failed alone, whatever the area makes of it."""
    if theirs == ours:
        return ""
    if _failed(ours) and not _failed(theirs):
        return "unexplained"
    return chosen.explain(case.given, theirs, ours) or "unexplained"


def _failed(outcome: Any) -> bool:
    return isinstance(outcome, dict) and "error" in outcome


def _ours(name: str, case: Case) -> Any:
    try:
        return area(name).ours(_plain(case.given))
    except Exception as problem:  # noqa: BLE001 an outcome, as on the other side; a bug shows as unexplained
        return error(problem) | {"says": str(problem)}


def _theirs(name: str, cases: list[Case], python: str) -> list[Any]:
    peer = _peer(python)
    assert peer.stdin is not None
    assert peer.stdout is not None
    watchdog = threading.Timer(LIMIT, _end, [peer])
    watchdog.start()
    try:
        print(json.dumps([name, [case.given for case in cases]]), file=peer.stdin, flush=True)
        line = peer.stdout.readline()
    except BrokenPipeError:
        line = ""
    finally:
        watchdog.cancel()
    if not line:
        _peer.cache_clear()
        raise RuntimeError(f"the peer failed on {name}, or took over {LIMIT} s; what it says stands above")
    outcomes: list[Any] = json.loads(line)
    if {"error": "ImportError"} in outcomes:
        raise RuntimeError(f"the peer lacks a package for {name}, or a name is not where it is looked for")
    return outcomes


@cache
def _peer(python: str) -> subprocess.Popen[str]:
    """One that runs, until this process ends."""
    # Its keyword index orders ties by the hashes of strings: with one seed, the same cases differ at each
    # run.
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "IS_TESTING": "1", "PYTHONHASHSEED": "0"}
    peer = subprocess.Popen(
        [python, "-W", "ignore", "-m", "tests.differential.peer"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8", env=environment, cwd=ROOT,
        start_new_session=True,
    )  # fmt: skip
    atexit.register(peer.communicate)
    return peer


def _end(peer: subprocess.Popen[str]) -> None:
    """With the process that it has forked, which would keep what it writes to open."""
    if hasattr(os, "killpg"):
        os.killpg(peer.pid, signal.SIGKILL)
    else:
        peer.kill()


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value))
