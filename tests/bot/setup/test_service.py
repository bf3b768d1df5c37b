"""The step about running all the time: the files for systemd, launchd and Docker."""

import asyncio
import os
import plistlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bot.setup.errors import SetupFailed
from bot.setup.questions import Questions
from bot.setup.run import run_steps
from bot.setup.service_files import launchd_agent, service_command, systemd_unit
from bot.setup.settings_files import SettingsFiles
from bot.setup.setup import Setup
from tests.bot.setup.setting_up import answer, give, step_named, without_variables

ROOT = Path(__file__).parent.parent.parent.parent


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder, with a `systemctl` that notes how it is called."""
    without_variables(monkeypatch, ["XDG_CONFIG_HOME"])
    monkeypatch.setenv("HOME", str(tmp_path))
    programs = tmp_path / "bin"
    programs.mkdir()
    systemctl = programs / "systemctl"
    calls, broken = tmp_path / "calls", tmp_path / "broken"
    lines = (
        "#!/bin/sh",
        f'test -e config.toml || echo "without settings" >>"{calls}"',
        f'echo "$@" >>"{calls}"',
        f'test ! -e "{broken}" || {{ echo "Failed to connect to bus: No medium found" >&2; exit 1; }}',
    )
    systemctl.write_text("\n".join(lines) + "\n")
    systemctl.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.setattr(sys, "platform", "linux")
    return tmp_path


def unit_in(folder: Path) -> Path:
    return folder / ".config/systemd/user/commonplace.service"


async def test_the_unit_is_shown_then_written_and_started_only_if_asked(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await answer(folder, "service", ("Number", "2"), ("Write it?", "n"))
    assert not unit_in(folder).exists()
    await answer(folder, "service", ("Number", "systemd"), ("Write it?", "y"), ("Start it now", ""))
    said = capsys.readouterr().out
    assert f"    WorkingDirectory={folder}" in said
    assert "To start it: systemctl --user daemon-reload && " in said
    assert "loginctl enable-linger" in said
    assert not (folder / "calls").exists()
    await answer(folder, "service", ("Number", ""))
    said = capsys.readouterr().out
    assert f"Now: {unit_in(folder)}.\n" in said
    assert "1  keep it as it is\n" in said
    assert "Nothing has changed." in said
    await answer(folder, "service", ("Number", "2"), ("Start it now", "y"))
    assert "is up to date" in capsys.readouterr().out
    assert (folder / "calls").read_text().splitlines() == [
        "--user daemon-reload",
        "--user enable commonplace.service",
        "--user restart commonplace.service",
    ]


async def test_a_start_that_fails_is_told_and_the_unit_stays(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "broken").write_text("")
    await answer(folder, "service", ("Number", "2"), ("Write it?", ""), ("Start it now", "y"))
    said = capsys.readouterr().out
    assert "  systemctl --user daemon-reload failed: Failed to connect to bus: No medium found. " in said
    assert "`loginctl enable-linger" in said
    assert f"Running in the background: {unit_in(folder)}, not started yet\n" in said
    with pytest.raises(
        SetupFailed, match="daemon-reload failed"
    ):  # at a terminal, too, if the option asked for it
        await answer(folder, "service", given={"service": "systemd", "start": "yes"})
    with pytest.raises(SetupFailed, match="systemctl --user daemon-reload failed: Failed to connect"):
        await give(folder, "service", service="systemd", start="yes")
    assert unit_in(folder).exists()


async def test_the_settings_are_there_before_the_service_starts(folder: Path) -> None:
    await answer(folder, "service", ("Number", "2"), ("Write it?", ""), ("Start it now", "y"))
    assert "without settings" not in (folder / "calls").read_text()


async def test_ctrl_c_after_the_unit_was_written_says_so(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "config.toml").write_text("# mine\n")
    await answer(folder, "service", ("Number", "2"), ("Write it?", ""), ("Start it now", KeyboardInterrupt))
    said = capsys.readouterr().out
    assert f"Stopped. Already written: {unit_in(folder)}. To continue: " in said
    assert "Nothing" not in said
    await answer(folder, "service", ("Number", KeyboardInterrupt))
    assert "Stopped. Nothing has been written." in capsys.readouterr().out


async def test_another_unit_is_replaced_only_if_that_is_wanted(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    unit_in(folder).parent.mkdir(parents=True)
    unit_in(folder).write_bytes(b"# mine, from M\xfcnchen\n")
    await answer(folder, "service", ("Number", "2"), ("Replace it? [y/N]", ""))
    assert unit_in(folder).read_bytes() == b"# mine, from M\xfcnchen\n"
    assert "already exists with other content" in capsys.readouterr().out
    await answer(folder, "service", ("Number", "2"), ("Replace it? [y/N]", "y"), ("Start it now", ""))
    assert "ExecStart=" in unit_in(folder).read_text()


async def test_a_unit_that_is_masked_is_left_alone(folder: Path) -> None:
    """`systemctl mask` makes it a link to /dev/null, which must not become a file."""
    unit_in(folder).parent.mkdir(parents=True)
    os.mkfifo(folder / "null")
    unit_in(folder).symlink_to(folder / "null")
    with pytest.raises(SetupFailed, match="a pipe, a socket or a device"):
        await give(folder, "service", service="systemd")
    assert (folder / "null").is_fifo()


def test_the_unit_names_the_program_and_the_settings_by_whole_paths(folder: Path) -> None:
    config = folder / "my $HOME 100%" / "config.toml"
    unit = systemd_unit(config, {"XDG_CONFIG_HOME": str(folder / "xdg")})
    assert unit.path == folder / "xdg/systemd/user/commonplace.service"
    escaped = str(config).replace("%", "%%")
    assert f'--config "{escaped.replace("$", "$$")}"' in unit.text
    assert f"WorkingDirectory={folder}/my $HOME 100%%\n" in unit.text
    assert Path(service_command(config)[0]).is_absolute()
    # The specification of XDG: a relative path does not count.
    home = folder / ".config/systemd/user/commonplace.service"
    assert systemd_unit(config, {"XDG_CONFIG_HOME": "elsewhere"}).path == home


ODD_NAMES = ("plain", "with a space", "100% $HOME", "it's", 'a "b"', "back\\slash", "ü;#~", "' '")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_takes_the_unit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ODD_NAMES:
        config = folder / name / "config.toml"
        config.parent.mkdir()
        program = folder / name / "commonplace"
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(folder / name / "python"))
        unit = systemd_unit(config, {})
        file = folder / name / "commonplace.service"
        file.write_text(unit.text)
        found = subprocess.run(
            ["systemd-analyze", "verify", "--user", "--man=no", str(file)],
            env={"PATH": os.environ["PATH"], "HOME": str(folder), "XDG_RUNTIME_DIR": str(folder)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (found.returncode, found.stderr) == (0, ""), name


def test_a_path_that_a_unit_cannot_hold_is_refused(folder: Path) -> None:
    for name in ("a\nExecStartPre=b", "tab\there", "ends with \\", "ends with a space "):
        with pytest.raises(SetupFailed, match="systemd cannot use the folder"):
            systemd_unit(folder / name / "config.toml", {})
    with pytest.raises(SetupFailed, match="launchd cannot use the folder"):
        launchd_agent(folder / "a\x01b" / "config.toml", {})


def test_launchd_gets_a_property_list(folder: Path) -> None:
    config = folder / "a & b" / "config.toml"
    agent = launchd_agent(config, {})
    assert agent.path == folder / "Library/LaunchAgents/commonplace.plist"
    content = plistlib.loads(agent.text.encode())
    assert content["ProgramArguments"] == service_command(config)
    assert content["WorkingDirectory"] == str(config.parent)
    assert content["KeepAlive"] == {"SuccessfulExit": False}
    # An agent that runs is stopped first: launchd takes each only once.
    assert agent.stop == ("launchctl", "bootout", f"gui/{os.getuid()}/commonplace")
    assert agent.start[0][:2] == ("launchctl", "bootstrap")


@pytest.mark.skipif(shutil.which("plutil") is None, reason="plutil is not installed")
def test_the_linter_of_macos_takes_the_property_list(folder: Path) -> None:
    file = folder / "commonplace.plist"
    file.write_text(launchd_agent(folder / "a & b" / "config.toml", {}).text, "utf-8")
    done = subprocess.run(["plutil", "-lint", "-s", str(file)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


async def test_launchd_is_offered_on_a_mac(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    await answer(folder, "service", ("Number", "launchd"), ("Write it?", ""), ("Start it now", "n"))
    assert (folder / "Library/LaunchAgents/commonplace.plist").exists()


async def test_docker_gets_its_folders_and_its_settings(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SetupFailed, match="Docker needs a clone"):
        await give(folder, "service", service="docker")
    (folder / "docker").mkdir()
    shutil.copy2(ROOT / "docker/setup", folder / "docker/setup")
    shutil.copy2(ROOT / "compose.yaml", folder)
    (folder / "config.toml").write_text('# mine\n[models]\nchain = ["ollama/qwen3"]\n')
    (folder / "secrets.toml").write_text('[server]\ntoken = "t"\n')
    await answer(folder, "service", ("Number", "docker"))
    said = capsys.readouterr().out
    assert "HOST_UID=" in (folder / ".env").read_text()
    copied = (folder / "config" / "config.toml").read_text()
    assert copied.startswith('# mine\n[models]\nchain = ["ollama/qwen3"]\n')
    assert 'host = "0.0.0.0"' in copied
    assert (folder / "config/secrets.toml").stat().st_mode & 0o777 == 0o600
    assert "host" not in (folder / "config.toml").read_text()
    assert "docker compose up -d" in said
    assert "host.docker.internal" in said
    (folder / "config" / "config.toml").write_text("# theirs\n")
    (folder / "secrets.toml").write_text('[server]\ntoken = "u"\n')
    await answer(folder, "service", ("Number", "docker"))
    assert '"t"' in (folder / "config" / "secrets.toml").read_text()
    assert (folder / "config" / "config.toml").read_text() == "# theirs\n"
    assert "was left unchanged" in capsys.readouterr().out


async def test_the_container_gets_settings_of_any_name_as_config_toml(folder: Path) -> None:
    (folder / "docker").mkdir()
    shutil.copy2(ROOT / "docker/setup", folder / "docker/setup")
    shutil.copy2(ROOT / "compose.yaml", folder)
    (folder / "mine.toml").write_bytes(b'# mine\r\ntimezone = "Asia/Tokyo"\r\n')

    def take() -> None:
        with asyncio.Runner() as runner:
            files = SettingsFiles(folder / "mine.toml")
            run_steps(
                Setup(files, Questions({"service": "docker"}), os.environ, runner), [step_named("service")]
            )

    await asyncio.to_thread(take)
    assert (folder / "config/config.toml").read_bytes() == b'# mine\r\ntimezone = "Asia/Tokyo"\r\n'
    assert not (folder / "config/mine.toml").exists()
