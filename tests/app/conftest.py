"""The real application in a real browser. Whatever asks for anything but the application itself fails the
test."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, get_args

import pytest

from lectern.access import access_token, address, cookie_name, cookie_value
from lectern.indexes import Indexes
from lectern.library import Library
from lectern.schema import Kind
from lectern.settings import AppSettings
from tests.documentation import SCREENS
from tests.sample_library import read_sample_once

if TYPE_CHECKING:
    from playwright._impl._api_structures import SetCookieParam
    from playwright.sync_api import (
        Browser,
        BrowserContext,
        ConsoleMessage,
        FilePayload,
        Locator,
        Page,
        Request,
        WebError,
    )

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SECONDS = 60_000.0  # milliseconds: how long a screen may take on a busy machine
# the first is twice as fast
BROWSERS = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"]
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    # the pages of a context are drawn by one process, which keeps the compiled scripts: see `Contexts`
    "--process-per-site",
]  # fmt: skip

LONG = [
    "test_documents.py",
    "test_screens.py",
    "test_indexes.py",
    "test_while_it_grows.py",
]

FAILED = pytest.StashKey[bool]()

Look: TypeAlias = (
    "Callable[[Page, str], None]"  # at a state that a test has brought about, which is given a name
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--screens",
        nargs="?",
        const=SCREENS,
        type=_outside_the_repository,
        metavar="FOLDER",
        help="write the pictures that the documentation shows, or those of all states to FOLDER",
    )


def _outside_the_repository(folder: str) -> Path:
    """So that the name of a test after the option is not taken for a folder for pictures."""
    path = Path(folder).resolve()
    if path.is_relative_to(ROOT):
        raise argparse.ArgumentTypeError(f"{folder} is in the repository. Give a folder outside it.")
    return path


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The long files come first, so that none is left for the end.

    With `--screens` only those that take pictures are run: every screen first, before others have asked
    anything, then states.
    """
    items.sort(key=lambda item: LONG.index(item.path.name) if item.path.name in LONG else len(LONG))
    if config.getoption("--screens", default=False):
        screens = [item for item in items if item.path.name == "test_screens.py"]
        items[:] = screens + [
            item for item in items if item not in screens and "look" in getattr(item, "fixturenames", ())
        ]


def installed_browser() -> str | None:
    """Its path; None for the one that came with the driver."""
    return os.environ.get("LECTERN_CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="the browser tests need the package playwright"
    )
    with playwright.sync_playwright() as driver:
        found = installed_browser()
        if found is None and not Path(driver.chromium.executable_path).exists():
            pytest.skip("the browser tests need Chromium: install it, or name it in LECTERN_CHROMIUM")
        browser = driver.chromium.launch(executable_path=found, args=FLAGS)
        yield browser
        browser.close()


COOKIES: dict[int, SetCookieParam] = {}  # by port, of the applications that were started
CONTEXTS: list[BrowserContext] = []  # open ones, which have them


def let_in(context: BrowserContext) -> None:
    """Give it what it would have after a visit with the token to every application, also to those that are
    started later. test_doors.py goes by the token."""
    context.add_cookies(list(COOKIES.values()))
    if context not in CONTEXTS:
        CONTEXTS.append(context)
        context.on("close", lambda closed: CONTEXTS.remove(closed))


