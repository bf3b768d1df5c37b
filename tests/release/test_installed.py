"""The wheel, installed as people install it: by pipx, and by uv, without the clone."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from bot.version import VERSION
from tests.fakes.commonplace import leads_elsewhere

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / ".venv" / "release-tools" / "bin"
pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(
        not (TOOLS.parent / "installed").exists(),
        reason="the tools for a release are not installed; make release-tools",
    ),
]
NETWORK = {name: value for name, value in os.environ.items() if leads_elsewhere(name)}
"""How this machine reaches a registry, before the fixture for all tests takes it away; the program does not get it."""
INSTALLERS = {
    "pipx": ["pipx", "install", "--python", sys.executable],
    "uv": ["uv", "tool", "install", "--no-config", "--python", sys.executable],
}


class Installed:
    """The command as one installer has left it, in a home of its own, beside nothing of the clone."""

    def __init__(self, home: Path, installer: str, wheel: Path) -> None:
        self.home = home
        others = ("PYTHON", "COMMONPLACE_", "XDG_")
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(others)},
            "HOME": str(home),
            "PIPX_HOME": str(home / "pipx"),
            "PIPX_BIN_DIR": str(home / "bin"),
            "UV_TOOL_DIR": str(home / "tools"),
            "UV_TOOL_BIN_DIR": str(home / "bin"),
            "UV_PYTHON_DOWNLOADS": "never",
            "PATH": f"{home / 'bin'}:{TOOLS}:/usr/bin:/bin",
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
        }
        program, *arguments = INSTALLERS[installer]
        self.install(str(TOOLS / program), *arguments, str(wheel))

    def install(self, *command: str) -> None:
        """Run what installs something."""
        done = self(*command, environment=NETWORK)
        assert done.returncode == 0, done

    def __call__(
        self, *command: str, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=self.home,
            env={**self.environment, **(environment or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    def output_of(self, *command: str) -> str:
        done = self(*command)
        assert done.returncode == 0, done
        return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("wheel")
    build: list[str | Path] = [
        TOOLS / "python",
        "-m",
        "build",
        "--quiet",
        "--no-isolation",
        "--wheel",
        "--outdir",
        target,
        ROOT,
    ]
    subprocess.run(build, capture_output=True, check=True)
    (file,) = target.iterdir()
    return file


@pytest.fixture(scope="module", params=INSTALLERS)
def installed(
    request: pytest.FixtureRequest, wheel: Path, tmp_path_factory: pytest.TempPathFactory
) -> Installed:
    return Installed(tmp_path_factory.mktemp(request.param), request.param, wheel)


def test_it_is_set_up_talks_and_finds_nothing_wrong(installed: Installed) -> None:
    assert installed.output_of("commonplace", "--version") == f"commonplace {VERSION}\n"
    told = installed.output_of(
        "commonplace", "init", "--yes", "--name", "Robin", "--timezone", "Europe/Berlin"
    )
    assert "make " not in told
    assert 'name = "Robin"' in (installed.home / "config.toml").read_text("utf-8")
    noted = installed.output_of("commonplace", "chat", "-m", "Remember that the spare key is at Tom's")
    assert "Noted in `" in noted
    found = installed.output_of("commonplace", "chat", "-m", "Where is the spare key?")
    assert "The spare key is at Tom's." in found
    checks = installed.output_of("commonplace", "doctor")
    assert f"commonplace  {VERSION}\n" in checks
    assert [line for line in checks.splitlines() if line.startswith("fail")] == []
    assert str(ROOT) not in told + noted + found + checks


def test_the_pages_that_texts_name_come_along(installed: Installed) -> None:
    folder = Path(installed.output_of("commonplace", "help").rpartition("\nDocumentation: ")[2].rstrip("\n"))
    assert folder.is_relative_to(installed.home)
    for page in ("README.md", "CHANGELOG.md", "docs/models.md", "docs/pictures/status.png"):
        assert (folder / page).read_bytes() == (ROOT / page).read_bytes(), page
    assert not (folder / "docs" / "pictures" / "pages").exists()


def test_texts_in_other_languages_come_along(installed: Installed) -> None:
    told = installed.output_of(
        "env", "LC_ALL=de_DE.UTF-8", "LANG=de_DE.UTF-8", "commonplace", "chat", "-m", "/help"
    )
    assert "Erinnerung" in told


def test_what_is_missing_is_told_with_a_command_that_installs_it(installed: Installed) -> None:
    done = installed("commonplace", "mcp")
    assert done.returncode == 1
    command = done.stderr.removesuffix("\n").partition(": run ")[2]
    assert command.startswith(("pipx inject commonplace ", "uv pip install --python "))
    installed.install("sh", "-c", command)
    assert "the library for MCP is not installed" not in installed("commonplace", "mcp").stderr
