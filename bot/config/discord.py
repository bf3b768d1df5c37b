"""The settings of Discord."""

import re

from pydantic import SecretStr, field_validator

from bot.config.channel import ChannelSettings
from memory.settings import Texts, check_web_address

MIN_ID_LENGTH = 15
"""Digits. Discord's ids have at least 17."""


class DiscordSettings(ChannelSettings):
    """The Discord channel."""

    title = "Discord"
    variable = "DISCORD_BOT_TOKEN"
    adapter_module = "adapters.discord.opening"
    doctor_module = "adapters.discord.doctor"
    setup_module = "adapters.discord.setup"

    token: SecretStr = SecretStr("")
    """The bot's token, from the developer portal; if empty, the variable DISCORD_BOT_TOKEN is used."""
    api_base: str = "https://discord.com/api/v10"
    """URL of Discord's API, or of an HTTP proxy for it."""
    servers: Texts = ()
    """Ids of the servers that get the slash commands; empty for all servers and direct messages."""
    threads: bool = False
    """Whether to answer messages in a channel in a new thread."""

    @field_validator("token")
    @classmethod
    def _token(cls, value: SecretStr) -> SecretStr:
        token = value.get_secret_value().strip()
        if any(not character.isprintable() or character.isspace() for character in token):
            raise ValueError("a token as the developer portal shows it, without spaces or line breaks")
        return SecretStr(token)

    @field_validator("servers")
    @classmethod
    def _ids(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not all(each.isascii() and each.isdecimal() for each in value):
            raise ValueError('a list of server ids, such as ["1234567890"]')
        return value

    @field_validator("api_base")
    @classmethod
    def _address(cls, value: str) -> str:
        return check_web_address(value)

    @classmethod
    def explain_invalid_person(cls, person: str) -> str:
        """See `ChannelSettings.explain_invalid_person`."""
        if re.fullmatch(r"\d+|\d+/[@#]\d+", person):
            return ""
        return (
            'a list of numeric Discord ids, such as "discord:9876", or of roles and channels of a server, such as '
            '"discord:1234/@5678" and "discord:1234/#5678"'
        )

    def explain_no_match(self, person: str, *, key: str) -> str:
        """See `ChannelSettings.explain_no_match`."""
        del key
        return "which is too short for a Discord id" if len(person) < MIN_ID_LENGTH else ""

    @classmethod
    def private_chat(cls, person: str) -> str:
        """See `ChannelSettings.private_chat`: the same for every bot, and known before Discord opens it."""
        return f"@{person}" if person.isascii() and person.isdecimal() else ""

    @classmethod
    def is_private_chat(cls, name: str) -> bool:
        """See `ChannelSettings.is_private_chat`."""
        return name.startswith("@")
