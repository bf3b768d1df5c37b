"""The step about the language model: which one, its key, and whether it answers."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus

from bot.config.settings import BUILTIN_MODEL, BUILTIN_PROVIDER
from bot.doctor.check import format_list
from bot.doctor.http_probe import HttpProbe
from bot.doctor.models import ModelListing, NamedProvider, is_model_listed, list_models
from bot.model_error_text import reason_text
from bot.models.errors import BadKey, ModelError, NoModelAnswered
from bot.models.known_providers import KNOWN_PROVIDERS, Provider, resolve_provider
from bot.setup import phrases
from bot.setup.model_offers import OFFERS, OLLAMA, OLLAMA_MODEL
from bot.setup.model_test import try_model
from bot.setup.questions import AnswerOption, InvalidAnswer, Parse, parse_secret
from bot.setup.setup import Setup
from memory.embeddings.ollama_server import is_embedding_model

NOTEBOOK = f"{BUILTIN_PROVIDER}/{BUILTIN_MODEL}"
NONE, OTHER_SERVER = "none", "server"
SERVER_KINDS = ("openai", "anthropic", "gemini")
"""Kinds of providers that are asked over HTTP; a GGUF file is set up by hand."""
WRONG_KINDS = ("auth", "not_found")
"""Errors that no later call will be spared."""


@dataclass(frozen=True, slots=True)
class _ChosenModel:
    """What the person has chosen so far."""

    provider: str
    model: str = ""
    """Empty if it is to be asked for."""
    suggested: str = ""


def set_up_model(setup: Setup) -> str:
    """Ask for a model and its key, and test both; return what was set."""
    while True:
        choice = _choose(setup)
        if choice is None:
            return ""
        done = _try(setup, choice)
        if done is not None:
            return done
        setup.files.discard()


def _try(setup: Setup, choice: _ChosenModel) -> str | None:
    """Return what was set, "" if the step is skipped; None to choose another provider."""
    while True:
        listing = _ask_for_key(setup, choice.provider)
        if listing is None:
            return None
        if isinstance(listing, str):
            setup.files.discard()
            return listing
        name = choice.model or _ask_for_name(setup, choice, listing.models)
        model = f"{choice.provider}/{name}"
        error = None
        if not (listing.unreached or _is_key_rejected(listing)):  # else it was kept although that failed
            setup.questions.say(phrases.MODEL_ASKED.format(model=model))
            error = setup.wait_for(try_model(setup.files.settings(), model, setup.environment))
            if error is None:
                setup.questions.say(phrases.MODEL_ANSWERED)
        if error is not None:
            reason = phrases.MODEL_REJECTED.format(model=model, reason=_explain(error))
            what = setup.what_now(reason, is_rejected=_last(error).kind in WRONG_KINDS)
            if what == "skip":
                setup.files.discard()
                return ""
            if what == "again":
                choice = _ChosenModel(choice.provider, suggested=name)
                continue
        _put_first(setup, model)
        return phrases.MODEL_SET.format(model=model)


def _last(error: ModelError) -> ModelError:
    return error.tries[-1] if isinstance(error, NoModelAnswered) and error.tries else error


def _explain(error: ModelError) -> str:
    last = _last(error)
    return f"{reason_text(last.kind)}; {last.fix}" if last.fix else reason_text(last.kind)


# -- which one ----------------------------------------------------------------------------------------------


def _choose(setup: Setup) -> _ChosenModel | None:
    """Return the provider, and the model if a flag names it; None to change nothing."""
    questions, settings = setup.questions, setup.files.settings()
    if questions.has("model"):
        provider, _, model = questions.ask("model", "", parse=_parse_model(setup)).partition("/")
        if provider == NONE:
            return None
        if questions.has("base-url"):
            address = questions.ask("base-url", "", parse=_parse_address(setup, provider))
            if provider not in {**KNOWN_PROVIDERS, **settings.providers}:
                setup.files.set(("providers", provider, "kind"), "openai")
            setup.files.set(("providers", provider, "base_url"), address)
        return _ChosenModel(provider, model)
    if questions.is_unattended:
        return None
    chosen = [model for model in settings.models.chain if model != NOTEBOOK]
    if chosen:
        questions.say(phrases.MODEL_NOW.format(chain=", ".join(chosen)))
    installed = setup.wait_for(_find_ollama_models(setup))
    options = [
        AnswerOption(offer.provider, offer.title, phrases.NEEDS_KEY.format(page=offer.key_page))
        for offer in OFFERS
    ]
    options.insert(0 if installed else len(options), _ollama_option(installed))
    options.append(AnswerOption(OTHER_SERVER, phrases.OTHER_SERVER, phrases.OTHER_SERVER_NEEDS))
    options.append(
        AnswerOption(NONE, phrases.KEEP_MODEL)
        if chosen
        else AnswerOption(NONE, phrases.NO_MODEL_YET, phrases.NO_MODEL_NEEDS)
    )
    default = NONE if chosen or not installed else OLLAMA
    name = questions.choose("", phrases.ASK_PROVIDER, options, default=default)
    if name == NONE:
        return None
    if name == OTHER_SERVER:
        return _ChosenModel(_ask_for_server(setup))
    if name == OLLAMA:
        return _ChosenModel(OLLAMA, suggested=installed[0] if installed else OLLAMA_MODEL)
    return _ChosenModel(name, suggested=next(offer.model for offer in OFFERS if offer.provider == name))


def _ollama_option(installed: Sequence[str] | None) -> AnswerOption:
    if installed is None:
        needs = phrases.OLLAMA_NOT_FOUND
    elif installed:
        needs = phrases.OLLAMA_FOUND.format(models=format_list(installed, limit=3))
    else:
        needs = phrases.OLLAMA_NO_MODEL
    return AnswerOption(OLLAMA, "Ollama", needs)


async def _find_ollama_models(setup: Setup) -> list[str] | None:
    """Return the chat models that Ollama has; None if it does not answer."""
    listing = await _list(OLLAMA, _provider(setup, OLLAMA))
    if listing.unreached or listing.error:
        return None
    return [name.removesuffix(":latest") for name in listing.models if not is_embedding_model(name)]


def _ask_for_server(setup: Setup) -> str:
    """Ask for the name and address of a server with OpenAI's API; return the name."""
    ask = setup.questions.ask
    name = ask("", phrases.ASK_SERVER_NAME, default="mine", parse=_parse_new_name)
    address = ""
    while not address:
        address = ask("", phrases.ASK_ADDRESS, parse=_parse_address(setup, name))
    setup.files.set(("providers", name, "kind"), "openai")
    setup.files.set(("providers", name, "base_url"), address)
    return name


