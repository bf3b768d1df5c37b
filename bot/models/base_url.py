"""The base URL of an OpenAI-compatible server: as configured, or with a missing `/v1` added."""

import logging
from collections.abc import Mapping
from urllib.parse import urlsplit

from bot.models.openai_errors import kind_of
from memory.http_responses import HttpFailure

log = logging.getLogger(__name__)

VERSION = "/v1"


class BaseUrl:
    """The base URL of a provider, shared by all its models.

    A `base_url` without a path may lack its version. After a 404, `/v1` is tried once; the result is kept for
    the life of the process. Nothing else is tried.
    """

    def __init__(self, base_url: str) -> None:
        """`base_url` has no trailing slash."""
        self._set = base_url
        self._tried = bool(urlsplit(base_url).path)
        self.base_url = base_url
        """The URL currently in use."""

    def adapt(self, failure: HttpFailure) -> bool:
        """After a 404: return whether the request should be repeated at the versioned URL."""
        if kind_of(failure) is not None:  # the server speaks our protocol here, but has no such model
            return False
        if self.try_version():
            return True
        if not isinstance(failure.fields.get("error"), Mapping):
            self.give_up()
        return False

    def try_version(self) -> bool:
        """After a 404: switch to the URL with `/v1`; return whether that changed anything."""
        if self._tried:
            return False
        self._tried = True
        self.base_url = f"{self._set}{VERSION}"
        log.info("nothing answers at %s: trying %s", _host(self._set), _host(self._set) + VERSION)
        return True

    def give_up(self) -> None:
        """Return to the configured URL after a 404 at `/v1` too."""
        self.base_url = self._set


def _host(base_url: str) -> str:
    return urlsplit(base_url).netloc.rpartition("@")[2]
