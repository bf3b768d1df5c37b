"""The slash commands about the conversation itself: begin a new one, shorten this one, note what matters of it."""

from bot import phrases
from bot.access import Standing
from bot.commands.command import CommandCall, CommandContext
from bot.conversations.conversation import Conversation


async def begin_anew(call: CommandCall, context: CommandContext) -> str:
    """Note what matters and end the conversation; the next message begins another."""
    may_note = await _may_note(call, context)
    flushed = await context.compactor.end(call.message.chat, flush=may_note, key=call.key)
    return " ".join(filter(None, [phrases.NEW, flushed.text if flushed.told else ""]))


async def compact(call: CommandCall, context: CommandContext) -> str:
    """Note what matters, and put a summary in the place of all but the latest turn."""
    may_note = await _may_note(call, context)
    conversation = await _conversation(call, context)
    done = await context.compactor.compact(conversation, cause="asked", flush=may_note, key=call.key)
    return done.text


async def flush(call: CommandCall, context: CommandContext) -> str:
    """Note what matters; the conversation goes on as it is."""
    if not await _may_note(call, context):
        return phrases.NOT_NOTED_HERE
    conversation = await _conversation(call, context)
    return (await context.compactor.flush(conversation, cause="asked", key=call.key)).text


async def _conversation(call: CommandCall, context: CommandContext) -> Conversation:
    conversation = Conversation(context.state, call.message.chat)
    await conversation.load()
    return conversation


async def _may_note(call: CommandCall, context: CommandContext) -> bool:
    """Whether what is said here may go into the notes; not what guests say, nor where others listen unasked for."""
    message = call.message
    is_open = await context.access.memory_is_open(message)
    may = is_open and (message.in_room or call.standing >= Standing.ALLOWED)
    await context.compactor.know(message.chat, name=message.title, flush=may)
    return may
