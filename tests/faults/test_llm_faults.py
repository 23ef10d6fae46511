"""A model server that fails: each failure is an error in words, is tried again where that helps, and loses
nothing."""

from __future__ import annotations

import json
import logging
import pickle
import socket
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from email.utils import formatdate

import pytest

from ragcore.errors import (
    ContextWindowError,
    LLMAuthError,
    LLMError,
    LLMProtocolError,
    LLMServerError,
    LLMTimeoutError,
    LLMUnavailableError,
    RateLimitError,
    UnknownModelError,
)
from ragcore.llms import http_client as http
from ragcore.llms.base import LLM, LLMCall
from ragcore.llms.http_errors import BrokenOffError, EmptyAnswerError, EndlessReplyError, WrongServerError
from ragcore.llms.ollama import Ollama
from ragcore.llms.openai import OpenAICompatibleLLM
from ragcore.llms.server_llm import ServedLLM
from ragcore.observe import span
from ragcore.prompts.wording import GENERATION
from tests.scripted_server import FAULTS, HTML, Fault, ScriptedServer, error

CALL = LLMCall(GENERATION, {"query_str": "When does the ferry leave?"})
ANSWER = "The ferry leaves at nine sharp every morning."
KEY = "sk-very-secret-0123456789"

Open = Callable[..., ServedLLM]


class Naps:
    """Stands in for time.sleep."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def open_openai(
    url: str, model: str = "tiny", timeout: float = 5.0, sleep: Callable[[float], None] | None = None
) -> ServedLLM:
    return OpenAICompatibleLLM(model, url, api_key=KEY, timeout=timeout, sleep=sleep or Naps())


def open_ollama(
    url: str, model: str = "tiny", timeout: float = 5.0, sleep: Callable[[float], None] | None = None
) -> ServedLLM:
    return Ollama(model, url, request_timeout=timeout, sleep=sleep or Naps())


@pytest.fixture(params=[open_openai, open_ollama], ids=["openai", "ollama"])
def opened(request: pytest.FixtureRequest) -> Open:
    return request.param


def whole(llm: LLM) -> str:
    return llm.generate(CALL).text


def streamed(llm: LLM) -> str:
    return "".join(llm.stream(CALL))


@pytest.fixture(params=[whole, streamed])
def ask(request: pytest.FixtureRequest) -> Callable[[LLM], str]:
    return request.param


Ask = Callable[[LLM], str]


@pytest.fixture
def nobody() -> Iterator[str]:
    """An address where nobody listens, and that nobody else takes meanwhile."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"


def failing(faults: Sequence[Fault], always: Fault | None = None) -> ScriptedServer:
    return ScriptedServer(lambda messages: ANSWER, faults=faults, always=always)


def test_nobody_listens(opened: Open, ask: Ask, nobody: str) -> None:
    naps = Naps()
    with closing(opened(nobody, sleep=naps)) as llm, pytest.raises(LLMUnavailableError) as caught:
        ask(llm)
    place = nobody.removeprefix("http://")
    if opened is open_ollama:
        assert str(caught.value) == f"Ollama is not answering at {place}."
        assert caught.value.hint == "Is it running? Start it with: ollama serve"
    else:
        assert str(caught.value) == f"The model server is not answering at {place}."
        assert "running" in caught.value.hint
    assert len(naps.seconds) == 2
    assert 0.375 <= naps.seconds[0] <= 0.625
    assert 0.75 <= naps.seconds[1] <= 1.25