@dataclass
class App:
    """The application, running on its own library: in its own folder, or on the server at the address
    `database`."""

    home: Path
    database: str = ""
    port: int = 0
    process: subprocess.Popen[bytes] | None = None
    files: frozenset[str] = frozenset()  # ids of those that all its tests share
    environment: dict[str, str] = field(default_factory=dict)  # beyond that of the tests
    within: Sequence[str] = ()  # a command that starts the application

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def address(self) -> str:
        """Which `lectern` prints."""
        return address("127.0.0.1", self.port, access_token(self.home))

    def start(self) -> None:
        if not self.port:
            with socket.create_server(("127.0.0.1", 0)) as free:
                self.port = free.getsockname()[1]
        environment = {
            **os.environ,
            "LECTERN_HOME": str(self.home),
            "LECTERN_DATABASE": self.database,
            "OMP_NUM_THREADS": "1",
        }
        environment |= self.environment
        with (self.home.parent / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                [*self.within, sys.executable, "-m", "lectern.cli", "--port", str(self.port)],
                cwd=ROOT, env=environment, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        deadline = time.monotonic() + 90
        while time.monotonic() < deadline:
            with suppress(OSError), urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=2) as answer:
                if answer.read() == b"ok":
                    self.let_browsers_in()
                    return
            time.sleep(0.1)
        raise AssertionError(f"the application did not start:\n{self.log()}")

    def let_browsers_in(self) -> None:
        value = cookie_value(access_token(self.home))
        COOKIES[self.port] = {
            "name": cookie_name(self.port),
            "value": value,
            "domain": "127.0.0.1",
            "path": "/",
        }
        for context in CONTEXTS:
            context.add_cookies([COOKIES[self.port]])

    def kill(self) -> None:
        """End it as a power cut would."""
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()

    def tidy(self) -> None:
        """Start anew, without the indexes and files that a test made and did not come to delete, and without
        its settings."""
        self.stop()
        shelf = Indexes(self.home)
        for index in shelf.all()[1:]:
            shelf.delete(index.id)
        with closing(Library(self.home)) as library:
            for file in library.files.all():
                if file.id not in self.files:
                    library.delete_file(file.id)
            library.update_settings(AppSettings())
        self.start()

    def clear(self) -> None:
        """Leave nothing in its library, while it runs."""
        with closing(Library(self.home)) as library:
            for file in library.files.all():
                library.delete_file(file.id)
            for kind in get_args(Kind):
                for talk in library.conversations.all(kind):
                    library.conversations.delete(talk.id)
            library.update_settings(AppSettings())

    def log(self) -> str:
        return (self.home.parent / "server.log").read_text("utf-8", "replace")


def started(folder: Path, database: str = "") -> Iterator[App]:
    app = App(folder / "library", database)
    app.start()
    try:
        yield app
    finally:
        app.stop()
    assert "Traceback" not in app.log(), app.log()


@pytest.fixture(scope="session")
def cleared_app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    yield from started(tmp_path_factory.mktemp("empty"))


