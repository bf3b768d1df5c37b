"""Checks the models: language models by asking each provider for its list with each key, which is free, and speech."""

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path

from bot.attachments.transcription_providers import missing_key, resolve_transcription_provider
from bot.config.settings import Settings
from bot.doctor.check import NETWORK_SECONDS, Check, Topic, format_list, run_with_timeout
from bot.doctor.http_probe import HttpProbe, ProbeAnswer, ProbeFailed
from bot.doctor.permissions import has_access
from bot.models.base_url import VERSION, BaseUrl
from bot.models.dialect import ChatDialect, kind_of_status
from bot.models.errors import BadKey, ModelError, OutOfCredit, RateLimited
from bot.models.health import Health
from bot.models.known_providers import Provider, how_to_get, resolve_provider
from bot.models.options import ModelOptions
from memory.embeddings.model_files import GGUF
from memory.http_responses import explain_bad_key, find_error_message, one_line
from memory.installation import how_to_add
from memory.quantities import format_size

TOPIC = Topic("models")
SPEECH = Topic("speech")
KEYS_ASKED = 8
"""Maximum number of keys that are tried for one provider."""
OPENROUTER = "https://openrouter.ai/api/v1"
_ADDRESS = {"openai": "it must end in a version, such as /v1", "other": "it must not end in a version"}


@dataclass(frozen=True, slots=True)
class NamedProvider:
    """A provider with its models in the settings."""

    name: str
    provider: Provider
    models: tuple[str, ...]
    """Names as the provider has them."""
    in_chain: bool
    """Whether a model of it is in models.chain."""


def named_providers(settings: Settings, environment: Mapping[str, str]) -> list[NamedProvider]:
    """Return every provider whose models may be used, in the order in which the settings name them."""
    models = settings.models
    others = (*(name for _, names in models.on_error for name in names), *models.params)
    named = tuple(dict.fromkeys((*models.chain, *others)))
    providers = dict.fromkeys(model.partition("/")[0] for model in named)
    return [
        NamedProvider(
            name,
            resolve_provider(name, settings.providers, environment),
            tuple(model.partition("/")[2] for model in named if model.partition("/")[0] == name),
            any(model.startswith(f"{name}/") for model in models.chain),
        )
        for name in providers
    ]


async def check_models(
    settings: Settings,
    environment: Mapping[str, str],
    probe: HttpProbe,
    *,
    seconds: float = NETWORK_SECONDS,
) -> list[Check]:
    """Ask each provider once with each key, within `seconds` each. No model is called."""
    checks = [TOPIC.ok("chain", " → ".join(settings.models.chain))]
    named = named_providers(settings, environment)
    found = await asyncio.gather(
        *(
            run_with_timeout(TOPIC, _check_provider(each, probe), name=each.name, seconds=seconds)
            for each in named
        )
    )
    return [*checks, *(check for checks in found for check in checks)]


def check_health(health: Sequence[Health], named: Sequence[str], *, now: float) -> Iterator[Check]:
    """Yield a warning for each paused model. `named`: the models of the settings, as `provider/model`."""
    for each in health:
        if each.route.model in named and (each.is_open(now) or each.is_half_open(now)):
            detail = f"{each.route.model} is paused after {each.failed_in_a_row} failures in a row: {each.last_error}"
            yield TOPIC.warn(
                "resting", detail, "it will be tried again automatically, or at once after /models reset"
            )


async def _check_provider(named: NamedProvider, probe: HttpProbe) -> list[Check]:
    match named.provider.kind:
        case "builtin":
            return [TOPIC.ok(named.name, "the built-in notebook, which needs no model")]
        case "llama_cpp":
            return await asyncio.to_thread(lambda: [_check_gguf(named)])
    provider = named.provider
    key_fix = f"set providers.{named.name}.api_key or {provider.key_variable}"
    if provider.needs_key and not provider.keys:
        return [_unusable_check(named, "it has no API key", f"{key_fix}, or remove it from models.chain")]
    if provider.kind != "openai" and re.search(r"/v1(beta)?$", provider.base_url):
        detail = f"providers.{named.name}.base_url ends in a version, which is added again"
        return [_unusable_check(named, detail, "remove the version from its end")]
    keys = provider.keys[:KEYS_ASKED] or ("",)
    if checks := [check for key in keys if (check := _check_key_form(named, key))]:
        return checks
    answers = await asyncio.gather(*(list_models(named, key, probe) for key in keys))
    checks = []
    well = sum(answer.is_well for answer in answers)
    for number, answer in enumerate(answers, 1):
        key = f" (key {number} of {len(keys)})" if len(keys) > 1 else ""
        checks.append(_judge(named, answer, key, others_well=well > 0, key_fix=key_fix))
    listed = next((answer.models for answer in answers if answer.is_well and answer.models), ())
    if listed:
        checks += _missing_models(named, listed)
    return checks


