"""Builds sections of the daily log, from a model's answer or from the messages themselves."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from bot import english
from bot.access import TERMINAL
from bot.conversations.turns import split_turns
from bot.foreign_text import AuthorFinder, IsSaid, TurnReading, attribute_message, find_foreign, said_before
from bot.models.protocol import AssistantMessage, Message, ToolResult, UserMessage
from bot.models.tool_calls import parse_arguments
from bot.models.user_text import user_text
from bot.sanitize import one_line
from memory.attribution import attribute, shorten
from memory.forgetting import has_words_left
from memory.formatting import clean_text
from memory.tokenizer import parse_query, tokenize

MAIN_SESSION = "main"
SECTION_CHARS = 32_000
"""The longest section; longer answers are faulty."""
ANSWER_MAX_CHARS = 4 * SECTION_CHARS
"""Maximum length of an answer; the rest is not read, and the answer counts as cut short."""
CORE_FACTS = 20
"""Facts for MEMORY.md from one flush; further ones go into the section."""
FACT_CHARS = 600
RAW_CHARS = 24_000
"""Maximum length of a raw section …"""
RAW_MESSAGE_CHARS = 8_000
"""… and of one message in it …"""
RAW_MIN_CHARS = 200
"""… which is never cut shorter than this."""
ANSWER_CHARS = 160
"""Length of the beginning of an answer that is kept."""
NOTED_SHARE = 0.7
"""Share of a message's words; if tools have noted more than that, the message is left out."""

RAW_MARK = "(as it was said; not yet sorted)"
DOUBTFUL_MARK = "(the model's answer was no list of notes or not whole; this is what was said)"
TOO_LONG_MARK = "(cut here: the model wrote more than a log can take)"
MORE_MARK = "(and {count} more messages before these)"

# Models write the input: possessive quantifiers (`*+`) keep a row of blanks from being tried in all its parts.
_MEMORY_HEADING = re.compile(
    r" {0,3}(#{1,6})[ \t]*+[`*_]*+MEMORY\.md[`*_]*+:?[ \t]*+#*+[ \t]*+", re.IGNORECASE
)
_HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
_BULLET = re.compile(r"[-*+•][ \t]+(?=\S)|\d{1,9}[.)][ \t]+(?=\S)")
_CHECKBOX = re.compile(r"\[[ xX]\][ \t]+")
_NOTHING = re.compile(r"[\s`*_\"'.!#•-]*nothing[\s`*_\"'.!]*", re.IGNORECASE)
_WRAPPED = re.compile(r"\s*+```[ \t]*+(?:markdown|md)?[ \t]*+\n(.*)\n```\s*+", re.IGNORECASE | re.DOTALL)
_THINKING = re.compile(r"\s*+<think(?:ing)?>.*?</think(?:ing)?>", re.IGNORECASE | re.DOTALL)
# Would end, swallow or change what follows: fences, HTML, underlines of headings, rules.
_DANGEROUS = re.compile(r" {0,3}(?=<|=+[ \t]*$|-[- \t]*$|([*_])(?:[ \t]*\1){2,}[ \t]*$)")
_SENTENCE_END = re.compile(r"(?<![.!?;])[.!?;]++(?=\s|$)|[。！？；]")
_FENCE = re.compile(r"[ \t]*(?:(?:[-*+>]|\d{1,9}[.)])[ \t]*)*(?=`{3}|~{3})")


@dataclass(frozen=True, slots=True)
class ParsedAnswer:
    """The content of a model's answer."""

    body: str
    """Markdown for the log that cannot affect what follows its section; "" for nothing."""
    core: tuple[str, ...] = ()
    """Facts for MEMORY.md, one line each."""
    sure: bool = True
    """Whether it has the requested form; False for prose, which may be a refusal."""


def heading(now: datetime, name: str) -> str:
    """Return `## 14:05 Anna`: when a flush began, and the name of the chat, or else its id."""
    return f"## {now:%H:%M} {one_line(_display_name(name), limit=60)}".rstrip()


def _display_name(name: str) -> str:
    """Return the session for a terminal's chat; the main session has no name that anybody would recognise."""
    channel, colon, session = name.partition(":")
    if channel == TERMINAL and colon:
        return english.TERMINAL if session == MAIN_SESSION else session
    return name


def section(title: str, *parts: str) -> str:
    """Join the parts of a section; "" if all of them are blank."""
    filled = [part for part in parts if part.strip()]
    return "\n\n".join([title, *filled]) if filled else ""


# -- a model's answer ---------------------------------------------------------------------------------------


