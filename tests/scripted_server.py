"""A model server on 127.0.0.1 that says what it is told to, in both wire formats, and fails on request.

In a test: `with ScriptedServer() as server: ...`. For a browser or by hand: `python -m tests.scripted_server
--port 11434`. It speaks OpenAI's format (/v1/chat/completions, /v1/embeddings, /v1/models) and Ollama's
(/api/chat, /api/embed, /api/tags, /api/version).
"""

from __future__ import annotations

import argparse
import json
import re
import selectors
import socket
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from ragcore.llms.call_queue import queue_of

OPENAI_PATHS = ("/v1/chat/completions", "/v1/embeddings", "/v1/models", "/props")
OLLAMA_PATHS = ("/api/chat", "/api/embed", "/api/tags", "/api/version")
HTML = "<!doctype html><html><body><h1>Welcome to nginx!</h1></body></html>"


@dataclass(frozen=True, slots=True)
class Fault:
    """How the answer to one request for words or vectors goes wrong. Counts are pieces of a stream that are
    sent before it happens."""

    status: int = 200
    body: str | None = None  # sent as it is, in place of an answer
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0  # seconds before the status line
    cut_after: int | None = None  # the connection is closed
    ends_after: int | None = None  # the body ends in good order, but the answer is not over
    silent_after: int | None = None  # nothing more comes
    endless: str = ""  # text, thought or call: what a model writes that never ends
    open_end: bool = False  # the answer is over, and its body does not end
    garbage_after: int | None = None
    error_after: int | None = None  # an error object in the stream
    slow: float = 0.0  # seconds before each piece
    usage: bool = True
    rejects: tuple[str, ...] = ()  # parameters: 400 while the request has one
    whole: bool = False  # not streamed, though asked for
    finish: str = "stop"
    raw: bytes | None = None  # sent in place of HTTP
    shuffled: bool = False  # vectors come in another order, with their indexes
    dimension: int | None = None  # of vectors, other than the server's
    missing: int = 0  # so many vectors are left out
    longest: int | None = None  # characters: a longer text is refused


def error(status: int, message: str, *, code: str = "", headers: Mapping[str, str] | None = None) -> Fault:
    """An error as OpenAI's format has it, which Ollama's clients understand too."""
    return Fault(status, json.dumps({"error": {"message": message, "code": code}}), headers=headers or {})


FAULTS: Mapping[str, Fault] = {
    "401": error(401, "Incorrect API key provided", code="invalid_api_key"),
    "404": Fault(404, '{"detail": "Not Found"}'),
    "429": error(429, "Rate limit reached", headers={"Retry-After": "30"}),
    "500": error(500, "out of memory"),
    "context": error(
        400, "This model's maximum context length is 512 tokens.", code="context_length_exceeded"
    ),
    "html": Fault(200, HTML, "text/html"),
    "garbage": Fault(200, "\x01\x02 not json"),
    "empty": Fault(200, ""),
    "cut": Fault(cut_after=5),
    "silence": Fault(silent_after=5),
    "mute": Fault(silent_after=0),
    "error": Fault(error_after=5),
    "slow": Fault(slow=0.5),
    "no-usage": Fault(usage=False),
}


ToolCalls: TypeAlias = Sequence[Mapping[str, Any]]  # in OpenAI's format


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    headers: Mapping[str, str]  # names in lower case
    body: dict[str, Any]
    connection: int  # the client's port


