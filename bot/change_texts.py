"""Describes changes to the notes in words, for chats and the command line."""

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from itertools import dropwhile
from socket import gethostname
from typing import TYPE_CHECKING, Literal

from bot import phrases
from bot.change_names import ChangeNames
from bot.language.text import Plural, join_sentences
from bot.line_origin import bare_words
from bot.note_writes import is_deletion
from bot.sanitize import cut, one_line, strip_controls
from bot.state.changes import Change, read_chain
from bot.state.database import format_timestamp
from bot.timeparse import day_in_words, moment_in_short
from bot.undo_plan import UndoRefused
from bot.visible_names import escape_path
from memory.front_matter import read_front_matter
from memory.line_diff import LineDiff
from memory.tasks import set_task

if TYPE_CHECKING:
    from apsw import Connection

    from bot.config.settings import Settings

WORDS_CHARS = 60
"""The most characters of a line that a list shows."""
SHOWN_LINES = 10
"""The most lines that an undo quotes."""
SHOWN_LINE_CHARS = 200
DIFF_LINES = 40
DIFF_LINE_CHARS = 300
_COMPARED_LINES = 1000
"""Longer changes are shown as removed and added lines: comparing takes quadratic time."""

ChangeState = Literal["made", "undone", "undo", "redo"]


@dataclass(frozen=True, slots=True)
class ShownChange:
    """A change and what became of it."""

    change: Change
    state: ChangeState
    """Whether it stands or was undone later; or whether it undoes or redoes another one itself."""
    root: int
    """Number of the change that an undo or redo is about; its own otherwise."""
    next_undo: int
    """Number of the change that undid or redid it; 0 for none."""
    stands: bool
    """Whether its lines are in the note, as far as that is recorded."""
    is_of_deletion: bool
    """Whether it deleted the note, or undoes or redoes that."""

    @property
    def can_undo(self) -> bool:
        """Return whether it can be undone, as far as the record shows."""
        return self.stands and not self.change.forgotten and not self.change.is_empty


@dataclass(frozen=True, slots=True)
class WantedChanges:
    """Which changes somebody asked for."""

    limit: int = 0
    """0 for the usual number."""
    number: int = 0
    """One change in full; 0 for a list."""
    since: str = ""
    """Only from this time on (ISO 8601 in UTC)."""
    path: str = ""


def parse_wanted(text: str, *, now: datetime) -> WantedChanges:
    """Parse `N`, `#N`, `today` or a path. `now` is on the owner's clock."""
    text = text.strip().strip("`").strip()
    if not text:
        return WantedChanges()
    if is_number(text):
        return WantedChanges(limit=int(text))
    if is_number(text.removeprefix("#").strip()):
        return WantedChanges(number=int(text.removeprefix("#")))
    if text.casefold() == "today":
        return WantedChanges(since=_start_of_day(now))
    return WantedChanges(path=text)


def is_number(text: str) -> bool:
    """Return whether a text is a number that state.db can hold."""
    return text.isascii() and text.isdecimal() and len(text) <= 18 and int(text) > 0


def _start_of_day(now: datetime) -> str:
    return format_timestamp(datetime.combine(now.date(), time.min, now.tzinfo))


def load_shown_change(db: "Connection", change: Change) -> ShownChange:
    """Return a change with what became of it."""
    chain = read_chain(db, change.number)
    at = [each.number for each in chain].index(change.number)
    later = chain[at + 1].number if at + 1 < len(chain) else 0
    stands = (len(chain) - at) % 2 == 1
    is_of_deletion = is_deletion(chain[0])
    if not change.undoes:
        state: ChangeState = "made" if stands else "undone"
        return ShownChange(change, state, change.number, later, stands, is_of_deletion)
    # The beginning of the chain may be pruned; then its first change is an undo.
    is_undo = (at + bool(chain[0].undoes)) % 2
    root = chain[0].undoes or chain[0].number
    return ShownChange(change, "undo" if is_undo else "redo", root, later, stands, is_of_deletion)


def format_row(shown: ShownChange, names: ChangeNames, now: datetime) -> str:
    """Return one change on one line, as Markdown."""
    change = shown.change
    return phrases.CHANGES_ROW.format(
        number=change.number,
        time=moment_in_short(datetime.fromisoformat(change.at), now),
        who=names.author(change),
        path=escape_path(change.path),
        what=describe_effect(shown),
    )


