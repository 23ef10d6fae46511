"""Downloading a language model, from a hub of our own: whole, in pieces, stopped, and everything that goes
wrong."""

from __future__ import annotations

import hashlib
import shutil
import time
from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path

import pytest

from lectern import model_download
from lectern.local_models import CatalogueModel
from lectern.model_download import DownloadError, ModelDownloads
from ragcore.errors import InputError
from tests.loopback_hub import LoopbackHub

CONTENT = bytes(range(256)) * 4096  # 1 MiB
MODEL = CatalogueModel(
    "Tiny",
    "maker/tiny-GGUF",
    "a1b2",
    "tiny.gguf",
    len(CONTENT),
    hashlib.sha256(CONTENT).hexdigest(),
    "MIT",
    "",
    1,
    1,
)
OTHER = CatalogueModel(
    "Other", "maker/other-GGUF", "c3d4", "other.gguf", len(CONTENT), MODEL.sha256, "MIT", "", 1, 1
)


@pytest.fixture
def hub() -> Iterator[LoopbackHub]:
    with LoopbackHub({MODEL.file: CONTENT, OTHER.file: CONTENT}) as hub:
        yield hub


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(model_download, "PAUSE_SECONDS", 0.0)
    return tmp_path / "models"


def downloads(folder: Path, hub: LoopbackHub) -> ModelDownloads:
    return ModelDownloads(folder, (MODEL, OTHER), endpoint=hub.url)


def ended(some: ModelDownloads) -> None:
    deadline = time.monotonic() + 20
    while some.current is not None:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def until_some_came(some: ModelDownloads) -> int:
    deadline = time.monotonic() + 20
    while not (state := some.state(MODEL)) or not state.done:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return state.done


def sentence(folder: Path, hub: LoopbackHub) -> str:
    """What is said of a download that fails."""
    some = downloads(folder, hub)
    some.start(MODEL)
    ended(some)
    state = some.state(MODEL)
    assert state is not None
    assert state.state == "failed"
    assert state.problem is not None
    assert not (folder / MODEL.file).exists()
    return f"{state.problem.what} {state.problem.hint}".replace(
        hub.url.rpartition(":")[0].removeprefix("http://"), "HUB"
    )


def test_a_model_comes_whole_from_the_revision_that_is_named(folder: Path, hub: LoopbackHub) -> None:
    some = downloads(folder, hub)
    assert some.state(MODEL) is None
    some.start(MODEL)
    ended(some)
    assert some.state(MODEL) is None
    assert (folder / "tiny.gguf").read_bytes() == CONTENT
    assert [path.name for path in folder.iterdir()] == ["tiny.gguf"]
    assert hub.asked == [("/maker/tiny-GGUF/resolve/a1b2/tiny.gguf", "")]


def test_a_broken_download_resumes_where_it_broke(folder: Path, hub: LoopbackHub) -> None:
    hub.cut_after = [300_000, 400_000]
    some = downloads(folder, hub)
    some.start(MODEL)
    ended(some)
    assert (folder / "tiny.gguf").read_bytes() == CONTENT
    assert len(hub.asked) == 3
    assert hub.asked[1][1] == "bytes=300000-"


def test_a_stopped_download_goes_on_in_the_next_process(folder: Path, hub: LoopbackHub) -> None:
    hub.pause = 0.02
    some = downloads(folder, hub)
    some.start(MODEL)
    until_some_came(some)
    some.stop()
    assert some.current is None
    later = downloads(folder, hub)
    state = later.state(MODEL)
    assert state is not None
    assert (state.state, state.total) == ("stopped", len(CONTENT))
    assert 0 < state.done < len(CONTENT)
    hub.pause = 0.0
    later.start(MODEL)
    ended(later)
    assert (folder / "tiny.gguf").read_bytes() == CONTENT
    assert hub.asked[-1][1] == f"bytes={state.done}-"


def test_a_hub_that_does_not_serve_parts_sends_the_whole_again(folder: Path, hub: LoopbackHub) -> None:
    folder.mkdir()
    (folder / "tiny.gguf.incomplete").write_bytes(b"x" * 1000)
    hub.ranges = False
    some = downloads(folder, hub)
    some.start(MODEL)
    ended(some)
    assert (folder / "tiny.gguf").read_bytes() == CONTENT


