"""Build the answering model from the settings: every model of the chain, with every key."""

import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bot.metrics import Metrics
from bot.models.breakers import Breakers, HealthStore
from bot.models.candidate import ModelCandidate, Route
from bot.models.context_windows import known_window
from bot.models.fallback import FallbackModel
from bot.models.health import RouteName
from bot.models.image_fallback import ImageFallback, ImageSupport
from bot.models.known_providers import Provider, ProviderKind, how_to_get, resolve_provider
from bot.models.options import ModelOptions
from bot.models.protocol import LanguageModel, ModelEvent, ModelRequest
from bot.models.retry import RetryPolicy
from bot.models.routing import Routing
from bot.models.timeouts import Timeouts
from bot.models.vision import known_vision

if TYPE_CHECKING:
    from bot.config.settings import ModelParams, ModelsSettings, Settings
    from bot.models.connection_pool import ConnectionPool


class LazyModel:
    """A `LanguageModel` that imports and opens its client on the first call.

    Most models of a chain are never called.
    """

    def __init__(self, name: str, client: Callable[[], LanguageModel]) -> None:
        self.name = name
        self._client = client
        self._opened: LanguageModel | None = None

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Stream as the client does."""
        if self._opened is None:
            self._opened = self._client()
        return self._opened.stream(request)


@dataclass(slots=True)
class ClientFactory:
    """What the clients of one provider share."""

    provider: Provider
    stack: AsyncExitStack
    """Closes what was opened."""
    alone: bool
    """Whether no language model is configured beside it."""
    now: Callable[[], datetime]
    """Returns the owner's local time, aware."""
    _connection: "ConnectionPool | None" = field(default=None, init=False)

    def open(self, options: ModelOptions) -> LanguageModel:
        """Open one model with one key."""
        client = partial(_CLIENTS[self.provider.kind], options, self)
        return client() if self.provider.kind == "llama_cpp" else LazyModel(options.name, client)

    def connection(self, limits: Timeouts) -> "ConnectionPool":
        """Return the connections to the provider's server."""
        if self._connection is None:
            from bot.models.connection_pool import ConnectionPool

            self._connection = ConnectionPool(self.provider.base_url, connect_seconds=limits.connect)
            self.stack.push_async_callback(self._connection.close)
        return self._connection


def _openai(options: ModelOptions, opener: ClientFactory) -> LanguageModel:
    from bot.models.openai import open_openai

    return open_openai(options, opener.connection(options.limits))


def _anthropic(options: ModelOptions, opener: ClientFactory) -> LanguageModel:
    from bot.models.anthropic import open_anthropic

    return open_anthropic(options, opener.connection(options.limits))


def _gemini(options: ModelOptions, opener: ClientFactory) -> LanguageModel:
    from bot.models.gemini import open_gemini

    return open_gemini(options, opener.connection(options.limits))


def _llama_cpp(options: ModelOptions, opener: ClientFactory) -> LanguageModel:
    from bot.models.llama_cpp.model import open_llama_cpp

    model = open_llama_cpp(options, Path(opener.provider.model_path))
    opener.stack.push_async_callback(model.close)
    return model


def _builtin(options: ModelOptions, opener: ClientFactory) -> LanguageModel:
    from bot.models.notebook.model import Notebook

    return Notebook(options.name, alone=opener.alone, now=opener.now)


_CLIENTS: Mapping[ProviderKind, Callable[[ModelOptions, ClientFactory], LanguageModel]] = {
    "openai": _openai,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "llama_cpp": _llama_cpp,
    "builtin": _builtin,
}


@asynccontextmanager
async def open_model(
    settings: "Settings",
    store: HealthStore | None,
    environment: Mapping[str, str],
    *,
    metrics: Metrics | None = None,
) -> AsyncIterator[FallbackModel]:
    """Open all configured models; no request is sent and no file loaded before the first call."""
    opened = AsyncExitStack()
    plan, health = _routing_of(settings, environment, opened), Breakers(store)
    model = FallbackModel(plan, close=opened.aclose, health=health, metrics=metrics)
    try:
        yield model
    finally:
        await health.write()
        await model.plans.close()


