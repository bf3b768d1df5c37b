"""The settings of Telegram."""

import re
from typing import Literal, Self

from pydantic import SecretStr, field_validator, model_validator

from bot.config.channel import ChannelSettings
from memory.settings import SettingsConflict, check_web_address

API = "https://api.telegram.org"
FORM = "a bot's token as @BotFather gives it: digits, a colon, then letters, digits, _ and -"


class TelegramSettings(ChannelSettings):
    """The Telegram channel: there is one where the token is set."""

    title = "Telegram"
    variable = "TELEGRAM_BOT_TOKEN"
    opens = "adapters.telegram.opening"
    checks = "bot.doctor.telegram"

    token: SecretStr = SecretStr("")
    """The bot's token, from @BotFather; empty for that of the environment, TELEGRAM_BOT_TOKEN."""
    api_base: str = API
    """Address of the Bot API; a server of your own works too."""
    mode: Literal["polling", "webhook"] = "polling"
    """Whether the bot asks for messages (works anywhere) or Telegram calls webhook_url."""
    webhook_url: str = ""
    """Public address that Telegram calls in mode "webhook"; with https://, unless the server is one of your own."""
    webhook_secret: SecretStr = SecretStr("")
    """Secret that Telegram sends along in mode "webhook": letters, digits, _ and -."""

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
            raise ValueError("1 to 256 of A to Z, a to z, 0 to 9, _ and -, or nothing")
        return value

    @model_validator(mode="after")
    def _webhook_has_an_address(self) -> Self:
        official = self.api_base.rstrip("/") == API
        allowed = ("https://",) if official else ("https://", "http://")
        if self.mode == "webhook" and not self.webhook_url.lower().startswith(allowed):
            raise SettingsConflict(
                "webhook_url",
                f'a public address with {" or ".join(allowed)} as long as telegram.mode is "webhook"',
            )
        return self

    @classmethod
    def person_fault(cls, person: str) -> str:
        """See `ChannelSettings.person_fault`: a name may be somebody else's tomorrow."""
        if person.lstrip("-").isdecimal():
            return ""
        return (
            'a list with Telegram ids as numbers, such as "telegram:123456", since a name may be somebody else\'s '
            "tomorrow"
        )

    def nobody_fault(self, person: str, *, key: str) -> str:
        """See `ChannelSettings.nobody_fault`: a token begins with the bot's own id."""
        if person != self.token.get_secret_value().partition(":")[0]:
            return ""
        return "which is the bot itself" + (": put your own id there" if key == "owners" else "")

    def token_fault(self) -> str:
        """See `ChannelSettings.token_fault`."""
        token = self.token.get_secret_value()
        return FORM if token and not is_token(token) else ""

    def ineffective_key(self) -> str:
        """See `ChannelSettings.ineffective_key`."""
        hook = self.webhook_url or self.webhook_secret.get_secret_value()
        if self.mode == "polling" and hook and self.is_configured:
            return 'telegram.webhook_url and webhook_secret (telegram.mode is "polling")'
        return ""

    def beside_another(self) -> Self:
        """See `ChannelSettings.beside_another`: a webhook would need the port."""
        return self.model_copy(update={"mode": "polling"})


def is_token(text: str) -> bool:
    """Whether this can be a bot's token. Telegram's own have 35 characters behind the colon; test servers' need not."""
    return re.fullmatch(r"[0-9]+:[A-Za-z0-9_-]+", text) is not None
