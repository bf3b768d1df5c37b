"""The `commonplace` command as people run it: a process of its own, in a folder of its own."""

import io
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from bot.cli.main import main
from memory.embeddings.provider_table import PROVIDERS
from tests.fakes.restore_logging import restore_logging

ROOT = Path(__file__).parent.parent.parent
KEY_VARIABLES = {variable for provider in PROVIDERS.values() for variable in provider.key_variables}


def leads_elsewhere(name: str) -> bool:
    """Return whether an environment variable affects network access."""
    return name in KEY_VARIABLES or name.startswith(("HF_", "SSL_CERT_")) or name.upper().endswith("_PROXY")


class Commonplace:
    """The command, run in `folder`, which is also its HOME and contains a workspace."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.memory = folder / "workspace" / "memory"
        self.memory.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.command = [sys.executable, "-W", "error", "-m", "bot"]
        self.environment = {"HOME": str(folder), "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8", "TZ": "UTC"}

    def __call__(
        self,
        *arguments: str | bytes,
        stdin: str | bytes | None = None,
        environment: Mapping[str, str] | None = None,
        seconds: float = 30,
    ) -> subprocess.CompletedProcess[str]:
        """Run it to its end; without `stdin` its standard input is empty."""
        given = stdin.encode() if isinstance(stdin, str) else stdin
        done = subprocess.run(
            [*self.command, *arguments],
            cwd=self.folder,
            env={**self.environment, **(environment or {})},
            input=given,
            stdin=subprocess.DEVNULL if given is None else None,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
        return subprocess.CompletedProcess(
            done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
        )

    def output_of(self, *arguments: str | bytes, stdin: str | bytes | None = None) -> str:
        """Run it, assert that it succeeds without complaints, and return its output."""
        done = self(*arguments, stdin=stdin)
        assert (done.returncode, done.stderr) == (0, ""), done
        return done.stdout

    def error_of(self, *arguments: str | bytes, code: int = 1, stdin: str | bytes | None = None) -> str:
        """Run it, assert that it fails with one line on standard error and nothing else, and return that line."""
        done = self(*arguments, stdin=stdin)
        assert (done.returncode, done.stdout) == (code, ""), done
        line = done.stderr.removesuffix("\n")
        assert line.startswith("commonplace: "), done
        assert line.count("\n") == 0, done
        assert "Traceback" not in line, done
        return line

    def start(
        self, *arguments: str, stdin: int = subprocess.DEVNULL, stderr: int = subprocess.PIPE
    ) -> subprocess.Popen[str]:
        """Start it in the background, with human-readable logs; use `with` to end it."""
        return subprocess.Popen(
            [*self.command, *arguments],
            cwd=self.folder,
            env={"COMMONPLACE_LOG_FORMAT": "text", **self.environment, "PYTHONUNBUFFERED": "1"},
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=stderr,
            encoding="utf-8",
        )


class CommonplaceHere(Commonplace):
    """The same command inside the test process, ten times as fast, for tests that need no process."""

    def __call__(
        self,
        *arguments: str | bytes,
        stdin: str | bytes | None = None,
        environment: Mapping[str, str] | None = None,
        seconds: float = 30,
    ) -> subprocess.CompletedProcess[str]:
        del seconds
        given = stdin.encode() if isinstance(stdin, str) else stdin or b""
        streams = [io.TextIOWrapper(io.BytesIO(data)) for data in (given, b"", b"")]
        typed = [os.fsdecode(argument) for argument in arguments]
        with _as_it_was(), pytest.MonkeyPatch.context() as patch:
            for name, stream in zip(("stdin", "stdout", "stderr"), streams, strict=True):
                patch.setattr(sys, name, stream)
            for name in list(os.environ):
                if name.startswith("COMMONPLACE_") or leads_elsewhere(name):
                    patch.delenv(name)
            for name, value in {**self.environment, **(environment or {})}.items():
                patch.setenv(name, value)
            patch.chdir(self.folder)
            code = main(typed)
            for stream in streams[1:]:
                stream.flush()
        out, err = (stream.buffer.getvalue().decode() for stream in streams[1:])
        return subprocess.CompletedProcess(typed, code, out, err)


@contextmanager
def _as_it_was() -> Iterator[None]:
    """Undo the changes that a command makes to its process."""
    signals = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with restore_logging():
            yield
    finally:
        for number, action in signals.items():
            signal.signal(number, action)


def is_root() -> bool:
    """Return whether we run as root, whom file permissions do not restrict."""
    return os.geteuid() == 0
