"""A language model of half a megabyte with random weights, for llama.cpp: it loads at once and says
nonsense."""

from __future__ import annotations

from pathlib import Path

import numpy as np

WIDTH, LAYERS, HEADS, CONTEXT = 64, 2, 2, 4096
LETTERS = [chr(code) for code in range(32, 127)]
TEMPLATE = (  # thinks unless it is told not to, as Qwen3 does
    "{% for message in messages %}<|{{ message.role }}|>"
    "{% if message.reasoning_content %}<think>\n{{ message.reasoning_content }}\n</think>\n\n{% endif "
    "%}{{ message.content }}\n"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>"
    "{% if enable_thinking is defined and enable_thinking is false %}<think>\n\n</think>\n\n{% endif "
    "%}{% endif %}"
)


def write_tiny_model(
    path: Path, *, trained_context: int = CONTEXT, layers: int = LAYERS, architecture: str = "llama"
) -> Path:
    """As large as its `layers`: about 130 kB each. Its answers end at their greatest length, and hardly ever
    before."""
    import gguf

    rng = np.random.default_rng(7)
    tokens = [
        "<unk>",
        "<s>",
        "</s>",
        *(f"<0x{byte:02X}>" for byte in range(256)),
        *(f"▁{letter}" for letter in LETTERS),
    ]
    kinds = [gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL, gguf.TokenType.CONTROL]
    kinds += [gguf.TokenType.BYTE] * 256 + [gguf.TokenType.NORMAL] * len(LETTERS)
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_name("Tiny")
    writer.add_context_length(trained_context)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(2 * WIDTH)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([-float(place) for place in range(len(tokens))])
    writer.add_token_types(kinds)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_chat_template(TEMPLATE)

    def weights(*shape: int) -> np.ndarray:
        return (rng.standard_normal(shape) * 0.2).astype(np.float32)

    writer.add_tensor("token_embd.weight", weights(len(tokens), WIDTH))
    chances = weights(len(tokens), WIDTH)
    chances[:3] = 0  # among hundreds of others one with 0 is hardly ever the likeliest
    writer.add_tensor("output.weight", chances)
    writer.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))
    for layer in range(layers):
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            writer.add_tensor(f"blk.{layer}.{name}.weight", weights(WIDTH, WIDTH))
        writer.add_tensor(f"blk.{layer}.ffn_gate.weight", weights(2 * WIDTH, WIDTH))
        writer.add_tensor(f"blk.{layer}.ffn_up.weight", weights(2 * WIDTH, WIDTH))
        writer.add_tensor(f"blk.{layer}.ffn_down.weight", weights(WIDTH, 2 * WIDTH))
        writer.add_tensor(f"blk.{layer}.attn_norm.weight", np.ones(WIDTH, np.float32))
        writer.add_tensor(f"blk.{layer}.ffn_norm.weight", np.ones(WIDTH, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