def _parse_new_name(typed: str) -> str:
    if typed in KNOWN_PROVIDERS:
        raise InvalidAnswer(phrases.NAME_KNOWN.format(name=typed))
    return _parse_server_name(typed)


def _parse_server_name(typed: str) -> str:
    if not re.fullmatch("[A-Za-z0-9][A-Za-z0-9_-]*", typed):
        raise InvalidAnswer(phrases.NAME_FORM)
    return typed


def _parse_address(setup: Setup, name: str) -> Parse:
    def parse(typed: str) -> str:
        setup.check(("providers", name), {"kind": "openai", "base_url": typed})
        return typed

    return parse


def _parse_model(setup: Setup) -> Parse:
    def parse(typed: str) -> str:
        if typed == NONE:
            return typed
        provider, slash, model = typed.partition("/")
        known = {name: each.kind for name, each in KNOWN_PROVIDERS.items()}
        known |= {name: each.kind for name, each in setup.files.settings().providers.items()}
        usable = [name for name, kind in known.items() if kind in SERVER_KINDS]
        is_usable = provider in usable or (provider not in known and setup.questions.has("base-url"))
        if not (provider and slash and model and is_usable):
            raise InvalidAnswer(phrases.MODEL_FORM.format(providers=", ".join(usable)))
        return f"{_parse_server_name(provider)}/{_parse_model_name(model)}"

    return parse


def _parse_model_name(typed: str) -> str:
    if not typed.isprintable():
        raise InvalidAnswer(phrases.MODEL_NEEDS_NAME)
    return typed


