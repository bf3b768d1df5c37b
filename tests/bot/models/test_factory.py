"""From the settings to the models: kinds, keys, addresses, limits, who is in the chain and who is not."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from bot.config.settings import ConfigError, Settings, load_settings
from bot.models.errors import BadKey
from bot.models.factory import fingerprint, open_model, timeouts_of
from bot.models.fallback import FallbackModel
from bot.models.known_providers import KNOWN_PROVIDERS, resolve_provider
from bot.models.protocol import Answer, ModelRequest, UserMessage
from bot.models.timeouts import Timeouts
from tests.fakes.table_test import table_test


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def settings_of(toml: str) -> Settings:
    Path("config.toml").write_text(toml)
    return load_settings()


async def opened(toml: str, environment: Mapping[str, str] | None = None) -> FallbackModel:
    async with open_model(settings_of(toml), None, environment or {}) as model:
        return model


async def test_the_default_chain_needs_nothing() -> None:
    async with open_model(load_settings(), None, {}) as model:
        assert model.name == "builtin/notebook"


async def test_a_provider_is_opened_by_its_kind_whatever_its_name() -> None:
    model = await opened('[models]\nchain = ["mine/notebook"]\n[providers.mine]\nkind = "builtin"\n')
    assert model.name == "mine/notebook"
    assert model.plan.chain[0].last_resort
    assert model.plan.chain[0].routes[0].model.name == "mine/notebook"


async def test_well_known_models_need_no_provider() -> None:
    model = await opened(
        '[models]\nchain = ["gpt-4.1", "mine/gpt-4.1"]\n'
        '[models.on_error]\ncontext_length = ["gemini-2.5-pro"]\nrefused = ["grok-4", "builtin/notebook"]\n'
        '[models.params."claude-sonnet-4-5"]\ncontext_window = 100000\n[providers.mine]\nkind = "openai"\n'
    )
    assert [each.name for each in model.plan.chain] == ["openai/gpt-4.1", "mine/gpt-4.1"]
    assert model.plan.on_error["context_length"] == ("gemini/gemini-2.5-pro",)
    assert model.plan.on_error["refused"] == ("xai/grok-4", "builtin/notebook")
    assert model.plan.candidates["anthropic/claude-sonnet-4-5"].window == 100_000


async def test_well_known_providers_need_no_table_but_a_key() -> None:
    chain = ", ".join(f'"{name}/x"' for name in KNOWN_PROVIDERS if name not in ("builtin", "llama_cpp"))
    model = await opened(f"[models]\nchain = [{chain}]")
    assert len(model.plan.chain) == len(KNOWN_PROVIDERS) - 2
    for candidate in model.plan.chain:
        assert candidate.routes[0].model.name == candidate.name


async def test_every_key_is_a_way_of_its_own_and_none_is_told() -> None:
    model = await opened(
        '[models]\nchain = ["openai/gpt-4.1"]\n'
        '[providers.openai]\napi_key = "sk-one-secret"\napi_keys = ["sk-two-secret", "sk-one-secret", ""]\n'
    )
    (candidate,) = model.plan.chain
    assert [route.name.key for route in candidate.routes] == [
        fingerprint("sk-one-secret"),
        fingerprint("sk-two-secret"),
    ]
    assert "secret" not in repr(model.plan)


async def test_other_models_of_the_settings_may_be_chosen_but_are_not_in_the_chain() -> None:
    model = await opened(
        '[models]\nchain = ["openai/gpt-4.1", "builtin/notebook"]\n'
        '[models.on_error]\ncontext_length = ["gemini/gemini-2.5-pro"]\n'
        '[models.params."openai/gpt-5"]\ntemperature = 1.0\n'
    )
    assert [each.name for each in model.plan.chain] == ["openai/gpt-4.1", "builtin/notebook"]
    assert [each.name for each in model.plan.others] == ["gemini/gemini-2.5-pro", "openai/gpt-5"]
    assert model.plan.on_error["context_length"] == ("gemini/gemini-2.5-pro",)


async def test_without_fallback_the_first_is_asked_alone() -> None:
    model = await opened(
        '[models]\nfallback = false\nchain = ["openai/gpt-4.1", "builtin/notebook"]\n'
        '[models.on_error]\nserver = ["builtin/notebook"]\n'
    )
    assert not model.plan.fallback
    assert list(model.plan.candidates) == ["openai/gpt-4.1", "builtin/notebook"], "but may be chosen"
    assert model.plan.on_error == {}


async def test_the_window_of_the_settings_beats_the_table() -> None:
    model = await opened(
        '[models]\nchain = ["openai/gpt-4o", "anthropic/claude-sonnet-4-5", "openai/nobody-knows"]\n'
        '[models.params."openai/gpt-4o"]\ncontext_window = 9000\n'
    )
    assert [each.window for each in model.plan.chain] == [9000, 200_000, None]


@table_test(
    ("toml", "environment", "keys"),
    [
        ("", {"OPENAI_API_KEY": "k"}, ("k",)),
        ('[providers.openai]\nbase_url = "http://localhost:1/v1"', {"OPENAI_API_KEY": "k"}, ("k",)),
        ('[providers.openai]\napi_key = "own"', {"OPENAI_API_KEY": "k"}, ("own",)),
        ("", {"OPENAI_API_KEY": "  "}, ()),
    ],
)
def test_a_key_of_the_environment_counts_where_the_settings_have_none(
    toml: str, environment: Mapping[str, str], keys: tuple[str, ...]
) -> None:
    assert resolve_provider("openai", settings_of(toml).providers, environment).keys == keys


def test_a_key_of_the_environment_is_shown_to_nobody_else() -> None:
    settings = settings_of(
        '[providers.work]\nkind = "openai"\n'
        '[providers.other]\nkind = "openai"\nbase_url = "https://example.org/v1"\n'
        '[providers.my-claude]\nkind = "anthropic"\nbase_url = "https://example.org"\n'
    )
    environment = {"OPENAI_API_KEY": "o", "ANTHROPIC_API_KEY": "a", "MY_CLAUDE_API_KEY": "m"}
    assert resolve_provider("work", settings.providers, environment).keys == ("o",), (
        "it is OpenAI's own address"
    )
    assert resolve_provider("other", settings.providers, environment).keys == ()
    assert resolve_provider("my-claude", settings.providers, environment).keys == ("m",)
    assert resolve_provider("gemini", settings.providers, {"GOOGLE_API_KEY": "g"}).keys == ("g",)


def test_a_key_does_not_go_to_another_company_for_a_name() -> None:
    settings = settings_of('[providers.gemini]\nkind = "openai"\n')
    environment = {"GEMINI_API_KEY": "g", "OPENAI_API_KEY": "o"}
    assert resolve_provider("gemini", settings.providers, environment).keys == ("o",)


def test_addresses_lose_their_last_slash() -> None:
    settings = settings_of('[providers.local]\nkind = "openai"\nbase_url = "http://localhost:8080/v1/"\n')
    assert resolve_provider("local", settings.providers, {}).base_url == "http://localhost:8080/v1"


async def test_a_model_file_is_looked_for_beside_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    settings_of('[models]\nchain = ["llama_cpp/m"]\n[providers.llama_cpp]\nmodel_path = "m.gguf"\n')
    monkeypatch.chdir(tmp_path / "elsewhere")
    settings = load_settings(tmp_path / "config.toml")
    assert settings.providers["llama_cpp"].model_path == str(tmp_path / "m.gguf")


async def test_the_notebook_tells_how_to_add_a_model_only_where_there_is_none() -> None:
    request = ModelRequest("", (UserMessage("Where is Anna's passport?"),))
    for chain, told in (('"builtin/notebook"', True), ('"ollama/qwen3", "builtin/notebook"', False)):
        model = (
            (await opened(f"[models]\nchain = [{chain}]")).plan.candidates["builtin/notebook"].routes[0].model
        )
        *_, answer = [event async for event in model.stream(request)]
        assert isinstance(answer, Answer)
        assert ("commonplace init model" in answer.message.text) == told


async def test_who_has_forgotten_a_key_is_told_where_it_goes() -> None:
    model = (await opened('[models]\nchain = ["groq/llama"]')).plan.chain[0].routes[0].model
    with pytest.raises(BadKey, match=r"^has no API key: set providers.groq.api_key or GROQ_API_KEY$"):
        _ = [event async for event in model.stream(ModelRequest("", (UserMessage("Hi"),)))]


def test_timeout_bounds_what_comes_before_the_answer() -> None:
    assert timeouts_of(settings_of("[models]\ntimeout = 2.0").models) == Timeouts(2.0, 2.0, 2.0, 600.0)
    assert timeouts_of(settings_of("[models]\ntimeout = 900").models) == Timeouts(60.0, 30.0, 900.0, 900.0)


@table_test(
    ("toml", "says"),
    [
        ('[models]\nchain = ["nobody/x"]', "of a known provider"),
        ('[models]\nchain = ["llama3"]', '"provider/model"'),
        ('[models]\nchain = ["builtin/gpt"]', "builtin/notebook"),
        ('[models]\nchain = ["llama_cpp/qwen"]', "model_path"),
        ('[models.params."openai/gpt-4.1"]\ntemprature = 1.0', "temperature"),
        ('[providers.mine]\nbase_url = "http://localhost:1"', "kind"),
        ("[models]\ntimeout = 0", "timeout"),
    ],
)
def test_what_cannot_be_is_said_before_the_start(toml: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        settings_of(toml)


@table_test(
    ("model", "setting", "sees"),
    [
        ("openai/gpt-4o", "", True),
        ("openai/gpt-4o", "vision = false", False),
        ("openai/finetune", "", None),
        ("groq/llama-3.3-70b", "", False),
        ("groq/llama-3.3-70b", "vision = true", True),
        ("mine/vision", "vision = true", False),
    ],
)
async def test_whether_a_model_sees_is_set_or_known_by_its_name(
    model: str, setting: str, sees: bool | None
) -> None:
    toml = f'[models]\nchain = ["{model}"]\n[models.params."{model}"]\n{setting}\n'
    found = await opened(f'{toml}[providers.mine]\nkind = "llama_cpp"\nmodel_path = "m.gguf"\n')
    candidate = found.plan.candidates[model]
    assert candidate.sight
    assert candidate.sight.sees is sees
    assert candidate.lacks_vision == (sees is False)


async def test_the_notebook_says_itself_what_it_cannot_see() -> None:
    (candidate,) = (await opened("")).plan.chain
    assert not candidate.lacks_vision
