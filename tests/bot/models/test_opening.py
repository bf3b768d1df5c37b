from pathlib import Path

import pytest

from bot.config import load_settings
from bot.models.chain import open_model


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_default_chain_needs_nothing() -> None:
    assert open_model(load_settings()).name == "builtin/notebook"


def test_a_provider_is_opened_by_its_kind_whatever_its_name(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text('[models]\nchain = ["mine/notebook"]\n[providers.mine]\nkind = "builtin"\n')
    assert open_model(load_settings(file)).name == "builtin/notebook"
