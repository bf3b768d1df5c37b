"""Everything language-specific: how a language is recognised, and the replies in it."""

import re
from dataclasses import dataclass
from typing import Literal, NamedTuple


def phrases(listed: str) -> tuple[str, ...]:
    return tuple(listed.split("|"))


class RefusalTexts(NamedTuple):
    """Why a time was refused: one sentence each, shown before the question when to remind."""

    past: str
    no_time: str
    """`{time}` is not a valid time of day."""
    no_date: str
    unclear_date: str
    """Ambiguous, or it contradicts its weekday."""
    one_time: str
    """A range, or several days, for one reminder."""
    no_event: str
    """Relative to an event that no calendar knows."""
    no_exceptions: str
    """It excludes some days."""
    no_end: str
    """It has an end date."""
    no_rule: str
    """Its repetition is not supported."""
    what_hour: str
    """"Today" without a time."""
    unclear: str
    """It is unclear which words are the time and which the text."""


class Replies(NamedTuple):
    """Replies of the notebook. Markdown; names in braces are filled in."""

    noted: str
    """`{places}`: one or more times `place`."""
    already_noted: str
    """`{places}`, as above: nothing was written, because it is there."""
    place: str
    """`{path}` and one `{line}`."""
    lines: str
    """`{path}` and several `{lines}`."""
    found: str
    """Heading of the passages found."""
    close: str
    """Heading of passages that share too little with the question to be an answer."""
    said: str
    """Heading of what nobody noted, but somebody said in a chat on a day: `{date}`."""
    since: str
    """The latest of several statements about one thing: `{date}` and `{text}`."""
    before_that: str
    """An earlier one: `{date}` and `{text}`."""
    nothing: str
    hello: str
    thanks: str
    """Reply to thanks."""
    fine: str
    """Reply to "yes", "no", "bye" and the like."""
    what: str
    """Reply to a bare "remember"."""
    cannot_note: str
    cannot_find: str
    closed: str
    """How to open the memory to a group chat."""
    not_noted: str
    """`{error}`."""
    not_found: str
    """`{error}`."""
    cannot_do: str
    cannot_read: str
    """The message came with an attachment that is not text."""
    keep_how: str
    """How to keep a document that came with the message."""
    reminded: str
    """A reminder was set: `{number}`, `{due}`, `{text}`."""
    reminded_again: str
    """A repeating reminder was set: `{number}`, `{text}`, and `{when}` in the person's own words."""
    while_open: str
    """At the terminal: reminders only come while the program runs."""
    not_reminded: str
    """`{error}`."""
    remind_when: str
    """Asks when to remind; contains an example in backticks."""
    remind_what: str
    """Asks what to remind of."""
    forget: str
    """How to remove something: `{command}`."""
    forget_nothing: str
    """Nothing to remove was found, and what to type."""
    correct: str
    """How to correct a note: `{command}`."""
    corrected: str
    """A line was replaced: `{place}`, `{old}`, `{new}`; and how to undo that."""
    removed: str
    """A line was removed: `{place}`, `{old}`; and how to undo that."""
    nothing_to_undo: str
    undo_older: str
    """The last change is too old to undo by a word, or its lines were changed since: the commands that help."""
    back: str
    """A removed line was put back: `{place}`, `{text}`."""
    which_words: str
    """Asks for the whole sentence if it is unclear what a correction replaces: `{text}`."""
    reminder_moved: str
    """`{number}`, `{due}`, `{text}`; and how to undo that."""
    reminder_cancelled: str
    """`{number}`, `{text}`; and how to undo that."""
    no_such_reminder: str
    """`{error}`."""
    good_night: str
    goodbye: str
    clock: str
    """`{time}` and `{zone}`."""
    day: str
    """Today's `{weekday}` and `{date}`."""
    list_notes: str
    reminders: str
    cancel_reminder: str
    """How to cancel a reminder: `{command}`."""
    reminders_are: str
    """Heading of the upcoming reminders."""
    reminders_none: str
    on_day: str
    """Heading of what is on a day: `{day}` in the person's words."""
    on_day_nothing: str
    """Nothing is on that day: `{day}`."""
    about_you: str
    """Heading of the content of MEMORY.md."""
    about_you_nothing: str
    today: str
    """Heading of the content of today's log."""
    today_nothing: str
    rest: str
    """How to read the rest of a note: `{path}`."""
    leave: str
    """How to leave the terminal."""
    notice: str
    """No language model is configured, and how to add one; contains NOTICE_MARK."""
    refused: RefusalTexts | None = None
    """Why a time was refused; None uses the messages of `bot.timeparse`, which are English and more precise."""

    @property
    def question_when(self) -> str:
        """Return the question that `remind_when` begins with, or all of it if no question mark ends it."""
        question = re.match(r"[^?？؟]*[?？؟]", self.remind_when)
        return question[0] if question else self.remind_when


