"""Slash commands for the conversation: start a new one, compact it, note what matters."""

from bot import phrases
from bot.access import Standing
from bot.commands.command import CommandCall
from bot.conversations.conversation import Conversation
from bot.language.text import join_sentences
from bot.services import Services


async def start_new_conversation(call: CommandCall, services: Services) -> str:
    """Note what matters and end the conversation; the next message starts another."""
    may_note = await _may_write_notes(call, services)
    flushed = await services.compactor.end(call.message.chat, flush=may_note, key=call.key)
    return join_sentences([phrases.NEW, flushed.text if flushed.notice else ""])


async def compact_conversation(call: CommandCall, services: Services) -> str:
    """Note what matters, and replace all but the latest turn by a summary."""
    may_note = await _may_write_notes(call, services)
    conversation = await _conversation(call, services)
    done = await services.compactor.compact(conversation, cause="asked", flush=may_note, key=call.key)
    return done.text


async def flush_notes(call: CommandCall, services: Services) -> str:
    """Note what matters; the conversation continues unchanged."""
    if not await _may_write_notes(call, services):
        return phrases.NOT_NOTED_HERE
    conversation = await _conversation(call, services)
    return (await services.compactor.flush(conversation, cause="asked", key=call.key)).text


async def _conversation(call: CommandCall, services: Services) -> Conversation:
    conversation = Conversation(services.state, call.message.chat)
    await conversation.load()
    return conversation


async def _may_write_notes(call: CommandCall, services: Services) -> bool:
    """Return whether what is said here may be noted: not from guests, nor in rooms where memory is off."""
    message = call.message
    is_open = await services.access.is_memory_open(message)
    may = is_open and (message.in_room or call.standing >= Standing.ALLOWED)
    await services.compactor.save_chat(message.chat, name=message.title, flush=may)
    return may