class ScriptedServer:
    """`reply` makes the answer from the messages. `faults` are used up one a chat request; `always` is for
    the rest.

    `openai` and `ollama`: which formats it speaks. `requests` are those received; `disconnected` is set when
    a client goes away before its answer is over. `tool_calls` are made in every answer, or are what a
    function makes of the messages. Without `numbered_calls` the pieces of a stream's calls have no index.
    Vectors have `dimension` numbers. With `slots` it says, as llama.cpp does, that it has room for so many
    calls at once. With `room` it works on so many answers at once; others wait, or get a 503 where it
    `refuses_when_full`. `most_at_once` came.
    """

    def __init__(
        self,
        reply: Callable[[Sequence[Mapping[str, Any]]], str] | None = None,
        *,
        faults: Sequence[Fault] = (),
        always: Fault | None = None,
        models: Sequence[str] = ("tiny", "tiny:latest"),
        key: str = "",
        words_per_second: float = 0.0,
        port: int = 0,
        tool_calls: ToolCalls | Callable[[Sequence[Mapping[str, Any]]], ToolCalls] = (),
        takes_tools: bool = True,
        numbered_calls: bool = True,
        dimension: int = 16,
        slots: int = 0,
        room: int = 0,
        refuses_when_full: bool = False,
        openai: bool = True,
        ollama: bool = True,
    ) -> None:
        self.reply = reply or plausible_answer
        self.faults = deque(faults)
        self.always = always or Fault()
        self.models = tuple(models)
        self.key = key
        self.words_per_second = words_per_second
        self.tool_calls = tool_calls if callable(tool_calls) else lambda messages: tool_calls
        self.takes_tools = takes_tools
        self.numbered_calls = numbered_calls
        self.dimension = dimension
        self.slots = slots
        self.room = threading.Semaphore(room or 1000)
        self.refuses_when_full = refuses_when_full
        self.at_once = self.most_at_once = 0
        self.paths = frozenset(OPENAI_PATHS if openai else ()) | frozenset(OLLAMA_PATHS if ollama else ())
        self.requests: list[Request] = []
        self.disconnected = threading.Event()
        self.stopping = threading.Event()
        self._lock = threading.Lock()
        self._http = _Listener(("127.0.0.1", port), _Handler)
        self._http.script = self
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    def __enter__(self) -> ScriptedServer:
        queue_of(self.url).room = None  # that of a server that had this port before
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stopping.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def serve_forever(self) -> None:
        self._http.serve_forever()

    @property
    def chats(self) -> list[Request]:
        """The requests for an answer, without those for lists."""
        return [
            request for request in self.requests if request.path.endswith(("/chat/completions", "/api/chat"))
        ]

    @contextmanager
    def count_call(self) -> Iterator[None]:
        with self._lock:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            yield
        finally:
            with self._lock:
                self.at_once -= 1

    def next_fault(self) -> Fault:
        with self._lock:
            return self.faults.popleft() if self.faults else self.always


def plausible_answer(messages: Sequence[Mapping[str, Any]]) -> str:
    """What a small, obedient model might say: always the same for the same messages."""
    last = str(messages[-1]["content"]) if messages else ""
    if follow_up := re.search(r"\nMessage: (.*)\nQuestion:\s*$", last, re.DOTALL):
        return follow_up.group(1)
    if refined := re.search(r"answer so far:\n(.*?)\n\nMore passages", last, re.DOTALL):
        return refined.group(1)
    for message in messages:
        if passage := re.search(r"^\[(\d+)\][^\n]*\n+([^\n]+)", str(message["content"]), re.MULTILINE):
            words = passage.group(2).split()
            quote = " ".join(words[:12]).rstrip(".,;:")
            return (
                f"The documents say: “{quote}” [{passage.group(1)}]. That answers the question as far "
                "as they go."
            )
    return f"You said: {' '.join(last.split()[:12])}"


def vector(text: str, dimension: int) -> list[float]:
    """A vector, not of length 1, that is near those of texts that share words of four letters or more."""
    row = [0.1] + [0.0] * (dimension - 1)
    for word in re.findall(r"\w{4,}", text.lower()):
        row[1 + zlib.crc32(word.encode()) % (dimension - 1)] += 1.0
    return row


def pieces(text: str) -> list[str]:
    """Words with the white space before them; together they are the text."""
    return re.findall(r"\s*\S+\s*$|\s*\S+|\s+$", text)


