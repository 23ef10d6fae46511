"""Models go on on the processor where the device fails. Torch's device "meta" takes a model and gives no
numbers."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from ragcore.embeddings import HuggingFaceEmbedding, bundled_model
from ragcore.embeddings.huggingface import _load as load_embedder
from ragcore.embeddings.torch_device import Placed

TEXTS = ["Rain fell in the night.", "The museum opens at nine.", "word " * 700, ""]


def linear(device: str) -> torch.nn.Linear:
    return torch.nn.Linear(3, 1, device=device)


def outcome(model: torch.nn.Linear) -> list[float]:
    found: list[float] = model(torch.ones(3, device=model.weight.device)).tolist()
    return found


@pytest.mark.parametrize("name", [bundled_model.NAME, "folder"])
def test_a_device_that_fails_gives_what_the_processor_gives(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    name = str(bundled_model.model_folder()) if name == "folder" else name
    load_embedder.cache_clear()
    failing = HuggingFaceEmbedding(name, device="meta", max_length=64)
    expected = HuggingFaceEmbedding(name, device="cpu", max_length=64)
    assert failing.embed_passages(TEXTS) == pytest.approx(expected.embed_passages(TEXTS), abs=1e-6)
    assert failing.embed_query("Does it rain?") == pytest.approx(
        expected.embed_query("Does it rain?"), abs=1e-6
    )
    assert [record.levelno for record in caplog.records] == [logging.WARNING], "said once"
    assert "as it cannot on meta" in caplog.text


def test_the_tokens_are_those_of_the_processor() -> None:
    load_embedder.cache_clear()
    failing, expected = (
        HuggingFaceEmbedding(device=device).embed_tokens(TEXTS[:2]) for device in ("meta", "cpu")
    )
    assert failing
    assert expected
    for found, right in zip(failing[1], expected[1], strict=True):
        assert (found.text, found.places) == (right.text, right.places)
        assert found.rows == pytest.approx(right.rows, abs=1e-6)


def test_a_device_without_memory_for_the_model_is_abandoned() -> None:
    def load(device: str) -> torch.nn.Linear:
        if device != "cpu":
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return linear(device)

    assert len(outcome(Placed(load, "meta").model)) == 1


@pytest.mark.skipif(torch.cuda.is_available(), reason="the card here computes")
def test_a_card_that_cannot_compute_is_abandoned(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert Placed(linear).model.weight.device.type == "cpu"
    assert "as it cannot on cuda" in caplog.text


def test_several_threads_go_on_with_one_model() -> None:
    loaded: list[str] = []

    def load(device: str) -> torch.nn.Linear:
        loaded.append(device)
        return linear(device)

    failing_at_once = threading.Barrier(8)

    def compute(model: torch.nn.Linear) -> list[float]:
        if model.weight.device.type == "meta":
            failing_at_once.wait(timeout=30)
        return outcome(model)

    placed = Placed(load, "meta")
    with ThreadPoolExecutor(8) as threads:
        outcomes = list(threads.map(lambda _: placed.run(compute), range(8)))
    assert all(found == outcomes[0] for found in outcomes)
    assert loaded == ["meta", "cpu"]


def test_an_error_on_the_processor_is_the_callers() -> None:
    calls: list[torch.nn.Linear] = []

    def fail(model: torch.nn.Linear) -> None:
        calls.append(model)
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        Placed(linear, "cpu").run(fail)
    assert len(calls) == 1


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no graphics card")
@pytest.mark.parametrize("full", [False, True])
def test_vectors_equal_the_processor_s_for_any_card_memory(full: bool) -> None:
    texts = [f"{'word ' * 120}{number}" for number in range(64)]
    expected = HuggingFaceEmbedding(device="cpu").embed_passages(texts)
    load_embedder.cache_clear()
    embedder = HuggingFaceEmbedding()
    embedder.warm()
    torch.cuda.empty_cache()
    hog = torch.empty(
        torch.cuda.mem_get_info()[0] - 40_000_000 if full else 0, dtype=torch.uint8, device="cuda"
    )
    assert embedder.embed_passages(texts) == pytest.approx(expected, abs=1e-5)
    assert embedder._model._placed.model.device.type == ("cpu" if full else "cuda")
    load_embedder.cache_clear()
    assert HuggingFaceEmbedding().embed_passages(texts[:3]) == pytest.approx(expected[:3], abs=1e-5), (
        "loaded where it is full"
    )
    del hog
    torch.cuda.empty_cache()
