"""Pure: remove articles and other function words from a query if the index would keep them."""

from datetime import date

from bot.models.notebook.language import Language
from bot.models.notebook.phrases import ENDS, OPENERS, SEPARATORS, fold


def strip_function_words(text: str, language: Language, today: date) -> str:
    """Return "Schlüssel" for "den Schlüssel"; `text` unchanged if the index drops them too, or if it names a day.

    The index does not know the language, and one short word such as "den" does not reveal it.
    """
    from memory.dates import read_dates
    from memory.stop_words import load_stop_words
    from memory.tokenizer import parse_query, tokenize

    stop_words = load_stop_words(language.code)
    asked = {term.tokens[0] for term in parse_query(text)}
    words = text.split()
    kept = [word for word in words if _strip_marks(word) not in stop_words]
    dropped = {token for word in words if _strip_marks(word) in stop_words for token in tokenize(word)}
    if not kept or asked.isdisjoint(dropped) or read_dates(text, today):
        return text
    return " ".join(kept)


def _strip_marks(word: str) -> str:
    return fold(word).strip(ENDS + OPENERS + SEPARATORS + "\"'”’»)")
