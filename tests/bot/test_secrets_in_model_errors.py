"""Servers that say back whatever secret they can: nothing of one is kept, shown or logged."""

import json
import re
import resource
import subprocess
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import apsw
import pytest
from aiohttp import web

from bot.state.database import State
from memory.redaction import Redaction, set_redaction
from tests.fakes.commonplace import Commonplace
from tests.fakes.model_server import ReceivedRequest, Reply, answers, streams
from tests.fakes.openai_server import MODEL, OpenAIServer
from tests.fakes.threaded_server import run_in_thread

SECRETS = {
    "server.token": "Kx7pQ-vT4mZ-w9Lr2",
    "providers.openai.api_key": "Jh3kP0dWq8sYc5Rb",
    "telegram.token": "123456789:AAHnVt5_zQe8Lk2PwXc7Rm4Sd9Gf1Bj6Yu3",
    "discord.token": "MTE4NzY1NDMyMTA5ODc2NTQz.GqWxYz.k3Lm9Pq7Rs5Tu1Vw8Xy2Za4Bc6De",
    "memory.embedding.api_key": "Vd6nFz1tXe4mUa9o",
    "SOMEBODYS_API_KEY": "Bn2gMk7wHs5yQj8i",
    "MY_APP_SECRET": "Tf4rLc9xEp6vZu1a",
}
WINDOW = 8
"""Letters of a secret in a row that are too many to be found anywhere."""


def _bodies() -> Iterator[str]:
    """All of them at once, then each where a text that is cut would cut it in two."""
    yield " ".join(SECRETS.values())
    for number, secret in enumerate(SECRETS.values()):
        yield "x" * (155 + 4 * number) + " " + secret


def _replies() -> Iterator[Reply]:
    for said in _bodies():
        error = {"error": {"message": said, "type": "invalid_request_error", "code": said}}
        headers = {
            "X-Request-Id": said,
            "WWW-Authenticate": f"Bearer {said}",
            "Location": f"http://127.0.0.1/{said}",
        }
        for status in (400, 401, 404, 429, 500, 302):
            yield answers(json.dumps(error), status=status, headers={**headers, "Retry-After": "0.01"})
        yield answers(f"<html>{said}</html>", status=502, kind="text/html", headers=headers)
        yield streams(b"data: " + json.dumps(error).encode() + b"\n\n")
        yield streams(b"data: " + said.encode() + b"\n\n")
        yield _no_http(said)


def _no_http(said: str) -> Reply:
    """A header that is none, which a client's error may quote."""

    async def reply(request: web.Request, _: ReceivedRequest) -> web.StreamResponse:
        assert request.transport
        request.transport.write(f"HTTP/1.1 200 OK\r\n{said}\r\n\r\n".encode())
        request.transport.close()
        return web.Response()

    return reply


def _pieces(secrets: Sequence[str]) -> dict[bytes, str]:
    return {
        secret[at : at + WINDOW].encode(): secret
        for secret in secrets
        for at in range(len(secret) - WINDOW + 1)
    }


PIECES = _pieces(list(SECRETS.values()))
PATTERN = re.compile(b"|".join(map(re.escape, PIECES)))


def found_in(folder: Path) -> list[str]:
    """Where a piece of a secret stands below a folder, byte by byte; archives are unpacked."""
    return [
        f"{match[0]!r} in {name}: {content[max(0, match.start() - 40) : match.end()]!r}"
        for name, content in _files_in(folder)
        for match in PATTERN.finditer(content)
    ]


def _files_in(folder: Path) -> Iterator[tuple[str, bytes]]:
    for file in filter(Path.is_file, folder.rglob("*")):
        yield str(file.relative_to(folder)), file.read_bytes()
        if file.name.endswith(".tar.gz"):
            with tarfile.open(file) as archive:
                for member in archive:
                    if content := archive.extractfile(member):
                        yield f"{file.name}: {member.name}", content.read()


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with ExitStack() as stack:
        yield stack.enter_context(run_in_thread(OpenAIServer()))


