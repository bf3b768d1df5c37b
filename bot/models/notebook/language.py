"""What there is to know of one language: how it is recognised, and what is said in it."""

import re
from dataclasses import dataclass
from typing import Literal, NamedTuple


def phrases(listed: str) -> tuple[str, ...]:
    return tuple(listed.split("|"))


class Reasons(NamedTuple):
    """Why a time was refused: a sentence each, before the question when to remind."""

    past: str
    no_time: str
    """No such time of day: `{time}`."""
    no_date: str
    unclear_date: str
    """It may be one of two, or it contradicts its weekday."""
    one_time: str
    """A range, or several days, for one reminder."""
    no_event: str
    """It counts from something that no calendar knows."""
    no_exceptions: str
    """It leaves days out."""
    no_end: str
    """It says until when it comes again."""
    no_rule: str
    """It is to come again in a way that is not possible."""
    what_hour: str
    """Today, and nothing more."""
    unclear: str
    """What is the time, and what belongs to the text?"""


class Sayings(NamedTuple):
    """What the notebook says. Markdown; names in braces are filled in."""

    noted: str
    """`{places}`: one `place` or more."""
    place: str
    """`{path}` and one `{line}`."""
    lines: str
    """`{path}` and several `{lines}`."""
    found: str
    """Heads the passages."""
    close: str
    """Heads them where they share too little with the question to be called an answer."""
    since: str
    """The latest of several statements about one thing: `{date}` and `{text}`."""
    before_that: str
    """An earlier one; likewise."""
    nothing: str
    hello: str
    thanks: str
    """Answers thanks."""
    fine: str
    """Answers "yes", "no", "bye" and the like."""
    what: str
    """The person said "remember" and no more."""
    cannot_note: str
    cannot_find: str
    closed: str
    """How the memory is opened to a chat in which several write."""
    not_noted: str
    """`{error}`."""
    not_found: str
    """`{error}`."""
    cannot_do: str
    cannot_read: str
    """Something came along that is no text."""
    keep_how: str
    """A document came along, and nobody said that it is to be kept."""
    reminded: str
    """A reminder is set: `{number}`, `{due}`, `{text}`."""
    reminded_again: str
    """The same for one that comes round again; `{when}` is in the person's own words."""
    while_open: str
    """At the terminal: no reminder comes while nothing runs."""
    not_reminded: str
    """`{error}`."""
    remind_when: str
    """Asks when to remind; holds an example in backticks."""
    remind_what: str
    """Asks what to remind of."""
    forget: str
    """How something is removed: `{command}`."""
    forget_nothing: str
    """Nothing was found of what is to be removed, and what to type."""
    correct: str
    """How a note is corrected: `{command}`."""
    corrected: str
    """A line was replaced: `{place}`, `{old}`, `{new}`; and how to take that back."""
    removed: str
    """A line was removed: `{place}`, `{old}`; likewise."""
    nothing_to_undo: str
    undo_older: str
    """Says which change came last, too long ago to be undone by a word: `{place}`, `{text}`, and `{command}`."""
    back: str
    """A line that was removed is there again: `{place}`, `{text}`."""
    which_words: str
    """Asks for the whole sentence where it is not plain what a correction replaces: `{text}`."""
    reminder_moved: str
    """`{number}`, `{due}`, `{text}`; and how to take that back."""
    reminder_cancelled: str
    """`{number}`, `{text}`; likewise."""
    no_such_reminder: str
    """`{error}`."""
    good_night: str
    goodbye: str
    clock: str
    """`{time}` and `{zone}`."""
    day: str
    """What day it is: `{weekday}` and `{date}`."""
    list_notes: str
    reminders: str
    cancel_reminder: str
    """How a reminder is cancelled: `{command}`."""
    reminders_are: str
    """Heads the reminders that are to come."""
    reminders_none: str
    on_day: str
    """Heads what is on a day: `{day}` in the person's words."""
    on_day_nothing: str
    """Likewise."""
    about_you: str
    """Heads what stands in MEMORY.md."""
    about_you_nothing: str
    today: str
    """Heads what stands in today's log."""
    today_nothing: str
    rest: str
    """How to read the rest of a note: `{path}`."""
    leave: str
    """How to leave the terminal."""
    notice: str
    """No language model is configured, and how one is added; holds NOTICE_MARK."""
    refused: Reasons | None = None
    """Why a time was refused; None: in the words of `bot.timeparse`, which are English and more exact."""

    @property
    def question_when(self) -> str:
        """The question that `remind_when` begins with; all of it where no mark ends the question."""
        question = re.match(r"[^?？؟]*[?？؟]", self.remind_when)
        return question[0] if question else self.remind_when


