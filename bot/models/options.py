"""Options to open a client with: one model of one provider, with one key."""

from dataclasses import dataclass, field

from bot.models.timeouts import Timeouts


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """Options from the settings; each client uses those it needs."""

    name: str
    """`provider/model`, as in the chain."""
    base_url: str = ""
    """Without a trailing slash."""
    key: str = field(default="", repr=False)
    needs_key: bool = False
    """Whether requests without a key are pointless."""
    key_is_set_in: str = "the provider's api_key"
    """Where the owner sets a missing key."""
    how_to_get: str = ""
    """How to obtain the model if the provider lacks it; "" if there is no advice."""
    temperature: float | None = None
    max_tokens: int | None = None
    """Maximum answer length; None for the provider's default, or the client's if the protocol requires one."""
    reasoning_effort: str | None = None
    context_window: int | None = None
    limits: Timeouts = field(default_factory=Timeouts)

    @property
    def provider(self) -> str:
        """Name of the provider in the settings."""
        return self.name.partition("/")[0]

    @property
    def model(self) -> str:
        """The provider's own name of the model; may contain slashes."""
        return self.name.partition("/")[2]
