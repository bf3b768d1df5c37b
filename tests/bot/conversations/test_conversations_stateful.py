"""Whatever people do, and whenever the program is killed: nothing is lost, and nothing is done twice."""

import asyncio
import json
import logging
import os
import re
import shutil
import tempfile
from collections import Counter, defaultdict, deque
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from bot import phrases
from bot.config.settings import FlushSettings
from bot.conversations.conversation import parse_entries
from bot.messages import (
    AcceptMessage,
    Attachment,
    AttachmentLost,
    ChannelFault,
    ChannelHealth,
    ChatId,
    IncomingMessage,
    PersonId,
    Reply,
    WriteChunk,
)
from bot.models.candidate import ModelCandidate, Route
from bot.models.errors import ServerFailed
from bot.models.fallback import FallbackModel
from bot.models.health import RouteName
from bot.models.protocol import (
    Answer,
    AssistantMessage,
    Message,
    ModelRequest,
    TextDelta,
    ToolCall,
    ToolResult,
    UserMessage,
)
from bot.models.retry import RetryPolicy
from bot.models.routing import Routing
from bot.models.tool_calls import are_readable, new_call_id, parse_arguments
from bot.state.conversations import Row
from bot.state.database import State
from tests.fakes.deterministic_loop import DeterministicExecutor, DeterministicLoop, Machine, bury_generator
from tests.fakes.harness import Harness, open_harness
from tests.fakes.turns import NOW

SHM = Path("/dev/shm")
ROOM = "telegram:-5"
GUEST_CHAT = "telegram:3"
SPEAKERS = (
    ("terminal:main", "terminal:owner"),
    ("telegram:1", "telegram:1"),
    ("telegram:2", "telegram:2"),
    (GUEST_CHAT, "telegram:3"),
    (ROOM, "telegram:1"),
    (ROOM, "telegram:2"),
    (ROOM, "telegram:3"),
)
"""Chat and person: owners, somebody who is allowed, a guest; each alone, and in a room."""
STRANGER = ("telegram:9", "telegram:9")
WISHES = (
    "text",
    "text",
    "long",
    "note",
    "two",
    "three",
    "remind",
    "search",
    "loop",
    "error",
    "cut",
    "hang",
    "broken",
    "stubborn",
    "empty",
)
COMMANDS = (
    "/new",
    "/compact",
    "/flush",
    "/retry",
    "/remember remembered {word}",
    "/remember remembered {word}",
    "/remind 3s {word}",
    "/model two",
    "/model auto",
    "/recall kept",
    "/status",
    "/help",
    "/reminders",
    "/memory on",
    "/memory off",
    "/nonsense",
)
MOODS = ("list", "list", "list", "nothing", "prose", "error", "empty")
"""How a model answers when it is asked what of a conversation must be kept."""

WHO = st.integers(0, 2)
HOW = st.tuples(st.booleans(), st.booleans())
"""Alone, and through the second process."""
SOON = st.integers(0, 120) | st.integers(0, 20)
"""Iterations until the next thing happens."""
BESIDE = {"Supervisor.run", "Event.wait"}
"""What goes on by itself, also when all is quiet."""

_WORD = re.compile(r"\bw\d+\b")
_WISH = re.compile(r"\b(w\d+) (\w+)")
_LINE = re.compile(
    r"|# (Memory|\d{4}-\d\d-\d\d)|## \d\d:\d\d( \S.*)?|- (noted n\d+|remembered w\d+|kept w\d+|lasting w\d+)"
    r"|There was talk of.*|- (P: )?\[forgotten\]|\(.*\)|- (P: )?w\d+ [\w ]+( \[…\])?|  - → .*"
)


