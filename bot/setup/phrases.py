"""The texts of `bot/setup/english.py` in the language of the terminal, looked up when they are used."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.setup.english import *  # noqa: F403 - gives each name its type
else:

    def __getattr__(name: str) -> object:
        from bot.language.lookup import look_up
        from bot.setup import english

        return look_up(english, name)
