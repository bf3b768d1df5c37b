"""Whatever stands in config.toml: it is used, or refused with one line; nothing else ever comes of it."""

import json
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from bot.config.schema import known_keys
from bot.config.settings import ConfigError, Settings, load_settings
from tests.fakes.commonplace import CommonplaceHere

quick = settings(
    max_examples=25, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
EXAMPLE = (Path(__file__).parent.parent / "config.example.toml").read_bytes()
UNCOMMENTED = b"\n".join(
    line.removeprefix(b"# ")
    for line in EXAMPLE.splitlines()
    if line.startswith((b"[", b"# [")) or b" = " in line
)
KEYS = [".".join(map(str, keys)) for keys in known_keys(Settings)]

odd = st.sampled_from(
    [
        *(
            b"=",
            b"[",
            b"]",
            b"[[",
            b".",
            b'"',
            b"'''",
            b"\\u",
            b"\x00",
            b"\xff",
            b"\r",
            b"\n",
            b"#",
            b"{",
            b"}",
            b",",
        ),
        *(
            b"nan",
            b"inf",
            b"-1",
            b"9" * 5000,
            b"0x",
            b"1e999",
            b"true",
            b"1979-05-27",
            b"07:32:00",
            b"\xef\xbb\xbf",
        ),
        *(
            b"[" * 2000,
            b"{a=" * 2000,
            b"a." * 2000,
            b'"telegram:*"',
            b"postgresql://u:p@h/d",
            b"\\ud800",
            b"~",
        ),
    ]
)
damages = st.tuples(st.floats(0, 1), st.integers(0, 30), odd | st.binary(max_size=4))
values = st.recursive(
    st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=12)
    | st.sampled_from(
        ["", "telegram:*", "builtin/notebook", "openai/x", "0.0.0.0", "UTC", "../..", "~", "http://[", "3:61"]
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=4,
)


def damaged(whole: bytes, made: list[tuple[float, int, bytes]]) -> bytes:
    for at, gone, instead in made:
        start = int(at * len(whole))
        whole = whole[:start] + instead + whole[start + gone :]
    return whole


def string(text: str) -> str:
    """Of what TOML wants escaped, JSON leaves one character as it is."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml(value: Any) -> str:
    match value:
        case dict():
            return "{" + ", ".join(f"{string(key)} = {toml(each)}" for key, each in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(toml, value)) + "]"
        case bool():
            return str(value).lower()
        case float() | int():
            return repr(value)
        case _:
            return string(value)


broken = st.binary(max_size=80) | st.builds(
    damaged, st.sampled_from([EXAMPLE, UNCOMMENTED]), st.lists(damages, min_size=1, max_size=3)
)
settled = st.lists(
    st.tuples(st.sampled_from(KEYS), values), min_size=1, max_size=3, unique_by=lambda pair: pair[0]
).map(lambda pairs: "\n".join(f"{key} = {toml(value)}" for key, value in pairs).encode())


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def assert_used_or_refused(folder: Path, content: bytes) -> None:
    file = folder / "config.toml"
    file.write_bytes(content)
    told = ""
    try:
        load_settings(file)
    except ConfigError as error:
        told = str(error)
    assert told.isprintable(), content
    assert len(told) < 2000, content


def test_the_example_and_all_of_its_keys_are_toml() -> None:
    tomllib.loads(EXAMPLE.decode())
    assert len(UNCOMMENTED) > len(EXAMPLE) // 8


@quick
@given(settled)
def test_any_value_of_any_key_is_used_or_refused_with_one_line(folder: Path, content: bytes) -> None:
    try:
        tomllib.loads(content.decode())
    except tomllib.TOMLDecodeError:  # two of the keys do not go together
        reject()
    assert_used_or_refused(folder, content)


@quick
@given(broken)
def test_any_file_is_used_or_refused_with_one_line(folder: Path, content: bytes) -> None:
    assert_used_or_refused(folder, content)


@pytest.mark.thorough
@settings(quick, max_examples=400)
@given(settled | broken)
def test_any_of_many_files_is_used_or_refused_with_one_line(folder: Path, content: bytes) -> None:
    assert_used_or_refused(folder, content)


@settings(quick, max_examples=6)
@given(st.builds(damaged, st.just(UNCOMMENTED), st.lists(damages, min_size=1, max_size=2)))
def test_the_command_line_says_one_line_about_it(folder: Path, content: bytes) -> None:
    (folder / "config.toml").write_bytes(content)
    done = CommonplaceHere(folder)("memory", "status", "--config", "config.toml", "--workspace", "here")
    if done.returncode:
        assert done.returncode in (1, 2)
        assert done.stdout == ""
        assert done.stderr.startswith("commonplace: ")
        assert done.stderr.count("\n") == 1
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "content", [b"a = " + b"[" * 100_000, b"a = " + b"{a=" * 5000, b"a." * 1000 + b"a = 1"]
)
def test_what_is_nested_deeply_is_refused(folder: Path, content: bytes) -> None:
    (folder / "config.toml").write_bytes(content)
    with pytest.raises(ConfigError) as refused:
        load_settings(folder / "config.toml")
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 2000
