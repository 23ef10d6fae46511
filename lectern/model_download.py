"""Downloads a language model from the hub in the background, one at a time. A download can be stopped and
resumed.

The bytes so far are in `FILE.incomplete`, so a download can be resumed after a restart. `huggingface_hub`
returns the address, the token and whether this computer is offline. Its own download does not stop at once,
and does not report when a busy hub can be tried again, so this module reads the bytes itself.
"""

from __future__ import annotations

import errno
import hashlib
import logging
import shutil
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import httpx

from lectern.local_models import CATALOGUE, CatalogueModel
from ragcore.errors import InputError, Problem, RagError

logger = logging.getLogger(__name__)

TIMEOUT = 30.0  # seconds without a byte
MAX_TRIES = 4  # without a byte, after a connection was lost
PAUSE_SECONDS = 1.0  # between two tries, times the number of tries
SPARE_BYTES = 500_000_000  # of the disk that must stay free
END_SECONDS = 5.0


class DownloadError(RagError):
    """A failed download. The bytes so far stay, unless it was the wrong file."""

    retryable = True


class _Stopped(Exception):
    """The person pressed Stop."""


@dataclass(frozen=True, slots=True)
class Download:
    """The state of a download. `seconds_left` is None while it is unknown."""

    state: Literal["running", "checking", "stopped", "failed"]
    done: int  # bytes
    total: int  # bytes
    seconds_left: float | None = None
    problem: Problem | None = None


