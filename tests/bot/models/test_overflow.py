"""Sentences by which servers say that a request is too long, as they were seen, and others that do not."""

import json
from datetime import UTC, datetime

from bot.models.overflow import is_unexplained, overflow_window
from memory.http_responses import HttpFailure, parse_failure
from tests.fakes.table_test import table_test

SENTENCES = [
    (
        "OpenAI",
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 10346 tokens. "
        "Please reduce the length of the messages.",
        8192,
    ),
    (
        "OpenAI, of old",
        "This model's maximum context length is 4097 tokens, however you requested 6539 tokens (6283 in your "
        "prompt; 256 for the completion). Please reduce your prompt; or completion length.",
        4097,
    ),
    (
        "OpenAI, Responses",
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        0,
    ),
    ("Anthropic", "prompt is too long: 205822 tokens > 200000 maximum", 200_000),
    ("Anthropic, bare", "prompt is too long", 0),
    (
        "Anthropic, with the answer",
        "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or "
        "`max_tokens` and try again",
        200_000,
    ),
    ("Bedrock", "Input is too long for requested model.", 0),
    (
        "Gemini",
        "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).",
        1_048_576,
    ),
    (
        "Gemini, of old",
        "The input token count exceeds the maximum number of tokens allowed 1048576.",
        1_048_576,
    ),
    (
        "Vertex AI",
        "Unable to submit request because the input token count is 40123 but model only supports up to 32768. "
        "Reduce the input token count and try again.",
        32_768,
    ),
    (
        "llama.cpp",
        "request (9023 tokens) exceeds the available context size (4096 tokens), try increasing it",
        4096,
    ),
    (
        "llama.cpp, of old",
        "the request exceeds the available context size. try increasing the context size or enable context shift",
        0,
    ),
    (
        "vLLM",
        "This model's maximum context length is 131072 tokens. However, you requested 156632 tokens (152536 in the "
        "messages, 4096 in the completion). Please reduce the length of the messages or completion.",
        131_072,
    ),
    (
        "vLLM, newer",
        "You passed 8193 input tokens and requested 0 output tokens. However, the model's context length is only "
        "8192 tokens, resulting in a maximum input length of 8192 tokens. Please reduce the length of the input "
        "prompt. (parameter=input_tokens, value=8193)",
        8192,
    ),
    (
        "vLLM, with pictures",
        "The prompt (total length 25938) is too long to fit into the model (context length 4096). Make sure that "
        "`max_model_len` is no smaller than the number of text tokens plus multimodal tokens.",
        4096,
    ),
    (
        "vLLM, the prompt",
        "The decoder prompt (length 5012) is longer than the maximum model length of 4096. Make sure that "
        "`max_model_len` is no smaller than the number of text tokens.",
        4096,
    ),
    ("vLLM, nothing left", "max_tokens must be at least 1, got -186.", 0),
    ("SGLang", "The input (9023 tokens) is longer than the model's context length (8192 tokens).", 8192),
    ("Ollama", "prompt too long; exceeded max context length by 4 tokens", 0),
    ("Ollama, vectors", "the input length exceeds the context length", 0),
    (
        "LM Studio",
        "Trying to keep the first 15857 tokens when context the overflows. However, the model is loaded with context "
        "length of only 4096 tokens, which is not enough. Try to load the model with a larger context length, or "
        "provide a shorter input",
        4096,
    ),
    (
        "LM Studio, newer",
        "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 13055>= "
        "n_ctx: 4096). Try to load the model with a larger context length, or provide a shorter input.",
        4096,
    ),
    (
        "Mistral",
        "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
        32_768,
    ),
    (
        "xAI",
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        131_072,
    ),
    ("Groq", "Please reduce the length of the messages or completion.", 0),
    (
        "Cerebras",
        "Please reduce the length of the messages or completion. Current length is 8193 while limit is 8192",
        8192,
    ),
    (
        "Together",
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: 80125 `inputs` tokens "
        "and 4096 `max_new_tokens`",
        4097,
    ),
    ("Hugging Face", "Input validation error: `inputs` must have less than 1024 tokens. Given: 2000", 1024),
    (
        "DeepSeek",
        "This model's maximum context length is 65536 tokens. However, you requested 70012 tokens (65916 in the "
        "messages, 4096 in the completion). Please reduce the length of the messages or completion.",
        65_536,
    ),
    (
        "OpenRouter",
        "This endpoint's maximum context length is 1048576 tokens. However, you requested about 1293741 tokens "
        "(1227853 of text input, 353 of tool input, 65535 in the output). Please reduce the length of either one.",
        1_048_576,
    ),
    (
        "OpenRouter, Poolside",
        "Input length 131393 exceeds the maximum allowed input length of 131040 tokens.",
        131_040,
    ),
    ("A gateway", "Input length (265330) exceeds model's maximum context length (262144).", 262_144),
    ("Fireworks", "The prompt is too long: 267657, model maximum context length: 262143", 262_143),
    ("Moonshot", "Invalid request: Your request exceeded model token limit: 8192 (requested: 9000)", 8192),
    ("Moonshot, of old", "model max length exceeded, max length:8192", 8192),
    (
        "Alibaba",
        "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 204800]",
        204_800,
    ),
    ("Zhipu", "Prompt exceeds max length", 0),
    ("GitHub", "prompt token count of 70000 exceeds the limit of 64000", 64_000),
    ("Cohere", "too many tokens: total number of tokens in the prompt cannot exceed 4081", 4081),
    ("MiniMax", "invalid params, context window exceeds limit (2013)", 0),
    ("LiteLLM", "litellm.ContextWindowExceededError: litellm.BadRequestError: AnthropicException", 0),
]

