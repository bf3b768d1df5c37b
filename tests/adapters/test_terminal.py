import asyncio
import contextlib
import io
import os
import re
import sys
import textwrap
import threading
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from adapters.terminal.plain import PlainTerminal
from adapters.terminal.rendering import show
from bot.messages import ChatId, IncomingMessage, PersonId, ReplyPart
from tests.fakes.table_test import table_test
from tests.fakes.terminal_window import TerminalWindow
from tests.fakes.turns import notice, reply_to

ROOT = Path(__file__).parent.parent.parent
CHAT = ChatId("terminal", "main")
OWNER = PersonId("terminal", "owner")


# -- Markdown on the screen ---------------------------------------------------------------------------------


def rendered(text: str, *, width: int = 60, colours: bool = False) -> str:
    out = io.StringIO()
    show(
        Console(
            file=out,
            width=width,
            force_terminal=colours,
            color_system="256" if colours else None,
            highlight=False,
        ),
        text,
    )
    return out.getvalue()


def test_markdown_is_shown_as_markdown() -> None:
    shown = rendered("# Title\n\nSome **bold** words.\n\n- one\n- two", colours=True)
    assert "**" not in shown
    assert "#" not in shown
    assert "\x1b[1m" in shown
    assert " • " in shown


@table_test(
    "text",
    [
        "a vector<int> for <your name>",
        "<div>a block</div>",
        "<!-- a comment -->",
        "[1]: https://example.org definition",
        "![an image](picture.png)",
        "| a | b |\n|---|---|\n| a | averyveryverylongwordthatfitsintonocolumnofasmallscreen |",
        "```\nprint('hi')  # so\n```",
        "```\nnever closed",
        "1986. A great year",
        "- [ ] task\n- [x] done",
        "**「重要」**です",
        "> quoted\n> twice",
        "a & b &amp; c",
        "https://example.org/a_b_c?d=e",
    ],
)
def test_no_word_is_lost(text: str) -> None:
    shown = re.sub(r"\s", "", rendered(text, width=30))
    for word in re.findall(r"\w+", text.replace("&amp;", "&")):
        assert word in shown


@given(
    st.lists(
        st.sampled_from(
            ["word", "**b**", "`c`", "- x", "# h", "> q", "<t>", "[l](u)", "\n", "\n\n", "|", "1."]
        )
    )
)
@settings(max_examples=60, deadline=None)
def test_no_word_is_lost_in_any_mixture(pieces: list[str]) -> None:
    text = " ".join(pieces)
    shown = rendered(text)
    for word in re.findall(r"[a-z]+", text):
        assert shown.count(word) >= text.count(word) or word in "bchltuqx"


def test_line_breaks_of_a_chat_are_kept() -> None:
    assert [line.rstrip() for line in rendered("one\ntwo\nthree").split("\n")[:3]] == ["one", "two", "three"]


def test_lines_do_not_end_in_blanks() -> None:
    assert all(line == line.rstrip() for line in rendered("# Title\n\nsome words\n\n- one").split("\n"))


def test_a_link_shows_where_it_leads_and_a_bare_one_only_once() -> None:
    assert "bank (https://evil.example)" in rendered("[bank](https://evil.example)")
    assert rendered("<https://example.org>").count("example.org") == 1


@table_test("width", [1, 2, 5, 10])
@table_test("text", ["  " * 30 + "- x\n", ">" * 60 + " deep", "- a\n  - b\n    - c\n      - d"])
def test_the_smallest_screen_shows_it_somehow(width: int, text: str) -> None:
    assert rendered(text, width=width)


@table_test(
    "attack",
    [
        "\x1b[2J",
        "\x1b]0;title\x07",
        "\x1b]52;c;cm0gLXJmIH4=\x07",
        "\x9b31m",
        "over\rwritten",
        "\x08\x08\x08",
        "&#27;[2J",
        "&#x1b;]0;title&#7;",
        "&#155;2J",
        "&#13;over",
        "`\x1b[2J`",
        "```\n\x1b[2J\n```",
        "[link](\x1b]8;;evil\x07)",
        "[link](&#27;[2J)",
        "[\x1b[2J](u)",
        "| \x1b[2J |\n|---|\n| &#27;[2J |",
        "# \x1b[2J",
        "![\x1b[2J](&#27;c)",
        "```\x1b[2J\ncode\n```",
    ],
)
def test_a_note_cannot_drive_the_terminal(attack: str) -> None:
    shown = rendered(f"before {attack} after\n\n{attack}", colours=True)
    only_colours = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert [letter for letter in only_colours if not letter.isprintable() and letter != "\n"] == []


# -- pipes --------------------------------------------------------------------------------------------------