def _check_key_form(named: NamedProvider, key: str) -> Check | None:
    if not (fault := explain_bad_key(key)):
        return None
    return _unusable_check(
        named, f"its API key {fault}", f"copy the key into providers.{named.name}.api_key again"
    )


def _unusable_check(named: NamedProvider, detail: str, fix: str) -> Check:
    """Return a failure if the provider is in the chain, else a warning."""
    return TOPIC.fail(named.name, detail, fix) if named.in_chain else TOPIC.warn(named.name, detail, fix)


# -- asking -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ModelListing:
    """The answer to a request for the list of models: the list, or the error that a model would give."""

    models: tuple[str, ...] = ()
    at: str = ""
    """The version that is missing from base_url, if the request only worked with it."""
    error: ModelError | None = None
    status: int = 0
    """The HTTP status of the error."""
    unreached: str = ""
    has_no_list: bool = False

    @property
    def is_well(self) -> bool:
        return not (self.error or self.unreached)


async def list_models(named: NamedProvider, key: str, probe: HttpProbe) -> ModelListing:
    """Ask a provider for its list of models, which is free and tells whether it takes the key."""
    provider = named.provider
    dialect = _dialect(named, key)
    lacks = ""
    try:
        if provider.base_url == OPENROUTER:  # whose list of models needs no key
            answered = await probe.get(f"{OPENROUTER}/key", dialect.headers)
            if answered.is_success:
                answered = await probe.get(f"{OPENROUTER}/models", dialect.headers)
        else:
            answered = await probe.get(_list_of_models(provider), dialect.headers)
            if answered.status == 404 and (found := await _retry_with_version(provider, dialect, probe)):
                answered, lacks = found, VERSION
    except ProbeFailed as error:
        return ModelListing(unreached=str(error))
    if answered.is_success:
        return ModelListing(_model_names(answered), at=lacks)
    if 300 <= answered.status < 400:
        return ModelListing(unreached=f"it redirects elsewhere ({answered.status})")
    failure = answered.failure
    kind = dialect.kind_of(failure) or kind_of_status(failure.status)
    if answered.status in (404, 405, 501) and kind is not BadKey:
        return ModelListing(has_no_list=True, error=None)
    said = "" if kind is BadKey else one_line(find_error_message(failure.fields), secrets=(key,))
    text = f"{failure.status}" + (f" ({said})" if said else "")
    return ModelListing(error=kind(text), status=failure.status)


async def _retry_with_version(
    provider: Provider, dialect: ChatDialect, probe: HttpProbe
) -> ProbeAnswer | None:
    """Return the list of models under `/v1` if an OpenAI-like address has no path; None if there is none either."""
    if provider.kind != "openai" or not BaseUrl(provider.base_url).try_version():
        return None
    answered = await probe.get(f"{provider.base_url}{VERSION}/models", dialect.headers)
    return None if answered.status == 404 else answered


def _dialect(named: NamedProvider, key: str) -> ChatDialect:
    provider = named.provider
    options = ModelOptions(f"{named.name}/{named.models[0]}", base_url=provider.base_url, key=key)
    match provider.kind:
        case "anthropic":
            from bot.models.anthropic import AnthropicChatDialect

            return AnthropicChatDialect(options)
        case "gemini":
            from bot.models.gemini import GeminiChatDialect

            return GeminiChatDialect(options)
        case _:
            from bot.models.openai import OpenAIChatDialect

            return OpenAIChatDialect(options)


def _list_of_models(provider: Provider) -> str:
    match provider.kind:
        case "anthropic":
            return f"{provider.base_url}/v1/models?limit=1000"
        case "gemini":
            return f"{provider.base_url}/v1beta/models?pageSize=1000"
        case _:
            return f"{provider.base_url}/models"


def _model_names(response: ProbeAnswer) -> tuple[str, ...]:
    """Return the names in a list of models: `data[].id`, or Google's `models[].name`."""
    rows = response.fields.get("data") or response.fields.get("models")
    if not isinstance(rows, list):
        return ()
    names = (row.get("id") or row.get("name") for row in rows if isinstance(row, Mapping))
    return tuple(name.removeprefix("models/") for name in names if isinstance(name, str) and name)


