"""From the names in `models.chain` to something that answers: the table of provider kinds."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from bot.models.protocol import LanguageModel

if TYPE_CHECKING:
    from bot.config import Settings


def _builtin(name: str, settings: "Settings") -> LanguageModel:
    from bot.models.notebook.model import Notebook

    del name, settings
    return Notebook()


OPENERS: Mapping[str, Callable[[str, "Settings"], LanguageModel]] = {"builtin": _builtin}
"""By provider kind: (`provider/model`, settings) → model. Each imports its client when it is chosen."""


def open_model(settings: "Settings") -> LanguageModel:
    """Open the model that answers: the first of the chain."""
    name = settings.models.chain[0]
    provider = name.partition("/")[0]
    kind = settings.providers[provider].kind if provider in settings.providers else provider
    return OPENERS[kind](name, settings)
