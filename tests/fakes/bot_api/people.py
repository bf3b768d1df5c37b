"""A person who uses Telegram."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.fakes.bot_api import media, wire
from tests.fakes.bot_api.chats import GENERAL_TOPIC, Bot, Chat, Edit, Message, Press, Topic
from tests.fakes.bot_api.entities import MAX_UNITS, Entity, MarkedText, find_entities, utf16_length

if TYPE_CHECKING:
    from tests.fakes.bot_api.world import World

Json = dict[str, Any]


@dataclass(eq=False)
class Person:
    """Acts in the private chat with the first bot unless `chat` is given."""

    world: "World" = field(repr=False)
    id: int
    first_name: str
    last_name: str = ""
    username: str = ""
    language: str = ""
    gone: bool = False
    """Whether the account was deleted."""

    def as_json(self) -> Json:
        told: Json = {"id": self.id, "is_bot": False, "first_name": self.first_name}
        if self.last_name:
            told["last_name"] = self.last_name
        if self.username:
            told["username"] = self.username
        if self.language:
            told["language_code"] = self.language
        return told

    @property
    def chat(self) -> Chat:
        """The private chat with the first bot."""
        return self.world.private(self)

    def chat_with(self, bot: Bot) -> Chat:
        return self.world.private(self, bot)

    # -- words -----------------------------------------------------------------------------------------------

    async def start(self, payload: str = "") -> Message:
        """Press the start button that every bot shows before the first message."""
        return await self.say(f"/start {payload}".rstrip())

    async def say(
        self,
        text: str,
        chat: Chat | None = None,
        *,
        topic: Topic | None = None,
        reply_to: Message | None = None,
        quote: str = "",
        entities: Sequence[Entity] = (),
        forwarded: Json | None = None,
    ) -> Message:
        """Send a text; `entities` in addition to those that Telegram finds by itself, such as bold."""
        if utf16_length(text) > MAX_UNITS:
            raise ValueError("a client splits this: use paste()")
        marked = MarkedText(text, list(entities), find_entities(text))
        return self._post(
            chat,
            marked,
            topic=topic,
            reply_to=reply_to,
            quote=quote,
            content=forwarded or {},
        )

    async def paste(
        self, text: str, chat: Chat | None = None, *, topic: Topic | None = None
    ) -> list[Message]:
        """Send a text of any length; a client splits long text at spaces or lines."""
        return [await self.say(piece, chat, topic=topic) for piece in _cut(text)]

    async def forward(
        self, text: str, origin: Json, chat: Chat | None = None, *, topic: Topic | None = None
    ) -> Message:
        """Forward another person's text; `origin` from `from_user()` and the like below."""
        return await self.say(text, chat, topic=topic, forwarded=origin)

    async def edit(self, message: Message, text: str) -> None:
        message.text, message.entities, message.found = text, [], find_entities(text)
        message.edits.append(Edit(self.world.clock(), text, [], ()))
        self.world.tell("edited_message", message)
        self.world.notify_waiters()

    async def delete(self, message: Message) -> None:
        """Delete a message; as in Telegram, bots are not told."""
        message.deleted = True
        self.world.notify_waiters()

    async def react(self, message: Message, *emoji: str) -> None:
        old = message.reactions.get(self.id, [])
        message.reactions[self.id] = list(emoji)
        for bot in self.world.bots_in(message.chat):
            bot.inbox.put(
                "message_reaction",
                {
                    "chat": wire.chat_json(message.chat),
                    "message_id": message.id,
                    "user": self.as_json(),
                    "date": int(self.world.clock()),
                    "old_reaction": [{"type": "emoji", "emoji": one} for one in old],
                    "new_reaction": [{"type": "emoji", "emoji": one} for one in emoji],
                },
            )
        self.world.notify_waiters()

    async def press(self, message: Message, button: str, *, forged: bool = False) -> Press:
        """Press the button with this label or data; `forged`: send this data even if no button has it."""
        data = button
        if not forged:
            here = [one for row in message.buttons for one in row if button in (one.text, one.data)]
            if not here:
                raise AssertionError(f"no button {button!r} below {message.text!r}, only {message.labels}")
            data = here[0].data
        bot = message.sender if isinstance(message.sender, Bot) else self.world.bot
        shown = None if message.deleted else message
        return self.world.press(self, message.chat, message.id, data, shown, bot)

    # -- other content ---------------------------------------------------------------------------------------

    async def photo(
        self,
        data: bytes = b"\xff\xd8\xff\xe0 picture",
        caption: str = "",
        chat: Chat | None = None,
        *,
        sizes: tuple[tuple[int, int], ...] = media.PHOTO_SIZES,
        size: int | None = None,
        **where: Any,
    ) -> Message:
        """Send a photo. `size`: bytes that Telegram reports for the largest version; `where` as in `say`."""
        content = media.photo(self.world.files, data, sizes, size)
        return self._post(chat, _captioned(caption), content=content, media=True, **where)

    async def document(
        self,
        data: bytes = b"notes",
        caption: str = "",
        chat: Chat | None = None,
        *,
        name: str = "notes.txt",
        media_type: str = "text/plain",
        size: int | None = None,
        **where: Any,
    ) -> Message:
        content = media.document(self.world.files, data, name=name, media_type=media_type, size=size)
        return self._post(chat, _captioned(caption), content=content, media=True, **where)

    async def voice(
        self,
        data: bytes = b"OggS voice",
        chat: Chat | None = None,
        *,
        seconds: int = 3,
        caption: str = "",
        size: int | None = None,
        **where: Any,
    ) -> Message:
        content = media.voice(self.world.files, data, seconds=seconds, size=size)
        return self._post(chat, _captioned(caption), content=content, media=True, **where)

    async def audio(
        self,
        data: bytes = b"ID3 song",
        chat: Chat | None = None,
        *,
        seconds: int = 180,
        name: str = "song.mp3",
        title: str = "A song",
        performer: str = "A band",
        caption: str = "",
        size: int | None = None,
        **where: Any,
    ) -> Message:
        content = media.audio(
            self.world.files,
            data,
            seconds=seconds,
            name=name,
            title=title,
            performer=performer,
            size=size,
        )
        return self._post(chat, _captioned(caption), content=content, media=True, **where)

    async def video(
        self,
        data: bytes = b"\0\0\0\x18ftyp film",
        chat: Chat | None = None,
        *,
        seconds: int = 10,
        name: str = "film.mp4",
        caption: str = "",
        size: int | None = None,
        **where: Any,
    ) -> Message:
        content = media.video(self.world.files, data, seconds=seconds, name=name, size=size)
        return self._post(chat, _captioned(caption), content=content, media=True, **where)

    async def video_note(self, chat: Chat | None = None, *, seconds: int = 5) -> Message:
        content = media.video_note(self.world.files, b"\0\0\0\x18ftyp round", seconds=seconds)
        return self._post(chat, None, content=content)

    async def animation(self, chat: Chat | None = None, *, caption: str = "") -> Message:
        content = media.animation(self.world.files, b"\0\0\0\x18ftyp gif", name="fun.mp4")
        return self._post(chat, _captioned(caption), content=content, media=True)

    async def sticker(self, chat: Chat | None = None, *, emoji: str = "🐈") -> Message:
        content = media.sticker(self.world.files, b"RIFF sticker", emoji=emoji)
        return self._post(chat, None, content=content)

    async def location(
        self, latitude: float = 52.52, longitude: float = 13.405, chat: Chat | None = None
    ) -> Message:
        return self._post(chat, None, content=media.location(latitude, longitude))

    async def venue(
        self, title: str = "A café", address: str = "High Street 1", chat: Chat | None = None
    ) -> Message:
        return self._post(chat, None, content=media.venue(52.52, 13.405, title, address))

    async def contact(
        self,
        phone: str = "+491701234567",
        first_name: str = "Ben",
        chat: Chat | None = None,
        *,
        user_id: int | None = None,
    ) -> Message:
        return self._post(chat, None, content=media.contact(phone, first_name, user_id))

    async def dice(self, emoji: str = "🎲", value: int = 4, chat: Chat | None = None) -> Message:
        return self._post(chat, None, content=media.dice(emoji, value))

    async def poll(
        self, question: str = "Tea?", options: tuple[str, ...] = ("yes", "no"), chat: Chat | None = None
    ) -> Message:
        return self._post(chat, None, content=media.poll(question, options))

    async def album(
        self,
        *items: bytes | tuple[bytes, str],
        caption: str = "",
        chat: Chat | None = None,
        size: int | None = None,
        **where: Any,
    ) -> list[Message]:
        """Send photos (bytes) and documents (bytes, name) as an album; each is a message, the first has the caption."""
        group = str(13_000_000_000_000_000 + self.world.next_number(chat or self.chat))
        messages = []
        for at, item in enumerate(items):
            if isinstance(item, tuple):
                content = media.document(
                    self.world.files, item[0], name=item[1], media_type="application/octet-stream", size=size
                )
            else:
                content = media.photo(self.world.files, item, media.PHOTO_SIZES, size)
            marked = _captioned("" if at else caption)
            grouped = {"media_group_id": group, **content}
            messages.append(self._post(chat, marked, content=grouped, media=True, **where))
        return messages

    def _post(
        self,
        chat: Chat | None,
        marked: MarkedText | None,
        *,
        topic: Topic | None = None,
        reply_to: Message | None = None,
        quote: str = "",
        content: Json | None = None,
        forwarded: Json | None = None,
        media: bool = False,
    ) -> Message:
        chat = chat or (reply_to.chat if reply_to else self.chat)
        if chat.kind == "private":
            if chat.blocked:
                raise AssertionError(f"{self.first_name} has blocked the bot and cannot write to it")
            chat.started = True
        thread = topic.id if topic else reply_to.thread if reply_to else GENERAL_TOPIC if chat.forum else None
        position = 0
        if quote and reply_to:
            position = utf16_length(reply_to.text[: reply_to.text.index(quote)])
        return self.world.post(
            chat,
            self,
            marked,
            thread=thread,
            reply_to=reply_to.id if reply_to else None,
            quote=quote,
            quote_position=position,
            content={**(forwarded or {}), **(content or {})},
            media=media,
        )

    # -- managing the bot ------------------------------------------------------------------------------------

    async def block(self, bot: Bot | None = None) -> None:
        chat = self.chat_with(bot or self.world.bot)
        chat.blocked = True
        self.world.tell_membership(bot or self.world.bot, chat, self, "member", "kicked")

    async def unblock(self, bot: Bot | None = None) -> None:
        chat = self.chat_with(bot or self.world.bot)
        chat.blocked = False
        self.world.tell_membership(bot or self.world.bot, chat, self, "kicked", "member")

    async def delete_account(self) -> None:
        self.gone = True
        self.world.notify_waiters()

    async def add_bot(self, chat: Chat, bot: Bot | None = None) -> None:
        bot = bot or self.world.bot
        old = "kicked" if bot.id in chat.kicked else "left"
        chat.kicked.discard(bot.id)
        chat.members[bot.id] = bot
        self.world.tell_membership(bot, chat, self, old, "member")
        member = bot.as_json()
        content = {"new_chat_participant": member, "new_chat_member": member, "new_chat_members": [member]}
        self.world.service(chat, self, content)

    async def kick_bot(self, chat: Chat, bot: Bot | None = None) -> None:
        bot = bot or self.world.bot
        self.world.tell_membership(bot, chat, self, "member", "kicked")
        if chat.kind == "group":
            member = bot.as_json()
            self.world.service(chat, self, {"left_chat_participant": member, "left_chat_member": member})
        chat.members.pop(bot.id, None)
        chat.admins.discard(bot.id)
        chat.kicked.add(bot.id)

    async def promote_bot(self, chat: Chat, bot: Bot | None = None) -> None:
        """Make a bot administrator: it gets all messages, and may write where members may not."""
        bot = bot or self.world.bot
        chat.admins.add(bot.id)
        self.world.tell_membership(bot, chat, self, "member", "administrator")

    def menu(self, chat: Chat | None = None, bot: Bot | None = None) -> list[tuple[str, str]]:
        """Return the commands with descriptions that the client offers in a chat."""
        chat, bot = chat or self.chat, bot or self.world.bot
        scopes = ["default"]
        if chat.kind == "private":
            scopes = [f"chat:{chat.id}", "all_private_chats", *scopes]
        else:
            admin = [f"chat_administrators:{chat.id}"] if self.id in chat.admins else []
            admins = ["all_chat_administrators"] if self.id in chat.admins else []
            member = f"chat_member:{chat.id}:{self.id}"
            scopes = [member, *admin, f"chat:{chat.id}", *admins, "all_group_chats", *scopes]
        for scope in scopes:
            for language in (self.language.partition("-")[0], ""):
                if commands := bot.commands.get((scope, language)):
                    return [(one["command"], one["description"]) for one in commands]
        return []


