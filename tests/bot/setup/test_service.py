"""The step about running all the time: the files for systemd, launchd and Docker."""

import os
import plistlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bot.setup.errors import SetupFailed
from bot.setup.service_files import launchd_agent, service_command, systemd_unit
from tests.bot.setup.setting_up import answer, give, without_variables

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
        f'echo "$@" >>"{calls}"',
        f'test ! -e "{broken}" || {{ echo "no bus" >&2; exit 1; }}',
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
    await give(folder, "service", service="systemd", start="yes")
    assert "systemctl --user daemon-reload failed: no bus" in capsys.readouterr().out
    assert unit_in(folder).exists()


def test_the_unit_names_the_program_and_the_settings_by_whole_paths(folder: Path) -> None:
    config = folder / "my $HOME 100%" / "config.toml"
    unit = systemd_unit(config, {"XDG_CONFIG_HOME": str(folder / "xdg")})
    assert unit.path == folder / "xdg/systemd/user/commonplace.service"
    escaped = str(config).replace("%", "%%")
    assert f'--config "{escaped.replace("$", "$$")}"' in unit.text
    assert f"WorkingDirectory={folder}/my $HOME 100%%\n" in unit.text
    assert Path(service_command(config)[0]).is_absolute()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_takes_the_unit(folder: Path) -> None:
    for name in ("plain", "with a space", "100% $HOME"):
        config = folder / name / "config.toml"
        config.parent.mkdir()
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


def test_launchd_gets_a_property_list(folder: Path) -> None:
    config = folder / "a & b" / "config.toml"
    agent = launchd_agent(config, {})
    assert agent.path == folder / "Library/LaunchAgents/commonplace.plist"
    content = plistlib.loads(agent.text.encode())
    assert content["ProgramArguments"] == service_command(config)
    assert content["WorkingDirectory"] == str(config.parent)
    assert content["KeepAlive"] == {"SuccessfulExit": False}
    assert agent.start[0][:2] == ("launchctl", "bootstrap")


async def test_launchd_is_offered_on_a_mac(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    await answer(folder, "service", ("Number", "launchd"), ("Write it?", ""), ("Start it now", "n"))
    assert (folder / "Library/LaunchAgents/commonplace.plist").exists()


async def test_docker_gets_its_folders_and_its_settings(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SetupFailed, match="docker needs a clone"):
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
    await answer(folder, "service", ("Number", "docker"))
    assert (folder / "config" / "config.toml").read_text() == "# theirs\n"
    assert "was left unchanged" in capsys.readouterr().out
