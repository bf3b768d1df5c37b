"""Pure: compose the notebook's answer from tool results, as Markdown."""

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any, Literal, NamedTuple

from bot.fact_history import ToldPassage, find_histories
from bot.models.notebook.agenda import is_reminder_request
from bot.models.notebook.forget_command import words_to_forget
from bot.models.notebook.language import Language
from bot.models.notebook.paraphrases import hits_with_phrase
from bot.models.notebook.quoting import escape_line, quote_line, share_of_words
from bot.models.notebook.said import format_said
from bot.models.notebook.sentence import SmallTalk
from bot.models.notebook.unsupported import UnsupportedKind
from bot.note_refs import format_note_ref
from bot.sanitize import one_line, strip_controls
from bot.timeparse import TimeParseError, TimeParseReason

MAX_SHOWN = 5
MAX_SHOWN_EACH = 3
"""Maximum passages per search if there were several searches."""

MIN_SCORE_SHARE = 0.5
"""Minimum share of the best score for a passage to be shown."""

MIN_WORD_SHARE = 0.6
"""Minimum share of the best passage's matching words for a passage to be shown."""

MIN_ANSWER_SHARE = 0.5
"""A passage must contain more than this share of the query's words to be called an answer."""


class WriteReport(NamedTuple):
    """Where something was noted, or why it was not."""

    path: str = ""
    line_start: int = 0
    line_end: int = 0
    error: str = ""
    is_old: bool = False
    """Whether it was there already, and nothing was written."""


class ChangeReport(NamedTuple):
    """Lines that were replaced, removed or put back, or why not."""

    where: WriteReport
    old: str
    """"" if they were put back."""
    new: str
    """"" if they were removed."""


class Cancelled(NamedTuple):
    """A cancelled reminder, or why it was not cancelled."""

    number: str = ""
    text: str = ""
    error: str = ""


class SearchReport(NamedTuple):
    """Results of one search, or why it failed."""

    query: str
    hits: Sequence[Mapping[str, Any]] = ()
    """Passages of notes as returned by `memory_search`, the best first."""
    said: Sequence[Mapping[str, Any]] = ()
    """Messages of conversations, likewise."""
    notice: str = ""
    error: str = ""
    asked: str = ""
    """The person's question that the query was made from."""
    paraphrases: tuple[str, ...] = ()
    """Every line shown must contain one of these phrases: the search was for paraphrases."""
    names_time: bool = False
    """Whether the question names a time; then the hits are in its order."""


class ReminderReport(NamedTuple):
    """A reminder that was set, or why it was not."""

    text: str
    when: str
    """Time in the person's own words."""
    number: str = ""
    due: str = ""
    """Full date and time in English."""
    at: str = ""
    """The same time in ISO 8601."""
    comes_again: bool = False
    while_open: bool = False
    """Whether it only comes while the program runs."""
    error: str = ""


class NoteReport(NamedTuple):
    """A note that was asked for as a whole."""

    kind: Literal["about_me", "today"]
    path: str
    text: str
    """Blank if there is no such note."""
    said: Sequence[Mapping[str, Any]] = ()
    """What was said today, if there is no such note."""


class ReminderList(NamedTuple):
    """Upcoming reminders, or those of a day; or why there is no list."""

    reminders: Sequence[Mapping[str, Any]] = ()
    """As returned by `list_reminders`, the nearest first."""
    error: str = ""


class DayReport(NamedTuple):
    """What the notes say about a day."""

    words: str
    """The day in the person's words."""
    lines: Sequence[tuple[str, str]] = ()
    """Each line with its reference."""


