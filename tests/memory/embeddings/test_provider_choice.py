"""Which provider is chosen, and why."""

from collections.abc import Mapping

from pydantic import SecretStr

from memory.embeddings.factory import Embedding
from memory.embeddings.provider_choice import (
    ChatProviderAccess,
    ProviderChoice,
    ProviderSection,
    choose_fallback,
    choose_provider,
    open_provider,
)
from memory.embeddings.provider_table import PROVIDERS
from memory.settings import EmbeddingSettings
from tests.fakes.table_test import table_test

CHAT = ChatProviderAccess("gateway", "https://gateway.example/v1", "chat-key")
OLLAMA = ChatProviderAccess("ollama", "http://localhost:11434/v1")
ZHIPU = ChatProviderAccess("zhipu", "https://open.bigmodel.cn/api/paas/v4", "z")
ALL_KEYS = {name: f"{name} key" for row in PROVIDERS.values() for name in row.key_variables}


def decide(
    *,
    local: bool = False,
    sections: Mapping[str, ProviderSection] | None = None,
    environment: Mapping[str, str] | None = None,
    chat: ChatProviderAccess | None = None,
    **settings: object,
) -> ProviderChoice:
    return choose_provider(
        EmbeddingSettings.model_validate(settings),
        local_model_exists=local,
        sections=sections or {},
        environment=environment or {},
        chat=chat,
    )


def key_of(choice: ProviderChoice) -> str:
    assert choice.options
    return choice.options.api_key


@table_test(
    ("local", "without", "chat", "name", "reason"),
    [
        (True, (), CHAT, "local", "local: its model file exists"),
        (False, (), CHAT, "openai", "openai: a key is in OPENAI_API_KEY"),
        (False, ("OPENAI",), CHAT, "gemini", "gemini: a key is in GEMINI_API_KEY"),
        (False, ("OPENAI", "GEMINI"), CHAT, "gemini", "gemini: a key is in GOOGLE_API_KEY"),
        (False, ("OPENAI", "GEMINI", "GOOGLE"), CHAT, "voyage", "voyage: a key is in VOYAGE_API_KEY"),
        (
            False,
            ("OPENAI", "GEMINI", "GOOGLE", "VOYAGE"),
            CHAT,
            "llm",
            "llm: chat provider gateway, since there is no other key",
        ),
        (
            False,
            ("OPENAI", "GEMINI", "GOOGLE", "VOYAGE"),
            None,
            "none",
            "none: no embedding model is set up",
        ),
    ],
)
def test_auto_chooses_the_first_available_provider(
    local: bool, without: tuple[str, ...], chat: ChatProviderAccess | None, name: str, reason: str
) -> None:
    environment = {key: value for key, value in ALL_KEYS.items() if key.partition("_")[0] not in without}

    choice = decide(local=local, environment=environment, chat=chat)

    assert (choice.provider, choice.reason) == (name, reason)


def test_none_disables_vectors_whatever_is_available() -> None:
    choice = decide(provider="none", local=True, environment=ALL_KEYS, chat=CHAT)

    assert (choice.provider, choice.options) == ("none", None)
    assert open_provider(choice) is None


def test_a_key_comes_from_the_setting_then_the_section_then_the_environment() -> None:
    sections = {"gemini": ProviderSection("gemini", api_key="section")}
    environment = {"GEMINI_API_KEY": "variable", "GOOGLE_API_KEY": "other variable"}

    chosen = [
        decide(provider="gemini", api_key=SecretStr("setting"), sections=sections, environment=environment),
        decide(provider="gemini", sections=sections, environment=environment),
        decide(provider="gemini", environment=environment),
        decide(provider="gemini", environment={**environment, "GEMINI_API_KEY": " "}),
        decide(provider="gemini"),
    ]

    assert [key_of(choice) for choice in chosen] == ["setting", "section", "variable", "other variable", ""]


def test_a_sections_key_goes_to_the_sections_address() -> None:
    sections = {"openai": ProviderSection("openai", "https://proxy.example/v1/", "proxy key")}

    choice = decide(sections=sections, environment=ALL_KEYS)

    assert choice.reason == "openai: a key is in providers.openai"
    assert choice.options
    assert (choice.options.base_url, choice.options.api_key) == ("https://proxy.example/v1", "proxy key")


def test_a_section_of_another_name_counts_if_it_is_the_same_service() -> None:
    sections = {
        "router": ProviderSection("openai", "https://openrouter.ai/api/v1", "router key"),
        "google": ProviderSection("gemini", "", "google key"),
    }

    choice = decide(sections=sections)

    assert (choice.provider, choice.reason) == ("gemini", "gemini: a key is in providers.google")


