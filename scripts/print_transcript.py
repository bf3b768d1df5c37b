"""Run the commands in the documentation and update the output shown below them.

Each page runs in a home of its own that contains only the `commonplace` command: every command of the blocks
marked `sh` and `console`, in order, in one shell. In `console` blocks the output follows each command. With
`--check`, nothing is changed, but exit with 1 if a page is stale or a command fails.
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
"""Pages that are run; the others have tests of their own."""

SKIPPED_COMMANDS: Mapping[str, str] = {
    "make": "sets up another environment; that the target exists is tested",
    "docker": "wants Docker's engine",
    "docker/setup": "writes into the clone; its own test runs it",
    "git": "fetches this project anew",
    "pipx": "installs the project anew; its own test does",
    "sudo": "changes the whole machine",
    "ssh": "wants another machine",
    "journalctl": "asks systemd",
}
"""Programs that are not run here, and why. What systemd does to the service is done to the one running here."""

DAY = "2026-11-21"
CLOCK = "10:15:02"
HOME = "/home/anna"
PORT = "8321"
"""Placeholders in a page for when and where its commands are run."""

SECONDS = 60
"""Maximum seconds of one command."""

_BLOCK = re.compile(r"^```(sh|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_PROMPTED = re.compile(r"^\$ ((?:.*\\\n)*.+)", re.MULTILINE)
_TYPED = re.compile(r"^(?![#\s])(.+\{$(?:\n.*)*?\n\}|(?:.*\\\n)*.+)", re.MULTILINE)
"""A command, which may continue on the next line, or a shell function."""


class StalePage(Exception):
    """A page is out of date; the message is one line."""


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive commands in a page."""

    is_console: bool
    """Whether their output follows them."""
    text: str
    commands: tuple[str, ...]


def find_blocks(page: str) -> Iterator[Block]:
    """Yield every block of commands of a page."""
    for kind, text in _BLOCK.findall(page):
        yield _block(kind, text)


def _block(kind: str, text: str) -> Block:
    is_console = kind == "console"
    commands = tuple((_PROMPTED if is_console else _TYPED).findall(text))
    return Block(is_console, text, commands)


def command_program(command: str) -> str:
    """Return the program that a command calls first."""
    words = shlex.split(command, comments=True)
    named = [word for word in words if not re.match(r"[A-Z_]+=", word)]
    return named[0] if named else ""


# -- running commands ---------------------------------------------------------------------------------------


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
    """A shell that runs one command at a time, and a service that the commands can talk to."""

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
        """Stop the shell and everything it started."""
        self.end_service()
        self._shell.kill()
        with self._shell:
            pass

    def run(self, command: str) -> str:
        """Return a command's output as a page shows it. Raises StalePage if it fails or complains."""
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
        """Do to our service what a command that we do not run would do; return False for other commands."""
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
        """Start the service and wait until it is up. Raises StalePage."""
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
        """Return the environment that the service's unit provides."""
        file = self._folder / "secrets.env"
        lines = file.read_text("utf-8").splitlines() if file.exists() else []
        return dict(line.split("=", 1) for line in lines)

    def end_service(self) -> None:
        """Stop the service if it runs."""
        if self._service is not None:
            self._service.terminate()
            self._service.wait(20)
            self._service = None

    def restart_service(self) -> None:
        """Restart the service."""
        self.end_service()
        self.start_service()

    def reload_service(self) -> None:
        """Make the service reload its settings. Raises StalePage."""
        if self._service is None:
            raise StalePage("a service is told to reload that does not run")
        before = self._log.read_text("utf-8")
        self._service.send_signal(signal.SIGHUP)
        for _ in range(10 * SECONDS):
            if self._log.read_text("utf-8") != before:  # it logs the result
                return
            time.sleep(0.1)
        raise StalePage("the service does not read its settings anew")

    def _here(self, text: str) -> str:
        today = f"{datetime.now(UTC):%Y-%m-%d}"
        text = text.replace(HOME, str(self._folder)).replace(DAY, today)
        return re.sub(rf"(?<=:){PORT}\b", str(self._port), text)

    def _as_in_page(self, text: str) -> str:
        """Replace what differs between runs with the page's placeholders."""
        today = f"{datetime.now(UTC):%Y-%m-%d}"
        text = text.replace(str(self._folder), HOME).replace(today, DAY)
        text = re.sub(rf"(?<=:){self._port}\b", PORT, text)
        text = re.sub(r"\b\d{8}T\d{6}Z", f"{DAY}T{CLOCK}Z".replace("-", "").replace(":", ""), text)
        text = re.sub(r"(?<!\d)\d\d:\d\d:\d\d(?:\.\d+)?", CLOCK, text)
        text = re.sub(r"(?m)^(#\d+  )\d\d:\d\d(?=  )", rf"\g<1>{CLOCK[:5]}", text)  # a list of changes
        text = re.sub(r'("seconds": )[\d.e-]+', r"\g<1>0.01", text)
        text = re.sub(r"(\bsize: )\d+\.\d kB", r"\g<1>5.1 kB", text)  # an archive holds times, and is packed
        return re.sub(r"\bin \d+\.\d s\b", "in 0.0 s", text)


# -- pages --------------------------------------------------------------------------------------------------


def print_transcripts(page: str) -> str:
    """Return the page with current transcripts. Raises StalePage if a command fails."""
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
    """Update the pages, or check whether they are current."""
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