class TurnReport(NamedTuple):
    """Everything to report at the end of a turn."""

    writes: Sequence[WriteReport] = ()
    changes: Sequence[ChangeReport] = ()
    unsure: str = ""
    """The line in which it is unclear what a correction replaces."""
    cancellations: Sequence[Cancelled] = ()
    searches: Sequence[SearchReport] = ()
    reminders: Sequence[ReminderReport] = ()
    asks_when: bool = False
    asks_what: bool = False
    refused: TimeParseError | None = None
    """Why a time is not possible."""
    notes: Sequence[NoteReport] = ()
    reminder_lists: Sequence[ReminderList] = ()
    on_day: DayReport | None = None
    forget: str = ""
    """What to remove from the notes."""
    cancel: str = ""
    """Number of a reminder to cancel."""
    place: str = ""
    """Reference of the last answer's subject, as `path:line`."""
    line: str = ""
    """The line at that reference."""
    has_older_change: bool = False
    """Whether there is a change that a word does not undo: it is too old, or its lines read differently now."""
    may_not_note: bool = False
    may_not_find: bool = False
    in_room: bool = False
    """Whether several people write in the chat."""
    unfinished: bool = False
    unsupported: Sequence[UnsupportedKind] = ()
    """Requests that the notebook cannot carry out."""
    may_keep: bool = False
    """Whether an attached document would be kept on request."""
    cannot_read: bool = False
    """Whether something unreadable was attached."""
    chat: SmallTalk = "hello"
    now: datetime | None = None
    """The person's local time."""


_MAX_LINES_SHOWN = 30
"""Maximum lines of a note that are shown."""


def compose(report: TurnReport, language: Language, *, notice: str = "") -> str:
    """Return the whole answer, followed by the notice that no language model answers; never blank."""
    say = language.say
    parts: list[str] = []
    parts.extend(_format_change(each, language) for each in report.changes if not each.where.error)
    for phrase, is_old in ((say.noted, False), (say.already_noted, True)):
        wrote = [each for each in report.writes if not each.error and each.is_old is is_old]
        places = dict.fromkeys(_format_place(each, language) for each in wrote)
        if places:
            parts.append(phrase.format(places="; ".join(places)))
    parts.extend(
        say.not_noted.format(error=escape_line(one_line(wrote.error)))
        for wrote in report.writes
        if wrote.error
    )
    if report.unsure:
        parts.append(say.which_words.format(text=_quoted_text(report.unsure)))
    parts.extend(_confirm_reminders(report, language))
    if any(each.while_open for each in report.reminders):
        parts.append(say.while_open)
    if report.asks_when:
        parts.append(_ask_when(report.refused, language))
    if report.asks_what:
        parts.append(say.remind_what)
    parts.extend(_format_note(each, language) for each in report.notes)
    if report.on_day:
        parts.extend(_format_day(report.on_day, report.reminder_lists, language))
    else:
        parts.extend(part for each in report.reminder_lists for part in _format_reminders(each, language))
    if report.may_not_note:
        parts.append(say.cannot_note)
    if report.may_not_find:
        parts.append(say.cannot_find)
    if report.in_room and (report.may_not_note or report.may_not_find):
        parts[-1] = _join_sentences(parts[-1], say.closed, language)
    parts.extend(
        say.not_found.format(error=escape_line(one_line(looked.error)))
        for looked in report.searches
        if looked.error
    )
    searched = [looked for looked in report.searches if not looked.error]
    if searched:
        findings = _format_findings(searched, language)
        if "forget" in report.unsupported and report.forget:  # the command is shown below
            findings = [each for each in findings if each != say.nothing]
        # If something was attached, the question was about that.
        parts.extend(each for each in findings if not (report.cannot_read and each == say.nothing))
    parts.extend(
        dict.fromkeys(
            filter(None, (_explain(unsupported, report, language) for unsupported in report.unsupported))
        )
    )
    if report.cannot_read and report.may_keep:
        parts.append(_join_sentences(say.cannot_read, say.keep_how, language))
    elif report.cannot_read:
        parts.append(say.cannot_read)
    if not parts:
        parts.append(say.what if report.unfinished else getattr(say, report.chat))
    if notice and notice not in parts:
        parts.append(notice)
    return "\n\n".join(parts)


