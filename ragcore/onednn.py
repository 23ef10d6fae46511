"""The linear layers of torch's models by oneDNN (https://github.com/uxlfoundation/oneDNN), which torch brings.

For float32 on a CPU torch calls MKL, which on AMD's processors leaves AVX-512 unused: there oneDNN takes half the time. On
others that have it it takes about the same, on those with AVX2 alone an eighth more. `python -m benchmarks.embedding` measures
both.
"""

from __future__ import annotations

import torch


class OneDNNLinear(torch.nn.Linear):
    """The same product and sum as `torch.nn.Linear`, but for rounding. For use, not for training: it has no gradient."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        if input.device.type != "cpu" or input.dtype != torch.float32 or self.weight.dtype != torch.float32:
            return super().forward(input)
        product: torch.Tensor = torch.ops.mkldnn._linear_pointwise(input, self.weight, self.bias, "none", [], "")
        return product


def is_faster() -> bool:
    """Whether this build of torch has it, and it takes no longer on this processor."""
    available: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return available and torch.backends.cpu.get_cpu_capability() != "AVX2"


def with_onednn(model: torch.nn.Module) -> None:
    """Have every plain linear layer of a model computed by oneDNN, where that is no slower."""
    if is_faster():
        for layer in model.modules():
            if type(layer) is torch.nn.Linear:
                layer.__class__ = OneDNNLinear
