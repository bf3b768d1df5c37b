"""The language of a page: that of the setting, or what the browser asks for."""

from collections.abc import Callable
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from bot.language.codes import closest_language, find_language
from bot.language.current import current_language, speaking
from bot.services import Services

MAX_HEADER_CHARS: Final = 1_000
"""Of `Accept-Language`; what is beyond it is not read."""


def speak_to_readers(services: Services, *, is_for_programs: Callable[[str], bool]) -> Middleware:
    """Return a middleware that answers in `agent.language`, or else in the language of the reader's browser.

    What `is_for_programs` returns True for, by its path, stays English.
    """

    @web.middleware
    async def speak(request: web.Request, handler: Handler) -> web.StreamResponse:
        if is_for_programs(request.path):
            return await handler(request)
        asked = ",".join(request.headers.getall("Accept-Language", ()))
        with speaking(closest_language(services.settings.agent.language, asked_language(asked))):
            return await handler(request)

    return speak


def asked_language(header: str) -> str:
    """Return the language that an `Accept-Language` header likes best among those we speak; "" for none of them."""
    unknown = set[str]()
    for code in _by_weight(header[:MAX_HEADER_CHARS]):
        # A browser that asks for zh-TW adds zh, which must not bring its reader simplified characters.
        if (language := find_language(code)) and code.lower() not in unknown:
            return language
        unknown.add(code.lower().partition("-")[0])
    return ""


def _by_weight(header: str) -> list[str]:
    """Return the codes of the header, the one that is liked best first, and without those that are not wanted."""
    weights: dict[str, float] = {}
    for each in header.split(","):
        code, *parameters = (part.strip() for part in each.split(";"))
        weights.setdefault(code, _read_weight(parameters))
    return sorted((code for code in weights if weights[code]), key=weights.__getitem__, reverse=True)


def _read_weight(parameters: list[str]) -> float:
    """Return the value of `q`, 1 without one, and 0 for one that is no weight."""
    for each in parameters:
        name, _, value = each.partition("=")
        if name.strip().lower() == "q":
            try:
                weight = float(value)
            except ValueError:
                return 0.0
            return weight if 0 <= weight <= 1 else 0.0
    return 1.0


def language_headers() -> dict[str, str]:
    """Return the headers of a page in the language that is spoken now."""
    return {"Content-Language": language_tag(), "Vary": "Accept-Language"}


def language_tag() -> str:
    """Return the language that is spoken now as HTML and HTTP write it, such as `zh-Hans`."""
    return current_language().replace("_", "-")
