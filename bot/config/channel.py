"""The base class of every channel's settings, which also names the channel's modules."""

from typing import ClassVar, Self

from pydantic import SecretStr

from memory.settings import Section, SettingsConflict


class ChannelSettings(Section):
    """Settings of a channel, which is open if its token is set. Its field in `Settings` is the channel's name.

    To add a channel, write a folder in `adapters/` with a module that opens it, a subclass of this, a module for
    `commonplace doctor`, and a field of `Settings`.
    """

    title: ClassVar[str]
    """The name as people write it."""
    variable: ClassVar[str]
    """The environment variable for the token, used if the section has none."""
    adapter_module: ClassVar[str]
    """The module with `open_channel(assistant, ownership)` and `hook_paths(settings)`."""
    doctor_module: ClassVar[str]
    """The module with `check(settings, probe, liveness)` for `commonplace doctor`."""
    setup_module: ClassVar[str] = ""
    """The module with `setup`, a `ChannelSetup` for `commonplace init`; "" if it has no step there."""

    token: SecretStr = SecretStr("")
    api_base: str = ""

    @property
    def is_configured(self) -> bool:
        """Whether a token is set."""
        return bool(self.token.get_secret_value())

    @classmethod
    def explain_invalid_person(cls, person: str) -> str:
        """Return what an id in a list such as `access.owners` must be, "" if `person` is valid."""
        del person
        return ""

    def explain_no_match(self, person: str, *, key: str) -> str:
        """Return why this id in `access.{key}` can never match a sender, "" if it can."""
        del person, key
        return ""

    def explain_invalid_token(self) -> str:
        """Return what the token must be, "" if it is valid."""
        return ""

    def ineffective_key(self) -> str:
        """Return a key that is set but has no effect, and why; "" for none."""
        return ""

    def conflict_without_server(self) -> SettingsConflict | None:
        """Return why the channel cannot work without our HTTP server; None if it can."""
        return None

    @classmethod
    def is_group(cls, person: str) -> bool:
        """Return whether an id is a group's, as which several people can write."""
        del person
        return False

    @classmethod
    def private_chat(cls, person: str) -> str:
        """Return the name (`ChatId.name`) of the chat that only this person and the bot can read; "" for none.

        While a channel does not override this, nobody can search what was said in its private chats.
        """
        del person
        return ""

    @classmethod
    def is_private_chat(cls, name: str) -> bool:
        """Return whether a chat with this name (`ChatId.name`) is one that `private_chat` can return.

        Override this too if such a chat does not have the person's id.
        """
        return bool(name) and cls.private_chat(name) == name

    def for_second_process(self) -> Self:
        """Return the settings for a second process, which has no port of its own."""
        return self