_REASONS: Mapping[TimeParseReason, str] = {
    "past": "past",
    "ago": "past",
    "today": "what_hour",
    "no_clock": "no_time",
    "no_date": "no_date",
    "too_far": "no_date",
    "other_day": "unclear_date",
    "two_dates": "unclear_date",
    "two_days": "one_time",
    "range": "one_time",
    "no_range": "one_time",
    "relative": "no_event",
    "except": "no_exceptions",
    "until": "no_end",
    "no_count": "no_rule",
    "too_often": "no_rule",
    "odd_rule": "no_rule",
    "doubt": "unclear",
    "separator": "unclear",
    "vague": "unclear",
    "time_in_text": "unclear",
    "day_in_text": "unclear",
    "day_of_text": "unclear",
    "zone": "unclear",
}
"""The field of a language's `Reasons` that explains why a time was refused."""


def _ask_when(refused: TimeParseError | None, language: Language) -> str:
    """Return the question when to remind, preceded by the reason if a time was refused."""
    say = language.say
    if refused is None or refused.refusal == "unread":
        return say.remind_when
    if say.refused is None:
        return f"{refused} {say.question_when}"
    fields = {name: escape_line(one_line(str(value))) for name, value in refused.fields.items()}
    reason = getattr(say.refused, _REASONS[refused.refusal]).format(**fields)
    return _join_sentences(reason, say.question_when, language)


def _explain(unsupported: UnsupportedKind, report: TurnReport, language: Language) -> str:
    """Return how to do something that the notebook cannot do itself; "" if there is no advice."""
    say = language.say
    match unsupported:
        case "forget":
            return _explain_forget(report, language)
        case "change":
            return say.correct.format(command=f"/correct {report.place or 'PATH:LINE'} TEXT")
        case "wrong":
            # After noting the right fact, only if there is a line to correct.
            if report.writes and not report.place:
                return ""
            return say.correct.format(command=f"/correct {report.place or 'PATH:LINE'} TEXT")
        case "undo":
            return say.undo_older if report.has_older_change else say.nothing_to_undo
        case "forget_that":
            words = words_to_forget("", [report.line], language) if report.line else "WORDS"
            return say.forget.format(command=f"/forget {words or 'WORDS'}")
        case "do":
            return say.cannot_do
        case "leave":
            return say.leave
        case "list_notes":
            return say.list_notes
        case "list_reminders":
            return "" if report.reminder_lists else say.reminders
        case "cancel_reminder":
            return say.cancel_reminder.format(command=f"/reminders cancel {report.cancel or 'N'}")
        case "add_model":
            return say.notice
        case "clock" | "day":
            return _format_clock(unsupported, report.now, language) if report.now else ""
    return ""


def _format_clock(unsupported: Literal["clock", "day"], now: datetime, language: Language) -> str:
    if unsupported == "clock":
        return language.say.clock.format(time=f"{now:%H:%M}", zone=now.tzinfo)
    written = now.strftime(language.date.split()[0]) if language.date else f"{now.day} {now:%B %Y}"
    return language.say.day.format(weekday=language.weekday_names[now.weekday()], date=written)


def _format_change(changed: ChangeReport, language: Language) -> str:
    place = _format_place(changed.where, language)
    old, new = (_quoted_text(each) for each in (changed.old, changed.new))
    if not new:
        return language.say.removed.format(place=place, old=old)
    if not old:
        return language.say.back.format(place=place, text=new)
    return language.say.corrected.format(place=place, old=old, new=new)


def _quoted_text(text: str) -> str:
    return escape_line(one_line(text)).rstrip(".。।")


def _confirm_reminders(report: TurnReport, language: Language) -> list[str]:
    say = language.say
    told = [
        say.no_such_reminder.format(error=escape_line(one_line(each.error)))
        for each in report.cancellations
        if each.error
    ]
    gone = [each for each in report.cancellations if not each.error]
    if gone and len(report.reminders) == 1 and not (moved := report.reminders[0]).error:
        if moved.comes_again:
            return [
                _confirm_reminder(moved, language),
                *(_confirm_cancelled(each, language) for each in gone),
            ]
        text = escape_line(one_line(moved.text))
        return [say.reminder_moved.format(number=moved.number, due=_format_due(moved, language), text=text)]
    return [
        *told,
        *(_confirm_reminder(each, language) for each in report.reminders),
        *(_confirm_cancelled(each, language) for each in gone),
    ]


