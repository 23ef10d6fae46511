"""Browser tabs without a browser: a real websocket with Streamlit's own messages.

A tab requests runs of the script as a browser does, with the page, its query, and the cached messages. It
also reruns fragments with a timer. It draws nothing and clicks nothing.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect

from benchmarks.ui.figures import each
from benchmarks.ui.serving import Server

LIMIT = 30.0  # seconds for a page
FIRST = 5  # tabs before the memory of others is measured


class Tab:
    """`problems` are the errors that the server has sent."""

    def __init__(self, socket: ClientConnection) -> None:
        self.problems: list[str] = []
        self._socket = socket
        self._pages: dict[str, str] = {}  # hashes by path
        self._page = self._query = ""  # the hash of the open page, and the query of its address
        self._cached: set[str] = set()  # hashes of messages
        self._timers: dict[str, asyncio.Task[None]] = {}  # by fragment
        self._drawn: asyncio.Queue[str] = asyncio.Queue()  # hashes of pages

    async def show(self, path: str, query: str = "") -> float:
        """Go to a page, or draw it anew; gives the seconds from asking to its end. TimeoutError."""
        began = time.perf_counter()
        page = self._pages.get(path, "")
        if page != self._page or not page:
            self._query = query
        self._page = page
        await self._ask(path="" if page else path)
        async with asyncio.timeout(LIMIT):
            while (drawn := await self._drawn.get()) != page and page:
                pass
        self._page = drawn
        return time.perf_counter() - began

    async def _ask(self, *, path: str = "", fragment: str = "") -> None:
        message = BackMsg()
        state = message.rerun_script
        state.page_script_hash, state.page_name, state.query_string = self._page, path, self._query
        state.fragment_id, state.is_auto_rerun = fragment, bool(fragment)
        state.cached_message_hashes.extend(self._cached)
        await self._socket.send(message.SerializeToString())

    async def _rerun_regularly(self, fragment: str, interval: float) -> None:
        while True:
            await asyncio.sleep(interval)
            await self._ask(fragment=fragment)

    async def read(self) -> None:
        """Reads the messages of the server while the tab is open."""
        page = ""
        async for data in self._socket:
            message = ForwardMsg.FromString(data)
            kind = message.WhichOneof("type")
            if message.metadata.cacheable:
                self._cached.add(message.hash)
            if kind == "new_session" and not message.metadata.run.fragment_ids:
                page = message.new_session.page_script_hash
                self._stop(list(self._timers))
            elif kind == "navigation":
                self._pages = {one.url_pathname: one.page_script_hash for one in message.navigation.app_pages}
            elif kind == "page_info_changed":
                self._query = message.page_info_changed.query_string
            elif kind == "auto_rerun":
                timer = message.auto_rerun
                self._stop([timer.fragment_id])
                self._timers[timer.fragment_id] = asyncio.create_task(
                    self._rerun_regularly(timer.fragment_id, timer.interval)
                )
            elif kind == "stop_auto_rerun":
                self._stop(message.stop_auto_rerun.fragment_ids)
            elif kind == "script_finished":
                if message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                    self._drawn.put_nowait(page)
                elif message.script_finished == ForwardMsg.FINISHED_WITH_COMPILE_ERROR:
                    self.problems.append("a page could not be compiled")
            elif kind == "delta":
                self._record_problems(message)

    def _record_problems(self, message: ForwardMsg) -> None:
        delta = message.delta
        if delta.new_element.WhichOneof("type") == "exception":
            self.problems.append(delta.new_element.exception.message)
        if "problem_" in delta.add_block.id:
            self.problems.append(f"a page showed {delta.add_block.id}")

    def _stop(self, fragments: Sequence[str]) -> None:
        for fragment in fragments:
            if (task := self._timers.pop(fragment, None)) is not None:
                task.cancel()

    @property
    def fragments_with_timer(self) -> int:
        """The number of fragments with a timer."""
        return len(self._timers)

    def close(self) -> None:
        self._stop(list(self._timers))


@asynccontextmanager
async def tab(port: int) -> AsyncIterator[Tab]:
    address = f"ws://127.0.0.1:{port}/_stcore/stream"
    async with connect(address, subprotocols=["streamlit"], max_size=None, open_timeout=LIMIT) as socket:  # type: ignore[list-item]
        opened = Tab(socket)
        reading = asyncio.create_task(opened.read())
        try:
            yield opened
        finally:
            opened.close()
            reading.cancel()
            with suppress(asyncio.CancelledError):
                await reading


async def time_reruns(port: int, path: str, query: str, times: int) -> list[float]:
    """Seconds of each of so many runs of the script for a page that is open, with nothing else going on."""
    async with tab(port) as one:
        await one.show(path, query)
        await one.show(path, query)
        return [await one.show(path, query) for _ in range(times)]


async def memory(server: Server, paths: Sequence[str], sessions: int) -> float:
    """Bytes of the server's memory per open tab, after each has opened every page. The cost of the first tabs
    of a server is not included."""
    async with _open_tabs(server.port, paths, FIRST):
        pass
    before = server.memory()
    async with _open_tabs(server.port, paths, sessions):
        return each(before, server.memory(), sessions)


@asynccontextmanager
async def _open_tabs(port: int, paths: Sequence[str], sessions: int) -> AsyncIterator[None]:
    async with AsyncExitStack() as opened:
        for _ in range(sessions):
            one = await opened.enter_async_context(tab(port))
            for path in paths:
                await one.show(path)
        yield


async def crowd(
    port: int, paths: Sequence[str], *, sessions: int, seconds: float, think: float, seed: int = 0
) -> tuple[list[float], list[str]]:
    """Seconds of each switch of a page, and all that went wrong, while so many people each look at a page for
    `think` seconds on average (exponentially distributed) and then open another. They come within the first
    `think` seconds; what happens until all are there is not counted."""
    switches: list[float] = []
    problems: list[str] = []
    counted_from = time.perf_counter() + 2 * think
    until = counted_from + seconds

    async def person(number: int) -> None:
        moods = random.Random(seed + number)
        await asyncio.sleep(moods.uniform(0, think))
        try:
            async with tab(port) as one:
                here = paths[0]
                await one.show(here)
                while time.perf_counter() < until:
                    await asyncio.sleep(moods.expovariate(1 / think))
                    here = moods.choice([path for path in paths if path != here])
                    began = time.perf_counter()
                    took = await one.show(here)
                    if counted_from <= began < until:
                        switches.append(took)
                problems.extend(one.problems)
        except (OSError, TimeoutError) as error:
            problems.append(f"{type(error).__name__}: {error}")

    await asyncio.gather(*(person(number) for number in range(sessions)))
    return switches, problems
