"""Where torch's models run."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

import torch

from ragcore.errors import ConfigError

logger = logging.getLogger(__name__)

Model = TypeVar("Model", bound=torch.nn.Module)
Result = TypeVar("Result")


class Placed(Generic[Model]):
    """A model on `device`, or without one on the best there is. Where that fails, the model goes on on the processor.

    A graphics card's memory may be full of another program's model, and its driver may be lost while the computer sleeps.
    `load` gives the model on a device of torch's, such as "cpu" or "cuda:0". ConfigError for a device that this computer has
    not. Several threads may use one.
    """

    def __init__(self, load: Callable[[str], Model], device: str | None = None) -> None:
        if device is not None:
            _check(device)
        self._load = load
        self._replacing = threading.Lock()
        chosen = device or _best_device()
        try:
            self.model = load(chosen)
        except RuntimeError as error:
            if chosen == "cpu":
                raise
            _warn(chosen, error)
            self.model = load("cpu")

    def run(self, compute: Callable[[Model], Result]) -> Result:
        """What `compute` gives; it may be called twice. An error on the processor is the caller's."""
        model = self.model
        device = next(model.parameters()).device
        try:
            return compute(model)
        except RuntimeError as error:
            if device.type == "cpu":
                raise
            failure = error
        with self._replacing:
            if self.model is model:
                _warn(str(device), failure)
                self.model = self._load("cpu")
        return compute(self.model)


def _best_device() -> str:
    """ "cuda" or "mps" where it computes, else "cpu". A graphics card may be too old for this torch, or its memory full."""
    for device, available in (("cuda", torch.cuda.is_available), ("mps", torch.backends.mps.is_available)):
        if available():
            try:
                torch.ones(2, 2, device=device).matmul(torch.ones(2, 2, device=device)).tolist()
            except (AssertionError, RuntimeError) as error:
                _warn(device, error)
            else:
                return device
    return "cpu"


def _check(device: str) -> None:
    """ConfigError in place of what torch says in its own words, each in another kind of error."""
    try:
        torch.empty(0, device=device)
    except (AssertionError, RuntimeError) as error:
        raise ConfigError(
            f"No model can run on {device!r} here: {_first_line(error)}",
            hint="Leave the device out, or say cpu.",
        ) from error


def _warn(device: str, error: Exception) -> None:
    logger.warning("a model runs on the processor, as it cannot on %s: %s", device, _first_line(error))


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


class OneDNNLinear(torch.nn.Linear):
    """The same product and sum as `torch.nn.Linear`, but for rounding. For use, not for training: it has no gradient."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        if input.device.type != "cpu" or input.dtype != torch.float32 or self.weight.dtype != torch.float32:
            return super().forward(input)
        product: torch.Tensor = torch.ops.mkldnn._linear_pointwise(input, self.weight, self.bias, "none", [], "")
        return product


def onednn_is_faster() -> bool:
    """Whether this build of torch has it, and it takes no longer on this processor."""
    available: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return available and torch.backends.cpu.get_cpu_capability() != "AVX2"


def use_onednn(model: torch.nn.Module) -> None:
    """Have every plain linear layer of a model computed by oneDNN, where that is no slower."""
    if onednn_is_faster():
        for layer in model.modules():
            if type(layer) is torch.nn.Linear:
                layer.__class__ = OneDNNLinear


def bfloat16_is_faster() -> bool:
    """Whether this processor multiplies bfloat16 itself. Where it has to be widened first, that is slower than float32."""
    return torch.cpu._is_avx512_bf16_supported()