class Traceable(logging.Handler):
    """Keeps what was logged with a traceback: those are for bugs of our own."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.bugs: list[str] = []
        self.disabled = False

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and not self.disabled:
            self.bugs.append(logging.Formatter().format(record))


@dataclass(slots=True)
class Provider:
    """A language model that does what the latest message wishes; it is elsewhere, and outlives every crash."""

    machine: Machine
    hangs: bool = True
    mood: str = "list"
    faults: list[str] = field(default_factory=list)
    called: int = 0

    def model(self, name: str) -> "SimulatedModel":
        return SimulatedModel(name, self)


@dataclass(slots=True)
class SimulatedModel:
    name: str
    provider: Provider

    async def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Answer, None]:
        self.provider.faults += faults_of(request.messages, whole=True)
        await asyncio.sleep(self.provider.machine.chance.choice((0, 0.01, 0.3)))
        if request.language_model_only:
            yield self._answer(self._written_about(request.messages))
            return
        last = max(n for n, each in enumerate(request.messages) if isinstance(each, UserMessage))
        said = request.messages[last]
        assert isinstance(said, UserMessage)
        found = _WISH.search(said.text)
        word, wish = (found[1], found[2]) if found else ("w0", "text")
        steps = len([each for each in request.messages[last:] if isinstance(each, AssistantMessage)])
        text = f"answer {word}"
        match wish, steps:
            case (("note" | "two" | "three" | "remind" | "search" | "loop" | "broken" | "stubborn"), _):
                calls = self._calls(wish, word, steps)
                if calls and steps % 2:
                    yield TextDelta(f"step {steps}")
                if calls:
                    yield self._answer(f"step {steps}" if steps % 2 else "", calls)
                    return
            case "error", _:
                raise ServerFailed("down", model=self.name)
            case "cut", _:
                yield TextDelta(f"answer {word[0]}")
                await asyncio.sleep(0)
                raise ServerFailed("cut", model=self.name)
            case "empty", _:
                yield self._answer("")
                return
            case "hang", _:
                yield TextDelta(f"answer {word}")
                while self.provider.hangs:  # noqa: ASYNC110 - it outlives the loop that an event would belong to
                    await asyncio.sleep(1)
                yield self._answer(text)
                return
        for part in re.findall(r"\w+ ?", text):
            yield TextDelta(part)
            await asyncio.sleep(self.provider.machine.chance.choice((0, 0, 0.02)))
        yield self._answer(text)

    def _answer(self, text: str, calls: Sequence[ToolCall] = ()) -> Answer:
        return Answer(AssistantMessage(text, tuple(calls), self.name))

    def _calls(self, wish: str, word: str, steps: int) -> list[ToolCall]:
        note = {"content": f"noted n{self._number()}", "target": "daily"}
        core = {"content": f"noted n{self._number()}", "target": "core"}
        match wish:
            case "note" if steps == 0:
                return [_call("memory_write", note)]
            case "two" if steps == 0:
                return [_call("memory_write", note), _call("memory_write", core)]
            case "three" if steps < 3:
                return [_call("memory_write", note), _call("memory_search", {"query": word})][: steps % 2 + 1]
            case "remind" if steps == 0:
                return [_call("remind", {"when": "5s", "text": word}), _call("memory_write", note)]
            case "search" if steps < 2:
                return [_call("memory_search", {"query": "noted"}), _call("no_such_tool", {})][steps:]
            case "loop":
                return [replace(_call("memory_write", note), id="same00000")]
            case "broken" if steps == 0:
                return [ToolCall(new_call_id(), "memory_write", '{"content": ')]
            case "stubborn":
                return [ToolCall("", "memory_write", '{"content": "noted')]
        return []

    def _number(self) -> int:
        self.provider.called += 1
        return self.provider.called

    def _written_about(self, messages: Sequence[Message]) -> str:
        *said, instruction = messages
        texts = [each.text for each in said if isinstance(each, UserMessage)]
        words = list(dict.fromkeys(word for text in texts for word in _WORD.findall(text)))
        assert isinstance(instruction, UserMessage)
        if instruction.text.startswith("Summarise"):
            return f"summary of {' '.join(words)}"
        heard = [word for text in texts if not text.startswith("[A summary") for word in _WORD.findall(text)]
        match self.provider.mood:
            case "nothing":
                return "NOTHING"
            case "prose":
                return f"There was talk of {' '.join(words)}"
            case "error":
                raise ServerFailed("down", model=self.name)
            case "empty":
                return ""
        kept = "\n".join(f"- kept {word}" for word in heard)
        lasting = "\n".join(f"- lasting {word}" for word in heard if word.endswith("5"))
        return f"{kept}\n# MEMORY.md\n{lasting}" if lasting else kept or "NOTHING"


def _call(name: str, arguments: dict[str, str]) -> ToolCall:
    return ToolCall(new_call_id(), name, json.dumps(arguments))


@dataclass(slots=True)
class Final:
    """A reply that stands on the platform to its end."""

    key: str
    chat: str
    text: str
    answers: tuple[str, ...]
    excuses: int
    """How many reasons there had been until then for saying a thing twice."""


@dataclass(slots=True)
class Platform:
    """What people see: it outlives every crash."""

    machine: Machine
    finals: list[Final] = field(default_factory=list)
    down: bool = False
    excuses: int = 0
    faults: list[str] = field(default_factory=list)
    kept: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Ids that show a reply, of which the bot has told that it knows them."""

    def channel(self, name: str) -> "Channel":
        return Channel(name, self)


