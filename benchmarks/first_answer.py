"""How long a person who has just started the application waits for the first cited answer, in a real browser.

    python -m benchmarks.first_answer [TEXT FILE] [--rounds N]

Three waits are added: from the start of the process to the first screen, from dropping a text to *Ready*, and
from the question to the first words with a citation. Nothing is warmed up by hand; the first round, with a
cold disk, is not counted.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import suppress
from pathlib import Path

from benchmarks.vs_llamaindex import ESSAY, QUESTION

ROOT = Path(__file__).parents[1]
LOG = ROOT / "sample" / "documents" / "brakesmans-log-2022.txt"
LIMIT = 120_000  # milliseconds
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run",
]  # fmt: skip
WAITS = ("start to first screen", "drop to ready", "question to cited answer")


def measure(text: Path, question: str) -> list[float]:
    """Seconds of the three waits."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as home, sync_playwright() as driver:
        executable = (
            os.environ.get("LECTERN_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
        )
        browser = driver.chromium.launch(executable_path=executable, args=FLAGS)
        page = browser.new_page()
        page.set_default_timeout(LIMIT)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        began = time.perf_counter()
        server = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", str(ROOT / "app.py"), f"--server.port={port}"],
            cwd=ROOT,
            env={**os.environ, "LECTERN_HOME": home, "LECTERN_TOKEN": "off"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_for(f"http://127.0.0.1:{port}/_stcore/health")
            page.goto(f"http://127.0.0.1:{port}")
            page.get_by_text("Drop your files here").wait_for()
            painted = time.perf_counter()
            page.set_input_files(
                'input[type="file"]', [{"name": text.name, "mimeType": "", "buffer": text.read_bytes()}]
            )
            page.wait_for_selector('li.row[data-state="ready"]')
            ready = time.perf_counter()
            box = page.locator(".st-key-ask_here textarea")
            box.fill(question)
            pressed = time.perf_counter()
            box.press("Enter")
            page.wait_for_selector('a[href^="#passage-"]')
            answered = time.perf_counter()
        finally:
            server.terminate()
            server.wait()
            browser.close()
    return [painted - began, ready - painted, answered - pressed]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("text", nargs="?", type=Path, default=ESSAY if ESSAY.exists() else LOG)
    parser.add_argument("--question", default=QUESTION if ESSAY.exists() else "Who borrowed the jack?")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    rounds = [measure(options.text, options.question) for _ in range(options.rounds + 1)][1:]
    print(
        f"{options.text.name}, {options.text.stat().st_size:,} bytes; median seconds of "
        f"{options.rounds} rounds\n"
    )
    for wait, seconds in zip(WAITS, zip(*rounds, strict=True), strict=True):
        print(f"{wait:<26}{statistics.median(seconds):6.2f}")
    print(f"{'in all':<26}{statistics.median(sum(waits) for waits in rounds):6.2f}")


def wait_for(address: str) -> None:
    deadline = time.monotonic() + LIMIT / 1000
    while time.monotonic() < deadline:
        with suppress(OSError), urllib.request.urlopen(address, timeout=1):
            return
        time.sleep(0.02)
    raise TimeoutError(address)


if __name__ == "__main__":
    main()
