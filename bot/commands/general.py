"""The slash commands `/help`, `/stop` and `/status`."""

from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from bot import phrases
from bot.access import Standing
from bot.channel_store import ChannelStore
from bot.commands.command import Command, CommandCall, commands_for, explain_unknown_command, show_example
from bot.commands.memory import describe_indexing, describe_search, format_count
from bot.commands.translations import help_of
from bot.language.text import localize
from bot.model_error_text import explain_all_failing
from bot.models.status import failing_models
from bot.sanitize import one_line
from bot.services import Services
from bot.state import inbox
from bot.timeparse import moment_in_short

if TYPE_CHECKING:
    from bot.cluster.status import InstanceStatus


async def show_help(call: CommandCall, services: Services) -> str:
    """List the commands that this person may use, or describe one of them."""
    usable = {command.name: command for command in commands_for(call.standing, services.commands)}
    if wanted := call.options.get("command", "").removeprefix("/").lower():
        return (
            _describe_command(usable[wanted]) if wanted in usable else explain_unknown_command(wanted, usable)
        )
    rows = [phrases.HELP_ROW.format(usage=each.usage, help=help_of(each)) for each in usable.values()]
    return phrases.HELP.format(commands="\n".join(rows))


def _describe_command(command: Command) -> str:
    told = [phrases.HELP_ONE.format(usage=command.usage, help=help_of(command))]
    told += [phrases.HELP_OPTION.format(option=each.usage, help=help_of(each)) for each in command.options]
    return "\n".join(filter(None, [*told, show_example(command)]))


async def stop_turn(call: CommandCall, services: Services) -> str:
    """Stop the running turn of the chat."""
    stopped = await call.stop(call.message.chat, before=call.number)
    return phrases.STOPPED if stopped else phrases.NOTHING_RUNS


async def show_status(call: CommandCall, services: Services) -> str:
    """Show the model, the chat, and the size and search mode of the memory; owners also see the reasons.

    If the latest call of every model failed, the failure and its fix replace the model's name.
    Guests learn nothing about the memory.
    """
    owner = call.standing is Standing.OWNER
    model = await _describe_model(call, services, is_owner=owner)
    if call.standing < Standing.ALLOWED:
        return phrases.STATUS_GUEST.format(model=model, chat=call.message.chat)
    status = await services.memory.status()
    text = phrases.STATUS.format(
        model=model,
        chat=call.message.chat,
        files=status.files,
        chunks=format_count(status.total_chunks),
        search=describe_search(status, why=owner),
    )
    linked = await _describe_linked(call, services, everybody=owner)
    if not owner:
        return "\n".join([text, *linked])
    waiting = await services.state.read(lambda db: inbox.count_open(db, but=call.message))
    open_ones = [phrases.STATUS_OPEN.format(count=waiting)] if waiting else []
    channels = [line async for line in _describe_channels(services)]
    keeps_up = describe_indexing(status, services)
    instance = await _load_instance_status(services)
    does = _describe_leases(instance, services.now()) if instance else ()
    return "\n".join([text, *linked, *open_ones, *does, *channels, *keeps_up])


async def _describe_linked(call: CommandCall, services: Services, *, everybody: bool) -> list[str]:
    """Return a line for each person with several accounts, or only for the person who asks; none in rooms."""
    if call.message.in_room:
        return []
    linked = await services.state.read(services.access.list_linked)
    shown = [ids for ids in linked if everybody or str(call.message.sender) in ids]
    return [phrases.STATUS_LINKED.format(ids=phrases.COMMA.join(ids)) for ids in shown]


async def _describe_model(call: CommandCall, services: Services, *, is_owner: bool) -> str:
    """Return the model that answers here, or why none does."""
    await services.model.health.refresh()
    chosen = await services.state.read_chosen_model(str(call.message.chat))
    if failing := failing_models(services.model.plan, services.model.health, prefer=chosen):
        return explain_all_failing(failing, is_owner=is_owner)
    if chosen in services.model.plan.candidates:
        return phrases.STATUS_MODEL.format(model=phrases.STATUS_CHOSEN.format(model=chosen))
    return phrases.STATUS_MODEL.format(model=services.model.name)


async def _load_instance_status(services: Services) -> "InstanceStatus | None":
    """Load the state of all instances, also from a terminal chat beside them; None without a shared index."""
    if instance := services.instance():
        return instance
    if not services.settings.index.url.get_secret_value():
        return None
    from bot.cluster.read_status import read_status

    return await read_status(services.settings)


def _describe_leases(instance: "InstanceStatus", now: datetime) -> Iterator[str]:
    """Yield a line for this instance and one for each lease that is held or may be."""
    from bot.cluster.status import format_lease_name

    if instance.name:
        yield phrases.STATUS_INSTANCE.format(name=one_line(instance.name))
    if instance.problem:
        yield phrases.STATUS_LEASES_PROBLEM
    elif not (instance.name or instance.leases):
        yield phrases.STATUS_NO_INSTANCES
    for lease in instance.leases:
        holder = instance.holder(lease, now)
        if holder == "":
            continue
        told = phrases.STATUS_LEASE_SINCE if holder and lease.since else phrases.STATUS_LEASE
        yield told.format(
            what=format_lease_name(lease.name),
            holder=phrases.NOT_KNOWN if holder is None else one_line(holder),
            time=moment_in_short(lease.since, now) if lease.since else "",
        )


async def _describe_channels(services: Services) -> AsyncIterator[str]:
    """Yield a line for each channel that has a problem, and for messages that could not be read."""
    for name, health in services.channels.health().items():
        channel = name.capitalize()
        if health.detail:
            why = phrases.STATUS_CHANNEL_BUT if health.state == "up" else phrases.STATUS_CHANNEL_WHY
            yield why.format(
                channel=channel,
                state=phrases.CHANNEL_STATES[health.state],
                detail=one_line(localize(health.detail)),
            )
        elif health.state != "up":
            yield phrases.STATUS_CHANNEL.format(channel=channel, state=phrases.CHANNEL_STATES[health.state])
        if unread := await ChannelStore(services.state, name).count_unreadable():
            yield phrases.STATUS_UNREAD.format(channel=channel, count=unread)
