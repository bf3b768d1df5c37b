"""A form whose session has ended: what was typed is brought along to signing in, and can be sent once more."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote, urlsplit

from aiohttp import web

from bot.visible_names import escape_path
from bot.web.forms import (
    FORM_FIELD,
    MAX_FORM_BYTES,
    MAX_TEXT_FORM_BYTES,
    fields_read,
    read_form,
    typed_names,
)
from bot.web.session import was_form_token

SIGN_IN: Final = "/sign-in"
SENT: Final = "sent."
"""Begins the names of the form's fields in the form that signs in."""
TYPED: Final = "typed."
"""Begins the names of those of them that a person has typed."""
SENT_TO: Final = "sent_to"
"""Where the form was sent to."""


@dataclass(frozen=True, slots=True)
class RefusedForm:
    """A form that was not done since its session has ended."""

    address: str
    """Where it was sent to: path and query."""
    place: str
    """The path, to be shown."""
    typed: Mapping[str, str]
    """What a person has typed, by the fields' names."""
    others: Mapping[str, str]
    """The other fields, without `FORM_FIELD`."""
    mark: str
    """The value of its `FORM_FIELD`."""


async def read_form_of_anybody(request: web.Request, *, token: str) -> Mapping[str, str]:
    """Return the fields of a form from somebody who is not signed in; only one that our own page made may be large.

    Its first field shows that, so nobody else can have us read and show megabytes. Raises as `read_body`.
    """

    def raise_limit(start: bytes) -> int:
        name, _, value = start.partition(b"&")[0].decode("ascii", "replace").partition("=")
        is_ours = name in (FORM_FIELD, SENT + FORM_FIELD) and was_form_token(value, token)
        return MAX_TEXT_FORM_BYTES if is_ours else MAX_FORM_BYTES

    return await read_form(request, raise_limit=raise_limit if token else None)


def refused_form(request: web.Request) -> RefusedForm | None:
    """Return the form that a request has sent, or has brought along to signing in; None if nothing in it was typed."""
    fields = fields_read(request)
    if request.path == SIGN_IN:
        address = fields.get(SENT_TO, "")
        typed, others = _without_prefix(fields, TYPED), _without_prefix(fields, SENT)
    else:
        address = request.path_qs
        typed = {name: fields[name] for name in typed_names(request) if name in fields}
        others = {name: text for name, text in fields.items() if name not in typed}
    mark = others.pop(FORM_FIELD, "")
    if not any(text.strip() for text in typed.values()):
        return None
    return RefusedForm(address, escape_path(unquote(urlsplit(address).path)), typed, others, mark)


def _without_prefix(fields: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {name.removeprefix(prefix): text for name, text in fields.items() if name.startswith(prefix)}
