"""The people of the soak test, in both channels, and checks that everything was answered once, in order.

Everybody sends the next message once the last is answered. Each message has a unique mark, `T00012`; a model
answers `T00012 is done.` when it has done what was wanted. If no model answers, the notebook does, without
the mark.
"""

import asyncio
import io
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol

from scripted_models import MODELS, parcel_fact
from workspaces import ROOT

sys.path.insert(0, str(ROOT))
from tests.fakes.discord_api.requests import Upload
from tests.fakes.pdf_file import text_pdf

if TYPE_CHECKING:
    from tests.fakes.bot_api.chats import Chat
    from tests.fakes.bot_api.chats import Message as TelegramMessage
    from tests.fakes.bot_api.people import Person as TelegramPerson
    from tests.fakes.bot_api.server import BotApi
    from tests.fakes.discord_api.chats import Channel
    from tests.fakes.discord_api.chats import Message as DiscordMessage
    from tests.fakes.discord_api.people import Person as DiscordPerson
    from tests.fakes.discord_api.server import DiscordApi

ITEMS = 400
PATIENCE = 240.0
"""Seconds until a message without an answer counts as lost."""
EARLIER = 12
"""Messages."""
STILL_SECONDS = 2.5
"""A reply without its mark that has not changed for this long is the notebook's, or was stopped."""
GIVEN_UP_SECONDS = 45.0
"""Seconds to wait for a reply that a model began before it fell silent."""
BEGUN = re.compile(r"(?:Doing T\d+\.|And then there was|…)\W*\Z")
KINDS = {
    "say": 36, "slow": 12, "long": 6, "write": 8, "both": 1, "three": 3, "edit": 3, "remind": 2, "row": 4,
    "picture": 2, "document": 2, "pdf": 0.5, "stop": 2, "edited": 2, "press": 1,
    "/remember": 2, "/recall": 3, "/remind": 1, "/reminders": 1, "/status": 2, "/help": 1, "/usage": 1,
    "/new": 2, "/compact": 1, "/flush": 1, "/model": 1, "complete": 1,
}  # fmt: skip
IN_ROOMS = {"say": 30, "slow": 10, "long": 5, "row": 3, "/status": 1, "/help": 1}
PARCELS = {"write": "{}", "three": "{}", "/remember": "{}", "both": "{}a {}b"}
"""The facts that a message wants noted."""
ALWAYS = {"write", "/remember"}
"""Done by the notebook, too, or by commands."""
REMINDER = "⏰"
STOPPED = "*(stopped)*"


@dataclass(frozen=True, slots=True)
class Shown:
    """A message of the bot, as shown."""

    text: str
    at: float
    """When it was last written or changed."""
    message: Any


class Place(Protocol):
    """A chat with a person, on either platform."""

    name: str
    room: bool

    @property
    def length(self) -> int:
        """Return the number of messages."""

    def shown(self, begin: int, end: int | None = None) -> list[Shown]:
        """Return the bot's messages among them, without reminders."""

    async def until(self, condition: Callable[[], bool]) -> bool:
        """Wait for the condition; return False if it does not come true."""

    async def say(self, text: str) -> Any: ...

    async def edit(self, message: Any, text: str) -> None: ...

    async def attach(self, text: str, name: str, media_type: str, data: bytes) -> None: ...

    async def press(self, message: Any, label: str) -> None: ...

    async def command(self, name: str, /, **options: str) -> str | None:
        """Use a command other than by typing it; return its answer, None if there is no such way."""

    async def complete(self) -> None: ...

    def reminders(self) -> Iterator[str]: ...


class TelegramPlace:
    """A private chat, or a group."""

    def __init__(self, api: "BotApi", person: "TelegramPerson", group: "Chat | None" = None) -> None:
        self.name = f"telegram {(group or person.chat).id}"
        self.room = group is not None
        self._api = api
        self._person = person
        self._chat = group or person.chat

    @property
    def length(self) -> int:
        return len(self._chat.messages)

    def shown(self, begin: int, end: int | None = None) -> list[Shown]:
        return [
            Shown(each.text, each.edits[-1].time if each.edits else each.time, each)
            for each in self._chat.messages[begin:end]
            if each.from_bot and not each.deleted and not each.service and not each.text.startswith(REMINDER)
        ]

    async def until(self, condition: Callable[[], bool]) -> bool:
        return await _until(self._api, condition)

    async def say(self, text: str) -> "TelegramMessage":
        if self.room:
            return await self._person.say(f"@commonplace_bot {text}", self._chat)
        return await self._person.say(text)

    async def edit(self, message: "TelegramMessage", text: str) -> None:
        await self._person.edit(message, text)

    async def attach(self, text: str, name: str, media_type: str, data: bytes) -> None:
        if media_type.startswith("image/"):
            await self._person.photo(data, text)
        else:
            await self._person.document(data, text, name=name, media_type=media_type)

    async def press(self, message: "TelegramMessage", label: str) -> None:
        await self._person.press(message, label)

    async def command(self, name: str, /, **options: str) -> str | None:
        return None

    async def complete(self) -> None:
        pass

    def reminders(self) -> Iterator[str]:
        return (each.text for each in self._chat.messages if each.from_bot and each.text.startswith(REMINDER))


