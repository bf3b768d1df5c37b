"""Who may do what: rules over the `[access]` section and over what owners decide, asked by every entry."""

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from functools import partial
from typing import TYPE_CHECKING

from bot.linked_people import LinkGraph
from bot.messages import OWNER_AT_TERMINAL, ChatId, IncomingMessage, PersonId
from bot.state import access
from bot.state.access import Decision
from bot.state.links import read_links

if TYPE_CHECKING:
    from apsw import Connection

    from bot.config.settings import AccessSettings
    from bot.state.database import State

TERMINAL = OWNER_AT_TERMINAL.channel
"""The channel of whoever sits at the machine: there the operating system has checked already."""


class Standing(IntEnum):
    """How far a person is trusted; each grade may do all that the ones below may."""

    STRANGER = 0
    """Nothing at all."""
    GUEST = 1
    """May talk, without the memory."""
    ALLOWED = 2
    """May talk, with the memory."""
    OWNER = 3
    """May administer as well."""


STANDING_BY_DECISION = {
    "owner": Standing.OWNER,
    "allowed": Standing.ALLOWED,
    "guest": Standing.GUEST,
    "denied": Standing.STRANGER,
}


def standing_of(
    person: PersonId,
    rules: "AccessSettings",
    decision: Decision | None = None,
    *,
    groups: Iterable[str] = (),
) -> Standing:
    """Look a person up; pure. `groups`: what counts for them where they speak, as in IncomingMessage.

    What was decided by a command beats `allow` and `guests`, never `owners`. An entry for one person beats those for
    groups, and these one for a whole channel (`telegram:*`); of `allow` and `guests` with the same entry, or for
    groups, the narrower counts. `owners` names people only.
    """
    if person.channel == TERMINAL:
        return Standing.OWNER
    by_name, by_channel = str(person), f"{person.channel}:*"
    if by_name in rules.owners and person.id != "*":
        return Standing.OWNER
    if decision:
        return STANDING_BY_DECISION[decision]
    by_group = {f"{person.channel}:{group}" for group in groups}
    for entries in ({by_name}, by_group, {by_channel}):
        if not entries.isdisjoint(rules.guests):
            return Standing.GUEST
        if not entries.isdisjoint(rules.allow):
            return Standing.ALLOWED
    return Standing.STRANGER


class Access:
    """Who may do what just now: the settings, and what owners have decided since.

    Nothing of the latter is held here: another process may have changed it.
    """

    def __init__(self, rules: "AccessSettings", state: "State") -> None:
        self._rules = rules
        self._state = state

    def set_rules(self, rules: "AccessSettings") -> None:
        """Have these rules count from now on."""
        self._rules = rules

    async def standing_of(self, person: PersonId, groups: Iterable[str] = ()) -> Standing:
        """How far a person is trusted at this moment; `groups`: what counts for them where they speak."""
        if standing_of(person, self._rules) is Standing.OWNER:
            return Standing.OWNER
        decision = await self._state.read(lambda db: access.read_decision(db, str(person)))
        return standing_of(person, self._rules, decision, groups=groups)

    # -- one person on several channels; `db`: on the thread of state.db --------------------------------------

    @property
    def people(self) -> "Mapping[str, Sequence[str]]":
        """The ids that the settings call one person, by name."""
        return self._rules.people

    def find_name(self, person: PersonId) -> str:
        """Return the name below which the settings have a person in `access.people`, "" for none."""
        return next((name for name, ids in self.people.items() if str(person) in ids), "")

    def read_standing(self, db: "Connection", person: PersonId) -> Standing:
        """Return how far a person is trusted, without what counts for them in some chats only."""
        return standing_of(person, self._rules, access.read_decision(db, str(person)))

    def read_link_graph(self, db: "Connection") -> LinkGraph:
        """Return who is linked with whom, for `find_ids` of many people."""
        return LinkGraph(self.people, read_links(db))

    def find_ids(
        self, db: "Connection", person: PersonId, graph: LinkGraph | None = None
    ) -> frozenset[PersonId]:
        """Return the ids of one person on all channels: `person`, and those of the others that may use the memory."""
        graph = graph or self.read_link_graph(db)
        return frozenset(
            map(PersonId.parse, graph.find(str(person), counts=partial(self._may_use_memory, db)))
        )

    def has_one_owner(self, db: "Connection", person: PersonId | None = None) -> bool:
        """Return whether one person alone is an owner; if `person` is given, whether they are this one."""
        owners = {*self._rules.owners, *access.read_owners(db)}
        first = person or (PersonId.parse(min(owners)) if owners else None)
        if first is None:
            return True
        if self.read_standing(db, first) is not Standing.OWNER:
            return False
        return owners <= set(map(str, self.find_ids(db, first)))

    def list_linked(self, db: "Connection") -> list[tuple[str, ...]]:
        """Return the ids of everybody who has several that may use the memory, in order."""
        counts, links = partial(self._may_use_memory, db), read_links(db)
        known = {each for ids in (*self.people.values(), *links) for each in ids}
        graph = LinkGraph(self.people, links)
        linked = {graph.find(each, counts=counts) for each in filter(counts, known)}
        return sorted(tuple(sorted(ids)) for ids in linked if len(ids) > 1)

    def _may_use_memory(self, db: "Connection", person: str) -> bool:
        return self.read_standing(db, PersonId.parse(person)) >= Standing.ALLOWED

    async def list_people(self, channel: str) -> list[PersonId]:
        """Everybody of a channel who is known by name and may talk."""
        named = {*self._rules.owners, *self._rules.allow, *self._rules.guests}
        named.update(await self._state.read(lambda db: access.read_admitted(db, channel)))
        ids = (each.partition(":")[2] for each in sorted(named) if each.startswith(f"{channel}:"))
        people = (PersonId(channel, each) for each in ids if each != "*" and "/" not in each)
        return [each for each in people if await self.standing_of(each) is not Standing.STRANGER]

    # -- rooms --------------------------------------------------------------------------------------------

    async def is_memory_open(self, message: IncomingMessage) -> bool:
        """Whether the memory may be used in the chat of a message: always where nobody else listens."""
        if not message.in_room:
            return True
        return await self._state.read(lambda db: access.is_memory_open(db, str(message.chat)))

    async def open_memory(self, room: ChatId, *, memory: bool) -> None:
        """Open the memory to all who may use it in a room, or close it."""
        await self._state.change(lambda db: access.open_memory(db, str(room), memory=memory))
