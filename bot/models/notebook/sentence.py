"""Pure: classify a sentence: a command to note or to search, a question, a statement, small talk."""

import re
from typing import Literal, NamedTuple, get_args

from bot.models.notebook.language import Language
from bot.models.notebook.languages.chinese import CHINESE
from bot.models.notebook.languages.english import ENGLISH
from bot.models.notebook.languages.japanese import JAPANESE
from bot.models.notebook.phrases import (
    CLOSERS,
    ENDS,
    FULL_STOPS,
    OPENERS,
    SEPARATORS,
    Match,
    body_end,
    continues_word,
    fold,
    has_words,
    is_mark,
    is_question,
    phrase_at,
    phrase_ending_at,
    plain_words,
    skip,
)

_ADDRESS = r"https?://|www\."

QUOTATION_MARKS = frozenset("\"'“”„‟‘’‚«»‹›「」『』")


class NotebookCommand(NamedTuple):
    """A command to note something, without the words of the command."""

    rest: str
    language: Language
    core: bool = False
    asks: bool = False
    """Whether it was "remember when we …": the rest is a question after all."""
    explicit: bool = True
    """Whether it asks to remember: not "by the way", a wish, or a quoted command."""


def read_command(text: str, spoken_language: Language) -> NotebookCommand | None:
    """Read "Could you please remember for ever that …"; None if it is no command to note something."""
    head = fold(text[:400])
    quoted = text.lstrip(SEPARATORS + "¿¡*")[:1] in QUOTATION_MARKS
    at, asked, core, intends = skip(head, 0, SEPARATORS + "¿¡*" + OPENERS), False, False, False
    while (verb := phrase_at(head, at, "remember", prefer=spoken_language)) is None:
        opening = max(
            (
                m
                for kind in ("could_you", "please", "before", "for_ever")
                if (m := phrase_at(head, at, kind, prefer=spoken_language))
            ),
            key=lambda m: m.end,
            default=None,
        )
        if opening is None:
            return None
        asked = asked or opening.phrase in map(fold, opening.language.could_you)
        intends = intends or (opening.phrase in opening.language.intending and not asked)
        core = core or opening.phrase in opening.language.for_ever
        at = skip(head, opening.end, SEPARATORS + "-–—")
    language = verb.language
    core = core or verb.phrase in language.never_forget
    explicit = not quoted and verb.phrase not in language.mentions
    at = verb.end
    link = ""

    def step(kind: str) -> bool:
        nonlocal at, link
        begin = skip(head, at, " \t,，、،")
        match = phrase_at(head, begin, kind, prefer=language, only=True)
        if match is None:
            return False
        ends_here = match.end == len(head) or not (head[match.end].isalnum() or is_mark(head[match.end]))
        if kind != "that" and language.spacing != "words" and not ends_here:
            linked = phrase_at(head, match.end, "that", prefer=language, only=True)
            if linked is None and phrase_at(head, match.end, kind, prefer=language, only=True) is None:
                return False
        if kind == "this" and head[skip(head, match.end, " ") :][:1] not in ("", *":：,，.。-–—、!！?？"):
            return False
        at, link = match.end, match.phrase
        return True

    def adverbs() -> None:
        nonlocal core
        please = "please" if language.spacing == "words" else "please_end"
        while True:
            if step("for_ever"):
                core = True
            elif not step(please):
                return

    adverbs()
    step("this")
    adverbs()
    linked = step("that")
    begin = skip(head, at, SEPARATORS)
    colon = any(mark in head[at:begin] for mark in ":：") or verb.phrase[-1] in ":："
    if head.startswith(("- ", "– ", "— "), begin):
        begin = skip(head, begin + 1, SEPARATORS)
    rest = text[begin:]
    if language.verb_last and language.spacing != "words" and begin == at and has_words(rest):
        return None
    if intends and not (linked or colon):  # "I want to remember this moment"
        explicit = False
    if not has_words(rest) or _is_empty_reference(rest, language):
        return NotebookCommand("", language, core, explicit=explicit)
    question = is_question(text)
    if verb.phrase in language.recall and not colon:
        doubtful = (
            question and not asked
            if linked
            else _is_recall_question(rest, language, question=question, asked=asked)
        )
        if doubtful:
            return NotebookCommand(text, language, asks=True)
    if asked and question:
        rest = _strip_question(rest, language)
    please = phrase_ending_at(fold(rest), body_end(rest), "please", prefer=language, only=True)
    if please and rest[: please.start].rstrip().endswith((",", "，", "،")):
        rest = rest[: please.start].rstrip(SEPARATORS)
    if linked and link in language.verb_last_after:
        rest = _main_clause(rest, language) or f"{link} {rest}"
    return NotebookCommand(rest, language, core, explicit=explicit)


