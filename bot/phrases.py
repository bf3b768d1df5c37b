"""The texts of `bot/english.py` in the language of the person who reads them, looked up when they are used.

`phrases.NAME` has the type that it has there. It must not be kept: the next person may speak another language.
"""

from functools import cache
from typing import TYPE_CHECKING

from bot.language.codes import ENGLISH
from bot.language.current import current_language

if TYPE_CHECKING:
    from bot.english import *  # noqa: F403 - gives each name its type
else:

    def __getattr__(name: str) -> object:
        from bot import english

        language = current_language()
        is_english = language == ENGLISH or name in english.UNTRANSLATED or name.startswith("_")
        return getattr(english, name) if is_english else _in_language(name, language)


@cache
def _in_language(name: str, language: str) -> object:
    from bot import english
    from bot.language.catalogs import translate, translate_all
    from bot.language.text import Text

    return translate_all(getattr(english, name), lambda text: Text(translate(text, language), language))
