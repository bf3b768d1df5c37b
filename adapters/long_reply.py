"""Replies of any length: rendered outside the event loop, and sent as a file if too long for a chat."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from adapters.markdown.layout import FileMessage, Text
from adapters.markdown.normalize import close_open_markup, remove_unsendable
from bot import phrases
from bot.messages import Sending

Render = Callable[[str], list[Text | FileMessage]]

MAX_CHARS_IN_CHAT = 20_000
"""Maximum characters of a reply sent as messages, without code that is already a file: a quarter of an hour to read,
ten messages on Discord, five on Telegram."""
MAX_RENDERED_CHARS = 30_000
"""Maximum characters of Markdown, including code, that are rendered completely; of longer replies only the beginning.
The renderer's thread shares the interpreter lock and garbage collector with the event loop; this size delays the
loop by less than a tenth of a second at a time."""
MAX_INLINE_RENDER = 2_000
"""Maximum characters rendered on the event loop, which takes milliseconds; more goes to a thread."""
FILE_BYTES = 8 << 20
"""Maximum size of a file: Discord takes 10 MB, Telegram 50 MB."""
NAME = "reply"
CUT_MARK = "cut-"
"""Prefix of the number of messages after which sending was stopped."""
BEGUN_MARK = "begun-"
"""Prefix of the number of text messages that were sent when the reply became complete."""


class LongReply:
    """State of one reply besides its message ids, so that a retry shows the same messages.

    `marks` are stored with the ids and read again after a restart.
    """

    def __init__(self, stored: Sequence[str], sending: Sending | None = None) -> None:
        self._sending = sending or Sending()
        self._cut_at = _find_marked_number(CUT_MARK, stored)
        self._begun = _find_marked_number(BEGUN_MARK, stored)

    @property
    def is_cut(self) -> bool:
        """Whether sending was stopped."""
        return self._cut_at is not None

    @property
    def marks(self) -> list[str]:
        """Marks to store after the ids."""
        numbers = ((CUT_MARK, self._cut_at), (BEGUN_MARK, self._begun))
        return [f"{mark}{number}" for mark, number in numbers if number is not None]

    def may_send(self, number: int, *, sent: int, messages: int) -> bool:
        """Return False if sending was stopped before message `number`: a note and a file follow instead.

        `sent`: number of messages already shown; `messages`: number of all messages.
        """
        if self._sending.is_stopped and not self.is_cut and number >= sent:
            self._cut_at = number
            return False
        self._sending.is_left = not self.is_cut and _is_longer_than_note(messages - max(number + 1, sent))
        return True

    def restart(self) -> None:
        """Forget the messages of another target; a stop stays in effect."""
        self._begun = None
        self._cut_at = 0 if self.is_cut else None

    async def messages(
        self, markdown: str, render: Render[Text], *, files: bool, begun: int
    ) -> list[Text | FileMessage]:
        """Return the messages that show the whole reply.

        `files`: whether files can be sent. `begun`: number of text messages already sent. They stay, but only those
        sent before the reply was first complete count; later ones are the note.
        """
        before = begun if self._begun is None else self._begun
        messages = await render_whole(markdown, render, files=files, begun=before)
        if messages and _is_whole_reply(messages[-1]):
            self._begun = before
        if self._cut_at is None:
            return messages
        return render_stopped(markdown, messages, render, self._cut_at, files=files)


def message_ids(stored: Sequence[str]) -> list[str]:
    """Return the stored message ids without the marks of `LongReply`."""
    return [each for each in stored if not each.startswith((CUT_MARK, BEGUN_MARK))]


async def render_part(markdown: str, render: Render[Text]) -> list[Text | FileMessage]:
    """Return the messages of a growing reply; of a long one, those of its beginning."""
    return await _render_cached(markdown[:MAX_CHARS_IN_CHAT], render)


async def render_whole(
    markdown: str, render: Render[Text], *, files: bool, begun: int = 0
) -> list[Text | FileMessage]:
    """Return the messages of a whole reply; if it is too long for a chat, its beginning, a note and a file.

    `files`: whether files can be sent; without them the beginning is as long as a chat allows, and the note says
    where the rest is. `begun`: number of text messages already shown, which stay.
    """
    if len(markdown) <= MAX_RENDERED_CHARS:
        messages = await _render_cached(markdown, render)
        if sum(len(each.text) for each in messages if not isinstance(each, FileMessage)) <= MAX_CHARS_IN_CHAT:
            return messages
    beginning = await _render_cached(close_open_markup(markdown[:MAX_CHARS_IN_CHAT]), render)
    if not files:
        return [*beginning, *render(phrases.REST_NOT_SHOWN)]
    texts = [each for each in beginning if not isinstance(each, FileMessage)]
    note = phrases.WHOLE_IN_FILE.format(characters=len(markdown))
    return [*texts[: max(begun, 1)], *render(note), *split_into_files(markdown)]


def render_stopped(
    markdown: str, messages: Sequence[Text | FileMessage], render: Render[Text], sent: int, *, files: bool
) -> list[Text | FileMessage]:
    """Return the messages of a reply stopped after the first `sent` ones: those, a note and a file.

    If only one message is left it is sent: nothing would be shorter.
    """
    if not _is_longer_than_note(len(messages) - sent):
        return list(messages)
    note = phrases.SENDING_STOPPED if files else phrases.SENDING_STOPPED_WITHOUT_FILE
    return [*messages[:sent], *render(note), *(split_into_files(markdown) if files else ())]


def split_into_files(markdown: str) -> list[FileMessage]:
    """Return the whole reply as a Markdown file, or several if one would be too large."""
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


def _find_marked_number(mark: str, stored: Sequence[str]) -> int | None:
    return next((int(each[len(mark) :]) for each in stored if each.startswith(mark)), None)


async def _render_cached(markdown: str, render: Render[Text]) -> list[Text | FileMessage]:
    if len(markdown) <= MAX_INLINE_RENDER:
        return render(markdown)
    return await asyncio.get_running_loop().run_in_executor(_render_executor(), render, markdown)


@cache
def _render_executor() -> ThreadPoolExecutor:
    # One thread: several would compete with the event loop for the interpreter lock. And not asyncio's own
    # executor, which reads and writes notes and state.db.
    return ThreadPoolExecutor(1, "renderer")
