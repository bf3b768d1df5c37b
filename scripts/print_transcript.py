"""Run the commands that the pages show, and print what they said below them.

Each page is gone through in a home of its own with nothing in it but the `commonplace` command: every command of the
blocks marked `sh` and `console`, in order, in one shell. Below a command in a `console` block stands what it said. With
`--check`, change nothing, but exit with 1 where a page is stale or a command fails.
"""

import argparse
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = tuple(ROOT / name for name in ("README.md", "docs/memory.md", "docs/models.md", "docs/operations.md"))
"""Those that are gone through; the other pages have tests of their own."""

SKIPPED_COMMANDS: Mapping[str, str] = {
    "make": "sets up another environment; that the target exists is tested",
    "docker": "wants Docker's engine",
    "docker/setup": "writes into the clone; its own test runs it",
    "git": "fetches this project anew",
    "sudo": "changes the whole machine",
    "ssh": "wants another machine",
    "journalctl": "asks systemd",
}
"""Programs that are not run here, and why. What systemd does to the service is done to the one that runs here."""

DAY = "2026-11-21"
CLOCK = "10:15:02"
HOME = "/home/anna"
PORT = "8321"
"""These stand in a page for when and where its commands are run."""

SECONDS = 60
"""The longest that one command may take."""

_BLOCK = re.compile(r"^```(sh|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_PROMPTED = re.compile(r"^\$ ((?:.*\\\n)*.+)", re.MULTILINE)
_TYPED = re.compile(r"^(?![#\s])(.+\{$(?:\n.*)*?\n\}|(?:.*\\\n)*.+)", re.MULTILINE)
"""A command, which may go on in the next line, or a function of the shell."""


class StalePage(Exception):
    """A page says what is not so; the text is one line."""


@dataclass(frozen=True, slots=True)
class Block:
    """Commands that stand together in a page."""

    is_console: bool
    """Whether what they say stands below them."""
    text: str
    commands: tuple[str, ...]


def find_blocks(page: str) -> Iterator[Block]:
    """Every block of commands of a page."""
    for kind, text in _BLOCK.findall(page):
        yield _block(kind, text)


def _block(kind: str, text: str) -> Block:
    is_console = kind == "console"
    commands = tuple((_PROMPTED if is_console else _TYPED).findall(text))
    return Block(is_console, text, commands)


def command_program(command: str) -> str:
    """The program that a command calls first."""
    words = shlex.split(command, comments=True)
    named = [word for word in words if not re.match(r"[A-Z_]+=", word)]
    return named[0] if named else ""


# -- where commands are run ---------------------------------------------------------------------------------


def make_home(folder: Path, port: int) -> dict[str, str]:
    """Make `folder` a home with the `commonplace` command and a workspace, as in a clone; return its environment."""
    (folder / "workspace").mkdir(mode=0o700)
    command = folder / ".bin" / "commonplace"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m bot "$@"\n', "utf-8")
    command.chmod(0o755)
    return {
        "HOME": str(folder),
        "PATH": os.pathsep.join([str(command.parent), os.environ["PATH"]]),
        "PYTHONPATH": str(ROOT),
        "LC_ALL": "C.UTF-8",
        "COMMONPLACE_SERVER__PORT": str(port),
        "TZ": "UTC",
    }


class Shell:
    """A shell that commands are given to one by one, and a service beside it that they can speak to."""

    def __init__(self, folder: Path) -> None:
        with closing(socket.create_server(("127.0.0.1", 0))) as server:
            self._port: int = server.getsockname()[1]
        self._folder = folder
        self._environment = make_home(folder, self._port)
        self._said = folder / ".said"
        self._log = folder / ".log"
        self._service: subprocess.Popen[bytes] | None = None
        self._shell = subprocess.Popen(
            ["/bin/sh"],
            cwd=folder,
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,
        )

    def close(self) -> None:
        """End the shell and what it has begun."""
        self.end_service()
        self._shell.kill()
        with self._shell:
            pass

    def run(self, command: str) -> str:
        """What a command prints, as a page has it. Raises Stale where it fails or complains."""
        if self._act_on_service(command):
            return ""
        assert self._shell.stdin
        assert self._shell.stdout
        told = f"{{ {self._here(command)}\n}} >{self._said} 2>{self._said}.wrong </dev/null; echo $?\n"
        patience = threading.Timer(SECONDS, os.killpg, (self._shell.pid, signal.SIGKILL))
        patience.start()
        self._shell.stdin.write(told)
        self._shell.stdin.flush()
        code = self._shell.stdout.readline().strip()
        patience.cancel()
        if not code:
            raise StalePage(f"`{command}` took too long, or ended the shell")
        wrong = Path(f"{self._said}.wrong").read_text("utf-8").strip()
        if code != "0" or wrong:
            raise StalePage(f"`{command}` ended with {code}: {wrong}")
        return self._as_in_page(self._said.read_text("utf-8")).rstrip()

    def _act_on_service(self, command: str) -> bool:
        """Do to our service what a command is for that we do not run; False for all others."""
        acts: Mapping[str, Callable[[], None]] = {
            "commonplace run": self.start_service,
            "sudo systemctl enable --now commonplace": self.start_service,
            "sudo systemctl start commonplace": self.start_service,
            "sudo systemctl stop commonplace": self.end_service,
            "sudo systemctl restart commonplace": self.restart_service,
            "sudo systemctl reload commonplace": self.reload_service,
        }
        act = acts.get(command)
        if act:
            act()
        return act is not None or command_program(command) in SKIPPED_COMMANDS

    def start_service(self) -> None:
        """Start it, and wait until it is up."""
        with self._log.open("ab") as lines:
            self._service = subprocess.Popen(  # noqa: S603
                [self._folder / ".bin" / "commonplace", "run"],
                cwd=self._folder,
                env=self._environment | self._secrets(),
                stdin=subprocess.DEVNULL,
                stdout=lines,
                stderr=lines,
            )
        straight = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        for _ in range(10 * SECONDS):
            if self._service.poll() is not None:
                break
            try:
                with straight.open(f"http://127.0.0.1:{self._port}/healthz"):
                    return
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.1)
        raise StalePage(f"the service does not come up: {self._log.read_text('utf-8')[-300:]}")

    def _secrets(self) -> dict[str, str]:
        """What the service's unit has it given."""
        file = self._folder / "secrets.env"
        lines = file.read_text("utf-8").splitlines() if file.exists() else []
        return dict(line.split("=", 1) for line in lines)

    def end_service(self) -> None:
        """End it, where it runs."""
        if self._service is not None:
            self._service.terminate()
            self._service.wait(20)
            self._service = None

    def restart_service(self) -> None:
        """End it and start it."""
        self.end_service()
        self.start_service()

    def reload_service(self) -> None:
        """Have it read its settings anew."""
        if self._service is None:
            raise StalePage("a service is told to reload that does not run")
        before = self._log.read_text("utf-8")
        self._service.send_signal(signal.SIGHUP)
        for _ in range(10 * SECONDS):
            if self._log.read_text("utf-8") != before:  # it tells how that went
                return
            time.sleep(0.1)
        raise StalePage("the service does not read its settings anew")

    def _here(self, text: str) -> str:
        today = f"{datetime.now(UTC):%Y-%m-%d}"
        text = text.replace(HOME, str(self._folder)).replace(DAY, today)
        return re.sub(rf"(?<=:){PORT}\b", str(self._port), text)

    def _as_in_page(self, text: str) -> str:
        """What differs from run to run, as the page has it."""
        today = f"{datetime.now(UTC):%Y-%m-%d}"
        text = text.replace(str(self._folder), HOME).replace(today, DAY)
        text = re.sub(rf"(?<=:){self._port}\b", PORT, text)
        text = re.sub(r"\b\d{8}T\d{6}Z", f"{DAY}T{CLOCK}Z".replace("-", "").replace(":", ""), text)
        text = re.sub(r"(?<!\d)\d\d:\d\d:\d\d(?:\.\d+)?", CLOCK, text)
        text = re.sub(r'("seconds": )[\d.e-]+', r"\g<1>0.01", text)
        return re.sub(r"\bin \d+\.\d s\b", "in 0.0 s", text)