@dataclass(slots=True)
class Channel:
    """An adapter of the platform in one process."""

    name: str
    platform: Platform

    async def run(self, accept: AcceptMessage) -> None:
        await asyncio.Event().wait()

    @property
    def health(self) -> ChannelHealth:
        return ChannelHealth("up")

    def home_of(self, person: PersonId) -> ChatId | None:
        return ChatId(person.channel, person.id)

    async def fetch(self, attachment: Attachment, write: WriteChunk) -> None:
        raise AttachmentLost("nothing is kept here")

    def serves(self, chat: ChatId) -> bool:
        return chat.channel == self.name

    async def render(self, reply: Reply) -> None:
        platform = self.platform
        shown = reply.shown
        if platform.kept.get(reply.key, shown) != shown:
            platform.faults.append(f"{reply.key} is begun again, though {platform.kept[reply.key]} shows it")
        async for part in reply.parts:
            await asyncio.sleep(platform.machine.chance.choice((0, 0, 0.02, 0.5)))
            if platform.down:
                platform.excuses += 1
                raise ChannelFault("down")
            if not shown and part.text:
                shown = (f"on-{reply.key}",)
                await reply.keep(shown)
                platform.kept[reply.key] = shown
            if part.final:
                platform.finals.append(
                    Final(reply.key, str(reply.chat), part.text, part.answers, platform.excuses)
                )
                await asyncio.sleep(platform.machine.chance.choice((0, 0, 0.1)))


@dataclass(slots=True)
class Process:
    """The program while it runs."""

    loop: DeterministicLoop
    opened: AbstractAsyncContextManager[Harness]
    house: Harness
    beside: list[asyncio.Task[None]]
    coming: dict[str, deque[IncomingMessage]] = field(default_factory=dict)
    """By channel: what is delivered, one after the other."""


@dataclass(slots=True)
class Spoken:
    """What was said by whom."""

    message: IncomingMessage
    word: str
    excused: bool = False
    """Whether nobody is owed an answer."""

    @property
    def chat(self) -> str:
        return str(self.message.chat)

    @property
    def is_command(self) -> bool:
        return self.message.text.startswith("/")