def test_settings_override_defaults() -> None:
    choice = decide(
        provider="openai", base_url="http://127.0.0.1:1/v1/", model="bge-m3", dimensions=1024, environment={}
    )

    assert choice.reason == "openai: set in memory.embedding.provider"
    assert choice.options
    assert (choice.options.base_url, choice.options.model) == ("http://127.0.0.1:1/v1", "bge-m3")
    assert not choice.options.needs_key  # a self-hosted server may need none


@table_test("name", ["openai", "gemini", "voyage", "zhipu", "ollama"])
async def test_defaults_come_from_the_provider_table(name: str) -> None:
    choice = decide(provider=name)
    provider = open_provider(choice)
    assert provider
    assert choice.options

    row = PROVIDERS[name]
    assert (provider.provider, provider.model, provider.dimensions) == (name, row.model, row.dimensions)
    assert choice.options.base_url == row.base_url
    assert choice.options.needs_key == bool(row.key_variables)
    await provider.close()


def test_llm_without_a_chat_provider_is_none() -> None:
    choice = decide(provider="llm")

    assert choice.provider == "none"
    assert "no chat provider" in choice.reason


def test_the_chat_providers_address_and_key_are_used() -> None:
    choice = decide(provider="llm", chat=CHAT, model="some-embedding")

    assert choice.options
    assert (choice.options.base_url, choice.options.api_key) == (CHAT.base_url, CHAT.api_key)
    assert not choice.unsure


@table_test("provider", ["auto", "llm"])
@table_test(
    ("chat", "name", "model"),
    [
        (CHAT, "llm", "text-embedding-3-small"),
        (ChatProviderAccess("mistral", "https://api.mistral.ai/v1"), "llm", "mistral-embed"),
        (
            ChatProviderAccess("openrouter", "https://openrouter.ai/api/v1"),
            "llm",
            "openai/text-embedding-3-small",
        ),
        (ZHIPU, "zhipu", "embedding-3"),
        (ChatProviderAccess("glm", "https://open.bigmodel.cn/api/paas/v4"), "zhipu", "embedding-3"),
        (OLLAMA, "ollama", ""),
        (ChatProviderAccess("box", "http://box:11434/v1"), "ollama", ""),
        (ChatProviderAccess("ollama", "https://ollama.example/v1"), "ollama", ""),
    ],
)
def test_a_chat_provider_s_default_embedding_model_is_used(
    provider: str, chat: ChatProviderAccess, name: str, model: str
) -> None:
    choice = decide(provider=provider, chat=chat)

    assert (choice.provider, choice.unsure) == (name, provider == "auto")
    assert choice.options
    assert (choice.options.model, choice.options.base_url) == (model, chat.base_url)


@table_test("provider", ["auto", "llm"])
@table_test("host", ["api.deepseek.com", "api.groq.com", "api.x.ai", "api.together.xyz"])
def test_without_a_default_embedding_model_the_reason_says_what_to_set(provider: str, host: str) -> None:
    choice = decide(provider=provider, chat=ChatProviderAccess("mine", f"https://{host}/v1", "k"))

    assert (choice.provider, choice.options) == ("none", None)
    assert choice.reason == (
        "none: mine has no usual embedding model; set memory.embedding.model, or another provider"
    )
    named = decide(provider=provider, model="own", chat=ChatProviderAccess("mine", f"https://{host}/v1", "k"))
    assert named.options
    assert (named.provider, named.options.model) == ("llm", "own")


def test_a_configured_server_gets_its_own_model_and_no_other_host_s_key() -> None:
    mistral = decide(provider="llm", base_url="https://api.mistral.ai/v1/", chat=CHAT)
    ollama = decide(provider="llm", base_url="http://localhost:11434/v1")
    same_host = decide(provider="llm", base_url="https://gateway.example/vectors/v1", chat=CHAT)
    none = decide(provider="llm", base_url="https://api.groq.com/openai/v1")

    assert mistral.options
    assert (mistral.options.model, mistral.options.api_key) == ("mistral-embed", "")
    assert ollama.options
    assert (ollama.provider, ollama.options.model) == ("ollama", "")
    assert same_host.options
    assert (same_host.options.base_url, same_host.options.api_key) == (
        "https://gateway.example/vectors/v1",
        "chat-key",
    )
    assert none.reason.startswith(
        "none: the server at memory.embedding.base_url has no usual embedding model"
    )


def test_a_configured_model_is_requested_from_ollama_unchanged() -> None:
    choice = decide(model="bge-m3", chat=OLLAMA)

    assert choice.options
    assert (choice.provider, choice.options.model) == ("ollama", "bge-m3")


# The fallback


