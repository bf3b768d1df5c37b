import asyncio
import contextlib
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest

from tests.fakes.commonplace import Commonplace, CommonplaceHere, is_root
from tests.fakes.embedding_server import KEY, EmbeddingServer
from tests.fakes.free_port import free_port
from tests.fakes.stable_day import stable_day
from tests.fakes.table_test import first_at_once
from tests.fakes.terminal_window import TerminalWindow


@pytest.fixture
def commonplace(tmp_path: Path) -> Commonplace:
    commonplace = Commonplace(tmp_path)
    commonplace.environment["COMMONPLACE_SERVER__PORT"] = "0"  # the usual one may be in use here
    return commonplace


@pytest.fixture
def here(tmp_path: Path) -> Commonplace:
    """The command without a process of its own, where one after the other is all that matters."""
    return CommonplaceHere(tmp_path)


@pytest.fixture(autouse=True)
def one_day() -> None:
    stable_day()


def today() -> str:
    return time.strftime("%Y-%m-%d", time.gmtime())


# -- it remembers -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("run", "told", "asked", "answer"),
    [
        (
            Commonplace,
            "Remember that Anna's passport is in the blue folder on the second shelf",
            "Where is Anna's passport?",
            "in the blue folder on the second shelf",
        ),
        (
            CommonplaceHere,
            "记住安娜的护照在第二层架子上的蓝色文件夹里",
            "安娜的护照在哪里？",
            "第二层架子上的蓝色文件夹",
        ),
        (
            CommonplaceHere,
            "アンナのパスポートは二段目の棚の青いフォルダにあることを覚えておいて",
            "アンナのパスポートはどこですか？",
            "二段目の棚の青いフォルダ",
        ),
        (
            CommonplaceHere,
            "Merke dir, dass Jörgs Schlüssel in der grünen Dose über dem Kühlschrank liegt",
            "Wo ist Jörgs Schlüssel?",
            "in der grünen Dose über dem Kühlschrank",
        ),
        (
            CommonplaceHere,
            "จำไว้ว่าหนังสือเดินทางของแอนนาอยู่ในแฟ้มสีฟ้าบนชั้นที่สอง",
            "หนังสือเดินทางของแอนนาอยู่ที่ไหน?",
            "แฟ้มสีฟ้าบนชั้นที่สอง",
        ),
    ],
    ids=["English", "Chinese", "Japanese", "German", "Thai"],
)
def test_what_was_told_in_one_conversation_is_found_in_the_next(
    tmp_path: Path, run: type[Commonplace], told: str, asked: str, answer: str
) -> None:
    commonplace = run(tmp_path)
    assert commonplace.output_of("chat", "-m", told).strip()
    day = today()
    reply = commonplace.output_of("chat", "--session", "another", "-m", asked)
    assert answer in reply
    assert f"{day}.md:3" in reply or re.search(rf"{day}\.md\D+3\b", reply)
    (note,) = commonplace.memory.glob("*.md")
    title, blank, line = note.read_text("utf-8").splitlines()
    assert (title, blank) == (f"# {day}", "")
    assert line.startswith("- ")
    assert answer in line


@pytest.mark.thorough
def test_a_conversation_goes_on_after_a_restart_and_ends_with_new(
    commonplace: Commonplace, here: Commonplace
) -> None:
    commonplace.output_of("chat", "-m", "Hello")
    commonplace.output_of("chat", "-m", "Hello again")
    assert "new conversation" in here.output_of("chat", "-m", "/new")
    assert "builtin/notebook" in here.output_of("chat", "-m", "/status")