class World(RuleBasedStateMachine):
    """The service, now and then a second process in the same folder, and everybody who talks with them."""

    # -- the beginning and the end -------------------------------------------------------------------------

    @initialize(
        seed=st.integers(0, 2**16),
        threshold=st.sampled_from((40, 40, 120, 6000)),
        people=st.lists(st.sampled_from(SPEAKERS), min_size=1, max_size=3),
    )
    def begin(self, seed: int, threshold: int, people: list[tuple[str, str]]) -> None:
        self.machine = Machine(seed)
        self.people = people
        self.folder = Path(tempfile.mkdtemp(dir=SHM if SHM.is_dir() else None))
        _copy_empty_state(self.folder)
        self.provider = Provider(self.machine)
        self.platform = Platform(self.machine)
        self.threshold = threshold
        self.spoken: list[Spoken] = []
        self.unacknowledged: list[IncomingMessage] = []
        self.numbers = iter(range(1, 10_000))
        self.forgotten: set[str] = set()
        self.limbo: set[str] = set()
        """Words that may be forgotten."""
        self.was_open = False
        """Whether the memory was ever on in the room."""
        self.crowded = False
        """Whether there were ever two processes."""
        self.failed = False
        """Whether the channel ever failed."""
        self.done: dict[str, int] = {}
        """By key of a reply: how often it had been said when it was known to be delivered."""
        self.moods = {"list"}
        self.log = Traceable()
        logging.getLogger().addHandler(self.log)
        self.other: Process | None = None
        self.first = self._start()

    def teardown(self) -> None:
        if not hasattr(self, "first"):
            return
        try:
            self._quiet()
            for process in list(filter(None, (self.first, self.other))):
                self._leave(process)
        finally:
            logging.getLogger().removeHandler(self.log)
            for process in filter(None, (self.first, self.other)):
                if process.loop in self.machine.loops:  # something was wrong
                    process.loop.kill()
                    bury_generator(process.opened.gen)  # type: ignore[attr-defined]
            shutil.rmtree(self.folder)

    def _start(self, *channels: str) -> Process:
        loop = self.machine.start()
        models = [self.provider.model(f"sim/{name}") for name in ("one", "two")]
        plan = Routing(
            tuple(ModelCandidate(each.name, (Route(each, RouteName(each.name)),)) for each in models),
            retry=RetryPolicy(0, 0),
        )
        opened = open_harness(
            self.folder,
            chain_of=lambda state: FallbackModel(plan, chance=lambda: 0.5),
            flush=FlushSettings(token_threshold=self.threshold, idle_minutes=2),
            pauses=(1.0, 5.0),
            now=self._now,
            channels=[self.platform.channel(name) for name in channels or ("terminal", "telegram")],
        )

        async def open_() -> tuple[Harness, list[asyncio.Task[None]]]:
            house = await opened.__aenter__()
            return house, house.run_in_background()

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("memory.synced_index.ThreadPoolExecutor", lambda *_: DeterministicExecutor(loop))
            house, beside = self.machine.run(open_(), loop)
        return Process(loop, opened, house, beside)

    def _kill(self, process: Process) -> None:
        self.log.disabled = True  # what a task says while it is taken apart, no process would have said
        process.loop.kill()
        presence = process.house.inbox._process_lock
        os.close(presence._fd)
        presence._folder = self.folder / "nowhere"  # who is killed does not take the file away
        process.house.state._connection.close()
        bury_generator(process.opened.gen)  # type: ignore[attr-defined]
        self.log.disabled = False
        self.platform.excuses += 1

    def _leave(self, process: Process) -> None:
        async def close() -> None:
            for task in process.beside:
                task.cancel()
            await asyncio.gather(*process.beside, return_exceptions=True)
            await process.opened.__aexit__(None, None, None)

        self.machine.run(close(), process.loop)
        process.loop.leave()
        self.platform.excuses += 1  # what was being shown is cut off there

    def _now(self) -> datetime:
        return NOW + timedelta(seconds=self.machine.seconds)

    # -- what people do --------------------------------------------------------------------------------------

    def _word(self) -> str:
        return f"w{next(self.numbers)}"

    def _say(
        self, chat: str, person: str, text: str, word: str, *, alone: bool = False, edit_of: str = ""
    ) -> Spoken:
        number = f"m{len(self.spoken)}"
        in_room = chat == ROOM
        message = IncomingMessage(
            number,
            ChatId.parse(chat),
            PersonId(*person.split(":")),
            text,
            self._now(),
            sender_name="P" if in_room else "Somebody",
            in_room=in_room,
            alone=alone and chat.startswith("terminal"),
            edit_of=edit_of,
        )
        spoken = Spoken(message, word)
        self.spoken.append(spoken)
        return spoken

    def _post(self, message: IncomingMessage, process: Process) -> None:
        """Have it delivered; until it is acknowledged it is delivered again after a crash."""
        self.unacknowledged.append(message)

        queue = process.coming.setdefault(message.chat.channel, deque())
        queue.append(message)
        if len(queue) > 1:
            return

        async def receive() -> None:
            while queue:
                await process.house.assistant.accept(queue[0])
                acknowledged = queue.popleft()
                if acknowledged in self.unacknowledged:
                    self.unacknowledged.remove(acknowledged)

        process.beside.append(process.loop.create_task(receive()))

    def _reached(self, chat: str, through_second: bool) -> Process:
        if through_second and self.other and chat.startswith("terminal"):
            return self.other
        return self.first

    def _run(self, steps: int) -> None:
        for _ in range(steps):
            self.machine.step()

    def _who(self, number: int) -> tuple[str, str]:
        """Few talk at a time, so that there is something between them."""
        return self.people[number % len(self.people)]

    @rule(who=WHO, wishes=st.lists(st.sampled_from(WISHES), min_size=1, max_size=4), how=HOW, steps=SOON)
    def say(self, who: int, wishes: list[str], how: tuple[bool, bool], steps: int) -> None:
        chat, person = self._who(who)
        alone, through_second = how
        for wish in wishes:
            word = self._word()
            text = f"{word} {wish}" + (" and so on" * 40 if wish == "long" else "")
            said = self._say(chat, person, text, word, alone=alone)
            self._post(said.message, self._reached(chat, through_second))
        self._run(steps)

    @rule(who=WHO, wishes=st.lists(st.sampled_from(WISHES), min_size=1, max_size=4), steps=SOON)
    def say_and_wait(self, who: int, wishes: list[str], steps: int) -> None:
        self.say(who, wishes, (False, False), steps)
        self._wait(3)

    @rule(who=WHO, command=st.sampled_from(COMMANDS), through_second=st.booleans(), steps=SOON)
    def command(self, who: int, command: str, through_second: bool, steps: int) -> None:
        chat, person = self._who(who)
        word = self._word()
        said = self._say(chat, person, command.format(word=word), word)
        if chat == ROOM and command == "/memory on" and person == "telegram:1":
            self.was_open = True
        self._post(said.message, self._reached(chat, through_second))
        self._run(steps)

    @rule(who=WHO, wish=st.none() | st.sampled_from(WISHES), through_second=st.booleans(), steps=SOON)
    def stop(self, who: int, wish: str | None, through_second: bool, steps: int) -> None:
        chat, person = self._who(who)
        if wish:
            self.say(who, [wish], (False, through_second), steps)
        said = self._say(chat, person, "/stop", self._word())
        self._post(said.message, self._reached(chat, through_second))
        self._run(steps)

    @precondition(lambda self: self._editable())
    @rule(data=st.data(), wish=st.sampled_from(WISHES), steps=st.integers(0, 120))
    def edit(self, data: st.DataObject, wish: str, steps: int) -> None:
        old = data.draw(st.sampled_from(self._editable()[-3:]))
        word = self._word()
        said = self._say(old.chat, str(old.message.sender), f"{word} {wish}", word, edit_of=old.message.id)
        self._post(said.message, self.first)
        self._run(steps)

    def _editable(self) -> list[Spoken]:
        edited = {each.message.edit_of for each in self.spoken}
        return [
            each
            for each in self.spoken
            if not (each.is_command or each.excused or each.message.edit_of or each.message.id in edited)
            and not each.message.alone
        ]

    @precondition(lambda self: self.spoken)
    @rule(again=st.integers(0, 5), wish=st.sampled_from(WISHES), steps=SOON)
    def intrude(self, again: int, wish: str, steps: int) -> None:
        """A stranger speaks, or what was said lately is delivered once more."""
        said = self.spoken[-1 - min(again, len(self.spoken) - 1)]
        if again == 0 or said.excused:
            word = self._word()
            said = self._say(*STRANGER, f"{word} {wish}", word)
            said.excused = True
        self._post(said.message, self.first)
        self._run(steps)

    @rule(seconds=st.sampled_from((0, 0, 1, 20, 200)), steps=st.integers(1, 400))
    def go_on(self, seconds: int, steps: int) -> None:
        self._run(steps)
        self._wait(seconds)

    def _wait(self, seconds: float) -> None:
        until = self.machine.seconds + seconds
        while self.machine.seconds < until:
            self.machine.step()

    @rule(mood=st.sampled_from((*MOODS, "")))
    def change(self, mood: str) -> None:
        """The model answers otherwise when it is asked what is to be kept, or the channel breaks or comes back."""
        if mood:
            self.provider.mood = mood
            self.moods.add(mood)
        else:
            self.platform.down = not self.platform.down
            self.failed = True

    # -- what becomes of the program --------------------------------------------------------------------------

    @rule(steps=SOON, killed=st.sampled_from((True, True, False)), writing=st.booleans())
    def crash(self, steps: int, killed: bool, writing: bool = False) -> None:
        """`writing`: soon after a note has begun to be written, where one is."""
        for _ in range(300 if writing else 0):
            if self.machine.is_in_thread:
                break
            self.machine.step()
        self._run(steps % 12 if writing else steps)
        (self._kill if killed else self._leave)(self.first)
        self._begin_again()

    def _begin_again(self) -> None:
        self.first = self._start()
        mine = self.other.coming.get("terminal", ()) if self.other else ()
        waiting = [each for each in self.unacknowledged if each not in mine]
        self.unacknowledged = list(mine)
        for message in waiting:
            self._post(message, self.first)

    @rule(steps=SOON, killed=st.booleans())
    def second(self, steps: int, killed: bool) -> None:
        """Another process comes, or goes."""
        self._run(steps)
        if self.other is None:
            self.other = self._start("terminal")
            self.crowded = True
        else:
            (self._kill if killed else self._leave)(self.other)
            self.other = None

    @precondition(lambda self: self._forgettable())
    @rule(data=st.data(), crashes_after=st.none() | st.integers(0, 80))
    def forget(self, data: st.DataObject, crashes_after: int | None) -> None:
        self._quiet()
        said = data.draw(st.sampled_from(self._forgettable()))
        asked = self._say("telegram:1", "telegram:1", f"/forget {said.word}", self._word())
        self._post(asked.message, self.first)
        self._quiet()
        reply = self._reply_to(asked)
        code = re.search(r"/forget (yes \w{4})", reply)
        assert code, reply
        confirmed = self._say("telegram:1", "telegram:1", f"/forget {code[1]}", self._word())
        self.limbo.add(said.word)
        self._post(confirmed.message, self.first)
        if crashes_after is not None:
            self.crash(crashes_after, killed=True)
        self._quiet()
        reply = self._reply_to(confirmed)
        if "Forgotten" in reply and "still there" not in reply:
            self.limbo.discard(said.word)
            self.forgotten.add(said.word)
        self._quiet()

    def _forgettable(self) -> list[Spoken]:
        gone = self.forgotten | self.limbo
        edited = {each.message.edit_of for each in self.spoken}
        return [
            each
            for each in self.spoken
            if not (each.is_command or each.excused or each.word in gone or each.message.id in edited)
        ][-4:]

    # -- what must hold ----------------------------------------------------------------------------------------

    @invariant()
    def nothing_is_said_twice(self) -> None:
        if not hasattr(self, "first"):
            return
        faults = [*self.platform.faults, *self.provider.faults, *self.log.bugs]
        assert not faults, faults
        rows = self._query("SELECT message, state FROM inbox")
        known = dict(rows)
        said: dict[str, list[Final]] = defaultdict(list)
        for final in self.platform.finals:
            said[final.key].append(final)
            assert phrases.OUR_FAULT not in final.text, final
            assert phrases.GIVEN_UP not in final.text, final
        answered: dict[str, set[str]] = defaultdict(set)
        for key, finals in said.items():
            excuses = [each.excuses for each in finals]
            assert len(set(excuses)) == len(excuses), f"said twice for no reason: {finals}"
            for each in finals[-1].answers:
                answered[each].add(key)
        for spoken in self.spoken:
            message = spoken.message
            if spoken.excused:
                assert message.id not in known
                continue
            assert len(answered[message.id]) <= 1, f"{message.id} has several answers: {answered[message.id]}"
            if message.id not in known:
                assert message in self.unacknowledged, f"{message.id} was acknowledged, and is nowhere"
                continue
            if known[message.id] != "delivered":
                continue
            for key in answered[message.id]:
                assert self.done.setdefault(key, len(said[key])) == len(said[key]), "said after it was done"
            if not answered[message.id] and not message.alone:
                assert message.edit_of, f"{message.id} ({message.text}) was never answered"

    @invariant()
    def histories_are_valid(self) -> None:
        if hasattr(self, "first"):
            for messages in self._conversations().values():
                faults = faults_of(messages, whole=False, strictly=not self.crowded)
                assert not faults, (faults, messages)

    def _quiet(self) -> None:
        """Mend what is broken, wait until nobody has anything to do, and see that all is as it should be."""
        mood, self.provider.mood = self.provider.mood, "list"
        self.provider.hangs = self.platform.down = False
        try:
            if not self._comes_to_rest(150):
                # A reply that was tried in vain is tried again at the next start.
                if self.other:
                    self._leave(self.other)
                    self.other = None
                self._leave(self.first)
                self._begin_again()
                assert self._comes_to_rest(300), self._open()
        finally:
            self.provider.hangs = True
            self.provider.mood = mood
        self._check_all()

    def _comes_to_rest(self, seconds: float) -> bool:
        until = self.machine.seconds + seconds
        while self.machine.seconds < until:
            self._run(40)
            if not self._open():
                return True
        return False

    def _open(self) -> list[Any]:
        """Whatever is not done yet."""
        rows: list[Any] = self._query(
            "SELECT number, chat, message, state FROM inbox WHERE state != 'delivered'"
        )
        rows += self._query("SELECT number, chat, text FROM outbox WHERE NOT delivered")
        rows += self._query("SELECT number, chat, text FROM reminders WHERE state = 'active'")
        for process in filter(None, (self.first, self.other)):
            process.beside = [task for task in process.beside if not task.done()]
            rows += process.house.assistant._tasks._running
            rows += [task for task in process.beside if _name(task) not in BESIDE]
            rows += [each for each in asyncio.all_tasks(process.loop) if _name(each) not in BESIDE]
        return rows + self.unacknowledged

    def _check_all(self) -> None:
        self.nothing_is_said_twice()
        for process in filter(None, (self.first, self.other)):
            assistant = process.house.assistant
            assert assistant._queues._queues == assistant._notices._queues == assistant._turns._turns == {}
            assert assistant._joined == {}
            assert process.house.supervisor.failures == ()
        conversations = self._conversations()
        for messages in conversations.values():
            # Where a second process was in the same chat, its turn may have come before one that was cut off.
            faults = faults_of(messages, whole=not self.crowded, strictly=not self.crowded)
            assert not faults, (faults, messages)
        self._check_answers()
        self._check_heard()
        self._check_notes()
        self._check_flushes()

    def _check_answers(self) -> None:
        answered = {each for final in self.platform.finals for each in final.answers}
        edits = {each.message.edit_of: each for each in self.spoken if each.message.edit_of}
        for spoken in self.spoken:
            message = spoken.message
            if spoken.excused or (message.alone and self.failed):
                continue
            related = {message.id, message.edit_of}
            if message.id in edits:
                related.add(edits[message.id].message.id)
            assert related & answered, f"{message.id} ({message.text}) was never answered"
        reminded = Counter(
            final.text for final in {each.key: each for each in self.platform.finals}.values()
            if final.key.startswith("notice")
        )  # fmt: skip
        for text, times in reminded.items():
            assert times == 1 or not text.startswith("⏰"), f"{text} {times} times"
        due = self._query("SELECT text, state FROM reminders")
        for text, state in due:
            if state == "done" and not self._gone(text):
                assert any(text in told for told in reminded), f"{text} was not delivered: {reminded}"

    def _check_heard(self) -> None:
        """All that was said is in state.db, once in a conversation, in the order in which it was said.

        Where somebody has begun a new conversation before a message could be answered, it is heard there again.
        """
        rows = self._query(
            "SELECT chat, conversation, payload FROM entries JOIN conversations ON id = conversation "
            "WHERE kind = 'user' ORDER BY conversation, seq"
        )
        heard: dict[str, list[tuple[str, int]]] = defaultdict(list)
        for chat, number, payload in rows:
            heard[chat] += [(word, number) for word in _WORD.findall(json.loads(payload)["text"])[:1]]
        edited = {each.message.edit_of for each in self.spoken if each.message.edit_of}
        order: dict[str, list[str]] = defaultdict(list)
        for each in self.spoken:
            places = [number for word, number in heard[each.chat] if word == each.word]
            assert len(set(places)) == len(places), f"{each.word} was heard several times: {heard}"
            if each.is_command or each.excused or each.word in self.forgotten:
                assert not places, f"{each.word} was heard"
            elif each.message.id not in edited and each.word not in self.limbo:
                assert places, f"{each.word} is lost: {heard}"
                if not each.message.edit_of:
                    order[each.chat].append(each.word)
        self.heard = Counter(word for words in heard.values() for word, _ in words)
        for chat, words in order.items():
            if not (self.crowded and chat.startswith("terminal")):
                in_order = list(dict.fromkeys(word for word, _ in heard[chat] if word in words))
                assert in_order == words, f"{chat}: {in_order}"

    def _check_notes(self) -> None:
        lines = [line for _, line in self._lines()]
        text = Counter(lines)
        for path, line in self._lines():
            assert _LINE.fullmatch(line), f"{path}: {line!r}"
        for line, times in text.items():
            if re.match(r"- (noted|remembered|kept|lasting) ", line):
                most = max(1, self.heard[line.split()[-1]]) if line.startswith("- kept") else 1
                assert times <= most, f"{line!r} stands there {times} times"
        words = {word for line in lines for word in _WORD.findall(line)}
        assert not words & self.forgotten, words & self.forgotten
        replies = {each: final.text for final in self.platform.finals for each in final.answers}
        for spoken in self.spoken:
            outsider = (
                spoken.excused or spoken.chat == GUEST_CHAT or (spoken.chat == ROOM and not self.was_open)
            )
            if outsider:
                assert spoken.word not in words, f"{spoken.word} of {spoken.chat} is in the notes"
            elif "/remember" in spoken.message.text and "Noted in" in replies.get(spoken.message.id, ""):
                assert f"- remembered {spoken.word}" in text or self._gone(spoken.word)
        called: dict[str, tuple[str, bool]] = {}
        for (_, chat), messages in self._conversations().items():
            results = {each.call_id: each for each in messages if isinstance(each, ToolResult)}
            for message in messages:
                for call in message.calls if isinstance(message, AssistantMessage) else ():
                    if call.name == "memory_write" and are_readable([call]):
                        content = parse_arguments(call.arguments).get("content", "")
                        called[f"- {content}"] = chat, not results[call.id].failed
        for line, (chat, succeeded) in called.items():
            if succeeded:
                assert text[line] == 1, f"{line!r} of {chat} stands there {text[line]} times"
                assert chat != GUEST_CHAT, f"a guest has written {line!r}"
        noted = {line for line in text if line.startswith("- noted")}
        assert noted <= set(called), f"nobody has noted {noted - set(called)}"

    def _check_flushes(self) -> None:
        rows = self._query(
            "SELECT chat, conversation, after, upto, stage, raw FROM flushes "
            "JOIN conversations ON conversations.id = conversation ORDER BY conversation, after"
        )
        lines = {word for _, line in self._lines() for word in _WORD.findall(line)}
        ranges: dict[int, list[tuple[int, int]]] = defaultdict(list)
        users: dict[int, dict[int, str]] = defaultdict(dict)
        for number, seq, payload in self._query(
            "SELECT conversation, seq, payload FROM entries WHERE kind = 'user'"
        ):
            found = _WORD.search(json.loads(payload)["text"])
            users[number][seq] = found[0] if found else ""
        for chat, number, after, upto, stage, _ in rows:
            assert chat != GUEST_CHAT
            assert after < upto
            before = ranges[number][-1][1] if ranges[number] else 0
            assert after >= before, f"flushes of {chat} overlap"
            if chat != ROOM:
                between = [seq for seq in users[number] if before < seq <= after]
                assert not between, f"{between} of {chat} were left out"
            ranges[number].append((after, upto))
            if stage == "done" and "nothing" not in self.moods:
                for seq, word in users[number].items():
                    if after < seq <= upto and word and word not in self.limbo:
                        assert word in lines, f"{word} of {chat} was flushed, and is in no note"
        folded = self._query(
            "SELECT chat, conversation, payload FROM entries JOIN conversations ON id = conversation "
            "WHERE kind = 'summary'"
        )
        for chat, number, payload in folded:
            upto = json.loads(payload)["upto"]
            flushed = max((end for _, end in ranges[number]), default=0)
            if chat not in (GUEST_CHAT, ROOM):
                lost = [seq for seq in users[number] if flushed < seq <= upto]
                assert not lost, f"{lost} of {chat} were summed up and not flushed"
        for chat, number in self._query("SELECT chat, id FROM conversations WHERE ended_at IS NOT NULL"):
            flushed = max((end for _, end in ranges[number]), default=0)
            if chat not in (GUEST_CHAT, ROOM):
                lost = [seq for seq in users[number] if seq > flushed]
                assert not lost, f"{lost} of {chat} were not flushed when their conversation ended"

    # -- looking ------------------------------------------------------------------------------------------------

    def _query(self, sql: str) -> list[Any]:
        return self.first.house.state._connection.execute(sql).fetchall()

    def _conversations(self) -> dict[tuple[int, str], tuple[Message, ...]]:
        rows: dict[tuple[int, str], list[Row]] = defaultdict(list)
        for chat, *row in self._query(
            "SELECT chat, conversation, seq, kind, payload FROM entries "
            "JOIN conversations ON id = conversation ORDER BY conversation, seq"
        ):
            rows[row[0], chat].append(Row(*row))
        return {key: tuple(each.message for each in parse_entries(value)) for key, value in rows.items()}

    def _lines(self) -> Iterator[tuple[str, str]]:
        for path in sorted((self.folder / "memory").glob("**/*.md")):
            text = path.read_text()
            assert text.endswith("\n"), f"{path} is torn"
            for line in text.split("\n"):
                yield path.name, line

    def _reply_to(self, spoken: Spoken) -> str:
        return next(
            final.text for final in reversed(self.platform.finals) if spoken.message.id in final.answers
        )

    def _gone(self, word: str) -> bool:
        return word in self.forgotten or word in self.limbo or "forgotten" in word


