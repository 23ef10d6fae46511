"""Where torch's models run."""

from __future__ import annotations

from ragcore.errors import ConfigError


def check_device(device: str | None) -> None:
    """ConfigError for one that this computer has not, which torch would say in its own words, each in another kind of error.

    `device` is torch's, such as "cpu" or "cuda:0"; None is the best there is.
    """
    import torch

    try:
        torch.empty(0, device=device)
    except (AssertionError, RuntimeError) as error:
        raise ConfigError(
            f"No model can run on {device!r} here: {str(error).splitlines()[0]}",
            hint="Leave the device out, or say cpu.",
        ) from error
