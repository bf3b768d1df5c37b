"""A terminal window for tests: a real pty with a program, and what its screen and scrollback show."""

import fcntl
import os
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from wcwidth import wcwidth

_ESCAPE = re.compile(
    rb"\x1b\[([0-9;?>]*)([@-~])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()][0-9A-B]|\x1b[=>78cDMEH]"
)
_TAKE_THE_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "os.execv(sys.argv[1], sys.argv[1:])"
)


class Screen:
    """The subset of a VT100 that line editors and progress bars use; keeps scrollback."""

    def __init__(self, rows: int, columns: int) -> None:
        self.rows, self.columns = rows, columns
        self.lines: list[list[str]] = [[] for _ in range(rows)]
        self.top = self.row = self.column = 0
        self.asked_for_position = 0
        self.escapes: list[bytes] = []
        """Every escape sequence received, unchanged."""

    def feed(self, data: bytes) -> bytes:
        """Display bytes; return those of an unfinished character or sequence at the end."""
        while data:
            if data[0] == 0x1B:
                match = _ESCAPE.match(data)
                if match is None:
                    if len(data) < 64:
                        return data
                    raise AssertionError(f"the program sent a sequence unknown here: {data[:30]!r}")
                self.escapes.append(match[0])
                if match[2]:
                    self._control(match[1].decode(), match[2].decode())
                data = data[match.end() :]
                continue
            size = (
                1 if data[0] < 0x80 or data[0] > 0xF7 else 2 if data[0] < 0xE0 else 3 if data[0] < 0xF0 else 4
            )
            if len(data) < size:
                return data
            self._put(data[:size].decode("utf-8", "replace"))
            data = data[size:]
        return b""

    def text(self) -> str:
        """Return scrollback and screen, without trailing spaces and blank lines at the end."""
        return "\n".join("".join(line).rstrip() for line in self.lines).rstrip("\n")

    def _line(self) -> list[str]:
        return self.lines[self.top + self.row]

    def _put(self, letter: str) -> None:
        if letter == "\r":
            self.column = 0
        elif letter == "\n":
            self._down()
        elif letter == "\b":
            self.column = max(0, self.column - 1)
        elif letter == "\x07":
            pass
        elif letter < " ":
            raise AssertionError(f"the program sent the control character {letter!r}")
        else:
            width = wcwidth(letter)
            if width == 0:
                self._line()[min(self.column, len(self._line())) - 1] += letter
                return
            if self.column + width > self.columns:
                self.column = 0
                self._down()
            line = self._line()
            line.extend(" " * (self.column + width - len(line)))
            line[self.column : self.column + width] = [letter] + [""] * (width - 1)
            self.column += width

    def _down(self) -> None:
        if self.row < self.rows - 1:
            self.row += 1
        else:
            self.top += 1
            self.lines.append([])

    def _control(self, numbers: str, letter: str) -> None:
        if numbers.startswith(("?", ">")):
            return
        values = [int(number or 0) for number in numbers.split(";")]
        count = max(1, values[0])
        line = self._line()
        match letter:
            case "A":
                self.row = max(0, self.row - count)
            case "B":
                self.row = min(self.rows - 1, self.row + count)
            case "C":
                self.column = min(self.columns - 1, self.column + count)
            case "D":
                self.column = max(0, self.column - count)
            case "G":
                self.column = count - 1
            case "H":
                self.row, self.column = count - 1, max(1, [*values, 1][1]) - 1
            case "J" if values[0] == 0:
                del line[self.column :]
                del self.lines[self.top + self.row + 1 :]
                self.lines.extend([] for _ in range(self.rows - self.row - 1))
            case "J":
                self.lines[self.top :] = [[] for _ in range(self.rows)]
            case "K":
                if values[0] == 0:
                    del line[self.column :]
                else:
                    line.clear()
            case "n":
                self.asked_for_position += 1
            case "m" | "h" | "l" | "q":
                pass
            case _:
                raise AssertionError(f"the program sent a sequence unknown here: {numbers}{letter}")


class TerminalWindow:
    """Runs a program until the `with` block is left."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str],
        rows: int = 24,
        columns: int = 80,
    ) -> None:
        self.screen = Screen(rows, columns)
        self._master, terminal = os.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-c", _TAKE_THE_TERMINAL, *command],
            cwd=cwd,
            env={"TERM": "xterm-256color", **environment},
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            start_new_session=True,
        )
        os.close(terminal)
        self._rest = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        self.close()

    def close(self) -> None:
        """Close the window, which sends SIGHUP to the program."""
        if self._master >= 0:
            os.close(self._master)
            self._master = -1

    def type(self, keys: str | bytes) -> None:
        """Press keys; bytes are those of a terminal that is not UTF-8."""
        os.write(self._master, keys if isinstance(keys, bytes) else keys.encode())

    @property
    def shows_keys(self) -> bool:
        """Whether the terminal itself shows what is typed."""
        return bool(termios.tcgetattr(self._master)[3] & termios.ECHO)

    def wait_for(self, text: str, *, times: int = 1, seconds: float = 20) -> str:
        """Wait until `text` is visible `times` times, scrollback included; return everything visible."""
        ends = time.monotonic() + seconds
        while self.screen.text().count(text) < times:
            left = ends - time.monotonic()
            more = left > 0 and self._read(left)
            assert more, f"{text!r} has not appeared:\n{self.screen.text()}"
        return self.screen.text()

    def wait_exit(self, seconds: float = 20) -> int:
        """Wait until the program has exited; return its exit code."""
        ends = time.monotonic() + seconds
        while self._read(max(0, ends - time.monotonic())):
            pass
        return self.process.wait(max(0.1, ends - time.monotonic()))

    def _read(self, seconds: float) -> bool:
        if not select.select([self._master], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self._master, 65_536)
        except OSError:  # the program has closed the terminal
            return False
        asked = self.screen.asked_for_position
        self._rest = self.screen.feed(self._rest + data)
        for _ in range(self.screen.asked_for_position - asked):
            self.type(f"\x1b[{self.screen.row + 1};{self.screen.column + 1}R")
        return bool(data)
