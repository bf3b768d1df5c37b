"""Convert commands, button presses and partial commands to incoming messages; no I/O."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC
from typing import Any

import discord
from discord import AppCommandOptionType, ChannelType, ComponentType, InteractionType

from adapters.discord.autocomplete import PartialCommand
from adapters.discord.incoming import (
    ReceivedMessage,
    channel_chat,
    channel_title,
    direct_chat,
    display_name,
    find_parent,
    person_id,
    read_roles,
)
from adapters.discord.incoming_contents import read_attachments
from adapters.discord.incoming_text import MentionNames, read_text
from adapters.discord.interaction_handle import InteractionHandle
from adapters.discord.private_api import parse_attachment
from adapters.incoming_text import clean_line
from bot.commands.command import Command, split_command
from bot.messages import Attachment, IncomingMessage
from memory.surrogates import replace_surrogates

SLASH = "slash-"
PRESS = "press-"
"""Prefixes of such messages' ids."""

_MENTION = re.compile(r"<@!?(\d{1,20})>")
PERSON_OPTIONS = {"user", "other"}
"""Options that name a person; a mention becomes the person's id."""
_CHAT_INPUT = 1
_OPTIONS_WITH_PARTS = (AppCommandOptionType.subcommand.value, AppCommandOptionType.subcommand_group.value)


@dataclass(frozen=True, slots=True)
class ReceivedInteraction:
    """A command or button press, and how to answer it."""

    said: ReceivedMessage
    answerable: InteractionHandle
    is_anothers: bool = False
    """Whether the button belongs to an answer for somebody else, in a room."""


def read_interaction(
    interaction: discord.Interaction, commands: Mapping[str, Command]
) -> ReceivedInteraction | None:
    """Convert an interaction to the command line a person could have typed; None if it is not for us.

    `commands`: by name. A command still being filled in is converted as if it had been sent.
    """
    channel = interaction.channel
    if channel is None or interaction.context.private_channel:
        return None  # somewhere without the bot, or with an unknown guild
    if interaction.type is InteractionType.component:
        text = _read_press(interaction)
    elif interaction.type in (InteractionType.application_command, InteractionType.autocomplete):
        text = _command_line(interaction, commands)
    else:
        return None
    named = split_command(text)
    if named is None:
        return None
    in_room = interaction.guild_id is not None or channel.type is not ChannelType.private
    command = commands.get(named[0])
    is_for_one = command is None or command.owner_only or command.only_tells
    shown = interaction.message if interaction.type is InteractionType.component else None
    shown_to_one = shown is not None and shown.flags.ephemeral
    owner = _find_owner(shown) if shown and in_room else None
    is_own = shown is not None and (not in_room or (owner == interaction.user.id and not is_for_one))
    answerable = InteractionHandle(
        interaction.id,
        interaction.application_id,
        interaction.token,
        private=shown_to_one or (in_room and is_for_one),
        # Without a known owner, the buttons may be for others too.
        replaces=shown_to_one or is_own,
        buttons=shown.id if shown else 0,
    )
    sender = person_id(interaction.user.id)
    message = IncomingMessage(
        id=f"{PRESS if shown else SLASH}{interaction.id}",
        chat=channel_chat(channel.id) if in_room else direct_chat(sender),
        sender=sender,
        text=text,
        sent_at=interaction.created_at.astimezone(UTC),
        sender_name=display_name(interaction.user),
        chat_name=channel_title(channel, interaction.guild),
        language=interaction.locale.value,
        in_room=in_room,
        handle=answerable.written,
        attachments=_read_attachments(interaction),
    )
    is_anothers = owner is not None and owner != interaction.user.id
    said = ReceivedMessage(
        message,
        guild=interaction.guild_id or 0,
        parent=find_parent(channel),
        roles=read_roles(interaction.user),
    )
    return ReceivedInteraction(said, answerable, is_anothers)


def read_partial_command(interaction: discord.Interaction) -> PartialCommand:
    """Return the command that is being filled in, as far as it is."""
    given = {option["name"]: str(option["value"]) for option in _read_options(interaction)}
    focused = next((option["name"] for option in _read_options(interaction) if option.get("focused")), "")
    begun = given.pop(focused, "")
    return PartialCommand(_command_name(interaction), focused, replace_surrogates(begun), given)


def _read_press(interaction: discord.Interaction) -> str:
    """Return a button's command line; "" for anything else, as clients can send any custom id."""
    data = _interaction_data(interaction)
    says = replace_surrogates(str(data.get("custom_id", "")))
    is_button = data.get("component_type") == ComponentType.button.value
    return says if is_button and interaction.message is not None and says.startswith("/") else ""


def _find_owner(shown: discord.Message) -> int | None:
    """Return the person that our message answers; None if Discord does not say."""
    if shown.interaction_metadata:
        return shown.interaction_metadata.user.id
    replied_to = shown.reference.resolved if shown.reference else None
    if not isinstance(replied_to, discord.Message) or replied_to.author.bot:
        return None
    return replied_to.author.id


def _command_line(interaction: discord.Interaction, commands: Mapping[str, Command]) -> str:
    """Return the command as typed text, with its options in the table's order."""
    if _interaction_data(interaction).get("type", _CHAT_INPUT) != _CHAT_INPUT:
        return ""
    name = _command_name(interaction)
    order = [option.name for option in commands[name].options] if name in commands else []
    given = {
        option["name"]: option["value"]
        for option in _read_options(interaction)
        if option.get("type") != AppCommandOptionType.attachment.value
    }
    in_order = [each for each in order if each in given] + [each for each in given if each not in order]
    values = (_format_value(interaction, option, str(given[option])) for option in in_order)
    return " ".join([f"/{name}", *filter(None, values)])


def _format_value(interaction: discord.Interaction, option: str, value: str) -> str:
    guild = interaction.guild
    if option in PERSON_OPTIONS and (mention := _MENTION.fullmatch(value.strip())):
        return str(person_id(int(mention[1])))

    def role_name(role: int) -> str:
        found = guild.get_role(role) if guild else None
        return clean_line(found.name) if found else ""

    def channel_name(channel: int) -> str:
        found = guild.get_channel_or_thread(channel) if guild else None
        return clean_line(found.name) if found else ""

    # A command needs no mention of the bot, so the bot's name stays in the text.
    return read_text(value, MentionNames(0, frozenset(), {}, role_name, channel_name))


def _read_attachments(interaction: discord.Interaction) -> tuple[Attachment, ...]:
    known: Mapping[str, Any] = (_interaction_data(interaction).get("resolved") or {}).get("attachments") or {}
    files = [
        parse_attachment(interaction, known[str(option["value"])])
        for option in _read_options(interaction)
        if option.get("type") == AppCommandOptionType.attachment.value and str(option["value"]) in known
    ]
    channel = interaction.channel_id or 0
    return tuple(read_attachments(files, channel=channel, message=0))


def _command_name(interaction: discord.Interaction) -> str:
    return replace_surrogates(str(_interaction_data(interaction).get("name", "")))


def _read_options(interaction: discord.Interaction) -> Iterator[Mapping[str, Any]]:
    """Yield the filled-in options, including those of subcommands that an earlier version may have had."""
    waiting = list(_interaction_data(interaction).get("options") or [])
    while waiting:
        option = waiting.pop(0)
        if option.get("type") in _OPTIONS_WITH_PARTS:
            waiting[:0] = option.get("options") or []
        elif "value" in option:
            yield option


def _interaction_data(interaction: discord.Interaction) -> Mapping[str, Any]:
    data: Any = interaction.data
    return data or {}
