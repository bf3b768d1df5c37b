"""What `commonplace init` asks of a channel: whose token it is, and who writes to the bot."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Protocol

from bot.config.channel import ChannelSettings
from bot.doctor.check import Check
from bot.doctor.http_probe import HttpProbe

CHECK_NETWORK = "check the network and the proxy"
"""What to do about a platform that cannot be reached."""


@dataclass(frozen=True, slots=True)
class Account:
    """A person on a platform, as they can be recognised."""

    id: str
    name: str
    username: str = ""

    def __str__(self) -> str:
        """Return `Anna (@anna, id 7)`. People choose their names: none may look like an id in brackets."""
        if not (self.name or self.username):
            return f"id {self.id}"
        name = self.name.replace("(", "").replace(")", "")
        username = f"@{self.username}, " if self.username else ""
        return f"{name} ({username}id {self.id})".lstrip()


@dataclass(frozen=True, slots=True)
class BotAccount:
    """The bot of a token."""

    name: str
    invite: str = ""
    """The link that adds it to a server, if people can write to it only then."""
    owner: Account | None = None
    """Who has registered it, if the platform tells."""


class CannotListen(Exception):
    """The bot's messages cannot be received here; the text says why."""


class HookIsSet(CannotListen):
    """The platform sends the bot's messages to a web address."""


class ChannelSetup(Protocol):
    """One channel; its functions ask the platform and change nothing, except `remove_hook`."""

    where: str
    """Where people get a token, as a sentence."""
    can_listen: bool
    """Whether `senders` works before the service has ever run."""

    def find_token(self, typed: str) -> str:
        """Return the token in what was pasted, such as the message that has it; the same text if there is none."""

    async def identify(self, section: ChannelSettings, probe: HttpProbe) -> BotAccount | Check:
        """Return the bot, or why it cannot be asked: a check with the name `token` if that is wrong."""

    def senders(self, section: ChannelSettings, probe: HttpProbe) -> AsyncGenerator[Account, None]:
        """Yield each person who writes to the bot in private, once; the service gets the messages all the same.

        Raises CannotListen.
        """

    async def remove_hook(self, section: ChannelSettings, probe: HttpProbe) -> None:
        """Have the platform keep the messages until they are fetched. Raises CannotListen."""