def _confirm_cancelled(cancelled: Cancelled, language: Language) -> str:
    text = escape_line(one_line(cancelled.text))
    return language.say.reminder_cancelled.format(number=cancelled.number, text=text)


def _explain_forget(report: TurnReport, language: Language) -> str:
    """Return the command that removes the first passage shown, or how to find other words."""
    say = language.say
    searched = [
        each for each in report.searches if not each.error and report.forget in (each.asked or each.query)
    ]
    if not report.forget or not searched:
        return say.forget.format(command="/forget WORDS")
    passages = _select_passages(searched, language)
    words = words_to_forget(report.forget, passages[0].lines, language) if passages else ""
    return say.forget.format(command=f"/forget {words}") if words else say.forget_nothing


def _confirm_reminder(reminded: ReminderReport, language: Language) -> str:
    say = language.say
    if reminded.error:
        return say.not_reminded.format(error=escape_line(one_line(reminded.error)))
    due, text = _format_due(reminded, language), escape_line(one_line(reminded.text))
    if reminded.comes_again:
        when = escape_line(one_line(reminded.when))
        return say.reminded_again.format(number=reminded.number, when=when, text=text, due=due)
    return say.reminded.format(number=reminded.number, text=text, due=due)


def _format_reminders(listed: ReminderList, language: Language) -> list[str]:
    """Return all reminders and how to cancel one, or that there are none."""
    say = language.say
    if listed.error:
        return [say.not_found.format(error=escape_line(one_line(listed.error)))]
    if not listed.reminders:
        return [say.reminders_none]
    rows = [
        f"- **{each.get('number')}**: {_format_moment(each, language)}: {_reminder_text(each)}"
        for each in listed.reminders[:_MAX_LINES_SHOWN]
    ]
    rows += [say.reminders] if len(listed.reminders) > _MAX_LINES_SHOWN else []
    cancel = say.cancel_reminder.format(command=f"/reminders cancel {listed.reminders[0].get('number')}")
    return [say.reminders_are, "\n".join(rows), cancel]


def _reminder_text(listed: Mapping[str, Any]) -> str:
    return escape_line(one_line(str(listed.get("text", ""))))


def _format_moment(listed: Mapping[str, Any], language: Language) -> str:
    at = datetime.fromisoformat(str(listed.get("at", "")))
    again = " ↻" if "every" in listed else ""
    if language.date:
        return f"{at.strftime(language.date)}{again}"
    every = f", {listed['every']}" if "every" in listed else ""
    return f"{at:%A}, {at.day} {at:%B %Y} at {at:%H:%M}{every}"


def _format_day(on_day: DayReport, listed: Sequence[ReminderList], language: Language) -> list[str]:
    """Return the reminders of a day by time, followed by lines of notes."""
    say, day = language.say, escape_line(on_day.words)
    reminders = [each for every in listed for each in every.reminders]
    rows = [f"- {str(each.get('at', ''))[11:16]}: {_reminder_text(each)}" for each in reminders]
    rows += [f"- {escape_line(text)} `{place}`" for text, place in on_day.lines[:_MAX_LINES_SHOWN]]
    if not rows:
        return [_capitalize(say.on_day_nothing.format(day=day))]
    return [_capitalize(say.on_day.format(day=day)), "\n".join(rows)]


def _capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]


def _format_due(reminded: ReminderReport, language: Language) -> str:
    """Return the time in the language's format, or in the person's words if it has none."""
    try:
        at = datetime.fromisoformat(reminded.at)
    except ValueError:
        return reminded.due
    if not language.date:
        return reminded.due
    zone = re.search(r"\([^()]+\)$", reminded.due)
    return f"{at.strftime(language.date)} {zone[0]}" if zone else at.strftime(language.date)


