"""Where a reply is shown: in a channel, or as the answer to an interaction."""

import asyncio
import io
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import aiohttp
import discord

from adapters.api_errors import ApiRefused, MessageGone
from adapters.discord.api_calls import (
    ApiCalls,
    InteractionExpired,
    ReplyRefused,
    ThreadArchived,
)
from adapters.discord.buttons import make_buttons
from adapters.discord.interaction_handle import InteractionHandle
from adapters.discord.private_api import http_client, parameters_class, webhook_adapter
from bot.messages import ChannelFault, Choice
from bot.recent_dict import RecentDict

if TYPE_CHECKING:
    from discord.http import MultipartParameters

    from adapters.discord.markdown.messages import TextMessage
    from adapters.markdown.layout import FileMessage

    Message = TextMessage | FileMessage

log = logging.getLogger(__name__)

NOBODY = discord.AllowedMentions.none()
ORIGINAL = "@original"
HISTORY_LIMIT = 100
"""Messages searched for one of our own."""
MAX_SHOWN = 2000
"""About 0.3 MB. Only the latest messages of a channel are compared with them."""
DIRECT = "d"
"""Prefix of a stored message id that was sent privately instead of to the channel."""

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class SentMessage:
    """A message as Discord has it."""

    id: int
    content: str


class ShownMessages:
    """Ids of our messages whose content is known."""

    def __init__(self) -> None:
        self._ids: RecentDict[int, None] = RecentDict(MAX_SHOWN)

    def add(self, message: int) -> None:
        """Add a message."""
        self._ids[message] = None

    def __contains__(self, message: int) -> bool:
        return message in self._ids


class ReplyTarget(Protocol):
    """Where messages are shown. Raises ApiRefused, and ChannelFault if a later call may work.

    `growing`: a failed call is not retried.
    """

    number: int
    """Id by which Discord limits the rate."""
    shows_typing: bool
    """Whether a typing indicator is useful there."""

    async def send(
        self,
        message: "Message",
        *,
        nonce: str,
        reply_to: int | None = None,
        choices: Sequence[Choice] = (),
        growing: bool = False,
    ) -> SentMessage:
        """Send a message; repeating it with the same nonce within some minutes makes no second one."""
        ...

    async def edit(
        self, message: int, text: "TextMessage", *, choices: Sequence[Choice] = (), growing: bool = False
    ) -> None:
        """Replace a message's text and buttons."""
        ...

    async def delete(self, message: int) -> None:
        """Delete a message, if it exists."""
        ...

    async def typing(self) -> None:
        """Show the typing indicator for ten seconds."""
        ...

    async def withdraw(self) -> None:
        """Remove the announcement of an answer, as none follows."""
        ...


@dataclass(frozen=True, slots=True)
class OtherTarget:
    """Where a reply continues that can no longer be shown where it began."""

    place: ReplyTarget
    is_direct: bool
    """Whether the whole reply must be sent again."""