class _Listener(ThreadingHTTPServer):
    script: ScriptedServer
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self._connections: set[socket.socket] = set()
        super().__init__(address, handler)

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        self._connections.add(connection)
        return connection, address

    def shutdown_request(self, request: Any) -> None:
        self._connections.discard(request)
        super().shutdown_request(request)

    def server_close(self) -> None:
        """Ends its connections too, as a server that is stopped."""
        super().server_close()
        for connection in list(self._connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Listener

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        script = self._note({})
        path = urlsplit(self.path).path
        if not self._may_enter():
            return
        if path not in script.paths:
            self._send(404, {"detail": "Not Found"})
        elif path == "/props":
            self._send(200, {"total_slots": script.slots}) if script.slots else self._send(
                404, {"detail": "Not Found"}
            )
        elif path == "/v1/models":
            self._send(
                200, {"object": "list", "data": [{"id": name, "object": "model"} for name in script.models]}
            )
        elif path == "/api/tags":
            self._send(200, {"models": [{"name": name, "model": name} for name in script.models]})
        elif path == "/api/version":
            self._send(200, {"version": "0.0.0"})
        else:
            self._send(405, {"detail": "Method Not Allowed"})

    def do_POST(self) -> None:
        script = self.server.script
        with script.count_call():
            if not script.room.acquire(blocking=not script.refuses_when_full):
                self.rfile.read(int(self.headers.get("content-length", 0)))
                self._send(
                    503, {"error": {"message": "no slot available", "type": "unavailable_error", "code": 503}}
                )
                return
            try:
                self._answer()
            finally:
                script.room.release()

    def _answer(self) -> None:
        data = self.rfile.read(int(self.headers.get("content-length", 0)))
        body = json.loads(data)
        script = self._note(body)
        path = urlsplit(self.path).path
        if path not in script.paths or not path.endswith(
            ("/chat/completions", "/chat", "/embeddings", "/embed")
        ):
            self._send(404, {"detail": "Not Found"})
            return
        if not self._may_enter():
            return
        fault = script.next_fault()
        if fault.delay:
            script.stopping.wait(fault.delay)
        if fault.raw is not None:
            self.wfile.write(fault.raw)
            self.close_connection = True
            return
        if fault.status != 200 or fault.body is not None:
            self._send_text(fault.status, fault.body or "", fault.content_type, fault.headers)
            return
        named = [name for name in fault.rejects if name in body]
        if named:
            self._send(
                400,
                {
                    "error": {
                        "message": f"Unsupported parameter: '{named[0]}'. {_advice(named[0])}",
                        "param": named[0],
                    }
                },
            )
            return
        if body["model"] not in script.models:
            self._no_such_model(path, body["model"])
            return
        if path.endswith(("/embeddings", "/embed")):
            self._embed(path, body, fault)
            return
        if body.get("tools") and not script.takes_tools:
            self._send(
                400,
                {"error": {"message": f"registry.ollama.ai/library/{body['model']} does not support tools"}},
            )
            return
        wire = _Ollama(script, body) if path == "/api/chat" else _OpenAI(script, body)
        text = script.reply(body["messages"])
        if wire.streams and not fault.whole:
            self._stream(wire, text, fault)
        elif fault.silent_after is not None:
            self._wait_for_the_end()
        elif fault.cut_after is not None:
            self._cut(json.dumps(wire.whole(text, fault)))
        else:
            self._send(200, wire.whole(text, fault))

    def _embed(self, path: str, body: dict[str, Any], fault: Fault) -> None:
        texts = body["input"]
        if "" in texts:
            self._send(400, {"error": {"message": "input cannot be an empty string"}})
        elif fault.longest is not None and max(map(len, texts)) > fault.longest:
            self._send(400, {"error": {"message": "the input length exceeds the context length"}})
        else:
            size = fault.dimension or body.get("dimensions") or self.server.script.dimension
            rows = [vector(text, size) for text in texts][fault.missing :]
            tokens = sum(len(text.split()) for text in texts)
            data = [
                {"object": "embedding", "index": index, "embedding": row} for index, row in enumerate(rows)
            ]
            if fault.shuffled:
                data.reverse()
            if path == "/api/embed":
                self._send(200, {"model": body["model"], "embeddings": rows, "prompt_eval_count": tokens})
            else:
                self._send(
                    200,
                    {
                        "object": "list",
                        "data": data,
                        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
                    },
                )

    def _note(self, body: dict[str, Any]) -> ScriptedServer:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.script.requests.append(
            Request(self.command, self.path, headers, body, self.client_address[1])
        )
        return self.server.script

    def _may_enter(self) -> bool:
        key = self.server.script.key
        if key and self.headers.get("Authorization") != f"Bearer {key}":
            self._send(
                401,
                {"error": {"message": f"Incorrect API key provided: {self.headers.get('Authorization')}"}},
            )
            return False
        return True

    def _no_such_model(self, path: str, model: str) -> None:
        if path.startswith("/api/"):
            self._send(404, {"error": f"model '{model}' not found"})
        else:
            self._send(
                404, {"error": {"message": f"The model `{model}` does not exist", "code": "model_not_found"}}
            )

    def _send(self, status: int, data: object) -> None:
        self._send_text(status, json.dumps(data), "application/json", {})

    def _send_text(self, status: int, text: str, content_type: str, headers: Mapping[str, str]) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _cut(self, text: str) -> None:
        """Half of a body whose length was promised."""
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2])
        self.close_connection = True

    def _stream(self, wire: _OpenAI | _Ollama, text: str, fault: Fault) -> None:
        script = self.server.script
        self.send_response(200)
        self.send_header("Content-Type", wire.content_type)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        pause = fault.slow or (1 / script.words_per_second if script.words_per_second else 0.0)
        sent = pieces(text)
        try:
            while fault.endless and not script.stopping.is_set():
                self._chunk(wire.more(fault.endless))
                if self._is_gone():
                    raise BrokenPipeError
            for index in range(len(sent) + 1):
                if index == fault.cut_after:
                    self.close_connection = True
                    return
                if index == fault.ends_after:
                    break
                if index == fault.silent_after:
                    self._wait_for_the_end()
                    return
                if index == fault.garbage_after:
                    self._chunk(wire.framed("{not json"))
                if index == fault.error_after:
                    self._chunk(
                        wire.framed(json.dumps({"error": wire.error("the model runner has crashed")}))
                    )
                    break
                if index == len(sent):
                    self._chunk(wire.last(text, fault))
                    if fault.open_end:
                        self._wait_for_the_end()
                        return
                    break
                if pause:
                    script.stopping.wait(pause)
                self._chunk(wire.piece(sent[index]))
                if self._is_gone():
                    raise BrokenPipeError
            self.wfile.write(b"0\r\n\r\n")
        except (BrokenPipeError, ConnectionResetError):
            script.disconnected.set()
            self.close_connection = True

    def _chunk(self, text: str) -> None:
        data = text.encode()
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def _wait_for_the_end(self) -> None:
        """Say nothing more until the client gives up or the server is stopped."""
        while not self.server.script.stopping.is_set():
            if self._is_gone():
                self.server.script.disconnected.set()
                break
            time.sleep(0.01)
        self.close_connection = True

    def _is_gone(self) -> bool:
        with selectors.DefaultSelector() as selector:  # select() itself takes no descriptor over 1023
            selector.register(self.connection, selectors.EVENT_READ)
            if not selector.select(0):
                return False
        try:
            return self.connection.recv(1, socket.MSG_PEEK) == b""
        except OSError:
            return True


