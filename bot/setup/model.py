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
KEEP, NONE, OTHER_SERVER = "keep", "none", "server"
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


@dataclass(frozen=True, slots=True)
class _KeyTest:
    """What came of asking the provider for its models with the key that is set."""

    listing: ModelListing
    shown: str = "{what}"
    """The summary of a model whose key was kept although this failed."""

    @property
    def is_passed(self) -> bool:
        return self.shown == "{what}"


def set_up_model(setup: Setup) -> str:
    """Ask for a model and its key, and test both; return what was set."""
    while True:
        choice = _choose(setup)
        if choice is None:
            return ""
        if choice.provider == NONE:
            return _take_models_out(setup)
        done = _try(setup, choice)
        if done is not None:
            return done
        setup.files.discard()


def _try(setup: Setup, choice: _ChosenModel) -> str | None:
    """Return what was set, "" if the step is skipped; None to choose another provider."""
    while True:
        tested = _ask_for_key(setup, choice.provider)
        if tested is None:
            return None
        if isinstance(tested, str):
            setup.files.discard()
            return tested
        name = choice.model or _ask_for_name(setup, choice, tested.listing.models)
        model = f"{choice.provider}/{name}"
        what, shown = _call(setup, model) if tested.is_passed else ("keep", tested.shown)
        if what == "skip":
            setup.files.discard()
            return ""
        if what == "other":
            choice = _ChosenModel(choice.provider, suggested=name)
            continue
        others = _put_first(setup, model)
        shown = shown.format(what=model)
        return phrases.MODEL_WITH_FALLBACK.format(model=shown, others=", ".join(others)) if others else shown


def _call(setup: Setup, model: str) -> tuple[str, str]:
    """Call the model; return what the person wants then, as `what_now` does, and the form of the summary."""
    while True:
        setup.questions.say(phrases.MODEL_ASKED.format(model=model))
        error = setup.wait_for(try_model(setup.files.settings(), model, setup.environment))
        if error is None:
            setup.questions.say(phrases.MODEL_ANSWERED)
            return "keep", "{what}"
        reason = phrases.MODEL_REJECTED.format(model=model, reason=_explain(error))
        is_rejected = _last(error).kind in WRONG_KINDS
        what = _ask_what_now(setup, reason, is_rejected=is_rejected, other=phrases.OTHER_KEY_OR_MODEL)
        if what != "again":
            return what, phrases.REJECTED_BUT_KEPT if is_rejected else phrases.UNTESTED


def _ask_what_now(setup: Setup, reason: str, *, is_rejected: bool, other: str) -> str:
    return setup.what_now(
        reason, is_rejected=is_rejected, other=other, flag="api-key-file", parse=parse_secret
    )


def _last(error: ModelError) -> ModelError:
    return error.tries[-1] if isinstance(error, NoModelAnswered) and error.tries else error


def _explain(error: ModelError) -> str:
    last = _last(error)
    return f"{reason_text(last.kind)}; {last.fix}" if last.fix else reason_text(last.kind)


# -- which one ----------------------------------------------------------------------------------------------


def _choose(setup: Setup) -> _ChosenModel | None:
    """Return the provider, and the model if a flag names it; `NONE` for no model, None to change nothing."""
    questions, settings = setup.questions, setup.files.settings()
    if questions.has("model"):
        provider, _, model = questions.ask("model", "", parse=_parse_model(setup)).partition("/")
        if provider == NONE:
            return _ChosenModel(NONE)
        if questions.has("base-url"):
            address = questions.ask("base-url", "", parse=_parse_address(setup, provider))
            if provider not in {**KNOWN_PROVIDERS, **settings.providers}:
                setup.files.set(("providers", provider, "kind"), "openai")
            setup.files.set(("providers", provider, "base_url"), address)
        return _ChosenModel(provider, model)
    if questions.is_unattended:
        return None
    chosen = _chosen_models(setup)
    if chosen:
        questions.say(phrases.MODEL_NOW.format(chain=", ".join(chosen)))
    installed = setup.wait_for(_find_ollama_models(setup))
    options = [
        AnswerOption(offer.provider, offer.title, phrases.NEEDS_KEY.format(page=offer.key_page))
        for offer in OFFERS
    ]
    options.insert(0 if installed else len(options), _ollama_option(installed))
    options.append(AnswerOption(OTHER_SERVER, phrases.OTHER_SERVER, phrases.OTHER_SERVER_NEEDS))
    none = phrases.NO_MODEL if chosen else phrases.NO_MODEL_YET
    options.append(AnswerOption(NONE, none, phrases.NO_MODEL_NEEDS))
    if chosen:
        options.append(AnswerOption(KEEP, phrases.KEEP_MODEL))
    default = KEEP if chosen else OLLAMA if installed else NONE
    name = questions.choose("", phrases.ASK_PROVIDER, options, default=default)
    if name == KEEP:
        return None
    if name == NONE:
        return _ChosenModel(NONE)
    if name == OTHER_SERVER:
        server = _ask_for_server(setup)
        return _ChosenModel(server) if server else _choose(setup)
    if name == OLLAMA:
        return _ChosenModel(OLLAMA, suggested=installed[0] if installed else OLLAMA_MODEL)
    return _ChosenModel(name, suggested=next(offer.model for offer in OFFERS if offer.provider == name))