async def talk(given: bytes, answer: Callable[[str], str], *, blocking: bool = True) -> tuple[str, list[str]]:
    """Run a plain terminal over a pipe; return what it printed and what it took in."""
    source, sink = os.pipe()
    os.set_blocking(source, blocking)
    out = io.StringIO()
    terminal = PlainTerminal(chat=CHAT, sender=OWNER, now=lambda: datetime.now(UTC), stdin=source, stdout=out)
    heard: list[str] = []
    tasks: set[asyncio.Task[None]] = set()

    async def parts(text: str) -> AsyncIterator[ReplyPart]:
        await asyncio.sleep(0)
        yield ReplyPart("so far")
        yield ReplyPart(answer(text), final=True)

    async def accept(message: IncomingMessage) -> bool:
        heard.append(message.text)
        tasks.add(asyncio.create_task(terminal.render(reply_to(message, parts(message.text)))))
        return True

    async def write() -> None:
        await asyncio.sleep(0 if blocking else 0.05)
        await asyncio.to_thread(os.write, sink, given)
        os.close(sink)

    async with asyncio.timeout(10):
        await asyncio.gather(terminal.run(accept), write())
    os.close(source)
    assert all(task.done() for task in tasks)
    return out.getvalue(), heard


async def test_each_line_is_a_message_and_each_reply_is_printed_as_it_is() -> None:
    printed, heard = await talk(b"one\n\n  two  \r\nlast without break", lambda text: f"**{text}**")
    assert heard == ["one", "two", "last without break"]
    assert printed == "**one**\n**two**\n**last without break**\n"


async def test_no_escape_sequence_gets_through_a_pipe_either() -> None:
    printed, _ = await talk(b"x\n", lambda _: "\x1b[31mred\x1b[0m\n\n")
    assert printed == "red\n"


async def test_what_is_no_utf8_is_still_a_message() -> None:
    _, heard = await talk("\ufeffgrüße\n".encode() + b"\xff\xfe broken\n", str)
    assert heard == ["grüße", "\ufffd\ufffd broken"]


async def test_a_line_that_leaves_ends_the_talk_once_all_is_answered() -> None:
    printed, heard = await talk(b"one\n exit \ntwo\n", str.upper)
    assert (printed, heard) == ("ONE\n", ["one"])


async def test_an_empty_input_ends_at_once() -> None:
    assert await talk(b"", str) == ("", [])


async def test_many_lines_all_get_their_answers_in_order() -> None:
    lines = [f"line {number}" for number in range(500)]
    printed, heard = await talk("\n".join(lines).encode(), str)
    assert heard == lines
    assert printed.splitlines() == lines


async def test_when_nobody_reads_the_answers_the_talk_is_over() -> None:
    source, sink = os.pipe()
    nobody, out = os.pipe()
    os.close(nobody)
    with os.fdopen(out, "w") as stdout:
        terminal = PlainTerminal(
            chat=CHAT, sender=OWNER, now=lambda: datetime.now(UTC), stdin=source, stdout=stdout
        )

        async def accept(message: IncomingMessage) -> bool:
            async def parts() -> AsyncIterator[ReplyPart]:
                yield ReplyPart("unheard", final=True)

            await terminal.render(reply_to(message, parts()))
            return True

        os.write(sink, b"hello\n")
        with pytest.raises(BrokenPipeError):
            await asyncio.wait_for(terminal.run(accept), 5)
        os.close(sink)
        with contextlib.suppress(BrokenPipeError):
            stdout.close()


async def test_whoever_reads_slowly_holds_up_nothing_else() -> None:
    reader, out = os.pipe()
    reads = threading.Event()

    def read() -> None:
        reads.wait(5)  # a failing test must not hang
        reads.set()
        left = 1_000_001
        while left:
            left -= len(os.read(reader, left))

    reading = threading.Thread(target=read)
    reading.start()
    with os.fdopen(out, "w") as stdout:
        terminal = PlainTerminal(
            chat=CHAT, sender=OWNER, now=lambda: datetime.now(UTC), stdin=reader, stdout=stdout
        )
        printing = asyncio.create_task(terminal.render(notice(CHAT, "x" * 1_000_000)))
        await asyncio.sleep(0.05)
        held_up = reads.is_set()
        reads.set()
        await printing
    reading.join()
    os.close(reader)
    assert not held_up


async def test_a_pipe_that_was_set_not_to_block_is_read_to_its_end() -> None:
    printed, _ = await talk(b"hello\n", str, blocking=False)
    assert printed == "hello\n"


async def test_a_line_without_end_is_taken_in_pieces() -> None:
    _, heard = await talk(b"x" * 2_500_000, lambda _: "ok")
    assert "".join(heard) == "x" * 2_500_000
    assert len(heard) >= 2


# -- a person at a terminal ---------------------------------------------------------------------------------