# -- pages --------------------------------------------------------------------------------------------------


def print_transcripts(page: str) -> str:
    """The page with every transcript as it is now. Raises Stale where a command fails."""
    with tempfile.TemporaryDirectory() as home, closing(Shell(Path(home))) as shell:

        def run_block(match: re.Match[str]) -> str:
            block = _block(match[1], match[2])
            said = [(command, shell.run(command)) for command in block.commands]
            if not block.is_console:
                return match[0]
            entries = [f"$ {command}\n{text}\n" if text else f"$ {command}\n" for command, text in said]
            return "```console\n" + "\n".join(entries) + "```"

        return _BLOCK.sub(run_block, page)


def main() -> None:
    """Print the pages anew, or see whether they are as they would be printed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit with 1 where one is stale")
    parser.add_argument("pages", nargs="*", type=Path, default=PAGES, metavar="PAGE", help="default: all")
    options = parser.parse_args()
    for file in options.pages:
        name = os.path.relpath(file, ROOT)
        before = file.read_text("utf-8")
        try:
            after = print_transcripts(before)
        except StalePage as fault:
            sys.exit(f"{name}: {fault}")
        if options.check and before != after:
            sys.exit(f"{name}: the transcript is not what happens; run: make docs")
        if before != after:
            file.write_text(after, "utf-8")


if __name__ == "__main__":
    main()