class ChannelTarget:
    """A channel, thread or direct channel."""

    shows_typing = True

    def __init__(self, calls: ApiCalls, channel: int) -> None:
        self.number = channel
        self._calls = calls

    async def send(
        self,
        message: "Message",
        *,
        nonce: str,
        reply_to: int | None = None,
        choices: Sequence[Choice] = (),
        growing: bool = False,
    ) -> SentMessage:
        async def post(
            reference: int | None, offered: Sequence[Choice], client: discord.Client
        ) -> SentMessage:
            options: dict[str, Any] = {"nonce": nonce}
            if reference:
                options["message_reference"] = {
                    "message_id": str(reference),
                    "channel_id": str(self.number),
                    "fail_if_not_exists": False,
                }
            with _message_parameters(message, offered, **options) as parameters:
                return _parse_message(await http_client(client).send_message(self.number, params=parameters))

        while True:
            try:
                return await self._call(partial(post, reply_to, choices), again=not growing)
            except ReplyRefused:
                if reply_to is None:
                    raise
                reply_to = None
            except ApiRefused as refused:
                if growing or type(refused) is not ApiRefused or not (reply_to or choices):
                    raise
                log.warning(
                    "Discord refused the buttons or the reference of a reply; sending it without: %s", refused
                )
                reply_to, choices = None, ()

    async def edit(
        self, message: int, text: "TextMessage", *, choices: Sequence[Choice] = (), growing: bool = False
    ) -> None:
        async def put(offered: Sequence[Choice], client: discord.Client) -> None:
            with _message_parameters(text, offered, is_edit=True) as parameters:
                await http_client(client).edit_message(self.number, message, params=parameters)

        async def edited(offered: Sequence[Choice]) -> None:
            await self._call(partial(put, offered), again=not growing)

        await _send_with_choices(edited, choices, growing=growing)

    async def delete(self, message: int) -> None:
        with suppress(MessageGone):
            await self._call(lambda client: http_client(client).delete_message(self.number, message))

    async def _call(
        self, call: Callable[[discord.Client], Awaitable[Result]], *, again: bool = True
    ) -> Result:
        """Make a call; reopen an archived thread and call again. A locked thread stays closed."""
        try:
            return await self._calls.make(call, again=again)
        except ThreadArchived:
            await self._calls.make(
                lambda client: http_client(client).edit_channel(self.number, archived=False)
            )
            return await self._calls.make(call, again=again)

    async def typing(self) -> None:
        await self._calls.make(lambda client: http_client(client).send_typing(self.number), again=False)

    async def withdraw(self) -> None:
        """Do nothing: a channel has no announcement."""

    async def find(
        self, fits: Callable[[Mapping[str, Any]], bool], *, after: int, known: ShownMessages
    ) -> SentMessage | None:
        """Return the first message of ours after `after` that fits but was not recorded; None if there is none.

        Messages in `known` are skipped.
        """
        try:
            client, history = await self._calls.make(self._read_history(after))
        except ApiRefused:  # not readable: a second message is better than none
            return None
        me = str(client.user.id) if client.user else ""
        for raw in sorted(history, key=lambda each: int(each["id"])):
            posted = _parse_message(raw)
            is_mine = raw["author"]["id"] == me and posted.id not in known
            if is_mine and posted.content.strip() and fits(raw):
                return posted
        return None

    def _read_history(
        self, after: int
    ) -> Callable[[discord.Client], Awaitable[tuple[discord.Client, list[dict[str, Any]]]]]:
        async def read(client: discord.Client) -> tuple[discord.Client, list[dict[str, Any]]]:
            raw: Any = await http_client(client).logs_from(self.number, HISTORY_LIMIT, after=after)
            return client, list(raw)

        return read


class InteractionTarget:
    """The answer to an interaction: first in place of the announcement, then in further messages.

    Raises InteractionExpired when it has expired.
    """

    shows_typing = False

    def __init__(
        self,
        calls: ApiCalls,
        answerable: InteractionHandle,
        *,
        is_begun: bool,
        channel: ChannelTarget | None,
        known: ShownMessages,
        acknowledged: Callable[[], Awaitable[None]],
    ) -> None:
        """`is_begun`: its first message has content. `channel`: the channel where others see it.

        `acknowledged` returns when Discord was told that an answer will come.
        """
        self.number = answerable.interaction
        self._calls = calls
        self._answerable = answerable
        self._is_begun = is_begun
        self._channel = channel
        self._known = known
        self._acknowledged = acknowledged
        self._latest = answerable.interaction

    async def send(
        self,
        message: "Message",
        *,
        nonce: str,
        reply_to: int | None = None,
        choices: Sequence[Choice] = (),
        growing: bool = False,
    ) -> SentMessage:
        del nonce, reply_to  # interactions have neither
        if not self._is_begun:
            with suppress(MessageGone):
                posted = await self._edit_message(ORIGINAL, message, choices, growing=growing)
                return self._remember(posted)
            self._is_begun = True
        sent: list[SentMessage] = []

        async def follow_up(offered: Sequence[Choice]) -> None:
            sent.append(await self._follow_up(message, offered, growing=growing))

        await _send_with_choices(follow_up, choices, growing=growing)
        return self._remember(sent[-1])

    def _remember(self, posted: SentMessage) -> SentMessage:
        self._is_begun = True
        self._latest = max(self._latest, posted.id)
        return posted

    async def _follow_up(
        self, message: "Message", choices: Sequence[Choice], *, growing: bool
    ) -> SentMessage:
        async def post(client: discord.Client) -> SentMessage:
            with _message_parameters(message, choices, is_private=self._answerable.private) as parameters:
                hook = self._webhook(client)
                once: Any = _NoRetrySession(hook.session)
                raw: Any = await webhook_adapter().execute_webhook(
                    hook.id,
                    self._answerable.token,
                    session=once,
                    payload=parameters.payload,
                    multipart=parameters.multipart,
                    files=parameters.files,
                    wait=True,
                    with_components=bool(choices),
                )
                return _parse_message(raw)

        try:
            return await self._call(post, again=False)
        except ChannelFault as fault:
            if growing or fault.retry_after:
                raise
        # Webhooks have no nonce, and only the response may have been lost: search the channel, if public.
        if self._channel:
            found = await self._channel.find(
                lambda raw: is_beginning(raw["content"], message), after=self._latest, known=self._known
            )
            if found:
                return found
        return await self._call(post, again=False)

    async def edit(
        self, message: int, text: "TextMessage", *, choices: Sequence[Choice] = (), growing: bool = False
    ) -> None:
        which = ORIGINAL if message == self._answerable.buttons else str(message)
        await self._edit_message(which, text, choices, growing=growing)

    async def _edit_message(
        self, which: str, message: "Message", choices: Sequence[Choice], *, growing: bool
    ) -> SentMessage:
        put: list[SentMessage] = []

        async def edited(offered: Sequence[Choice]) -> None:
            async def edit(client: discord.Client) -> SentMessage:
                with _message_parameters(message, offered, is_edit=True) as parameters:
                    hook = self._webhook(client)
                    raw: Any = await webhook_adapter().edit_webhook_message(
                        hook.id,
                        self._answerable.token,
                        which,  # type: ignore[arg-type]
                        session=hook.session,
                        payload=parameters.payload,
                        multipart=parameters.multipart,
                        files=parameters.files,
                        with_components=bool(offered),
                    )
                    return _parse_message(raw)

            put.append(await self._call(edit, again=not growing))

        await _send_with_choices(edited, choices, growing=growing)
        return put[-1]

    async def delete(self, message: int) -> None:
        which = ORIGINAL if message == self._answerable.buttons else str(message)
        with suppress(MessageGone):
            await self._delete(which)

    async def withdraw(self) -> None:
        if not self._is_begun:
            with suppress(MessageGone):
                await self._delete(ORIGINAL)

    async def _delete(self, which: str) -> None:
        async def delete(client: discord.Client) -> None:
            hook = self._webhook(client)
            await webhook_adapter().delete_webhook_message(
                hook.id,
                self._answerable.token,
                which,  # type: ignore[arg-type]
                session=hook.session,
            )

        await self._call(delete)

    async def typing(self) -> None:
        """Do nothing: Discord itself shows the indicator."""

    def _webhook(self, client: discord.Client) -> discord.Webhook:
        return discord.Webhook.partial(self._answerable.application, self._answerable.token, client=client)

    async def _call(
        self, call: Callable[[discord.Client], Awaitable[Result]], *, again: bool = True
    ) -> Result:
        left = (self._answerable.until - datetime.now(UTC)).total_seconds()
        if left <= 0:
            raise InteractionExpired("it has expired")
        try:
            async with asyncio.timeout(left):
                await self._acknowledged()
                return await self._calls.make(call, again=again)
        except ThreadArchived as error:  # an ordinary message would reopen the thread
            raise InteractionExpired(str(error)) from error
        except TimeoutError as error:
            raise InteractionExpired("it has expired") from error


