import json
import os
import pty
import re
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from bot.version import VERSION
from tests.fakes.commonplace import ROOT, Commonplace, CommonplaceHere
from tests.fakes.model_server import KEY
from tests.fakes.openai_server import MODEL, OpenAIServer
from tests.fakes.stable_day import stable_day
from tests.fakes.threaded_server import run_in_thread


@pytest.fixture
def commonplace(tmp_path: Path) -> Commonplace:
    return CommonplaceHere(tmp_path)


@pytest.fixture
def with_notes(commonplace: Commonplace) -> Commonplace:
    return noted(commonplace)


@pytest.fixture
def process(tmp_path: Path) -> Commonplace:
    """The command with notes, as a process of its own."""
    return noted(Commonplace(tmp_path))


def noted(commonplace: Commonplace) -> Commonplace:
    commonplace.memory.mkdir(parents=True)
    (commonplace.memory / "house.md").write_text(
        "# House\n\n## Boiler\n\nThe boiler was serviced in May by Mr Öztürk.\n\n"
        "## Keys\n\nThe spare key is at Anna's.\n",
        "utf-8",
    )
    return commonplace


# -- usage --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("help", "doctr"), "doctr"),
        (("doctr",), "doctr"),
        (("memory",), "ACTION"),
        (("memory", "search"), "QUERY"),
        (("memory", "search", "x", "--batch", "-"), "either"),
        (("memory", "search", "x", "--limit", "0"), "'0'"),
        (("memory", "search", "x", "--limit", "-3"), "-3"),
        (("memory", "get", "a.md", "--line", "one"), "'one'"),
        (("memory", "write", "x", "--target", "weekly"), "weekly"),
        (("memory", "write"), "TEXT"),
        (("chat", "-m", "  "), "needs a message"),
        (("chat", "-m", "x", "--session", ""), "name"),
        (("chat", "-m", "x", "--session", "a\nb"), "name"),
        (("run", "now"), "now"),
        (("--frobnicate", "run"), "--frobnicate"),
        (("memory", "status", "--config", "nowhere.toml"), "nowhere.toml"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(
    commonplace: Commonplace, arguments: tuple[str, ...], told: str
) -> None:
    commonplace.memory.parent.rmdir()
    assert told in commonplace.error_of(*arguments, code=2)
    assert list(commonplace.folder.iterdir()) == []


def test_a_broken_setting_is_one_line_and_exit_code_2(commonplace: Commonplace) -> None:
    (commonplace.folder / "config.toml").write_text("[memory.search]\nfinal_top = 3\n")
    assert "memory.search.final_top_k" in commonplace.error_of("run", code=2)


def test_a_provider_that_quotes_a_secret_does_not_bring_it_to_light(commonplace: Commonplace) -> None:
    commonplace.environment["COMMONPLACE_SERVER__TOKEN"] = "hunter2"
    with run_in_thread(OpenAIServer()) as server:
        (commonplace.folder / "config.toml").write_text(
            f'[models]\nchain = ["openai/{MODEL}"]\n'
            f'[providers.openai]\nbase_url = "{server.base_url}"\napi_key = "{KEY}"\n'
        )
        server.always(server.fails(400, f"the key {KEY} and hunter2 are wrong"))
        assert "the key *** and *** are wrong" in commonplace.error_of("chat", "-m", "hello")


def test_a_key_of_whoever_runs_the_tests_is_not_used(
    with_notes: Commonplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:1")  # should it be used, it gets nowhere
    assert json.loads(with_notes.output_of("memory", "status", "--json"))["embedding_provider"] == "none"


@pytest.mark.parametrize(
    ("action", "promise"),
    [("status", "check that the embedding provider answers"), ("index", "vectors")],
)
def test_help_tells_that_somebody_may_be_asked_for_vectors(
    commonplace: Commonplace, action: str, promise: str
) -> None:
    shown = " ".join(commonplace.output_of("memory", action, "--help").split())
    assert promise in shown


@pytest.mark.parametrize("command", ["", "run", "chat", "init", "memory", "memory search"])
def test_every_command_explains_itself(commonplace: Commonplace, command: str) -> None:
    shown = commonplace.output_of(*command.split(), "--help")
    assert shown.startswith(f"usage: commonplace {command}".rstrip())
    assert "--config FILE" in shown
    assert "--workspace DIR" in shown


def test_without_a_command_and_for_help_the_help_is_shown(commonplace: Commonplace) -> None:
    shown = commonplace.output_of("--help")
    assert "\n    chat " in shown
    assert shown.endswith(f"\nDocumentation: {ROOT}\n")
    assert commonplace.output_of() == commonplace.output_of("help") == shown
    assert commonplace.output_of("help", "memory", "search") == commonplace.output_of(
        "memory", "search", "--help"
    )
    assert [file for file in commonplace.folder.rglob("*") if file.is_file()] == []


def test_version(commonplace: Commonplace) -> None:
    assert commonplace.output_of("--version") == f"commonplace {VERSION}\n"


@pytest.mark.parametrize("place", [0, 1, 2])
def test_common_options_may_stand_before_and_after_the_command(with_notes: Commonplace, place: int) -> None:
    (with_notes.folder / "workspace").rename(with_notes.folder / "elsewhere")
    arguments = ["memory", "search", "boiler"]
    arguments[place:place] = ["--workspace", "elsewhere"]
    assert "house.md:5" in with_notes.output_of(*arguments)


# -- memory -------------------------------------------------------------------------------------------------


def test_search_tells_place_headings_passage_and_score(with_notes: Commonplace) -> None:
    first, passage, *_ = with_notes.output_of("memory", "search", "boiler", "serviced").splitlines()
    assert re.fullmatch(r"house\.md:5  House > Boiler  0\.\d\d", first)
    assert passage == "    The boiler was serviced in May by Mr Öztürk."


def test_search_shows_since_when_a_fact_is_true(commonplace: Commonplace) -> None:
    commonplace.memory.mkdir(parents=True)
    for day, bank in (("2024-04-04", "Tomorrow"), ("2025-01-06", "Bunq")):
        (commonplace.memory / f"{day}.md").write_text(f"- Alma's bank is {bank}.\n", "utf-8")
    shown = commonplace.output_of("memory", "search", "Alma's bank")
    assert (
        "    - Alma's bank is Bunq.\n    Since 6 January 2025; before: “Alma's bank is Tomorrow” (4 April 2024)\n"
        in shown
    )
    assert (
        "    - Alma's bank is Tomorrow.\n    Told on 4 April 2024; changed since, see 2025-01-06.md:1\n"
        in shown
    )
    found = json.loads(commonplace.output_of("memory", "search", "Alma's bank", "--json"))["results"]
    assert [hit["superseded_by"] for hit in found] == [None, "2025-01-06.md:1"]


def test_search_as_json(with_notes: Commonplace) -> None:
    document = json.loads(with_notes.output_of("memory", "search", "spare key", "--json", "--limit", "1"))
    assert document["query"] == "spare key"
    assert set(document) == {"query", "results"}
    (hit,) = document["results"]
    assert set(hit) == {
        "path",
        "line_start",
        "line_end",
        "snippet",
        "score",
        "source",
        "heading",
        "told",
        "superseded_by",
        "says",
    }
    assert (hit["told"], hit["superseded_by"], hit["says"]) == (None, None, [])
    assert (hit["path"], hit["line_start"], hit["source"]) == ("house.md", 9, "fts")
    assert 0 < hit["score"] <= 1


def test_a_search_explains_which_words_matched(with_notes: Commonplace) -> None:
    note = with_notes.folder / "workspace" / "memory" / "kinder.md"
    note.write_text("Die Kinder und ihr Kindergarten\n", "utf-8")
    asked = ("memory", "search", "Kinder")
    shown = with_notes.output_of(*asked, "--explain")
    assert "    matched: Kinder; words that begin alike: Kindergarten\n" in shown
    first = json.loads(with_notes.output_of(*asked, "--explain", "--json"))["results"][0]
    assert first["matched"] == {"words": ["Kinder"], "forms": ["Kindergarten"]}
    assert "matched" not in with_notes.output_of(*asked, "--json")


def test_a_hit_without_a_word_of_the_query_is_explained_by_what_is_around_it(with_notes: Commonplace) -> None:
    note = with_notes.folder / "workspace" / "memory" / "talk.md"
    note.write_text(
        "Who repaired the bicycle?\nIt was Otto.\n\n- Which bicycle?\n- The green one.\n", "utf-8"
    )
    shown = with_notes.output_of("memory", "search", "Who repaired the bicycle then?", "--explain")
    told = "no word of its own matched; found by its headings, its note's name or the lines around it"
    assert f"    - The green one.\n    {told}\n" in shown


def test_no_form_of_a_month_is_explained_if_none_was_looked_for(with_notes: Commonplace) -> None:
    note = with_notes.folder / "workspace" / "memory" / "marcus.md"
    note.write_text("Marcus and his bicycle\n", "utf-8")
    shown = with_notes.output_of("memory", "search", "bicycles in March 2024", "--explain")
    assert "    matched: bicycle\n" in shown


def test_search_that_finds_nothing_is_no_failure(with_notes: Commonplace) -> None:
    assert with_notes.output_of("memory", "search", "giraffes") == "Nothing found.\n"
    assert json.loads(with_notes.output_of("memory", "search", "giraffes", "--json"))["results"] == []


def test_batch_gives_one_document_for_each_line_in_order(with_notes: Commonplace) -> None:
    queries = ["spare key", "", "boiler", "   ", 'AND "(*', "x" * 5000, "last without break"]
    printed = with_notes.output_of("memory", "search", "--batch", "-", stdin="\ufeff" + "\n".join(queries))
    documents = [json.loads(line) for line in printed.splitlines()]
    assert [document["query"] for document in documents] == [query.strip() for query in queries]
    assert documents[0]["results"][0]["line_start"] == 9
    assert documents[1]["results"] == documents[3]["results"] == []
    (with_notes.folder / "queries.txt").write_text("\n".join(queries), "utf-8")
    assert with_notes.output_of("memory", "search", "--batch", "queries.txt") == printed


@pytest.mark.thorough
def test_batch_answers_each_line_as_it_comes(process: Commonplace) -> None:
    with process.start("memory", "search", "--batch", "-", stdin=subprocess.PIPE) as running:
        assert running.stdin
        assert running.stdout
        for query in ("boiler", "key"):
            running.stdin.write(query + "\n")
            running.stdin.flush()
            assert json.loads(running.stdout.readline())["query"] == query
        running.stdin.close()
        assert running.wait(10) == 0


def test_batch_of_a_file_that_is_not_there(with_notes: Commonplace) -> None:
    assert "nowhere.txt" in with_notes.error_of("memory", "search", "--batch", "nowhere.txt")


def test_get_gives_the_note_as_it_is_and_takes_the_place_that_a_search_gave(with_notes: Commonplace) -> None:
    text = (with_notes.memory / "house.md").read_text("utf-8")
    assert with_notes.output_of("memory", "get", "house.md") == text
    assert with_notes.output_of("memory", "get", "house.md:5") == text.splitlines(keepends=True)[4]
    assert with_notes.output_of("memory", "get", "House:5") == text.splitlines(keepends=True)[4]
    assert with_notes.output_of("memory", "get", "house.md", "--line", "3", "--limit", "3") == "".join(
        text.splitlines(keepends=True)[2:5]
    )
    document = json.loads(with_notes.output_of("memory", "get", "house.md:3-5", "--json"))
    assert (document["path"], document["line_start"], document["line_end"]) == ("house.md", 3, 5)


@pytest.mark.parametrize(
    "path", ["nothing.md", "../../etc/passwd", "/etc/passwd", "house.txt", "a\nb.md", ""]
)
def test_get_of_what_is_no_note(with_notes: Commonplace, path: str) -> None:
    with_notes.error_of("memory", "get", path)


def test_write_tells_where(commonplace: Commonplace) -> None:
    day = stable_day()
    assert commonplace.output_of("memory", "write", "One", "fact") == f"Noted in {day}.md:3.\n"
    document = json.loads(commonplace.output_of("memory", "write", "Another", "--json", "--target", "core"))
    assert document == {"path": "MEMORY.md", "line_start": 3, "line_end": 3}
    assert (commonplace.memory / f"{day}.md").read_text("utf-8").endswith("\n- One fact\n")
    assert commonplace.output_of("memory", "write", "-", stdin="From a pipe\n") == f"Noted in {day}.md:4.\n"
    commonplace.error_of("memory", "write", " ")


def test_index_and_status(with_notes: Commonplace) -> None:
    assert "1 new" in with_notes.output_of("memory", "index")
    assert json.loads(with_notes.output_of("memory", "index", "--rebuild", "--json"))["added"] == 1
    assert "notes         1\n" in with_notes.output_of("memory", "status")
    status = json.loads(with_notes.output_of("memory", "status", "--json"))
    assert status["files"] == 1
    assert status["cache"] == {"entries": 0, "hits": 0, "misses": 0}
    assert set(status) >= {
        "files",
        "total_chunks",
        "chunks_with_embedding",
        "vector_search_enabled",
        "embedding_provider",
        "embedding_model",
        "dimensions",
        "vector_backend",
        "fts",
        "last_indexed_at",
    }


# -- what surrounds a process -------------------------------------------------------------------------------


@pytest.mark.thorough
def test_bytes_that_are_no_utf8_and_locales_that_know_none(process: Commonplace) -> None:
    document = json.loads(process.output_of("memory", "search", b"boiler \xff\xfe", "--json"))
    assert document["query"] == "boiler \ufffd\ufffd"
    for locale in (
        {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "ascii"},
    ):
        done = process("memory", "search", "Öztürk", environment=locale)
        assert (done.returncode, done.stderr) == (0, "")
        assert "Öztürk" in done.stdout


@pytest.mark.thorough
def test_whoever_stops_reading_is_no_error(process: Commonplace) -> None:
    (process.folder / "many.txt").write_text("boiler\n" * 2000)
    running = process.start("memory", "search", "--batch", "many.txt")
    assert running.stdout
    assert running.stderr
    running.stdout.readline()
    running.stdout.close()
    assert running.stderr.read() == ""
    running.stderr.close()
    assert running.wait(20) == 0


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_at_the_other_end_is_one_line(process: Commonplace) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*process.command, "memory", "search", "boiler"],
            cwd=process.folder,
            env=process.environment,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 1
    assert re.fullmatch(rb"commonplace: [^\n]+\n", done.stderr)


@pytest.mark.thorough
@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"])
def test_closed_streams_do_no_harm(process: Commonplace, closed: str) -> None:
    command = f'exec "{sys.executable}" -m bot memory write "a fact" {closed}'
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=process.folder,
        env=process.environment,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    (log,) = process.memory.glob("20*.md")
    assert log.read_text("utf-8").endswith("\n- a fact\n")


@pytest.mark.thorough
def test_ctrl_c_leaves_at_once_and_quietly(process: Commonplace) -> None:
    with process.start("memory", "search", "--batch", "-", stdin=subprocess.PIPE) as running:
        assert running.stdin
        assert running.stdout
        assert running.stderr
        running.stdin.write("boiler\n")
        running.stdin.flush()
        running.stdout.readline()
        running.send_signal(signal.SIGINT)
        assert running.wait(20) == 130
        assert running.stderr.read() == ""


def on_a_terminal(commonplace: Commonplace, *arguments: str, **environment: str) -> str:
    master, terminal = pty.openpty()
    process = subprocess.Popen(
        [*commonplace.command, *arguments],
        cwd=commonplace.folder,
        env={**commonplace.environment, "TERM": "xterm", **environment},
        stdin=subprocess.DEVNULL,
        stdout=terminal,
    )
    os.close(terminal)
    shown = b""
    while True:
        try:
            data = os.read(master, 65_536)
        except OSError:
            break
        if not data:
            break
        shown += data
    os.close(master)
    assert process.wait(10) == 0
    return shown.decode()


@pytest.mark.thorough
def test_colours_are_for_terminals_that_want_them(process: Commonplace) -> None:
    assert "\x1b[" in on_a_terminal(process, "memory", "search", "boiler")
    assert "\x1b[" not in on_a_terminal(process, "memory", "search", "boiler", NO_COLOR="1")
    assert "\x1b[" not in on_a_terminal(process, "memory", "search", "boiler", TERM="dumb")
    assert "\x1b[" not in process.output_of("memory", "search", "boiler")


@pytest.mark.thorough
def test_a_note_cannot_drive_the_terminal(process: Commonplace) -> None:
    attack = "evil \x1b]0;owned\x07 \x1b[2J \x9b31m \r over"
    (process.memory / "evil.md").write_text(attack, "utf-8")
    for arguments in (("search", "evil"), ("get", "evil.md"), ("search", "evil", "--json")):
        shown = on_a_terminal(process, "memory", *arguments)
        shown = re.sub(r"\x1b\[\d*m", "", shown).replace("\r\n", "\n")
        assert [letter for letter in shown if not letter.isprintable() and letter != "\n"] == []
        assert "evil" in shown
    assert process("memory", "get", "evil.md").stdout == attack.replace("\r", "\n")


@pytest.mark.thorough
def test_a_search_imports_nothing_that_it_does_not_need(process: Commonplace) -> None:
    code = (
        "import sys; from bot.cli.main import main; main(); "
        "print(*sorted({name.split('.')[0] for name in sys.modules}), *sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "memory", "search", "boiler"],
        cwd=process.folder,
        env=process.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "house.md:5" in done.stdout
    imported = set(done.stderr.split())
    assert imported & {"aiohttp", "httpx", "numpy", "rich", "prompt_toolkit", "telegram", "discord"} == set()
    assert (
        imported & {"bot.agent", "bot.app", "bot.assistant", "bot.state.database", "bot.models.protocol"}
        == set()
    )


# -- init ---------------------------------------------------------------------------------------------------


def test_init_writes_settings_that_work_and_never_over_others(commonplace: Commonplace) -> None:
    assert "config.toml" in commonplace.output_of("init", "home")
    file = commonplace.folder / "home" / "config.toml"
    assert file.read_text("utf-8") == (ROOT / "config.example.toml").read_text("utf-8")
    assert file.stat().st_mode & 0o077 == 0
    assert (commonplace.folder / "home" / "workspace" / "memory").is_dir()
    commonplace.output_of("memory", "status", "--config", "home/config.toml")
    file.write_text("mine")
    assert "left unchanged" in commonplace.error_of("init", "home")
    assert file.read_text() == "mine"


@pytest.mark.thorough
def test_init_where_no_folder_can_be_made(commonplace: Commonplace) -> None:
    (commonplace.folder / "file").write_text("")
    commonplace.error_of("init", "file/below")
    assert "left unchanged" not in commonplace.error_of("init", "file")


def test_init_keeps_the_notes_that_were_taken_without_settings(tmp_path: Path) -> None:
    commonplace = CommonplaceHere(tmp_path)
    commonplace.memory.parent.rmdir()
    commonplace.output_of("memory", "write", "The bicycle is blue.")
    notes = tmp_path / ".local/share/commonplace/memory"
    assert stat.S_IMODE(notes.parent.stat().st_mode) == 0o700
    assert str(notes) in commonplace.output_of("init")
    assert "bicycle" in commonplace.output_of("memory", "search", "bicycle")
    commonplace.output_of("init", "elsewhere")
    assert (tmp_path / "elsewhere/workspace/memory").is_dir()


def test_init_keeps_the_workspace_that_was_asked_for(commonplace: Commonplace) -> None:
    commonplace.output_of("init", "--workspace", "my notes")
    commonplace.output_of("memory", "write", "a fact")
    assert list((commonplace.folder / "my notes" / "memory").glob("20*.md"))
