"""Pure: turn a German subordinate clause (verb last, as after "dass") into a main clause."""

import re

from bot.models.notebook.language import phrases
from bot.models.notebook.phrases import body_end, fold

CLAUSE = ("dass", "daß")

# The clause is left alone unless the end of its subject is certain.
_THE = frozenset(phrases("der|die|das|dieser|diese|dieses|jeder|jede|jedes|alle"))
_A = r"(?:ein|kein|[mds]ein|ihr|unser|euer|eur)e?"
_INTO = frozenset(phrases("am|im|in|an|auf|unter|hinter|neben|bei|beim|vor|ab"))
_IN_THE = frozenset(
    phrases("dem|der|den|einem|einer|meinem|meiner|unserem|unserer|seinem|seiner|ihrem|ihrer")
)
_TITLES = frozenset(phrases("frau|herr|herrn|dr.|prof.|tante|onkel|oma|opa|familie|firma"))
_WEEKDAYS = frozenset(phrases("montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonnabend|sonntag"))
_DAYS = frozenset(phrases("heute|morgen|übermorgen|montags|dienstags|mittwochs|donnerstags|freitags"))
_PARTS_OF_DAY = frozenset(phrases("früh|mittag|abend|nachmittag|vormittag|nacht"))
_NO_ADJECTIVE = frozenset(
    phrases("morgen|heute|gerne|gegen|neben|wegen|zwischen|immer|wieder|über|unter|hinter|oder|aber|hier")
)
_NOT_GENITIVE = frozenset(
    phrases("hans|thomas|lukas|jonas|klaus|markus|andreas|niklas|elias|jens|lars|tobias|matthias|nils|moritz")
)
_PLACED = frozenset(
    phrases("ist|sind|war|waren|liegt|liegen|lag|steht|stehen|stand|hängt|hängen|lautet|kostet|steckt|parkt")
)
"""Verbs whose subject includes a following "für …", "zur …" or "der …"."""
_OWNING = _PLACED | frozenset(phrases("wohnt|wohnen|lebt|leben|arbeitet|arbeiten|heißt|heißen|hat|haben|mag"))
"""Verbs whose subject includes a following "von …"."""
_WITH_OBJECT = frozenset(
    phrases(
        "mag|mögen|liebt|lieben|hasst|isst|essen|trinkt|trinken|spielt|spielen|spricht|sprechen|braucht"
        "|brauchen|hat|haben|hatte|hatten|will|wollen|kauft|kaufte|bekommt|nimmt|lernt|studiert|findet"
        "|kennt|trägt"
    )
)
"""Verbs whose object may lack an article: "Anna mag Tee"."""
_NAMING = frozenset(phrases("ist|sind|war|waren|heißt|heisst|heißen|wird|werden|wurde"))
_PARTICIPLES = frozenset(phrases("gekauft|umgezogen|geboren|gestorben|getroffen|gegeben|gesagt"))
_APART = r"(ab|an|auf|aus|ein|mit|vor|zurück|los|weg|statt|fest|her|hin|um)(?=\w{3})"


def move_verb_second(clause: str, *, pronouns: tuple[str, ...], verbs: frozenset[str]) -> str:
    """Return "Der Schlüssel liegt im Flur" for "der Schlüssel im Flur liegt"; unchanged unless that is certain."""
    end = body_end(clause)
    words = clause[:end].split()
    if len(words) < 3 or any(word[-1] in ",;:" for word in words):
        return clause
    *middle, last = words
    verb, apart = _split_finite_verb(fold(last), verbs)
    if not verb:
        return clause
    size = 1 if fold(middle[0]) in pronouns else _front_length(middle) or _subject_length(middle, verb)
    if not size:
        return clause
    moved = [*middle[:size], verb, *middle[size:], *([apart] if apart else [])]
    return " ".join(moved) + clause[end:]


def _split_finite_verb(word: str, verbs: frozenset[str]) -> tuple[str, str]:
    """Return the finite verb and its separable prefix, if any: "fährt", "ab"."""
    if word in _PARTICIPLES or not word.isalpha():
        return "", ""
    if word in verbs or re.fullmatch(r"\w{2,}ier(?:t|te|en|ten)", word):
        return word, ""
    match = re.match(_APART, word)
    if match and (rest := word[match.end() :]) in verbs and rest not in _PARTICIPLES:
        return rest, match[1]
    return "", ""


def _is_noun(word: str) -> bool:
    return word[0].isupper() and (word.replace("-", "").isalpha() or word.endswith("."))


