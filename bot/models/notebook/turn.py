"""The turn that the notebook answers: what was said, attached, quoted and answered, read from the request."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bot.models.notebook.languages import LANGUAGES
from bot.models.notebook.message_parser import Fact, ParsedMessage, Reminder, parse_message
from bot.models.notebook.phrases import language_of
from bot.models.notebook.recent_lines import parse_object
from bot.models.notebook.reminder_plans import MAX_TURNS, Exchange
from bot.models.notebook.tool_names import KEEP, REMIND
from bot.models.notebook.unsupported import UnsupportedKind
from bot.models.protocol import AssistantMessage, Message, ToolResult, UserMessage
from bot.models.user_text import own_words
from bot.sanitize import one_line


class NotebookTurn(NamedTuple):
    """The messages of a turn and what its tools have returned so far."""

    start: int
    """Number of messages before it."""
    before: str
    """The last answer."""
    earlier: tuple[Exchange, ...]
    """Earlier turns, the latest first; no more than a question stays open for."""
    said: tuple[str, ...]
    """What was said since: several messages if earlier ones got no answer."""
    queries: Mapping[str, str]
    """Queries of this turn, by call id."""
    arguments: Mapping[str, Mapping[str, Any]]
    """Arguments of this turn's calls, by call id."""
    results: tuple[ToolResult, ...]
    heard: tuple[UserMessage, ...]
    """The messages that `said` is from."""
    documents: tuple[int, ...]
    """Numbers of the documents attached now, or if there are none, attached to the previous messages."""
    documents_here: bool
    """Whether they were attached now."""
    cannot_read: bool
    """Whether something unreadable was attached."""
    in_room: bool
    """Whether several people talk."""


def is_summary(message: Message) -> bool:
    """Return whether it is a summary of earlier conversation."""
    return isinstance(message, UserMessage) and message.earlier


def read_turn(messages: Sequence[Message]) -> NotebookTurn:
    """Read the turn that a request's last messages are part of."""
    end = len(messages)
    while end and not isinstance(messages[end - 1], UserMessage):
        end -= 1
    start = end
    while start and isinstance(messages[start - 1], UserMessage):
        start -= 1
    heard = user_messages(messages[start:end])
    documents = _document_numbers(heard)
    shown = [each for message in heard for each in message.documents if not each.spoken]
    arguments: dict[str, Mapping[str, Any]] = {}
    results: list[ToolResult] = []
    for message in messages[end:]:
        if isinstance(message, AssistantMessage):
            arguments |= {call.id: parse_object(call.arguments) for call in message.calls}
        elif isinstance(message, ToolResult):
            results.append(message)
    last = messages[start - 1] if start else None
    return NotebookTurn(
        start,
        last.text if isinstance(last, AssistantMessage) else "",
        tuple(_earlier_turns(messages[:start])),
        tuple(map(said_words, heard)),
        {call: str(each.get("query", "")) for call, each in arguments.items()},
        arguments,
        tuple(results),
        heard=tuple(heard),
        documents=tuple(dict.fromkeys(documents or _earlier_documents(messages[:start]))),
        documents_here=bool(documents),
        cannot_read=len(shown) > len(documents) or any(message.images for message in heard),
        in_room=any(message.speaker for message in heard),
    )


def user_messages(messages: Sequence[Message]) -> list[UserMessage]:
    return [message for message in messages if isinstance(message, UserMessage)]


def _earlier_turns(messages: Sequence[Message]) -> Iterator[Exchange]:
    """Yield the last turns in these messages, the latest first."""
    end = len(messages)
    for _ in range(MAX_TURNS):
        answered = end
        while end and not isinstance(messages[end - 1], UserMessage):
            end -= 1
        answer = messages[end:answered]
        said_until = end
        while end and isinstance(messages[end - 1], UserMessage):
            end -= 1
        if end == answered:
            return
        last = answer[-1] if answer else None
        yield Exchange(
            tuple(map(said_words, user_messages(messages[end:said_until]))),
            last.text if isinstance(last, AssistantMessage) else "",
            any(isinstance(each, ToolResult) and each.name == REMIND and not each.failed for each in answer),
        )


def _earlier_documents(messages: Sequence[Message]) -> list[int]:
    """Return the numbers of documents attached to the latest of these messages, unless one of them was kept."""
    end = len(messages)
    while end and not isinstance(messages[end - 1], UserMessage):
        end -= 1
    if any(isinstance(message, ToolResult) and message.name == KEEP for message in messages[end:]):
        return []
    return _document_numbers(user_messages(messages[max(end - 1, 0) : end]))


def _document_numbers(messages: Sequence[UserMessage]) -> list[int]:
    return [each.number for message in messages for each in message.documents if each.number is not None]


def parsed_text(message: Message) -> str:
    """Return the text of a message that takes long to parse."""
    match message:
        case UserMessage():
            return said_words(message)
        case AssistantMessage(text=text):
            return text
    return ""


def said_words(message: UserMessage) -> str:
    """Return the person's own words; forwarded ones ask for nothing, whatever they say."""
    return "" if message.forwarded_from else own_words(message)


def _quoted_fact(message: UserMessage) -> Fact | None:
    """Return what a message replies to, as something to note."""
    if message.quoted is None:
        return None
    text = "\n".join(line.rstrip() for line in message.quoted.text.strip().splitlines())
    return Fact("", block=text) if "\n" in text else Fact(text)


def _forwarded_fact(message: UserMessage) -> Fact | None:
    """Return forwarded words with their author, as something to note."""
    if not message.forwarded_from or not message.text.strip():
        return None
    name, text = one_line(message.forwarded_from), message.text.strip()
    return Fact(f"{name}:", block=text) if "\n" in text else Fact(f"{name}: {text}")


def merge_messages(turn: NotebookTurn) -> ParsedMessage:
    """Merge what the messages of a turn ask for: every statement is noted, the last question is searched."""
    facts: dict[Fact, None] = {}
    queries: tuple[str, ...] = ()
    reminders: list[Reminder] = []
    unsupported: list[UnsupportedKind] = []
    reading, keep = ParsedMessage(), False
    asked_what = any(each.say.what in turn.before for each in LANGUAGES)
    for index, (message, text) in enumerate(zip(turn.heard, turn.said, strict=True)):
        reading = parse_message(
            text, expecting_note=asked_what and index == 0, with_document=bool(turn.documents)
        )
        keep = keep or reading.keep
        if forwarded := _forwarded_fact(message):
            reading = ParsedMessage(language_of(message.text), (forwarded,))
        elif reading.unfinished and (quoted := _quoted_fact(message)):  # "remember this" means what is quoted
            reading = reading._replace(facts=(quoted,), unfinished=False)
        facts.update(dict.fromkeys(reading.facts))
        queries = reading.queries or queries
        reminders.extend(each for each in reading.reminders if each not in reminders)
        unsupported.extend(each for each in reading.unsupported if each not in unsupported)
    return reading._replace(
        facts=tuple(facts),
        queries=queries,
        reminders=tuple(reminders),
        unsupported=tuple(unsupported),
        keep=keep,
    )


def previous_messages(turn: NotebookTurn) -> tuple[str, ...]:
    """Return what was said in the turn before."""
    return turn.earlier[0].said if turn.earlier else ()
