"""Whatever reads text of others takes a time that grows with its length, and no faster.

`python -m tests.test_growth` prints each parser with the shape that costs it most, and the seconds by size.
"""

from collections.abc import Callable
from contextlib import suppress
from datetime import date, datetime
from pathlib import Path
from tempfile import NamedTemporaryFile
from zoneinfo import ZoneInfo

import pytest

from bot import sanitize
from bot.buttons import buttons_for
from bot.commands.command import command_in, explain_unknown_command, split_command
from bot.commands.people import parse_person
from bot.config.errors import ConfigError
from bot.config.toml_file import read_toml
from bot.conversations import log_section, recall, related_notes, summary
from bot.conversations.inline_text import split_inline_text
from bot.messages import ChatId, Choice, IncomingMessage, PersonId, Quoted
from bot.models.llama_cpp.output_parser import OutputParser
from bot.models.notebook.message_parser import parse_message
from bot.models.notebook.model import Notebook
from bot.models.notebook.tool_names import GET, REMIND, SEARCH, WRITE
from bot.models.overflow import overflow_window
from bot.models.protocol import (
    AssistantMessage,
    AttachedText,
    Message,
    ModelRequest,
    ToolCall,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from bot.models.sse import EventStream
from bot.models.tool_calls import parse_arguments
from bot.note_refs import parse_note_ref
from bot.timeparse import Recurrence, TimeParseError, read_when
from memory import http_responses, write_recovery
from memory.charset import DecodedNote, decode
from memory.chunker import split_chunks, split_passages, split_segments
from memory.dates import passage_dates, read_dates
from memory.errors import MemoryFault
from memory.forgetting import WordsToForget
from memory.formatting import clean_text, correct_line, format_entry, format_lead_in
from memory.http_responses import HttpFailure
from memory.note_edits import insert_lines, make_anchor, make_correction, normalize_passages, replace_passage
from memory.paths import split_note_path
from memory.ranking.snippets import cut_snippet
from memory.redaction import Redaction
from memory.tokenizer import parse_query, tokenize, tokenize_with_offsets
from tests.growth import (
    SIZES,
    Case,
    Shape,
    around,
    assert_grows_linearly,
    cases,
    numbered,
    repeated,
    seconds_of,
)

Call = Callable[[str], object]
BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 23, 10, tzinfo=BERLIN)
SECRETS = ("s3cr3t-token-abc", 'pass word/with%odd\\chars"', "aaaaaaaa", "12345678", "\\\\\\\\")
TORN = write_recovery.BeforeAppend(0, 1 << 40, True)
HERE, ANNA = ChatId("telegram", "1"), PersonId("telegram", "7")
WANTED = WordsToForget("dentist appointment", ["I will see the dentist on tuesday", "a a a a", "1 1 1 1 1"])


def refusing(call: Call, *refusals: type[Exception]) -> Call:
    """A call that may refuse its text."""

    def run(text: str) -> None:
        with suppress(*refusals):
            call(text)

    return run


def note(text: str) -> DecodedNote:
    return decode(text.encode("utf-8", "surrogatepass"))


def edited_around(text: str) -> object:
    return replace_passage(note(f"{text}\nZEBRA\n{text}"), old="ZEBRA", new="", path="a.md")


def edited_by(text: str) -> object:
    old, new = normalize_passages(text[:60_000], "b")
    return replace_passage(note(text), old=old, new=new, path="a.md")


