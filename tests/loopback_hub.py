"""A hub of models on 127.0.0.1: it serves files in ranges, and goes wrong as a test wants.

In a test: `with LoopbackHub({"file.gguf": content}) as hub: ...`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType

PIECE = 1 << 16


class LoopbackHub:
    """`files`: content by name; a number is a file of so many zeros.

    `status`: the answer to every request, in place of a file. `cut_after`: the bytes after which the next
    answer breaks off. `ranges`: whether a request for a part is granted. `pause`: seconds before each 64 KB.
    """

    def __init__(self, files: Mapping[str, bytes | int]) -> None:
        self.files = dict(files)
        self.status = 200
        self.retry_after = ""
        self.cut_after: list[int] = []
        self.ranges = True
        self.pause = 0.0
        self.sent = 0  # bytes
        self.asked: list[tuple[str, str]] = []  # paths, and the ranges that were wanted
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                hub.answer(self)

            def do_HEAD(self) -> None:
                hub.answer(self)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> LoopbackHub:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End it: nobody listens at its address any more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        wanted = request.headers.get("Range", "")
        self.asked.append((request.path, wanted))
        content = self.files.get(request.path.rpartition("/")[2])
        status = self.status if content is not None else 404
        if status != 200 or content is None:
            request.send_response(status)
            if self.retry_after:
                request.send_header("Retry-After", self.retry_after)
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        size = content if isinstance(content, int) else len(content)
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and self.ranges else 0
        request.send_response(206 if wanted and self.ranges else 200)
        request.send_header("Content-Length", str(size - start))
        # what is asked for by its commit is of that one
        request.send_header("X-Repo-Commit", request.path.split("/")[-2])
        request.send_header("ETag", f'"{request.path.rpartition("/")[2]}"')
        request.end_headers()
        if request.command == "HEAD":
            return
        end = min(size, start + self.cut_after.pop(0)) if self.cut_after else size
        try:
            while start < end:
                piece = min(PIECE, end - start)
                request.wfile.write(
                    bytes(piece) if isinstance(content, int) else content[start : start + piece]
                )
                start += piece
                self.sent += piece
                if self.pause:
                    time.sleep(self.pause)
        except OSError:
            pass  # the one who asked has gone
        request.close_connection = end < size