@pytest.fixture(scope="module")
def empty_app(cleared_app: App) -> Iterator[App]:
    """The application on a library that is empty when the tests of a file begin."""
    yield cleared_app
    cleared_app.clear()


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library of the sample documents, all read, to copy."""
    return read_sample_once(tmp_path_factory)


@pytest.fixture(scope="session")
def app(tmp_path_factory: pytest.TempPathFactory, sample: Path) -> Iterator[App]:
    """The application with the sample documents, all read."""
    folder = tmp_path_factory.mktemp("sample")
    shutil.copytree(sample, folder / "library")
    for app in started(folder):
        with closing(Library(app.home)) as library:
            app.files = frozenset(file.id for file in library.files.all())
        yield app


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    item.stash[FAILED] = report.failed or item.stash.get(FAILED, False)
    return report


@pytest.fixture(autouse=True)
def tidied(request: pytest.FixtureRequest) -> Iterator[None]:
    """What a failed test leaves in the library of all is no reason for its second try, or others, to fail."""
    request.node.stash[FAILED] = False
    yield
    if request.node.stash[FAILED] and "app" in request.fixturenames:
        request.getfixturevalue("app").tidy()


@dataclass
class Watch:
    """What the pages of a test did that they should not. `forgiven`: parts of messages that a test causes on
    purpose."""

    outside: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    forgiven: list[str] = field(default_factory=list)
    origins: set[str] = field(default_factory=set)  # that anything was asked of

    def follow(self, context: BrowserContext) -> None:
        """Hear of all that its pages do, in the way that leaves the browser its cache: a route through here
        would not."""
        context.set_default_timeout(SECONDS)
        context.on("request", self.request)
        context.on("console", self.console)
        context.on("weberror", self.weberror)

    def leave(self, context: BrowserContext) -> None:
        context.remove_listener("request", self.request)
        context.remove_listener("console", self.console)
        context.remove_listener("weberror", self.weberror)

    def weberror(self, error: WebError) -> None:
        self.errors.append(str(error.error))

    def request(self, request: Request) -> None:
        if request.url.startswith("http"):
            self.origins.add("/".join(request.url.split("/", 3)[:3]))
        if not request.url.startswith(("http://127.0.0.1:", "data:", "blob:")):
            self.outside.append(request.url)

    def console(self, message: ConsoleMessage) -> None:
        # Streamlit looks for its server under the page's own path first.
        probing = "status of 404" in message.text and "/_stcore/" in message.location["url"]
        if message.type == "error" and not probing:
            self.errors.append(f"{message.text} {message.location['url']}")

    def verdict(self) -> None:
        assert not self.outside, f"the page asked for {self.outside}"
        unforgiven = [error for error in self.errors if not any(part in error for part in self.forgiven)]
        assert not unforgiven, "\n".join(unforgiven)


@pytest.fixture
def watch() -> Iterator[Watch]:
    watch = Watch()
    yield watch
    watch.verdict()


class Contexts:
    """Of the pages of all tests, one after the other. A new one would have a new process to draw its pages,
    which loads and compiles the application's scripts anew: more than a second for each test."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.kept: dict[bool, tuple[BrowserContext, Page]] = {}  # by whether scripts may be put in

    def take(self, *, bypass_csp: bool) -> BrowserContext:
        if bypass_csp not in self.kept:
            context = self.browser.new_context(
                viewport={"width": 1280, "height": 860}, reduced_motion="reduce", bypass_csp=bypass_csp
            )
            keeper = context.new_page()  # its process ends with its last page
            keeper.route("**", lambda route: route.fulfill(body=""))
            keeper.goto("http://127.0.0.1:1/")
            self.kept[bypass_csp] = context, keeper
        return self.kept[bypass_csp][0]

    def give_back(self, *, bypass_csp: bool, origins: Iterable[str]) -> None:
        """Leave nothing of a test to the next."""
        context, keeper = self.kept[bypass_csp]
        for page in context.pages:
            if page != keeper:
                page.close()
        context.clear_cookies()
        context.clear_permissions()
        session = context.new_cdp_session(keeper)
        for origin in origins:
            session.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"})
        session.detach()

    def discard(self, *, bypass_csp: bool) -> None:
        self.kept.pop(bypass_csp)[0].close()


@pytest.fixture(scope="session")
def contexts(browser: Browser) -> Contexts:
    return Contexts(browser)


@pytest.fixture
def context(contexts: Contexts, watch: Watch, request: pytest.FixtureRequest) -> Iterator[BrowserContext]:
    looking = "look" in request.fixturenames  # the page's own policy forbids what axe-core is put in by
    context = contexts.take(bypass_csp=looking)
    watch.follow(context)
    let_in(context)
    yield context
    watch.leave(context)
    if request.node.stash[FAILED]:
        contexts.discard(bypass_csp=looking)  # the second try has a new one
    else:
        contexts.give_back(bypass_csp=looking, origins=watch.origins)


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()


@pytest.fixture(scope="session")
def pictures(pytestconfig: pytest.Config) -> Path | None:
    """The folder for pictures of the screens; None unless they are asked for."""
    folder: Path | None = pytestconfig.getoption("--screens")
    return folder


@pytest.fixture
def look(pictures: Path | None) -> Iterator[Look]:
    """Look at a state that a test has brought about: it fits its window, and axe-core finds nothing serious
    on it."""
    from tests.app.looking import at_both_sizes

    found: list[str] = []
    yield lambda page, name: found.extend(at_both_sizes(page, name, pictures=pictures))
    assert not found, "\n".join(found)


