"""People, accounts, rooms and secrets at random, and who may find what by the rules as people are told them.

The real parts get every change: access, pairing, `/link`, conversations. The oracle (`may_find`) knows none of them. It
is written from these rules: everybody, owners too, finds what was said in their own private chats, in their imported
conversations, and in the rooms where they wrote while the memory is on there. Accounts that the settings or owners'
links call one person are one; what the settings say beats the links. A room finds only itself. Guests, strangers
and the denied find nothing, and no link leads to them or through them.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from random import Random
from typing import Literal

import apsw

from bot.access import Standing
from bot.commands.command import run_command, split_command
from bot.config.settings import AccessSettings
from bot.conversations.conversation import Conversation
from bot.conversations.message_rows import dump_json, encode_message
from bot.messages import ChatId, IncomingMessage, PersonId
from bot.models.protocol import AssistantMessage, UserMessage
from bot.services import Services
from bot.state import access, chat_migration, conversations
from bot.state.access import Decision

NOW = datetime(2026, 11, 23, 22, tzinfo=UTC)
AT = "2026-11-23T22:00:00.000+00:00"
OWNER, TERMINAL = "telegram:1", "terminal:owner"
ROLE = "9/@8"
"""A role on the server of all rooms on Discord."""
Trust = Literal["owner", "allowed", "guest", "stranger"]

Find = Callable[[PersonId, ChatId, str], Awaitable[bool]]
"""Return whether a person who asks in a chat finds a secret."""


@dataclass(slots=True)
class Account:
    """An account on a channel."""

    id: str
    private: tuple[str, ...] = ()
    """The chats that nobody else reads."""
    roles: tuple[str, ...] = ()
    """What counts for it in the rooms of its channel."""


@dataclass(slots=True)
class Room:
    """A room, and the accounts that wrote in it."""

    memory: bool = False
    writers: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Question:
    """Somebody asks for a secret."""

    person: PersonId
    chat: ChatId
    secret: str
    expected: bool
    """Whether they may find it."""


class RightsWorld:
    """Changes at random, made in the real parts and noted for the oracle."""

    def __init__(self, services: Services, seed: int) -> None:
        """`services` need state, access, pairing, commands, settings and a clock."""
        self.services = services
        self.random = Random(seed)
        self.rules: dict[str, list[str]] = {}
        self.people: dict[str, list[str]] = {}
        self.decisions: dict[str, Decision] = {}
        self.links: set[frozenset[str]] = set()
        self.accounts = {each.id: each for each in _make_accounts(self.random)}
        self.rooms = {
            name: Room() for name in ("telegram:-100", "telegram:-100/7", "telegram:-1001", "discord:701")
        }
        self.secrets: dict[str, str] = {}
        """The chat of each secret."""
        self._count = count(1)

    # -- the oracle -------------------------------------------------------------------------------------------

    def trust(self, account: str, groups: Sequence[str] = ()) -> Trust:
        """How far an account is trusted."""
        channel = account.partition(":")[0]
        if account == TERMINAL or account in self.rules["owners"]:
            return "owner"
        match self.decisions.get(account):
            case "denied":
                return "stranger"
            case None:
                pass
            case decision:
                return decision
        for names in ([account], [f"{channel}:{group}" for group in groups], [f"{channel}:*"]):
            if any(name in self.rules["guests"] for name in names):
                return "guest"
            if any(name in self.rules["allow"] for name in names):
                return "allowed"
        return "stranger"

    def same_person(self, account: str) -> set[str]:
        """The accounts of a person who uses one of them."""
        named = {each: name for name, ids in self.people.items() for each in ids}
        if account in named:
            same = {each for each in named if named[each] == named[account]}
        else:
            same, before = {account}, set[str]()
            while same != before:
                before = set(same)
                for link in self.links:
                    if link & same and all(each not in named and self._may_search(each) for each in link):
                        same |= link
        return {account} | {each for each in same if self._may_search(each)}

    def _may_search(self, account: str) -> bool:
        return self.trust(account) in ("owner", "allowed")

    def groups(self, person: PersonId, chat: ChatId) -> tuple[str, ...]:
        """What counts for a person in a chat, as the channel says with each message."""
        return self.accounts[str(person)].roles if str(chat) in self.rooms else ()

    def may_find(self, person: PersonId, chat: ChatId, secret: str) -> bool:
        """Whether a person who asks in a chat may find a secret."""
        said_in, asked_in = self.secrets[secret], str(chat)
        if self.trust(str(person), self.groups(person, chat)) in ("guest", "stranger"):
            return False
        if room := self.rooms.get(asked_in):
            return said_in == asked_in and room.memory
        if asked_in not in self.accounts[str(person)].private:
            return False
        same = self.same_person(str(person))
        if room := self.rooms.get(said_in):
            return room.memory and not room.writers.isdisjoint(same)
        return any(said_in in (*self.accounts[each].private, f"imported:{each}") for each in same)

    # -- questions --------------------------------------------------------------------------------------------

    def questions(self, number: int) -> list[Question]:
        """As many questions of anybody, anywhere, for any secret.

        More than chance would ask for what they may find, or might if a rule about links were missing.
        """
        found = []
        chats = [*self.rooms, *(chat for each in self.accounts.values() for chat in each.private)]
        chats.append(f"imported:{OWNER}")
        for _ in range(number):
            account = self.accounts[self.random.choice(list(self.accounts))]
            own = [*account.private, *self.rooms]
            asked_in = ChatId.parse(self.random.choice(own if self.random.random() < 0.5 else chats))
            person = PersonId.parse(account.id)
            own_secrets = [each for each in self.secrets if self.may_find(person, asked_in, each)]
            near = self._chats_near(account.id).difference(account.private)
            tempting = [each for each in self.secrets if self.secrets[each] in near]
            secrets = self.random.choice((own_secrets, tempting, []))
            secret = self.random.choice(secrets or list(self.secrets))
            found.append(Question(person, asked_in, secret, self.may_find(person, asked_in, secret)))
        return found

    def _chats_near(self, account: str) -> set[str]:
        """The chats of all accounts that the settings or links connect with this one, whether they count or not."""
        near, before = {account}, set[str]()
        while near != before:
            before = set(near)
            near = near.union(*(ids for ids in (*self.people.values(), *self.links) if near & set(ids)))
        rooms = {name for name, room in self.rooms.items() if room.writers & near}
        return rooms.union(*((*self.accounts[each].private, f"imported:{each}") for each in near))

    # -- changes ----------------------------------------------------------------------------------------------

    async def begin(self) -> None:
        """Write the settings, and plant a secret in every chat."""
        self._write_rules()
        for account in self.accounts.values():
            for chat in account.private:
                await self.say(account.id, chat)
            await self._import(account.id)
        for name, room in self.rooms.items():
            await self._say_as_earlier_versions(name)
            for member in self._members(name):
                if self.random.random() < 0.5:
                    await self.say(member, name)
            if self.random.random() < 0.6:
                await self._switch_memory(name, room)
        for _ in range(8):
            await self._link()

    async def change(self) -> None:
        """Change something."""
        changes: list[Callable[[], Awaitable[None]]] = [
            self._decide,
            self._decide,
            self._link,
            self._link,
            self._link,
            self._unlink,
            self._turn_memory,
            self._speak,
            self._end_conversation,
            self._migrate,
            self._forget_writer,
            self._reload,
            self._reload,
        ]
        await self.random.choice(changes)()

    async def say(self, account: str, chat: str) -> None:
        """Have an account say a new secret in a chat."""
        secret = self._plant(chat)
        conversation = Conversation(self.services.state, ChatId.parse(chat))
        await conversation.load()
        said = UserMessage(f"The word is {secret}.")
        await conversation.add_user_messages([(said, PersonId.parse(account))])
        await conversation.append(AssistantMessage(f"I'll remember {secret}."))
        if room := self.rooms.get(chat):
            room.writers.add(account)

    def _plant(self, chat: str) -> str:
        number, letters = next(self._count), ""
        while number:
            number, digit = divmod(number, 20)
            letters += "bcdfghjklmnpqrstvwxz"[digit]
        secret = f"quail{letters}ou"
        self.secrets[secret] = chat
        return secret

    def _members(self, room: str) -> list[str]:
        """Accounts of a room's channel that the assistant answers there."""
        channel = room.partition(":")[0]
        return [
            each.id
            for each in self.accounts.values()
            if each.id.startswith(f"{channel}:") and self.trust(each.id, each.roles) != "stranger"
        ]

    async def _say_as_earlier_versions(self, room: str) -> None:
        """Store a message without its speaker."""
        entry = encode_message(UserMessage(f"The word is {self._plant(room)}."))
        await self.services.state.append(None, room, [entry], after=0)

    async def _import(self, account: str) -> None:
        """Store an imported conversation: its messages are the account's own, but nobody wrote them here."""
        chat = f"imported:{account}"
        entry = encode_message(UserMessage(f"The word is {self._plant(chat)}."))

        def write(db: apsw.Connection) -> None:
            (row,) = conversations.append(db, None, chat, [entry], after=0, at=AT)
            db.execute("UPDATE conversations SET ended_at = ? WHERE id = ?", (AT, row.conversation))

        await self.services.state.change(write)

    async def _decide(self) -> None:
        """Let somebody in as anything, or keep them out, as the commands do."""
        linked = {each for ids in (*self.people.values(), *self.links) for each in ids} - {TERMINAL}
        others = [each for each in self.accounts if each != TERMINAL]
        account = self.random.choice(self.random.choice((sorted(linked), others)) or others)
        decisions: list[Decision] = ["owner", "allowed", "allowed", "guest", "denied", "denied"]
        decision = self.random.choice(decisions)
        await self.services.state.change(
            lambda db: access.save_decision(db, account, decision, name="", by=OWNER, at=AT)
        )
        self.decisions[account] = decision

    async def _link(self) -> None:
        one, other = self.random.choices(list(self.accounts), k=2)
        named = {each for ids in self.people.values() for each in ids}
        may = one != other and all(
            self._may_search(each) and each not in named and not each.startswith("telegram:-")
            for each in (one, other)
        )
        told = await self._command(f"/link {one} {other}")
        assert told.startswith(("Linked: ", "Already linked: ")) == may, (one, other, told)
        if may:
            self.links.add(frozenset((one, other)))

    async def _unlink(self) -> None:
        if self.links:
            link = self.random.choice(sorted(self.links, key=sorted))
            await self._command(f"/link {' '.join(sorted(link))} off")
            self.links.remove(link)

    async def _turn_memory(self) -> None:
        name = self.random.choice(list(self.rooms))
        await self._switch_memory(name, self.rooms[name])

    async def _switch_memory(self, name: str, room: Room) -> None:
        room.memory = not room.memory
        await self.services.access.open_memory(ChatId.parse(name), memory=room.memory)

    async def _speak(self) -> None:
        """Somebody writes in a room for the first time, or again."""
        room = self.random.choice(list(self.rooms))
        if members := self._members(room):
            await self.say(self.random.choice(members), room)

    async def _end_conversation(self) -> None:
        chat = self.random.choice(list(self.secrets.values()))
        query = "UPDATE conversations SET ended_at = ? WHERE chat = ? AND ended_at IS NULL"
        await self.services.state.change(lambda db: db.execute(query, (AT, chat)))

    async def _migrate(self) -> None:
        """Give a group of Telegram a new id; its topics move with it."""
        groups = [name for name in self.rooms if name.startswith("telegram:") and "/" not in name]
        old = ChatId.parse(self.random.choice(groups))
        new = ChatId("telegram", f"-100{next(self._count)}00")

        def move(db: apsw.Connection) -> None:
            chat_migration.save_move(db, old, new, at=AT)
            for part in chat_migration.read_parts(db, old):
                chat_migration.move_rows(db, part, chat_migration.map_chat(part, old, new))

        await self.services.state.change(move)
        for name in [name for name in self.rooms if name.partition("/")[0] == str(old)]:
            renamed = name.replace(str(old), str(new), 1)
            self.rooms[renamed] = self.rooms.pop(name)
            self.secrets = {secret: renamed if at == name else at for secret, at in self.secrets.items()}

    async def _forget_writer(self) -> None:
        """Forget everything that somebody wrote in a room, as `/forget` does: nothing says who wrote it."""
        name = self.random.choice(list(self.rooms))
        if not (writers := sorted(self.rooms[name].writers)):
            return
        writer, forgotten = self.random.choice(writers), dump_json({"text": "[forgotten]"})

        def forget(db: apsw.Connection) -> list[str]:
            rows = db.execute(
                "SELECT entries.rowid, payload FROM entries JOIN conversations ON id = conversation WHERE chat = ?",
                (name,),
            ).fetchall()
            gone = [(row, str(payload)) for row, payload in rows if f'"by": "{writer}"' in str(payload)]
            for row, _ in gone:
                db.execute("UPDATE entries SET payload = ? WHERE rowid = ?", (forgotten, row))
            return [payload for _, payload in gone]

        for payload in await self.services.state.change(forget):
            for secret in [secret for secret in self.secrets if secret in payload]:
                del self.secrets[secret]
        self.rooms[name].writers.discard(writer)

    async def _reload(self) -> None:
        self._write_rules()

    def _write_rules(self) -> None:
        """Name people anew in the settings, as a reload does."""
        others = [each for each in self.accounts if each not in (OWNER, TERMINAL)]
        self.random.shuffle(others)
        owners, allow, guests = [OWNER, *others[:1]], others[1:5], others[5:6]
        allow.append(f"discord:{ROLE}")
        if self.random.random() < 0.3:
            self.random.choice((allow, guests)).append(self.random.choice(("telegram:*", "discord:*")))
        self.rules = {"owners": owners, "allow": allow, "guests": guests}
        known = [each for each in self.accounts if not each.startswith("telegram:-")]
        ids = self.random.sample(known, k=self.random.choice((0, 0, 2, 4)))
        self.people = {f"person {number}": ids[number : number + 2] for number in range(0, len(ids), 2)}
        self.services.access.set_rules(AccessSettings.model_validate({**self.rules, "people": self.people}))
        self.services.pairing.renew(AccessSettings.model_validate({**self.rules, "people": self.people}))

    async def _command(self, line: str) -> str:
        """Run a command as an owner in private."""
        parts = split_command(line)
        assert parts
        number = str(next(self._count))
        message = IncomingMessage(number, ChatId.parse(OWNER), PersonId.parse(OWNER), line, NOW)
        told = await run_command(
            *parts,
            message=message,
            standing=Standing.OWNER,
            key=f"message-{number}",
            services=self.services,
        )
        assert isinstance(told, str)
        return told


def _make_accounts(random: Random) -> list[Account]:
    """Accounts whose ids begin alike, one that writes as a group, and the terminal."""
    telegram = [Account(f"telegram:{number}", (f"telegram:{number}",)) for number in (1, 12, 123, 7)]
    telegram[1].private += ("telegram:12/3", "telegram:12/5")
    telegram[3].private += ("telegram:7/3",)
    discord = [
        Account(f"discord:{number}", (f"discord:@{number}",), (ROLE,) if random.random() < 0.5 else ())
        for number in (1, 12, 700, 5)
    ]
    as_group = Account("telegram:-100")
    return [*telegram, *discord, as_group, Account(TERMINAL, ("terminal:main", "terminal:work"))]
