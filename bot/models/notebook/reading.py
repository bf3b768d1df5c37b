"""Pure: read a message without a language model: what is to be noted, and what is asked."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from bot.models.notebook.language import Language
from bot.models.notebook.languages.english import ENGLISH
from bot.models.notebook.lines import Line, lines_of, sentences
from bot.models.notebook.phrases import (
    CLOSERS,
    ENDS,
    SEPARATORS,
    clip,
    fold,
    has_words,
    is_mark,
    language_by_script,
    language_of,
    own_words,
    plain_words,
)
from bot.models.notebook.sentence import (
    Command,
    asks,
    begins_with_question,
    read_command,
    read_command_at_end,
    read_search,
    states,
    without_greeting,
)

MAX_QUERIES = 3
MAX_QUERY_CHARS = 1000
MAX_LISTED_CHARS = 300
"""A list of things is noted on one line with what heads it, if the line is not longer than this."""

MAX_WEIGHED = 300
"""Sentences that are weighed; what comes after so many is a document, and all of it is noted."""

WITHOUT_FULL_STOP = "[\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff]"
"""Scripts that end no sentence with a dot and are no entry of LANGUAGES: Lao, Burmese, Khmer."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing to be noted, as a person would have written it."""

    text: str
    target: Literal["core", "daily"] = "daily"


@dataclass(frozen=True, slots=True)
class Reading:
    """What a message wants; where all is empty it was small talk."""

    language: Language = ENGLISH
    """In which to answer."""
    facts: tuple[Fact, ...] = ()
    queries: tuple[str, ...] = ()
    unfinished: bool = False
    """Something is to be remembered, but the message does not say what."""


def read(text: str, *, expecting_note: bool = False) -> Reading:
    """Read one message; `expecting_note` where it answers "What should I remember?"."""
    text = unicodedata.normalize("NFC", text)
    lines = lines_of(text)
    first = next((letter for letter in text if letter.isalpha()), "")
    pieces = _Pieces(language_of(text), casual=first.islower(), noting=expecting_note)
    pieces.take(lines)
    return pieces.reading(several_lines=len(lines) > 2)


_Kind = Literal["note", "ask", "unsure", "chat", "empty command"]
"""`unsure`: a few words that could be told or asked."""


class _Piece(NamedTuple):
    kind: _Kind
    text: str
    core: bool = False


