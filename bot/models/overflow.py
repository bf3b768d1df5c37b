"""Pure: phrases by which servers report a request that exceeds the model's window. No other prose is read.

Many servers report an overflow with a bare 400 and a sentence. Each pattern names the servers that write the
sentence, and reads the window if the sentence states it.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache

from memory.http_responses import HttpFailure, find_error_message, parse_fields

STATUSES = (400, 413, 422)
"""Statuses with which a phrase counts; an error event in a stream has none."""
MAX_MESSAGE_CHARS = 4000
"""Maximum characters of a message that are read."""
MIN_WINDOW, LARGEST_WINDOW = 256, 100_000_000
"""Plausible windows in tokens; other numbers in such a sentence are not windows."""

_WINDOW = r"(?P<window>\d[\d,]*)"
_PHRASES = (
    # OpenAI, Azure, DeepSeek, vLLM, OpenRouter, SGLang, Fireworks
    rf"maximum context length(?: is| of|:|=)?(?: only)? ?\(?{_WINDOW}",
    r"exceeds? (?:the |this |its )?(?:model(?:'s)? )?(?:maximum )?context (?:window|length)",
    # Anthropic, and Bedrock with its models
    rf"prompt is too long: [\d,]+ tokens > {_WINDOW} maximum",
    r"^(?:the |your )?(?:prompt|input) (?:is )?too long",
    rf"exceed(?:s)? context limit(?:: [\d,]+ \+ [\d,]+ > {_WINDOW})?",
    r"input is too long for (?:the )?requested model",
    # Gemini, and Vertex AI
    rf"input token count.{{0,40}}exceeds the maximum(?: number of tokens allowed)?(?: ?\(?{_WINDOW})?",
    rf"input token count is [\d,]+ but (?:the )?model only supports up to {_WINDOW}",
    # llama.cpp's server
    rf"exceeds? the available context size(?: \({_WINDOW})?",
    rf"larger than the max(?:imum)? context size(?: \({_WINDOW})?",
    # vLLM, SGLang
    rf"context length is only {_WINDOW}",
    rf"longer than the maximum model length of {_WINDOW}",
    rf"too long to fit into the model(?: \(context length {_WINDOW})?",
    rf"longer than the model'?s context length(?: \({_WINDOW})?",
    r"max_tokens must be at least 1, got -\d",
    # Ollama
    r"exceed(?:ed|s) (?:the )?max(?:imum)? context length",
    r"prompt too long; exceeded",
    # LM Studio
    rf"context length of only {_WINDOW}",
    rf"greater than the context length(?: \(n_keep: ?[\d,]+ ?>= ?n_ctx: ?{_WINDOW})?",
    # Mistral
    rf"too large for model with {_WINDOW} maximum context length",
    # xAI
    rf"maximum prompt length is {_WINDOW}",
    # Groq, Cerebras, OpenAI
    rf"reduce the length of (?:the|your) (?:input|messages|prompt)(?:.{{0,60}} limit is {_WINDOW})?",
    # Together, Hugging Face
    rf"`?inputs`? tokens \+ `?max_new_tokens`? must be <= {_WINDOW}",
    rf"`?inputs`? must have less than {_WINDOW} tokens",
    # Moonshot
    rf"exceeded model token limit(?:: ?{_WINDOW})?",
    rf"model max length exceeded(?:, max length: ?{_WINDOW})?",
    # Alibaba
    rf"range of input length should be \[\d+, ?{_WINDOW}\]",
    # Zhipu
    r"prompt exceeds max length",
    # GitHub
    rf"prompt token count of [\d,]+ exceeds the limit of {_WINDOW}",
    rf"request body too large for .{{1,60}} model\. max size: {_WINDOW} tokens",
    # Cohere
    rf"number of tokens in the prompt cannot exceed {_WINDOW}",
    # MiniMax
    r"context window exceeds limit",
    # Poolside
    rf"exceeds the maximum allowed input length of {_WINDOW}",
    # LiteLLM, and gateways that quote a code in their sentence
    r"ContextWindowExceededError",
    r"context_length_exceeded|context length exceeded",
)


def overflow_window(failure: HttpFailure) -> int | None:
    """Return the window in tokens that an error states; 0 for an overflow without one, None for other errors."""
    found = [
        match for sentence in _sentences(failure) for each in _patterns() for match in each.finditer(sentence)
    ]
    if not found:
        return None
    numbers = (int(match["window"].replace(",", "")) for match in found if match.groupdict().get("window"))
    return next((number for number in numbers if MIN_WINDOW <= number <= LARGEST_WINDOW), 0)


def is_unexplained(failure: HttpFailure) -> bool:
    """Return whether an error blames no field of the request, so that its length may be the reason."""
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
    """Return whether Google's error names the invalid fields."""
    rows = details if isinstance(details, list) else []
    return any(isinstance(row, Mapping) and row.get("fieldViolations") for row in rows)


def _is_a_list(failure: HttpFailure) -> bool:
    """Return whether FastAPI's error names the invalid fields."""
    return isinstance(failure.fields.get("detail"), list)


def _sentences(failure: HttpFailure) -> Iterator[str]:
    """Yield every human-readable text of an error."""
    error = failure.fields.get("error")
    yield _plain(find_error_message(failure.fields) or failure.text)
    if isinstance(error, Mapping):
        match error.get("metadata"):  # OpenRouter: from the provider behind it
            case {"raw": str(raw)}:
                yield _plain(find_error_message(parse_fields(raw.encode("utf-8", "replace"))) or raw)


def _plain(text: str) -> str:
    return " ".join(text[:MAX_MESSAGE_CHARS].split())


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(phrase, re.IGNORECASE) for phrase in _PHRASES)