def test_another_file_than_the_published_one_is_deleted(folder: Path, hub: LoopbackHub) -> None:
    hub.files[MODEL.file] = CONTENT[::-1]
    assert "The file that arrived is not Tiny: its SHA-256 is different, so it was deleted." in sentence(
        folder, hub
    )
    assert list(folder.iterdir()) == []


def test_an_endless_file_is_not_downloaded_forever(folder: Path, hub: LoopbackHub) -> None:
    hub.files[MODEL.file] = 500 * len(CONTENT)
    assert "SHA-256" in sentence(folder, hub)
    assert hub.sent < 50 * len(CONTENT)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("status", "retry_after", "told"),
    [
        (
            401,
            "",
            (
                "HUB does not let everyone download Tiny (error 401). Agree to its licence at "
                "HUB/maker/tiny-GGUF"
            ),
        ),
        (
            403,
            "",
            (
                "HUB does not let everyone download Tiny (error 403). Agree to its licence at "
                "HUB/maker/tiny-GGUF"
            ),
        ),
        (404, "", "Tiny is no longer at HUB."),
        (429, "30", "HUB is receiving too many requests at the moment. Try again in 30 seconds."),
        (429, "", "HUB is receiving too many requests at the moment. Try again in a few minutes."),
        (503, "", "HUB could not send Tiny (error 503). Try again a little later."),
    ],
)
def test_a_refusal_is_a_sentence(
    folder: Path, hub: LoopbackHub, status: int, retry_after: str, told: str
) -> None:
    hub.status, hub.retry_after = status, retry_after
    assert sentence(folder, hub).startswith(told)


def test_a_hub_that_keeps_breaking_off_leaves_what_has_come(folder: Path, hub: LoopbackHub) -> None:
    hub.cut_after = [300_000, *[0] * model_download.MAX_TRIES]
    assert sentence(folder, hub).startswith("The connection to HUB was lost.")
    assert (folder / "tiny.gguf.incomplete").stat().st_size == 300_000


def test_a_computer_without_a_connection_gets_a_clear_error(folder: Path) -> None:
    with LoopbackHub({}) as gone:
        pass
    told = sentence(folder, gone)
    assert told == "HUB cannot be reached. Check your internet connection, then try again."


def test_nothing_is_requested_while_the_hub_is_disabled(
    folder: Path, hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert sentence(folder, hub).startswith("Downloads are turned off on this computer.")
    assert hub.asked == []


def test_a_full_disk_is_reported_before_any_request(
    folder: Path, hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**9, 10**9, 400_000_000))
    with pytest.raises(DownloadError, match=r"0\.4 GB are free") as caught:
        downloads(folder, hub).start(MODEL)
    assert str(folder) in caught.value.hint
    assert hub.asked == []


def test_one_is_downloaded_at_a_time(folder: Path, hub: LoopbackHub) -> None:
    hub.pause = 0.05
    some = downloads(folder, hub)
    some.start(MODEL)
    some.start(MODEL)
    with pytest.raises(InputError, match="Tiny is being downloaded"):
        some.start(OTHER)
    some.stop()
    assert len(hub.asked) == 1


def test_the_remaining_time_follows_the_pace(folder: Path, hub: LoopbackHub) -> None:
    seconds = 0.0
    hub.pause = 0.02
    some = ModelDownloads(folder, (MODEL,), endpoint=hub.url, clock=lambda: seconds)
    some.start(MODEL)
    until_some_came(some)
    seconds = 10.0
    state = some.state(MODEL)
    some.stop()
    assert state is not None
    assert state.seconds_left == pytest.approx(10 * (state.total - state.done) / state.done)


def test_what_has_come_of_a_model_can_be_deleted(folder: Path, hub: LoopbackHub) -> None:
    hub.pause = 0.02
    some = downloads(folder, hub)
    some.start(MODEL)
    until_some_came(some)
    freed = some.discard(MODEL)
    assert 0 < freed < len(CONTENT)
    assert some.state(MODEL) is None
    assert list(folder.iterdir()) == []
