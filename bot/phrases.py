"""The texts of `bot/english.py` in the language of the person who reads them, looked up when they are used.

`phrases.NAME` has the type that it has there. It must not be kept: the next person may speak another language.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.english import *  # noqa: F403 - gives each name its type
else:

    def __getattr__(name: str) -> object:
        from bot import english
        from bot.language.lookup import look_up

        return look_up(english, name)
