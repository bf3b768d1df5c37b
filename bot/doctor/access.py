"""Checks who may talk: each channel has an owner, and every entry can match somebody."""

from collections.abc import Collection, Iterator, Mapping

from bot.access import TERMINAL
from bot.config.channel import ChannelSettings
from bot.config.settings import Settings
from bot.doctor.check import Check, Topic, format_list

TOPIC = Topic("access")


def check_access(settings: Settings, paired: Collection[str] = ()) -> Iterator[Check]:
    """Check the lists in the settings. `paired`: owners that a command added."""
    opened = {name: section.title for name, section in settings.channels.items() if section.is_configured}
    access = settings.access
    if not opened:
        yield TOPIC.ok("owners", "only you, in the terminal: no channel is configured")
    for channel, title in opened.items():
        owners = [each for each in (*access.owners, *paired) if each.startswith(f"{channel}:")]
        if owners:
            yield TOPIC.ok("owners", format_list(owners))
        else:
            yield TOPIC.warn(
                "owners",
                f"{title} has no owner",
                'write to the bot, which answers with a code, then run: commonplace chat -m "/pair CODE owner"',
            )
        known = [
            *owners,
            *(each for each in (*access.allow, *access.guests) if each.startswith(f"{channel}:")),
        ]
        if not known and not access.pairing:
            detail = f"nobody may talk on {title}: access names nobody, and access.pairing is false"
            yield TOPIC.warn("nobody", detail, "add yourself to access.owners, or set access.pairing to true")
    for key, entry in access.entries():
        if fault := explain_no_match(entry, key=key.rpartition(".")[2], channels=settings.channels):
            yield TOPIC.warn("no match", f"{key} has {entry!r}, {fault}", f"correct the entry in {key}")
        elif (channel := entry.partition(":")[0]) not in opened and key == "access.owners":
            detail = f"access.owners has {entry!r}, but {channel} is not configured"
            yield TOPIC.warn("no channel", detail, f"set {channel}.token, or remove the entry")
    for entry in access.owners:
        name, _, person = entry.partition(":")
        if name in settings.channels and settings.channels[name].is_group(person):
            detail = f"access.owners has {entry!r}, a group: everybody who can post as the group is an owner"
            yield TOPIC.warn("group", detail, "name people instead")
    if everybody := [each for each in access.allow if each.endswith(":*")]:
        detail = f"{format_list(everybody)}: everybody who finds the bot can read and write your notes"
        yield TOPIC.warn("everybody", detail, "name people in access.allow, or use access.guests")
    if both := sorted({*access.allow} & {*access.guests}):
        detail = f"{format_list(both)}: both in allow and in guests; the more specific entry wins"
        yield TOPIC.warn("both", detail, "keep each in only one of the lists")


def explain_no_match(entry: str, *, key: str, channels: Mapping[str, ChannelSettings]) -> str:
    """Return why an entry of `access.{key}` can never match a sender, "" if it can."""
    channel, _, person = entry.partition(":")
    if channel == TERMINAL:
        return "" if key == "people" else "but in the terminal you are always the owner"
    if channel not in channels:
        if channel.lower() in channels:
            return f"which matches nobody: write {channel.lower()} in lower case"
        return f"which matches nobody: the channels are {' and '.join(channels)}"
    if person == "*" or "/" in person:
        return ""
    if person.removeprefix("-").startswith("0"):
        return "which matches nobody: ids never begin with 0"
    return channels[channel].explain_no_match(person, key=key)