def describe_change(shown: ShownChange, names: ChangeNames, now: datetime, *, touches: str) -> str:
    """Return everything about one change, with its lines, as Markdown. `touches`: by whom the replaced lines were."""
    head = describe_origin(shown, names, now)
    if touches:
        phrase = (
            phrases.CHANGE_REPLACED_OF
            if any(map(str.strip, shown.change.lines.new))
            else phrases.CHANGE_REMOVED_OF
        )
        head = join_sentences([head, phrase.format(by=touches)])
    return "\n\n".join(
        filter(None, [head, _fenced(format_diff(shown.change.lines)), _describe_future(shown)])
    )


def describe_origin(shown: ShownChange, names: ChangeNames, now: datetime) -> str:
    """Return when, where, by whom and how a change was made, as Markdown."""
    change = shown.change
    origin = change.origin
    chat = phrases.CHANGE_CHAT.format(chat=names.chat(origin.chat)) if origin.chat and origin.person else ""
    model = phrases.CHANGE_MODEL.format(model=one_line(origin.model)) if origin.model else ""
    head = phrases.CHANGE_HEAD.format(
        number=change.number,
        path=escape_path(change.path),
        line=change.lines.line + min(change.lines.lead, max(len(change.lines.new) - 1, 0)),
        time=format_time(change.at, now),
        by=names.by(change),
        chat=chat,
        made_by=phrases.CHANGE_MADE_BY.get(origin.made_by, ""),
        model=model,
    )
    told = [head]
    if origin.says:
        told.append(phrases.CHANGE_SAYS.format(says=one_line(phrases.COMMA.join(origin.says))))
    if shown.state in ("undo", "redo"):
        phrase = phrases.CHANGE_IS_UNDO if shown.state == "undo" else phrases.CHANGE_IS_REDO
        told.append(phrase.format(number=shown.root))
    return join_sentences(told)


def _describe_future(shown: ShownChange) -> str:
    if shown.change.forgotten:
        return phrases.CHANGE_FORGOTTEN
    if shown.stands:
        return phrases.CHANGE_UNDO_HINT.format(number=shown.change.number) if shown.can_undo else ""
    phrase = phrases.CHANGE_WAS_REDONE if shown.state == "undo" else phrases.CHANGE_WAS_UNDONE
    return phrase.format(number=shown.next_undo)


def _fenced(text: str) -> str:
    return fence(text) if text else ""


def quote_lines(lines: Sequence[str]) -> str:
    """Return some lines as a quotation, cut if they are many or long; blank ones at the beginning are left out."""
    filled = list(dropwhile(lambda line: not line.strip(), lines))
    shown = [f"> {one_line(line, limit=SHOWN_LINE_CHARS)}".rstrip() for line in filled[:SHOWN_LINES]]
    more = len(filled) - len(shown)
    return "\n".join([*shown, *([f"> {phrases.CHANGE_MORE_LINES.format(count=more)}"] if more else [])])


def describe_refusal(refusal: UndoRefused) -> str:
    """Return why a change was not undone and what to do, as Markdown."""
    told = [str(refusal)]
    if refusal.reason == "undone":
        told.append(phrases.UNDO_UNDONE_HINT.format(by=refusal.by))
    if refusal.reason == "changed_later":
        told.append(phrases.UNDO_LATER_HINT.format(by=refusal.by))
    if refusal.diff:
        told.append(phrases.UNDO_EDITED_DIFF)
    return "\n\n".join(filter(None, [join_sentences(told), _fenced(strip_controls(refusal.diff))]))


def format_period(period: Plural, settings: "Settings") -> str:
    """Return a phrase with the days that changes are kept; "" if that is forever."""
    days = settings.memory.changes.keep_days
    return period.format(count=days) if days else ""


def describe_coverage(settings: "Settings") -> str:
    """Return a notice that other instances may have changed the notes too; "" if none shares them."""
    if not settings.index.url.get_secret_value():
        return ""
    name = settings.instance.name or gethostname()
    return phrases.CHANGES_HERE_ONLY.format(name=name)


