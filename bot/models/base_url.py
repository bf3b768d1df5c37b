"""The address of an OpenAI-like server: as it is set, or with the `/v1` that was left out."""

import logging
from collections.abc import Mapping
from urllib.parse import urlsplit

from bot.models.openai_errors import kind_of
from memory.http_responses import HttpFailure

log = logging.getLogger(__name__)

VERSION = "/v1"


class BaseUrl:
    """Where a provider is asked; all its models share it.

    A `base_url` without any path may lack its version. After a 404 it is tried once with `/v1`, and what came of
    that counts as long as the program runs. Nothing else is tried.
    """

    def __init__(self, base_url: str) -> None:
        """`base_url`: without a slash at its end."""
        self._set = base_url
        self._tried = bool(urlsplit(base_url).path)
        self.base_url = base_url
        """As it is used now."""

    def adapt(self, failure: HttpFailure) -> bool:
        """After a 404: return whether the request is to be made again, at the address with its version."""
        if kind_of(failure) is not None:  # it speaks our language here, and has no such model
            return False
        if self.try_version():
            return True
        if not isinstance(failure.fields.get("error"), Mapping):
            self.give_up()
        return False

    def try_version(self) -> bool:
        """After a 404: use the address with `/v1`; return whether that is new."""
        if self._tried:
            return False
        self._tried = True
        self.base_url = f"{self._set}{VERSION}"
        log.info("nothing answers at %s: trying %s", _host(self._set), _host(self._set) + VERSION)
        return True

    def give_up(self) -> None:
        """After a 404 there too: use the address as it is set."""
        self.base_url = self._set


def _host(base_url: str) -> str:
    return urlsplit(base_url).netloc.rpartition("@")[2]