def _main_clause(clause: str, language: Language) -> str:
    """Return "ich wohne in Köln" for "ich in Köln wohne"; "" for a clause of which that is not certain."""
    end = body_end(clause)
    words = clause[:end].split()
    certain = (
        len(words) > 2
        and fold(words[0]) in language.verb_second
        and fold(words[-1]) in language.verbs
        and not any(word[-1] in SEPARATORS for word in words)
    )
    return " ".join([words[0], words[-1], *words[1:-1]]) + clause[end:] if certain else ""


def _is_empty_reference(rest: str, language: Language) -> bool:
    bare = fold(rest[: body_end(rest)]).strip()
    return len(bare) < 20 and (
        bare in language.this or bare in language.please_end or bare in language.please
    )


def _is_recall_question(rest: str, language: Language, *, question: bool, asked: bool) -> bool:
    """Return whether "remember …" is a question here."""
    if ":" in rest or "：" in rest:
        return False
    if language.spacing != "words":
        return asks(rest, language)
    if phrase_at(fold(rest[:80]), 0, "ask_first", prefer=language, only=True):
        return True
    return question and not (asked and not set(language.verbs).isdisjoint(plain_words(fold(rest[:400]))))


def _strip_question(rest: str, language: Language) -> str:
    end = body_end(rest)
    folded = fold(rest)
    for kind in ("please_end", "ask_last"):
        if language.spacing == "none" and (
            match := phrase_ending_at(folded, end, kind, prefer=language, only=True)
        ):
            end = match.start
    return rest[:end].rstrip(SEPARATORS)


def read_command_at_end(text: str, spoken_language: Language) -> NotebookCommand | None:
    """Read "…, please remember that", and commands at the end of the sentence: 「…と覚えておいて」."""
    end = body_end(text)
    cut = max(0, end - 80)
    tail = fold(text[cut:end])
    at, polite = len(tail), False
    while (verb := phrase_ending_at(tail, at, "remember_end", prefer=spoken_language)) is None:
        ending = phrase_ending_at(
            tail, at, "please_end", prefer=spoken_language, only=True
        ) or phrase_ending_at(tail, at, "please", prefer=spoken_language, only=True)
        if ending is None:
            return None
        polite = True
        at = len(tail[: ending.start].rstrip(SEPARATORS))
    if is_question(text) and not polite:
        return None
    language, core = verb.language, False
    explicit = verb.phrase not in language.mentions and QUOTATION_MARKS.isdisjoint(text[end:])
    at = verb.start
    while match := phrase_ending_at(
        tail, len(tail[:at].rstrip()), "for_ever", prefer=language, only=True
    ) or phrase_ending_at(tail, len(tail[:at].rstrip()), "please", prefer=language, only=True):
        core = core or match.phrase in language.for_ever
        at = match.start
    if not language.verb_last:
        apart = tail[:at].rstrip()[-1:] in ",，、،;；-–—" or (
            language.spacing == "none" and tail[at - 1 : at] == " "
        )
        if at + cut and not apart:
            return None
    elif language.spacing == "words" and at and not tail[at - 1].isspace():
        return None
    if link := phrase_ending_at(tail, len(tail[:at].rstrip()), "that_end", prefer=language, only=True):
        at = link.start
    while match := phrase_ending_at(tail, len(tail[:at].rstrip()), "for_ever", prefer=language, only=True):
        core, at = True, match.start
    rest = text[: cut + at].rstrip(SEPARATORS + "-–—")
    if not has_words(rest) or _is_empty_reference(rest, language):
        return NotebookCommand("", language, core, explicit=explicit)
    return NotebookCommand(rest, language, core, explicit=explicit)


