"""Find phrases that name a time zone: "EST", "Tokyo time", "heure de Paris", 北京时间."""

import re
from collections.abc import Callable, Iterator
from functools import cache
from zoneinfo import available_timezones

from bot.timeparse.ambiguity import zone_names as names
from memory.dates.folding import fold_letters

_MAX_PLACE_WORDS = 3
"""Maximum words of a place name."""
_WORD = r"[^\W\d_]+(?:['’-][^\W\d_]+)*"
_LAST_WORDS = re.compile(rf"(?:{_WORD}[ -]){{0,{_MAX_PLACE_WORDS - 1}}}{_WORD}$")
_WHOLE = (
    re.compile(r"(?<=[0-9]:[0-9]{2})(?:[Zz](?!\w)|\+[0-9]{1,2}(?::?[0-9]{2})?(?![0-9]))"),
    re.compile(
        r"\b(?:Africa|America|Antarctica|Arctic|Asia|Atlantic|Australia|Europe|Indian|Pacific|Etc)/[A-Z][\w+/-]+"
    ),
    re.compile(
        r"\b(?:(?:UTC|GMT|utc|gmt)(?:\s?[+-][0-9]{1,2}(?::[0-9]{2})?)?"
        r"|(?:BST|CES?T|MES?Z|EES?T|WES?T|[ECMPH][SD]T|AK[SD]T|ET|PT|JST|KST|MSK|IST|HKT|SGT|A[CE][SD]T|AWST|NZ[SD]T|BRT"
        r"|cest|mesz|pst|pdt|edt|cdt|mdt|jst|msk|aest|МСК|мск)(?:[+-][0-9]{1,2})?"
        r"|(?:(?<=[AaPp][Mm] )|(?<=[AaPp]\.[Mm]\. ))(?:CT|MT|est|cst|mst|bst|ist|cet|et|pt))(?!\w)"
    ),
    re.compile(r"\b(?:orts|welt|ostküsten|westküsten)zeit\b|\blocal time\b|\blokale tijd\b", re.IGNORECASE),
    re.compile(
        r"\b(?:по\s)?(?:\w+(?:ому|ему)\sвремени|\w+ого\sвремени|времени\s[А-Я]\w+)\b"
        rf"|\bпо\s(?:{names.RUSSIAN_PLACES})\w*",
        re.IGNORECASE,
    ),
    re.compile(rf"(?:{names.CHINESE})(?:标准|標準|夏令)?(?:时间|時間)"),
    re.compile(rf"(?:{names.JAPANESE})(?:標準)?時間(?:の|で)?"),
    re.compile(rf"(?:{names.KOREAN})\s?(?:표준)?시간(?:으로|에|\s기준)?"),
    re.compile(rf"(?:{names.HINDI})\s(?:के\s)?(?:समय|टाइम)(?:\s(?:के\s)?अनुसार)?"),
    re.compile(r"بتوقيت\s\w+"),
    re.compile(rf"\b{_WORD}\ssaat(?:iyle|i\sile)\b", re.IGNORECASE),
    re.compile(rf"\bczasu\s{_WORD}(?:iego|nego)\b", re.IGNORECASE),
)
"""Names a zone in any context."""
_ENGLISH = re.compile(r"[ -](?:(?:standard|daylight|summer|winter|local) )?time\b", re.IGNORECASE)
_GERMAN = re.compile(r"[ -](?:sommer|winter)?zeit\b|[ -]tijd\b", re.IGNORECASE)
_GERMAN_ENDINGS = ("er", "r", "e", "en", "")
_ROMANCE = re.compile(
    r"(?:\bà l['’]|\b)(?:heure|hora|horario|horário|ora) "
    r"(?:(?P<of>de l['’]|dell['’]|d['’]|de la |della |del |du |de |do |da |di |en |em )?)"
    rf"(?P<name>{_WORD}(?: {_WORD}){{0,2}})",
    re.IGNORECASE,
)


def find_zone_phrases(text: str) -> Iterator[tuple[int, int]]:
    """Yield the span of each phrase that names a time zone."""
    for pattern in _WHOLE:
        yield from (match.span() for match in pattern.finditer(text))
    for match in _ENGLISH.finditer(text):
        if (start := _start_of_place(text, match.start(), _is_place)) is not None:
            yield start, match.end()
    for match in _GERMAN.finditer(text):
        if (start := _start_of_place(text, match.start(), _is_german_adjective)) is not None:
            yield start, match.end()
    for match in _ROMANCE.finditer(text):
        words = match["name"].split(" ")
        if length := _known_length(words) if match["of"] else _adjective_length(words):
            yield match.start(), match.start("name") + len(" ".join(words[:length]))


def _start_of_place(text: str, end: int, is_known: Callable[[str], bool]) -> int | None:
    """Return the start of the longest known place that ends at `end`."""
    found = _LAST_WORDS.search(text, max(0, end - 60), end)
    if found is None:
        return None
    starts = [found.start(), *(found.start() + m.end() for m in re.finditer("[ -]", found[0]))]
    return next((start for start in starts if is_known(text[start:end])), None)


def _is_place(name: str) -> bool:
    return _folded(name) in _places()


def _is_german_adjective(name: str) -> bool:
    """Return whether it is "Londoner", "mitteleuropäische", or a similar capitalised word."""
    folded = _folded(name)
    stems = {folded.removesuffix(ending) for ending in _GERMAN_ENDINGS}
    return not stems.isdisjoint(_places()) or bool(re.fullmatch(r"[A-ZÄÖÜ][^\W\d_]{3,}(?:er|se)", name))


def _known_length(words: list[str]) -> int:
    """Return the length in words of the place after "heure de": a known one, or any capitalised one."""
    for length in range(len(words), 0, -1):
        if _is_place(" ".join(words[:length])):
            return length
    return next((at for at, word in enumerate(words) if not word[0].isupper()), len(words))


def _adjective_length(words: list[str]) -> int:
    """Return the length in words of "française" in "heure française"; 0 if it is no such adjective."""
    return next((n for n in (2, 1) if _folded(" ".join(words[:n])) in _adjectives()), 0)


def _folded(name: str) -> str:
    return fold_letters(name).replace("-", " ")


@cache
def _places() -> frozenset[str]:
    zones = (name.rsplit("/", 1)[-1] for name in available_timezones())
    found = {_folded(zone.replace("_", " ")) for zone in zones} - set(names.NOT_PLACES.split("/"))
    return frozenset(found | set(fold_letters(names.PLACES).split("/")))


@cache
def _adjectives() -> frozenset[str]:
    return frozenset(fold_letters(names.ADJECTIVES_AFTER_HOUR).split("/"))