def reconfigure_model(model: FallbackModel, settings: "Settings", environment: Mapping[str, str]) -> None:
    """Apply new settings to all later calls; running calls finish with the old ones."""
    opened = AsyncExitStack()
    model.plans.replace(_routing_of(settings, environment, opened), opened.aclose)


def _routing_of(settings: "Settings", environment: Mapping[str, str], opened: AsyncExitStack) -> Routing:
    """Return the routing of the settings; `opened` closes what it needs."""
    models = settings.models
    named = (*models.chain, *(name for _, names in models.on_error for name in names), *models.params)
    providers = {
        name: resolve_provider(name, settings.providers, environment)
        for name in dict.fromkeys(map(_provider, named))
    }
    alone = all(providers[_provider(name)].kind == "builtin" for name in models.chain)
    openers = {
        name: ClientFactory(provider, opened, alone, settings.now) for name, provider in providers.items()
    }
    candidates = {name: _candidate(name, models, openers[_provider(name)]) for name in dict.fromkeys(named)}
    chain = tuple(candidates[name] for name in dict.fromkeys(models.chain))
    return Routing(
        chain,
        tuple(each for each in candidates.values() if each not in chain),
        dict(models.on_error) if models.fallback else {},
        RetryPolicy(models.max_retries, models.retry_delay),
        adaptive=models.adaptive and models.fallback,
        fallback=models.fallback,
    )


def _provider(name: str) -> str:
    return name.partition("/")[0]


def _candidate(name: str, models: "ModelsSettings", opener: ClientFactory) -> ModelCandidate:
    found = opener.provider
    params = models.params.get(name)
    window = params.context_window if params else None
    if window is None and found.kind != "llama_cpp":  # llama_cpp reports the window that it has allocated
        window = known_window(name)
    options = ModelOptions(
        name,
        base_url=found.base_url,
        needs_key=found.needs_key,
        key_is_set_in=f"providers.{_provider(name)}.api_key or {found.key_variable}",
        how_to_get=how_to_get(name),
        temperature=params.temperature if params else None,
        max_tokens=params.max_tokens if params else None,
        reasoning_effort=params.reasoning_effort if params else None,
        context_window=params.context_window if params else None,
        limits=timeouts_of(models),
    )
    sight = _image_support_of(name, found.kind, params)
    routes = tuple(
        Route(
            _with_image_fallback(opener.open(replace(options, key=key)), sight),
            RouteName(name, fingerprint(key)),
        )
        for key in found.keys or ("",)
    )
    return ModelCandidate(
        name,
        routes,
        window,
        window_is_set=params is not None and params.context_window is not None,
        last_resort=found.kind == "builtin",
        sight=sight,
    )


def _image_support_of(name: str, kind: ProviderKind, params: "ModelParams | None") -> ImageSupport | None:
    """Return the image support of a model; None for one that is no language model and decides itself."""
    if kind == "builtin":
        return None
    if params is not None and params.vision is not None and kind != "llama_cpp":
        return ImageSupport(params.vision)
    return ImageSupport(False if kind == "llama_cpp" else known_vision(name))


def _with_image_fallback(model: LanguageModel, image_support: ImageSupport | None) -> LanguageModel:
    return ImageFallback(model, image_support) if image_support else model


def timeouts_of(models: "ModelsSettings") -> Timeouts:
    """Return the timeouts; `timeout` bounds all stages except writing an answer that has begun."""
    return Timeouts(
        first_token=min(models.first_token_timeout, models.timeout),
        idle=min(models.idle_timeout, models.timeout),
        begin=models.timeout,
        total=max(models.total_timeout, models.timeout),
    )


def fingerprint(key: str) -> str:
    """Return a short hash that identifies a key in state.db without revealing it."""
    return hashlib.sha256(key.encode()).hexdigest()[:12] if key else ""
