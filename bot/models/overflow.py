"""Pure: the phrases by which servers say that a request does not fit the model's window. No other prose is read.

Many servers report an overflow with a bare 400 and a sentence. Each pattern names who writes the sentence, and reads
the window where the sentence tells it.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache

from memory.http_answers import Failure, fields_of, message_of

STATUSES = (400, 413, 422)
"""The statuses with which a phrase counts; an error event in a stream has no status of its own."""
LONGEST_MESSAGE = 4000
"""Characters of a message that are read."""
SMALLEST_WINDOW, LARGEST_WINDOW = 256, 100_000_000
"""Tokens: another number in such a sentence is not a window."""

_N = r"(?P<window>\d[\d,]*)"
_PHRASES = (
    # OpenAI, Azure, DeepSeek, vLLM, OpenRouter, SGLang, Fireworks
    rf"maximum context length(?: is| of|:|=)?(?: only)? ?\(?{_N}",
    r"exceeds? (?:the |this |its )?(?:model(?:'s)? )?(?:maximum )?context (?:window|length)",
    # Anthropic, and Bedrock with its models
    rf"prompt is too long: [\d,]+ tokens > {_N} maximum",
    r"^(?:the |your )?(?:prompt|input) (?:is )?too long",
    rf"exceed(?:s)? context limit(?:: [\d,]+ \+ [\d,]+ > {_N})?",
    r"input is too long for (?:the )?requested model",
    # Gemini, and Vertex AI
    rf"input token count.{{0,40}}exceeds the maximum(?: number of tokens allowed)?(?: ?\(?{_N})?",
    rf"input token count is [\d,]+ but (?:the )?model only supports up to {_N}",
    # llama.cpp's server
    rf"exceeds? the available context size(?: \({_N})?",
    rf"larger than the max(?:imum)? context size(?: \({_N})?",
    # vLLM, SGLang
    rf"context length is only {_N}",
    rf"longer than the maximum model length of {_N}",
    rf"too long to fit into the model(?: \(context length {_N})?",
    rf"longer than the model'?s context length(?: \({_N})?",
    r"max_tokens must be at least 1, got -\d",
    # Ollama
    r"exceed(?:ed|s) (?:the )?max(?:imum)? context length",
    r"prompt too long; exceeded",
    # LM Studio
    rf"context length of only {_N}",
    rf"greater than the context length(?: \(n_keep: ?[\d,]+ ?>= ?n_ctx: ?{_N})?",
    # Mistral
    rf"too large for model with {_N} maximum context length",
    # xAI
    rf"maximum prompt length is {_N}",
    # Groq, Cerebras, OpenAI
    rf"reduce the length of (?:the|your) (?:input|messages|prompt)(?:.{{0,60}} limit is {_N})?",
    # Together, Hugging Face
    rf"`?inputs`? tokens \+ `?max_new_tokens`? must be <= {_N}",
    rf"`?inputs`? must have less than {_N} tokens",
    # Moonshot
    rf"exceeded model token limit(?:: ?{_N})?",
    rf"model max length exceeded(?:, max length: ?{_N})?",
    # Alibaba
    rf"range of input length should be \[\d+, ?{_N}\]",
    # Zhipu
    r"prompt exceeds max length",
    # GitHub
    rf"prompt token count of [\d,]+ exceeds the limit of {_N}",
    rf"request body too large for .{{1,60}} model\. max size: {_N} tokens",
    # Cohere
    rf"number of tokens in the prompt cannot exceed {_N}",
    # MiniMax
    r"context window exceeds limit",
    # Poolside
    rf"exceeds the maximum allowed input length of {_N}",
    # LiteLLM, and gateways that pass on a code in their sentence
    r"ContextWindowExceededError",
    r"context_length_exceeded|context length exceeded",
)


def overflow_window(failure: Failure) -> int | None:
    """Return the window in tokens that a refusal names; 0 for an overflow without one, None for another refusal."""
    found = [match for said in _sentences(failure) for each in _patterns() for match in each.finditer(said)]
    if not found:
        return None
    numbers = (int(match["window"].replace(",", "")) for match in found if match.groupdict().get("window"))
    return next((number for number in numbers if SMALLEST_WINDOW <= number <= LARGEST_WINDOW), 0)


def is_unexplained(failure: Failure) -> bool:
    """Return whether a refusal blames no field of the request, so that its length may be the reason."""
    error = failure.fields.get("error")
    fields = error if isinstance(error, Mapping) else failure.fields
    names_a_field = isinstance(fields.get("param"), str) and bool(fields["param"])
    code = fields.get("code")
    names_a_cause = isinstance(code, str) and code.lower() not in _GENERAL_CODES and not code.isdecimal()
    return not (names_a_field or names_a_cause or _names_fields(fields.get("details")) or _is_a_list(failure))


_GENERAL_CODES = (
    "",
    "bad_request",
    "badrequest",
    "badrequesterror",
    "invalid_request",
    "invalid_request_error",
)


def _names_fields(details: object) -> bool:
    """Google's way to say which field is wrong."""
    rows = details if isinstance(details, list) else []
    return any(isinstance(row, Mapping) and row.get("fieldViolations") for row in rows)


def _is_a_list(failure: Failure) -> bool:
    """FastAPI's way to say which field is wrong."""
    return isinstance(failure.fields.get("detail"), list)


def _sentences(failure: Failure) -> Iterator[str]:
    """Every place of a refusal in which it speaks to people."""
    error = failure.fields.get("error")
    yield _plain(message_of(failure.fields) or failure.text)
    if isinstance(error, Mapping):
        match error.get("metadata"):  # OpenRouter: of the provider behind it
            case {"raw": str(raw)}:
                yield _plain(message_of(fields_of(raw.encode("utf-8", "replace"))) or raw)


def _plain(text: str) -> str:
    return " ".join(text[:LONGEST_MESSAGE].split())


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(phrase, re.IGNORECASE) for phrase in _PHRASES)
