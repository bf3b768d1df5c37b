"""Create the embedder from the settings: provider, fallback, and the reasons for them."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from memory.embeddings.errors import EmbeddingError
from memory.embeddings.protocol import EmbeddingProvider
from memory.embeddings.provider_choice import (
    ChatProviderAccess,
    ProviderChoice,
    ProviderSection,
    choose_fallback,
    choose_provider,
    explain_choice,
    open_provider,
)
from memory.installation import how_to_add
from memory.settings import EmbeddingSettings
from memory.translatable import Translatable, join_texts

if TYPE_CHECKING:
    from memory.embeddings.embedder import Embedder
    from memory.embeddings.model_files import DownloadProgress

NO_PROVIDER = ProviderChoice("none", explain_choice("none", Translatable("no provider is set")))
NO_FALLBACK = ProviderChoice("none", explain_choice("none", Translatable("no fallback is set")))


@dataclass(frozen=True, slots=True)
class Embedding:
    """The embedder, if there is one, with the reasons for provider and fallback, one line each."""

    choice: ProviderChoice = NO_PROVIDER
    fallback: ProviderChoice = NO_FALLBACK
    primary: EmbeddingProvider | None = None
    embedder: "Embedder | None" = None
    error: str = ""
    """Why the chosen provider could not be opened."""

    @property
    def is_local(self) -> bool:
        """Return whether no text leaves this machine: neither the provider nor its fallback is a remote service."""
        return self.choice.is_local and self.fallback.is_local

    @property
    def fetching(self) -> "DownloadProgress | None":
        """Progress of a local model's download; None if none is running."""
        found: DownloadProgress | None = getattr(self.primary, "fetching", None)
        return found


def open_embedding(
    settings: EmbeddingSettings,
    *,
    sections: Mapping[str, ProviderSection],
    environment: Mapping[str, str],
    chat: ChatProviderAccess | None = None,
) -> Embedding:
    """Choose and open the providers; makes no request and loads no model. Failures are in `error`."""
    choice, fallback = choose_providers(settings, sections=sections, environment=environment, chat=chat)
    primary, error = _try_to_open(choice)
    second, other_error = _try_to_open(fallback)
    problem = join_texts(_explain_missing_local_model(settings, choice), error, other_error)
    providers = [provider for provider in (primary, second) if provider]
    if not providers:
        return Embedding(choice, fallback, error=problem)
    from memory.embeddings.embedder import Embedder

    return Embedding(choice, fallback, primary, Embedder(*providers, batch_size=settings.batch_size), problem)


def choose_providers(
    settings: EmbeddingSettings,
    *,
    sections: Mapping[str, ProviderSection],
    environment: Mapping[str, str],
    chat: ChatProviderAccess | None = None,
) -> tuple[ProviderChoice, ProviderChoice]:
    """Return the provider and the fallback that `open_embedding` would open."""
    choice = choose_provider(
        settings,
        local_model_exists=settings.provider == "auto" and _is_local_ready(settings),
        sections=sections,
        environment=environment,
        chat=chat,
    )
    return choice, choose_fallback(settings, choice, sections=sections, environment=environment, chat=chat)


def _try_to_open(choice: ProviderChoice) -> tuple[EmbeddingProvider | None, str]:
    try:
        return open_provider(choice), ""
    except EmbeddingError as error:
        return None, error.text
    except (ImportError, ValueError, OSError) as error:
        # The settings or the environment contain an invalid address, an unusable proxy or missing
        # certificates.
        from memory.http_responses import one_line

        secret = choice.options.api_key if choice.options else ""
        return None, Translatable(
            "{provider} cannot be opened: {error}",
            provider=choice.provider,
            error=one_line(str(error), secrets=(secret,)),
        )


def _explain_missing_local_model(settings: EmbeddingSettings, choice: ProviderChoice) -> str:
    """Explain why the local model in the settings is not used; "" if it is, or none is set."""
    if settings.provider != "auto" or not settings.local.model_path or choice.provider == "local":
        return ""
    if find_spec("llama_cpp") is None:
        return Translatable(
            "local.model_path is set, but llama-cpp-python is not installed: run {command}",
            command=how_to_add("local"),
        )
    return Translatable("local.model_path is set, but {path} does not exist", path=settings.local.model_path)


def _is_local_ready(settings: EmbeddingSettings) -> bool:
    if find_spec("llama_cpp") is None:
        return False
    from memory.embeddings.model_files import is_downloaded

    return is_downloaded(settings.local.model_path, settings.local.cache_dir)