class DiscordPlace:
    """Direct messages, or a channel of a guild."""

    def __init__(self, api: "DiscordApi", person: "DiscordPerson", channel: "Channel | None" = None) -> None:
        self.name = f"discord {(channel or person.dm).id}"
        self.room = channel is not None
        self._api = api
        self._person = person
        self._channel = channel or person.dm

    @property
    def length(self) -> int:
        return len(self._channel.messages)

    def shown(self, begin: int, end: int | None = None) -> list[Shown]:
        return [
            Shown(each.content, each.edits[-1].time if each.edits else each.time, each)
            for each in self._channel.messages[begin:end]
            if each.from_bot
            and not (each.deleted or each.loading or each.interaction)
            and not each.content.startswith(REMINDER)
        ]

    async def until(self, condition: Callable[[], bool]) -> bool:
        return await _until(self._api, condition)

    async def say(self, text: str) -> "DiscordMessage":
        if self.room:
            return await self._person.ask(text, self._channel)
        return await self._person.say(text)

    async def edit(self, message: "DiscordMessage", text: str) -> None:
        await self._person.edit(message, text)

    async def attach(self, text: str, name: str, media_type: str, data: bytes) -> None:
        await self._person.say(text, files=[Upload(name, media_type, data)])

    async def press(self, message: "DiscordMessage", label: str) -> None:
        interaction = await self._person.press(message, label)
        await _until(self._api, lambda: bool(interaction.callback))

    async def command(self, name: str, /, **options: str) -> str | None:
        given: dict[str, Any] = dict(options)
        used = await self._person.use(name, self._channel, **given)
        await _until(self._api, lambda: bool(used.texts))
        return "\n".join(used.texts)

    async def complete(self) -> None:
        asked = await self._person.complete("model", "name", "gem", self._channel)
        await _until(self._api, lambda: bool(asked.callback))

    def reminders(self) -> Iterator[str]:
        return (
            each.content
            for each in self._channel.messages
            if each.from_bot and each.content.startswith(REMINDER)
        )


async def _until(api: "BotApi | DiscordApi", condition: Callable[[], bool]) -> bool:
    try:
        await api.wait_until(condition, within=PATIENCE)
    except AssertionError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Said:
    """A message and its expected result."""

    token: str
    kind: str
    place: str
    argument: str = ""
    vague: bool = False
    """Whether it may have been stopped or changed: then its result is open, but must occur at most once."""


@dataclass(slots=True)
class Round:
    """Messages sent at once in a chat, until their answers were there."""

    said: tuple[Said, ...]
    begin: int
    """Number of messages before it."""
    most: int
    """Maximum number of replies."""
    answered: bool = True