class _NoRetrySession:
    """A session that does not retry calls that Discord may have carried out despite an error."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    @asynccontextmanager
    async def request(self, method: str, url: str, **options: Any) -> AsyncIterator[aiohttp.ClientResponse]:
        async with self._session.request(method, url, **options) as response:
            if response.status >= 500:
                raise discord.DiscordServerError(response, await response.text(errors="replace"))
            yield response


async def _send_with_choices(
    show: Callable[[Sequence[Choice]], Awaitable[None]], choices: Sequence[Choice], *, growing: bool
) -> None:
    """Show a message with buttons, or without them if Discord rejects them."""
    try:
        await show(choices)
    except ApiRefused as refused:
        if growing or type(refused) is not ApiRefused or not choices:
            raise
        log.warning("Discord refused the buttons of a reply; sending it without: %s", refused)
        await show(())


def _message_parameters(
    message: "Message",
    choices: Sequence[Choice],
    *,
    is_edit: bool = False,
    is_private: bool = False,
    **options: Any,
) -> "MultipartParameters":
    """Return the library's form of a message, without mentions or link previews."""
    from adapters.markdown.layout import FileMessage

    view = make_buttons(choices)
    if view or is_edit:
        options["view"] = view
    if isinstance(message, FileMessage):
        options["file"] = discord.File(io.BytesIO(message.content.encode()), filename=message.name)
        if is_edit:
            options["content"] = ""
    else:
        options["content"] = message.text
    flags = discord.MessageFlags(suppress_embeds=True)
    if is_private:
        flags.ephemeral = True
    return parameters_class(allowed_mentions=NOBODY, flags=flags, **options)


def _parse_message(raw: Any) -> SentMessage:
    return SentMessage(int(raw["id"]), raw.get("content") or "")


def is_beginning(content: str, message: "Message") -> bool:
    """Return whether a text is the message or an earlier, shorter state of it."""
    from adapters.discord.markdown.messages import TextMessage

    return (
        isinstance(message, TextMessage)
        and bool(content.strip())
        and message.text.strip().startswith(content.strip())
    )
