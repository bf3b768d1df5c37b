"""Telegram behind its Bot API: bots, people and chats, and the updates that bots receive."""

import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any

from tests.fakes.bot_api import wire
from tests.fakes.bot_api.chats import Bot, Button, Chat, ChatKind, Message, Press, Topic
from tests.fakes.bot_api.entities import MarkedText, entity_text
from tests.fakes.bot_api.limits import Flood, Limits, Meter
from tests.fakes.bot_api.media import Files
from tests.fakes.bot_api.people import Person
from tests.fakes.bot_api.receiving import Inbox, Update
from tests.fakes.local_platform import Watched

TOKEN = "123456789:AAF-test-token-of-the-fake-bot-api_x"
USERNAME = "commonplace_bot"
SUPERGROUPS = -1_000_000_000_000


class World(Watched):
    """Create people and chats with `person`, `group`, `supergroup`, `forum`; they do everything else themselves."""

    def __init__(self, *, limits: Limits | None = None, clock: Callable[[], float] = time.time) -> None:
        """Without limits nothing is rejected; `floods` lists what would have been.

        `clock`: seconds since 1970, for the dates that bots see.
        """
        super().__init__()
        self.clock = clock
        self.enforces_limits = limits is not None
        self.limits = limits or Limits()
        self.bots: dict[str, Bot] = {}
        self.people: dict[int, Person] = {}
        self.files = Files()
        self.floods: list[Flood] = []
        self.presses: dict[str, Press] = {}
        self._groups: dict[int, Chat] = {}
        self._private: dict[tuple[int, int], Chat] = {}
        self._numbers = itertools.count(101)
        self._supergroup_numbers: dict[int, itertools.count[int]] = {}
        self._ids = itertools.count(1)
        self.bot = self.add_bot(TOKEN, USERNAME)

    # -- people, bots and chats ------------------------------------------------------------------------------

    def add_bot(self, token: str, username: str, *, name: str = "Commonplace", privacy: bool = True) -> Bot:
        meter = Meter(self.limits, self.enforces_limits)
        bot = Bot(token, username, name, Inbox(self.clock), meter, privacy)
        self.bots[token] = bot
        return bot

    def person(
        self,
        number: int,
        first_name: str = "",
        *,
        last_name: str = "",
        username: str = "",
        language: str = "",
        started: bool = False,
    ) -> Person:
        """Return the person with this id, created if necessary. `started`: has written to the bot before."""
        if number not in self.people:
            name = first_name or f"Person {number}"
            self.people[number] = Person(self, number, name, last_name, username, language)
        person = self.people[number]
        if started:
            person.chat.started = True
        return person

    def private(self, person: Person, bot: Bot | None = None) -> Chat:
        bot = bot or self.bot
        key = (bot.id, person.id)
        if key not in self._private:
            members: dict[int, Person | Bot] = {person.id: person, bot.id: bot}
            self._private[key] = Chat(
                person.id, "private", self.wait_until, person=person, bot=bot, members=members
            )
        return self._private[key]

    def group(self, title: str, *members: Person, number: int | None = None, with_bot: bool = True) -> Chat:
        return self._make_group("group", title, members, number, with_bot=with_bot)

    def supergroup(
        self, title: str, *members: Person, number: int | None = None, with_bot: bool = True
    ) -> Chat:
        return self._make_group("supergroup", title, members, number, with_bot=with_bot)

    def forum(self, title: str, *members: Person, number: int | None = None, with_bot: bool = True) -> Chat:
        chat = self._make_group("supergroup", title, members, number, with_bot=with_bot)
        chat.forum = True
        return chat

    def _make_group(
        self, kind: ChatKind, title: str, members: Sequence[Person], number: int | None, *, with_bot: bool
    ) -> Chat:
        if number is None:
            count = 4000 + next(self._ids)
            number = SUPERGROUPS - count if kind == "supergroup" else -count
        present: dict[int, Person | Bot] = {member.id: member for member in members}
        if with_bot:
            present[self.bot.id] = self.bot
        chat = Chat(number, kind, self.wait_until, title=title, members=present)
        if members:
            chat.admins.add(members[0].id)
        self._groups[number] = chat
        return chat

    @property
    def chats(self) -> list[Chat]:
        return [*self._private.values(), *self._groups.values()]

    def find_chat(self, bot: Bot, number: int) -> Chat | None:
        """Return the chat that a bot addresses by an id."""
        if number > 0:
            known = self.people.get(number)
            return self.private(known, bot) if known else None
        return self._groups.get(number)

    # -- messages --------------------------------------------------------------------------------------------

    def next_number(self, chat: Chat) -> int:
        """Return the next message id: supergroups count their own, all other chats share one count."""
        if chat.kind == "supergroup":
            return next(self._supergroup_numbers.setdefault(chat.id, itertools.count(2)))
        return next(self._numbers)

    def post(
        self,
        chat: Chat,
        sender: Person | Bot,
        marked: MarkedText | None = None,
        *,
        opens_topic: bool = False,
        **details: Any,
    ) -> Message:
        """Post a message and notify the bots that receive it."""
        marked = marked or MarkedText("")
        message = Message(
            self.next_number(chat),
            chat,
            sender,
            self.clock(),
            marked.text,
            marked.entities,
            marked.found,
            marked.dropped,
            **details,
        )
        message.first_text = message.text
        if opens_topic:
            message.thread = message.id
        chat.messages.append(message)
        chat.by_id[message.id] = message
        if isinstance(sender, Person):
            self.tell("message", message)
        self.notify_waiters()
        return message

    def service(self, chat: Chat, sender: Person | Bot, content: dict[str, Any], **details: Any) -> Message:
        """Post a service message, such as for a new topic."""
        message = self.post(chat, sender, content=content, service=True, **details)
        if isinstance(sender, Bot):
            self.tell("message", message)
        return message

    def tell(self, kind: str, message: Message) -> None:
        for bot in self.bots_in(message.chat):
            if receives(bot, message):
                bot.inbox.put(kind, wire.message_json(message))

    def bots_in(self, chat: Chat) -> list[Bot]:
        return [member for member in chat.members.values() if isinstance(member, Bot)]

    def tell_membership(self, bot: Bot, chat: Chat, by: Person, old: str, new: str) -> None:
        """Tell a bot about a change of its rights."""
        bot.inbox.put(
            "my_chat_member",
            {
                "chat": wire.chat_json(chat),
                "from": by.as_json(),
                "date": int(self.clock()),
                "old_chat_member": wire.member_json(bot, old),
                "new_chat_member": wire.member_json(bot, new),
            },
        )
        self.notify_waiters()

    def press(
        self, person: Person, chat: Chat, number: int, data: str, message: Message | None, bot: Bot
    ) -> Press:
        press = Press(f"{bot.id}{next(self._ids):06d}", self.clock(), person, data)
        self.presses[press.id] = press
        gone = {"chat": wire.chat_json(chat), "message_id": number, "date": 0}
        bot.inbox.put(
            "callback_query",
            {
                "id": press.id,
                "from": person.as_json(),
                "message": wire.message_json(message) if message else gone,
                "chat_instance": str(-7_000_000_000 - chat.id),
                "data": data,
            },
        )
        self.notify_waiters()
        return press

    async def push_raw(self, update: Update, bot: Bot | None = None) -> int:
        """Send a bot any JSON as an update, even malformed; return its update_id."""
        number = (bot or self.bot).inbox.put_raw(update)
        self.notify_waiters()
        return number

    # -- groups ----------------------------------------------------------------------------------------------

    async def open_topic(self, forum: Chat, name: str, by: Person) -> Topic:
        content = {"forum_topic_created": {"name": name, "icon_color": 7322096}}
        message = self.service(forum, by, content, opens_topic=True)
        topic = Topic(message.id, name)
        forum.topics[topic.id] = topic
        return topic

    async def close_topic(self, forum: Chat, topic: Topic, by: Person) -> None:
        topic.closed = True
        self.service(forum, by, {"forum_topic_closed": {}}, thread=topic.id)

    async def reopen_topic(self, forum: Chat, topic: Topic, by: Person) -> None:
        topic.closed = False
        self.service(forum, by, {"forum_topic_reopened": {}}, thread=topic.id)

    async def delete_topic(self, forum: Chat, topic: Topic) -> None:
        """Delete a topic; as in Telegram, nobody is told."""
        del forum.topics[topic.id]
        for message in forum.messages:
            message.deleted |= message.thread == topic.id
        self.notify_waiters()

    async def migrate(self, group: Chat, by: Person) -> Chat:
        """Turn a group into a supergroup: a new id, and a message in both chats."""
        people = [member for member in group.members.values() if isinstance(member, Person)]
        chat = self._make_group("supergroup", group.title, people, None, with_bot=False)
        chat.members, chat.admins, chat.may_write = dict(group.members), set(group.admins), group.may_write
        group.migrated_to = chat
        self.service(group, by, {"migrate_to_chat_id": chat.id})
        self.service(chat, by, {"migrate_from_chat_id": group.id})
        return chat

    # -- for tests -------------------------------------------------------------------------------------------

    def report(self) -> str:
        """Describe what happened, for readers of a failed test."""
        lines: list[str] = []
        for chat in self.chats:
            lines.append(repr(chat))
            for message in chat.messages[-8:]:
                told = repr(message)
                lines.append(f"  {told if len(told) < 200 else told[:200] + '…'}")
        lines += [f"@{bot.username}: {len(bot.inbox.pending)} unconfirmed" for bot in self.bots.values()]
        return "\n".join(lines)


