"""The step about the language model, against servers that behave like the providers."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from bot.models.known_providers import KNOWN_PROVIDERS
from bot.setup.errors import InvalidFlag, SetupFailed
from bot.setup.model_offers import OFFERS
from tests.bot.setup.setting_up import answer, closed_address, give, without_variables
from tests.fakes.anthropic_server import AnthropicServer
from tests.fakes.model_list import ModelList
from tests.fakes.model_server import KEY, ModelAnswer
from tests.fakes.ollama_server import OllamaServer
from tests.fakes.openai_server import MODEL, OpenAIServer

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")
NOTEBOOK = "builtin/notebook"
SERVER, NO_MODEL = "server", "none"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    without_variables(monkeypatch)
    monkeypatch.setenv("COMMONPLACE_PROVIDERS__OLLAMA__BASE_URL", closed_address())
    return tmp_path


@pytest.fixture
async def openai() -> AsyncIterator[OpenAIServer]:
    async with OpenAIServer() as server:
        server.always(ModelAnswer("Hello."))
        yield server


def test_every_offer_is_of_a_provider_that_needs_a_key() -> None:
    needing = {name for name, provider in KNOWN_PROVIDERS.items() if provider.needs_key}
    assert {offer.provider for offer in OFFERS} == needing
    assert len(OFFERS) == len(needing)


async def test_another_server_is_asked_for_all_it_needs_and_tested_by_one_call(
    folder: Path, openai: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    files = await answer(
        folder,
        "model",
        ("Number", SERVER),
        ("short name", "my server"),
        ("short name", "mine"),
        ("Its address", "localhost"),
        ("Its address", openai.base_url),
        ("API key", KEY),
        ("Model", MODEL),
    )
    settings = files.settings()
    assert settings.models.chain == (f"mine/{MODEL}", NOTEBOOK)
    assert settings.providers["mine"].keys == (KEY,)
    assert KEY not in (folder / "config.toml").read_text()
    assert len(openai.requests) == 1
    said = capsys.readouterr().out
    assert "It answered." in said
    assert KEY not in said


async def test_a_wrong_key_is_asked_for_again_and_the_rest_is_kept(
    folder: Path, openai: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    files = await answer(
        folder,
        "model",
        ("Number", SERVER),
        ("short name", ""),
        ("Its address", openai.base_url),
        ("API key", "2"),
        ("API key", "wrong"),
        ("Model", MODEL),
        ("Number", "1"),
        ("New API key", KEY),
        ("Model", ""),
    )
    assert files.settings().providers["mine"].keys == (KEY,)
    said = capsys.readouterr().out
    assert "API key missing or rejected" in said
    assert "a key or token is longer" in said


async def test_an_unknown_model_is_asked_for_again_and_skipping_writes_nothing(
    folder: Path, openai: OpenAIServer
) -> None:
    files = await answer(
        folder,
        "model",
        ("Number", SERVER),
        ("short name", ""),
        ("Its address", openai.base_url),
        ("API key", KEY),
        ("Model", "gpt-tset"),
        ("Number", "other"),
        ("New API key", ""),
        ("Model", "gpt-tets"),
        ("Number", "skip"),
    )
    assert files.settings().models.chain == (NOTEBOOK,)
    assert not files.secrets_file.exists()


async def test_a_known_provider_takes_the_key_of_the_environment_if_that_is_wanted(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with AnthropicServer() as server:
        server.always(ModelAnswer("Hello."))
        (folder / "config.toml").write_text(f'[providers.anthropic]\nbase_url = "{server.base_url}"\n')
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        model = server.model if hasattr(server, "model") else "claude-sonnet-4-5"
        files = await answer(
            folder, "model", ("Number", "anthropic"), ("ANTHROPIC_API_KEY is set", "y"), ("Model", model)
        )
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    assert files.settings().providers["anthropic"].keys == (KEY,)
    assert files.settings().models.chain == (f"anthropic/{model}", NOTEBOOK)


async def test_ollama_is_found_with_its_models(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async with OllamaServer(installed=("nomic-embed-text:latest", "qwen3:latest")) as server:
        server.always(ModelAnswer("Hello."))
        monkeypatch.setenv("COMMONPLACE_PROVIDERS__OLLAMA__BASE_URL", server.base_url)
        files = await answer(folder, "model", ("Number", ""), ("Model", ""))
        assert files.settings().models.chain == ("ollama/qwen3", NOTEBOOK)
        said = capsys.readouterr().out
        assert "1  Ollama" in said
        assert "found: qwen3\n" in said
        server.installed = ()
        await answer(folder, "model", ("Number", ""))
        assert "has no chat model: run `ollama pull qwen3`" in capsys.readouterr().out


async def test_none_yet_is_fine_and_changes_nothing(folder: Path) -> None:
    (folder / "config.toml").write_text("# mine\n")
    await answer(folder, "model", ("Number", ""))
    assert (folder / "config.toml").read_text() == "# mine\n"


async def test_the_models_that_were_there_stay_as_fallback_or_go(folder: Path, openai: OpenAIServer) -> None:
    (folder / "config.toml").write_text(
        f'[models]\nchain = ["openai/gpt-4.1", "{NOTEBOOK}"]\n'
        f'[providers.mine]\nkind = "openai"\nbase_url = "{openai.base_url}"\n'
    )
    files = await give(folder, "model", model=f"mine/{MODEL}", api_key_file=KEY)
    assert files.settings().models.chain == (f"mine/{MODEL}", "openai/gpt-4.1", NOTEBOOK)
    files = await answer(
        folder,
        "model",
        ("New API key", ""),
        ("if it fails", "n"),
        given={"model": f"mine/{MODEL}"},
    )
    assert files.settings().models.chain == (f"mine/{MODEL}", NOTEBOOK)


async def test_without_a_network_it_may_be_kept(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    address = f"{closed_address()}/v1"
    files = await answer(
        folder,
        "model",
        ("Number", SERVER),
        ("short name", ""),
        ("Its address", address),
        ("API key", ""),
        ("Number", "again"),
        ("Number", "other"),
        ("Its address", address),
        ("API key", ""),
        ("Number", "3"),
        ("Model", "m"),
    )
    assert files.settings().models.chain == ("mine/m", NOTEBOOK)
    said = capsys.readouterr().out
    assert "I could not test that" in said
    assert "  A language model: mine/m (not tested)\n" in said
    files = await give(folder, "model", model="mine/n", base_url=address)
    assert files.settings().models.chain == ("mine/n", "mine/m", NOTEBOOK)


async def test_a_model_can_be_taken_out_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = '[models]\nchain = ["mine/a", "mine/b"]\n[providers.mine]\nkind = "openai"\nbase_url = "http://127.0.0.1:1"\n'
    for typed in ("none", "13"):
        (folder / "config.toml").write_text(text)
        await answer(folder, "model", ("Number", ""))
        assert (folder / "config.toml").read_text() == text
        files = await answer(folder, "model", ("Number", typed))
        assert files.settings().models.chain == (NOTEBOOK,)
        assert "A language model: none; the notebook answers" in capsys.readouterr().out
    for model in ("none", NOTEBOOK):
        (folder / "config.toml").write_text(text)
        assert (await give(folder, "model", model=model)).settings().models.chain == (NOTEBOOK,)


async def test_what_is_kept_although_it_was_rejected_is_told_apart(
    folder: Path, openai: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    files = await answer(
        folder,
        "model",
        ("Number", SERVER),
        ("short name", ""),
        ("Its address", openai.base_url),
        ("API key", "wrong"),
        ("Model", MODEL),
        ("Number", "keep"),
    )
    assert files.settings().models.chain == (f"mine/{MODEL}", NOTEBOOK)
    assert f"  A language model: mine/{MODEL} (did not work in the test)\n" in capsys.readouterr().out


async def test_the_address_of_another_server_can_be_left_by_enter(folder: Path) -> None:
    (folder / "config.toml").write_text("# mine\n")
    leave = ("Number", SERVER), ("short name", ""), ("Its address", ""), ("Number", "")
    await answer(folder, "model", *leave)
    assert (folder / "config.toml").read_text() == "# mine\n"


class WithoutList(OpenAIServer):
    """A server whose list of models gives an error, and whose models answer."""

    def __init__(self, status: int) -> None:
        super().__init__()
        self.status = status

    def add_routes(self, app: web.Application) -> None:
        super().add_routes(app)
        app.router.add_get("/v1/models", self._fail)

    async def _fail(self, request: web.Request) -> web.Response:
        del request
        return self.error(self.status, "Missing scopes: api.model.read")


@pytest.mark.parametrize("status", [403, 429, 500])
async def test_a_model_is_called_although_its_list_cannot_be_had(
    folder: Path, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """A key may be allowed to call models and not to list them."""
    async with WithoutList(status) as server:
        server.always(ModelAnswer("Hello."))
        flags = {"model": f"mine/{MODEL}", "base_url": server.base_url, "api_key_file": KEY}
        files = await give(folder, "model", **flags)
        assert files.settings().models.chain == (f"mine/{MODEL}", NOTEBOOK)
        assert "It answered." in capsys.readouterr().out
        with pytest.raises(SetupFailed, match="API key missing or rejected"):
            await give(folder, "model", **{**flags, "api_key_file": "wrong"})


async def test_names_of_models_that_would_control_the_terminal_are_not_shown(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [
        f"model-{'x' * 100}-{number}" for number in range(2000)
    ]  # a long list is not cleaned as an answer
    async with ModelList("\x1b]0;mine\x07", "a", *names) as server:
        flags = ("Number", SERVER), ("short name", ""), ("Its address", f"{server.root}/v1"), ("API key", KEY)
        await answer(folder, "model", *flags, ("Model", "a"), ("Number", "skip"))
    said = capsys.readouterr().out
    assert "Available models: a, model-x" in said
    assert "\x1b" not in said


async def test_a_server_keeps_its_kind_and_a_known_name_is_not_taken_for_another(folder: Path) -> None:
    async with AnthropicServer() as server, OpenAIServer() as other:
        server.always(ModelAnswer("Hello."))
        other.always(ModelAnswer("Hello."))
        (folder / "config.toml").write_text(
            '[providers.mine]\nkind = "anthropic"\nbase_url = "http://127.0.0.1:1"\n'
        )
        files = await give(
            folder, "model", model="mine/claude-sonnet-4-5", base_url=server.base_url, api_key_file=KEY
        )
        assert files.settings().providers["mine"].kind == "anthropic"
        files = await answer(
            folder,
            "model",
            ("Number", SERVER),
            ("short name", "anthropic"),
            ("short name", "other"),
            ("Its address", other.base_url),
            ("API key", KEY),
            ("Model", MODEL),
            ("if it fails", "n"),
        )
        assert files.settings().providers["other"].kind == "openai"
        assert "anthropic" not in files.settings().providers


async def test_flags_that_are_wrong_are_told_and_nothing_is_written(
    folder: Path, openai: OpenAIServer
) -> None:
    with pytest.raises(InvalidFlag, match='--model: "provider/model", such as'):
        await give(folder, "model", model="gpt-4.1")
    for model in ("nobody/knows", "builtin/other", "llama_cpp/mine"):
        with pytest.raises(InvalidFlag, match='--model: "provider/model", such as'):
            await give(folder, "model", model=model)
    with pytest.raises(InvalidFlag, match="--base-url"):
        await give(folder, "model", model="mine/m", base_url="localhost")
    with pytest.raises(InvalidFlag, match="--api-key-file: it contains characters") as caught:
        await give(folder, "model", model=f"mine/{MODEL}", base_url=openai.base_url, api_key_file="sk-a\nb")
    assert "sk-a" not in str(caught.value)
    with pytest.raises(SetupFailed, match="API key missing or rejected"):
        await give(folder, "model", model=f"mine/{MODEL}", base_url=openai.base_url, api_key_file="wrong")
    with pytest.raises(SetupFailed, match="Nothing was saved for this step"):
        await give(folder, "model", model="mine/other", base_url=openai.base_url, api_key_file=KEY)
    assert list(folder.iterdir()) == []