# -- its key ------------------------------------------------------------------------------------------------


def _ask_for_key(setup: Setup, name: str) -> ModelListing | str | None:
    """Ask for the provider's key until it is accepted; return its models.

    None to choose another provider, "" to skip the step.
    """
    while True:
        provider = _provider(setup, name)
        if not _set_key(setup, name, provider):
            return None
        listing = setup.wait_for(_list(name, _provider(setup, name)))
        if _is_key_rejected(listing):
            reason = phrases.MODEL_REJECTED.format(model=name, reason=reason_text(BadKey.kind))
            what = setup.what_now(reason, is_rejected=True)
        elif listing.unreached:
            what = setup.what_now(listing.unreached, is_rejected=False)
        else:
            return listing
        if what != "again":
            return "" if what == "skip" else listing


def _is_key_rejected(listing: ModelListing) -> bool:
    """Return whether no call can succeed; a key that may not list models may still call them."""
    return isinstance(listing.error, BadKey) and listing.status != HTTPStatus.FORBIDDEN


def _set_key(setup: Setup, name: str, provider: Provider) -> bool:
    """Ask for a key if the provider takes one; return whether there is what it needs."""
    questions, keys = setup.questions, ("providers", name, "api_key")
    is_known = name in KNOWN_PROVIDERS
    if questions.has("api-key-file"):
        setup.files.set_secret(keys, questions.ask("api-key-file", "", parse=parse_secret, hidden=True))
        return True
    if questions.is_unattended or name == OLLAMA:
        return True
    ours = setup.files.settings().providers.get(name)
    if ours and ours.keys:
        if key := questions.ask("", phrases.ASK_OTHER_KEY, parse=parse_secret, hidden=True):
            setup.files.set_secret(keys, key)
        return True
    if provider.keys:
        question = phrases.KEY_IN_ENVIRONMENT.format(variable=provider.key_variable)
        if questions.confirm("", question, default=True):
            setup.files.set_secret(keys, provider.keys[0])
        return True
    text = phrases.ASK_KEY if is_known else phrases.ASK_KEY_OPTIONAL
    key = questions.ask("", text, parse=parse_secret, hidden=True)
    if key:
        setup.files.set_secret(keys, key)
    return bool(key) or not is_known


async def _list(name: str, provider: Provider) -> ModelListing:
    key = next(iter(provider.keys), "")
    async with HttpProbe(secrets=provider.keys) as probe:
        listing = await list_models(NamedProvider(name, provider, ("",), True), key, probe)
    # Others could control the terminal, and are no names that the settings take.
    return replace(listing, models=tuple(filter(str.isprintable, listing.models)))


def _provider(setup: Setup, name: str) -> Provider:
    return resolve_provider(name, setup.files.settings().providers, setup.environment)


# -- its name -----------------------------------------------------------------------------------------------


def _ask_for_name(setup: Setup, choice: _ChosenModel, listed: Sequence[str]) -> str:
    suggested = choice.suggested
    if listed and not (suggested and is_model_listed(suggested, listed)):
        suggested = listed[0] if len(listed) == 1 else ""
    if listed and not suggested:
        setup.questions.say(phrases.MODELS_LISTED.format(models=format_list(sorted(listed), limit=8)))
    name = ""
    while not name:
        name = setup.questions.ask("", phrases.ASK_MODEL, default=suggested, parse=_parse_model_name)
    return name


def _put_first(setup: Setup, model: str) -> None:
    """Put the model before the others in the chain, of which those that were chosen stay only if they are wanted."""
    chain = [each for each in setup.files.settings().models.chain if each != model]
    others = [each for each in chain if each != NOTEBOOK]
    if others:
        question = phrases.KEEP_AS_FALLBACK.format(models=", ".join(others))
        if not setup.questions.confirm("", question, default=True):
            chain = _without(chain, others)
    setup.files.set(("models", "chain"), [model, *chain])


def _without(entries: Iterable[str], some: Iterable[str]) -> list[str]:
    removed = set(some)
    return [entry for entry in entries if entry not in removed]