def test_no_computer_of_that_name(opened: Open, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*args: object, **kwargs: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with (
        closing(opened("http://no-such-host.test:1234")) as llm,
        pytest.raises(LLMUnavailableError) as caught,
    ):
        ask(llm)
    assert str(caught.value) == "No computer called no-such-host.test:1234 can be found."


def test_a_computer_that_does_not_pick_up(opened: Open) -> None:
    # A full queue of a socket that never accepts: further connections hang, as behind a firewall.
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        waiting = []
        for _ in range(4):
            waiting.append(socket.socket())
            waiting[-1].setblocking(False)
            waiting[-1].connect_ex(listener.getsockname())
        try:
            url = f"http://127.0.0.1:{listener.getsockname()[1]}"
            naps = Naps()
            with (
                closing(opened(url, timeout=0.3, sleep=naps)) as llm,
                pytest.raises(LLMUnavailableError, match="did not answer"),
            ):
                whole(llm)
            assert naps.seconds == []
        finally:
            for one in waiting:
                one.close()


def test_silence_before_the_answer_times_out_without_retry(opened: Open, ask: Ask) -> None:
    naps = Naps()
    with (
        failing((), Fault(silent_after=0)) as server,
        closing(opened(server.url, timeout=0.3, sleep=naps)) as llm,
    ):
        started = time.perf_counter()
        with pytest.raises(LLMTimeoutError, match=r"has not responded for 0\.\d+ seconds") as caught:
            ask(llm)
        assert time.perf_counter() - started < 3
        assert "timeout in Settings" in caught.value.hint
        assert len(server.chats) == 1
        assert naps.seconds == []
        assert server.disconnected.wait(2)


def test_silence_in_a_stream_times_out_after_its_pieces(opened: Open) -> None:
    with failing((), Fault(silent_after=3)) as server, closing(opened(server.url, timeout=0.3)) as llm:
        stream = llm.stream(CALL)
        assert [next(stream), next(stream), next(stream)] == ["The", " ferry", " leaves"]
        with pytest.raises(LLMTimeoutError):
            next(stream)
        assert len(server.chats) == 1


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_is_refused(opened: Open, ask: Ask, status: int) -> None:
    naps = Naps()
    with (
        failing((), error(status, f"bad key {KEY}")) as server,
        closing(opened(server.url, sleep=naps)) as llm,
    ):
        with pytest.raises(
            LLMAuthError, match="does not accept the key" if opened is open_openai else "requires a key"
        ) as caught:
            ask(llm)
        assert len(server.chats) == 1
    assert naps.seconds == []
    assert "Settings" in caught.value.hint


def test_a_model_that_the_server_does_not_have(opened: Open, ask: Ask) -> None:
    with (
        ScriptedServer(models=("llama3:8b", "mistral")) as server,
        closing(opened(server.url, model="gpt-9")) as llm,
    ):
        with pytest.raises(UnknownModelError, match="has no model 'gpt-9'") as caught:
            ask(llm)
        assert len(server.chats) == 1
    assert caught.value.available == ("llama3:8b", "mistral")
    assert "llama3:8b, mistral" in caught.value.hint
    assert ("ollama pull gpt-9" in caught.value.hint) is (opened is open_ollama)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, "{\"detail\": \"Server is pinned to 'a'; requested 'tiny'.\"}"),
        (404, '{"error": "model \\"tiny\\" not found, try pulling it first"}'),
        (
            404,
            (
                '{"object": "error", "message": "The model `tiny` does not exist.", "type": '
                '"NotFoundError", "code": 404}'
            ),
        ),
        (400, '{"error": {"message": "tiny is not a valid model ID", "code": 400}}'),
        (400, '{"error": {"message": "Invalid model name passed in model=tiny"}}'),
    ],
)
def test_an_unknown_model_in_the_words_of_different_servers(opened: Open, status: int, body: str) -> None:
    with (
        failing((), Fault(status, body)) as server,
        closing(opened(server.url)) as llm,
        pytest.raises(UnknownModelError) as caught,
    ):
        whole(llm)
    assert caught.value.available == ("tiny", "tiny:latest")


@pytest.mark.parametrize(
    "fault",
    [
        Fault(404, '{"detail": "Not Found"}'),
        Fault(404, HTML, "text/html"),
        Fault(404, ""),
        Fault(405, '{"detail": "Method Not Allowed"}'),
        Fault(200, HTML, "text/html; charset=utf-8"),
        Fault(200, '{"hello": "world"}'),
        Fault(301, "", headers={"Location": "https://example.com/login"}),
        Fault(raw=b"220 mail.example.com ESMTP\r\n500 what?\r\n\r\n"),
    ],
    ids=["path", "page", "bare404", "405", "html", "json", "redirect", "mail"],
)
def test_something_else_that_answers_at_the_address(opened: Open, ask: Ask, fault: Fault) -> None:
    naps = Naps()
    with (
        failing((), fault) as server,
        closing(opened(server.url, sleep=naps)) as llm,
        pytest.raises(
            WrongServerError, match=r"Something answers at 127\.0\.0\.1:\d+, but it is not"
        ) as caught,
    ):
        ask(llm)
    assert not caught.value.retryable
    assert naps.seconds == []
    assert ("https://example.com/login" in caught.value.hint) is (fault.status == 301)


