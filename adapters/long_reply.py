"""Replies of any length: rendered beside the event loop, sent as a file where they are too long to read in a chat."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

from adapters.markdown.layout import FileMessage
from adapters.markdown.normalize import close_open_markup, remove_unsendable
from bot import phrases
from bot.messages import Sending

Text = TypeVar("Text")
"""What a channel sends text as."""
Render = Callable[[str], list[Text | FileMessage]]

LONGEST_IN_CHAT = 20_000
"""Characters of a reply, without code that is a file already, that are sent as messages: a quarter of an hour to read,
ten messages of Discord's, five of Telegram's."""
LONGEST_RENDERED = 30_000
"""Characters of Markdown, code included, that are rendered whole; of more, the beginning alone. Rendering so many takes
the event loop less than a tenth of a second at a time, since the thread and the collector of garbage share it."""
MAX_INLINE_RENDER = 2_000
"""Characters that are rendered on the event loop, which takes some milliseconds; more goes to a thread."""
FILE_BYTES = 8 << 20
"""Of one file: Discord takes 10 MB, Telegram 50 MB."""
NAME = "reply"
CUT_MARK = "cut-"
"""Before the number of messages after which the sending was stopped."""
BEGUN_MARK = "begun-"
"""Before the number of messages of text that had been sent when the reply was whole."""


class LongReply:
    """What is remembered of one reply beside the ids of its messages, so that a retry shows the same ones again.

    `marks` are kept among the ids, and read again after a restart.
    """

    def __init__(self, kept: Sequence[str], sending: Sending | None = None) -> None:
        self._sending = sending or Sending()
        self._cut_at = _find_marked_number(CUT_MARK, kept)
        self._begun = _find_marked_number(BEGUN_MARK, kept)

    @property
    def is_cut(self) -> bool:
        """Whether its sending was stopped."""
        return self._cut_at is not None

    @property
    def marks(self) -> list[str]:
        """What to keep behind the ids."""
        numbers = ((CUT_MARK, self._cut_at), (BEGUN_MARK, self._begun))
        return [f"{mark}{number}" for mark, number in numbers if number is not None]

    def may_send(self, number: int, *, sent: int, messages: int) -> bool:
        """Return False where the sending is stopped before the message `number`: then a note and a file come there.

        `sent`: how many stand there already; `messages`: how many there are in all.
        """
        if self._sending.is_stopped and not self.is_cut and number >= sent:
            self._cut_at = number
            return False
        self._sending.is_left = not self.is_cut and _is_longer_than_note(messages - max(number + 1, sent))
        return True

    def begin_anew(self) -> None:
        """Forget what stands somewhere else; what was stopped there stays so."""
        self._begun = None
        self._cut_at = 0 if self.is_cut else None

    async def messages(
        self, markdown: str, render: Render[Text], length: Callable[[Text], int], *, files: bool, begun: int
    ) -> list[Text | FileMessage]:
        """Return the messages that show the whole reply.

        `files`: whether files can be sent. `begun`: messages of text that have been sent. They stay, but only those
        count that were there when the reply was first whole: later ones are the note.
        """
        before = begun if self._begun is None else self._begun
        messages = await render_whole(markdown, render, length, files=files, begun=before)
        if messages and _is_whole_reply(messages[-1]):
            self._begun = before
        if self._cut_at is None:
            return messages
        return render_stopped(markdown, messages, render, self._cut_at, files=files)


def message_ids(kept: Sequence[str]) -> list[str]:
    """Return what is kept of a reply without the marks of `LongReply`."""
    return [each for each in kept if not each.startswith((CUT_MARK, BEGUN_MARK))]


async def render_part(markdown: str, render: Render[Text]) -> list[Text | FileMessage]:
    """Return the messages of a reply that grows: of a long one, those of its beginning."""
    return await _render_cached(markdown[:LONGEST_IN_CHAT], render)


async def render_whole(
    markdown: str, render: Render[Text], length: Callable[[Text], int], *, files: bool, begun: int = 0
) -> list[Text | FileMessage]:
    """Return the messages of a whole reply: of one that is too long for a chat, its beginning, a note, and a file.

    `files`: whether files can be sent; without them the beginning is as long as a chat takes it, and the note says
    where the rest is. `begun`: messages of text that stand there already, which stay.
    """
    if len(markdown) <= LONGEST_RENDERED:
        messages = await _render_cached(markdown, render)
        if sum(length(each) for each in messages if not isinstance(each, FileMessage)) <= LONGEST_IN_CHAT:
            return messages
    beginning = await _render_cached(close_open_markup(markdown[:LONGEST_IN_CHAT]), render)
    if not files:
        return [*beginning, *render(phrases.REST_NOT_SHOWN)]
    texts = [each for each in beginning if not isinstance(each, FileMessage)]
    note = phrases.WHOLE_IN_FILE.format(characters=len(markdown))
    return [*texts[: max(begun, 1)], *render(note), *split_into_files(markdown)]


def render_stopped(
    markdown: str, messages: Sequence[Text | FileMessage], render: Render[Text], sent: int, *, files: bool
) -> list[Text | FileMessage]:
    """Return the messages of a reply whose sending was stopped after the first `sent` of them: a note, and a file.

    Where no more than one is left, that one is sent: nothing would be shorter.
    """
    if not _is_longer_than_note(len(messages) - sent):
        return list(messages)
    note = phrases.SENDING_STOPPED if files else phrases.SENDING_STOPPED_WITHOUT_FILE
    return [*messages[:sent], *render(note), *(split_into_files(markdown) if files else ())]


def split_into_files(markdown: str) -> list[FileMessage]:
    """Return all of a reply as a Markdown file; as several where one would be too large for a channel."""
    data = remove_unsendable(markdown).strip("\n").encode()
    pieces: list[str] = []
    while data:
        end = FILE_BYTES
        while end < len(data) and data[end] & 0xC0 == 0x80:  # not within a character
            end -= 1
        pieces.append(data[:end].decode())
        data = data[end:]
    if len(pieces) == 1:
        return [FileMessage(f"{NAME}.md", f"{pieces[0]}\n")]
    return [FileMessage(f"{NAME}-{number}.md", piece) for number, piece in enumerate(pieces, 1)]


def _is_longer_than_note(left: int) -> bool:
    return left > 1


def _is_whole_reply(message: object) -> bool:
    return isinstance(message, FileMessage) and message.name.startswith(NAME)


def _find_marked_number(mark: str, kept: Sequence[str]) -> int | None:
    return next((int(each[len(mark) :]) for each in kept if each.startswith(mark)), None)


async def _render_cached(markdown: str, render: Render[Text]) -> list[Text | FileMessage]:
    if len(markdown) <= MAX_INLINE_RENDER:
        return render(markdown)
    return await asyncio.get_running_loop().run_in_executor(_render_executor(), render, markdown)


@cache
def _render_executor() -> ThreadPoolExecutor:
    # A single thread: several would take turns with the event loop, which then waits for all of them at each step. And
    # not one of asyncio's own: notes and state.db are read and written in those.
    return ThreadPoolExecutor(1, "renderer")
