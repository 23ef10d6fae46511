"""How fast the screens are: the real application with the sample in its library, compared with a minimal
Streamlit application.

    python -m benchmarks.ui [PART ...] [--rounds N] [--sessions N] [--seconds N] [--think N] [--no-peer]

Parts: paint, shift, switch, map, rerun, word, memory, crowd; by default all. Chromium is real, and so are the
websockets of the sessions without a browser. The figures are milliseconds on this machine; those of the peer
show how fast it is.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.ui import screens, tabs
from benchmarks.ui.figures import Row, table
from benchmarks.ui.library import answering_by, lay_out, prepare
from benchmarks.ui.peer import MESSAGES
from benchmarks.ui.serving import Server, our_server, peer_server

PARTS = ("paint", "shift", "switch", "map", "rerun", "word", "memory", "crowd")
DELAY = 0.5  # seconds before the model's first word
WORD = "Semaphores"
RERUNS = 30
POINTS = 100_000
MAX_LOAD = 1.5  # of the machine, above which a measurement waits


@dataclass
class Measurement:
    """Milliseconds by measure; memory is bytes for each session."""

    figures: dict[str, list[float]]
    memory: float = 0.0
    shifts: Mapping[str, float] = field(default_factory=dict)  # by page
    problems: Sequence[str] = ()
    cpu: float = 0.0  # milliseconds of processor time for a run of the long conversation


def measure(
    server: Server,
    pages: Sequence[screens.Screen],
    conversation: tuple[str, str],
    options: argparse.Namespace,
) -> Measurement:
    result = Measurement({})
    with screens.chromium() as browser:
        screens.warm_up(browser, server, pages)
        if "paint" in options.parts:
            _when_idle(options.patience)
            new, again = screens.first_paint(browser, server, pages[0], options.rounds)
            result.figures |= {"paint new": new.first, "main new": new.main}
            result.figures |= {"paint again": again.first, "main again": again.main}
        if "shift" in options.parts:
            result.shifts = screens.layout_shifts(browser, server, pages)
        if "switch" in options.parts:
            _when_idle(options.patience)
            for (here, there), took in screens.page_switches(browser, server, pages, options.rounds).items():
                result.figures[f"{here} to {there}"] = took
    if "rerun" in options.parts:
        _when_idle(options.patience)
        before = server.cpu()
        runs = asyncio.run(tabs.time_reruns(server.port, *conversation, RERUNS))
        result.figures["rerun"] = [1000 * seconds for seconds in runs]
        result.cpu = 1000 * (server.cpu() - before) / (RERUNS + 2)
    paths = [screen.path for screen in pages]
    if "memory" in options.parts:
        result.memory = asyncio.run(tabs.memory(server, paths, options.sessions))
    if "crowd" in options.parts:
        _when_idle(options.patience)
        switches, result.problems = asyncio.run(
            tabs.crowd(
                server.port, paths, sessions=options.sessions, seconds=options.seconds, think=options.think
            )
        )
        result.figures["crowd"] = [1000 * seconds for seconds in switches]
    return result


def first_words(home: Path, server: Server, options: argparse.Namespace) -> screens.FirstWords:
    from tests.scripted_server import Fault, ScriptedServer

    requests: list[tuple[float, str]] = []

    def reply(messages: Sequence[Mapping[str, Any]]) -> str:
        requests.append((time.time() - DELAY, str(messages)))
        return f"{WORD} stand on both sides of the tunnel, as the documents say. " * 5

    questions = [
        f"What did the committee resolve about the wind in {1900 + number}?"
        for number in range(options.rounds + 1)
    ]
    model = ScriptedServer(reply, always=Fault(delay=DELAY))
    with model, answering_by(home, model.url), screens.chromium() as browser:
        _when_idle(options.patience)
        return screens.first_words(browser, server, questions, requests, delay=DELAY, word=WORD)


def report(
    ours: Measurement, peer: Measurement, words: screens.FirstWords | None, options: argparse.Namespace
) -> None:
    def row(name: str, goal: str, figure: str) -> list[Row]:
        return (
            [Row(name, goal, ours.figures[figure], peer.figures.get(figure, ()))]
            if figure in ours.figures
            else []
        )

    rows = [
        *row("first paint, a browser that is new here", "2,000", "paint new"),
        *row("the same, until the main content is seen", "2,000", "main new"),
        *row("first paint, a browser that was here before", "2,000", "paint again"),
        *row("the same, until the main content is seen", "2,000", "main again"),
    ]
    switches = [name for name in ours.figures if " to " in name]
    rows += [each for name in switches for each in row(name, "300", name)]
    if switches:
        every = [[took for name in switches for took in side.figures.get(name, [])] for side in (ours, peer)]
        rows.append(Row("all of these switches", "300", *every))
    rows += row(f"a run of the script, {MESSAGES} messages", "150", "rerun")
    if words is not None:
        rows.append(Row("Enter to first word, beyond the model's own", "", words.over))
        rows.append(Row("of it, until the call of the model", "", words.before))
        rows.append(Row("of it, from its first word to the screen", "", words.after))
    rows += row(f"map of {POINTS:,} passages, from frame to frame while it is moved", "33", "map")
    rows += row(f"page switch, {options.sessions} people at once", "1,000", "crowd")
    print(table(rows))
    if ours.shifts:
        shifts = ", ".join(f"{name} {shift:.3f}" for name, shift in ours.shifts.items())
        peer_text = f"; peer {max(peer.shifts.values()):.3f} at most" if peer.shifts else ""
        print(f"\nLayout shift of a page that is loaded (up to 0.1 is called good): {shifts}{peer_text}.")
    if "rerun" in ours.figures:
        print(
            f"\nProcessor time of a run of the script, {MESSAGES} messages: {ours.cpu:.0f} ms; peer "
            f"{peer.cpu:.0f} ms."
        )
    if ours.memory:
        print(
            f"Memory for each of {options.sessions} sessions: {ours.memory / 1e6:.2f} MB; peer "
            f"{peer.memory / 1e6:.2f} MB."
        )
    if "crowd" in ours.figures:
        pace = [len(side.figures.get("crowd", [])) / options.seconds for side in (ours, peer)]
        print(
            f"{options.sessions} people, {options.think:g} s on a page on average, for {options.seconds:g} s:"
            f" {len(ours.problems)} errors, {pace[0]:.1f} switches a second; peer {len(peer.problems)} "
            f"and {pace[1]:.1f}."
        )
    for problem in [*ours.problems[:10], *peer.problems[:10]]:
        print(f"  {problem}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="by default all")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--sessions", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--think", type=float, default=5.0, help="seconds on a page, on average")
    parser.add_argument("--patience", type=float, default=300.0, help="seconds to wait for a busy machine")
    parser.add_argument("--no-peer", action="store_true")
    options = parser.parse_args()
    options.parts = options.parts or PARTS
    load = os.getloadavg()[0]
    words = None
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "library"
        long = prepare(home, MESSAGES)
        with our_server(home) as server:
            ours = measure(server, screens.OURS, ("chat", f"c={long}"), options)
            if "word" in options.parts:
                words = first_words(home, server, options)
            if "map" in options.parts:
                lay_out(home, POINTS)
                with screens.chromium() as browser:
                    _when_idle(options.patience)
                    ours.figures["map"] = screens.map_frames(browser, server, POINTS)
        peer = Measurement({})
        if not options.no_peer:
            with peer_server(Path(folder)) as server:
                peer = measure(server, screens.PEERS, ("conversation", ""), options)
    print(
        f"{os.cpu_count()} cores; load of the machine {load:.1f} before and {os.getloadavg()[0]:.1f} "
        "after, ours included\n"
    )
    report(ours, peer, words, options)


def _when_idle(patience: float) -> None:
    """Wait until the machine has nothing else to do, for so many seconds at most."""
    deadline = time.monotonic() + patience
    while os.getloadavg()[0] > MAX_LOAD and time.monotonic() < deadline:
        time.sleep(1)


if __name__ == "__main__":
    main()