@dataclass(slots=True)
class Talks:
    """All messages, chat by chat."""

    chance: random.Random
    rounds: dict[str, list[Round]] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)
    turns: int = 0
    """Messages that a model should answer."""
    commands: int = 0
    used: list[tuple[Said, str]] = field(default_factory=list)
    """Commands that were not typed as a message, with their answers."""
    faults: list[str] = field(default_factory=list)
    _count: int = 0
    _items: int = 0

    def said(self) -> Iterator[Said]:
        return chain(
            (said for rounds in self.rounds.values() for each in rounds for said in each.said),
            (said for said, _ in self.used),
        )

    async def round(self, place: Place) -> None:
        """Say something and wait for the answer."""
        kinds = IN_ROOMS if place.room else KINDS
        kind = self.chance.choices(list(kinds), list(kinds.values()))[0]
        self.places[place.name] = place
        if kind == "complete":
            await place.complete()
        elif kind.startswith("/"):
            self.commands += 1
            await self._command(place, kind.removeprefix("/"))
        elif kind in ("stop", "edited"):
            await self._changed_mind(place, kind)
        elif kind == "press":
            self.commands += 1
            await self._press(place)
        else:
            await self._turn(place, kind)

    async def _turn(self, place: Place, kind: str) -> None:
        row = [kind] if kind != "row" else self.chance.choices(("say", "slow"), k=self.chance.randint(2, 3))
        said = tuple(self._new(place, each) for each in row)
        self.turns += len(said)
        this = self._begin(place, said, limit=len(said))
        for each in said:
            await self._send(place, each)
        await self._answered(place, this)

    async def _send(self, place: Place, said: Said) -> None:
        match said.kind:
            case "write":
                await place.say(f"Remember that {parcel_fact(said.token)}")
            case "picture":
                await place.attach(f"{said.token} say", "photo.jpg", "image/jpeg", picture(self.chance))
            case "document":
                lines = "".join(f"Line {number} of {said.token}.\n" for number in range(200))
                await place.attach(f"{said.token} say", f"{said.token}.txt", "text/plain", lines.encode())
            case "pdf":
                pages = text_pdf(f"A page of {said.token}.", "Another one.")
                await place.attach(f"{said.token} say", f"{said.token}.pdf", "application/pdf", pages)
            case _:
                await place.say(_wish(said))

    async def _command(self, place: Place, name: str) -> None:
        said = self._new(place, f"/{name}")
        wish = {
            "remember": {"text": parcel_fact(said.token)},
            "recall": {"query": "parcel shelf"},
            "remind": {"when": "3s", "text": f"look after {said.token}"},
            "model": {"name": self.chance.choice([*MODELS.values(), "auto"])},
        }.get(name, {})
        if self.chance.random() < 0.5:
            answer = await place.command(name, **wish)
            if answer is not None:
                self.used.append((said, answer))
                return
        this = self._begin(place, (said,), limit=3)
        await place.say(" ".join([f"/{name}", *wish.values()]))
        await self._answered(place, this)

    async def _changed_mind(self, place: Place, kind: str) -> None:
        """Stop a reply, or edit its question."""
        first = self._new(place, "slow", vague=True)
        self.turns += 1
        this = self._begin(place, (first,), limit=3)
        message = await place.say(_wish(first))
        await asyncio.sleep(self.chance.uniform(0, 0.3))
        if kind == "stop":
            self._mark_vague(place)
            await place.say("/stop")
            await place.until(lambda: self._is_still(place, this.begin))
        else:
            second = self._new(place, "say")
            self.turns += 1
            this.said = (first, second)
            await place.edit(message, f"{second.token} say")
            await self._answered(place, this)

    def _mark_vague(self, place: Place) -> None:
        """Mark what has no answer yet: an earlier message, too, may only now be the one that `/stop` ends."""
        rounds = self.rounds[place.name][-2:]
        whole = "\n".join(each.text for each in place.shown(rounds[0].begin))
        for this in rounds:
            this.said = tuple(
                said if said.kind.startswith("/") or _mark(said) in whole else replace(said, vague=True)
                for said in this.said
            )

    async def _press(self, place: Place) -> None:
        """Have buttons shown, and press one."""
        this = self._begin(place, (self._new(place, "/model"),), limit=3)
        await place.say("/model")
        await self._answered(place, this)
        buttons = [each.message for each in place.shown(this.begin) if each.message.labels]
        if buttons:
            at = place.length
            changed = buttons[-1]
            await place.press(changed, self.chance.choice(changed.labels))
            await place.until(lambda: place.length > at or bool(changed.edits))

    async def ask(self, place: Place, text: str) -> bool:
        """Say something without a mark, and wait for any answer."""
        begin = place.length
        await place.say(text)
        return await place.until(lambda: bool(place.shown(begin)))

    def _new(self, place: Place, kind: str, *, vague: bool = False) -> Said:
        token = f"T{self._count:05}"
        self._count += 1
        argument = "3s" if kind == "remind" else ""
        if kind == "edit" and self._items < ITEMS:
            argument = str(self._items)
            self._items += 1
        return Said(token, "say" if kind == "edit" and not argument else kind, place.name, argument, vague)

    def _begin(self, place: Place, said: tuple[Said, ...], *, limit: int) -> Round:
        this = Round(said, place.length, limit)
        self.rounds.setdefault(place.name, []).append(this)
        return this

    async def _answered(self, place: Place, this: Round) -> None:
        marks = [_mark(said) for said in this.said if not (said.vague or said.kind.startswith("/"))]

        def answered() -> bool:
            # A reply that began earlier may answer this too: messages sent meanwhile join its turn.
            whole = "\n".join(each.text for each in place.shown(max(0, this.begin - EARLIER)))
            if marks and all(mark in whole for mark in marks):
                return True
            return bool(place.shown(this.begin)) and (not marks or self._is_still(place, this.begin))

        this.answered = await place.until(answered)

    @staticmethod
    def _is_still(place: Place, begin: int) -> bool:
        shown = place.shown(begin)
        if not shown:
            return False
        seconds = GIVEN_UP_SECONDS if BEGUN.search(shown[-1].text) else STILL_SECONDS
        return time.time() - max(each.at for each in shown) > seconds


def _wish(said: Said) -> str:
    return f"{said.token} {said.kind} {said.argument}".rstrip()