def _chosen_models(setup: Setup) -> list[str]:
    return [model for model in setup.files.settings().models.chain if model != NOTEBOOK]


def _take_models_out(setup: Setup) -> str:
    """Leave the notebook alone in the chain; return what was set. Keys and addresses stay."""
    if not _chosen_models(setup):
        return ""
    setup.files.set(("models", "chain"), [NOTEBOOK])
    return phrases.MODELS_OUT


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
    """Ask for the name and address of a server with OpenAI's API; return the name, "" to choose another one."""
    ask = setup.questions.ask
    name = ask("", phrases.ASK_SERVER_NAME, default="mine", parse=_parse_new_name)
    address = ask("", phrases.ASK_ADDRESS, parse=_parse_address(setup, name))
    if not address:
        return ""
    setup.files.set(("providers", name, "kind"), "openai")
    setup.files.set(("providers", name, "base_url"), address)
    return name


def _ask_for_address(setup: Setup, name: str) -> None:
    """Ask for another address of a server; Enter keeps the one that it has."""
    present = setup.files.settings().providers[name].base_url
    address = setup.questions.ask(
        "", phrases.ASK_ADDRESS_AGAIN, default=present, parse=_parse_address(setup, name)
    )
    setup.files.set(("providers", name, "base_url"), address)


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
        if typed in (NONE, NOTEBOOK):
            return NONE
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


def _ask_for_key(setup: Setup, name: str) -> _KeyTest | str | None:
    """Ask for the provider's key until it is accepted; return what came of it.

    None to choose another provider, "" to skip the step.
    """
    what = "other"
    while True:
        if what == "other" and not _set_key(setup, name, _provider(setup, name)):
            return None
        listing = setup.wait_for(_list(name, _provider(setup, name)))
        if _is_key_rejected(listing):
            reason = phrases.MODEL_REJECTED.format(model=name, reason=reason_text(BadKey.kind))
            what = _ask_what_now(setup, reason, is_rejected=True, other=phrases.OTHER_KEY)
            kept = _KeyTest(listing, phrases.REJECTED_BUT_KEPT)
        elif listing.unreached:
            is_known = name in KNOWN_PROVIDERS
            other = phrases.OTHER_KEY if is_known else phrases.OTHER_ADDRESS
            what = _ask_what_now(setup, listing.unreached, is_rejected=False, other=other)
            if what == "other" and not is_known and not setup.questions.has("api-key-file"):
                _ask_for_address(setup, name)
            kept = _KeyTest(listing, phrases.UNTESTED)
        else:
            return _KeyTest(listing)
        if what in ("keep", "skip"):
            return "" if what == "skip" else kept


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


def _put_first(setup: Setup, model: str) -> list[str]:
    """Put the model first in the chain; return those of the others that stay as its fallback, as is wanted."""
    chain = [each for each in setup.files.settings().models.chain if each != model]
    others = [each for each in chain if each != NOTEBOOK]
    if others:
        question = phrases.KEEP_AS_FALLBACK.format(models=", ".join(others))
        if not setup.questions.confirm("", question, default=True):
            chain, others = _without(chain, others), []
    setup.files.set(("models", "chain"), [model, *chain])
    return others


def _without(entries: Iterable[str], some: Iterable[str]) -> list[str]:
    removed = set(some)
    return [entry for entry in entries if entry not in removed]