@pytest.mark.parametrize("asked", [7.0, 0.0])
def test_a_busy_server_is_retried_after_its_retry_time(opened: Open, ask: Ask, asked: float) -> None:
    naps = Naps()
    busy = error(429, "slow down", headers={"Retry-After": f"{asked:.0f}"})
    with failing([busy, busy]) as server, closing(opened(server.url, sleep=naps)) as llm:
        assert ask(llm) == ANSWER
        assert len(server.chats) == 3
    assert naps.seconds == [asked, asked]


def test_a_retry_time_may_be_a_date(opened: Open) -> None:
    naps = Naps()
    busy = error(503, "warming up", headers={"Retry-After": formatdate(time.time() + 10, usegmt=True)})
    with failing([busy]) as server, closing(opened(server.url, sleep=naps)) as llm:
        assert whole(llm) == ANSWER
    assert 7 < naps.seconds[0] <= 10


def test_a_wait_that_is_too_long_is_an_error_that_says_how_long(opened: Open, ask: Ask) -> None:
    naps = Naps()
    with failing((), FAULTS["429"]) as server, closing(opened(server.url, sleep=naps)) as llm:
        with pytest.raises(RateLimitError, match="too many requests") as caught:
            ask(llm)
        assert len(server.chats) == 1
    assert naps.seconds == []
    assert caught.value.hint == "It asks to wait 30 seconds."


def test_exhausted_credit_is_not_retried() -> None:
    with failing((), error(429, "You exceeded your current quota", code="insufficient_quota")) as server:
        with closing(open_openai(server.url)) as llm, pytest.raises(RateLimitError, match="credit"):
            whole(llm)
        assert len(server.chats) == 1


@pytest.mark.parametrize("status", [500, 502, 503])
def test_a_failing_server_is_retried_twice(opened: Open, ask: Ask, status: int) -> None:
    naps = Naps()
    with (
        failing((), error(status, "out of\nmemory.")) as server,
        closing(opened(server.url, sleep=naps)) as llm,
    ):
        with pytest.raises(LLMServerError, match=r"reported an internal error: out of memory\.$"):
            ask(llm)
        assert len(server.chats) == 3
        server.faults.extend([error(status, "out of memory")] * 2)
        server.always = Fault()
        assert ask(llm) == ANSWER
    assert len(naps.seconds) == 4


def test_a_refusal_without_a_word(opened: Open, ask: Ask) -> None:
    with (
        failing((), Fault(400, "")) as server,
        closing(opened(server.url)) as llm,
        pytest.raises(LLMServerError, match=r"refused the request \(status 400\)\."),
    ):
        ask(llm)


