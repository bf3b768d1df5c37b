"""Contradicts a reply that claims to have noted, changed or set something that no tool has done."""

from bot import phrases
from bot.claims import ClaimKind, find_claims, is_acknowledgement
from bot.conversations.conversation import Conversation
from bot.explicit_requests import find_requests
from bot.models.notebook.tool_names import CANCEL, EDIT, KEEP, REMIND, WRITE
from bot.models.protocol import Message, ToolResult, UserMessage
from bot.models.user_text import own_words
from bot.turn_context import TurnContext

DOES: dict[ClaimKind, frozenset[str]] = {
    "noted": frozenset({WRITE, EDIT, KEEP}),
    "changed": frozenset({WRITE, EDIT, KEEP}),
    "reminder": frozenset({REMIND, CANCEL}),
}
"""The tools that make a claim true."""
_ORDERS = frozenset({"forget", "forget_that", "change", "undo", "remind", "cancel_reminder"})
"""What people order to be done now: nothing that was done before makes "I've deleted it" true."""
RECENT_QUESTIONS = 4
"""Number of people's messages, this one included, within which a reply may still mean an earlier write."""


def deny_false_claims(
    reply: str, conversation: Conversation, context: TurnContext, *, is_noted: bool, with_memory: bool
) -> str:
    """Return one line for each kind of claim that is not true, joined by blank lines; "" if there is none.

    `is_noted`: whether the request is in the notes, or the person is told why not. "Yes, I've saved that" after a
    question may mean an earlier turn: it is true if something was written a few messages ago.
    """
    claims = find_claims(reply)
    if not claims and not is_acknowledgement(reply):
        return ""
    began = 1 + (conversation.last_seq if context.start_seq is None else context.start_seq)
    began = min(began, conversation.last_question_seq or began)
    now = [each.message for each in conversation.entries if each.seq >= began]
    before = [each.message for each in conversation.entries if each.seq < began]
    said = [message for message in now if isinstance(message, UserMessage)]
    if not claims and any(find_requests(message) for message in said):
        claims = frozenset({"noted"})  # "Noted!"
    done = _succeeded(now)
    if not _say_something_new(said):
        done |= _succeeded(_recent(before))
    false = {claim for claim in claims if DOES[claim].isdisjoint(done)}
    if is_noted:
        false -= {"noted", "changed"}
    lines = []
    if "noted" in false:
        lines.append(phrases.NOT_REALLY_NOTED if with_memory else phrases.NOT_REALLY_NOTED_HERE)
    elif "changed" in false:
        lines.append(phrases.NOT_REALLY_CHANGED)
    if "reminder" in false:
        lines.append(phrases.NOT_REALLY_REMINDED)
    return "\n\n".join(lines)


def _succeeded(messages: list[Message]) -> set[str]:
    return {each.name for each in messages if isinstance(each, ToolResult) and not each.failed}


def _recent(before: list[Message]) -> list[Message]:
    """Return the end of a conversation, from one of the latest messages of people on."""
    asked = [index for index, message in enumerate(before) if isinstance(message, UserMessage)]
    return before[asked[-RECENT_QUESTIONS:][0] :] if asked else []


def _say_something_new(said: list[UserMessage]) -> bool:
    """Return whether messages state or ask for anything that could be noted, changed or removed, or a reminder."""
    from bot.models.notebook.message_parser import parse_message  # loads every language

    parsed = [parse_message(own_words(message)) for message in said if not message.forwarded_from]
    return any(each.facts or each.reminders or not _ORDERS.isdisjoint(each.unsupported) for each in parsed)
