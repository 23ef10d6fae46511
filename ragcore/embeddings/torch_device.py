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
    """A model on `device`, or on the best device. After a failure there it runs on the processor.

    The memory of a graphics card may be full of another program's model, and its driver may fail after the
    computer sleeps. `load` loads the model onto a device of torch, such as "cpu" or "cuda:0". ConfigError for
    a device that this computer does not have. Threads may share one.
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
        """The result of `compute`, which may be called twice. Errors on the processor are raised."""
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
    """ "cuda" or "mps" if it works, or "cpu". A graphics card may be too old for this torch, or its memory
    full."""
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
    """ConfigError instead of torch's various errors."""
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
    """The same as `torch.nn.Linear` except for rounding. Not for training: it has no gradient."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        if input.device.type != "cpu" or input.dtype != torch.float32 or self.weight.dtype != torch.float32:
            return super().forward(input)
        product: torch.Tensor = torch.ops.mkldnn._linear_pointwise(
            input, self.weight, self.bias, "none", [], ""
        )
        return product


def onednn_is_faster() -> bool:
    """Whether this build of torch has it, and it is no slower on this processor."""
    available: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return available and torch.backends.cpu.get_cpu_capability() != "AVX2"


def use_onednn(model: torch.nn.Module) -> None:
    """Compute every plain linear layer of a model with oneDNN, if that is no slower."""
    if onednn_is_faster():
        for layer in model.modules():
            if type(layer) is torch.nn.Linear:
                layer.__class__ = OneDNNLinear


def bfloat16_is_faster() -> bool:
    """Whether this processor has instructions for bfloat16. Without them it is slower than float32."""
    return torch.cpu._is_avx512_bf16_supported()
