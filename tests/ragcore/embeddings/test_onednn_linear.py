from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ragcore.embeddings import HuggingFaceEmbedding
from ragcore.embeddings.huggingface import _load
from ragcore.embeddings.torch_device import OneDNNLinear, onednn_is_faster, use_onednn

pytestmark = pytest.mark.skipif(
    not torch.backends.mkldnn.is_available(), reason="this build of torch has no oneDNN"
)


@given(
    rows=st.integers(0, 40),
    inner=st.integers(1, 70),
    outer=st.integers(1, 70),
    bias=st.booleans(),
    deep=st.booleans(),
)
def test_a_layer_gives_what_torchs_own_gives(
    rows: int, inner: int, outer: int, bias: bool, deep: bool
) -> None:
    layer = torch.nn.Linear(inner, outer, bias=bias)
    given_rows = torch.randn((2, rows, inner) if deep else (rows, inner))
    turned = torch.randn(inner, rows).T  # not one row behind the other in memory
    with torch.inference_mode():
        expected, of_turned = layer(given_rows), layer(turned)
        layer.__class__ = OneDNNLinear
        torch.testing.assert_close(layer(given_rows), expected, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(layer(turned), of_turned, rtol=1e-4, atol=1e-5)


def test_other_types_than_float32_run_in_torch() -> None:
    layer = torch.nn.Linear(8, 4, dtype=torch.float64)
    rows = torch.randn(3, 8, dtype=torch.float64)
    with torch.inference_mode():
        expected = layer(rows)
        layer.__class__ = OneDNNLinear
        assert torch.equal(layer(rows), expected)


def test_only_plain_linear_layers_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragcore.embeddings.torch_device.onednn_is_faster", lambda: True)

    class Own(torch.nn.Linear):
        pass

    model = torch.nn.Sequential(Own(4, 4), torch.nn.LayerNorm(4), torch.nn.Linear(4, 4))
    use_onednn(model)
    assert [type(layer) for layer in model] == [Own, torch.nn.LayerNorm, OneDNNLinear]


@pytest.mark.parametrize("faster", [True, False])
def test_embedder_uses_onednn_if_faster_with_equal_vectors(
    faster: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["The tower was built in 1871.", "rain", "long " * 300]
    expected = HuggingFaceEmbedding().embed_passages(texts)
    monkeypatch.setattr("ragcore.embeddings.torch_device.onednn_is_faster", lambda: faster)
    _load.cache_clear()
    try:
        embedder = HuggingFaceEmbedding()
        assert ((embedder.embed_passages(texts) * expected).sum(axis=1) > 0.999999).all()
        layers = [
            layer for layer in embedder._model._placed.model.modules() if isinstance(layer, torch.nn.Linear)
        ]
        assert {type(layer) for layer in layers} == {OneDNNLinear if faster else torch.nn.Linear}
    finally:
        _load.cache_clear()  # nobody else shall get this model


@pytest.mark.parametrize(("capability", "faster"), [("AVX512", True), ("AVX2", False)])
def test_processors_with_only_avx2_use_mkl(
    capability: str, faster: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.backends.cpu.get_cpu_capability", lambda: capability)
    assert onednn_is_faster() == faster
