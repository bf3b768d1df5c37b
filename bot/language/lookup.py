"""Looks a text of a module of English constants up in the language spoken now."""

from functools import cache
from types import ModuleType

from bot.language.codes import ENGLISH
from bot.language.current import current_language


def look_up(module: ModuleType, name: str) -> object:
    """Return a constant in the current language; in English if it is in the module's `UNTRANSLATED`."""
    language = current_language()
    is_english = language == ENGLISH or name.startswith("_") or name in getattr(module, "UNTRANSLATED", ())
    return getattr(module, name) if is_english else _in_language(module, name, language)


@cache
def _in_language(module: ModuleType, name: str, language: str) -> object:
    from bot.language.catalogs import translate, translate_all
    from bot.language.text import Text

    return translate_all(getattr(module, name), lambda text: Text(translate(text, language), language))
