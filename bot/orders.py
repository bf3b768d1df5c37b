"""Pure: what a person orders to be written, changed or removed, in their own words of this turn."""

import re
from collections.abc import Iterable
from itertools import pairwise

from bot.explicit_requests import find_requests
from bot.foreign_text import person_words
from bot.models.protocol import UserMessage

MAX_CHARS = 2_000
"""Longer messages are mostly pasted text, in which orders may be somebody else's."""

_POLITE = (
    r"(?:please|pls|also|and|then|now|so|ok|okay|yes|hey|hi|can you|could you|would you|will you|i want you to"
    r"|bitte|und|dann|jetzt|ja|kannst du|könntest du|würdest du|ich möchte, dass du"
    r"|s'il te plaît|et|oui|peux-tu|pourrais-tu|tu peux|por favor|y|sí|puedes|podrías|per favore|e|sì|puoi|potresti"
    r"|sim|pode|poderia|podes)\b[\s,:]*"
)
_WRITE = (
    r"(?:remember|note|save|store|keep|write|record|add|put|enter|log"
    r"|merk|notier|speicher|schreib|trag|halt|ergänz|füg"
    r"|note|enregistre|retiens|ajoute|écris|sauvegarde|garde"
    r"|apunta|anota|guarda|recuerda|añade|agrega|escribe"
    r"|annota|salva|ricorda|aggiungi|scrivi|segna|anote|guarde|lembre|adicione|escreva|salve)"
)
_CHANGE = (
    r"(?:update|change|cancel|stop|move|correct|replace|fix|edit|rename|delete|remove|erase|forget|clear|drop"
    r"|aktualisier|verschieb|änder|korrigier|berichtig|ersetz|lösch|entfern|streich|vergiss"
    r"|corrige|change|modifie|remplace|mets à jour|supprime|efface|oublie|enlève|annule"
    r"|actualiza|cambia|corrige|reemplaza|sustituye|borra|elimina|olvida|quita|cancela|anula"
    r"|aggiorna|correggi|sostituisci|modifica|cancella|rimuovi|dimentica|annulla"
    r"|atualize|mude|corrija|substitua|altere|apague|remova|esqueça|cancele)"
)
_SENTENCE = re.compile(r"[.!?;\n]+\s*|,\s+(?=(?:and|und|et|y|e)\b)|\s+(?=(?:and|und|et|y|e)\s)")
_QUOTED_LINE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_OF_CORE = re.compile(r"\bmemory\.md\b", re.IGNORECASE)


def find_write_orders(messages: Iterable[UserMessage]) -> tuple[str, ...]:
    """Return what these messages order to be written down; "" among it stands for "this"."""
    return tuple(order for message in messages for order in _find(message, _WRITE, keeps=True))


def find_change_orders(messages: Iterable[UserMessage]) -> tuple[str, ...]:
    """Return what these messages order to be changed or removed; "" among it stands for "that"."""
    return tuple(order for message in messages for order in _find(message, _CHANGE, keeps=False))


def covers(order: str, text: str) -> bool:
    """Return whether an order may mean a text: it says "this", or they have a meaningful word in common."""
    from memory.tokenizer import parse_query, tokenize

    words = tokenize(text)
    there = {*((word,) for word in words), *pairwise(words)}
    return not order or any(term.tokens in there for term in parse_query(order))


def _means_this(request: str) -> bool:
    """Return whether what is to be noted is only "it", and where to: "It in MEMORY.md" of "Note it in MEMORY.md"."""
    from memory.stop_words import load_all_stop_words

    rest = _OF_CORE.sub(" ", request)
    words = re.findall(r"\w+", rest.lower())
    return rest != request and len(words) <= 2 and load_all_stop_words().issuperset(words)


def _find(message: UserMessage, verbs: str, *, keeps: bool) -> Iterable[str]:
    text = person_words(message)
    if not text.strip() or len(text) > MAX_CHARS or text.lstrip().startswith("/"):
        return
    from bot.models.notebook.message_parser import parse_message  # loads every language

    parsed = parse_message(text, with_document=True)
    if keeps:
        yield from ("" if _means_this(each) else each for each in find_requests(message))
        if parsed.keep or parsed.unfinished:
            yield ""
        unquoted = _QUOTED_LINE.sub("", text)
        if _OF_CORE.search(unquoted) and not parsed.look:
            yield unquoted
    else:
        if parsed.forget:
            yield parsed.forget
        if "change" in parsed.unsupported:
            yield " ".join(parsed.queries)
        if parsed.cancel or {"forget_that", "undo"}.intersection(parsed.unsupported):
            yield ""
    for sentence in _SENTENCE.split(text):
        if re.match(rf"(?:{_POLITE})*{verbs}\w{{0,3}}\b", sentence.strip(), re.IGNORECASE):
            yield sentence