def receives(bot: Bot, message: Message) -> bool:
    """Return whether a bot receives a message: in groups with privacy only messages addressed to it."""
    chat = message.chat
    if chat.kind == "private" or message.service or not bot.privacy or bot.id in chat.admins:
        return True
    original = chat.by_id.get(message.reply_to or 0)
    if original and original.sender is bot:
        return True
    for entity in [*message.entities, *message.found]:
        words = entity_text(message.text, entity).lower()
        match entity["type"]:
            case "mention" if words == f"@{bot.username}".lower():
                return True
            case "text_mention" if entity.get("user", {}).get("id") == bot.id:
                return True
            case "bot_command":
                _, at, name = words.partition("@")
                if name == bot.username.lower() or (not at and _spoke_last(bot, chat)):
                    return True
    return False


def _spoke_last(bot: Bot, chat: Chat) -> bool:
    """Return whether this bot wrote last, so that a command without a bot's name is for it."""
    for message in reversed(chat.messages):
        if isinstance(message.sender, Bot) and not message.service:
            return message.sender is bot
    return True


def read_buttons(rows: Sequence[Sequence[dict[str, Any]]]) -> tuple[tuple[Button, ...], ...]:
    return tuple(
        tuple(Button(one["text"], one.get("callback_data", ""), one.get("url", "")) for one in row)
        for row in rows
        if row
    )
