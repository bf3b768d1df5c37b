import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

from bot.config.example import example_config, field_explanations, sections
from bot.config.schema import known_keys
from bot.config.settings import Settings, load_settings

ROOT = Path(__file__).parent.parent


@cache
def example() -> str:
    return example_config()


@pytest.fixture
def no_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import os

    for name in list(os.environ):
        if name.upper().startswith("COMMONPLACE_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("model", [each.model for each in sections()], ids=lambda model: model.__name__)
def test_every_setting_is_explained_in_at_most_two_short_lines(model: type[Settings]) -> None:
    text = field_explanations(model)
    section_names = {each.keys[-1] for each in sections() if each.keys} | {"params", "providers", "tokens"}
    for name in model.model_fields.keys() - section_names:
        assert text[name].endswith("."), name
        assert len(text[name].splitlines()) <= 2, name
        assert len(text[name]) <= 160, name


@pytest.mark.parametrize("model", [each.model for each in sections() if each.keys], ids=str)
def test_every_section_is_explained(model: type[Settings]) -> None:
    assert model.__doc__
    assert len(model.__doc__.splitlines()) == 1


@pytest.mark.usefixtures("no_environment")
def test_the_example_settings_equal_the_defaults(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(example(), "utf-8")
    assert load_settings(file) == load_settings(None, tmp_path / "workspace")


@pytest.mark.usefixtures("no_environment")
def test_the_examples_within_the_example_settings_work_too(tmp_path: Path) -> None:
    text = re.sub(r"^#(?=\S)", "", example(), flags=re.MULTILINE)
    text = text.replace("put-your-own-secret-here", "my-own-secret-as-told")
    file = tmp_path / "config.toml"
    file.write_text(text, "utf-8")
    settings = load_settings(file)
    assert settings.providers["openai"].kind == "openai"
    assert settings.models.params["openai/gpt-4.1"].temperature == 0.7


def test_the_example_settings_hold_every_key() -> None:
    tables = tomllib.loads(re.sub(r"^#(?=\S)", "", example(), flags=re.MULTILINE))
    for keys in known_keys(Settings, ()):
        place = tables
        for key in keys:
            if isinstance(place, list):
                place = place[key]
                continue
            key = next(iter(place)) if key == "NAME" else key
            assert key in place, keys
            place = place[key]


def test_the_printed_documents_are_not_stale() -> None:
    command = [sys.executable, "scripts/print_docs.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.thorough
def test_a_stale_document_is_named(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    (tmp_path / "docs").mkdir()
    for name in ("scripts/print_docs.py", "config.example.toml", "docs/security.md"):
        (tmp_path / name).write_text((ROOT / name).read_text("utf-8"), "utf-8")
    with (tmp_path / "config.example.toml").open("a") as file:
        file.write("# changed\n")
    command = [sys.executable, str(tmp_path / "scripts" / "print_docs.py")]
    environment = {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([*command, "--check"], capture_output=True, text=True, env=environment)
    assert done.returncode == 1
    assert "config.example.toml is stale: run `make docs`" in done.stderr
    assert "docs/settings.md is stale" in done.stderr
    for arguments in ([], ["--check"]):
        done = subprocess.run([*command, *arguments], capture_output=True, text=True, env=environment)
        assert (done.returncode, done.stderr) == (0, "")
