"""Choose the embedding provider from settings and environment, without disk or network access."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from memory.embeddings.llm import default_model, find_provider
from memory.embeddings.options import ProviderOptions, is_on_this_machine
from memory.embeddings.protocol import EmbeddingProvider
from memory.embeddings.provider_table import PROVIDERS, error_fixes
from memory.settings import EmbeddingSettings
from memory.translatable import Translatable

IN_ORDER = ("openai", "gemini", "voyage")


@dataclass(frozen=True, slots=True)
class ProviderSection:
    """The relevant part of `[providers.NAME]` in the settings; `base_url` is "" for the default."""

    kind: str
    base_url: str = ""
    api_key: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class ChatProviderAccess:
    """The chat provider, of kind openai, with its address filled in."""

    name: str
    base_url: str
    api_key: str = field(default="", repr=False)
    answers_first: bool = True
    """False if it is only the fallback for chat: it does not get all notes unless somebody sets it."""


@dataclass(frozen=True, slots=True)
class ProviderChoice:
    """The chosen provider, perhaps "none", the reason in one line, and the `options` to open it with.

    `unsure`: it may turn out at the first request that this chat provider makes no embeddings. An Ollama
    server without an embedding model may get one later.
    """

    provider: str
    reason: str
    options: ProviderOptions | None = None
    unsure: bool = False

    @property
    def is_local(self) -> bool:
        """Return whether no text leaves this machine: there is no provider, or it runs here."""
        here = self.provider in ("none", "local")
        return here or (self.options is not None and is_on_this_machine(self.options.base_url))


@dataclass(frozen=True, slots=True)
class _FoundKey:
    key: str
    base_url: str
    where: str


def choose_provider(
    settings: EmbeddingSettings,
    *,
    local_model_exists: bool,
    sections: Mapping[str, ProviderSection],
    environment: Mapping[str, str],
    chat: ChatProviderAccess | None = None,
) -> ProviderChoice:
    """Return the provider in the settings; for "auto" the first that is available, else "none"."""
    if settings.provider == "none":
        return _no_provider(Translatable("set in memory.embedding.provider"))
    if settings.provider != "auto":
        return _choose_named(settings.provider, settings, sections, environment, chat, own=True)
    if local_model_exists:
        return ProviderChoice(
            "local",
            explain_choice("local", Translatable("its model file exists")),
            _options("local", settings, own=True),
        )
    for name in IN_ORDER:
        found = _find_key(name, settings, sections, environment, own=True)
        if found.key:
            return ProviderChoice(
                name,
                explain_choice(name, Translatable("a key is in {place}", place=found.where)),
                _options(name, settings, found, own=True),
            )
    if chat and chat.answers_first:
        return _choose_chat_provider(
            chat,
            settings,
            Translatable("chat provider {name}, since there is no other key", name=chat.name),
            own=True,
            unsure=True,
        )
    return _no_provider(Translatable("no embedding model is set up"))


def choose_fallback(
    settings: EmbeddingSettings,
    primary: ProviderChoice,
    *,
    sections: Mapping[str, ProviderSection],
    environment: Mapping[str, str],
    chat: ChatProviderAccess | None = None,
) -> ProviderChoice:
    """Return `memory.embedding.fallback` if it is another provider, with `fallback_model` or its default.

    Key and address in `[memory.embedding]` belong to the first provider, and are not sent to another service.
    """
    name = settings.fallback
    if name == "none" or primary.provider == "none":
        if name == "none":
            return _no_provider(Translatable("no fallback is set"))
        return _no_provider(Translatable("nothing to fall back from"))
    if name == primary.provider:
        return _no_provider(Translatable("memory.embedding.fallback is {name} too", name=name))
    choice = _choose_named(name, settings, sections, environment, chat, own=False)
    if choice.provider == primary.provider:  # "llm" may resolve to the same provider
        return _no_provider(Translatable("memory.embedding.fallback is {name} too", name=choice.provider))
    return choice


def explain_choice(provider: str, why: str) -> Translatable:
    """Return the reason of a `ProviderChoice`: `openai: a key is in OPENAI_API_KEY`."""
    return Translatable("{provider}: {reason}", provider=provider, reason=why)


def _no_provider(why: str) -> ProviderChoice:
    return ProviderChoice("none", explain_choice("none", why))


def open_provider(choice: ProviderChoice) -> EmbeddingProvider | None:
    """Import and open the chosen provider; None for "none". Makes no request. Raises `EmbeddingError`."""
    if choice.options is None:
        return None
    return PROVIDERS[choice.provider].open(choice.options)


def _choose_named(
    name: str,
    settings: EmbeddingSettings,
    sections: Mapping[str, ProviderSection],
    environment: Mapping[str, str],
    chat: ChatProviderAccess | None,
    *,
    own: bool,
) -> ProviderChoice:
    setting = f"memory.embedding.{'provider' if own else 'fallback'}"
    why = Translatable("set in {setting}", setting=setting)
    found = _find_key(name, settings, sections, environment, own=own)
    if name == "llm":
        if chat is None and not (own and settings.base_url):
            return _no_provider(
                Translatable(
                    "{setting} is llm, but no chat provider of kind openai is in models.chain",
                    setting=setting,
                )
            )
        server = _chat_server(settings.base_url if own else "", found.key, chat)
        return _choose_chat_provider(server, settings, why, own=own, unsure=False)
    return ProviderChoice(name, explain_choice(name, why), _options(name, settings, found, own=own))


def _chat_server(base_url: str, key: str, chat: ChatProviderAccess | None) -> ChatProviderAccess:
    """Return the server for "llm": the chat provider, or the address in the settings.

    The chat provider's key is sent to no other host.
    """
    if chat and not base_url:
        return replace(chat, api_key=key or chat.api_key)
    is_same_host = chat is not None and urlsplit(chat.base_url).netloc == urlsplit(base_url).netloc
    return ChatProviderAccess(
        Translatable("the server at memory.embedding.base_url"),
        base_url.rstrip("/"),
        key or (chat.api_key if chat and is_same_host else ""),
    )


def _choose_chat_provider(
    chat: ChatProviderAccess, settings: EmbeddingSettings, why: Translatable, *, own: bool, unsure: bool
) -> ProviderChoice:
    """Choose the chat provider with its default embedding model, or explain what to set.

    For Ollama, the first request finds an installed embedding model.
    """
    name = find_provider(chat.name, chat.base_url)
    options = _options(name, settings, _FoundKey(chat.api_key, chat.base_url, ""), own=own)
    if options.model_is_default:
        usual = {"ollama": "", "zhipu": options.model}.get(
            name, default_model(options.base_url, options.model)
        )
        options = replace(options, model=usual)
        if name == "llm" and not usual:
            key = "memory.embedding.model" if own else "memory.embedding.fallback_model"
            return _no_provider(
                Translatable(
                    "{name} has no usual embedding model; set {setting}, or another provider",
                    name=chat.name,
                    setting=key,
                )
            )
    return ProviderChoice(name, explain_choice(name, why), options, unsure=unsure)


def _find_key(
    name: str,
    settings: EmbeddingSettings,
    sections: Mapping[str, ProviderSection],
    environment: Mapping[str, str],
    *,
    own: bool,
) -> _FoundKey:
    """Return the key from the settings, else from the provider's section (with its address), else the environment."""
    if own and (key := settings.api_key.get_secret_value().strip()):
        return _FoundKey(key, "", "memory.embedding.api_key")
    for section_name, section in sections.items():
        if not is_section_for(name, section_name, section):
            continue
        key, base_url = section.api_key.strip(), section.base_url.rstrip("/")
        # A self-hosted server may need no key, and must not get the service's own.
        if key or base_url not in {"", PROVIDERS[name].base_url}:
            return _FoundKey(key, section.base_url, f"providers.{section_name}")
    for variable in PROVIDERS[name].key_variables:
        if key := environment.get(variable, "").strip():
            return _FoundKey(key, "", variable)
    return _FoundKey("", "", "")


def is_section_for(name: str, section_name: str, section: ProviderSection) -> bool:
    """Return whether the section belongs to this provider, by name, or by kind and default address.

    A section that has another provider's name belongs to that one, and its key is not used here.
    """
    if section_name in PROVIDERS:
        return section_name == name
    return section.kind == name and section.base_url.rstrip("/") in {"", PROVIDERS[name].base_url}


def _options(
    name: str, settings: EmbeddingSettings, found: _FoundKey | None = None, *, own: bool
) -> ProviderOptions:
    row = PROVIDERS[name]
    found = found or _FoundKey("", "", "")
    base_url = (own and settings.base_url) or found.base_url or row.base_url
    wanted = settings.model if own else settings.fallback_model
    is_fallback_file = name == "local" and not own and bool(wanted)
    return ProviderOptions(
        provider=name,
        model=wanted or row.model,
        base_url=base_url.rstrip("/"),
        api_key=found.key,
        dimensions=settings.dimensions if own else 0,
        needs_key=bool(row.key_variables) and base_url == row.base_url,
        model_is_default=not wanted,
        fixes=error_fixes(name),
        model_path=wanted if is_fallback_file else settings.local.model_path,
        cache_dir=settings.local.cache_dir,
    )