PROGRAM = """
import asyncio, sys
from datetime import datetime, UTC
from pathlib import Path
from adapters.terminal.interactive import InteractiveTerminal
from bot.messages import ChatId, PersonId, ReplyPart
from bot.reply_task import ReplyTask
from tests.fakes.turns import notice, reply_to

LONG = "\\n\\n".join(f"Paragraph {number} " + "lorem ipsum " * 10 for number in range(15))

async def reply(message):
    match message.text:
        case "long":
            text = ""
            for word in LONG.split(" "):
                text += word + " "
                yield ReplyPart(text)
                await asyncio.sleep(0.0005)
            yield ReplyPart(text, final=True)
        case "hang":
            yield ReplyPart("It began")
            await asyncio.sleep(1000)
        case text:
            yield ReplyPart(f"heard **{text!r}**", final=True)

async def main():
    turns, tasks = [], set()
    async def stop(chat):
        return turns[-1].stop()
    async def accept(message):
        turns.append(ReplyTask(reply(message), explain=str))
        tasks.add(asyncio.create_task(terminal.render(reply_to(message, turns[-1].stream_parts()))))
    terminal = InteractiveTerminal(
        chat=ChatId("terminal", "main"), sender=PersonId("terminal", "owner"), now=lambda: datetime.now(UTC),
        stop=stop, commands={"help": "lists the commands", "hello": "greets"},
        history=Path(sys.argv[1]), greeting="Welcome", how_to_leave="To leave, type exit or press Ctrl-D.",
    )
    async def remind():
        await asyncio.sleep(float(sys.argv[2]))
        await terminal.render(notice(terminal._chat, "a **reminder**"))
    if len(sys.argv) > 2:
        tasks.add(asyncio.create_task(remind()))
    await terminal.run(accept)

asyncio.run(main())
"""


@pytest.fixture
def window(tmp_path: Path) -> Callable[..., TerminalWindow]:
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAM), "utf-8")

    def opened(*arguments: str, rows: int = 15, columns: int = 60, **environment: str) -> TerminalWindow:
        return TerminalWindow(
            [sys.executable, str(program), str(tmp_path / "history"), *arguments],
            cwd=tmp_path,
            environment={"PYTHONPATH": str(ROOT), "HOME": str(tmp_path), **environment},
            rows=rows,
            columns=columns,
        )

    return opened


def test_a_talk_in_a_terminal(window: Callable[..., TerminalWindow], tmp_path: Path) -> None:
    with window() as terminal:
        terminal.wait_for("›")
        terminal.type("hello\r")
        assert "\nheard 'hello'\n" in terminal.wait_for("›", times=2)
        terminal.type("\x1b[A\r")  # the arrow brings back the last line
        terminal.wait_for("heard 'hello'", times=2)
        terminal.wait_for("›", times=3)
        terminal.type("\x1b[200~two\nlines\x1b[201~\r")  # pasted
        terminal.wait_for(r"heard 'two\nlines'")
        terminal.wait_for("›", times=4)
        terminal.type("\x04")
        assert terminal.wait_exit() == 0
    assert "+hello" in (tmp_path / "history").read_text("utf-8")
    assert (tmp_path / "history").stat().st_mode & 0o077 == 0


@pytest.mark.thorough
@pytest.mark.parametrize(
    "line",
    ["exit", *(pytest.param(each, marks=pytest.mark.thorough) for each in ("/quit", " Quit ", "/EXIT"))],
)
def test_a_word_leaves(window: Callable[..., TerminalWindow], line: str) -> None:
    with window() as terminal:
        terminal.wait_for("›")
        terminal.type(f"{line}\r")
        assert terminal.wait_exit() == 0
        assert "heard" not in terminal.screen.text()


@pytest.mark.thorough
def test_alt_enter_starts_a_new_line(window: Callable[..., TerminalWindow]) -> None:
    with window() as terminal:
        terminal.wait_for("›")
        terminal.type("milk\x1b\reggs\r")
        terminal.wait_for(r"heard 'milk\neggs'")


@pytest.mark.thorough
def test_a_long_reply_is_whole_in_the_scrollback_and_there_just_once(
    window: Callable[..., TerminalWindow],
) -> None:
    with window() as terminal:
        terminal.wait_for("›")
        terminal.type("long\r")
        shown = terminal.wait_for("›", times=2, seconds=60)
        assert terminal.screen.text() == shown
        numbers = re.findall(r"Paragraph (\d+)", shown)
        assert numbers == [str(number) for number in range(15)]
        assert shown.count("lorem") == 15 * 10
        assert shown.count("…") == 0