def _format_note(shown: NoteReport, language: Language) -> str:
    """Return the lines of a requested note, or that there are none."""
    say = language.say
    lines = [
        escape_line(line)
        for each in shown.text.splitlines()
        if (line := quote_line(each)) and not (shown.kind == "today" and is_reminder_request(line))
    ]
    if lines and re.match(r"\s*# ", shown.text):  # its title only repeats its name
        lines = lines[1:]
    head, nothing = (
        (say.about_you, say.about_you_nothing) if shown.kind == "about_me" else (say.today, say.today_nothing)
    )
    if not lines:
        return "\n\n".join([nothing, *format_said([("", hit) for hit in shown.said], language)])
    parts = [head, "\n".join(f"- {line}" for line in lines[:_MAX_LINES_SHOWN])]
    if len(lines) > _MAX_LINES_SHOWN:
        parts.append(say.rest.format(path=shown.path))
    return "\n\n".join(parts)


def _join_sentences(first: str, second: str, language: Language) -> str:
    """Join two sentences into one paragraph."""
    return f"{first}{'' if language.full_stop == '。' else ' '}{second}"


def _format_place(wrote: WriteReport, language: Language) -> str:
    path = wrote.path.replace("`", "'")
    if wrote.line_start == wrote.line_end:
        return language.say.place.format(path=path, line=wrote.line_start)
    return language.say.lines.format(path=path, lines=f"{wrote.line_start}-{wrote.line_end}")


# -- choosing passages ----------------------------------------------------------------------------------


class _FoundPassage(NamedTuple):
    place: str
    lines: tuple[str, ...]
    score: float
    share: float
    """Share of the query's words in it, 0 to 1."""
    told: str = ""
    """ISO date of the day on which it was written."""
    saying: str = ""
    """Template to quote a line that has been true since a day, or was; with `{text}`."""
    found: ToldPassage | None = None
    """None if the day is unknown."""


def _format_findings(searched: Sequence[SearchReport], language: Language) -> list[str]:
    shown, said = _select_passages(searched, language), _format_messages(searched, language)
    if shown:
        enough = MIN_ANSWER_SHARE - 0.01 if language.spacing != "words" else MIN_ANSWER_SHARE
        sure = any(passage.share > enough for passage in shown)
        head = language.say.found if sure else language.say.close
        parts = [head, "\n".join(_quote_passage(passage) for passage in shown)]
    else:
        parts = [] if said else [language.say.nothing]
    return [
        *said,  # first, as it has more of what was asked for than any note
        *parts,
        *dict.fromkeys(escape_line(one_line(looked.notice)) for looked in searched if looked.notice),
    ]


def _format_messages(searched: Sequence[SearchReport], language: Language) -> list[str]:
    return format_said(
        [(looked.query, hit) for looked in searched if not looked.paraphrases for hit in looked.said],
        language,
    )


def _select_passages(searched: Sequence[SearchReport], language: Language) -> list[_FoundPassage]:
    """Return the passages to show, the best of the first search first."""
    shown: dict[str, _FoundPassage] = {}
    for looked in sorted(searched, key=lambda each: not each.paraphrases):
        hits = (
            hits_with_phrase(looked.paraphrases, looked.hits, language) if looked.paraphrases else looked.hits
        )
        best = [_read_passage(hit, looked.query, language) for hit in hits]
        if looked.paraphrases:
            best = [each._replace(share=1.0) for each in sorted(best, key=_share_and_day, reverse=True)]
        elif shown and any(map(_asks_only_paraphrases, searched)):
            continue
        best = drop_weak(best) if not looked.paraphrases else best
        if not looked.names_time:
            best = _latest_first(best, language)
        for passage in best[: MAX_SHOWN if len(searched) == 1 else MAX_SHOWN_EACH]:
            shown.setdefault(passage.place, passage)
    return list(shown.values())


def _share_and_day(passage: _FoundPassage) -> tuple[float, str]:
    return passage.share, passage.told


def _asks_only_paraphrases(looked: SearchReport) -> bool:
    """Return whether the question asks for nothing but what was also searched as paraphrases."""
    from memory.tokenizer import parse_query

    spoken_of = set(parse_query(" ".join(looked.paraphrases)))
    return bool(looked.paraphrases) and spoken_of >= set(parse_query(looked.query))