def faults_of(messages: Iterable[Message], *, whole: bool, strictly: bool = True) -> list[str]:
    """What providers refuse about a history; `whole`: calls at its end have their results already."""
    faults: list[str] = []
    open_calls: list[str] = []
    used: set[str] = set()
    for number, message in enumerate(messages):
        match message:
            case ToolResult(call_id):
                if call_id in open_calls:
                    open_calls.remove(call_id)
                else:
                    faults.append(f"{number}: a result without its call")
                continue
            case AssistantMessage(text, calls):
                if not calls and not text.strip():
                    faults.append(f"{number}: an empty answer")
                for call in calls:
                    if call.id in used or not call.id:
                        faults.append(f"{number}: an id that was used before")
                    used.add(call.id)
                if number == 0:
                    faults.append("it begins with an answer")
                if open_calls and strictly:
                    faults.append(f"{number}: calls without their results")
                open_calls = (
                    [call.id for call in calls] if strictly else [*open_calls, *[c.id for c in calls]]
                )
            case UserMessage():
                if open_calls and strictly:
                    faults.append(f"{number}: a call without its result before a message")
    if whole and open_calls:
        faults.append("calls at the end without their results")
    return faults


def _name(task: "asyncio.Task[Any]") -> str:
    return str(getattr(task.get_coro(), "__qualname__", ""))