# -- judging ------------------------------------------------------------------------------------------------


def _judge(named: NamedProvider, result: ModelListing, key: str, *, others_well: bool, key_fix: str) -> Check:
    kind = "openai" if named.provider.kind == "openai" else "other"
    if result.unreached:
        fix = f"check the network, the proxy and providers.{named.name}.base_url"
        return _unusable_check(named, result.unreached, fix)
    if result.has_no_list:
        words = f"answers, but has no list of models, so the API key was not checked{key}"
        return TOPIC.warn(
            named.name, words, f"if models fail, check providers.{named.name}.base_url: {_ADDRESS[kind]}"
        )
    if result.error is None:
        where = f" at {result.at} (missing at the end of base_url)" if result.at else ""
        takes = f" and accepts the API key{key}" if named.provider.keys else ""
        return TOPIC.ok(named.name, f"answers{where}{takes}")
    said = f"answered {result.error}{key}"
    if isinstance(result.error, BadKey):
        words = f"rejects the API key: {said}"
        return (
            TOPIC.warn(named.name, words, f"remove or replace that key: {key_fix}")
            if others_well
            else _unusable_check(named, words, key_fix)
        )
    if isinstance(result.error, OutOfCredit):
        return TOPIC.warn(named.name, said, "top up the account, or add another model to models.chain")
    if isinstance(result.error, RateLimited):
        return TOPIC.warn(named.name, said, "wait, or add another model to models.chain")
    return TOPIC.warn(named.name, said, f"try again later; check providers.{named.name}.base_url")


def _missing_models(named: NamedProvider, listed: Sequence[str]) -> Iterator[Check]:
    missing = [model for model in named.models if not is_model_listed(model, listed)]
    for model in missing:
        near = get_close_matches(model, listed, n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]}?" if near else f", which has {format_list(sorted(listed), limit=3)}"
        detail = f"{model} is not in its list of models{hint}"
        fix = "correct models.chain, unless you know that it exists: some lists are incomplete"
        get = how_to_get(f"{named.name}/{model}")
        yield TOPIC.warn(named.name, detail, f"{get}, or correct models.chain" if get else fix)


def is_model_listed(model: str, listed: Sequence[str]) -> bool:
    """Return whether a provider lists this model; a date or tag at the end of either name is ignored."""
    plain = model.removesuffix("-latest").partition(":")[0]
    return any(name in (model, plain) or name.startswith((f"{plain}-2", f"{plain}:")) for name in listed)


# -- on this machine ----------------------------------------------------------------------------------------


def _check_gguf(named: NamedProvider) -> Check:
    path = Path(named.provider.model_path)
    key = f"providers.{named.name}.model_path"
    if find_spec("llama_cpp") is None:
        return _unusable_check(named, "llama-cpp-python is not installed", f"run {how_to_add('local')}")
    if fault := gguf_problem(path):
        return _unusable_check(named, fault, f"put the file there, or correct {key}")
    size, free = path.stat().st_size, _available_memory()
    if free is not None and size > free:
        detail = f"{path.name} has {format_size(size)}, but only {format_size(free)} of memory are free"
        return TOPIC.warn(named.name, detail, "use a smaller model, or close other programs")
    return TOPIC.ok(named.name, f"{path.name}, {format_size(size)}")


def gguf_problem(path: Path) -> str:
    """Return why a file cannot be a GGUF model, "" if it can."""
    try:
        if not path.is_file():
            return f"{path} does not exist"
        if not has_access(path, 4):
            return f"{path} cannot be read: permission denied"
        with path.open("rb") as file:
            return "" if file.read(len(GGUF)) == GGUF else f"{path} is not a GGUF file"
    except OSError as error:
        return f"{path} cannot be read: {error.strerror}"


def _available_memory() -> int | None:
    """Return the available memory in bytes; None if unknown."""
    try:
        for line in Path("/proc/meminfo").read_text("ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        return None
    return None


def check_speech(settings: Settings, environment: Mapping[str, str]) -> Iterator[Check]:
    """Check which provider is used, without asking it."""
    provider = resolve_transcription_provider(settings.speech, settings.providers, environment)
    if provider is None:
        yield SPEECH.ok("provider", "none, so voice messages are not transcribed")
    elif fault := missing_key(settings, environment):
        yield SPEECH.fail("provider", f"{provider.name} has no API key", fault.partition(": ")[2])
    else:
        yield SPEECH.ok("provider", f"{provider.name}, {provider.model}")