def parse_answer(text: str, *, whole: bool = True) -> ParsedAnswer:
    """Parse a model's answer; `whole` says whether it is complete."""
    text = clean_text(text)
    if thought := _THINKING.match(text):
        text = text[thought.end() :]
    if len(text) > ANSWER_MAX_CHARS:
        beginning, whole = text[:ANSWER_MAX_CHARS], False
        text = beginning.rpartition("\n")[0] or beginning
    if wrapped := _WRAPPED.fullmatch(text):
        text = wrapped[1]
    if _NOTHING.fullmatch(text):
        return ParsedAnswer("")
    log, core = _split_answer(text.split("\n"))
    notes = [line for line in log if not _NOTHING.fullmatch(line)]
    facts = [fact for fact in _split_facts(core) if not _NOTHING.fullmatch(fact)]
    empty = not (facts or any(map(str.strip, notes)))
    sure = empty or bool(facts) or any(_BULLET.match(line.lstrip()) for line in notes)
    surplus = [f"- {fact}" for fact in facts[CORE_FACTS:]]
    body = _truncate_section(_deduplicate(map(_escape_line, [*notes, *surplus])))
    return ParsedAnswer(body, tuple(facts[:CORE_FACTS]), sure and whole)


def merge_answers(readings: Sequence[ParsedAnswer]) -> ParsedAnswer:
    """Combine the answers about the pieces of one transcript."""
    if len(readings) == 1:
        return readings[0]
    facts = list(dict.fromkeys(fact for each in readings for fact in each.core))
    surplus = [f"- {fact}" for fact in facts[CORE_FACTS:]]
    lines = [line for each in readings for line in each.body.split("\n")]
    # The lines are escaped already.
    body = _truncate_section(_deduplicate([*lines, *surplus]))
    return ParsedAnswer(body, tuple(facts[:CORE_FACTS]), all(each.sure for each in readings))


def _split_answer(lines: Iterable[str]) -> tuple[list[str], list[str]]:
    """Split into lines for the log, and lines below a heading MEMORY.md, up to the next heading of its level."""
    log: list[str] = []
    core: list[str] = []
    level = 0  # of the heading MEMORY.md above the line
    for line in lines:
        if named := _MEMORY_HEADING.fullmatch(line):
            level = len(named[1])
            continue
        if level and (other := _HEADING.match(line)) and len(other[1]) <= level:
            level = 0
        (core if level else log).append(line)
    return log, core


def _split_facts(lines: Iterable[str]) -> list[str]:
    """Return one line for each bullet with its indented lines, and for each plain line."""
    facts: list[list[str]] = []
    beneath = False
    for line in lines:
        words = line.strip()
        if not words or _HEADING.match(line):
            beneath = False
            continue
        bullet = _BULLET.match(words)
        if beneath and line[0].isspace():
            facts[-1].append(words[bullet.end() :] if bullet else words)
        else:
            facts.append([_CHECKBOX.sub("", words[bullet.end() :] if bullet else words, count=1)])
            beneath = bullet is not None
    return [one_line(" ".join(fact), limit=FACT_CHARS) for fact in facts]


def _deduplicate(lines: Iterable[str]) -> list[str]:
    """Remove repeated lines that are not indented, and repeated blank lines."""
    seen: set[str] = set()
    once: list[str] = []
    for line in lines:
        if not line and (not once or not once[-1]):
            continue
        if line and not line[0].isspace():
            if line in seen:
                continue
            seen.add(line)
        once.append(line)
    return once


def _escape_line(line: str) -> str:
    line = line.rstrip()
    if found := _HEADING.match(line):
        return (
            f"{'#' * min(6, len(found[1]) + 2)}{line[found.end() :]}"  # below our own, which is a second one
        )
    if found := _DANGEROUS.match(line) or _FENCE.match(line):
        return f"{line[: found.end()]}\\{line[found.end() :]}"
    return re.sub(r"^(\s*)•[ \t]+(?=\S)", r"\1- ", line)


def _truncate_section(lines: Sequence[str]) -> str:
    text = "\n".join(lines).strip("\n")
    if len(text) <= SECTION_CHARS:
        return text
    end = text.rfind("\n", 0, SECTION_CHARS)
    return f"{text[: end if end > 0 else SECTION_CHARS]}\n\n{TOO_LONG_MARK}"