@pytest.mark.thorough
def test_a_talk_through_a_pipe(commonplace: Commonplace) -> None:
    lines = ["/remember The boiler was serviced in May", "", "/recall boiler", "/help"]
    printed = commonplace.output_of("chat", stdin="\n".join(lines))
    assert printed.startswith(f"Noted in {today()}.md:3.\n**{today()}.md:3**")
    assert "/recall QUERY" in printed
    assert "\x1b" not in printed
    (commonplace.folder / "lines.txt").write_text("\n".join(lines))
    with (commonplace.folder / "lines.txt").open() as file:
        done = subprocess.run(
            [*commonplace.command, "chat"],
            cwd=commonplace.folder,
            env=commonplace.environment,
            stdin=file,
            capture_output=True,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (0, "")
    assert "boiler" in done.stdout


@pytest.mark.thorough
def test_a_talk_in_a_terminal(commonplace: Commonplace) -> None:
    with TerminalWindow(
        [*commonplace.command, "chat"], cwd=commonplace.folder, environment=commonplace.environment
    ) as window:
        window.wait_for("›")
        window.type("/rem")
        window.wait_for("/remember")
        window.type("\tthe spare key is at **Anna's**\r")
        window.wait_for(f"Noted in {today()}.md:3.")
        window.wait_for("›", times=2)
        window.type("/recall spare key\r")
        shown = window.wait_for("Anna's", times=2)
        assert "**" not in shown.split("/recall", 1)[1]
        window.wait_for("›", times=3)
        window.type("\x04")
        assert window.wait_exit() == 0
    assert "\n- the spare key is at **Anna's**\n" in (commonplace.memory / f"{today()}.md").read_text("utf-8")


# -- two at once --------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_the_second_terminal_in_a_conversation_is_told_and_both_are_answered(
    commonplace: Commonplace,
) -> None:
    def opened(*arguments: str) -> TerminalWindow:
        return TerminalWindow(
            [*commonplace.command, "chat", *arguments],
            cwd=commonplace.folder,
            environment=commonplace.environment,
        )

    with opened() as first:
        assert "Another terminal" not in first.wait_for("›")
        with opened() as second, opened("--session", "mine") as third:
            assert 'already in this conversation ("main")' in " ".join(second.wait_for("›").split())
            assert "Another terminal" not in third.wait_for("›")
            for window, said in ((second, "the boat is blue"), (first, "the bicycle is red")):
                window.type(f"/remember {said}\r")
                window.wait_for("Noted in")
                window.wait_for("›", times=2)
            for window in (third, second, first):
                window.type("\x04")
                assert window.wait_exit() == 0


@pytest.mark.thorough
def test_many_who_talk_in_one_conversation_at_once_get_each_their_own_answer(
    commonplace: Commonplace,
) -> None:
    def tell(n: int) -> str:
        return commonplace.output_of("chat", "-m", f"Remember that locker {n} holds thing{n}x")

    with ThreadPoolExecutor(5) as people:
        answers = list(people.map(tell, range(5)))
    log = commonplace.memory / f"{today()}.md"
    lines = log.read_text().splitlines()
    for n, answer in enumerate(answers):
        place = re.search(r"line (\d+)", answer)
        assert place, answer
        assert lines[int(place[1]) - 1].rstrip(".") == f"- Locker {n} holds thing{n}x"
    assert len(lines) == 2 + 5


@pytest.mark.thorough
def test_two_processes_write_every_line_just_once(commonplace: Commonplace) -> None:
    count = 4
    talk = commonplace.start("chat", stdin=subprocess.PIPE)
    assert talk.stdin
    assert talk.stdout
    assert talk.stderr

    def say() -> None:
        assert talk.stdin
        for number in range(count):
            talk.stdin.write(f"/remember told in the talk, number {number}\n")
            talk.stdin.flush()
            time.sleep(0.05)
        talk.stdin.close()

    saying = threading.Thread(target=say)
    saying.start()
    for number in range(count):
        commonplace.output_of("memory", "write", f"written beside it, number {number}")
    saying.join()
    with talk:
        assert talk.stdout.read().count("Noted in") == count
        assert (talk.wait(20), talk.stderr.read()) == (0, "")
    lines = Counter("".join(note.read_text("utf-8") for note in commonplace.memory.glob("*.md")).splitlines())
    for number in range(count):
        assert lines[f"- told in the talk, number {number}"] == 1
        assert lines[f"- written beside it, number {number}"] == 1


# -- the service --------------------------------------------------------------------------------------------


def wait_for_port(port: int, *, seconds: float = 20) -> None:
    ends = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            assert time.monotonic() < ends, "nobody listens"
            time.sleep(0.02)
        else:
            return


