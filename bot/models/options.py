"""What a client is opened with: one model of one provider, asked with one key."""

from dataclasses import dataclass, field

from bot.models.timeouts import Timeouts


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """From the settings; every client takes what it has a use for."""

    name: str
    """`provider/model`, as in the chain."""
    base_url: str = ""
    """Without a slash at its end."""
    key: str = field(default="", repr=False)
    needs_key: bool = False
    """Whether asking without a key is in vain."""
    key_is_set_in: str = "the provider's api_key"
    """Where somebody who has forgotten it puts it."""
    how_to_get: str = ""
    """What to do where the provider does not have the model; "" where nothing can be said."""
    temperature: float | None = None
    max_tokens: int | None = None
    """The longest answer; None: the provider's own, or the client's where the protocol asks for one."""
    reasoning_effort: str | None = None
    context_window: int | None = None
    limits: Timeouts = field(default_factory=Timeouts)

    @property
    def provider(self) -> str:
        """The provider's name in the settings."""
        return self.name.partition("/")[0]

    @property
    def model(self) -> str:
        """The provider's own name of the model; may have slashes in it."""
        return self.name.partition("/")[2]
