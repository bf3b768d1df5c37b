"""Find texts that are secret, in the settings and in the environment."""

import os
from typing import TYPE_CHECKING

from memory.postgres.url import SCHEMES, find_passwords
from memory.redaction import find_url_password

if TYPE_CHECKING:
    from bot.config.settings import Settings

SECRET_VARIABLES = ("HF_TOKEN", "PGPASSWORD")
"""Environment variables besides API keys and channel tokens that hold secrets, used or not."""
SECRET_SUFFIXES = ("_TOKEN", "_SECRET", "_PASSWORD", "_API_KEY")
"""Name endings of other programs' variables that hold secrets."""
MIN_OTHER_SECRET_CHARS = 8
"""Minimum length in characters; shorter values may be words such as `true` that must stay readable."""


def collect_secrets(settings: "Settings") -> list[str]:
    """Return all secrets of the settings and the environment, which the log must redact."""
    from pydantic import BaseModel, SecretStr

    from memory.embeddings.provider_table import PROVIDERS

    found: list[str] = []

    def collect(value: object) -> None:
        match value:
            case SecretStr():
                secret = value.get_secret_value()
                if secret.partition("://")[0].lower() in SCHEMES:
                    # A URL without a password is not secret; neither is the user's name.
                    found.extend((secret, *passwords) if (passwords := find_passwords(secret)) else ())
                else:
                    found.extend((secret, find_url_password(secret)))
            case str():
                found.append(find_url_password(value))
            case BaseModel():
                for _, each in value:
                    collect(each)
            case dict():
                for each in value.values():
                    collect(each)
            case list() | tuple():
                for each in value:
                    collect(each)

    collect(settings)
    tokens = [section.variable for section in settings.channels.values()]
    variables = {variable for row in PROVIDERS.values() for variable in row.key_variables}
    # Keys of any chat provider.
    variables |= {variable for variable in os.environ if variable.endswith("_API_KEY")}
    found += [os.environ.get(variable, "") for variable in (*sorted(variables), *tokens, *SECRET_VARIABLES)]
    for variable, value in os.environ.items():
        if variable.upper().endswith(SECRET_SUFFIXES) and len(value.strip()) >= MIN_OTHER_SECRET_CHARS:
            found.append(value)
        elif variable.upper().endswith("_PROXY") or variable == "HF_ENDPOINT":
            found.append(find_url_password(value))
    return [secret for secret in dict.fromkeys([*found, *map(str.strip, found)]) if secret.strip()]