@pytest.mark.thorough
def test_nothing_of_a_secret_that_a_server_says_back_is_kept_or_shown(
    tmp_path: Path, server: OpenAIServer
) -> None:
    commonplace = Commonplace(tmp_path)
    commonplace.environment |= {name: value for name, value in SECRETS.items() if name.isupper()}
    (tmp_path / "config.toml").write_text(
        'log_level = "debug"\n'
        f'[models]\nchain = ["openai/{MODEL}"]\nmax_retries = 0\nretry_delay = 0\n'
        f'[providers.openai]\nkind = "openai"\nbase_url = "{server.base_url}"\n'
        f'api_key = "{SECRETS["providers.openai.api_key"]}"\n'
        f'[server]\ntoken = "{SECRETS["server.token"]}"\n'
        f'[telegram]\ntoken = "{SECRETS["telegram.token"]}"\n'
        f'[discord]\ntoken = "{SECRETS["discord.token"]}"\n'
        f'[memory.embedding]\nprovider = "none"\napi_key = "{SECRETS["memory.embedding.api_key"]}"\n'
    )
    replies = list(_replies())
    server.enqueue(*replies)
    shown = ""
    with commonplace.start("chat", stdin=subprocess.PIPE) as chat:
        assert chat.stdin
        assert chat.stdout
        assert chat.stderr
        # Each question in turn, and after some of them how the models fare; the last one is not answered any more.
        lines = [f"Question {number}\n/models\n" for number in range(len(replies))]
        chat.stdin.write("".join(lines) + "/status\n/backup\n")
        chat.stdin.flush()
        while "Backup" not in shown and "backup" not in shown:
            line = chat.stdout.readline()
            assert line, chat.stderr.read()
            shown += line
        chat.kill()  # so that the journal of state.db stays as it is
        shown += chat.stdout.read() + chat.stderr.read()
    assert server.left == 0
    assert "answered 400 (***" in shown
    private = tmp_path / "workspace" / ".commonplace"
    assert {"state.db", "state.db-wal"} <= {file.name for file in private.iterdir()}
    assert (private / "chat.log").stat().st_size > 1000
    assert any(name.endswith((": state.db", "/state.db")) for name, _ in _files_in(private))
    assert found_in(private) == []
    assert not PATTERN.findall(shown.encode())


async def state_with_secrets(folder: Path) -> Path:
    """Lay a state.db as an earlier version may have left it."""
    file = folder / "state.db"
    async with State(file):
        pass
    with apsw.Connection(str(file)) as db:
        for number, secret in enumerate(SECRETS.values()):
            values = [
                f"openai/{number}",
                "",
                *[0] * 10,
                "server",
                f"answered 500 (no {secret})",
                *[0] * 5,
                1.0,
            ]
            db.execute(f"INSERT INTO model_health VALUES ({', '.join('?' * len(values))})", values)
    db.close()
    return file


async def test_what_an_earlier_version_has_kept_is_blanked_out_at_the_next_start(tmp_path: Path) -> None:
    file = await state_with_secrets(tmp_path)
    assert found_in(tmp_path)
    before = set_redaction(Redaction(SECRETS.values()))
    try:
        async with State(file) as state:
            assert {each.last_error for each in await state.read_model_health()} == {"answered 500 (no ***)"}
    finally:
        set_redaction(before)
    assert found_in(tmp_path) == []


async def test_no_room_to_write_the_file_anew_keeps_nobody_from_starting(tmp_path: Path) -> None:
    file = await state_with_secrets(tmp_path)
    with apsw.Connection(str(file)) as db:
        db.execute("INSERT INTO chosen_models VALUES ('terminal:main', hex(zeroblob(1000000)))")
    db.close()
    before = set_redaction(Redaction(SECRETS.values()))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, limits[1]))
        try:
            async with State(file) as state:
                assert {each.last_error for each in await state.read_model_health()} == {
                    "answered 500 (no ***)"
                }
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    finally:
        set_redaction(before)


async def test_what_was_overwritten_is_not_left_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "state.db"
    async with State(file) as state:
        await state.choose_model("terminal:main", "the old words of a chat " * 400)
        await state.choose_model("terminal:main", "")
    with suppress(FileNotFoundError):
        assert b"old words" not in (tmp_path / "state.db-wal").read_bytes()
    assert b"old words" not in file.read_bytes()
