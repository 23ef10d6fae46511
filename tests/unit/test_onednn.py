from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ragcore.embeddings import HuggingFaceEmbedding
from ragcore.embeddings.huggingface import _load
from ragcore.onednn import OneDNNLinear, with_onednn

pytestmark = pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="this build of torch has no oneDNN")


@given(rows=st.integers(0, 40), inner=st.integers(1, 70), outer=st.integers(1, 70), bias=st.booleans(), deep=st.booleans())
@settings(max_examples=60, deadline=None)
def test_a_layer_gives_what_torchs_own_gives(rows: int, inner: int, outer: int, bias: bool, deep: bool) -> None:
    layer = torch.nn.Linear(inner, outer, bias=bias)
    given_rows = torch.randn((2, rows, inner) if deep else (rows, inner))
    turned = torch.randn(inner, rows).T  # not one row behind the other in memory
    with torch.inference_mode():
        expected, of_turned = layer(given_rows), layer(turned)
        with_onednn(layer)
        assert type(layer) is OneDNNLinear
        torch.testing.assert_close(layer(given_rows), expected, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(layer(turned), of_turned, rtol=1e-4, atol=1e-5)


def test_what_is_not_float32_is_left_to_torch() -> None:
    layer = torch.nn.Linear(8, 4, dtype=torch.float64)
    rows = torch.randn(3, 8, dtype=torch.float64)
    with torch.inference_mode():
        expected = layer(rows)
        with_onednn(layer)
        assert torch.equal(layer(rows), expected)


def test_only_plain_linear_layers_change() -> None:
    class Own(torch.nn.Linear):
        pass

    model = torch.nn.Sequential(Own(4, 4), torch.nn.LayerNorm(4), torch.nn.Linear(4, 4))
    with_onednn(model)
    assert [type(layer) for layer in model] == [Own, torch.nn.LayerNorm, OneDNNLinear]


def test_the_embedder_runs_on_it_and_its_vectors_stay_the_same() -> None:
    texts = ["The tower was built in 1871.", "rain", "long " * 300]
    embedder = HuggingFaceEmbedding()
    rows = embedder.embed_passages(texts)
    layers = [layer for layer in embedder._model._transformer.modules() if isinstance(layer, torch.nn.Linear)]
    assert layers
    assert all(type(layer) is OneDNNLinear for layer in layers)
    _load.cache_clear()
    plain = HuggingFaceEmbedding()
    try:
        for layer in plain._model._transformer.modules():
            if isinstance(layer, OneDNNLinear):
                layer.__class__ = torch.nn.Linear
        assert ((plain.embed_passages(texts) * rows).sum(axis=1) > 0.999999).all()
    finally:
        _load.cache_clear()  # nobody else shall get the model without it
