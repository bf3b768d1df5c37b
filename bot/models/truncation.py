"""Pure: shorten a request that is too large for every window. What is left out stays on disk."""

from collections.abc import Sequence
from dataclasses import replace

from bot.models.protocol import AssistantMessage, Message, ModelRequest, ToolResult, UserMessage
from bot.models.token_estimate import (
    BYTES_A_TOKEN,
    estimate_message_tokens,
    estimate_request_tokens,
    estimate_text_tokens,
)

LEFT_OUT = (
    "The beginning of this conversation is left out here, because all of it would be too long for you. What "
    "mattered may be in the notes: search them rather than guess."
)
CUT_MARK = "\n[… {count} characters are left out here, because all of it would be too long …]\n"
MIN_CHARS = 400
"""Texts are not cut to fewer characters."""


def truncate(request: ModelRequest, max_tokens: int) -> ModelRequest | None:
    """Return the request with at most about `max_tokens`, or as near as possible.

    Returns None if nothing can be left out. First go the recalled notes, since a search finds them again, then
    whole turns, the oldest first, so that each tool call keeps its result. In the last turn long tool results lose
    their middle, the oldest first, and finally the person's message does.
    """
    excess = estimate_request_tokens(request) - max_tokens
    if excess <= 0:
        return None
    messages = tuple(map(_without_recalled, request.messages))
    if messages != request.messages:
        shorter = replace(request, messages=messages)
        return truncate(shorter, max_tokens) or shorter
    starts = [at for at, message in enumerate(messages) if isinstance(message, UserMessage)]
    first = 0
    for start in starts[1:]:
        if excess <= 0:
            break
        excess -= sum(map(estimate_message_tokens, messages[first:start]))
        first = start
    kept = _cut_middles(messages[first:], excess) if excess > 0 else messages[first:]
    if first == 0 and kept == messages:
        return None
    system = f"{request.system}\n\n{LEFT_OUT}" if first and LEFT_OUT not in request.system else request.system
    return replace(request, system=system, messages=tuple(kept))


def _without_recalled(message: Message) -> Message:
    return replace(message, recalled="") if isinstance(message, UserMessage) and message.recalled else message


def _cut_middles(messages: Sequence[Message], excess: int) -> tuple[Message, ...]:
    """Cut long texts until about `excess` tokens are gone: the oldest tool results first, the person's last."""
    cut = list(messages)
    for kind in (ToolResult, UserMessage, AssistantMessage):
        for at, message in enumerate(cut):
            if excess <= 0:
                return tuple(cut)
            if isinstance(message, kind):
                cut[at] = _truncate_message(message, excess)
                excess -= estimate_message_tokens(message) - estimate_message_tokens(cut[at])
    return tuple(cut)


def _truncate_message(message: Message, excess: int) -> Message:
    match message:
        case ToolResult(content=content):
            return replace(message, content=_cut_middle(content, excess))
        case AssistantMessage(text=text):
            shorter = _cut_middle(text, excess)
            return message if shorter == text else replace(message, text=shorter, raw=None)
        case UserMessage():
            return _truncate_user_message(message, excess)


def _truncate_user_message(message: UserMessage, excess: int) -> UserMessage:
    """Cut what came with it before the person's own words, and leave the marks between them."""
    documents = list(message.documents)
    for at, each in enumerate(documents):
        documents[at] = replace(each, content=_cut_middle(each.content, excess))
        excess -= estimate_text_tokens(each.content) - estimate_text_tokens(documents[at].content)
    is_enough = excess <= len(documents)  # each estimate is rounded
    text = message.text if is_enough else _cut_middle(message.text, excess)
    return replace(message, text=text, documents=tuple(documents))


def _cut_middle(text: str, excess: int) -> str:
    a_token = BYTES_A_TOKEN * len(text) / max(1, len(text.encode("utf-8", "replace")))  # in characters
    keep = max(MIN_CHARS, len(text) - round(excess * a_token) - len(CUT_MARK))
    if keep + len(CUT_MARK) >= len(text):
        return text
    head, tail = keep - keep // 3, keep // 3
    return text[:head] + CUT_MARK.format(count=len(text) - keep) + text[len(text) - tail :]
