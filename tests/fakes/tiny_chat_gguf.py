"""A GGUF file of some hundred kilobytes with a chat model that writes a fixed text in llama.cpp.

Each token alone determines the next one: embeddings are codes of plus and minus one, the output layer maps a
code to its successor, and attention and feed-forward layers add nothing. So the output is certain at any
temperature, and costs as much as from any model of this size.
"""

from collections.abc import Sequence
from pathlib import Path

REPLY, FOLLOW_UP = "<|reply|>", "<|follow_up|>"
"""Tokens at which its prompts end: after a person's message, and after a tool's result."""
CONTROL_TOKENS = ("<|im_start|>", "<|im_end|>", REPLY, FOLLOW_UP)

QWEN = """{%- if tools %}{{ '<|im_start|>tools\n' + tools | tojson + '<|im_end|>\n' }}{% endif %}
{%- for message in messages %}
{{- '<|im_start|>' + message.role + '\n' + message.content }}
{%- for call in message.tool_calls %}
{{- '\n<tool_call>\n{"name": "' + call.function.name + '", "arguments": ' + call.function.arguments | tojson }}
{{- '}\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|im_start|>assistant\n' + ('<|follow_up|>' if messages[-1].role == 'tool' else '<|reply|>') }}
{%- endif %}"""
"""A template that supports tools, several calls per step, and a system prompt."""

_UNKNOWN, _BEGIN, _END = "<unk>", "<s>", "</s>"
_NORMAL, _UNKNOWN_TYPE, _CONTROL, _BYTE = 1, 2, 3, 6
_CERTAINTY = 40.0


def write_tiny_chat_gguf(
    path: Path,
    reply: Sequence[str],
    follow_up: Sequence[str] = ("Done.",),
    *,
    template: str | None = QWEN,
    control: Sequence[str] = (),
    endless: bool = False,
    context: int = 4096,
    width: int = 64,
    layers: int = 1,
) -> Path:
    """Write a llama model that answers `reply`, or `follow_up` after a result; each piece is one unique token.

    A piece `<0x41>` is that byte; those in `control` are control tokens. `endless`: the reply repeats at its
    end. A larger `width` and more `layers` make it slow. Needs numpy and gguf.
    """
    import numpy as np
    from gguf import GGUFWriter

    byte_tokens = [f"<0x{byte:02X}>" for byte in range(256)]
    marks = [_UNKNOWN, _BEGIN, _END, *dict.fromkeys((*CONTROL_TOKENS, *control))]
    words = [each.replace(" ", "\u2581") for each in (*reply, *follow_up)]
    assert len({*words}) == len(words), "each piece has one successor"
    vocabulary = list(dict.fromkeys([*marks, *byte_tokens, *words]))
    number = {word: index for index, word in enumerate(vocabulary)}
    kinds = [
        _UNKNOWN_TYPE
        if word == _UNKNOWN
        else _CONTROL
        if word in marks
        else _BYTE
        if word in byte_tokens
        else _NORMAL
        for word in vocabulary
    ]
    script, second = words[: len(reply)], words[len(reply) :]
    steps = [*zip([REPLY, *script], [*script, script[0] if endless else _END], strict=True)]
    steps += zip([FOLLOW_UP, *second], [*second, _END], strict=True)

    dice = np.random.default_rng(1)
    codes = dice.choice(np.array([-1, 1], np.float32), (len(vocabulary), width))
    output = np.zeros_like(codes)
    for before, after in steps:
        output[number[after]] += codes[number[before]] * _CERTAINTY / width

    writer = GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_block_count(layers)
    writer.add_context_length(context)
    writer.add_embedding_length(width)
    writer.add_feed_forward_length(width)
    writer.add_head_count(4)
    writer.add_head_count_kv(4)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(width // 4)
    writer.add_vocab_size(len(vocabulary))
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(vocabulary)
    writer.add_token_scores([0.0] * len(vocabulary))
    writer.add_token_types(kinds)
    writer.add_unk_token_id(number[_UNKNOWN])
    writer.add_bos_token_id(number[_BEGIN])
    writer.add_eos_token_id(number[_END])
    writer.add_add_bos_token(True)
    writer.add_add_space_prefix(False)
    if template is not None:
        writer.add_chat_template(template)

    square = dice.normal(0, 0.1, (width, width)).astype(np.float32)
    nothing = np.zeros((width, width), np.float32)
    ones = np.ones(width, np.float32)
    writer.add_tensor("token_embd.weight", codes)
    writer.add_tensor("output.weight", output)
    writer.add_tensor("output_norm.weight", ones)
    for layer in range(layers):
        for part in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{layer}.{part}.weight", ones)
        for part in ("attn_q", "attn_k", "attn_v", "ffn_gate", "ffn_up"):
            writer.add_tensor(f"blk.{layer}.{part}.weight", square)
        for part in ("attn_output", "ffn_down"):
            writer.add_tensor(f"blk.{layer}.{part}.weight", nothing)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
