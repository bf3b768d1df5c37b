"""The slash commands about people: the welcome, and who is let in or kept out."""

import re

from bot import phrases
from bot.access import Standing, answers_to, minutes_left, who_asks
from bot.commands.command import CommandCall, CommandContext, Told
from bot.messages import PersonId

GUEST = "guest"
_PERSON = re.compile(r"([A-Za-z][A-Za-z0-9_]*):([^\s:@*<>]{1,100})")


async def welcome(call: CommandCall, context: CommandContext) -> str | Told:
    """Say who this is and what it can do for this person here; an owner is told who asks to be let in.

    Who has asked before the owner first wrote could not be told of then: bots write only to whoever has.
    """
    name = context.settings.agent.name
    if call.standing >= Standing.ALLOWED and await context.access.memory_is_open(call.message):
        hello = phrases.START.format(name=name)
    else:
        hello = phrases.START_GUEST.format(name=name)
    if call.standing is Standing.OWNER and not call.message.in_room and context.settings.access.pairing:
        asking = await _asking(context)
        if isinstance(asking, Told):
            return Told(f"{hello}\n\n{asking.text}", asking.choices)
    return hello


async def pair(call: CommandCall, context: CommandContext) -> str | Told:
    """Let in whom a code was given to; it may have been typed in groups, and `guest` may follow it.

    Without one, list who asks.
    """
    if "code" not in call.options:
        return phrases.PAIR_NOT_HERE if call.message.in_room else await _asking(context)
    *groups, last = f"{call.options['code']} {call.options.get('guest', '')}".split()
    guest = bool(groups) and last.lower() == GUEST
    code = "".join(groups if guest else [*groups, last])
    return await context.access.pair(code, guest=guest, by=call.message.sender, key=call.key)


async def _asking(context: CommandContext) -> str | Told:
    if not context.settings.access.pairing:
        return phrases.PAIRING_OFF
    asking = await context.access.asking()
    if not asking:
        return phrases.PAIR_NOBODY
    now = context.now()
    rows = [
        phrases.PAIR_ROW.format(who=who_asks(each), minutes=minutes_left(each, now), code=each.code)
        for each in asking
    ]
    choices = [choice for each in asking for choice in answers_to(each, named=True)]
    return Told(phrases.PAIR_ASKING.format(rows="\n".join(rows)), tuple(choices))


async def allow(call: CommandCall, context: CommandContext) -> str:
    """Let somebody talk, with the memory."""
    person = read_person(call.options["user"])
    if person is None:
        return phrases.WHO.format(command="allow")
    return await context.access.allow(person, by=call.message.sender, key=call.key)


async def deny(call: CommandCall, context: CommandContext) -> str:
    """Keep somebody out."""
    person = read_person(call.options["user"])
    if person is None:
        return phrases.WHO.format(command="deny")
    return await context.access.deny(person, by=call.message.sender, key=call.key)


def read_person(text: str) -> PersonId | None:
    """Read `channel:id`; None where it is a name, a whole channel (`telegram:*`), or nothing of the kind.

    A telephone writes the first letter of a word large: the channel may be in capitals. An id counts as it is.
    """
    match = _PERSON.fullmatch(text)
    return PersonId(match[1].lower(), match[2]) if match and match[2].isprintable() else None
