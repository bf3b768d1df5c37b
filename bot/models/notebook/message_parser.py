"""Pure: parse a message without a language model: what to note, and what to search."""

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from bot.models.notebook.keep_document import asks_to_keep, means_document
from bot.models.notebook.language import Language
from bot.models.notebook.languages.english import ENGLISH
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
    phrase_at,
    plain_words,
)
from bot.models.notebook.sentence import (
    SMALL_TALK,
    NotebookCommand,
    SmallTalk,
    asks,
    begins_with_question,
    is_statement,
    read_command,
    read_command_at_end,
    read_search,
    split_greeting,
)
from bot.models.notebook.splitting import MessageLine, split_lines, split_sentences
from bot.models.notebook.unsupported import UnsupportedKind, read_request, split_statement_and_question
from bot.models.notebook.whole_sentences import read_whole_sentence
from memory.normalization import normalize

MAX_QUERIES = 3
MAX_QUERY_CHARS = 1000
MAX_SENTENCES = 300
"""Maximum sentences that are classified; a longer message is a document, and all of it is noted."""

WITHOUT_FULL_STOP = "[\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff]"
"""Scripts that end no sentence with a dot and are not in LANGUAGES: Lao, Burmese, Khmer."""


LookupKind = Literal["about_me", "today"]


class Fact(NamedTuple):
    """One thing to note, as a person would have written it."""

    text: str
    """One line; blank if there is only a block."""
    target: Literal["core", "daily"] = "daily"
    block: str = ""
    """A list or code block below it, as written."""


class Reminder(NamedTuple):
    """A requested reminder."""

    request: str
    """Time and text in the person's words; blank if neither is given."""
    note: Fact
    """What to note if no reminder can be set; may be blank."""


class ParsedMessage(NamedTuple):
    """What a message asks for; if all is empty it was small talk."""

    language: Language = ENGLISH
    """Language of the answer."""
    facts: tuple[Fact, ...] = ()
    requested: tuple[Fact, ...] = ()
    """Those that the message asks to remember; most facts are only stated."""
    queries: tuple[str, ...] = ()
    keep: bool = False
    """Whether to keep the attached document."""
    unfinished: bool = False
    """Whether something is to be remembered, but the message does not say what."""
    reminders: tuple[Reminder, ...] = ()
    look: tuple[LookupKind, ...] = ()
    """Whole notes that are asked for: MEMORY.md, today's log."""
    forget: str = ""
    """What to remove from the notes."""
    cancel: str = ""
    """Number of a reminder to cancel; "" if not given."""
    unsupported: tuple[UnsupportedKind, ...] = ()
    """Other requests that the notebook cannot carry out itself."""
    chat: SmallTalk = "hello"
    """Kind of small talk."""


def parse_message(text: str, *, expecting_note: bool = False, with_document: bool = False) -> ParsedMessage:
    """Parse one message; `expecting_note` if it answers "What should I remember?".

    `with_document`: "remember this" means a document.
    """
    text = normalize("NFC", text)
    lines = split_lines(text)
    first = next((letter for letter in text if letter.isalpha()), "")
    several = sum(1 for line in text.splitlines() if line.strip()) > 2
    pieces = _MessageParser(
        language_of(text),
        casual=first.islower(),
        noting=expecting_note,
        several=several,
        with_document=with_document,
    )
    pieces.parse(lines)
    return pieces.result()


_Kind = Literal["note", "ask", "unsure", "chat", "empty command", "request", "remind", "look", "keep"]
"""`unsure`: a few words that may be a statement or a query."""


class _ParsedSentence(NamedTuple):
    kind: _Kind
    text: str
    core: bool = False
    block: str = ""
    unsupported: UnsupportedKind | None = None
    remind: str = ""
    look: LookupKind | None = None
    requested: bool = False
    """Whether it is, or was, a command to remember something."""


