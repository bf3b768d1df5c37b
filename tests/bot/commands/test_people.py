"""/start, /allow, /deny, /pair, and /memory on and off: as owners type them."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from bot import phrases
from bot.access import Access, Standing
from bot.commands.command import CommandReply, run_command, split_command
from bot.commands.people import parse_person
from bot.commands.registry import COMMANDS
from bot.config.reload import LiveSettings
from bot.config.settings import AccessSettings, AgentSettings, FlushSettings, Settings
from bot.conversations.compaction import Compactor
from bot.messages import ChatId, Choice, IncomingMessage, PersonId
from bot.note_writes import OnceWriter
from bot.pairing import Pairing
from bot.services import Services
from bot.state import inbox
from bot.state.database import State
from memory.memory import Memory
from memory.settings import MemorySettings
from tests.fakes.clock import FakeClock
from tests.fakes.harness import open_harness
from tests.fakes.scripted_model import ScriptedModel, alone
from tests.fakes.services import services

OWNER = "telegram:1"
ROOM = ChatId("telegram", "-100")


@dataclass(slots=True)
class House:
    services: Services
    clock: FakeClock
    count: int = 0
    offered: list[Choice] = field(default_factory=list)
    """With the latest answer."""

    def message(self, text: str, person: str, chat: ChatId | None) -> IncomingMessage:
        self.count += 1
        channel, _, name = person.partition(":")
        return IncomingMessage(
            str(self.count),
            chat or ChatId(channel, name),
            PersonId(channel, name),
            text,
            self.clock.now(),
            sender_name="Ann",
            in_room=chat is not None,
        )

    async def say(self, text: str, *, person: str = OWNER, chat: ChatId | None = None) -> str:
        """Run a line as a command, with all that is asked before."""
        message, parts = self.message(text, person, chat), split_command(text)
        assert parts
        reply = await run_command(
            *parts,
            message=message,
            standing=await self.services.access.standing_of(message.sender),
            memory_is_open=await self.services.access.is_memory_open(message),
            key=f"message-{message.id}",
            services=self.services,
        )
        told = CommandReply(reply) if isinstance(reply, str) else reply
        assert isinstance(told, CommandReply)
        self.offered = list(told.choices)
        return told.text

    async def code_for(self, person: str, *, name: str = "Ann") -> str:
        message = replace(self.message("hello", person, None), sender_name=name)
        told = await self.services.pairing.greet(message)
        return told.rpartition("/pair ")[2].rstrip("`")

    async def standing(self, person: str) -> Standing:
        channel, _, name = person.partition(":")
        return await self.services.access.standing_of(PersonId(channel, name))


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    clock = FakeClock()
    settings = Settings(
        workspace=tmp_path,
        agent=AgentSettings(name="Muninn"),
        access=AccessSettings(owners=(OWNER,), guests=("discord:*",)),
    )
    async with (
        State(tmp_path / "state.db") as state,
        Memory(MemorySettings(), workspace=tmp_path, now=clock.now) as memory,
    ):
        journal = OnceWriter(memory, state)
        compactor = Compactor(
            state, alone(ScriptedModel()), journal, memory, settings=FlushSettings(), now=clock.now
        )
        given = services(
            commands=COMMANDS,
            memory=memory,
            state=state,
            access=Access(settings.access, state),
            pairing=Pairing(settings.access, state, now=clock.now),
            note_writer=journal,
            compactor=compactor,
            live_settings=LiveSettings(settings),
            now=clock.now,
        )
        yield House(given, clock)


async def test_the_welcome_speaks_of_the_memory_to_those_who_may_use_it_there(house: House) -> None:
    with_memory, without = (each.format(name="Muninn") for each in (phrases.START, phrases.START_GUEST))
    await house.say("/allow telegram:2")
    assert await house.say("/start", person="telegram:2") == with_memory
    assert await house.say("/start", person="telegram:2", chat=ROOM) == without
    assert await house.say("/start", person="discord:5") == without
    assert "/remember" not in without


async def test_of_an_unknown_code_it_is_told_that_codes_belong_to_a_folder_and_at_the_terminal_to_which(
    house: House, tmp_path: Path
) -> None:
    in_private = await house.say("/pair CCCCCCCC")
    assert "each workspace folder has codes of its own" in in_private
    assert str(tmp_path) not in in_private
    at_terminal = await house.say("/pair CCCCCCCC", person="terminal:owner")
    assert at_terminal.startswith(f"{in_private}\n\nI looked in {tmp_path}. ")
    assert f"I looked in {tmp_path}. " in await house.say("/pair", person="terminal:owner")


@pytest.mark.parametrize(
    ("line", "standing"),
    [
        ("/pair {}", Standing.ALLOWED),
        ("/pair {} guest", Standing.GUEST),
        ("/pair@our_bot {} GUEST", Standing.GUEST),
        ("/pair {0[0]}{0[1]}{0[2]}{0[3]} {0[4]}{0[5]}{0[6]}{0[7]}", Standing.ALLOWED),
        ("/pair {0[0]}{0[1]}{0[2]}{0[3]}-{0[4]}{0[5]} {0[6]}{0[7]} guest", Standing.GUEST),
    ],
)
@pytest.mark.parametrize("owner", [OWNER, "terminal:owner"])
async def test_an_owner_lets_somebody_in_by_code_from_any_channel(
    house: House, line: str, standing: Standing, owner: str
) -> None:
    answer = await house.say(line.format(await house.code_for("telegram:77")), person=owner)
    assert await house.standing("telegram:77") is standing
    assert not house.offered
    assert answer.startswith("Ann (telegram:77) ")
    ((_, notice),) = await house.services.state.read(inbox.read_undelivered_notices)
    assert (str(notice.chat), notice.text) == ("telegram:77", phrases.LET_IN)


@pytest.mark.parametrize("line", ["/pair guest", "/pair {} yes", "/pair {} guest please"])
async def test_what_does_not_fit_lets_nobody_in_and_costs_no_try(house: House, line: str) -> None:
    code = await house.code_for("telegram:77")
    for _ in range(20):
        assert "`/pair CODE" in await house.say(line.format(code))
    await house.say(f"/pair {code}")
    assert await house.standing("telegram:77") is Standing.ALLOWED


async def test_without_a_code_an_owner_sees_who_asks_and_what_to_answer(house: House) -> None:
    assert await house.say("/pair") == phrases.PAIR_NOBODY
    ann = await house.code_for("telegram:77")
    house.clock.seconds += 1800
    other = await house.code_for("telegram:78", name="")
    lines = (await house.say("/pair")).splitlines()
    assert lines[1:3] == [
        f"- Ann (telegram:77): `/pair {ann}`, expires in 30 min",
        f"- telegram:78: `/pair {other}`, expires in 60 min",
    ]
    assert house.offered == [
        Choice("Let in Ann", f"/pair {ann}"),
        Choice("As guest Ann", f"/pair {ann} guest"),
        Choice("Block Ann", "/deny telegram:77"),
        Choice("Let in telegram:78", f"/pair {other}"),
        Choice("As guest telegram:78", f"/pair {other} guest"),
        Choice("Block telegram:78", "/deny telegram:78"),
    ]
    await house.say(house.offered[1].says)
    await house.say("/deny telegram:78")
    assert await house.standing("telegram:77") is Standing.GUEST
    assert await house.say("/pair") == phrases.PAIR_NOBODY


@pytest.mark.parametrize("line", ["/pair clear", "/pair CLEAR", "/pair@our_bot clear"])
async def test_where_the_list_was_full_an_owner_sees_it_and_empties_it(house: House, line: str) -> None:
    for number in range(3):
        await house.code_for(f"telegram:{77 + number}")
    assert phrases.PAIR_TURNED_AWAY not in await house.say("/pair")
    stranger = IncomingMessage(
        "9", ChatId("telegram", "90"), PersonId("telegram", "90"), "hello", house.clock.now()
    )
    assert await house.services.pairing.greet(stranger) == phrases.STRANGER
    assert phrases.PAIR_TURNED_AWAY in await house.say("/pair")
    assert house.offered[-1] == Choice("Turn all away", "/pair clear")
    assert await house.say(line) == phrases.PAIR_CLEARED.format(count=3)
    assert await house.say("/pair") == phrases.PAIR_NOBODY
    assert "`/pair " in await house.services.pairing.greet(stranger)


async def test_at_the_terminal_a_code_with_owner_makes_an_owner_and_the_list_says_so(house: House) -> None:
    code = await house.code_for("telegram:77")
    assert f"`/pair {code} owner`" not in await house.say("/pair")
    assert f"`/pair {code} owner`" in await house.say("/pair", person="terminal:owner")
    assert await house.say(f"/pair {code} owner") == phrases.PAIR_OWNER_NOT_HERE
    told = await house.say(f"/pair {code[:4]} {code[4:]} OWNER", person="terminal:owner")
    assert told == phrases.LET_IN_BY_OWNER["owner"].format(who="Ann (telegram:77)", person="telegram:77")
    assert await house.standing("telegram:77") is Standing.OWNER
    assert "telegram:77" in await house.say("/deny telegram:77", person="terminal:owner")
    assert await house.standing("telegram:77") is Standing.STRANGER
    told = await house.say("/pair telegram:77 owner", person="terminal:owner")
    assert told.startswith("Ann (telegram:77) is an owner now")


async def test_where_others_listen_it_is_not_told_who_asks(house: House) -> None:
    await house.code_for("telegram:77")
    assert await house.say("/pair", chat=ROOM) == phrases.PAIR_NOT_HERE
    assert house.offered == []


async def test_an_answer_that_fits_on_no_button_is_offered_as_text_alone(house: House) -> None:
    await house.code_for(f"telegram:{'7' * 60}")
    told = await house.say("/pair")
    assert [each.label.split()[0] for each in house.offered] == ["Let", "As"]
    assert all(len(each.label) <= 40 for each in house.offered)
    assert "/deny USER" in told


@pytest.mark.parametrize("line", ["/start", "/start from_the_website", "/start a b\nc"])
async def test_a_link_that_brings_something_along_is_a_start_like_any_other(house: House, line: str) -> None:
    assert await house.say(line) == phrases.START.format(name="Muninn")


async def test_an_owner_who_starts_is_told_who_has_asked_before(house: House) -> None:
    hello = phrases.START.format(name="Muninn")
    code = await house.code_for("telegram:9", name="Nina")
    told = await house.say("/start")
    assert told.startswith(hello)
    assert "Nina (telegram:9)" in told
    assert [each.says for each in house.offered] == [
        f"/pair {code}",
        f"/pair {code} guest",
        "/deny telegram:9",
    ]
    assert "Nina" not in await house.say("/start", chat=ROOM)
    await house.say("/allow telegram:2")
    assert await house.say("/start", person="telegram:2") == hello


async def test_what_an_owner_allows_and_denies_is_told_and_done(house: House) -> None:
    assert (await house.say("/allow Telegram:2")).startswith("telegram:2 can talk with me now, and read")
    assert await house.standing("telegram:2") is Standing.ALLOWED
    assert await house.say("/deny telegram:2") == phrases.BLOCKED.format(
        who="telegram:2", person="telegram:2"
    )
    assert await house.standing("telegram:2") is Standing.STRANGER
    assert await house.say("/deny telegram:1") == phrases.DENY_OWNER.format(who="telegram:1")


@pytest.mark.parametrize("command", ["allow", "deny"])
@pytest.mark.parametrize(
    "user", ["@ann", "ann", "123456", "telegram:@ann", "telegram:*", "*", ":1", "telegram:", "a b"]
)
async def test_a_name_is_not_enough_to_say_who(house: House, command: str, user: str) -> None:
    assert await house.say(f"/{command} {user}") == phrases.WHO.format(command=command)
    assert f"/{command} telegram:123456" in phrases.WHO.format(command=command)


def test_an_id_counts_as_it_is_written() -> None:
    assert parse_person("Discord:00Ab") == PersonId("discord", "00Ab")
    assert parse_person("telegram:" + "1" * 101) is None
    assert parse_person("telegram:1\u202e2") is None
    assert parse_person("telegram:1\n") is None


@pytest.mark.parametrize("line", ["/allow telegram:3", "/deny discord:6", "/pair CDFHJKMN", "/memory on"])
async def test_nobody_but_an_owner_can_let_in_or_keep_out(house: House, line: str) -> None:
    await house.say("/allow telegram:2")
    for person in ("telegram:2", "discord:5", "telegram:9"):
        assert (await house.say(line, person=person)).startswith("There is no /")
    assert await house.standing("telegram:3") is Standing.STRANGER
    assert await house.standing("discord:6") is Standing.GUEST


# -- the memory in rooms ------------------------------------------------------------------------------------


async def test_an_owner_opens_the_memory_to_a_room_and_closes_it(house: House) -> None:
    await house.services.memory.write("The key is under the mat.")
    await house.say("/allow telegram:2")
    for line in ("/recall key", "/memory search key", "/memory", "/memory get MEMORY.md"):
        assert await house.say(line, chat=ROOM) == phrases.MEMORY_IS_CLOSED
    assert await house.say("/memory ON", chat=ROOM) == phrases.MEMORY_ON
    assert "mat" in await house.say("/recall key", person="telegram:2", chat=ROOM)
    assert "There is no /recall" in await house.say("/recall key", person="discord:5", chat=ROOM)
    assert await house.say("/recall key", chat=ChatId("telegram", "-101")) == phrases.MEMORY_IS_CLOSED
    assert await house.say("/memory off", chat=ROOM) == phrases.MEMORY_OFF
    assert await house.say("/recall key", chat=ROOM) == phrases.MEMORY_IS_CLOSED


@pytest.mark.parametrize("action", ["on", "off"])
async def test_where_nobody_else_listens_the_memory_is_always_on(house: House, action: str) -> None:
    await house.services.memory.write("The key is under the mat.")
    assert await house.say(f"/memory {action}") == phrases.MEMORY_ALWAYS_ON
    assert "mat" in await house.say("/recall key")


# -- from end to end ----------------------------------------------------------------------------------------


async def test_an_owner_is_told_of_a_stranger_and_lets_him_in_by_a_button(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as house:
        assert "/pair" in await house.say("Hello", chat="telegram:9", sender="telegram:9")
        await house.assistant.resume()
        await house.wait_until_idle()
        (told,) = [parts[-1] for key, parts in house.telegram.shown if key.startswith("notice-")]
        assert told.text.startswith("telegram:9 would like to talk with me.")
        as_guest = told.choices[1]
        answer = await house.say(as_guest.says, chat="telegram:1", sender="telegram:1")
        assert "telegram:9 can talk with me now as a guest" in answer
        house.model.enqueue("Hello, guest")
        assert await house.say("Hello", chat="telegram:9", sender="telegram:9") == "Hello, guest"
        again = await house.say(told.choices[0].says, chat="telegram:1", sender="telegram:1")
        assert again == "telegram:9 was already let in with that code."
        await house.assistant.resume()
        await house.wait_until_idle()
        assert await house.count_undelivered() == 0
