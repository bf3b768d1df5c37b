"""The settings of Telegram."""

import re
from typing import Literal, Self

from pydantic import SecretStr, field_validator, model_validator

from bot.config.channel import ChannelSettings
from memory.settings import SettingsConflict, check_web_address

API = "https://api.telegram.org"
FORM = "a bot token from @BotFather: digits, a colon, then letters, digits, _ and -"


class TelegramSettings(ChannelSettings):
    """The Telegram channel."""

    title = "Telegram"
    variable = "TELEGRAM_BOT_TOKEN"
    adapter_module = "adapters.telegram.opening"
    doctor_module = "adapters.telegram.doctor"
    setup_module = "adapters.telegram.setup"

    token: SecretStr = SecretStr("")
    """The bot's token, from @BotFather; if empty, the variable TELEGRAM_BOT_TOKEN is used."""
    api_base: str = API
    """URL of the Bot API; your own Bot API server works too."""
    mode: Literal["polling", "webhook"] = "polling"
    """How messages arrive: "polling" works anywhere; with "webhook", Telegram calls webhook_url."""
    webhook_url: str = ""
    """Public URL that Telegram calls in mode "webhook"; https:// unless you run your own Bot API server."""
    webhook_secret: SecretStr = SecretStr("")
    """Secret that Telegram sends with each call in mode "webhook": letters, digits, _ and -."""

    @field_validator("token")
    @classmethod
    def _token(cls, value: SecretStr) -> SecretStr:
        token = value.get_secret_value().strip()
        if token and not is_token(token):
            raise ValueError(FORM)
        return SecretStr(token)

    @field_validator("api_base", "webhook_url")
    @classmethod
    def _address(cls, value: str) -> str:
        return check_web_address(value)

    @field_validator("webhook_secret")
    @classmethod
    def _secret(cls, value: SecretStr) -> SecretStr:
        if not re.fullmatch(r"[A-Za-z0-9_-]{0,256}", value.get_secret_value()):
            raise ValueError("empty, or up to 256 characters of A-Z, a-z, 0-9, _ and -")
        return value

    @model_validator(mode="after")
    def _webhook_has_an_address(self) -> Self:
        official = self.api_base.rstrip("/") == API
        allowed = ("https://",) if official else ("https://", "http://")
        if self.mode == "webhook" and not self.webhook_url.lower().startswith(allowed):
            raise SettingsConflict(
                "webhook_url",
                f'a public URL with {" or ".join(allowed)} while telegram.mode is "webhook"',
            )
        return self

    @classmethod
    def explain_invalid_person(cls, person: str) -> str:
        """See `ChannelSettings.explain_invalid_person`. A user name can change hands, so only ids are allowed."""
        if person.lstrip("-").isdecimal():
            return ""
        return (
            'a list of numeric Telegram ids, such as "telegram:123456", not of names, which can change hands'
        )

    def explain_no_match(self, person: str, *, key: str) -> str:
        """See `ChannelSettings.explain_no_match`: a token begins with the bot's own id."""
        if person != self.token.get_secret_value().partition(":")[0]:
            return ""
        return "which is the bot itself" + (": use your own id" if key == "owners" else "")

    def explain_invalid_token(self) -> str:
        """See `ChannelSettings.explain_invalid_token`."""
        token = self.token.get_secret_value()
        return FORM if token and not is_token(token) else ""

    def ineffective_key(self) -> str:
        """See `ChannelSettings.ineffective_key`."""
        hook = self.webhook_url or self.webhook_secret.get_secret_value()
        if self.mode == "polling" and hook and self.is_configured:
            return 'telegram.webhook_url and webhook_secret (telegram.mode is "polling")'
        return ""

    def conflict_without_server(self) -> SettingsConflict | None:
        """See `ChannelSettings.conflict_without_server`: Telegram calls webhooks there."""
        if self.mode == "webhook":
            return SettingsConflict("telegram.mode", '"polling" while server.enabled is false')
        return None

    @classmethod
    def is_group(cls, person: str) -> bool:
        """See `ChannelSettings.is_group`: groups have negative ids."""
        return person.startswith("-")

    @classmethod
    def private_chat(cls, person: str) -> str:
        """See `ChannelSettings.private_chat`: it has the person's id."""
        return person if person.isascii() and person.isdecimal() else ""

    def for_second_process(self) -> Self:
        """See `ChannelSettings.for_second_process`. A webhook would need the port, so this polls."""
        return self.model_copy(update={"mode": "polling"})


def is_token(text: str) -> bool:
    """Return whether this can be a bot token. Only Telegram's own always have 35 characters after the colon."""
    return re.fullmatch(r"[0-9]+:[A-Za-z0-9_-]+", text) is not None