class _MessageParser:
    """Collects the results of a message's sentences."""

    def __init__(
        self, language: Language, *, casual: bool, noting: bool, several: bool, with_document: bool = False
    ) -> None:
        """`casual`: sentences begin with small letters. `noting`: note everything except clear questions.

        `several`: there are several lines, so it is more likely something to keep than something to do.
        """
        self.spoken = language
        self.casual = casual
        self.noting = noting
        self.several = several
        self.with_document = with_document
        self.pieces: list[_ParsedSentence] = []
        self.answer_in: Language | None = None
        self.greeted: Language | None = None
        self.chat: set[SmallTalk] = set()

    def parse(self, lines: Sequence[MessageLine]) -> None:
        at = 0
        while at < len(lines):
            line = lines[at]
            if len(self.pieces) > MAX_SENTENCES:
                self._note_all(lines[at:])
                return
            below = lines[at + 1] if at + 1 < len(lines) and _introduces(line, lines[at + 1]) else None
            if line.block:
                self._parse_block(line)
            elif below and below.items:
                self._parse_list(line.text, below)
            elif self._parse_line(line) and not below:
                # "Remember:", with the text on the lines below.
                self._note_all(lines[at + 1 :])
                return
            elif below:
                self._parse_code(below)
            at += 2 if below else 1

    def result(self) -> ParsedMessage:
        kinds = {piece.kind for piece in self.pieces}
        noting = self.noting or "note" in kinds or (self.several and "ask" not in kinds)
        unsure: _Kind = "note" if noting else "ask"
        pieces = [each._replace(kind=unsure) if each.kind == "unsure" else each for each in self.pieces]
        facts = [_to_fact(each) for each in pieces if _is_noted(each)]
        queries = self._merge_queries([each.text for each in pieces if each.kind == "ask"])
        return ParsedMessage(
            self.answer_in or (self.greeted if kinds == {"chat"} else None) or self.spoken,
            tuple(dict.fromkeys(facts)),
            self._requested_facts(pieces),
            tuple(dict.fromkeys(queries)),
            keep="keep" in kinds,
            unfinished="empty command" in kinds and not facts and not queries,
            reminders=tuple(
                Reminder(each.remind, Fact(format_fact(each.text) if each.text else "", block=each.block))
                for each in pieces
                if each.kind == "remind"
            ),
            look=tuple(dict.fromkeys(each.look for each in pieces if each.look)),
            forget=next((each.text for each in pieces if each.unsupported == "forget"), ""),
            cancel=next((each.text for each in pieces if each.unsupported == "cancel_reminder"), ""),
            unsupported=tuple(dict.fromkeys(each.unsupported for each in pieces if each.unsupported)),
            chat=max(self.chat, key=SMALL_TALK.index, default="hello"),
        )

    def _requested_facts(self, pieces: Sequence[_ParsedSentence]) -> tuple[Fact, ...]:
        """Return the facts that are asked to be remembered.

        A bare "Remember that" means the statements before it, or if there are none, those after it.
        """
        wanted, stated = list[_ParsedSentence](), list[_ParsedSentence]()
        wants_next = follows = ordered = False
        for piece in pieces:
            if ordered and piece.requested and self._continues(piece.text):
                piece = piece._replace(requested=False)  # "Write a poem. Keep in mind that it's for kids."
            ordered = piece.unsupported == "do"
            if piece.kind == "empty command":
                wants_next = piece.requested and not stated
                wanted += stated if piece.requested else ()
                stated, follows = [], False
            elif not _is_noted(piece):
                stated, wants_next, follows = [], False, False
            elif piece.requested or wants_next:
                wants_next = wants_next and not piece.requested
                wanted.append(piece)
                stated, follows = [], not piece.block
            elif follows and not piece.block and self._continues(piece.text):
                wanted[-1] = wanted[-1]._replace(text=f"{format_fact(wanted[-1].text)} {piece.text}")
            else:
                stated.append(piece)
                follows = False
        return tuple(dict.fromkeys(map(_to_fact, wanted)))

    def _continues(self, sentence: str) -> bool:
        """Return whether a sentence is about the same thing as the one before: "She lives in Oslo."."""
        return phrase_at(fold(sentence[:80]), 0, "pronouns", prefer=self.spoken, only=True) is not None

    def _parse_line(self, line: MessageLine) -> bool:
        """Read the sentences of one line; return whether it ends in a command that does not say what to note."""
        core = False
        for sentence in split_sentences(line.text, language=self.spoken, casual=self.casual):
            for piece in self._split_sentence(sentence, listed=line.listed):
                core = core or piece.core
                self.pieces.append(piece._replace(core=core))
        return bool(self.pieces) and self.pieces[-1].kind == "empty command"

    def _split_sentence(self, sentence: str, *, listed: bool) -> list[_ParsedSentence]:
        if len(self.pieces) > MAX_SENTENCES:
            return [_ParsedSentence("note", sentence)]
        rest = split_greeting(sentence, self.spoken).rest
        if parts := split_statement_and_question(rest, self.spoken):
            return [_ParsedSentence("note", parts[0]), self._classify(parts[1], listed=listed)]
        return [self._classify(sentence, listed=listed)]

    def _parse_block(self, line: MessageLine) -> None:
        """Read a list or code block without an introduction."""
        if line.items:
            alone = _MessageParser(self.spoken, casual=self.casual, noting=False, several=self.several)
            for item in line.items[: MAX_SENTENCES + 1]:
                alone._parse_line(MessageLine(item, listed=True))
            kinds = {piece.kind for piece in alone.pieces}
            if alone.noting or not kinds <= {"note", "unsure", "remind"} or len(line.items) == 1:
                for item in line.items:
                    self._parse_line(MessageLine(item, listed=True))
                return
            self.pieces += [piece for piece in alone.pieces if piece.kind == "remind"]
        self.pieces.append(_ParsedSentence("note", "", block=line.block))

    def _parse_list(self, header: str, below: MessageLine) -> None:
        core = False
        command = read_command(header, self.spoken)
        if command.asks if command else begins_with_question(header, self.spoken):
            self.pieces.append(
                _ParsedSentence("ask", " ".join([read_search(header, self.spoken) or header, *below.items]))
            )
            return
        request = read_request(header, self.spoken)
        if command:
            self._apply_command(command)
            header, core = command.rest, command.core
        if request and request.unsupported == "remind":
            text = f"{request.remind.rstrip(SEPARATORS)}: {'; '.join(below.items)}"
            self.pieces.append(_ParsedSentence("remind", header, block=below.block, remind=text))
        else:
            requested = command is not None and command.explicit
            self.pieces.append(_ParsedSentence("note", header, core, below.block, requested=requested))

    def _parse_code(self, below: MessageLine) -> None:
        """Read the code block that belongs to the sentence before it."""
        head = self.pieces[-1]
        if head.kind == "ask":
            self.pieces[-1] = head._replace(text=f"{head.text} {' '.join(below.block.split())}")
        elif head.kind in ("note", "unsure"):
            self.pieces[-1] = head._replace(kind="note", block=below.block)
        elif head.kind != "request":
            requested = head.kind == "empty command" and head.requested
            self.pieces.append(_ParsedSentence("note", "", head.core, below.block, requested=requested))

    def _note_all(self, lines: Sequence[MessageLine]) -> None:
        head = self.pieces[-1]
        core = head.core
        requested = head.kind == "empty command" and head.requested
        above: MessageLine | None = None
        for line in lines:
            if line.block and above and _introduces(above, line):
                self.pieces[-1] = self.pieces[-1]._replace(block=line.block)
            elif line.block:
                self.pieces.append(_ParsedSentence("note", "", core, line.block, requested=requested))
            elif line.listed:
                self.pieces.append(_ParsedSentence("note", line.text, core, requested=requested))
            else:
                cut = split_sentences(line.text, language=self.spoken, casual=self.casual)
                self.pieces.extend(_ParsedSentence("note", each, core, requested=requested) for each in cut)
            above = line

    def _classify(self, sentence: str, *, listed: bool) -> _ParsedSentence:
        if piece := self._classify_whole(sentence, listed=listed):
            return piece
        greeting = split_greeting(sentence, self.spoken)
        sentence = greeting.rest
        if not sentence:
            self.greeted = self.greeted or greeting.language
            if greeting.language:
                self.chat.add(greeting.kind)
            return _ParsedSentence("chat", "")
        command = read_command(sentence, self.spoken) or read_command_at_end(sentence, self.spoken)
        if self.with_document:
            if command and not command.asks and means_document(command.rest, command.language):
                self._apply_command(command)
                return _ParsedSentence("keep", "")
            if language := asks_to_keep(sentence, self.spoken):
                self.answer_in = self.answer_in or language
                return _ParsedSentence("keep", "")
        if command and not command.asks:
            self._apply_command(command)
            request = read_request(command.rest, self.spoken)
            if request and request.unsupported == "remind" and request.remind:
                return _ParsedSentence("remind", command.rest, remind=request.remind)
            kind: _Kind = "note" if command.rest else "empty command"
            return _ParsedSentence(kind, command.rest, command.core, requested=command.explicit)
        if not command and (piece := self._classify_whole(sentence, listed=listed)):
            return piece
        if not command and (piece := self._classify_request(sentence, listed=listed)):
            return piece
        query = read_search(sentence, self.spoken)
        if query is not None and not command:
            return _ParsedSentence("ask" if has_words(query) else "chat", query)
        if command or asks(sentence, self.spoken):
            return _ParsedSentence("ask", sentence)
        if greeting.denies:
            return _ParsedSentence("note", sentence, unsupported="wrong")
        return _ParsedSentence("note" if is_statement(sentence, self.spoken) else "unsure", sentence)

    def _classify_whole(self, sentence: str, *, listed: bool) -> _ParsedSentence | None:
        if self.noting or self.several or listed:
            return None
        found = read_whole_sentence(sentence, self.spoken)
        if found is None:
            return None
        asked, language = found
        self.answer_in = self.answer_in or language
        if asked == "about_me" or asked == "today":
            return _ParsedSentence("look", "", look=asked)
        return _ParsedSentence("request", "", unsupported=asked)

    def _classify_request(self, sentence: str, *, listed: bool) -> _ParsedSentence | None:
        request = read_request(sentence, self.spoken)
        if request is None:
            return None
        if request.unsupported == "remind":
            return _ParsedSentence("remind", request.rest, remind=request.remind)
        if self.noting or self.several or listed:
            return None
        if request.unsupported == "cancel_reminder":
            return _ParsedSentence("request", request.rest, unsupported=request.unsupported)
        named = has_words(request.rest) and self._names_something(request.rest)
        if request.unsupported in ("forget", "change") and named:
            return _ParsedSentence("ask", request.rest, unsupported=request.unsupported)
        return _ParsedSentence("request", "", unsupported=request.unsupported)

    def _apply_command(self, command: NotebookCommand) -> None:
        self.noting = True
        self.answer_in = self.answer_in or command.language

    def _merge_queries(self, asked: Sequence[str]) -> list[str]:
        queries: list[str] = []
        for text in asked:
            # "Anna's passport? Where is it?": the second question means nothing without the first.
            if queries and (len(queries) == MAX_QUERIES or not self._names_something(text)):
                queries[-1] = f"{queries[-1]} {text}"
            else:
                queries.append(text)
        return [clip(" ".join(query.split()), MAX_QUERY_CHARS) for query in queries]

    def _names_something(self, text: str) -> bool:
        words = plain_words(fold(text[:MAX_QUERY_CHARS]))
        return self.spoken.spacing != "words" or not own_words(self.spoken).issuperset(words)