def done_in(text: str) -> list[str]:
    """Return the tokens that a model reports as done; what the notebook quotes is in a list."""
    own = [line for line in text.splitlines() if re.match(r"(?:Doing )?T\d{5}\b", line)]
    return re.findall(r"\b(T\d{5}) is done\.", "\n".join(own))


def _mark(said: Said) -> str:
    return f"{said.token} is done."


def picture(chance: random.Random) -> bytes:
    """Return a random photograph."""
    from PIL import Image

    file = io.BytesIO()
    colours = tuple(chance.randrange(256) for _ in range(3))
    Image.new("RGB", (chance.randrange(300, 2400), chance.randrange(300, 1800)), colours).save(file, "JPEG")
    return file.getvalue()


# -- checks
# ---------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Count:
    """Counts, and violations."""

    counted: dict[str, int] = field(default_factory=dict)
    wrong: dict[str, list[str]] = field(default_factory=dict)

    def fault(self, what: str, found: Iterable[str]) -> None:
        self.wrong[what] = list(found)


def check_talks(talks: Talks) -> tuple[Count, set[str]]:
    """Check that each message has its answer; return also the tokens that a model has done."""
    count = Count()
    done: Counter[str] = Counter()
    late: list[str] = []
    silent: list[str] = []
    too_many: list[str] = []
    out_of_order: list[str] = []
    foreign: list[str] = []
    by_notebook = 0
    for name, rounds in talks.rounds.items():
        place = talks.places[name]
        known = {said.token for this in rounds for said in this.said}
        latest = ""
        for at, this in enumerate(rounds):
            end = rounds[at + 1].begin if at + 1 < len(rounds) else None
            texts = [each.text for each in place.shown(this.begin, end)]
            tokens = [said.token for said in this.said]
            told = list(chain.from_iterable(map(done_in, texts)))
            done.update(told)
            if told != sorted(told) or (told and told[0] < latest):
                out_of_order.append(f"{told} after {latest} in {name}")
            latest = max([latest, *told])
            foreign += [f"{token} in {name}" for token in told if token not in known]
            if not texts and not all(done[token] for token in tokens):
                silent.append(f"{tokens} in {name}")
            if not this.answered:
                late.append(f"{tokens} in {name}")
            by_notebook += sum(
                1 for said in this.said if not said.kind.startswith("/") and not said.vague and not done[said.token]
            )  # fmt: skip
        shown = len(place.shown(0))
        most = sum(this.most for this in rounds)
        if shown > most:
            too_many.append(f"{shown} for {most} in {name}")
    count.counted["messages that no model has done, answered by the notebook"] = by_notebook
    count.fault("messages without an answer", silent)
    count.fault(f"answers that took more than {PATIENCE:.0f} s", late)
    count.fault("answers that were given twice", (token for token, times in done.items() if times > 1))
    count.fault("answers out of order", out_of_order)
    count.fault("answers to what was said elsewhere", foreign)
    count.fault("places with more replies than messages", too_many)
    count.fault(
        "commands of Discord without an answer", (said.token for said, told in talks.used if not told)
    )
    return count, set(done)


def check_facts(talks: Talks, done: set[str], notes: Sequence[str]) -> Count:
    """Check that each fact is noted once; `notes`: their lines."""
    count = Count()
    shape = re.compile(r"- (?:\d\d:\d\d )?Parcel (T\d{5}[ab]?) is on the shelf\.(?: \(says [^)]+\))?")
    there = Counter(match[1] for line in notes if (match := shape.fullmatch(line)))
    wanted = {
        name: said
        for said in talks.said()
        if said.kind in PARCELS
        for name in PARCELS[said.kind].format(said.token, said.token).split()
    }
    count.counted["facts in the notes"] = len(there)
    count.fault(
        "facts lost",
        (
            name
            for name, said in wanted.items()
            if not (there[name] or said.vague) and (said.kind in ALWAYS or said.token in done)
        ),
    )
    count.fault("facts that stand twice", (name for name, times in there.items() if times > 1))
    count.fault("facts that nobody told", (name for name in there if name not in wanted))
    flushed = Counter(name for line in notes for name in re.findall(r"\bF\d{5}\b", line))
    count.counted["sections by flushes"] = len(flushed)
    count.fault("sections that stand twice", (name for name, times in flushed.items() if times > 1))
    return count


def missing_reminders(talks: Talks, done: set[str]) -> tuple[list[str], list[str]]:
    """Return the reminders that have not come, and those that came twice."""
    came = Counter(
        token
        for place in talks.places.values()
        for text in place.reminders()
        for token in re.findall(r"\bT\d{5}\b", text)
    )
    wanted = [
        said.token
        for said in talks.said()
        if said.kind == "/remind" or (said.kind == "remind" and said.token in done)
    ]
    return [token for token in wanted if not came[token]], [
        token for token, times in came.items() if times > 1
    ]
