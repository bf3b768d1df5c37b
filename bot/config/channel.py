"""The base class of every channel's settings, which also names the channel's modules."""

from typing import ClassVar, Self

from pydantic import SecretStr

from memory.settings import Section


class ChannelSettings(Section):
    """Settings of a channel, which is open if its token is set. Its field in `Settings` is the channel's name.

    To add a channel, write a folder in `adapters/` with a module that opens it, a subclass of this, a module for
    `commonplace doctor`, and a field of `Settings`.
    """

    title: ClassVar[str]
    """The name as people write it."""
    variable: ClassVar[str]
    """The environment variable for the token, used if the section has none."""
    opens: ClassVar[str]
    """The module with `open_channel(assistant, ownership)` and `hook_paths(settings)`."""
    checks: ClassVar[str]
    """The module with `check(settings, asking, liveness)` for `commonplace doctor`."""

    token: SecretStr = SecretStr("")
    api_base: str = ""

    @property
    def is_configured(self) -> bool:
        """Whether a token is set."""
        return bool(self.token.get_secret_value())

    @classmethod
    def person_fault(cls, person: str) -> str:
        """Return what an id in a list such as `access.owners` must be, "" if `person` is valid."""
        del person
        return ""

    def nobody_fault(self, person: str, *, key: str) -> str:
        """Return why this id in `access.{key}` can never match a sender, "" if it can."""
        del person, key
        return ""

    def token_fault(self) -> str:
        """Return what the token must be, "" if it is valid."""
        return ""

    def ineffective_key(self) -> str:
        """Return a key that is set but has no effect, and why; "" for none."""
        return ""

    def beside_another(self) -> Self:
        """Return the settings for a second process, which has no port of its own."""
        return self
