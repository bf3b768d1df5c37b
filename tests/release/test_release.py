"""What `make release` refuses, and what it builds. The tools for it are in an environment of their own."""

import email
import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from bot.version import VERSION
from scripts import release
from scripts.release import ReleaseFailed
from tests.fakes.commonplace import leads_elsewhere

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / ".venv" / "release-tools" / "bin"
NETWORK = {name: value for name, value in os.environ.items() if leads_elsewhere(name)}
"""How this machine reaches a registry, before the fixture for all tests takes it away."""
needs_tools = pytest.mark.skipif(
    not (TOOLS.parent / "installed").exists(),
    reason="the tools for a release are not installed; make release-tools",
)


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "core.hooksPath=/dev/null"]
    return subprocess.run(
        ["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True
    ).stdout


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository with a version and a changelog that names it."""
    folder = tmp_path / "clone"
    (folder / "bot").mkdir(parents=True)
    (folder / "bot/version.py").write_text('VERSION = "1.2.3"\n', "utf-8")
    (folder / "CHANGELOG.md").write_text("# Changelog\n\n## [1.2.3] - 2026-12-01\n\n- A news.\n", "utf-8")
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "First")
    return folder


def test_what_is_not_committed_is_named(clone: Path) -> None:
    release.check_tree(clone)
    (clone / "note.txt").write_text("mine\n", "utf-8")
    with pytest.raises(ReleaseFailed, match=r"not everything is committed \(note\.txt\)"):
        release.check_tree(clone)


@pytest.mark.parametrize(
    ("changelog", "told"),
    [
        ("## [Unreleased]\n\n- A news.\n", "has no section for this version: begin one with"),
        ("## [1.2.30] - 2026-12-01\n\n- A news.\n", "has no section for this version"),
        ("## [1.2.3]\n\n- A news.\n", "has no section for this version"),
        (
            "## [1.2.3] - 2026-12-01\n\n## [1.2.2] - 2026-11-01\n\n- Old.\n",
            "says nothing about version 1.2.3",
        ),
    ],
)
def test_a_version_that_the_changelog_does_not_have_is_refused(
    clone: Path, changelog: str, told: str
) -> None:
    release.check_changelog(clone, release.find_version(clone))
    (clone / "CHANGELOG.md").write_text(f"# Changelog\n\n{changelog}", "utf-8")
    with pytest.raises(ReleaseFailed, match=told):
        release.check_changelog(clone, "1.2.3")


def test_a_version_that_was_released_from_another_commit_is_refused(clone: Path) -> None:
    release.check_tag(clone, "1.2.3")
    git(clone, "tag", "--annotate", "-m", "1.2.3", "v1.2.3")
    release.check_tag(clone, "1.2.3")
    git(clone, "commit", "--quiet", "--allow-empty", "-m", "Second")
    with pytest.raises(ReleaseFailed, match=r"v1\.2\.3 is the tag of another commit"):
        release.check_tag(clone, "1.2.3")


def test_the_version_of_the_program_is_that_of_the_release() -> None:
    assert release.find_version(ROOT) == VERSION


def test_a_command_that_fails_is_told_with_what_it_said(tmp_path: Path) -> None:
    with pytest.raises(ReleaseFailed, match=r"failed with 3:\nout$"):
        release.run([sys.executable, "-c", "print('out'); raise SystemExit(3)"], tmp_path)


def test_checksums_are_those_that_sha256sum_reads(tmp_path: Path) -> None:
    file = tmp_path / "a.whl"
    file.write_bytes(b"wheel")
    release.write_checksums([file], tmp_path / "SHA256SUMS")
    assert (tmp_path / "SHA256SUMS").read_text() == f"{hashlib.sha256(b'wheel').hexdigest()}  a.whl\n"


# -- what is built ------------------------------------------------------------------------------------------


def with_tools(call: str, environment: Mapping[str, str] | None = None) -> None:
    """Do something in the environment that has the tools."""
    code = f"from pathlib import Path; from scripts import release; {call}"
    done = subprocess.run(
        [TOOLS / "python", "-c", code],
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The sdist and the wheel of the last commit, which `build` has compared."""
    target = tmp_path_factory.mktemp("dist")
    with_tools(f"release.build(Path({str(ROOT)!r}), Path({str(target)!r}))")
    sdist, wheel = sorted(target.iterdir(), key=lambda file: file.suffix)
    return sdist, wheel


def committed(*folders: str) -> set[str]:
    return set(git(ROOT, "ls-tree", "-r", "--name-only", "HEAD", *folders).splitlines())


@needs_tools
@pytest.mark.thorough
def test_the_wheel_holds_the_packages_and_the_documents_and_nothing_else(built: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(built[1]) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
        documents = {name for name in names if "/data/share/doc/commonplace/" in name}
        assert names - documents == {name.replace('"', "") for name in committed("adapters", "bot", "memory")}
        assert {name.partition("/commonplace/")[2] for name in documents} == {
            name
            for name in committed("README.md", "CHANGELOG.md", "docs")
            if not name.startswith("docs/pictures/pages/")
        }
        licence = [name for name in wheel.namelist() if name.endswith("licenses/LICENSE")]
        assert wheel.read(licence[0]) == (ROOT / "LICENSE").read_bytes()
        (path,) = (name for name in wheel.namelist() if name.endswith("/METADATA"))
        metadata = email.message_from_bytes(wheel.read(path))
    assert f'"{metadata["Version"]}"' in git(ROOT, "show", "HEAD:bot/version.py")
    assert set(metadata.get_all("Provides-Extra", [])) == {"local", "mcp", "postgres"}


@needs_tools
@pytest.mark.thorough
def test_the_sdist_holds_only_what_is_committed(built: tuple[Path, Path]) -> None:
    with tarfile.open(built[0]) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert names - {"PKG-INFO"} <= committed()
    assert {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "docs/operations.md"} <= names


@needs_tools
@pytest.mark.thorough
def test_a_registry_would_take_both(built: tuple[Path, Path]) -> None:
    with_tools(
        f"release.check_files(Path({str(ROOT)!r}), [Path(each) for each in {list(map(str, built))!r}])"
    )


@needs_tools
@pytest.mark.thorough
def test_the_bill_of_materials_names_what_is_installed(built: tuple[Path, Path], tmp_path: Path) -> None:
    target = tmp_path / "bill.json"
    with_tools(
        f"release.write_sbom(Path({str(ROOT)!r}), Path({str(built[1])!r}), '1.2.3', Path({str(target)!r}))",
        environment=NETWORK,
    )
    bill = json.loads(target.read_text("utf-8"))
    assert (bill["bomFormat"], bill["metadata"]["component"]["version"]) == ("CycloneDX", "1.2.3")
    locked = re.findall(r"^([\w.-]+)==", (ROOT / "requirements/runtime.txt").read_text("utf-8"), re.MULTILINE)
    named = {re.sub("[._]", "-", each["name"].lower()) for each in bill["components"]}
    assert named <= set(locked)
    assert named >= {"aiohttp", "apsw", "discord-py", "python-telegram-bot", "sqlite-vec"}
    assert str(ROOT) not in target.read_text("utf-8")