NOTICE_MARK = "`commonplace init model`"
"""Contained in every notice: a conversation with it in an answer has already been told."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Language:
    """How one language is recognised. Phrases are lower case with straight apostrophes; the longest match wins."""

    code: str
    say: Replies
    spacing: Literal["words", "particles", "none"] = "words"
    """Whether words are separated by spaces: yes; yes, but particles attach to them (Korean); no."""
    verb_last: bool = False
    """A command stands at the end of its sentence, with no comma before it."""
    verb_last_after: tuple[str, ...] = ()
    """Words for "that" after which the verb stands last: "dass Tom in Köln wohnt"; noted with the word."""
    verb_second: tuple[str, ...] = ()
    """Pronouns after which the verb moves back to second position without that word: "dass ich in Köln wohne"."""
    full_stop: str = "."
    ordinal_dots: bool = False
    """A dot after a number does not end a sentence: "am 3. Mai"."""
    abbreviations: tuple[str, ...] = ()
    """Words, without the dot, after which a dot does not end a sentence."""
    script: str = ""
    """Its letters as regular expression ranges, if they identify it; else `hints` do."""
    foreign: str = ""
    """Letters of that script that rule it out."""
    hints: tuple[str, ...] = ()
    """Frequent words of this language only."""
    letters: str = ""
    """Letters that suggest it."""
    accents: str = ""
    """Its letters beyond a to z, if `hints` identify it: any other letter counts against it."""
    please: tuple[str, ...] = ()
    """Before or after the verb of a command."""
    before: tuple[str, ...] = ()
    """Only before it."""
    intending: tuple[str, ...] = ()
    """Those of `before` and `could_you` after which another verb states a plan: "I want to write a book"."""
    could_you: tuple[str, ...] = ()
    """Turns a command into a question: the question mark is not part of what is noted."""
    remember: tuple[str, ...] = ()
    """Begins what is to be noted."""
    never_forget: tuple[str, ...] = ()
    """Begins what is to be noted in the core memory."""
    recall: tuple[str, ...] = ()
    """Those of `remember` that may begin a question: "remember when we …"."""
    this: tuple[str, ...] = ()
    """Stands for text after a colon or elsewhere: "remember this: …"."""
    that: tuple[str, ...] = ()
    """Links the verb to what is to be noted."""
    for_ever: tuple[str, ...] = ()
    """Beside the verb: for the core memory."""
    remember_end: tuple[str, ...] = ()
    """Ends what is to be noted; after a comma, unless `verb_last`."""
    mentions: tuple[str, ...] = ()
    """Those of `remember` and `remember_end` that do not ask to note anything: "by the way"."""
    that_end: tuple[str, ...] = ()
    """Links the text to such an end."""
    please_end: tuple[str, ...] = ()
    """After such an end, and after a question."""
    keep: tuple[str, ...] = ()
    """Asks to keep a document, like `remember`; before or after a word for it."""
    document: tuple[str, ...] = ()
    """Words for a document, without article."""
    search: tuple[str, ...] = ()
    """Begins a query, and is not part of it."""
    search_end: tuple[str, ...] = ()
    """Ends a query, and is not part of it."""
    remind: tuple[str, ...] = ()
    """Begins a reminder's text."""
    remind_end: tuple[str, ...] = ()
    """Ends a reminder's text if `verb_last`, or if `could_you` begins it."""
    reminder_links: tuple[str, ...] = ()
    """Links such a beginning to the text: "to", "that"."""
    reminder_links_end: tuple[str, ...] = ()
    """Links the text to such an end."""
    forget: tuple[str, ...] = ()
    """Begins what is to be removed from the notes."""
    forget_end: tuple[str, ...] = ()
    forget_fillers: tuple[str, ...] = ()
    """Words after it that name nothing: "the note about", "what I said about"."""
    change: tuple[str, ...] = ()
    """Begins what is to be changed in the notes; "… to" if that word must follow."""
    change_end: tuple[str, ...] = ()
    denials: tuple[str, ...] = ()
    """Those of `fine` that deny: before a statement they belong to it."""
    wrong: tuple[str, ...] = ()
    """Says that an answer was wrong; a whole sentence."""
    corrects: tuple[str, ...] = ()
    """Begins the replacement of the previous statement: "I meant"."""
    amends: tuple[str, ...] = ()
    """Begins or ends a replacement about the same thing: "actually", "sorry"."""
    pronouns: tuple[str, ...] = ()
    """Begins a statement about the same thing as before, with "is" if that follows: "it is", "she"."""
    copulas: tuple[str, ...] = ()
    """Stands between a thing and what is said about it: "is"."""
    instead: tuple[str, ...] = ()
    """Lower-case regular expressions for "not tea, coffee", with the groups `old` and `new`."""
    forget_that: tuple[str, ...] = ()
    """Asks to remove what was noted last; a whole sentence, like the next eight."""
    undo: tuple[str, ...] = ()
    """Undoes the last change of a note."""
    clock: tuple[str, ...] = ()
    """Asks for the time."""
    day: tuple[str, ...] = ()
    """Asks for the day."""
    good_night: tuple[str, ...] = ()
    """Small talk, like `chat`; the next one too."""
    goodbye: tuple[str, ...] = ()
    weekday_names: tuple[str, ...] = ()
    """From Monday on, as used in replies."""
    list_notes: tuple[str, ...] = ()
    list_reminders: tuple[str, ...] = ()
    cancel_reminder: str = ""
    """Lower-case regular expression for cancelling a reminder, up to its number; anywhere if `verb_last`."""
    today_words: tuple[str, ...] = ()
    tomorrow_words: tuple[str, ...] = ()
    on_day: tuple[str, ...] = ()
    """Asks what is on a day, which replaces the dots."""
    paraphrases: tuple[tuple[str, ...], ...] = ()
    """Phrases in which people state and ask things about themselves, grouped by topic: "my name", "i am called"."""
    about_me: tuple[str, ...] = ()
    today: tuple[str, ...] = ()
    add_model: tuple[str, ...] = ()
    date: str = ""
    """`strftime` format of a date; "" for the reminder's own format."""
    moments: bool = True
    """Whether `bot.timeparse` knows its words for days and times."""
    orders: tuple[str, ...] = ()
    """Begins an order that needs a language model and that nobody would note."""
    orders_end: tuple[str, ...] = ()
    ask_first: tuple[str, ...] = ()
    """Begins a question, or a wish that a search may answer."""
    conjunctions: tuple[str, ...] = ()
    """Those of `ask_first` that also begin a statement: "When I was little, …"."""
    ask_anywhere: tuple[str, ...] = ()
    ask_last: tuple[str, ...] = ()
    idioms: tuple[str, ...] = ()
    """Phrases that contain one of the words above but mean something else."""
    subjects: tuple[str, ...] = ()
    """Begin a statement, however short."""
    verbs: tuple[str, ...] = ()
    """Make a statement of a few words."""
    topics: str = ""
    """Particles that mark the topic of a statement."""
    chat: tuple[str, ...] = ()
    """Neither noted nor searched if nothing else is said; the next two likewise."""
    thanks: tuple[str, ...] = ()
    fine: tuple[str, ...] = ()
    """Yes, no, good."""
    leave: tuple[str, ...] = ()
    """Asks to leave, if said alone."""