def test_an_endless_line_or_body_is_aborted(opened: Open, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    choice = {"message": {"content": "Hi"}, "finish_reason": "stop"}
    good = {"choices": [choice], "message": {"content": "Hi"}, "done": True}  # but for the spaces that follow
    monkeypatch.setattr(http, "MAX_LINE", 100_000)
    monkeypatch.setattr(http, "MAX_BODY", 100_000)
    with (
        failing((), Fault(body=json.dumps(good) + " " * 2_000_000)) as server,
        closing(opened(server.url)) as llm,
        pytest.raises(LLMProtocolError, match="something that is not an answer"),
    ):
        ask(llm)


def test_a_secure_address_of_a_server_that_is_not(opened: Open, ask: Ask) -> None:
    naps = Naps()
    with (
        failing(()) as server,
        closing(opened(server.url.replace("http:", "https:"), sleep=naps)) as llm,
        pytest.raises(LLMUnavailableError, match="no secure connection") as caught,
    ):
        ask(llm)
    assert "begins with http://" in caught.value.hint
    assert naps.seconds == []


def test_a_gateway_that_answers_with_a_page(opened: Open) -> None:
    with (
        failing((), Fault(502, HTML, "text/html")) as server,
        closing(opened(server.url)) as llm,
        pytest.raises(LLMServerError, match="status 502"),
    ):
        whole(llm)


@pytest.mark.parametrize(
    "fault",
    [
        FAULTS["context"],
        error(
            400,
            "the request exceeds the available context size. try increasing it",
            code="exceed_context_size_error",
        ),
        Fault(400, '{"error": "the input length exceeds the context length"}'),
        Fault(
            400,
            '{"object": "error", "message": "\'max_tokens\' is too large: 5000. This model\'s maximum '
            'context length is 2048"}',
        ),
        Fault(413, ""),
    ],
)
def test_a_prompt_that_is_too_long(opened: Open, ask: Ask, fault: Fault) -> None:
    with failing((), fault) as server, closing(opened(server.url)) as llm:
        with pytest.raises(ContextWindowError, match="longer than the model can read"):
            ask(llm)
        assert len(server.chats) == 1


@pytest.mark.parametrize(
    "fault",
    [error(400, "Images are not welcome"), Fault(400, "Images are not welcome.\n", "text/plain")],
    ids=["json", "plain"],
)
def test_refused_request_is_not_repeated(opened: Open, ask: Ask, fault: Fault) -> None:
    with failing((), fault) as server, closing(opened(server.url)) as llm:
        with pytest.raises(LLMServerError, match=r"refused the request: Images are not welcome\.") as caught:
            ask(llm)
        assert len(server.chats) == 1
    assert not caught.value.retryable


@pytest.mark.parametrize("name", ["garbage", "empty"])
def test_a_body_that_is_no_answer(opened: Open, ask: Ask, name: str) -> None:
    with failing([FAULTS[name]]) as server, closing(opened(server.url)) as llm:
        assert ask(llm) == ANSWER
        server.always = FAULTS[name]
        with pytest.raises(LLMProtocolError):
            ask(llm)
        assert len(server.chats) == 5


@pytest.mark.parametrize("text", ["", "  \n", "<think>hm</think>\n"])
def test_an_answer_of_nothing(opened: Open, ask: Ask, text: str) -> None:
    with ScriptedServer(lambda messages: text) as server, closing(opened(server.url)) as llm:
        with pytest.raises(EmptyAnswerError, match="gave an empty answer"):
            ask(llm)
        server.always = Fault(finish="length")
        with pytest.raises(EmptyAnswerError, match="used up all the tokens"):
            ask(llm)


@pytest.mark.parametrize(
    "fault", [Fault(cut_after=3), Fault(ends_after=3), Fault(garbage_after=3)], ids=["cut", "ends", "garbage"]
)
def test_a_broken_stream_preserves_its_text(opened: Open, fault: Fault) -> None:
    naps = Naps()
    with failing((), fault) as server, closing(opened(server.url, sleep=naps)) as llm, span("query") as root:
        said: list[str] = []
        with pytest.raises(BrokenOffError, match="stopped in the middle") as caught:
            said.extend(llm.stream(CALL))
        assert len(server.chats) == 1
    assert said == ["The", " ferry", " leaves"]
    assert caught.value.partial == "The ferry leaves"
    assert naps.seconds == []
    assert pickle.loads(pickle.dumps(caught.value)).partial == "The ferry leaves"
    (step,) = root.spans("llm")
    assert step.facts["reply"] == "The ferry leaves"
    assert step.error == str(caught.value)


@pytest.mark.parametrize("kind", ["text", "thought", "call"])
def test_endless_reply_is_stopped_at_twice_its_room(opened: Open, ask: Ask, kind: str) -> None:
    naps = Naps()
    with failing((), Fault(endless=kind)) as server, span("query") as root:
        with closing(opened(server.url, sleep=naps)) as llm:
            room = llm.metadata.num_output
            with pytest.raises(EndlessReplyError, match=f"twice the room .* {2 * room:,} tokens") as caught:
                ask(llm)
        assert len(server.chats) == 1
        assert server.disconnected.wait(5)
    assert naps.seconds == []
    words = caught.value.partial.split()
    assert set(words) <= {"more"}
    (step,) = root.spans("llm")
    assert step.error == str(caught.value)
    if kind == "text":
        assert 2 * room <= llm.count_tokens(caught.value.partial) <= 2 * room + 2
        assert ask is whole or step.facts["reply"] == caught.value.partial


@pytest.mark.parametrize("text", ["more " * 1500, "m" * 6000], ids=["words", "letters"])
def test_a_long_reply_within_twice_its_room_is_kept_whole(opened: Open, ask: Ask, text: str) -> None:
    with ScriptedServer(lambda messages: text) as server, closing(opened(server.url)) as llm:
        assert ask(llm).strip() == text.strip()


def test_error_in_a_stream_uses_the_server_s_words(opened: Open) -> None:
    with failing((), Fault(error_after=3)) as server, closing(opened(server.url)) as llm:
        stream = llm.stream(CALL)
        assert [next(stream), next(stream), next(stream)] == ["The", " ferry", " leaves"]
        with pytest.raises(LLMServerError, match="the model runner has crashed"):
            next(stream)
        assert len(server.chats) == 1


@pytest.mark.parametrize(
    "fault", [Fault(cut_after=0), Fault(ends_after=0), Fault(error_after=0)], ids=["cut", "ends", "error"]
)
def test_stream_failing_before_its_first_piece_is_retried(opened: Open, fault: Fault) -> None:
    with failing([fault, fault]) as server, closing(opened(server.url)) as llm:
        assert streamed(llm) == ANSWER
        assert len(server.chats) == 3


def test_half_a_body_is_requested_again(opened: Open) -> None:
    with failing([Fault(cut_after=0)]) as server, closing(opened(server.url)) as llm:
        assert whole(llm) == ANSWER
        assert len(server.chats) == 2


def test_an_error_object_where_the_answer_should_be(opened: Open, ask: Ask) -> None:
    with (
        failing((), Fault(200, json.dumps({"error": {"message": "provider is down"}}))) as server,
        closing(opened(server.url)) as llm,
        pytest.raises(LLMServerError, match="provider is down"),
    ):
        ask(llm)


def test_the_key_is_in_no_error_log_or_repr(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    seen: list[str] = []
    for fault in (
        error(401, f"bad key Bearer {KEY}"),
        error(500, f"cannot use {KEY}"),
        error(400, f"{KEY}?"),
        *FAULTS.values(),
    ):
        with failing((), fault) as server, closing(open_openai(server.url, timeout=0.2)) as llm:
            assert server.requests == []
            for ask_it in (whole, streamed):
                try:
                    ask_it(llm)
                except LLMError as caught:
                    seen += [
                        "".join(traceback.format_exception(caught)),
                        caught.hint,
                        repr(caught.__dict__),
                        repr(caught.__cause__),
                    ]
            assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
            seen += [repr(llm), str(llm)]
    assert len(seen) > 40
    assert KEY not in "\n".join(seen)
    assert KEY not in caplog.text
    assert KEY not in "".join(capsys.readouterr())


def test_no_key_is_sent_without_one() -> None:
    with failing(()) as server, closing(OpenAICompatibleLLM("tiny", server.url)) as llm:
        whole(llm)
        assert "authorization" not in server.requests[0].headers


def test_environment_proxy_is_not_used_for_local_servers(
    opened: Open, nobody: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, nobody)
    with failing(()) as server, closing(opened(server.url)) as llm:
        assert whole(llm) == ANSWER


ODD = [
    {"choices": [{"delta": "word", "message": "word"}]},
    {
        "choices": [
            {"delta": ["word"], "message": {"content": "word", "tool_calls": "none"}, "finish_reason": "stop"}
        ]
    },
    {
        "choices": [
            {
                "delta": {"tool_calls": 7},
                "message": {"content": None, "tool_calls": [7]},
                "finish_reason": "stop",
            }
        ]
    },
    {
        "choices": [
            {
                "delta": {"tool_calls": [{"index": None, "function": "f"}]},
                "message": {},
                "finish_reason": "stop",
            }
        ]
    },
    {"message": {"content": "", "tool_calls": "none"}, "done": True},
    {"message": {"content": "", "tool_calls": [None, {"function": "f"}]}, "done": True},
    {"message": ["word"], "done": True},
    {"choices": "none", "message": "none", "error": {"message": {"deep": ["wrong"]}}},
]


@pytest.mark.parametrize("body", [json.dumps(odd) for odd in ODD] + ["[" * 100_000], ids=range(len(ODD) + 1))
@pytest.mark.parametrize("ask", [whole, lambda llm: "".join(llm.stream(CALL))], ids=["whole", "stream"])
def test_odd_answer_is_read_as_far_as_possible_or_an_error(
    opened: Open, ask: Callable[[LLM], str], body: str
) -> None:
    with ScriptedServer(always=Fault(200, body)) as server, suppress(LLMError):
        assert ask(opened(server.url)) in ("word", "")  # "": it calls a tool
