"""Read and end a chat's conversation in state.db with the assistant's own functions."""

from bot.state import conversations, flushes
from bot.state.conversations import Row
from bot.state.database import State


async def open_conversation(state: State, chat: str) -> int | None:
    """Return the id of the chat's open conversation; None if it has none."""
    return await state.read(lambda db: conversations.find_open(db, chat))


async def entries(state: State, conversation: int) -> tuple[Row, ...]:
    """Return all entries of a conversation, in order."""
    return await state.read(lambda db: conversations.read_entries(db, conversation, 0))


async def end_conversation(state: State, chat: str) -> None:
    """End the chat's open conversation, which must exist."""
    number = await open_conversation(state, chat)
    assert number is not None
    await state.change(lambda db: flushes.close(db, number, at=state.at()))
