"""Pure: whole sentences that ask for what a command shows, or that call an answer wrong."""

from typing import Literal, get_args

from bot.models.notebook.language import Language
from bot.models.notebook.languages import LANGUAGES
from bot.models.notebook.languages.english import ENGLISH
from bot.models.notebook.phrases import OPENERS, SEPARATORS, body_end, fold, phrase_at, phrase_ending_at, skip

SentenceKind = Literal[
    "wrong",
    "forget_that",
    "undo",
    "clock",
    "day",
    "list_notes",
    "list_reminders",
    "about_me",
    "today",
    "add_model",
]
KINDS: tuple[SentenceKind, ...] = get_args(SentenceKind)
_MAX_CHARS = 120


def read_whole_sentence(text: str, spoken_language: Language) -> tuple[SentenceKind, Language] | None:
    """Return the kind of a whole sentence and its language; None if it is none of `KINDS`."""
    if len(text) > _MAX_CHARS:
        return None
    for language in dict.fromkeys((spoken_language, ENGLISH, *LANGUAGES)):
        for bare in _bare_forms(text, language):
            # A single word may mean something else in the conversation's language.
            if language not in (spoken_language, ENGLISH) and language.spacing == "words" and " " not in bare:
                continue
            for kind in KINDS:
                if bare in getattr(language, kind):
                    return kind, language
    return None


def _bare_forms(text: str, language: Language) -> set[str]:
    """Return the sentence as it is, and without polite and linking words."""
    folded = fold(text[: body_end(text)])
    at = skip(folded, 0, SEPARATORS + "¿¡" + OPENERS)
    forms = {folded[at:]}
    for _ in range(4):
        openings = (
            phrase_at(folded, at, kind, prefer=language, only=True)
            for kind in ("could_you", "please", "before", "denials")
        )
        opening = max(filter(None, openings), key=lambda match: match.end, default=None)
        if opening is None:
            break
        at = skip(folded, opening.end, SEPARATORS)
        forms.add(folded[at:])
    for form in tuple(forms):
        for kind in ("please", "please_end"):
            if ending := phrase_ending_at(form, len(form), kind, prefer=language, only=True):
                forms.add(form[: ending.start].rstrip(SEPARATORS))
    return forms - {""}