def attribute_answer(answer: ParsedAnswer, reading: TurnReading) -> ParsedAnswer:
    """Return an answer with its foreign lines marked; foreign facts for MEMORY.md go into the section instead."""
    if not (foreign := find_foreign(reading)):
        return answer
    finder = AuthorFinder(reading, foreign)
    body, _ = finder.attribute(answer.body)
    facts = [(fact, finder.find_authors(fact)) for fact in answer.core]
    moved = [attribute(f"- {_escape_line(fact)}", says) for fact, says in facts if says]
    body = _truncate_section(_deduplicate([*body.split("\n"), *moved]))
    return replace(answer, body=body, core=tuple(fact for fact, says in facts if not says))


# -- the messages themselves --------------------------------------------------------------------------------


def format_raw(messages: Sequence[Message], *, mark: str = RAW_MARK) -> str:
    """Return the messages as a list: what people said, and how each answer began.

    Turns that tools have noted are left out. Messages are cut shorter the more there are; if there are very many, the
    oldest are only counted. The conversation itself keeps everything.
    """
    turns = [_drop_noted_turn(turn) for turn in split_turns(messages)]
    people = [message for turn in turns for message in turn if isinstance(message, UserMessage)]
    if not any(map(_has_text, people)):
        return ""
    most = max(RAW_MIN_CHARS, min(RAW_MESSAGE_CHARS, RAW_CHARS // len(people)))
    is_said = said_before(messages)
    shown = [item for turn in turns if (item := "\n".join(_format_turn(turn, most, is_said)))]
    room, kept = RAW_CHARS * 5 // 4, list[str]()
    for item in reversed(shown):
        room -= len(item)
        if room < 0 and kept:
            break
        kept.insert(0, item)
    left_out = [MORE_MARK.format(count=len(shown) - len(kept))] if len(kept) < len(shown) else []
    return "\n\n".join([mark, *left_out, "\n".join(kept)])


def _format_turn(turn: Sequence[Message], max_chars: int, is_said: IsSaid) -> Iterator[str]:
    for message in turn:
        if isinstance(message, UserMessage) and _has_text(message):
            yield _format_item(shorten(user_text(attribute_message(message, is_said)), max_chars))
        elif isinstance(message, AssistantMessage) and has_words_left(message.text):
            yield attribute(f"  - → {one_line(message.text, limit=ANSWER_CHARS)}", message.says)


def _has_text(message: UserMessage) -> bool:
    return has_words_left(clean_text(user_text(message)))


def _format_item(text: str) -> str:
    lines = [_escape_line(line.strip()) for line in clean_text(text).strip().split("\n") if line.strip()]
    lines[0] = re.sub(r"^[-*+][ \t]+", "", lines[0])
    return "\n".join([f"- {lines[0]}", *(f"  {line}" for line in lines[1:])])


def _drop_noted_turn(turn: Sequence[Message]) -> Sequence[Message]:
    """Return the turn, or () if tools have noted nearly all of its meaningful words."""
    failed = {each.call_id for each in turn if isinstance(each, ToolResult) and each.failed}
    answered = {each.call_id for each in turn if isinstance(each, ToolResult)}
    noted: set[str] = set()
    for message in turn:
        for call in message.calls if isinstance(message, AssistantMessage) else ():
            if call.name == "memory_write" and call.id in answered - failed:
                try:
                    noted.update(tokenize(str(parse_arguments(call.arguments).get("content", ""))))
                except ValueError:
                    continue
    if not noted:
        return turn
    said = " ".join(user_text(message) for message in turn if isinstance(message, UserMessage))
    terms = parse_query(said)
    known = [term for term in terms if noted.issuperset(term.tokens)]
    numbers = {word for word in tokenize(said) if any(map(str.isdigit, word))}
    return () if numbers <= noted and len(known) >= NOTED_SHARE * len(terms) else turn


# -- facts that the core note lacks -------------------------------------------------------------------------


def find_missing_facts(facts: Iterable[str], core: str) -> list[str]:
    """Return the facts that are no line or sentence of the core note, ignoring case and word endings.

    A fact inside a longer sentence counts as missing, since that sentence may deny it.
    """
    said = {run for line in _split_facts(core.split("\n")) for run in _normalize_sentences(line)}
    fresh: list[str] = []
    for fact in facts:
        whole, *sentences = _normalize_sentences(fact)
        if whole.strip() and whole not in said and not (sentences and said.issuperset(sentences)):
            fresh.append(fact)
            said.update([whole, *sentences])
    return fresh


def format_facts(facts: Iterable[str]) -> str:
    """Return facts as bullets, one line each."""
    return "\n".join(f"- {_escape_line(fact)}" for fact in facts)


def _normalize_sentences(text: str) -> list[str]:
    """Return the normalized words of a text, then those of each sentence."""
    return [" ".join(tokenize(part)) for part in (text, *filter(str.strip, _SENTENCE_END.split(text)))]
