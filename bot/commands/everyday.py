"""The slash commands of every day: help, stop, status."""

from bot import phrases
from bot.access import Standing
from bot.commands.command import CommandCall, CommandContext, usable_by
from bot.commands.memory import how_it_keeps_up, how_it_searches
from bot.state import inbox


async def show_help(call: CommandCall, context: CommandContext) -> str:
    """List what this person may use."""
    usable = usable_by(call.standing, context.commands)
    return phrases.HELP.format(
        commands="\n".join(f"- `{command.usage}` {command.help}" for command in usable)
    )


async def stop_turn(call: CommandCall, context: CommandContext) -> str:
    """End the running turn of the chat."""
    stopped = await context.stop(call.message.chat, before=call.number)
    return phrases.STOPPED if stopped else phrases.NOTHING_RUNS


async def show_status(call: CommandCall, context: CommandContext) -> str:
    """Name the model, the chat, what the memory holds, and how it is searched; the owner is told why so."""
    status = await context.memory.status()
    chosen = await context.state.chosen_model(str(call.message.chat))
    owner = call.standing is Standing.OWNER
    text = phrases.STATUS.format(
        model=phrases.STATUS_CHOSEN.format(model=chosen)
        if chosen in context.model.plan.candidates
        else context.model.name,
        chat=call.message.chat,
        files=status.files,
        chunks=status.total_chunks,
        search=how_it_searches(status, why=owner),
    )
    if not owner:
        return text
    waiting = await context.state.read(lambda db: inbox.count_open(db, but=call.message))
    open_ones = [phrases.STATUS_OPEN.format(count=waiting)] if waiting else []
    return "\n".join([text, *open_ones, *how_it_keeps_up(status, context.upkeep)])
