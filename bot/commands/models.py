"""The slash commands about language models: which one answers, how they fare, what they cost, and asking again."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from bot import phrases
from bot.access import Standing
from bot.commands.command import AnswerAgain, CommandCall, CommandContext
from bot.model_trouble import reason
from bot.models.protocol import Usage
from bot.models.status import ModelStatus, models_status
from bot.state.models import DayUsage
from bot.when import moment_in_short

AUTO = "auto"
USAGE_DAYS = 30


async def choose_model(call: CommandCall, context: CommandContext) -> str:
    """Tell which model answers in this chat, choose one, or end the choice."""
    wanted, chat = call.options.get("name", ""), str(call.message.chat)
    names = list(context.model.plan.candidates)
    rows = _rows(names)
    if not wanted:
        chosen = await context.state.chosen_model(chat)
        if chosen in names:
            return phrases.MODEL_NOW.format(model=chosen, models=rows)
        return phrases.MODEL_AUTO.format(model=context.model.name, models=rows)
    if wanted.lower() == AUTO:
        await context.state.choose_model(chat, "")
        return phrases.MODEL_AUTO_AGAIN.format(model=context.model.name)
    meant = meant_models(wanted, names)
    if len(meant) > 1:
        return phrases.MODEL_AMBIGUOUS.format(name=wanted, models=_rows(meant))
    if not meant:
        from difflib import get_close_matches

        short = {each.partition("/")[2].lower(): each for each in names} | {
            each.lower(): each for each in names
        }
        near = get_close_matches(wanted.lower(), short, n=1)
        if near:
            return phrases.MODEL_UNKNOWN_NEAR.format(name=wanted, near=short[near[0]], models=rows)
        return phrases.MODEL_UNKNOWN.format(name=wanted, models=rows)
    (name,) = meant
    await context.state.choose_model(chat, name)
    if call.standing >= Standing.ALLOWED:  # it concerns everybody
        await context.model.health.reset(name)
    return phrases.MODEL_CHOSEN.format(model=name)


def meant_models(wanted: str, names: Sequence[str]) -> list[str]:
    """Those that may be meant: by the whole name, else by the name without the provider, else by a part of it."""
    wanted = wanted.strip().lower()
    for fits in (
        lambda name: name == wanted,
        lambda name: name.partition("/")[2] == wanted,
        lambda name: wanted in name,
    ):
        if found := [name for name in names if fits(name.lower())]:
            return found
    return []


async def show_models(call: CommandCall, context: CommandContext) -> str:
    """Tell how each model fares with each key, or let all of them be asked again."""
    if call.options.get("action") == "reset":
        await context.model.health.reset()
        return phrases.MODELS_RESET
    await context.model.health.refresh()
    return "\n".join(
        _row(status, context.now()) for status in models_status(context.model.plan, context.model.health)
    )


async def show_usage(call: CommandCall, context: CommandContext) -> str:
    """Count the tokens of today and of the last 30 days, by model."""
    del call
    await context.model.health.write()
    today = context.now().date()
    first = today - timedelta(days=USAGE_DAYS - 1)
    used = await context.state.usage_since(first.isoformat())
    return phrases.TOKENS_USED.format(
        today=_sums(each for each in used if each.day == today.isoformat()), month=_sums(used)
    )


async def ask_again(call: CommandCall, context: CommandContext) -> AnswerAgain:
    """Have the latest message answered again."""
    del call, context
    return AnswerAgain()


def _rows(names: Iterable[str]) -> str:
    return "\n".join(phrases.MODEL_ROW.format(model=name) for name in names)


def _row(status: ModelStatus, now: datetime) -> str:
    key = phrases.MODELS_KEY.format(number=status.key) if status.key else ""
    state = phrases.MODELS_STATE[status.state].format(time=_time(status.rests_until, now))
    told = [phrases.MODELS_ROW.format(model=status.model, key=key, state=state)]
    if not status.calls:
        told.append(phrases.MODELS_NEVER)
    else:
        told.append(phrases.MODELS_CALLS.format(calls=status.calls, failures=status.failures))
    if status.first_token_seconds:
        first, speed = status.first_token_seconds, status.tokens_per_second
        told.append(phrases.MODELS_SPEED.format(first=first, speed=speed))
    if status.input_tokens:
        told.append(
            phrases.MODELS_TOKENS.format(
                read=f"{status.input_tokens:,}",
                cached=f"{status.cached_tokens:,}",
                written=f"{status.output_tokens:,}",
            )
        )
    if status.last_failure_at:
        told.append(
            phrases.MODELS_ERROR.format(
                time=_time(status.last_failure_at, now),
                reason=reason(status.last_error_kind),
                detail=status.last_error,
            )
        )
    return "; ".join(told)


def _sums(used: Iterable[DayUsage]) -> str:
    answers: dict[str, int] = defaultdict(int)
    tokens: dict[str, Usage] = defaultdict(Usage)
    for each in used:
        answers[each.model] += each.answers
        tokens[each.model] += each.usage
    rows = [
        phrases.TOKENS_ROW.format(
            model=model,
            answers=count,
            read=f"{tokens[model].input_tokens:,}",
            cached=f"{tokens[model].cached_tokens:,}",
            written=f"{tokens[model].output_tokens:,}",
        )
        for model, count in sorted(answers.items())
    ]
    return "\n".join(rows) or phrases.TOKENS_NONE


def _time(moment: float, now: datetime) -> str:
    return moment_in_short(datetime.fromtimestamp(moment, now.tzinfo), now)