def _count(messages: Sequence[Mapping[str, Any]]) -> int:
    """Tokens, as this server counts them: words."""
    return sum(len(str(message["content"]).split()) for message in messages)


def _advice(parameter: str) -> str:
    return (
        "Use 'max_completion_tokens' instead."
        if parameter == "max_tokens"
        else "It is not supported with this model."
    )


class _OpenAI:
    content_type = "text/event-stream"

    def __init__(self, script: ScriptedServer, body: dict[str, Any]) -> None:
        self.script = script
        self.body = body
        self.streams = body.get("stream") is True

    def framed(self, text: str) -> str:
        return f"data: {text}\n\n"

    def error(self, message: str) -> object:
        return {"message": message, "type": "server_error"}

    def piece(self, text: str) -> str:
        return self._event({"role": "assistant", "content": text}, None)

    def more(self, kind: str) -> str:
        """A word of a reply that does not end."""
        deltas = {
            "text": {"content": " more"},
            "thought": {"reasoning_content": " more"},
            "call": {"tool_calls": [{"index": 0, "function": {"arguments": " more"}}]},
        }
        return self._event(deltas[kind], None)

    def last(self, text: str, fault: Fault) -> str:
        deltas = [
            piece for index, call in enumerate(self._calls()) for piece in self._call_in_pieces(index, call)
        ]
        end = "".join(self._event({"tool_calls": [delta]}, None) for delta in deltas) + self._event(
            {}, fault.finish
        )
        if fault.usage and self.body.get("stream_options", {}).get("include_usage"):
            end += self.framed(
                json.dumps({**self._head("chat.completion.chunk"), "choices": [], "usage": self._usage(text)})
            )
        return end + self.framed("[DONE]")

    def whole(self, text: str, fault: Fault) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if calls := self._calls():
            message["tool_calls"] = list(calls)
        usage = {"usage": self._usage(text)} if fault.usage else {}
        choices = [{"index": 0, "message": message, "finish_reason": fault.finish}]
        return {**self._head("chat.completion"), "choices": choices, **usage}

    def _calls(self) -> ToolCalls:
        return self.script.tool_calls(self.body["messages"])

    def _call_in_pieces(self, index: int, call: Mapping[str, Any]) -> list[dict[str, Any]]:
        """As OpenAI streams a call: its id and name, then its arguments a few characters at a time."""
        number = {"index": index} if self.script.numbered_calls else {}
        function = call["function"]
        arguments = re.findall(r"(?s).{1,3}", function["arguments"])
        head = {
            **number,
            "id": call["id"],
            "type": "function",
            "function": {"name": function["name"], "arguments": ""},
        }
        return [head, *({**number, "function": {"arguments": piece}} for piece in arguments)]

    def _event(self, delta: Mapping[str, Any], finish: str | None) -> str:
        # Not escaped: U+2028 and its like are legal inside a JSON string.
        choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
        return self.framed(
            json.dumps({**self._head("chat.completion.chunk"), "choices": choices}, ensure_ascii=False)
        )

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": "x", "object": kind, "created": 0, "model": self.body["model"]}

    def _usage(self, text: str) -> dict[str, int]:
        return {"prompt_tokens": _count(self.body["messages"]), "completion_tokens": len(text.split())}