def from_user(person: Person, date: int = 1_760_000_000) -> Json:
    """Return the origin of a message forwarded from a visible account."""
    user = person.as_json()
    origin = {"type": "user", "sender_user": user, "date": date}
    return {"forward_origin": origin, "forward_from": user, "forward_date": date}


def from_hidden_user(name: str, date: int = 1_760_000_000) -> Json:
    origin = {"type": "hidden_user", "sender_user_name": name, "date": date}
    return {"forward_origin": origin, "forward_sender_name": name, "forward_date": date}


def from_chat(chat: Chat, signature: str = "", date: int = 1_760_000_000) -> Json:
    """Return the origin of a message forwarded from an anonymous group administrator."""
    told = wire.chat_json(chat)
    signed = {"author_signature": signature} if signature else {}
    flat = {"forward_signature": signature} if signature else {}
    origin = {"type": "chat", "sender_chat": told, **signed, "date": date}
    return {"forward_origin": origin, "forward_from_chat": told, **flat, "forward_date": date}


def from_channel(title: str, number: int = 17, signature: str = "", date: int = 1_760_000_000) -> Json:
    told = {"id": -1_001_234_567_890, "title": title, "type": "channel"}
    signed = {"author_signature": signature} if signature else {}
    flat = {"forward_signature": signature} if signature else {}
    origin = {"type": "channel", "chat": told, "message_id": number, **signed, "date": date}
    numbered = {"forward_from_message_id": number}
    return {
        "forward_origin": origin,
        "forward_from_chat": told,
        **numbered,
        **flat,
        "forward_date": date,
    }


def _captioned(caption: str) -> MarkedText:
    return MarkedText(caption, [], find_entities(caption))


def _cut(text: str) -> list[str]:
    pieces = []
    while utf16_length(text) > MAX_UNITS:
        end = MAX_UNITS
        while utf16_length(text[:end]) > MAX_UNITS:
            end -= max(1, (utf16_length(text[:end]) - MAX_UNITS) // 2)
        blanks = [match.start() for match in re.finditer(r"\s", text[:end])]
        if blanks and blanks[-1] > end // 2:
            end = blanks[-1]
        pieces.append(text[:end].strip())
        text = text[end:].strip()
    return [piece for piece in (*pieces, text) if piece]