@pytest.mark.parametrize(
    "keys",
    [pytest.param("\x03", id="Ctrl-C"), pytest.param("/stop\r", id="/stop", marks=pytest.mark.thorough)],
)
def test_a_reply_is_stopped_and_the_talk_goes_on(window: Callable[..., TerminalWindow], keys: str) -> None:
    with window() as terminal:
        terminal.wait_for("›")
        terminal.type("hang\r")
        terminal.wait_for("It began")
        terminal.type(keys)
        terminal.wait_for("(stopped)")
        terminal.wait_for("›", times=2)
        terminal.type("still there?\r")
        terminal.wait_for("heard 'still there?'")


@pytest.mark.thorough
@pytest.mark.parametrize(
    "keys",
    [
        pytest.param("not entered\x03", id="Ctrl-C", marks=pytest.mark.thorough),
        pytest.param("/stop\r", id="/stop"),
    ],
)
def test_lines_that_were_entered_during_a_reply_that_is_stopped_are_said_next(
    window: Callable[..., TerminalWindow], keys: str
) -> None:
    with window() as terminal:
        terminal.wait_for("›")
        terminal.type("hang\r")
        terminal.wait_for("It began")
        terminal.type(f"another line\r{keys}")
        terminal.wait_for("(stopped)")
        shown = terminal.wait_for("heard 'another line'")
        terminal.type("the next\r")
        assert "not entered" not in shown + terminal.wait_for("heard 'the next'")


@pytest.mark.thorough
def test_ctrl_c_at_the_prompt_clears_the_line_and_then_tells_how_to_leave(
    window: Callable[..., TerminalWindow],
) -> None:
    with window() as terminal:
        terminal.wait_for("›")
        terminal.type("a line that is not sent")
        terminal.wait_for("not sent")
        terminal.type("\x03")
        terminal.type("sent\r")
        assert "heard 'sent'" in terminal.wait_for("heard")
        terminal.wait_for("›", times=2)
        terminal.type("\x03")
        terminal.wait_for("To leave, type exit or press Ctrl-D.")


@pytest.mark.thorough
def test_what_is_typed_during_a_reply_is_the_next_line_and_is_not_mixed_into_the_reply(
    window: Callable[..., TerminalWindow],
) -> None:
    with window() as terminal:
        terminal.wait_for("›")
        terminal.type("long\r")
        terminal.wait_for("Paragraph 1 ")
        terminal.type("typed ahead\r")
        shown = terminal.wait_for("heard 'typed ahead'", seconds=60)
        assert shown.count("lorem") == 15 * 10
        assert "› typed ahead" in shown


@pytest.mark.thorough
def test_commands_are_completed(window: Callable[..., TerminalWindow]) -> None:
    with window() as terminal:
        terminal.wait_for("›")
        terminal.type("/hel")
        terminal.wait_for("lists the commands")
        terminal.type("\t\t\r")
        terminal.wait_for("heard '/hello'")


@pytest.mark.thorough
def test_a_message_nobody_asked_for_appears_above_the_line_being_typed(
    window: Callable[..., TerminalWindow],
) -> None:
    with window("0.6") as terminal:
        terminal.wait_for("›")
        terminal.type("half a li")
        terminal.wait_for("a reminder")
        terminal.wait_for("› half a li")
        shown = terminal.screen.text()
        assert "half a lia reminder" not in shown
        assert shown.index("a reminder") < shown.index("› half a li")
        terminal.type("ne\r")
        shown = terminal.wait_for("heard 'half a line'")
        assert shown.index("a reminder") < shown.index("heard")


@pytest.mark.thorough
@pytest.mark.parametrize(
    "environment", [{"TERM": "dumb"}, pytest.param({"NO_COLOR": "1"}, marks=pytest.mark.thorough)]
)
def test_a_plain_terminal_is_served_plainly(
    window: Callable[..., TerminalWindow], environment: dict[str, str]
) -> None:
    with window(**environment) as terminal:
        terminal.wait_for("›")
        terminal.type("hello\r")
        terminal.wait_for("heard 'hello'")
        terminal.type("\x04")
        assert terminal.wait_exit() == 0
        if environment == {"TERM": "dumb"}:
            assert terminal.screen.escapes == []
        assert not [each for each in terminal.screen.escapes if re.match(rb"\x1b\[(3[0-8]|4[0-8])", each)], (
            "colours"
        )


@pytest.mark.thorough
def test_a_history_that_cannot_be_written_costs_nothing_else(
    window: Callable[..., TerminalWindow], tmp_path: Path
) -> None:
    (tmp_path / "history").mkdir()
    with window() as terminal:
        terminal.wait_for("›")
        terminal.type("hello\r")
        terminal.wait_for("heard 'hello'")


@pytest.mark.thorough
def test_a_terminal_that_is_closed_ends_the_program(window: Callable[..., TerminalWindow]) -> None:
    terminal = window()
    terminal.wait_for("›")
    os.close(terminal._master)
    terminal._master = os.open(os.devnull, os.O_RDWR)
    with terminal:
        terminal.process.wait(10)