@contextmanager
def service(
    commonplace: Commonplace, port: int, *, stdin: int = subprocess.DEVNULL
) -> Iterator[subprocess.Popen[str]]:
    commonplace.environment["COMMONPLACE_SERVER__PORT"] = str(port)
    process = commonplace.start("run", stdin=stdin)
    try:
        with process:
            yield process
            if process.poll() is None:
                process.kill()
    finally:
        process.kill()


def healthz(port: int, *, seconds: float = 20) -> tuple[int, dict[str, object]]:
    ends = time.monotonic() + seconds
    while True:
        try:
            with urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as answer:
                return answer.status, json.load(answer)
        except HTTPError as error:
            with error:
                return error.code, json.load(error)
        except (URLError, ConnectionError):
            assert time.monotonic() < ends, "nobody listens"
            time.sleep(0.05)


@pytest.mark.thorough
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_service_answers_and_leaves_when_it_is_told_to(
    commonplace: Commonplace, number: signal.Signals
) -> None:
    port = free_port()
    with service(commonplace, port) as process:
        status, document = healthz(port)
        assert (status, document["status"], document["channels"]) == (200, "ok", {})
        commonplace.output_of("memory", "write", "beside the running service")
        process.send_signal(number)
        began = time.monotonic()
        assert process.wait(30) == 0
        assert time.monotonic() - began < 10, "Docker waits no longer"
        assert process.stdout
        assert process.stderr
        assert process.stdout.read() == ""
        log = process.stderr.read()
    assert f"listening on http://127.0.0.1:{port}" in log
    assert all(re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [A-Z]+ \S+: ", line) for line in log.splitlines())


@pytest.mark.thorough
def test_the_service_takes_lines_from_a_pipe_and_leaves_at_its_end(commonplace: Commonplace) -> None:
    port = free_port()
    with service(commonplace, port, stdin=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write("/remember the boiler was serviced in May\n")
        process.stdin.flush()
        assert "Noted in" in process.stdout.readline()
        assert healthz(port)[1]["channels"] == {"terminal": "up"}
        process.stdin.write("/recall boiler")
        process.stdin.close()
        assert process.wait(10) == 0
        assert "serviced in May" in process.stdout.read()


@pytest.mark.thorough
def test_a_log_that_nobody_reads_does_not_keep_the_service_from_leaving(commonplace: Commonplace) -> None:
    reader, log = os.pipe()
    os.set_blocking(log, False)
    with contextlib.suppress(BlockingIOError):
        while os.write(log, b"x" * 65_536):
            pass
    os.set_blocking(log, True)
    port = free_port()
    commonplace.environment["COMMONPLACE_SERVER__PORT"] = str(port)
    process = subprocess.Popen(
        [*commonplace.command, "run"],
        cwd=commonplace.folder,
        env=commonplace.environment,
        stdin=subprocess.DEVNULL,
        stderr=log,
    )
    try:
        wait_for_port(port)
        time.sleep(0.5)  # now its first line is on the way
        process.send_signal(signal.SIGTERM)
        time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    finally:
        process.kill()
        os.close(reader)
        os.close(log)


@pytest.mark.thorough
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_service_in_a_terminal(commonplace: Commonplace, number: signal.Signals) -> None:
    with TerminalWindow(
        [*commonplace.command, "run"], cwd=commonplace.folder, environment=commonplace.environment
    ) as window:
        window.wait_for("›")
        window.type("/status\r")
        window.wait_for("builtin/notebook")
        window.wait_for("›", times=2)
        window.process.send_signal(number)
        assert window.wait_exit() == 0
        assert "Traceback" not in window.screen.text()
        assert "listening on" not in window.screen.text()
    assert "listening on" in (commonplace.folder / "workspace/.commonplace/chat.log").read_text("utf-8")


@pytest.mark.thorough
def test_the_log_of_a_service_in_a_terminal_goes_where_it_was_sent(commonplace: Commonplace) -> None:
    command = f"exec {shlex.join([*commonplace.command, 'run'])} 2> service.log"
    with TerminalWindow(
        ["/bin/sh", "-c", command],
        cwd=commonplace.folder,
        environment={**commonplace.environment, "COMMONPLACE_SERVER__ENABLED": "false"},
    ) as window:
        window.wait_for("›")
        window.type("\x04")
        assert window.wait_exit() == 0
    assert "embedding:" in (commonplace.folder / "service.log").read_text("utf-8")


@pytest.mark.thorough
def test_without_a_port_and_without_a_channel_there_is_nothing_to_serve(commonplace: Commonplace) -> None:
    commonplace.environment["COMMONPLACE_SERVER__ENABLED"] = "false"
    assert "server.enabled" in commonplace.error_of("run")
    assert "Noted in" in commonplace("run", stdin="/remember it works without a port").stdout


@pytest.mark.thorough
def test_a_file_as_standard_input_is_no_channel(commonplace: Commonplace) -> None:
    (commonplace.folder / "lines.txt").write_text("/remember nobody says this\n")
    port = free_port()
    with (commonplace.folder / "lines.txt").open() as file, service(commonplace, port, stdin=file.fileno()):
        assert healthz(port)[1]["channels"] == {}
    assert not list(commonplace.memory.glob("20*.md"))


def with_embedding(commonplace: Commonplace, server: EmbeddingServer, *, key: str = KEY) -> None:
    commonplace.memory.mkdir(parents=True)
    commonplace.environment |= {
        "COMMONPLACE_PROVIDERS__OPENAI__API_KEY": key,
        "COMMONPLACE_PROVIDERS__OPENAI__BASE_URL": server.base_url("openai"),
        "COMMONPLACE_MEMORY__WATCH__DEBOUNCE_SECONDS": "0.2",
    }


async def health_of_vectors(port: int, wanted: str, *, seconds: float = 20) -> None:
    """Wait until `/healthz` tells so of the vectors; it never tells of trouble with the whole."""
    ends = time.monotonic() + seconds
    while True:
        status, document = await asyncio.to_thread(healthz, port)
        assert (status, document["status"]) == (200, "ok")
        memory = document["memory"]
        assert isinstance(memory, dict)
        if memory.get("vectors") == wanted:
            return
        assert time.monotonic() < ends, memory
        await asyncio.sleep(0.05)


@pytest.mark.thorough
async def test_a_note_that_is_saved_gets_its_vector_by_one_request_and_no_search(
    commonplace: Commonplace,
) -> None:
    port = free_port()
    async with EmbeddingServer() as server:
        with_embedding(commonplace, server)
        (commonplace.memory / "before.md").write_text("# House\n\nThe boiler was serviced in May.\n")
        with service(commonplace, port) as process:
            await server.wait_for_requests(1)
            await health_of_vectors(port, "ok")
            (commonplace.memory / "trip.md").write_text("# Trip\n\nWe took the ferry to Oslo.\n")
            await server.wait_for_requests(2)
            await health_of_vectors(port, "ok")
            assert [len(asked.texts) for asked in server.requests] == [1, 1]
            assert "ferry" in server.requests[1].texts[0]
            process.send_signal(signal.SIGTERM)
            assert await asyncio.to_thread(process.wait, 10) == 0
            assert process.stderr
            log = process.stderr.read()
    assert log.count("embedding: openai: a key is in providers.openai") == 1
    assert "HTTP Request" not in log
    assert KEY not in log


@pytest.mark.thorough
async def test_a_talk_makes_vectors_but_leaves_the_watch_to_the_service(commonplace: Commonplace) -> None:
    async with EmbeddingServer() as server:
        with_embedding(commonplace, server)
        (commonplace.memory / "house.md").write_text("# House\n\nThe boiler was serviced in May.\n")
        with commonplace.start("chat", stdin=subprocess.PIPE) as process:
            assert process.stdin
            assert process.stdout
            await server.wait_for_requests(1)
            process.stdin.write("/status\n")
            process.stdin.close()
            printed = await asyncio.to_thread(process.stdout.read)
            assert await asyncio.to_thread(process.wait, 10) == 0
    assert "by meaning and by words, using text-embedding-3-small from openai: a key is in" in printed
    assert "Watching the folder" not in printed
    assert [len(asked.texts) for asked in server.requests] == [1]


@pytest.mark.thorough
async def test_a_service_whose_key_is_refused_goes_on_by_words(commonplace: Commonplace) -> None:
    port = free_port()
    async with EmbeddingServer() as server:
        with_embedding(commonplace, server, key="wr0ng-key")
        (commonplace.memory / "house.md").write_text("# House\n\nThe boiler was serviced in May.\n")
        with service(commonplace, port, stdin=subprocess.PIPE) as process:
            assert process.stdin
            assert process.stdout
            assert process.stderr
            await health_of_vectors(port, "failing")
            process.stdin.write("/recall boiler\n/status\n")
            process.stdin.close()
            printed = await asyncio.to_thread(process.stdout.read)
            assert await asyncio.to_thread(process.wait, 10) == 0
            log = process.stderr.read()
    assert "serviced in May" in printed
    assert "Search: by words alone for now" in printed
    assert "Vectors: 1 missing; openai answered 401" in printed
    assert "Last scan of all notes: " in printed
    assert log.count("answered 401") == 1
    assert "Traceback" not in log
    assert "wr0ng-key" not in printed + log


# -- what keeps it from starting ----------------------------------------------------------------------------


def test_a_port_in_use_is_one_line(commonplace: Commonplace) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        commonplace.environment["COMMONPLACE_SERVER__PORT"] = str(port)
        line = commonplace.error_of("run")
    assert str(port) in line
    assert "server.port" in line


@pytest.mark.thorough
def test_a_host_that_is_none_is_one_line(commonplace: Commonplace) -> None:
    commonplace.environment["COMMONPLACE_SERVER__HOST"] = "no.such.host.invalid"
    commonplace.environment["COMMONPLACE_SERVER__TOKEN"] = "a-token-that-is-secret"
    assert "no.such.host.invalid" in commonplace.error_of("run")


COMMANDS = [("run",), ("chat", "-m", "/status"), ("memory", "write", "x")]


@pytest.mark.parametrize("command", first_at_once(map(pytest.param, COMMANDS)))
def test_a_workspace_that_cannot_be_is_one_line(here: Commonplace, command: tuple[str, ...]) -> None:
    (here.folder / "file").write_text("not a folder")
    here.error_of(*command, "--workspace", "file")
    here.error_of(*command, "--workspace", "file/below")
    assert (here.folder / "file").read_text() == "not a folder"


@pytest.mark.thorough
@pytest.mark.skipif(is_root(), reason="root may write anywhere")
@pytest.mark.parametrize("command", [("run",), ("chat", "-m", "/status"), ("memory", "write", "x")])
def test_a_folder_without_permission_is_one_line(commonplace: Commonplace, command: tuple[str, ...]) -> None:
    (commonplace.folder / "workspace").chmod(0o500)
    commonplace.error_of(*command)


@pytest.mark.thorough
@pytest.mark.parametrize("damage", [b"", b"no database at all" * 100, b"SQLite format 3\0" + b"\xff" * 8000])
def test_a_damaged_index_is_mended_without_a_word(here: Commonplace, damage: bytes) -> None:
    here.memory.mkdir(parents=True)
    (here.memory / "house.md").write_text("The boiler was serviced in May\n")
    here.output_of("memory", "search", "boiler")
    index = here.folder / "workspace" / ".commonplace" / "index.db"
    index.write_bytes(damage)
    assert "serviced in May" in here.output_of("memory", "search", "boiler")


@pytest.mark.thorough
def test_damaged_conversations_are_one_line_and_stay_as_they_are(
    commonplace: Commonplace, here: Commonplace
) -> None:
    private = here.folder / "workspace" / ".commonplace"
    private.mkdir(parents=True)
    (private / "state.db").write_bytes(b"no database at all" * 1000)
    assert "state.db" in here.error_of("chat", "-m", "hello")
    assert "state.db" in commonplace.error_of("run")
    assert (private / "state.db").read_bytes() == b"no database at all" * 1000
    assert "It is not in the list of changes" in here.output_of(
        "memory", "write", "the memory works all the same"
    )
