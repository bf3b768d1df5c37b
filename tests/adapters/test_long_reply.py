"""Long replies leave the event loop to others, and their files fit."""

import asyncio

import pytest

from adapters.discord.markdown import messages as discord
from adapters.long_reply import FILE_BYTES, MAX_RENDERED_CHARS, render_part, render_whole, split_into_files
from adapters.telegram.markdown import messages as telegram
from tests.adapters.markdown.shapes import SHAPES
from tests.adapters.markdown.story import story
from tests.fakes.table_test import table_test


@pytest.mark.thorough
async def test_others_go_on_while_a_hard_reply_is_rendered() -> None:
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    going_on = asyncio.create_task(others())
    text = SHAPES["mixed"](MAX_RENDERED_CHARS)
    await render_whole(text, discord.FORMAT.render, files=True)
    going_on.cancel()
    assert turns > 20


async def test_of_a_reply_that_grows_without_end_the_beginning_is_rendered() -> None:
    text = story(5_000_000)
    shown = await render_part(text, telegram.FORMAT.render_preview)
    assert len(shown) == 5
    assert all(isinstance(each, telegram.TextMessage) for each in shown)


async def test_a_fence_that_the_beginning_leaves_open_does_not_swallow_the_note() -> None:
    text = "Look:\n\n```python\n" + "x = 1\n" * 40_000 + "```\n" + story(30_000)
    messages = await render_whole(text, telegram.FORMAT.render, files=True)
    first, note, file = messages
    assert isinstance(first, telegram.TextMessage)
    assert isinstance(note, telegram.TextMessage)
    assert [entity.type for entity in note.entities] == ["italic"]
    assert file.name == "reply.md"  # type: ignore[union-attr]


@table_test("letter", ["a", "é", "重", "😀"])
def test_a_reply_too_large_for_one_file_is_several(letter: str) -> None:
    text = letter * (2 * FILE_BYTES // len(letter.encode()) + 1)
    files = split_into_files(text)
    assert [file.name for file in files] == ["reply-1.md", "reply-2.md", "reply-3.md"]
    assert "".join(file.content for file in files) == text
    assert all(len(file.content.encode()) <= FILE_BYTES for file in files)