class ModelDownloads:
    """The downloads of a process. `endpoint`: the address of a hub, by default HF_ENDPOINT, or the public
    one."""

    def __init__(
        self,
        folder: Path,
        catalogue: tuple[CatalogueModel, ...] = CATALOGUE,
        *,
        endpoint: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.catalogue = catalogue
        self._folder = folder
        self._endpoint = endpoint
        self._clock = clock
        self._lock = threading.Lock()
        self._running: CatalogueModel | None = None
        self._checking = False
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._began = (0.0, 0)  # seconds on the clock, and the bytes at that time
        self._problems: dict[str, Problem] = {}

    @property
    def current(self) -> CatalogueModel | None:
        """The model that is being downloaded or checked."""
        return self._running

    def state(self, model: CatalogueModel) -> Download | None:
        """None before and after a download."""
        # read before the size, because at its end a download has no incomplete file
        running = self._running is model
        done = self._size(model)
        if running:
            return Download(
                "checking" if self._checking else "running", done, model.size, self._seconds_left(model, done)
            )
        if problem := self._problems.get(model.file):
            return Download("failed", done, model.size, problem=problem)
        return Download("stopped", done, model.size) if done else None

    def start(self, model: CatalogueModel) -> None:
        """Start or resume a download. InputError during another download; DownloadError without space on the
        disk."""
        with self._lock:
            if self._running is model:
                return
            if self._running is not None:
                raise InputError(
                    f"{self._running.name} is being downloaded.",
                    hint="Wait until it is done, or stop it and try again.",
                )
            self._make_room(model)
            self._problems.pop(model.file, None)
            self._running, self._checking = model, False
            self._began = (self._clock(), self._size(model))
            self._stop.clear()
            self._thread = threading.Thread(
                target=self._run, args=(model,), name="model-download", daemon=True
            )
            self._thread.start()

    def stop(self) -> None:
        """Stop the current download; its bytes so far stay. Waits until it has stopped, for END_SECONDS at
        most."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(END_SECONDS)

    def discard(self, model: CatalogueModel) -> int:
        """Delete the bytes of a stopped download; returns how many."""
        if self._running is model:
            self.stop()
        freed = self._size(model)
        self._problems.pop(model.file, None)
        self._part(model).unlink(missing_ok=True)
        return freed

    def _part(self, model: CatalogueModel) -> Path:
        return self._folder / f"{model.file}.incomplete"

    def _size(self, model: CatalogueModel) -> int:
        with suppress(FileNotFoundError):
            return self._part(model).stat().st_size
        return 0

    def _seconds_left(self, model: CatalogueModel, done: int) -> float | None:
        since, before = self._began
        spent = self._clock() - since
        return spent * (model.size - done) / (done - before) if done > before and spent > 1 else None

    def _make_room(self, model: CatalogueModel) -> None:
        try:
            self._folder.mkdir(exist_ok=True)
            free = shutil.disk_usage(self._folder).free
        except OSError as error:
            raise _not_written(self._folder, error) from error
        needed = model.size - self._size(model)
        if free < needed + SPARE_BYTES:
            raise _disk_full(self._folder, needed, free)

    def _run(self, model: CatalogueModel) -> None:
        try:
            self._fetch(model)
            self._checking = True
            self._check(model)
        except _Stopped:
            pass
        except DownloadError as error:
            self._problems[model.file] = Problem.of(error)
        except Exception:  # nobody else sees it in this thread
            logger.exception("a model could not be downloaded")
            self._problems[model.file] = Problem(
                f"{model.name} could not be downloaded.",
                "Try again. If it happens again, please report it.",
                retryable=True,
            )
        finally:
            self._running = None

    def _fetch(self, model: CatalogueModel) -> None:
        """Download the missing bytes. A lost connection is opened again as long as each one brings some
        bytes."""
        from huggingface_hub import constants, get_token, hf_hub_url

        if constants.is_offline_mode():
            raise DownloadError(
                "Downloads are turned off on this computer.",
                hint=(
                    "The administrator of Lectern has set HF_HUB_OFFLINE. Put a GGUF file into the "
                    "models folder instead."
                ),
            )
        url = hf_hub_url(model.repository, model.file, revision=model.revision, endpoint=self._endpoint)
        token = get_token()
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        tries = 0
        while (before := self._size(model)) < model.size:
            try:
                self._receive(model, url, headers)
            except httpx.TransportError as error:
                tries = tries + 1 if self._size(model) == before else 1
                if tries >= MAX_TRIES:
                    raise _unreachable(url, begun=self._size(model) > 0) from error
            else:
                tries += 1
                if self._size(model) <= before:
                    raise DownloadError(
                        f"The hub sent no data for {model.name}.", hint="Try again a little later."
                    )
            if self._size(model) < model.size and self._stop.wait(PAUSE_SECONDS * tries):
                raise _Stopped

    def _receive(self, model: CatalogueModel, url: str, headers: dict[str, str]) -> None:
        done = self._size(model)
        request_headers = {
            **headers,
            "Accept-Encoding": "identity",
            **({"Range": f"bytes={done}-"} if done else {}),
        }
        with httpx.stream(
            "GET", url, headers=request_headers, follow_redirects=True, timeout=TIMEOUT
        ) as response:
            if response.status_code not in (200, 206):
                raise _refusal(model, response)
            try:
                with self._part(model).open("ab" if response.status_code == 206 else "wb") as part:
                    for piece in response.iter_raw():
                        if self._stop.is_set():
                            raise _Stopped
                        part.write(piece)
                        if part.tell() > model.size:
                            return  # another file; the check reports it
            except OSError as error:
                if error.errno == errno.ENOSPC:
                    raise _disk_full(self._folder, model.size - self._size(model), 0) from error
                raise _not_written(self._folder, error) from error

    def _check(self, model: CatalogueModel) -> None:
        part, digest = self._part(model), hashlib.sha256()
        with part.open("rb") as file:
            while piece := file.read(1 << 20):
                digest.update(piece)
                if self._stop.is_set():
                    raise _Stopped
        if digest.hexdigest() != model.sha256:
            part.unlink()
            raise DownloadError(
                f"The file that arrived is not {model.name}: its SHA-256 is different, so it was deleted.",
                hint=(
                    "Try again. If it happens again, something between this computer and the hub is "
                    "changing the file."
                ),
            )
        part.replace(self._folder / model.file)


def _refusal(model: CatalogueModel, response: httpx.Response) -> DownloadError:
    status, host = response.status_code, response.url.host
    if status in (401, 403):
        return DownloadError(
            f"{host} does not let everyone download {model.name} (error {status}).",
            hint=f"Agree to its licence at {host}/{model.repository}, and set HF_TOKEN to your access token.",
        )
    if status == 404:
        return DownloadError(
            f"{model.name} is no longer at {host}.",
            hint="Choose another one, or put its GGUF file into the models folder yourself.",
        )
    if status == 429:
        wait = response.headers.get("Retry-After", "")
        when = f"Try again in {wait} seconds." if wait.isdigit() else "Try again in a few minutes."
        return DownloadError(f"{host} is receiving too many requests at the moment.", hint=when)
    return DownloadError(
        f"{host} could not send {model.name} (error {status}).", hint="Try again a little later."
    )


def _unreachable(url: str, *, begun: bool) -> DownloadError:
    host = httpx.URL(url).host
    if begun:
        return DownloadError(
            f"The connection to {host} was lost.",
            hint="Check your internet connection, then resume: what has been downloaded so far is kept.",
        )
    return DownloadError(f"{host} cannot be reached.", hint="Check your internet connection, then try again.")


def _disk_full(folder: Path, needed: int, free: int) -> DownloadError:
    return DownloadError(
        f"There is not enough space on the disk: {needed / 1e9:.1f} GB are needed, and {free / 1e9:.1f} "
        "GB are free.",
        hint=f"Free some space on the disk of {folder}, then try again.",
    )


def _not_written(folder: Path, error: OSError) -> DownloadError:
    return DownloadError(
        f"The models folder {folder} cannot be written to: {error.strerror}.",
        hint="Check that the folder belongs to you, then try again.",
    )
