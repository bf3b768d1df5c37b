"""Who may talk: somebody may administer, and nobody is named whom no message will ever match."""

from collections.abc import Collection, Iterator, Mapping

from bot.access import TERMINAL
from bot.config.channel import ChannelSettings
from bot.config.settings import Settings
from bot.doctor.check import Check, Topic, format_list

TOPIC = Topic("access")


def check_access(settings: Settings, paired: Collection[str] = ()) -> Iterator[Check]:
    """Look at the lists in the settings. `paired`: who was made an owner by a command."""
    opened = {name: section.title for name, section in settings.channels.items() if section.is_configured}
    access = settings.access
    if not opened:
        yield TOPIC.ok("owners", "whoever sits at the terminal: no channel is configured")
    for channel, title in opened.items():
        owners = [each for each in (*access.owners, *paired) if each.startswith(f"{channel}:")]
        if owners:
            yield TOPIC.ok("owners", format_list(owners))
        else:
            yield TOPIC.warn(
                "owners",
                f"nobody may administer on {title}",
                'write to the bot, which answers with a code; then run: commonplace chat -m "/pair CODE owner"',
            )
        known = [
            *owners,
            *(each for each in (*access.allow, *access.guests) if each.startswith(f"{channel}:")),
        ]
        if not known and not access.pairing:
            detail = f"nobody may talk on {title}: no one is named, and access.pairing is false"
            yield TOPIC.warn("nobody", detail, "name yourself in access.owners, or set access.pairing")
    for key, entries in (("owners", access.owners), ("allow", access.allow), ("guests", access.guests)):
        for entry in entries:
            if fault := explain_no_match(entry, key=key, channels=settings.channels):
                yield TOPIC.warn(
                    "no match", f"access.{key} has {entry!r}, {fault}", f"correct it in access.{key}"
                )
            elif (channel := entry.partition(":")[0]) not in opened and key == "owners":
                detail = f"access.owners has {entry!r}, and {channel} is not configured"
                yield TOPIC.warn("no channel", detail, f"set {channel}.token, or remove the entry")
    for entry in access.owners:
        if entry.startswith("telegram:-"):
            detail = f"access.owners has {entry!r}, a group: all who may write in its name may administer"
            yield TOPIC.warn("group", detail, "name people")
    if everybody := [each for each in access.allow if each.endswith(":*")]:
        detail = f"{format_list(everybody)} lets everybody read and write your notes who finds the bot"
        yield TOPIC.warn("everybody", detail, "name people in access.allow, or use access.guests")
    if both := sorted({*access.allow} & {*access.guests}):
        detail = f"{format_list(both)}: in allow and in guests; the narrower counts"
        yield TOPIC.warn("both", detail, "keep each in one of the lists")


def explain_no_match(entry: str, *, key: str, channels: Mapping[str, ChannelSettings]) -> str:
    """Return why no message ever comes from whom an entry of `access.{key}` names, "" where one may."""
    channel, _, person = entry.partition(":")
    if channel == TERMINAL:
        return "and who sits at the terminal is an owner in any case"
    if channel not in channels:
        if channel.lower() in channels:
            return f"which matches nobody: write {channel.lower()}"
        return f"which matches nobody: there are the channels {' and '.join(channels)}"
    if person == "*" or "/" in person:
        return ""
    if person.removeprefix("-").startswith("0"):
        return "which matches nobody: no id begins with 0"
    return channels[channel].nobody_fault(person, key=key)