def _is_noted(piece: _ParsedSentence) -> bool:
    return piece.kind == "note" and has_words(piece.text + piece.block)


def _to_fact(piece: _ParsedSentence) -> Fact:
    text = format_fact(piece.text) if piece.text else ""
    return Fact(text, "core" if piece.core else "daily", piece.block)


def _introduces(line: MessageLine, below: MessageLine) -> bool:
    """Return whether the list or code below belongs to a line: code always, a list after a colon."""
    if line.block or not below.block:
        return False
    return not below.items or (not line.listed and line.text[-1] in ":：")


# -- formatting ------------------------------------------------------------------------------------------


def format_fact(text: str) -> str:
    """Return the fact as it is written in a note: one line, capitalised, with a full stop after a final word.

    Text with code and headings stay unchanged.
    """
    text = " ".join(text.split())
    return text if re.search(_CODE, text) or re.match(r"#{1,6} ", text) else _add_full_stop(_capitalize(text))


_CODE = r"(?:^|\s)(?:--?[a-z]|[~.]?/\w)|[`{}<>\\|]"


def _capitalize(text: str) -> str:
    first = text[0]
    word = text.split(maxsplit=1)[0].rstrip(ENDS + CLOSERS + SEPARATORS)
    letters = re.sub("['’-]", "", word)
    # Leave "iPhone", "www.example.org", "x2" and Georgian, whose capitals begin no sentence, unchanged.
    if (
        not first.islower()
        or not letters.isalpha()
        or letters[1:] != letters[1:].lower()
        or "ა" <= first <= "ჿ"
    ):
        return text
    capital = first.upper()
    return capital + text[1:] if capital.lower() == first else text


_LABEL = r"[:：](?:\s|(?<=：))"
_HIDDEN = (
    r"(?i)\b(?:password|passphrase|passcode|passwort|kennwort|contraseña|mot de passe|senha|пароль)\b"
    "|密码|密碼|パスワード|비밀번호|पासवर्ड"
)


def _add_full_stop(text: str) -> str:
    """Add a full stop only after an ordinary word: it would look like part of a value, an address or code."""
    word = text.rsplit(maxsplit=1)[-1]
    language = language_by_script(text[:2000]) or ENGLISH
    if language.spacing == "none":
        ordinary = _is_word(word[-1]) and not re.search(r"[0-9_][A-Za-z]+$", word)
    else:
        ordinary = all(map(_is_word, re.split("['’]|(?<=.)-(?=.)", word, maxsplit=1)))
    if (
        not ordinary
        or re.search(_LABEL, text)
        or re.search(_HIDDEN, text)
        or re.match(WITHOUT_FULL_STOP, text[-1])
    ):
        return text
    return text + language.full_stop


def _is_word(text: str) -> bool:
    return text != "" and all(letter.isalpha() or is_mark(letter) for letter in text)