def read_search(text: str, spoken_language: Language) -> str | None:
    """Return the query of "search for …" and the like; None if it is no such command."""
    head = fold(text[:200])
    if is_idiom(head, spoken_language):
        return None
    at = skip(head, 0, SEPARATORS + "¡" + OPENERS)
    for language in dict.fromkeys((spoken_language, ENGLISH)):
        if (
            language is ENGLISH
            and spoken_language.spacing == "words"
            and not spoken_language.script
            and spoken_language is not ENGLISH
        ):
            break
        begin = at
        while True:
            if match := phrase_at(head, begin, "search", prefer=language, only=True):
                if match.language.spacing != "none" or len(text) < 40:
                    return text[match.end :].lstrip(SEPARATORS + "-–—")
                break
            opening = next(
                filter(
                    None,
                    (
                        phrase_at(head, begin, kind, prefer=language, only=True)
                        for kind in ("could_you", "please", "before")
                    ),
                ),
                None,
            )
            if opening is None:
                break
            begin = skip(head, opening.end, SEPARATORS)
    end = body_end(text)
    cut = max(0, end - 60)
    tail = fold(text[cut:end])
    at = len(tail)
    while not (match := phrase_ending_at(tail, at, "search_end", prefer=spoken_language, only=True)):
        ending = phrase_ending_at(tail, at, "please_end", prefer=spoken_language, only=True)
        if ending is None:
            return None
        at = len(tail[: ending.start].rstrip(SEPARATORS))
    return text[: cut + match.start].rstrip(SEPARATORS)


def is_idiom(folded: str, language: Language) -> bool:
    return bool(phrase_at(folded, skip(folded, 0, SEPARATORS), "idioms", prefer=language, only=True))


def begins_with_question(text: str, language: Language) -> Match | None:
    head = fold(text[:200])
    at = skip(head, 0, SEPARATORS + "¿¡" + OPENERS)
    if is_idiom(head[at:], language):
        return None
    for _ in range(3):
        asking = phrase_at(head, at, "ask_first", prefer=language, only=True) or phrase_at(
            head, at, "search", prefer=language, only=True
        )
        if asking:
            return asking
        opening = phrase_at(head, at, "before", prefer=language, only=True) or phrase_at(
            head, at, "please", prefer=language, only=True
        )
        if opening is None:
            return None
        at = skip(head, opening.end, SEPARATORS)
    return None


def asks(text: str, language: Language) -> bool:
    if is_question(text) or text.lstrip(OPENERS + " ").startswith("¿"):
        return True
    folded = fold(text)
    end = body_end(text)
    first = begins_with_question(text, language)
    if first and not (first.phrase in language.conjunctions and _is_subordinate(text, first, language)):
        return True
    masked = folded
    for idiom in language.idioms:
        if idiom in masked:
            masked = masked.replace(idiom, " " * len(idiom))
    if any(contains_phrase(masked, phrase, language) for phrase in language.ask_anywhere):
        return True
    if any(masked.rstrip().endswith(phrase) for phrase in language.ask_last if phrase[-1] in FULL_STOPS):
        return True
    while ending := phrase_ending_at(folded, end, "please_end", prefer=language, only=True):
        if phrase_ending_at(masked, end, "ask_last", prefer=language, only=True):
            return True
        end = len(folded[: ending.start].rstrip(SEPARATORS))
    last = phrase_ending_at(masked, end, "ask_last", prefer=language, only=True)
    return last is not None and last.start > 0


def _is_subordinate(text: str, first: Match, language: Language) -> bool:
    """Distinguish "When I was little, we lived in Bergen." from a question without a question mark."""
    ending = text.rstrip(CLOSERS + " ")[-1:]
    if ending in "!！":
        return True
    comma, stop = "," in text, ending in FULL_STOPS
    if comma and stop:
        return True
    after = fold(text[: first.end + 80])[first.end :]
    following = plain_words(after)[:1]
    verbal = after.startswith("'") or (following and following[0] in {*language.verbs, *language.ask_first})
    return (comma or stop) and not verbal


def contains_phrase(folded: str, phrase: str, language: Language) -> bool:
    """Return whether a phrase stands in a lower-case text, as whole words if the language has spaces."""
    at = folded.find(phrase)
    while at >= 0:
        end = at + len(phrase)
        begins = language.spacing == "none" or not (
            at and (folded[at - 1].isalnum() or is_mark(folded[at - 1]))
        )
        if begins and not (
            continues_word(folded, end)
            if language.spacing == "words"
            else is_mark(folded[end : end + 1] or " ")
        ):
            return True
        at = folded.find(phrase, at + 1)
    return False


_LABELLED = r"[^:：]*[^\W_][^:：]*(?::\s+|：\s*)\S"