def put_back(text: str) -> object:
    lines = text.split("\n")
    return insert_lines(
        note(text), block=text[:1000], anchor=make_anchor(lines, len(lines) // 2), path="a.md"
    )


def answered(text: str) -> object:
    reader = OutputParser()
    return reader.feed(text) + reader.end()


def said(text: str) -> object:
    call = AssistantMessage("", (ToolCall("a", "memory_write", '{"content": "a b c"}'),))
    return log_section.format_raw([UserMessage(text), call, ToolResult("a", "memory_write", "{}")])


def streamed(text: str) -> object:
    data, stream = text.encode("utf-8", "surrogatepass"), EventStream()
    return [stream.feed(data[at : at + 4096]) for at in range(0, len(data), 4096)] + [stream.end()]


def noted(*messages: Message) -> object:
    buttons_for = tuple(ToolSpec(name, "", {}) for name in (WRITE, GET, REMIND, SEARCH))
    return Notebook(now=lambda: NOW)._answer(ModelRequest("", messages, tools=buttons_for))


def settings_file(text: str) -> object:
    with NamedTemporaryFile(suffix=".toml") as file:
        file.write(text.encode("utf-8", "surrogatepass"))
        file.flush()
        return read_toml(Path(file.name))


def received(text: str) -> IncomingMessage:
    return IncomingMessage("1", HERE, ANNA, text, NOW)


NOTES: dict[str, Call] = {
    "a note's bytes": lambda text: note(text).text,
    "a note's passages": lambda text: split_segments(split_passages(text)),
    "a note's chunks": lambda text: split_chunks(split_passages(text)),
    "the days in a note": lambda text: passage_dates("people/ann.md", split_passages(text)),
    "words": tokenize,
    "words with their places": tokenize_with_offsets,
    "a text to remember": refusing(format_entry, MemoryFault),
    "a text made safe": clean_text,
    "a corrected line": refusing(lambda text: correct_line("- [ ] old", text), MemoryFault),
    "a line to correct": refusing(lambda text: make_correction(text, 1, "new", path="a.md"), MemoryFault),
    "the end of a note": lambda text: format_lead_in(text, "- a", title="T", at="14:05"),
    "an edit in the middle": edited_around,
    "an edit of a long passage": refusing(edited_by, MemoryFault),
    "lines put back": refusing(put_back, MemoryFault),
    "where a block stands": lambda text: write_recovery.find_block(text, text[: len(text) // 3]),
    "where a short block stands": lambda text: write_recovery.find_block(text, text[:20]),
    "a torn block": lambda text: write_recovery.find_missing_rest(
        text.encode("utf-8", "surrogatepass") + b"a", f"{text}ab", TORN, title="T"
    ),
    "what is to be forgotten": WANTED.find_matches,
    "sentences to be forgotten": lambda text: WANTED.blank_sentences(f"dentist appointment {text}"),
    "a snippet": lambda text: cut_snippet(text, parse_query("dentist 东京 car"), 700),
    "a path": refusing(split_note_path, MemoryFault),
}
QUESTIONS: dict[str, Call] = {
    "a query": parse_query,
    "dates in a question": lambda text: read_dates(text, date(2026, 11, 23)),
    "a moment": refusing(lambda text: read_when(text, NOW, BERLIN), TimeParseError),
    "a moment at the end": refusing(
        lambda text: read_when(f"{text} tomorrow at 9", NOW, BERLIN), TimeParseError
    ),
    "a rule": refusing(Recurrence.parse, ValueError),
    "a message to the notebook": parse_message,
    "a turn of the notebook": lambda text: noted(UserMessage(text)),
    "a turn that quotes": lambda text: noted(UserMessage("Remember this.", quoted=Quoted(text))),
    "a turn with a document": lambda text: noted(UserMessage("", documents=(AttachedText("a", text, "b"),))),
    "a turn after an answer": lambda text: noted(
        AssistantMessage(text), UserMessage("Where does that stand?")
    ),
    "a command": split_command,
    "a command's options": lambda text: command_in(received(f"/remember {text}")),
    "an unknown command": lambda text: explain_unknown_command(text, ["remember", "reminders", "recall"]),
    "a place": refusing(parse_note_ref, ValueError, MemoryFault),
    "a person": parse_person,
    "choices": lambda text: buttons_for([Choice(text, text[:60])]),
    "words of others on a line": sanitize.one_line,
    "words of others": sanitize.strip_controls,
}
ANSWERS: dict[str, Call] = {
    "an answer to a flush": log_section.parse_answer,
    "what was said": said,
    "what the core note lacks": lambda text: log_section.find_missing_facts(
        ["Anna likes tea. And cake!", text[:600]], text
    ),
    "a log's bullets": recall._find_bullets,
    "notes in a prompt": recall.escape_notes_tags,
    "searches before a flush": lambda text: related_notes.queries_of([UserMessage(text)]),
    "a message of an earlier version": lambda text: split_inline_text(
        f"{text}\n\n[Attached y]\n{text}", (), ""
    ),
    "a quotation of an earlier version": lambda text: split_inline_text(
        f"[In reply to Ann:]\n> {text}", (), ""
    ),
    "an extract": lambda text: summary.extract([UserMessage(text)], before=text, max_tokens=2_000),
    "a tool's arguments": refusing(parse_arguments, ValueError),
    "a tool's arguments, broken off": refusing(lambda text: parse_arguments(f'{{"a": {text}'), ValueError),
    "a local model's answer": answered,
    "a local model's call": lambda text: answered(f"<tool_call>{text}"),
    "a local model's call as XML": lambda text: answered(f"<tool_call><function=a>{text}</function>"),
    "events of a stream": streamed,
    "a refusal": lambda text: overflow_window(HttpFailure(400, text=text)),
    "an error on a line": http_responses.one_line,
    "secrets": Redaction(SECRETS),
    "the settings": refusing(settings_file, ConfigError),
}
CALLS = {**NOTES, **QUESTIONS, **ANSWERS}

PIECES = (
    *(" ", "\t", "\n", "\r", "\r\n", "\x00", "\x1b[", "\x1b]", "\x85", " \n"),
    *("a", "a ", "a\n", "A. ", "aB", "1", "1 ", "1.", "1. a\n", "1,", "²", "0:"),
    *(
        "#",
        "# ",
        "# a\n",
        "-",
        "- ",
        "- a\n",
        "- a\n  b\n",
        "  - a\n",
        "* ",
        "*",
        "_",
        "+",
        "> ",
        "|",
        "|-|\n",
        "• a\n",
    ),
    *(
        "`",
        "```\n",
        "~~~\n",
        "``` ",
        "=",
        "=\n",
        "---\n",
        "[",
        "[]",
        "[x] ",
        "(",
        "()",
        "{",
        '{"a":',
        "<",
        "</",
        "<think>",
    ),
    *(
        ":",
        ": ",
        "://",
        "://a:",
        "a:",
        "@",
        "a@",
        "&",
        "&#0",
        "%25",
        "%",
        "\\",
        '\\"',
        '"',
        "'",
        '"a" ',
        "a'",
        "“",
        "”",
    ),
    *(".", "!", "?", "! ", ";", ",", ", ", "…", "。", "？", "/", "./", "a/", "x-", "a-", "_a"),
    *(
        "bearer ",
        "bearer a1",
        "authorization: ",
        "cookie: a",
        "?key=",
        "/bot1:",
        "123456:",
        "sk-a",
        "a" * 25 + ".",
    ),
    *(
        "nothing",
        "MEMORY.md",
        "# MEMORY.md\n",
        "2024-",
        "2024-01-01 ",
        "2024年",
        "1月",
        "3.4.",
        "1:00 ",
        "1/1 ",
    ),
    *(
        "in 1 ",
        "in ",
        "every ",
        "and ",
        "tomorrow ",
        "morgen ",
        "last ",
        "remind me ",
        "remember ",
        "the ",
        "what is ",
    ),
    *(
        "今",
        "你好",
        "กั",
        "\u0301",
        "\u0345\u0334",
        "e\u0301\u0327",
        "🙂",
        "\u200d",
        "🇩",
        "ß",
        "İ",
        "ﷺ",
        "ﾊﾞ",
        "가",
        "ᄀ",
    ),
    *(
        "<parameter=",
        "<function=a>",
        '"name": ',
        '"name":"a"',
        '"arguments" ',
        "[ARGS]",
        "</tool_call>",
        "data: ",
        "data: a\n\n",
    ),
)
WORST = {
    "blanks after a heading": around("# MEMORY.md", " ", "x"),
    "blanks after a fence": around("```", " ", "x\n- a\n```"),
    "blanks after a bullet": around("- ", " ", "\u00a0x"),
    "dots": around("a", ".", "x"),
    "dots and blanks": around("a", ". ", "x"),
    "letters": repeated("a"),
    "lines of a letter": repeated("a\n"),
    "bullets with lines beneath": around("- a\n", "  b\n"),
    "deeper and deeper": lambda size: "\n".join(
        f"{' ' * depth}- a" for depth in range(int((2 * size) ** 0.5))
    ),
    "marks": lambda size: (
        "a" + "".join(mark * (size // 7) for mark in "\u0345\u0360\u035c\u0315\u0301\u0327\u0334")
    ),
    "marks in turn": around("a", "\u0301\u0327"),
    "numbered lines": numbered("- thing {}\n"),
    "numbered words": numbered("word{} "),
    "quotations begun": repeated("[In reply to "),
    "quoted lines": repeated("> a\n"),
    "attachments begun": repeated("\n\n[Attached x]\n<<<aaaaaaaaaaaa\n"),
    "attachments": repeated("\n\n[Attached x]"),
    "attachments ended": repeated("\naaaaaaaaaaaa>>>\n\n"),
    "voice messages": repeated("\n\n[In a voice message:]\n"),
    "places begun": around("`", "a.md:1"),
    "parameters begun": repeated("<parameter="),
    "digits": repeated("1"),
    "backslashes": around('"', "\\"),
    "quotes never closed": around("(", '"a '),
    "months": repeated("1月"),
}
"""What has cost one of them most: tried in each run."""
SHAPES: dict[str, Shape] = {
    **WORST,
    **{repr(piece): repeated(piece) for piece in PIECES},
    **{f"{piece!r}, then x": around("", piece, "x") for piece in PIECES if len(piece) < 3},
    **{f"a bullet, {piece!r}, then !": around("- ", piece, "!") for piece in PIECES if len(piece) < 3},
    **{f"a quote, {piece!r}": around('"', piece) for piece in PIECES if len(piece) < 3},
}


@pytest.mark.parametrize("name", CALLS)
def test_four_times_the_text_takes_little_more_than_four_times_as_long(name: str) -> None:
    for case in cases([(name, CALLS[name])], WORST):
        assert_grows_linearly(case, (2_000, 8_000))


@pytest.mark.thorough
@pytest.mark.parametrize("name", CALLS)
def test_a_very_long_text_of_the_worst_shapes_takes_no_longer_than_its_length_asks_for(name: str) -> None:
    for case in cases([(name, CALLS[name])], WORST):
        assert_grows_linearly(case)


@pytest.mark.thorough
@pytest.mark.parametrize("name", CALLS)
def test_no_shape_grows_faster_than_its_length(name: str) -> None:
    for case in cases([(name, CALLS[name])], SHAPES):
        assert_grows_linearly(case, (2_000, 16_000))


def print_table() -> None:
    """Print each parser with the shape that costs it most, and how long that takes at each size."""
    print("| parser | its worst shape |", " | ".join(f"{size:,}" for size in SIZES), "|")
    print("|---" * (2 + len(SIZES)), end="|\n")
    for name, call in CALLS.items():
        seconds = {shape: seconds_of(call, make(8_000)) for shape, make in SHAPES.items()}
        worst = max(seconds, key=lambda shape: seconds[shape])
        taken = assert_grows_linearly(Case(f"{name}: {worst}", call, SHAPES[worst]))
        shown = worst.replace("|", "\\|")
        print(f"| {name} | {shown} |", " | ".join(f"{each:.3f} s" for each in taken), "|", flush=True)


if __name__ == "__main__":
    print_table()
