"""Downloads a language model from the hub: in the background, one at a time, stopped and gone on with as the person likes.

What has come is in `FILE.incomplete` beside where the file will be, so a download goes on after a restart, and its size says
how far it is. `huggingface_hub` gives the address, the token and whether this computer is to stay offline; its own download
neither stops at once nor says when a busy hub may be asked again, so the bytes are read here.
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
TRIES = 4  # in a row that bring nothing, after a connection broke off
PAUSE_SECONDS = 1.0  # between two of them, times the tries so far
SPARE_BYTES = 500_000_000  # of the disk that stay free
END_SECONDS = 5.0


class DownloadError(RagError):
    """Why a model did not come. What has come of it is kept, unless it was the wrong file."""

    retryable = True


class _Stopped(Exception):
    """The person pressed Stop."""


@dataclass(frozen=True, slots=True)
class Download:
    """How far one is. `seconds_left` is None while there is no telling; a stopped one may be gone on with."""

    state: Literal["running", "checking", "stopped", "failed"]
    done: int  # bytes
    total: int  # bytes
    seconds_left: float | None = None
    problem: Problem | None = None


class ModelDownloads:
    """Shared by all sessions of the process. `endpoint`: the address of a hub, by default that of HF_ENDPOINT, or the public
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
        self._began = (0.0, 0)  # seconds on the clock, and the bytes that were there
        self._problems: dict[str, Problem] = {}

    @property
    def running(self) -> CatalogueModel | None:
        """The one that is being downloaded or checked now."""
        return self._running

    def state(self, model: CatalogueModel) -> Download | None:
        """None for one that was never begun, and for one that is whole."""
        running = self._running is model  # asked before the size: what ends in between has no part of a file any more
        done = self._size(model)
        if running:
            return Download("checking" if self._checking else "running", done, model.size, self._seconds_left(model, done))
        if problem := self._problems.get(model.file):
            return Download("failed", done, model.size, problem=problem)
        return Download("stopped", done, model.size) if done else None

    def start(self, model: CatalogueModel) -> None:
        """Begin, or go on where it stopped. InputError while another one is being downloaded; DownloadError where the disk has
        no room for it."""
        with self._lock:
            if self._running is model:
                return
            if self._running is not None:
                raise InputError(
                    f"{self._running.name} is being downloaded.", hint="Wait until it is done, or stop it and try again."
                )
            self._make_room(model)
            self._problems.pop(model.file, None)
            self._running, self._checking = model, False
            self._began = (self._clock(), self._size(model))
            self._stop.clear()
            self._thread = threading.Thread(target=self._run, args=(model,), name="model-download", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Stop the one that runs; what has come of it stays. Waits until it has stopped, a few seconds at most."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(END_SECONDS)

    def discard(self, model: CatalogueModel) -> int:
        """Delete what has come of one that is stopped, and give the bytes that are free now."""
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
        except Exception:  # in a thread of its own nobody else would hear of it
            logger.exception("a model could not be downloaded")
            self._problems[model.file] = Problem(
                f"{model.name} could not be downloaded.", "Try again. If it happens again, please report it.", retryable=True
            )
        finally:
            self._running = None

    def _fetch(self, model: CatalogueModel) -> None:
        """Bring what is missing; a connection that breaks off is taken up again while that brings something."""
        from huggingface_hub import constants, get_token, hf_hub_url

        if constants.is_offline_mode():
            raise DownloadError(
                "Downloads are turned off on this computer.",
                hint="The administrator of Lectern has set HF_HUB_OFFLINE. Put a GGUF file into the models folder instead.",
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
                if tries >= TRIES:
                    raise _unreachable(url, begun=self._size(model) > 0) from error
            else:
                tries += 1
                if self._size(model) <= before:
                    raise DownloadError(f"The hub sent no data for {model.name}.", hint="Try again a little later.")
            if self._size(model) < model.size and self._stop.wait(PAUSE_SECONDS * tries):
                raise _Stopped

    def _receive(self, model: CatalogueModel, url: str, headers: dict[str, str]) -> None:
        done = self._size(model)
        request_headers = {**headers, "Accept-Encoding": "identity", **({"Range": f"bytes={done}-"} if done else {})}
        with httpx.stream("GET", url, headers=request_headers, follow_redirects=True, timeout=TIMEOUT) as response:
            if response.status_code not in (200, 206):
                raise _refusal(model, response)
            try:
                with self._part(model).open("ab" if response.status_code == 206 else "wb") as part:
                    for piece in response.iter_raw():
                        if self._stop.is_set():
                            raise _Stopped
                        part.write(piece)
                        if part.tell() > model.size:
                            return  # it is another file, as the check will say
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
                hint="Try again. If it happens again, something between this computer and the hub is changing the file.",
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
    return DownloadError(f"{host} could not send {model.name} (error {status}).", hint="Try again a little later.")


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
        f"There is not enough space on the disk: {needed / 1e9:.1f} GB are needed, and {free / 1e9:.1f} GB are free.",
        hint=f"Free some space on the disk of {folder}, then try again.",
    )


def _not_written(folder: Path, error: OSError) -> DownloadError:
    return DownloadError(
        f"The models folder {folder} cannot be written to: {error.strerror}.",
        hint="Check that the folder belongs to you, then try again.",
    )
