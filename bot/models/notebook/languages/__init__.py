"""The languages that the notebook understands; to add one, add a file and a line."""

from bot.models.notebook.languages.arabic import ARABIC
from bot.models.notebook.languages.chinese import CHINESE
from bot.models.notebook.languages.english import ENGLISH
from bot.models.notebook.languages.french import FRENCH
from bot.models.notebook.languages.german import GERMAN
from bot.models.notebook.languages.hindi import HINDI
from bot.models.notebook.languages.italian import ITALIAN
from bot.models.notebook.languages.japanese import JAPANESE
from bot.models.notebook.languages.korean import KOREAN
from bot.models.notebook.languages.portuguese import PORTUGUESE
from bot.models.notebook.languages.russian import RUSSIAN
from bot.models.notebook.languages.spanish import SPANISH
from bot.models.notebook.languages.thai import THAI

LANGUAGES = (
    ENGLISH,
    GERMAN,
    CHINESE,
    JAPANESE,
    THAI,
    SPANISH,
    FRENCH,
    PORTUGUESE,
    ITALIAN,
    RUSSIAN,
    KOREAN,
    HINDI,
    ARABIC,
)
"""English is first: it answers where no other language is recognised."""