class _Ollama:
    content_type = "application/x-ndjson"

    def __init__(self, script: ScriptedServer, body: dict[str, Any]) -> None:
        self.script = script
        self.body = body
        self.streams = body.get("stream") is not False

    def framed(self, text: str) -> str:
        return f"{text}\n"

    def error(self, message: str) -> object:
        return message

    def piece(self, text: str) -> str:
        message = {"role": "assistant", "content": text}
        return self.framed(
            json.dumps({"model": self.body["model"], "message": message, "done": False}, ensure_ascii=False)
        )

    def more(self, kind: str) -> str:
        """A word of a reply that does not end."""
        call = {"function": {"name": "search", "arguments": {"query": "more"}}}
        messages: dict[str, dict[str, Any]] = {
            "text": {"content": " more"},
            "thought": {"content": "", "thinking": " more"},
            "call": {"content": "", "tool_calls": [call]},
        }
        return self.framed(json.dumps({"message": messages[kind], "done": False}))

    def last(self, text: str, fault: Fault) -> str:
        """Each tool call has a line of its own, as Ollama streams them."""
        head = {"model": self.body["model"], "done": False}
        lines = [
            {**head, "message": {"role": "assistant", "content": "", "tool_calls": [call]}}
            for call in self._calls()
        ]
        return "".join(
            self.framed(json.dumps(line)) for line in [*lines, self._end({"content": ""}, text, fault)]
        )

    def whole(self, text: str, fault: Fault) -> dict[str, Any]:
        calls = self._calls()
        return self._end({"content": text, **({"tool_calls": calls} if calls else {})}, text, fault)

    def _calls(self) -> list[dict[str, Any]]:
        functions = [call["function"] for call in self.script.tool_calls(self.body["messages"])]
        return [
            {"function": {**function, "arguments": json.loads(function["arguments"])}}
            for function in functions
        ]

    def _end(self, said: Mapping[str, Any], text: str, fault: Fault) -> dict[str, Any]:
        message = {"role": "assistant", **said}
        counts = (
            {"prompt_eval_count": _count(self.body["messages"]), "eval_count": len(text.split())}
            if fault.usage
            else {}
        )
        return {
            "model": self.body["model"],
            "message": message,
            "done": True,
            "done_reason": fault.finish,
            **counts,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description="A model server that says what it is told to.")
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--words-per-second", type=float, default=0.0, help="0: all at once")
    parser.add_argument("--fault", choices=sorted(FAULTS), help="every answer goes wrong like this")
    parser.add_argument("--model", action="append", help="a model it has; may be repeated")
    parser.add_argument("--key", default="", help="the only key it accepts")
    options = parser.parse_args()
    server = ScriptedServer(
        always=FAULTS.get(options.fault or ""),
        models=options.model or ("tiny",),
        key=options.key,
        words_per_second=options.words_per_second,
        port=options.port,
    )
    print(f"listening at {server.url}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
