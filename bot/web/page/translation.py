"""The texts of the templates in the language of whoever reads the page: gettext's functions for Jinja."""

import re
from functools import cache
from typing import TYPE_CHECKING

from bot.language.catalogs import translate, translate_plural
from bot.language.current import current_language
from bot.language.text import Text, localize, write_number
from memory.translatable import Translatable, TranslatableError

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

EXTENSION = "jinja2.ext.i18n"

_STATE = re.compile(": |：")
_FIELD = re.compile(r"%\((\w+)\)s")


def install_translations(templates: "Environment") -> None:
    """Make the templates look up their texts when they are rendered; the environment needs `EXTENSION`."""
    templates.policies["ext.i18n.trimmed"] = True
    # Not `install_gettext_callables`: its functions fill in the fields as `%` does, which no language can change.
    templates.newstyle_gettext = True  # type: ignore[attr-defined]  # the extension adds it
    templates.finalize = _localized
    templates.globals.update(gettext=_gettext, pgettext=_pgettext, ngettext=_ngettext)


@cache
def catalog_text(message: str) -> str:
    """Return a text of a template as the catalogues have it: with `{name}` where Jinja writes `%(name)s`."""
    return _FIELD.sub(r"{\1}", message).replace("%%", "%")


def grouped(number: int) -> str:
    """Return a whole number as the reader's language writes it, such as `1.234`."""
    return write_number(f"{number:,}", current_language())


def decimal(number: float, places: int = 1) -> str:
    """Return a number with `places` decimals as the reader's language writes it, such as `1.234,5`."""
    return write_number(f"{number:,.{places}f}", current_language())


def translated(text: str) -> str:
    """Return a text that was stored in English in the reader's language; what no catalogue has stays as it is."""
    return localize(text) if isinstance(text, Translatable) else translate(text, current_language())


def after_state(reason: str) -> str:
    """Return a reason such as `away: …` without the word before its colon, which the page shows by itself."""
    return _STATE.split(localize(reason), maxsplit=1)[-1]


def _localized(value: object) -> object:
    """Return what is shown for a value: a reason that can be translated is said in the reader's language."""
    return localize(value) if isinstance(value, Translatable | TranslatableError) else value


def _gettext(message: str, /, **fields: object) -> "Markup":
    return _fill_in(translate(catalog_text(message), current_language()), fields)


def _pgettext(context: str, message: str, /, **fields: object) -> "Markup":
    return _fill_in(translate(catalog_text(message), current_language(), context=context), fields)


def _ngettext(one: str, other: str, count: int, /, **fields: object) -> "Markup":
    """Return the form for `count`, which the field of that name is, too."""
    text = translate_plural(catalog_text(one), catalog_text(other), count, current_language())
    return _fill_in(text, {**fields, "count": grouped(count)})


def _fill_in(text: str, fields: dict[str, object]) -> "Markup":
    """Return a text, which is HTML, with its fields, which are escaped unless they are `Markup`."""
    from markupsafe import Markup, escape

    shown = {name: str(escape(_localized(value))) for name, value in fields.items()}
    return Markup(Text(text, current_language()).format_html(**shown))  # noqa: S704 - the text is our own