def drop_weak(passages: Sequence[_FoundPassage]) -> list[_FoundPassage]:
    """Drop weak passages: a search also returns what merely stands beside a better match."""
    passages = [passage for passage in passages if passage.lines]
    if not passages:
        return []
    top = max(passage.score for passage in passages)
    share = max(passage.share for passage in passages)
    return [
        passage
        for passage in passages
        if passage.score >= MIN_SCORE_SHARE * top and passage.share >= MIN_WORD_SHARE * share
    ]


def _read_passage(hit: Mapping[str, Any], query: str, language: Language) -> _FoundPassage:
    path = one_line(str(hit.get("path", ""))).replace("`", "'")
    first = hit.get("line_start")
    last = hit.get("line_end", first)
    place = format_note_ref(path, first, last) if isinstance(first, int) and isinstance(last, int) else path
    text = strip_controls(str(hit.get("snippet", "")))
    context = f"{text}\n{hit.get('heading', '')}\n{path}"
    told = _read_day(hit.get("told"))
    by_meaning = hit.get("source") in ("vector", "hybrid")
    return _FoundPassage(
        place,
        tuple(filter(None, map(quote_line, text.splitlines()))),
        _read_score(hit.get("score")),
        1.0 if by_meaning else share_of_words(query, context, language),
        told,
        found=_read_found(hit, path, text, told),
    )


def _read_found(hit: Mapping[str, Any], path: str, text: str, told: str) -> ToldPassage | None:
    first, later = hit.get("line_start"), hit.get("superseded_by")
    last = hit.get("line_end", first)
    if not told or not isinstance(first, int) or not isinstance(last, int):
        return None
    superseded_by = later if isinstance(later, str) and re.fullmatch(r".+:[0-9]{1,9}", later) else ""
    try:
        return ToldPassage(
            path, first, last, text, date.fromisoformat(told), superseded_by, _read_score(hit.get("score"))
        )
    except ValueError:
        return None


def _read_score(score: object) -> float:
    """Return a score; 0 for anything but a number from 0 to 1, such as NaN, beside which nothing is strong."""
    return float(score) if isinstance(score, int | float) and 0 <= score <= 1 else 0.0


def _read_day(told: object) -> str:
    return told if isinstance(told, str) and re.fullmatch(r"\d{4}-\d{2}-\d{2}", told, re.ASCII) else ""


def _latest_first(passages: list[_FoundPassage], language: Language) -> list[_FoundPassage]:
    """Put facts that changed first, the latest before older ones, and say since when they are true.

    Only those that match the question about as well as the best passage.
    """
    from memory.ranking.ties import EXACT_TIE

    enough = max((each.score for each in passages), default=0.0) / (1 + EXACT_TIE)
    changed: dict[int, _FoundPassage] = {}
    for history in find_histories([each.found for each in passages]):
        versions = history.versions
        told = [passages[each.numbers[-1]] for each in versions]
        is_answer = max(each.score for each in told) >= enough and all(len(each.lines) == 1 for each in told)
        if not (is_answer and history.is_current):
            continue
        sayings = [language.say.since, *[language.say.before_that] * (len(versions) - 1)]
        for version, saying in zip(versions, sayings, strict=True):
            number = version.numbers[-1]
            changed[number] = passages[number]._replace(
                saying=saying.replace("{date}", version.since.isoformat())
            )
    lines = {each.lines for each in changed.values()}
    return [*changed.values(), *(each for each in passages if not (each.told and each.lines in lines))]


# -- quoting passages ------------------------------------------------------------------------------------


def _quote_passage(passage: _FoundPassage) -> str:
    *lines, last = [escape_line(line) for line in passage.lines]
    if passage.saying:
        last = passage.saying.replace("{text}", last)
    # After several lines the reference stands on its own line.
    lines = [*lines, last, f"`{passage.place}`"] if lines else [f"{last} `{passage.place}`"]
    return "- " + "  \n  ".join(lines)
