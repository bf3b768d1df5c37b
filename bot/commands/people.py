"""Slash commands for people: the welcome, and who is let in or blocked."""

import re

from bot import linking, phrases
from bot.access import TERMINAL, Standing
from bot.commands.command import CommandCall, CommandReply
from bot.messages import Choice, PersonId
from bot.pairing import MAX_PENDING_CODES
from bot.pairing_requests import format_stranger, minutes_left, pairing_choices
from bot.services import Services
from bot.state.access import Decision

CLEAR_WORD = "clear"
"""Typed instead of a code, it turns away everybody who is waiting. No code has these letters."""
_DECISIONS: dict[str, Decision] = {"guest": "guest", "owner": "owner"}
"""Words that may follow a code."""
_PERSON = re.compile(r"([A-Za-z][A-Za-z0-9_]*):([^\s:@*<>]{1,100})")


async def welcome(call: CommandCall, services: Services) -> str | CommandReply:
    """Introduce the assistant; show an owner who is waiting for approval.

    Bots cannot write first, so an owner may not have heard of earlier requests.
    """
    name = services.settings.agent.name
    if call.standing >= Standing.ALLOWED and await services.access.is_memory_open(call.message):
        hello = phrases.START.format(name=name)
    else:
        hello = phrases.START_GUEST.format(name=name)
    if call.standing is Standing.OWNER and not call.message.in_room and services.settings.access.pairing:
        asking = await _format_pending(services)
        if isinstance(asking, CommandReply):
            return CommandReply(f"{hello}\n\n{asking.text}", asking.choices)
    return hello


async def pair(call: CommandCall, services: Services) -> str | CommandReply:
    """Let in the person with a code, which may contain spaces and be followed by `guest` or `owner`.

    With `owner`, a person's id may replace the code. `clear` turns away everybody who is waiting; without a code,
    list them.
    """
    at_terminal = call.message.sender.channel == TERMINAL
    if "code" not in call.options:
        return (
            phrases.PAIR_NOT_HERE
            if call.message.in_room
            else await _format_pending(services, at_terminal=at_terminal)
        )
    if f"{call.options['code']} {call.options.get('guest', '')}".strip().lower() == CLEAR_WORD:
        return await services.pairing.clear(by=call.message.sender, key=call.key)
    *groups, last = f"{call.options['code']} {call.options.get('guest', '')}".split()
    decision = _DECISIONS.get(last.lower()) if groups else None
    code = "".join(groups if decision else [*groups, last])
    by, key = call.message.sender, call.key
    if decision == "owner" and (person := parse_person(code)):
        return await services.pairing.make_owner(person, by=by, key=key)
    told = await services.pairing.pair(code, decision=decision or "allowed", by=by, key=key)
    return _add_folder(told, services) if at_terminal and told == phrases.PAIR_WRONG else told


def _add_folder(told: str, services: Services) -> str:
    """Add the folder that was searched: a terminal may use another workspace than the bot."""
    return f"{told}\n\n{phrases.PAIR_LOOKED_IN.format(folder=services.settings.workspace)}"


async def _format_pending(services: Services, *, at_terminal: bool = False) -> str | CommandReply:
    if not services.settings.access.pairing:
        return phrases.PAIRING_OFF
    asking = await services.pairing.list_pending()
    if not asking:
        return _add_folder(phrases.PAIR_NOBODY, services) if at_terminal else phrases.PAIR_NOBODY
    now = services.now()
    rows = [
        phrases.PAIR_ROW.format(who=format_stranger(each), minutes=minutes_left(each, now), code=each.code)
        for each in asking
    ]
    choices = [choice for each in asking for choice in pairing_choices(each, named=True)]
    told = phrases.PAIR_ASKING.format(rows="\n".join(rows))
    if at_terminal:
        code = asking[0].code if len(asking) == 1 else "CODE"
        told = f"{told}\n\n{phrases.PAIR_BECOME_OWNER.format(code=code)}"
    if len(asking) == MAX_PENDING_CODES and await services.pairing.has_turned_someone_away():
        told = f"{told}\n\n{phrases.PAIR_TURNED_AWAY}"
        choices.append(Choice(phrases.CHOICE_CLEAR, f"/pair {CLEAR_WORD}"))
    return CommandReply(told, tuple(choices))


async def allow(call: CommandCall, services: Services) -> str:
    """Let a person talk, with the memory."""
    person = parse_person(call.options["user"])
    if person is None:
        return phrases.WHO.format(command="allow")
    return await services.pairing.allow(person, by=call.message.sender, key=call.key)


async def deny(call: CommandCall, services: Services) -> str:
    """Block a person."""
    person = parse_person(call.options["user"])
    if person is None:
        return phrases.WHO.format(command="deny")
    return await services.pairing.deny(person, by=call.message.sender, key=call.key)


async def link_accounts(call: CommandCall, services: Services) -> str:
    """Link two accounts of one person, or undo that; without accounts, list the links."""
    if call.message.in_room:
        return phrases.LINK_NOT_HERE
    if "user" not in call.options:
        return await linking.list_links(services)
    if "other" not in call.options:
        return phrases.LINK_WHO
    people = []
    for name in ("user", "other"):
        if (found := parse_person(call.options[name])) is None:
            return phrases.LINK_NO_ID.format(account=call.options[name], who=phrases.LINK_WHO)
        people.append(found)
    act = linking.unlink if "action" in call.options else linking.link
    return await act(services, *people, by=call.message.sender, key=call.key)


def parse_person(text: str) -> PersonId | None:
    """Parse `channel:id`; return None for anything else, such as a name or a whole channel (`telegram:*`).

    The case of the channel is ignored, since phones capitalise the first letter.
    """
    match = _PERSON.fullmatch(text)
    return PersonId(match[1].lower(), match[2]) if match and match[2].isprintable() else None
