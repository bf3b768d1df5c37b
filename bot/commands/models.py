"""Slash commands for language models: choose one, show their state and token use, ask again."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from bot import phrases
from bot.access import Standing
from bot.buttons import MAX_LABEL_CHARS, buttons_for, fits_on_button
from bot.commands.command import CommandCall, CommandReply, RetryLast
from bot.messages import Choice
from bot.model_error_text import reason_text
from bot.models.model_names import with_provider
from bot.models.status import ModelStatus, models_status
from bot.services import Services
from bot.timeparse import moment_in_short
from bot.token_use import ModelTokens, read_token_use

AUTOMATIC = "auto"
MAX_CHOICES = 20
"""The most models that are offered as buttons; others can be named."""


async def choose_model(call: CommandCall, services: Services) -> str | CommandReply:
    """Show or choose the model of this chat, or go back to the usual order."""
    wanted, chat = call.options.get("name", ""), str(call.message.chat)
    names = list(services.model.plan.candidates)
    rows = _format_rows(names)
    if not wanted:
        chosen = await services.state.read_chosen_model(chat)
        chosen = chosen if chosen in names else ""
        choices = (
            (*_choices(names, names, chosen), _auto_choice(is_chosen=not chosen)) if len(names) > 1 else ()
        )
        if chosen:
            return CommandReply(phrases.MODEL_NOW.format(model=chosen, models=rows), choices)
        if len(names) == 1:
            return phrases.MODEL_ONLY.format(model=names[0])
        return CommandReply(phrases.MODEL_AUTO.format(model=services.model.name, models=rows), choices)
    if wanted.lower() == AUTOMATIC:
        await services.state.choose_model(chat, "")
        return phrases.MODEL_AUTO_AGAIN.format(model=services.model.name)
    meant = match_models(wanted, names)
    if len(meant) > 1:
        return CommandReply(
            phrases.MODEL_AMBIGUOUS.format(name=wanted, models=_format_rows(meant)), _choices(meant, names)
        )
    if not meant:
        from difflib import get_close_matches

        short = {each.partition("/")[2].lower(): each for each in names} | {
            each.lower(): each for each in names
        }
        near = get_close_matches(wanted.lower(), short, n=1)
        if near:
            nearest = short[near[0]]
            told = phrases.MODEL_UNKNOWN_NEAR.format(name=wanted, near=nearest, models=rows)
            return CommandReply(told, _choices([nearest], names))
        told = phrases.MODEL_UNKNOWN.format(name=wanted, models=rows)
        if call.standing is Standing.OWNER and (whole := with_provider(wanted)) != wanted:
            told += phrases.MODEL_TO_ADD.format(name=whole)
        return CommandReply(told, _choices(names, names))
    (name,) = meant
    await services.state.choose_model(chat, name)
    if call.standing >= Standing.ALLOWED:  # affects everybody, so not for guests
        await services.model.health.reset(name)
    return phrases.MODEL_CHOSEN.format(model=name)


def match_models(wanted: str, names: Sequence[str]) -> list[str]:
    """Return the models that match: by whole name, else by name without the provider, else by a part of it.

    If several share a name without the provider, the one from the model's maker matches.
    """
    wanted = wanted.strip().lower()
    for is_meant in (
        lambda name: name in (wanted, with_provider(wanted)),
        lambda name: name.partition("/")[2] == wanted,
        lambda name: wanted in name,
    ):
        if found := [name for name in names if is_meant(name.lower())]:
            return found
    return []


def choosing_command(name: str, names: Sequence[str]) -> str | None:
    """Return the `/model` command for one of these models, with a part of its name if a button needs that.

    None if no part that fits is unique.
    """
    ends = (name[start:] for start in range(len(name)))  # where model names usually differ
    beginnings = (name[:end] for end in range(len(name) - 1, 0, -1))
    for part in (*ends, *beginnings):
        line = f"/model {part}"
        can_be_said = part == part.strip() and part.lower() != AUTOMATIC and fits_on_button(line)
        if can_be_said and match_models(part, names) == [name]:
            return line
    return None


def _choices(offer: Sequence[str], names: Sequence[str], chosen: str = "") -> tuple[Choice, ...]:
    """Return a button for each model in `offer`, a subset of `names`."""
    choices = []
    for name in offer[:MAX_CHOICES]:
        phrase = phrases.CHOICE_CHOSEN if name == chosen else phrases.CHOICE
        room = MAX_LABEL_CHARS - len(phrase.format(label=""))
        shown = name if len(name) <= room else f"…{name[1 - room :]}"
        if line := choosing_command(name, names):
            choices.append(Choice(phrase.format(label=shown), line))
    return buttons_for(choices)


def _auto_choice(*, is_chosen: bool) -> Choice:
    phrase = phrases.CHOICE_CHOSEN if is_chosen else phrases.CHOICE
    return Choice(phrase.format(label=phrases.MODEL_CHOICE_AUTO), f"/model {AUTOMATIC}")


async def show_models(call: CommandCall, services: Services) -> str | CommandReply:
    """Show the state of each model with each key, or clear all failures."""
    if call.options.get("action") == "reset":
        await services.model.health.reset()
        return phrases.MODELS_RESET
    await services.model.health.refresh()
    status = models_status(services.model.plan, services.model.health)
    told = "\n".join(_format_row(each, services.now()) for each in status)
    if all(each.state == "ready" for each in status):
        return told
    return CommandReply(
        f"{told}\n\n{phrases.MODELS_MAY_RESET}", (Choice(phrases.MODELS_CHOICE_RESET, "/models reset"),)
    )


async def show_usage(call: CommandCall, services: Services) -> str:
    """Show the tokens used today and in the last 30 days, by model."""
    del call
    used = await read_token_use(services)
    return phrases.TOKENS_USED.format(today=_format_sums(used.today), month=_format_sums(used.month))


async def retry_last(call: CommandCall, services: Services) -> RetryLast:
    """Answer the latest message again."""
    del call, services
    return RetryLast()


def _format_rows(names: Iterable[str]) -> str:
    return "\n".join(phrases.MODEL_ROW.format(model=name) for name in names)


def _format_row(status: ModelStatus, now: datetime) -> str:
    key = phrases.MODELS_KEY.format(number=status.key) if status.key else ""
    state = phrases.MODELS_STATE[status.state].format(time=_format_time(status.paused_until, now))
    told = [phrases.MODELS_ROW.format(model=status.model, key=key, state=state)]
    if not status.calls:
        told.append(phrases.MODELS_UNUSED)
    else:
        told.append(phrases.MODELS_CALLS.format(count=status.calls, failures=status.failures))
    if status.first_token_seconds:
        first, speed = status.first_token_seconds, status.tokens_per_second
        told.append(phrases.MODELS_SPEED.format(first=first, speed=speed))
    if status.input_tokens:
        told.append(
            phrases.MODELS_TOKENS.format(
                read=status.input_tokens, cached=status.cached_tokens, written=status.output_tokens
            )
        )
    if status.last_failure_at:
        told.append(
            phrases.MODELS_ERROR.format(
                time=_format_time(status.last_failure_at, now),
                reason=reason_text(status.last_error_kind),
                detail=status.last_error,
            )
        )
    return phrases.LIST_MARK.join(told)


def _format_sums(used: Iterable[ModelTokens]) -> str:
    rows = [
        phrases.TOKENS_ROW.format(
            model=each.model,
            answers=each.answers,
            read=each.usage.input_tokens,
            cached=each.usage.cached_tokens,
            written=each.usage.output_tokens,
        )
        for each in used
    ]
    return "\n".join(rows) or phrases.TOKENS_NONE


def _format_time(moment: float, now: datetime) -> str:
    return moment_in_short(datetime.fromtimestamp(moment, now.tzinfo), now)
