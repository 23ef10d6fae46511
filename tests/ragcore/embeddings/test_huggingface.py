"""Where a model of sentence-transformers comes from, and where it runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragcore.embeddings import bundled_model
from ragcore.embeddings.huggingface import HuggingFaceEmbedding
from ragcore.errors import ConfigError
from ragcore.postprocessor import SentenceTransformerRerank
from ragcore.schema import NodeWithScore, TextNode


def test_model_name_resolves_to_the_folder_of_models(tmp_path: Path) -> None:
    version = "a" * 40
    for place in ("refs", "snapshots"):
        (tmp_path / "models--somebody--tiny" / place).mkdir(parents=True)
    (tmp_path / "models--somebody--tiny" / "refs" / "main").write_text(version)
    (tmp_path / "models--somebody--tiny" / "snapshots" / version).symlink_to(bundled_model.model_folder())
    kept = HuggingFaceEmbedding("somebody/tiny", cache_folder=str(tmp_path))
    assert kept.embed_query("rain") == pytest.approx(HuggingFaceEmbedding().embed_query("rain"), abs=1e-6)


@pytest.mark.parametrize("device", ["cuda:99", "nowhere"])
def test_a_missing_device_is_reported(device: str) -> None:
    with pytest.raises(ConfigError, match=f"can run on '{device}'"):
        HuggingFaceEmbedding(device=device).warm()
    with pytest.raises(ConfigError, match=f"can run on '{device}'"):
        SentenceTransformerRerank(str(bundled_model.model_folder()), device=device).postprocess_nodes(
            [NodeWithScore(TextNode("It rains."), 0.5)], query_str="Does it?"
        )
    assert HuggingFaceEmbedding(device="cpu").embed_query("rain").shape == (bundled_model.DIMENSION,)