OTHERS = [
    "The meeting in room 402 is too long.",
    "Please check billing in room 402, quota exceeded, API key.",
    "room 402: billing_error, overloaded, prompt is too long",
    "max_tokens: 10000 > 4096, which is the maximum allowed number of output tokens for claude-3",
    "Your credit balance is too low to access the Anthropic API.",
    "registry.ollama.ai/library/gemma:2b does not support tools",
    "Request too large for model `llama-3.1-8b` on tokens per minute (TPM): Limit 6000, Requested 9213, please "
    "reduce your message size and try again.",
    "messages.1: the context of the message is missing",
    "image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes",
    "Range of max_tokens should be [1, 32768]",
    "string too long. Expected a string with maximum length 64 for the tool's name",
    "Bad Request",
    "",
]


@table_test(("said", "window"), [row[1:] for row in SENTENCES])
def test_the_sentence_of_each_server_is_known_and_its_window_read(said: str, window: int) -> None:
    for fields in (
        {"error": {"message": said, "type": "invalid_request_error"}},
        {"error": said},
        {"object": "error", "message": said, "code": 400},
        {"detail": said},
        {"error": {"message": "Provider returned error", "metadata": {"raw": json.dumps({"message": said})}}},
    ):
        assert overflow_window(HttpFailure(400, fields)) == window
    plain = parse_failure(400, {}, said.encode(), now=datetime.now(UTC))
    assert overflow_window(plain) == window


@table_test("said", OTHERS)
def test_no_other_sentence_means_anything(said: str) -> None:
    assert overflow_window(HttpFailure(400, {"error": {"message": said}})) is None
    assert overflow_window(parse_failure(400, {}, said.encode(), now=datetime.now(UTC))) is None


def test_a_number_that_cannot_be_a_window_is_not_taken_for_one() -> None:
    assert overflow_window(HttpFailure(400, {"error": "maximum context length is 7 tokens"})) == 0
    assert overflow_window(HttpFailure(400, {"error": "maximum context length is 9999999999 tokens"})) == 0


@table_test(
    ("fields", "unexplained"),
    [
        ({}, True),
        ({"error": {"message": "Bad Request"}}, True),
        (
            {
                "error": {
                    "code": 400,
                    "message": "Request contains an invalid argument.",
                    "status": "INVALID_ARGUMENT",
                }
            },
            True,
        ),
        ({"error": {"type": "invalid_request_error", "message": "Error", "param": None, "code": None}}, True),
        ({"error": {"message": "no", "param": "temperature"}}, False),
        ({"error": {"message": "no", "code": "unsupported_value"}}, False),
        ({"error": {"details": [{"fieldViolations": [{"field": "tools"}]}]}}, False),
        ({"detail": [{"loc": ["body", "tools"], "type": "extra_forbidden"}]}, False),
    ],
)
def test_a_refusal_that_names_a_field_or_a_cause_is_explained(
    fields: dict[str, object], unexplained: bool
) -> None:
    assert is_unexplained(HttpFailure(400, fields)) is unexplained
