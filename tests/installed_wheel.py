"""`python -m tests.installed_wheel` installs Lectern as a person without a checkout does, and uses it.

It unpacks a source distribution, runs the pip lines of deploy/Dockerfile on it in an empty virtual
environment, and from another folder adds the sample, asks a question on the terminal, starts the application,
and asks one in Chromium, if that is installed. Exit status 1 if anything fails.
"""

from __future__ import annotations

import json
import os
import shlex
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from lectern.access import access_token, address
from tests.dockerfile import health_command, instructions

ROOT = Path(__file__).parents[1]
QUESTION, ANSWER = "May I bring a large dog?", "dog"
START_SECONDS = 120
PAGE_SECONDS = 120


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        elsewhere = folder / "elsewhere"
        elsewhere.mkdir()
        environment = isolated_environment(folder)
        install(folder, environment)
        ask_on_terminal(elsewhere, environment)
        with application(elsewhere, environment) as url:
            ask_in_browser(url)
    print("The installed wheel answers.")
    return 0


def isolated_environment(folder: Path) -> dict[str, str]:
    """The variables of a process that knows no other Python environment and has an empty library."""
    venv.create(folder / "environment", with_pip=True)
    variables = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LECTERN_"))
    }
    variables["PATH"] = os.pathsep.join([str(folder / "environment" / "bin"), os.environ["PATH"]])
    variables["LECTERN_HOME"] = str(folder / "home")
    variables["PIP_QUIET"] = "1"
    # as --build-arg: the check asks no index but pip's own
    variables["TORCH_INDEX"] = "https://pypi.org/simple"
    return variables


def install(folder: Path, environment: Mapping[str, str]) -> None:
    """Runs the pip lines of the Dockerfile on an unpacked source distribution."""
    subprocess.run([sys.executable, "-m", "build", "--sdist", "--outdir", folder, ROOT], check=True)
    archive = next(folder.glob("*.tar.gz"))
    with tarfile.open(archive) as sources:
        sources.extractall(folder, filter="data")
    (folder / archive.name.removesuffix(".tar.gz")).rename(folder / "source")
    for line in instructions("RUN"):
        if line.startswith("pip "):
            for path in ("/source", "/wheels"):
                line = line.replace(path, f"{shlex.quote(str(folder))}{path}")
            print(line, flush=True)
            subprocess.run(["bash", "-euc", line], env=environment, cwd=folder, check=True)
    subprocess.run(["python", "-m", "pip", "check"], env=environment, cwd=folder, check=True)


def ask_on_terminal(folder: Path, environment: Mapping[str, str]) -> None:
    subprocess.run(["lectern", "add", ROOT / "sample" / "documents"], env=environment, cwd=folder, check=True)
    reply = json.loads(
        subprocess.check_output(
            ["lectern", "ask", "--json", QUESTION], env=environment, cwd=folder, text=True
        )
    )
    print(reply["text"], flush=True)
    assert ANSWER in reply["text"].lower(), reply
    assert reply["sources"], reply


@contextmanager
def application(folder: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """The address, with the token, of the application on a free port and an empty library."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    variables = {**environment, "LECTERN_HOME": str(folder / "empty")}
    process = subprocess.Popen(["lectern", "--port", str(port)], cwd=folder, env=variables)
    health = [argument.replace("8501", str(port)) for argument in health_command()]
    try:
        deadline = time.monotonic() + START_SECONDS
        while subprocess.run(health, env=variables, stderr=subprocess.DEVNULL, check=False).returncode:
            assert process.poll() is None, "The application has ended."
            assert time.monotonic() < deadline, "The application does not answer."
            time.sleep(0.5)
        yield address("127.0.0.1", port, access_token(folder / "empty"))
    finally:
        process.terminate()
        process.wait(60)


def ask_in_browser(url: str) -> None:
    """Opens the sample and asks a suggested question."""
    from playwright.sync_api import expect, sync_playwright

    from tests.app.conftest import FLAGS, installed_browser

    browser = installed_browser()
    if browser is None:
        print("No page is drawn: this needs Chromium. Install it, or name it in LECTERN_CHROMIUM.")
        return
    with sync_playwright() as driver:
        page = driver.chromium.launch(executable_path=browser, args=FLAGS).new_page()
        page.set_default_timeout(PAGE_SECONDS * 1000)
        page.goto(url)
        page.get_by_role("button", name="Try it with a sample").click()
        page.locator(".st-key-suggested").get_by_role("button", name=QUESTION).click()
        answer = page.get_by_test_id("stChatMessageContent").last
        expect(answer).to_contain_text(ANSWER, ignore_case=True, timeout=PAGE_SECONDS * 1000)
        # from .streamlit/config.toml
        assert "Inter" in page.evaluate("getComputedStyle(document.body).fontFamily")


if __name__ == "__main__":
    sys.exit(main())
