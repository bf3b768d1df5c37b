"""A GGUF file of a few kilobytes with a random embedding model that llama.cpp loads."""

import string
from pathlib import Path

TINY_DIMENSIONS = 32
TINY_CONTEXT = 48
"""Maximum tokens: every letter is one, plus one at the start and one at the end."""

_MARKS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
_FEED_FORWARD = 64
_LAYERS = 2
_MEAN = 1


def write_tiny_gguf(
    path: Path,
    *,
    name: str = "tiny",
    seed: int = 1,
    dimensions: int = TINY_DIMENSIONS,
    context: int = TINY_CONTEXT,
    pooling: int | None = _MEAN,
    causal: bool = False,
    layers: int = _LAYERS,
    broken: bool = False,
) -> Path:
    """Write a BERT model with a letter-wise vocabulary. `broken`: its vectors are NaN. Needs numpy and gguf."""
    import numpy as np
    from gguf import GGUFWriter, PoolingType

    dice = np.random.default_rng(seed)
    letters = string.ascii_lowercase + string.digits + ".,?!"
    words = [*_MARKS, *(f"\u2581{letter}" for letter in letters), *letters]
    writer = GGUFWriter(path, "bert")
    writer.add_name(name)
    writer.add_block_count(layers)
    writer.add_context_length(context)
    writer.add_embedding_length(dimensions)
    writer.add_feed_forward_length(_FEED_FORWARD)
    writer.add_head_count(4)
    writer.add_layer_norm_eps(1e-12)
    writer.add_causal_attention(causal)
    if pooling is not None:
        writer.add_pooling_type(PoolingType(pooling))
    writer.add_tokenizer_model("bert")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(words)
    writer.add_token_types([3 if word in _MARKS else 1 for word in words])
    writer.add_token_type_count(2)
    for number, add in enumerate(
        (
            writer.add_pad_token_id,
            writer.add_unk_token_id,
            writer.add_bos_token_id,
            writer.add_sep_token_id,
            writer.add_mask_token_id,
        )
    ):
        add(number)
    writer.add_eos_token_id(3)

    def weights(tensor: str, *shape: int) -> None:
        writer.add_tensor(tensor, dice.normal(0, 0.5, shape).astype(np.float32))

    def norm(tensor: str) -> None:
        writer.add_tensor(f"{tensor}.weight", np.full(dimensions, np.nan if broken else 1, np.float32))
        writer.add_tensor(f"{tensor}.bias", np.zeros(dimensions, np.float32))

    weights("token_embd.weight", len(words), dimensions)
    weights("position_embd.weight", context, dimensions)
    weights("token_types.weight", 2, dimensions)
    norm("token_embd_norm")
    for layer in range(layers):
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            weights(f"blk.{layer}.{part}.weight", dimensions, dimensions)
            weights(f"blk.{layer}.{part}.bias", dimensions)
        norm(f"blk.{layer}.attn_output_norm")
        weights(f"blk.{layer}.ffn_up.weight", _FEED_FORWARD, dimensions)
        weights(f"blk.{layer}.ffn_up.bias", _FEED_FORWARD)
        weights(f"blk.{layer}.ffn_down.weight", dimensions, _FEED_FORWARD)
        weights(f"blk.{layer}.ffn_down.bias", dimensions)
        norm(f"blk.{layer}.layer_output_norm")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