def describe_effect(shown: ShownChange) -> str:
    """Return what a change did and to which words: `added “The key is under the mat.”`."""
    if shown.state in ("undo", "redo"):
        phrase = phrases.CHANGE_UNDOES if shown.state == "undo" else phrases.CHANGE_REDOES
        return phrase.format(number=shown.root, what=_describe_lines(shown))
    what = _describe_lines(shown)
    return phrases.CHANGE_UNDONE.format(what=what) if shown.state == "undone" else what


def _describe_lines(shown: ShownChange) -> str:
    change, lines = shown.change, shown.change.lines
    if shown.is_of_deletion and not change.forgotten:
        phrase = phrases.CHANGE_RESTORED if lines.new else phrases.CHANGE_DELETED
        return phrase.format(title=_title_of(lines.new or lines.old) or escape_path(change.path))
    if change.is_move:
        before, after = (one_line(escape_path(each)) for each in (change.moved_from, change.moved_to))
        return phrases.CHANGE_MOVED_FROM.format(old=before, new=after)
    old, new = _first_words(lines.old), _first_words(lines.new[lines.lead :] or lines.new)
    if old and old == new:
        return _describe_same_words(lines).format(new=new)
    if old and new:
        return phrases.CHANGE_CHANGED.format(old=old, new=new)
    if new:
        return phrases.CHANGE_ADDED.format(new=new)
    if not (lines.old or lines.new or lines.above):
        return phrases.CHANGE_MOVED
    return phrases.CHANGE_REMOVED.format(old=old) if old else phrases.CHANGE_BLANK


def _describe_same_words(lines: LineDiff) -> str:
    """Return the phrase for a change before and after which the shown words are the same."""
    if len(lines.old) == len(lines.new) == 1:
        for is_done, phrase in ((True, phrases.CHANGE_CHECKED), (False, phrases.CHANGE_UNCHECKED)):
            if set_task(lines.old[0], is_done=is_done) == lines.new[0] != lines.old[0]:
                return phrase
    return phrases.CHANGE_WITHIN


def _title_of(lines: Sequence[str]) -> str:
    """Return the title of a note with these lines: a property, or its first heading; "" if it has neither."""
    named = read_front_matter("\n".join(lines)).title
    heading = next((line for line in lines if line.startswith("# ")), "")
    return one_line(bare_words(named or heading), limit=WORDS_CHARS)


def _first_words(lines: Sequence[str]) -> str:
    """Return the first words of some lines, if possible not those of a heading."""
    filled = [line for line in lines if line.strip()]
    text = next((line for line in filled if not line.lstrip().startswith("#")), filled[0] if filled else "")
    return one_line(bare_words(text), limit=WORDS_CHARS)


def format_diff(lines: LineDiff, *, most: int = DIFF_LINES, line_chars: int = DIFF_LINE_CHARS) -> str:
    """Return the first `most` lines of a change with `-` and `+` before them, long ones cut."""
    rows = [strip_controls(row) for row in _compare(lines)]
    shown = [cut(row, line_chars) for row in rows[:most]]
    more = len(rows) - len(shown)
    return "\n".join([*shown, *([phrases.CHANGE_MORE_LINES.format(count=more)] if more else [])])


def _compare(lines: LineDiff) -> Iterator[str]:
    old, new = lines.old, lines.new
    if len(old) + len(new) > _COMPARED_LINES or not (old and new):
        yield from (f"-{line}" for line in old)
        yield from (f"+{line}" for line in new)
        return
    for row in list(difflib.unified_diff(old, new, n=2, lineterm=""))[2:]:
        if not row.startswith("@@"):
            yield row


def fence(text: str, language: str = "diff") -> str:
    """Return a text as a code block of Markdown that nothing in it can end."""
    marks = "```"
    while marks in text:
        marks += "`"
    return f"{marks}{language}\n{text}\n{marks}"


def format_time(at: str, now: datetime) -> str:
    """Return `today at 09:41` or `on 21 November 2026 at 09:41`; `at` is ISO 8601."""
    moment = datetime.fromisoformat(at).astimezone(now.tzinfo)
    return phrases.CHANGE_TIME.format(day=_format_day(moment.date(), now.date()), time=f"{moment:%H:%M}")


def _format_day(day: date, today: date) -> str:
    if day == today:
        return phrases.CHANGE_TODAY
    if day == today - timedelta(1):
        return phrases.CHANGE_YESTERDAY
    return phrases.CHANGE_ON.format(date=day_in_words(day))