def _noun_phrase_end(words: list[str], at: int) -> int:
    """Return the end of the article, adjectives and noun that begin at `at`; 0 if there are none."""
    if at >= len(words):
        return 0
    first = fold(words[at])
    if not (first in _THE or first in _IN_THE or first == "des" or re.fullmatch(_A, first)):
        return 0
    endings = ("e", "en") if first in _THE | _IN_THE | {"des"} else ("e", "er", "es", "en")
    return _noun_end(words, at + 1, endings)


def _noun_end(words: list[str], at: int, endings: tuple[str, ...] = ("e", "en", "er", "es")) -> int:
    while at < len(words) and not words[at][0].isupper():
        word = words[at]
        number = re.fullmatch(r"\d{1,3}\.?", word) or word in ("zwei", "drei", "vier", "beiden")
        if not number and (word in _NO_ADJECTIVE or not word.isalpha() or not word.endswith(endings)):
            return 0
        at += 1
    return at + 1 if at < len(words) and _is_noun(words[at]) else 0


def _front_length(words: list[str]) -> int:
    """Return how many words precede the verb if "am Freitag", "in der Garage" or "heute" comes first."""
    first = fold(words[0])
    if first in _DAYS:
        return 2 if fold(words[1]) in _PARTS_OF_DAY and len(words) > 2 else 1
    if first in ("am", "im", "beim"):
        size = _noun_end(words, 1, ("en",))
    elif first in _INTO:
        size = _noun_phrase_end(words, 1) if fold(words[1]) in _IN_THE else 0
    else:
        return 0
    # At least one word must be left for the subject.
    if not 0 < size < len(words):
        return 0
    return size if fold(words[size - 1]) in _WEEKDAYS or not _continues(words, size) else 0


def _continues(words: list[str], at: int) -> bool:
    word = fold(words[at])
    return word in ("des", "von", "vom", "und", "oder", "der") or words[at][0].isdigit()


def _subject_length(words: list[str], verb: str) -> int:
    """Return the length in words of a subject that comes first; 0 if it is not certain."""
    articled = _noun_phrase_end(words, 0)
    size = articled
    if not articled:
        if not _is_noun(words[0]) or (not words[0][-1].isalpha() and fold(words[0]) not in _TITLES):
            return 0
        size = 1
        while size < len(words) and fold(words[size - 1]) in _TITLES:
            size += 1
    if size < len(words) and _is_noun(words[size]):
        size = _extend_by_noun(words, size, verb, articled=bool(articled))
    return _extend_by_attributes(words, size, verb, articled=bool(articled)) if size else 0


def _extend_by_noun(words: list[str], size: int, verb: str, *, articled: bool) -> int:
    """Return the subject's length with a second noun: "Annas Pass", "mein Bruder Tom", but not "Tom Tee (mag)"."""
    rest = words[size + 1 :]
    if rest and _is_noun(rest[0]):
        return 0
    name = fold(words[0])
    genitive = not articled and size == 1 and name.endswith("s") and name not in _NOT_GENITIVE
    if not rest:
        return size if verb in _WITH_OBJECT | _NAMING else 0
    if verb in _WITH_OBJECT:
        first = fold(rest[0])
        whole = first in ("den", "das") or bool(
            re.fullmatch(r"(?:ein|kein|[mds]ein|ihr|unser)(?:e|en)?", first)
        )
        return size + 1 if whole else 0
    if verb in _NAMING and not genitive:
        return 0
    return size + 1


def _extend_by_attributes(words: list[str], size: int, verb: str, *, articled: bool) -> int:
    if size >= len(words):
        return size
    word = fold(words[size])
    left = 0
    if word in ("und", "oder"):
        joined = _noun_phrase_end(words, size + 1)
        if not joined and size + 1 < len(words) and _is_noun(words[size + 1]):
            joined = size + 2
        if not joined or (joined < len(words) and (_is_noun(words[joined]) or _continues(words, joined))):
            return 0
        return joined
    if word == "des" or (word.endswith("er") and _noun_phrase_end(words, size)):
        left = _noun_phrase_end(words, size)
        if not left or not (word == "des" or verb in _PLACED):
            return 0
    elif word in ("von", "vom"):
        left = _noun_phrase_end(words, size + 1) or _noun_end(words, size + 1)
        if left and verb not in _OWNING:
            return 0
    elif articled and word in ("für", "fürs", "zum", "zur") and verb in _PLACED:
        left = _noun_phrase_end(words, size + 1) or _noun_end(words, size + 1)
    elif word[0].isdigit() and size + 1 < len(words):
        unit = words[size + 1]
        return size if unit[0].isupper() or not articled else size + 1
    return left if 0 < left < len(words) else size