def fall_back(primary: ProviderChoice, **settings: object) -> ProviderChoice:
    return choose_fallback(
        EmbeddingSettings.model_validate(settings), primary, sections={}, environment=ALL_KEYS, chat=CHAT
    )


def test_a_fallback_has_its_own_key_model_and_address() -> None:
    settings = {
        "provider": "openai",
        "fallback": "voyage",
        "api_key": SecretStr("for openai"),
        "model": "text-embedding-3-large",
        "base_url": "https://proxy.example/v1",
        "dimensions": 256,
    }
    primary = choose_provider(
        EmbeddingSettings.model_validate(settings), local_model_exists=False, sections={}, environment={}
    )
    choice = fall_back(primary, **settings)

    assert choice.reason == "voyage: set in memory.embedding.fallback"
    assert choice.options
    assert (choice.options.api_key, choice.options.model) == ("VOYAGE_API_KEY key", "voyage-4-large")
    assert (choice.options.base_url, choice.options.dimensions) == ("https://api.voyageai.com/v1", 0)


def test_a_fallback_may_have_a_model_of_its_own() -> None:
    primary = decide(provider="openai", model="text-embedding-3-large")

    voyage = fall_back(primary, fallback="voyage", fallback_model="voyage-3.5-lite")
    local = fall_back(
        primary,
        fallback="local",
        fallback_model="/models/own.gguf",
        local={"model_path": "/models/other.gguf"},
    )
    usual = fall_back(primary, fallback="local", local={"model_path": "/models/other.gguf"})

    assert voyage.options
    assert (voyage.options.model, voyage.options.model_is_default) == ("voyage-3.5-lite", False)
    assert local.options
    assert usual.options
    assert (local.options.model_path, usual.options.model_path) == ("/models/own.gguf", "/models/other.gguf")
    assert primary.options
    assert primary.options.model == "text-embedding-3-large"


def test_the_first_provider_is_not_its_own_fallback_as_chat_provider() -> None:
    primary = decide(chat=OLLAMA)
    choice = choose_fallback(
        EmbeddingSettings(fallback="llm"), primary, sections={}, environment={}, chat=OLLAMA
    )

    assert (choice.provider, choice.reason) == ("none", "none: memory.embedding.fallback is ollama too")


@table_test("fallback", ["none", "openai"])
def test_a_fallback_is_another_provider(fallback: str) -> None:
    primary = decide(provider="openai")

    assert fall_back(primary, fallback=fallback).provider == "none"


def test_keys_are_not_in_the_repr() -> None:
    choice = decide(provider="openai", api_key=SecretStr("very-secret"))

    assert "very-secret" not in repr(choice)
    assert "secret" not in repr(ProviderSection("openai", api_key="secret")) + repr(
        ChatProviderAccess("a", "b", "secret")
    )


def test_a_self_hosted_server_needs_no_key_and_never_gets_the_service_s() -> None:
    own = {"openai": ProviderSection("openai", "http://localhost:1234/v1")}
    choice = choose_provider(
        EmbeddingSettings(provider="openai"),
        local_model_exists=False,
        sections=own,
        environment={"OPENAI_API_KEY": "sk-of-the-service"},
    )
    assert choice.options
    assert (choice.options.base_url, choice.options.api_key) == ("http://localhost:1234/v1", "")
    box = {"ollama": ProviderSection("ollama", "http://box:11434")}
    choice = choose_provider(
        EmbeddingSettings(provider="ollama"), local_model_exists=False, sections=box, environment={}
    )
    assert choice.options
    assert choice.options.base_url == "http://box:11434"


@table_test(
    ("settings", "is_local"),
    [
        ({"provider": "none"}, True),
        ({"provider": "local"}, True),
        ({"provider": "ollama"}, True),
        ({"provider": "ollama", "base_url": "http://127.0.0.2:11434"}, True),
        ({"provider": "ollama", "base_url": "http://[::1]:11434"}, True),
        ({"provider": "ollama", "base_url": "http://192.168.1.5:11434"}, False),
        ({"provider": "ollama", "base_url": "http://localhost.example.org"}, False),
        ({"provider": "openai"}, False),
        ({"provider": "openai", "base_url": "http://localhost:8080/v1"}, True),
        ({"provider": "local", "fallback": "openai"}, False),
    ],
)
def test_what_leaves_this_machine_is_known(settings: dict[str, object], is_local: bool) -> None:
    choice = decide(environment=ALL_KEYS, **settings)
    fallback = choose_fallback(
        EmbeddingSettings.model_validate(settings), choice, sections={}, environment=ALL_KEYS
    )
    assert Embedding(choice, fallback).is_local is is_local