class _Pieces:
    """Collects what the sentences of a message are."""

    def __init__(self, spoken: Language, *, casual: bool, noting: bool) -> None:
        """`casual`: sentences begin with small letters. `noting`: all is noted, but for what is plainly a question."""
        self.spoken = spoken
        self.casual = casual
        self.noting = noting
        self.pieces: list[_Piece] = []
        self.answer_in: Language | None = None

    def take(self, lines: Sequence[Line]) -> None:
        at = 0
        while at < len(lines):
            if len(self.pieces) > MAX_WEIGHED:
                self._note_all(lines[at:])
                return
            items = _list_below(lines, at)
            if items:
                self._take_list(lines[at].text, items)
            elif self._take_line(lines[at].text):
                # "Remember:" and what is to be remembered on the lines below.
                self._note_all(lines[at + 1 :])
                return
            at += 1 + len(items)

    def reading(self, *, several_lines: bool) -> Reading:
        kinds = {piece.kind for piece in self.pieces}
        noting = self.noting or "note" in kinds or (several_lines and "ask" not in kinds)
        unsure: _Kind = "note" if noting else "ask"
        pieces = [each._replace(kind=unsure) if each.kind == "unsure" else each for each in self.pieces]
        facts = [
            Fact(finish(each.text), "core" if each.core else "daily")
            for each in pieces
            if each.kind == "note" and has_words(each.text)
        ]
        queries = self._queries([each.text for each in pieces if each.kind == "ask"])
        return Reading(
            self.answer_in or self.spoken,
            tuple(dict.fromkeys(facts)),
            tuple(dict.fromkeys(queries)),
            unfinished="empty command" in kinds and not facts and not queries,
        )

    def _take_line(self, line: str) -> bool:
        """Take the sentences of one line; true where it ends in a command that says not what to note."""
        core = False
        for sentence in sentences(line, language=self.spoken, casual=self.casual):
            piece = self._weigh(sentence) if len(self.pieces) <= MAX_WEIGHED else _Piece("note", sentence)
            core = core or piece.core
            self.pieces.append(piece._replace(core=core))
        return bool(self.pieces) and self.pieces[-1].kind == "empty command"

    def _take_list(self, header: str, items: Sequence[str]) -> None:
        core = False
        command = read_command(header, self.spoken)
        if command.asks if command else begins_with_question(header, self.spoken):
            self.pieces.append(_Piece("ask", " ".join([read_search(header, self.spoken) or header, *items])))
            return
        if command:
            self._obey(command)
            header, core = command.rest, command.core
        wide = header.endswith("：")
        joined = (
            header
            + ("" if wide else " ")
            + ("、" if wide else ", ").join(item.rstrip(",;、；") for item in items)
        )
        names = not any(item[0] == "[" or item[-1] in ENDS or states(item, self.spoken) for item in items)
        if header and names and len(joined) <= MAX_LISTED_CHARS:
            items, header = [joined], ""
        self.pieces.extend(_Piece("note", each, core) for each in filter(None, [header, *items]))

    def _note_all(self, lines: Sequence[Line]) -> None:
        core = self.pieces[-1].core
        for line in lines:
            cut = (
                [line.text] if line.listed else sentences(line.text, language=self.spoken, casual=self.casual)
            )
            self.pieces.extend(_Piece("note", each, core) for each in cut)

    def _weigh(self, sentence: str) -> _Piece:
        sentence, greeted = without_greeting(sentence, self.spoken)
        if greeted and not self.answer_in and greeted is not ENGLISH:
            self.answer_in = greeted
        if not sentence:
            return _Piece("chat", "")
        command = read_command(sentence, self.spoken) or read_command_at_end(sentence, self.spoken)
        if command and not command.asks:
            self._obey(command)
            return _Piece("note" if command.rest else "empty command", command.rest, command.core)
        query = read_search(sentence, self.spoken)
        if query is not None and not command:
            return _Piece("ask" if has_words(query) else "chat", query)
        if command or asks(sentence, self.spoken):
            return _Piece("ask", sentence)
        return _Piece("note" if states(sentence, self.spoken) else "unsure", sentence)

    def _obey(self, command: Command) -> None:
        self.noting = True
        self.answer_in = self.answer_in or command.language

    def _queries(self, asked: Sequence[str]) -> list[str]:
        queries: list[str] = []
        for text in asked:
            # "Anna's passport? Where is it?": the second question says nothing without the first.
            if queries and (len(queries) == MAX_QUERIES or not self._names_something(text)):
                queries[-1] = f"{queries[-1]} {text}"
            else:
                queries.append(text)
        return [clip(" ".join(query.split()), MAX_QUERY_CHARS) for query in queries]

    def _names_something(self, text: str) -> bool:
        words = plain_words(fold(text[:MAX_QUERY_CHARS]))
        return self.spoken.spacing != "words" or not own_words(self.spoken).issuperset(words)


def _list_below(lines: Sequence[Line], at: int) -> list[str]:
    """The items of the list that a line heads: it ends in a colon and they follow."""
    if lines[at].listed or lines[at].text[-1] not in ":：":
        return []
    items: list[str] = []
    for line in lines[at + 1 :]:
        if not line.listed:
            break
        items.append(line.text)
    return items


# -- how it is written down ------------------------------------------------------------------------------


def finish(text: str) -> str:
    """The fact as it stands in a note: on one line, a capital first, a full stop last where its script has them."""
    return _with_full_stop(_with_capital(" ".join(text.split())))


def _with_capital(text: str) -> str:
    first = text[0]
    word = text.split(maxsplit=1)[0].rstrip(ENDS + CLOSERS + SEPARATORS)
    plain = re.sub("['’-]", "", word)
    # "iPhone", "www.example.org", "x2" and Georgian, whose capitals begin no sentence, stay as they are.
    if not first.islower() or not plain.isalpha() or plain[1:] != plain[1:].lower() or "ა" <= first <= "ჿ":
        return text
    capital = first.upper()
    return capital + text[1:] if capital.lower() == first else text


def _with_full_stop(text: str) -> str:
    last = text[-1]
    inner = text.rstrip(CLOSERS)[-1:]
    if inner in ENDS or not (last.isalnum() or last in CLOSERS or last in "%°€$£¥`" or is_mark(last)):
        return text
    # A dot behind a password, an address or the value of "Wifi: hunter2" would look like a part of it.
    word = text.rsplit(maxsplit=1)[-1].rstrip(CLOSERS)
    address = "://" in word or word.startswith("www.") or any(sign in word[:-1] for sign in "@_#&*+=<>|~^/\\")
    secret = len(word) >= 6 and word.isascii() and word.isalnum() and not (word.isalpha() or word.isdigit())
    value = re.search(r"[:：=]\s*\S+$", text[-80:])
    if address or secret or value or re.match(WITHOUT_FULL_STOP, inner):
        return text
    return text + (language_by_script(text[:2000]) or ENGLISH).full_stop