NOTICE_MARK = "`[models]`"
"""What every notice holds: a conversation whose answers hold it has been told."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Language:
    """How one language is recognised. Phrases in lower case with straight apostrophes; the longest one wins."""

    code: str
    say: Sayings
    spacing: Literal["words", "particles", "none"] = "words"
    """Are words set apart: yes; yes, but particles cling to them (Korean); no."""
    verb_last: bool = False
    """A command stands at the end of its sentence, with no comma before it."""
    verb_second: tuple[str, ...] = ()
    """Pronouns after which the verb goes back to its place once "that" is gone: "dass ich in Köln wohne"."""
    full_stop: str = "."
    ordinal_dots: bool = False
    """A dot after a number does not end a sentence: "am 3. Mai"."""
    abbreviations: tuple[str, ...] = ()
    """Words whose dot does not either, without the dot."""
    script: str = ""
    """Its letters as ranges of a regular expression, where those tell it apart; else `hints` do."""
    foreign: str = ""
    """Letters of that script that speak against it."""
    hints: tuple[str, ...] = ()
    """Frequent words of its own."""
    letters: str = ""
    """Letters that speak for it."""
    accents: str = ""
    """Its letters beyond a to z, where `hints` tell it apart: any other one speaks against it."""
    please: tuple[str, ...] = ()
    """Before or after the verb of a command."""
    before: tuple[str, ...] = ()
    """Only before it."""
    intending: tuple[str, ...] = ()
    """Those of them, and of `could_you`, after which another verb tells of a plan: "I want to write a book"."""
    could_you: tuple[str, ...] = ()
    """Before it, making a question of a command: the question mark is not part of what is noted."""
    remember: tuple[str, ...] = ()
    """Begins what is to be noted."""
    never_forget: tuple[str, ...] = ()
    """Begins what is to be noted in the core memory."""
    recall: tuple[str, ...] = ()
    """Those of `remember` that what follows may make a question: "remember when we …"."""
    this: tuple[str, ...] = ()
    """Stands for what follows a colon or stands elsewhere: "remember this: …"."""
    that: tuple[str, ...] = ()
    """Links the verb to what is to be noted."""
    for_ever: tuple[str, ...] = ()
    """Beside the verb: it belongs to the core memory."""
    remember_end: tuple[str, ...] = ()
    """Ends what is to be noted; after a comma, unless `verb_last`."""
    that_end: tuple[str, ...] = ()
    """Links it to such an end."""
    please_end: tuple[str, ...] = ()
    """After such an end, and after what was asked."""
    keep: tuple[str, ...] = ()
    """Beside a document: asks to keep it, like `remember`; before or after what stands for it."""
    document: tuple[str, ...] = ()
    """Words for a document, without article."""
    search: tuple[str, ...] = ()
    """Begins what is to be found, and is no part of it."""
    search_end: tuple[str, ...] = ()
    """Ends what is to be found, and is no part of it."""
    remind: tuple[str, ...] = ()
    """Begins what to be reminded of."""
    remind_end: tuple[str, ...] = ()
    """Ends it, where `verb_last`, or where `could_you` begins it."""
    reminder_links: tuple[str, ...] = ()
    """Links such a beginning to what to be reminded of: "to", "that"."""
    reminder_links_end: tuple[str, ...] = ()
    """Links it to such an end."""
    forget: tuple[str, ...] = ()
    """Begins what is to be removed from the notes."""
    forget_end: tuple[str, ...] = ()
    forget_fillers: tuple[str, ...] = ()
    """Words behind it that name nothing: "the note about", "what I said about"."""
    change: tuple[str, ...] = ()
    """Begins what is to be changed in the notes; "… to" where that word has to follow."""
    change_end: tuple[str, ...] = ()
    denials: tuple[str, ...] = ()
    """Those of `fine` that deny: before a statement they belong to it."""
    wrong: tuple[str, ...] = ()
    """Says of what was answered that it is wrong; a whole sentence."""
    corrects: tuple[str, ...] = ()
    """Begins what replaces the statement before: "I meant"."""
    amends: tuple[str, ...] = ()
    """Begins or ends it where it is about the same thing: "actually", "sorry"."""
    pronouns: tuple[str, ...] = ()
    """Begins a statement about the same thing as the one before, with "is" where that follows: "it is", "she"."""
    copulas: tuple[str, ...] = ()
    """What stands between a thing and what is said of it: "is"."""
    instead: tuple[str, ...] = ()
    """Regular expressions in lower case for "not tea, coffee": the groups `old` and `new`."""
    forget_that: tuple[str, ...] = ()
    """Asks to remove what was noted last; a whole sentence, like the next eight."""
    undo: tuple[str, ...] = ()
    """Takes back the last change of a note."""
    clock: tuple[str, ...] = ()
    """Asks what time it is."""
    day: tuple[str, ...] = ()
    """Asks what day it is."""
    good_night: tuple[str, ...] = ()
    """Small talk, like `chat`; so is the next one."""
    goodbye: tuple[str, ...] = ()
    weekday_names: tuple[str, ...] = ()
    """From Monday on, as the day is told."""
    list_notes: tuple[str, ...] = ()
    list_reminders: tuple[str, ...] = ()
    cancel_reminder: str = ""
    """A regular expression in lower case: asks to cancel a reminder, up to its number; anywhere if `verb_last`."""
    today_words: tuple[str, ...] = ()
    tomorrow_words: tuple[str, ...] = ()
    on_day: tuple[str, ...] = ()
    """Asks what is on a day, which stands in the place of the dots."""
    same_thing: tuple[tuple[str, ...], ...] = ()
    """What a person says and asks of themselves, the phrases for one thing together: "my name", "i am called"."""
    about_me: tuple[str, ...] = ()
    today: tuple[str, ...] = ()
    add_model: tuple[str, ...] = ()
    date: str = ""
    """How a moment is written, for `strftime`; "" for how the reminder itself tells it."""
    moments: bool = True
    """Whether `bot.timeparse` knows its words for days and times."""
    orders: tuple[str, ...] = ()
    """Begins what nobody can do without a language model, and nobody would note."""
    orders_end: tuple[str, ...] = ()
    ask_first: tuple[str, ...] = ()
    """Begins a question, or a wish that only a search can come near."""
    conjunctions: tuple[str, ...] = ()
    """Those of them that also begin a statement: "When I was little, …"."""
    ask_anywhere: tuple[str, ...] = ()
    ask_last: tuple[str, ...] = ()
    idioms: tuple[str, ...] = ()
    """Hold one of the words above and mean something else."""
    subjects: tuple[str, ...] = ()
    """Begin a statement, however short."""
    verbs: tuple[str, ...] = ()
    """Make a statement of a few words."""
    states: tuple[str, ...] = ()
    """Tell how something is, until another statement says otherwise."""
    topics: str = ""
    """Particles that mark what a statement is about."""
    chat: tuple[str, ...] = ()
    """Neither noted nor looked for when nothing else is said; so are the next two."""
    thanks: tuple[str, ...] = ()
    fine: tuple[str, ...] = ()
    """Yes, no, good."""
    leave: tuple[str, ...] = ()
    """Said alone, it wants to leave."""
