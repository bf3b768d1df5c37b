"""Two installs are equal: each requirement is locked with its hashes, and uv is held to the locks."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))


def locked(name: str) -> dict[str, str]:
    """Name → version of a lock."""
    text = (ROOT / "requirements" / f"{name}.txt").read_text("utf-8")
    return dict(re.findall(r"^([\w.-]+)==([\w.+-]+)", text, flags=re.MULTILINE))


@pytest.fixture(scope="module")
def pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[^\w.-]", requirement)[0].lower() for requirement in requirements}


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.stem)
def test_every_locked_package_has_hashes_and_no_address(lock: Path) -> None:
    text = lock.read_text("utf-8")
    assert re.search(r"://|--(extra-)?index|--find-links", text) is None
    packages = re.split(r"^(?=\w)", text, flags=re.MULTILINE)[1:]
    assert packages
    assert [package for package in packages if "--hash=sha256:" not in package] == []


@pytest.mark.parametrize("place", ["scripts", "docker", ".ci", "Dockerfile", "Makefile", "compose.yaml"])
def test_where_packages_come_from_is_the_business_of_who_installs_them(place: str) -> None:
    found = ROOT / place
    files = [found] if found.is_file() else [file for file in sorted(found.rglob("*")) if file.is_file()]
    texts = {file.name: file.read_text("utf-8") for file in files if file.suffix != ".pyc"}
    assert texts
    hosts = re.compile(
        r"https?://(?!127\.0\.0\.1|localhost|host\.docker\.internal|\$)[\w.-]+|\b(?:debian|pypi|npmjs)\.org"
    )
    assert {name: hosts.findall(text) for name, text in texts.items() if hosts.search(text)} == {}


def test_every_requirement_is_locked(pyproject: dict[str, Any]) -> None:
    runtime, extras = pyproject["project"]["dependencies"], pyproject["project"]["optional-dependencies"]
    assert names(runtime) <= locked("runtime").keys()
    assert extras.keys() == {"local", "mcp", "postgres"}
    for name, requirements in (extras | pyproject["dependency-groups"]).items():
        assert names(requirements) <= locked(name).keys()
    assert names(pyproject["build-system"]["requires"]) <= locked("build").keys()


@pytest.mark.parametrize("library", ["discord-py", "python-telegram-bot"])
def test_a_library_whose_next_version_may_break_a_channel_has_an_upper_bound(
    pyproject: dict[str, Any], library: str
) -> None:
    (requirement,) = (each for each in pyproject["project"]["dependencies"] if names([each]) == {library})
    major = int(locked("runtime")[library].partition(".")[0])
    assert requirement.endswith(f",<{major + 1}")


@pytest.mark.parametrize("extra", ["mcp", "postgres"])
def test_people_and_tests_use_the_same_version_of_an_extra(extra: str) -> None:
    assert locked(extra).items() <= locked("dev").items()
    assert not locked(extra).keys() & locked("runtime").keys()


def test_what_is_compiled_for_minutes_stays_out_of_running_and_testing() -> None:
    assert "llama-cpp-python" not in locked("runtime").keys() | locked("dev").keys()
    assert not locked("local").keys() & locked("runtime").keys()


def test_tests_run_with_the_versions_that_people_run() -> None:
    assert locked("runtime").items() <= locked("dev").items()


@pytest.mark.parametrize(
    ("table", "locks"),
    [
        ("constraint-dependencies", ["dev", "local", "postgres-server", "release"]),
        ("build-constraint-dependencies", ["build", "local-build"]),
    ],
)
def test_uv_is_held_to_the_locks(pyproject: dict[str, Any], table: str, locks: list[str]) -> None:
    held = [
        requirement.partition(";")[0].strip().partition("==")
        for requirement in pyproject["tool"]["uv"][table]
    ]
    assert {name: version for name, _, version in held} == {
        name: version for lock in locks for name, version in locked(lock).items()
    }


def test_uv_knows_what_the_local_extra_requires_without_fetching_it(pyproject: dict[str, Any]) -> None:
    (metadata,) = pyproject["tool"]["uv"]["dependency-metadata"]
    assert {metadata["name"], *metadata["requires-dist"]} == locked("local").keys()


@pytest.mark.parametrize("file", ["Makefile", "Dockerfile"])
def test_only_what_is_loaded_of_llama_cpp_is_compiled(file: str) -> None:
    recipe = (ROOT / file).read_text("utf-8")
    named = re.findall(r"-DCMAKE_PROJECT_llama_cpp_INCLUDE='?[^ '\"]*/(requirements/\w+\.cmake)", recipe)
    assert named == ["requirements/llama_cpp.cmake"]
    options = (ROOT / named[0]).read_text("utf-8")
    for option in ("LLAVA_BUILD", "LLAMA_BUILD_COMMON"):
        assert f"set({option} OFF)" in options
