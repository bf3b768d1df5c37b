"""Every command that the pages show is one: most are run, the others are known by name."""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bot.cli.main import build_parser
from scripts.print_transcript import (
    PAGES,
    SKIPPED_COMMANDS,
    Shell,
    StalePage,
    command_program,
    find_blocks,
    print_transcripts,
)

ROOT = Path(__file__).parent.parent
EVERY_PAGE = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("benchmarks/*.md")]
TESTED_ELSEWHERE = {
    "docs/telegram.md": "tests/test_telegram_docs.py",
    "docs/discord.md": "tests/test_discord_docs.py",
    "docs/docker.md": "tests/test_docker.py",
    "docs/security.md": "tests/test_security_docs.py",
    "docs/importing.md": "tests/test_importing_docs.py",
    "docs/vault.md": "tests/bot/cli/test_vault.py",
    "docs/setup.md": "tests/bot/cli/test_init.py",
}
"""Pages with commands that are gone through by a test of their own."""
OF_DEVELOPERS = {"make", ".venv/bin/python"}
"""Programs that CONTRIBUTING.md and benchmarks/README.md call: targets and scripts, which are looked for."""
OPERATIONS = (ROOT / "docs/operations.md").read_text("utf-8")


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def commands(page: Path) -> Iterator[str]:
    for block in find_blocks(page.read_text("utf-8")):
        yield from block.commands


def inline(page: Path) -> Iterator[str]:
    """Calls of `commonplace` within the text."""
    prose = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    for call in re.findall(r"`(?:\.venv/bin/)?commonplace ([^`]+)`", prose):
        yield call.replace("\n", " ")


def block(language: str, page: str = OPERATIONS) -> str:
    found = re.search(rf"^```{language}\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)
    assert found
    return found[1]


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    with closing(Shell(tmp_path)) as shell:
        yield shell


# -- pages --------------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_commands_of_a_page_work_and_say_what_stands_below_them(page: Path) -> None:
    before = page.read_text("utf-8")
    assert print_transcripts(before) == before, "run: make docs"


@pytest.mark.parametrize("page", EVERY_PAGE, ids=name)
def test_every_page_with_commands_is_gone_through(page: Path) -> None:
    if page in PAGES or not list(commands(page)):
        return
    if elsewhere := TESTED_ELSEWHERE.get(name(page)):
        assert Path(name(page)).name in (ROOT / elsewhere).read_text("utf-8")
        return
    for command in commands(page):
        assert command_program(command) in OF_DEVELOPERS, command
        if command_program(command) == ".venv/bin/python":
            assert (ROOT / shlex.split(command)[1]).is_file(), command


def test_only_what_cannot_be_run_here_is_not_run() -> None:
    called = {command_program(command) for page in PAGES for command in commands(page)}
    assert set(SKIPPED_COMMANDS) <= called
    assert "commonplace" in called
    assert "curl" in called


@pytest.mark.parametrize("page", [*PAGES, *(ROOT / each for each in TESTED_ELSEWHERE)], ids=name)
def test_calls_within_the_text_can_be_made(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for call in inline(page) if page.exists() else ():
        code, told = _parsed(call), capsys.readouterr().err
        assert code == 0 or "arguments are required" in told, told  # then it is only spoken of


def _parsed(call: str) -> int:
    try:
        build_parser().parse_args(shlex.split(call))
    except SystemExit as leaving:
        return int(leaving.code or 0)
    return 0


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_what_make_is_called_for_is_a_target(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for command in commands(page):
        if command_program(command) == "make":
            assert f"\n{shlex.split(command, comments=True)[1]}:" in makefile, command


def test_the_unit_of_systemd_starts_what_there_is() -> None:
    unit = block("ini")
    settings = dict(line.split("=", 1) for line in unit.splitlines() if "=" in line)
    program, *arguments = settings["ExecStart"].split()
    assert program == f"{settings['WorkingDirectory']}/.venv/bin/commonplace"
    assert build_parser().parse_args(arguments).command == "run"
    assert settings["ExecReload"].endswith("kill -HUP $MAINPID")
    assert settings["RestartPreventExitStatus"] == "2"


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not here")
def test_systemd_can_read_the_unit(tmp_path: Path) -> None:
    """Made to start programs that are here, since it looks for them."""
    unit = block("ini").replace("User=anna\n", "").replace("After=network-online.target\n", "")
    unit = unit.replace("Wants=network-online.target\n", "").replace("/home/anna/commonplace", str(tmp_path))
    program = tmp_path / ".venv/bin/commonplace"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n", "utf-8")
    program.chmod(0o755)
    file = tmp_path / "commonplace.service"
    file.write_text(unit, "utf-8")
    command = ["systemd-analyze", "verify", "--man=no", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    told = [line for line in done.stderr.splitlines() if "commonplace.service" in line]
    assert told == []


# -- how a page is gone through -----------------------------------------------------------------------------


def test_a_page_is_printed_with_what_its_commands_say_and_day_and_home_as_they_were() -> None:
    page = "```sh\nWORD=hello   # kept for later\n```\n\n```console\n$ echo $WORD\nold\n\n$ pwd; date -u +%F\n```\n"
    assert print_transcripts(page) == (
        "```sh\nWORD=hello   # kept for later\n```\n\n```console\n$ echo $WORD\nhello\n\n$ pwd; date -u +%F\n"
        "/home/anna\n2026-11-21\n```\n"
    )


@pytest.mark.parametrize("command", ["false", "echo wrong >&2", "no-such-program", "exit 3"])
def test_a_command_that_fails_or_complains_is_named(command: str, shell: Shell) -> None:
    with pytest.raises(StalePage, match=re.escape(command)):
        shell.run(command)


def test_a_function_of_the_shell_is_one_command_and_so_is_a_line_that_goes_on() -> None:
    (both,) = find_blocks("```sh\n# a comment\nsay() {\n  echo \\\n    hi\n}\nsay \\\n  again\n```\n")
    assert both.commands == ("say() {\n  echo \\\n    hi\n}", "say \\\n  again")


@pytest.mark.thorough
def test_a_stale_page_is_named(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```console\n$ echo new\nold\n```\n", "utf-8")
    command = [sys.executable, str(ROOT / "scripts/print_transcript.py"), "--check", str(page)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "page.md: the transcript is not what happens" in done.stderr
    subprocess.run([each for each in command if each != "--check"], check=True)
    assert page.read_text("utf-8") == "```console\n$ echo new\nnew\n```\n"