def is_statement(text: str, language: Language) -> bool:
    """Return whether a sentence without a question states something, rather than just naming it."""
    if re.search(_ADDRESS, text) or re.match(_LABELLED, text[:400]):
        return True
    folded = fold(text[:1000])
    if language.spacing == "none":
        return _states_unspaced(text, folded, language)
    words = [word for word in text[:1000].split() if has_words(word)]
    stopped = text.rstrip(CLOSERS + " ")[-1:] in FULL_STOPS + "!！"
    spoken = [word.strip(OPENERS + CLOSERS + ENDS + SEPARATORS) for word in folded.split()]
    verbal = not set(language.verbs).isdisjoint(spoken)
    if language.spacing == "particles":
        verbal = verbal or any(word.endswith(language.verbs) for word in spoken if word)
        verbal = verbal or any(word[-1] in language.topics for word in spoken[:-1] if len(word) > 1)
    subject = phrase_at(folded, skip(folded, 0, OPENERS), "subjects", prefer=language, only=True)
    if subject and len(words) >= 2 and (subject.end < body_end(folded)):
        return True
    if len(words) >= 5 or (len(words) >= 3 and (verbal or stopped)):
        return True
    if len(words) == 4:
        return text[0].isupper() or not text[0].isalpha()
    return len(words) == 2 and verbal and language.spacing == "particles"


def _states_unspaced(text: str, folded: str, language: Language) -> bool:
    end = body_end(folded)
    idiom = is_idiom(folded, language)
    subject = phrase_at(folded, 0, "subjects", prefer=language, only=True)
    if end < 3:
        return False
    if (
        subject
        and not idiom
        and subject.end < end
        and folded[subject.end] not in "的の"
        and "ของ" not in folded[:16]
    ):
        return True
    verbal = any(verb in folded for verb in language.verbs) or any(
        mark in language.topics and 0 < at < end - 1 and not re.match("[ぁ-ゖ]", folded[at - 1])
        for at, mark in enumerate(folded[:60])
    )
    if end >= 4 and (verbal or text.rstrip(CLOSERS + " ")[-1:] in FULL_STOPS):
        return True
    return end >= (12 if language is CHINESE else 20 if language is JAPANESE else 30)


DENIAL_ENDS = ",，、،;；:：.。!！–—"


SmallTalk = Literal["fine", "hello", "thanks", "goodbye", "good_night"]
SMALL_TALK: tuple[SmallTalk, ...] = get_args(SmallTalk)
"""In ascending priority: the last one counts if a message has several, as in "thanks, good night"."""


class Greeting(NamedTuple):
    """A sentence split from the small talk that it begins with."""

    rest: str
    language: Language | None = None
    """Language of the small talk."""
    kind: SmallTalk = "hello"
    denies: bool = False
    """Whether it begins with a "no" that belongs to the rest."""


def _small_talk(match: Match) -> SmallTalk:
    language = match.language
    if match.phrase in language.good_night:
        return "good_night"
    if match.phrase in language.goodbye:
        return "goodbye"
    if match.phrase in language.thanks:
        return "thanks"
    return "fine" if match.phrase in language.fine else "hello"


def split_greeting(text: str, language: Language) -> Greeting:
    if not has_words(text):
        return Greeting("")
    folded = fold(text)
    at, greeted = 0, None
    before_denial: int | None = None
    denies = False
    kinds: set[SmallTalk] = set()
    while True:
        begin = at
        while begin < len(folded) and not (folded[begin].isalnum() or is_mark(folded[begin])):
            begin += 1
        if begin == len(folded):
            return Greeting("", greeted, max(kinds, key=SMALL_TALK.index, default="hello"))
        match = phrase_at(folded, begin, "chat", prefer=language)
        if match is None:
            break
        if before_denial is None and match.phrase in match.language.denials:
            before_denial = at
        greeted = greeted or match.language
        kinds.add(_small_talk(match))
        at = match.end
        denies = denies or (before_denial is not None and folded[at : at + 1] in tuple(DENIAL_ENDS))
    if before_denial is not None and denies:
        at = before_denial
    kept = 0
    for stop in range(at, 0, -1):
        if folded[stop : stop + 1] in (",", "，", "!", "！", "、", "،", ".", "。", "–", "—"):
            kept = stop + 1
            break
    rest = text[kept:].lstrip(SEPARATORS + "-–—") if kept else text
    return Greeting(rest, greeted if kept else None, denies=denies)