_EMPTY: list[bytes] = []


def _copy_empty_state(folder: Path) -> None:
    """Migrating is proven elsewhere, and takes longer than all the rest of a start."""
    file = folder / ".commonplace" / "state.db"
    file.parent.mkdir()
    if not _EMPTY:

        async def make() -> None:
            async with State(file, now=lambda: NOW):
                pass

        asyncio.run(make())
        _EMPTY.append(file.read_bytes())
    file.write_bytes(_EMPTY[0])


ALWAYS_THE_SAME = not os.environ.get("RANDOM_SEQUENCES")
"""Unless new ones are wanted: what was found once is to be found again, and no change is blamed for another's."""


def sequences(count: int, steps: int, *, number: int) -> None:
    machine = type(f"World{number}", (World,), {})
    run_state_machine_as_test(
        seed(number)(machine) if ALWAYS_THE_SAME else machine,
        settings=settings(
            max_examples=count,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            phases=(Phase.explicit, Phase.generate),  # to make it shorter takes minutes
            suppress_health_check=list(HealthCheck),
        ),
    )


remains = pytest.mark.filterwarnings(
    "ignore:coroutine .* was never awaited:RuntimeWarning",
    # A coroutine that is taken apart while the generator that it waits for stands in the middle complains of that.
    "ignore:Exception ignored in. <coroutine:pytest.PytestUnraisableExceptionWarning",
)
"""What is left of a process that was killed is taken apart some time, in whatever order."""


@pytest.mark.thorough
@remains
def test_nothing_is_lost_in_random_sequences() -> None:
    sequences(8, 15, number=0)


@remains
@pytest.mark.thorough
@pytest.mark.parametrize("part", range(8))
def test_nothing_is_lost_in_many_random_sequences(part: int) -> None:
    sequences(40, 20, number=1 + part)
