"""Mentions in a text, and whom Discord notifies."""

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.fakes.discord_api.permissions import Permission, channel_permissions
from tests.fakes.discord_api.refusals import wrong

if TYPE_CHECKING:
    from tests.fakes.discord_api.chats import Channel, Message, Role, User

USER = re.compile(r"<@!?(\d{15,20})>")
ROLE = re.compile(r"<@&(\d{15,20})>")
EVERYBODY = re.compile(r"@(everyone|here)\b")
ALL = {"users", "roles", "everyone"}


@dataclass(slots=True)
class Mentions:
    """A message's mentions, and who is notified."""

    users: list["User"] = field(default_factory=list)
    roles: list["Role"] = field(default_factory=list)
    everyone: bool = False
    pinged: list["User"] = field(default_factory=list)
    """Everyone who is notified by name, by role or by @everyone."""


def find_mentions(
    text: str,
    channel: "Channel",
    author: "User",
    *,
    allowed: dict[str, Any] | None = None,
    default: set[str] | None = None,
    reply_to: "Message | None" = None,
    ping_reply: bool = True,
) -> Mentions:
    """Return the mentions of a text.

    `default`: kinds that count if `allowed` is None; `ping_reply`: the same for the author replied to.
    """
    kinds = ALL if default is None else default
    chosen: dict[str, set[int]] = {}
    if allowed is not None:
        kinds = set(allowed.get("parse") or ())
        for kind in ("users", "roles"):
            chosen[kind] = {int(one) for one in allowed.get(kind) or ()}
            if chosen[kind] and kind in kinds:
                told = f"parse:[{kind!r}] and {kind}: [ids...] are mutually exclusive."
                raise wrong("allowed_mentions", "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE", told)
        ping_reply = bool(allowed.get("replied_user", False))
    found = Mentions()
    here = channel.people
    for number in map(int, USER.findall(text)):
        wanted = "users" in kinds or number in chosen.get("users", set())
        if wanted and number in here and here[number] not in found.users:
            found.users.append(here[number])
    if reply_to is not None and ping_reply and reply_to.author not in found.users:
        found.users.append(reply_to.author)
    if channel.guild is not None:
        may = bool(channel_permissions(channel, author) & Permission.mention_everyone)
        for number in map(int, ROLE.findall(text)):
            role = channel.guild.roles.get(number)
            wanted = "roles" in kinds or number in chosen.get("roles", set())
            if role and wanted and (may or role.mentionable) and role not in found.roles:
                found.roles.append(role)
        found.everyone = may and "everyone" in kinds and bool(EVERYBODY.search(text))
    _ping(found, channel, author)
    return found


def _ping(found: Mentions, channel: "Channel", author: "User") -> None:
    woken = list(found.users)
    if channel.guild is not None:
        for member in channel.guild.members.values():
            called = found.everyone or any(role in member.roles for role in found.roles)
            if called and channel_permissions(channel, member.user) & Permission.view_channel:
                woken.append(member.user)
    found.pinged = [user for user in dict.fromkeys(woken) if user is not author]