def settled(page: Page) -> None:
    """Wait until the screen has come to rest."""
    page.wait_for_selector(
        '[data-testid="stApp"][data-test-script-state="notRunning"][data-test-connection-state="CONNECTED"]',
        timeout=SECONDS, state="attached",
    )  # fmt: skip


def until(page: Page, condition: Callable[[], object], seconds: float = SECONDS / 1000) -> None:
    """Wait for what the browser cannot be asked to wait for: the page's own policy forbids evaluating strings
    in it."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to be"
        page.wait_for_timeout(50)


def resting(page: Page, measure: Callable[[], int]) -> int:
    """In pixels, once it has not changed for half a second: what was drawn may still unfold."""
    seen = [measure()]
    while len(seen) < 6 or len(set(seen[-6:])) > 1:
        page.wait_for_timeout(100)
        seen.append(measure())
        assert len(seen) < 300, "the page does not come to rest"
    return seen[-1]


def wait_until_read(page: Page, timeout: float = 180_000) -> None:
    """Wait until no file of the list is waiting or being read."""
    # One selector for both: between two, the list may be drawn anew.
    page.wait_for_selector('ul:has(li.row):not(:has(li.row[data-state="active"]))', timeout=timeout)


def wait_without_page(app: App, seconds: float = 180) -> None:
    """Wait until all files are ready. Drawing how far they are takes as long as reading them."""
    deadline = time.monotonic() + seconds
    with closing(Library(app.home)) as library:
        while waiting := [file.name for file in library.files.all() if not file.ready]:
            assert time.monotonic() < deadline, f"{waiting} are not ready"
            time.sleep(0.2)


def drop(page: Page, *files: FilePayload | Path) -> None:
    """Give files to the area for them, once it is there: of what is given before, nobody hears."""
    area = page.locator('.area:not([hidden]) input[type="file"]')
    # which the browser reads by itself, so much faster
    paths = [file for file in files if isinstance(file, Path)]
    if len(paths) == len(files):
        area.set_input_files(paths)
    else:
        area.set_input_files(
            [payload(file.name, file.read_bytes()) if isinstance(file, Path) else file for file in files]
        )


def payload(name: str, content: bytes) -> FilePayload:
    return {"name": name, "mimeType": "", "buffer": content}


def row(page: Page, name: str) -> Locator:
    return page.locator("li.row", has=page.locator(".name", has_text=name))


def mode_option(page: Page, way: str) -> Locator:
    """A chat mode in its menu, which has its name in the literature beside it."""
    return page.get_by_test_id("stRadio").get_by_text(re.compile(rf"^{re.escape(way)} [\w +]+$"))


def facts_of(page: Page, number: int = -1) -> str:
    """How an answer was made, as the word under it tells who points at it. `number`: from 0; -1 is the
    last."""
    found = page.locator('[class*="st-key-facts_"] a')
    return (found.nth(number) if number >= 0 else found.last).get_attribute("title") or ""


def choose_more(page: Page, name: str, number: int = -1) -> None:
    """An entry of the menu under an answer. `number`: of the answer, from 0; -1 is the last."""
    menus = page.get_by_role("button", name="More", exact=True)
    (menus.nth(number) if number >= 0 else menus.last).click()
    page.locator('[role^="menuitem"]:visible', has_text=name).click()


def answered(page: Page, count: int = 1) -> None:
    """Wait until the answer is whole: its line of facts is drawn. A failure that is shown fails the test at
    once."""
    failed = page.locator('[data-testid="stChatMessage"] [class*="st-key-problem_"]')
    page.locator('[class*="st-key-facts_"]').nth(count - 1).or_(failed).first.wait_for(timeout=60_000)
    assert failed.count() == 0, failed.all_inner_texts()
    settled(page)
