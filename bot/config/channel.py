"""What the settings section of every channel has, and where the channel's code is."""

from typing import ClassVar, Self

from pydantic import SecretStr

from memory.settings import Section


class ChannelSettings(Section):
    """The section of a channel, which is open where its token is set. Its key in `Settings` is the channel's name.

    A new channel is a folder in `adapters/` with a module that opens it, a class like those beside this one, a module
    for `commonplace doctor`, and a field of `Settings`.
    """

    title: ClassVar[str]
    """How people write its name."""
    variable: ClassVar[str]
    """The environment variable that holds the token where the section does not."""
    opens: ClassVar[str]
    """The module with `open_channel(assistant, duty)` and `hook_paths(settings)`."""
    checks: ClassVar[str]
    """The module with `check(settings, asking, liveness)` for `commonplace doctor`."""

    token: SecretStr = SecretStr("")
    api_base: str = ""

    @property
    def is_configured(self) -> bool:
        """Whether there is a token."""
        return bool(self.token.get_secret_value())

    @classmethod
    def person_fault(cls, person: str) -> str:
        """Return what the ids in a list such as `access.owners` must be, "" where `person` may be one."""
        del person
        return ""

    def nobody_fault(self, person: str, *, key: str) -> str:
        """Return why no message ever comes from this id in `access.{key}`, "" where one may."""
        del person, key
        return ""

    def token_fault(self) -> str:
        """Return what a token from the environment must be, "" where it may be one."""
        return ""

    def ineffective_key(self) -> str:
        """Return which key is set and changes nothing, and why; "" for none."""
        return ""

    def beside_another(self) -> Self:
        """Return the settings for a process that runs beside another one, without a port of its own."""
        return self
