"""Every sentence that the assistant itself says to people, in one place."""

STRANGER = "I do not know you yet, so I cannot talk with you here."
NOTHING_SAID = "I see no text in that."
STOPPED_HERE = "*(stopped)*"
STOPPED = "Stopped."
WHOLE_IN_FILE = "*(This reply is long: {characters:,} characters. All of it is in the file below.)*"
REST_NOT_SHOWN = (
    "*(This is only the beginning: the reply is too long for a chat, and I may not send files here. All of it is kept "
    "in our conversation; ask me for the part you need.)*"
)
SENDING_STOPPED = "*(stopped; the whole reply is in the file below)*"
SENDING_STOPPED_WITHOUT_FILE = (
    "*(stopped; the rest is kept in our conversation, ask me for it whenever you like)*"
)
NOTHING_RUNS = "Nothing is running here."
CANNOT_KEEP = (
    "I cannot keep our conversation at the moment, so I would rather not go on. Please try again later."
)
CANNOT_KEEP_YET = (
    "I cannot keep our conversation at the moment, so I wait; I will answer as soon as I can write again."
)
FILES_SET_ASIDE = (
    "Sorry, I crashed twice while reading your files, so I skipped them. I still have your message. Please send "
    "the files again one at a time, or as plain text."
)
GIVEN_UP = "Sorry, I ended again and again over this message, so I leave it. It is in the log."
NOTICE_GIVEN_UP = (
    "Sorry, there was something I wanted to tell you, but I crashed each time I tried. It is in the log; "
    "/reminders shows what is still to come."
)
BUDGET_SPENT = "The tokens of today are spent. What you said is kept; /retry asks again after midnight."
TOO_MANY_MESSAGES = "That was too much at once, so I have not taken it in. Please go on in {seconds} s."
CANNOT_LISTEN = (
    "I cannot listen to voice messages here yet: no service is set that writes them down. An owner can add one: "
    "`speech.provider` in the settings, with a key of openai, groq or mistral."
)
CANNOT_LISTEN_WITHOUT_KEY = (
    "I cannot listen to voice messages here yet: {provider} is to write them down, but it has no key. An owner can set "
    "it: `{variable}` in the environment, or `api_key` under `[providers.{provider}]` in the settings."
)
CANNOT_READ_KIND = "I can read pictures, text, PDF files and voice messages; this is of another kind."
NO_SPEECH_PROVIDER = (
    "It is not written down: no service for speech is set (speech.provider in the settings, with a key of openai, "
    "groq or mistral)."
)
NO_SPEECH_KEY = "It is not written down: {provider} has no key ({variable}, or providers.{provider}.api_key)."
NOT_WRITTEN_DOWN = "It could not be written down by {provider}: {reason}."
SOUND_UNKNOWN = "It could not be written down: its sound is in a format that services do not take."
SOUND_TOO_LONG = "It could not be written down: it is too long for {provider}."
NOTHING_IS_HEARD = "Nothing that is said can be heard in it."
ATTACHMENT_TOO_LARGE = "It was not fetched: it is larger than {most} MB."
ATTACHMENT_GONE = "It is not there any more; sending it again helps."
NOT_READ = "It was not read."
NOT_READ_AGAIN = "It was not read: I crashed twice while reading what came with this message."
NOT_FETCHED = "It could not be fetched just now; sending it again later may help."
TOO_MANY_PICTURES = "It was not looked at: {most} pictures in a message are the most."
TOO_MANY_ATTACHED = "They were not read: that is too much for one message."
PICTURE_IS_HEIC = "It cannot be looked at in its format, HEIC or AVIF; as a JPEG or sent as a photo it can."
PICTURE_TOO_LARGE = "It cannot be looked at: it has more than {most} megapixels."
PICTURE_TOO_MUCH = "It cannot be looked at: that takes too long, or too much memory."
PICTURE_UNKNOWN = "It is not a picture of a kind that can be looked at: JPEG, PNG, GIF, WebP and BMP can."
PICTURE_DAMAGED = "It cannot be looked at: the file is damaged."
DOCUMENT_EMPTY = "It is empty."
DOCUMENT_IS_PICTURE = "It is a picture, not text."
DOCUMENT_IS_PACKED = "It cannot be read: it is an office document or an archive. As PDF or plain text it can."
DOCUMENT_IS_BINARY = "It cannot be read: it is no text. PDF and anything in plain text can."
NO_TIME_LEFT = (
    "It was not read: the files before it took all the time there is for one message. Send it by itself."
)
PDF_LOCKED = "It cannot be read: a password protects it."
PDF_DAMAGED = "It cannot be read: the file is damaged."
PDF_TOO_MUCH = "It cannot be read: that takes too long, or too much memory."
PDF_HAS_NO_TEXT = "It holds no text; it may have been scanned. Its pages can be sent as pictures."
MEMORY_IS_CLOSED = "The memory is off here, since others listen. An owner can open it: /memory on"
OUR_FAULT = "Sorry, something went wrong on my side. It is in the log; please try again."

NO_ANSWER = "I got no answer from the language model: {reason}. What you said is kept; /retry asks again."
NO_MODEL_ANSWERED = (
    "None of the language models answered: {reasons}. What you said is kept; /retry asks again."
)
ANSWERED_INSTEAD = "*({failed}, so {model} answered.{hint})*"
BUILTIN_NOTEBOOK = "the built-in notebook"
HINT_RETRY = " `/retry` asks again."
HINT_DOCTOR = " `commonplace doctor` shows what to fix."
CUT_SHORT = "*(The answer ends here because it has reached the longest that the model may write.)*"
MODEL_REASON = "{model}: {reason}"
REASON_AND_MEND = "{reason} ({mend})"
LIST_MARK = "; "
BROKE_OFF = "it broke off in the middle of its answer"
MODEL_TROUBLE = {
    "": "it failed",
    "rate_limit": "it has had too many requests",
    "overloaded": "it is overloaded",
    "server": "its server has a fault",
    "timeout": "it took too long",
    "network": "it could not be reached",
    "auth": "our key is missing or not accepted",
    "billing": "the account has no credit left",
    "context_length": "the conversation has become too long for it (/new begins another one)",
    "not_found": "there is no such model at its address",
    "bad_request": "it did not understand our request",
    "refused": "it will not answer this",
    "empty": "its answer was empty",
    "broken_tool_call": "it asked for tools in a way that made no sense",
}
MODEL_FAILED = {
    "": "{model} failed",
    "rate_limit": "{model} has had too many requests",
    "overloaded": "{model} is overloaded",
    "server": "{model} had a server error",
    "timeout": "{model} took too long",
    "network": "{model} could not be reached",
    "auth": "the API key for {model} is missing or was rejected",
    "billing": "the account for {model} has no credit left",
    "context_length": "this conversation is too long for {model}",
    "not_found": "{model} was not found at its address",
    "bad_request": "{model} did not understand the request",
    "refused": "{model} refused to answer",
    "empty": "{model} gave an empty answer",
    "broken_tool_call": "{model} used its tools wrongly",
}
MODEL_BROKE_OFF = "{model} broke off in the middle of its answer"

USAGE = "Usage: `{usage}` - {help}"
USAGE_EXAMPLE = "For example: `{example}`"
UNKNOWN_COMMAND = "There is no /{name} here; /help shows what there is."
UNKNOWN_COMMAND_NEAR = "There is no /{name} here; did you mean /{near}? /help shows what there is."
NO_ANSWER_HERE = "I cannot answer you here."
NOT_YOUR_BUTTONS = "These buttons are not for you."
NOT_TAKEN_IN = "I could not take that in, so nothing was done. Please try again in a moment."
HELD_BACK = "I have an answer, but the rules of this server hold it back. Ask me in a direct message."
NOT_SHOWN = "I have an answer, but Discord does not let me show it here."
FILE_OPTION = "A document to file among the notes, or a voice message to note."

HELP = "Talk to me as you like, or use one of these:\n\n{commands}"
HELP_ROW = "- `{usage}` {help}"
HELP_ONE = "`{usage}` {help}"
HELP_OPTION = "- {option}: {help}"
NEW = "A new conversation. What I have noted stays in the memory."
REMEMBERED = "Noted in {place}."
NOTHING_FOUND = "I found nothing about that in the memory."
STATUS_MODEL = "Model: {model}"
STATUS_NO_MODEL = "No model is answering: {reasons}. Run `commonplace doctor` to see what to fix."
STATUS_NO_MODEL_FOR_OTHERS = (
    "No model is answering: {reasons}. An owner can find out more with `commonplace doctor`."
)
STATUS = "{model}\nChat: {chat}\nNotes: {files}\nChunks: {chunks}\nSearch: {search}"
STATUS_GUEST = "{model}\nChat: {chat}"
STATUS_OPEN = "Not answered or delivered yet: {count}"
STATUS_CHANNEL = "{channel}: {state}"
STATUS_CHANNEL_WHY = "{channel}: {state} ({detail})"
STATUS_CHANNEL_BUT = "{channel}: {state}, but {detail}"
CHANNEL_STATES = {
    "starting": "connecting",
    "up": "up",
    "down": "down",
    "standby": "standby",
    "stand-in": "standing in",
}
CHANNEL_STOPPED = "it failed and will restart shortly; the log has the details"
HELD_BY = "{holder} has it"
STANDS_IN = "a second process here serves it for {workspace}"
LEASES_UNKNOWN = "who has it is not known while the index's server cannot be asked"
LEASED_CHANNEL = "{channel} ({bot})"
LEASED_WORKSPACE = "Workspace {workspace}"
LEASED_JOBS = {"schedule": "Regular look at all notes", "backup": "Backup of the notes"}
WEB_LEASES = "What other instances do is not known: {problem}"
STANDBY = "Another instance serves this workspace; this one is a standby."
STANDBY_UNKNOWN = (
    "The server of index.url cannot be asked just now, so nobody knows which instance serves this workspace; "
    "`commonplace doctor` says why."
)
"""Not where it is: this is told to strangers as well."""
NOT_OURS = "another instance has this channel now"
STATUS_INSTANCE = "Instance: {name}"
STATUS_LEASE = "{what}: {holder}"
STATUS_LEASE_SINCE = "{what}: {holder}, since {time}"
STATUS_NO_INSTANCES = "No instance is running."
STATUS_LEASES_PROBLEM = (
    "What other instances do is not known while the index's server cannot be asked; `commonplace doctor` "
    "says why."
)
"""Not where it is, and not its own words, which may tell that: others may read along in a chat."""
STATUS_UNREAD = "Kept from {channel}, but I could not read it (why is in the log): {count}"
STATUS_CHOSEN = "{model}, chosen for this chat"
NOTHING_TO_RETRY = "There is nothing yet that I could answer again."
MODEL_AUTO = (
    "Model: {model} first, others when it fails.\nThere are:\n{models}\n\n"
    "`/model NAME` chooses one for this chat."
)
MODEL_ONLY = "Model: {model}. There is no other."
MODEL_NOW = "Model: {model}, chosen for this chat; `/model auto` ends that.\nThere are:\n{models}"
MODEL_ROW = "- {model}"
MODEL_CHOSEN = "From now on {model} answers here first. `/model auto` ends that."
MODEL_AUTO_AGAIN = "The models are asked in their usual order again, {model} first."
MODEL_UNKNOWN = "There is no model {name} here. There are:\n{models}"
MODEL_UNKNOWN_NEAR = "There is no model {name} here; did you mean {near}? There are:\n{models}"
MODEL_TO_ADD = '\n\nTo use it, add "{name}" to `chain` under `[models]`.'
MODEL_AMBIGUOUS = "{name} may be any of these; tell me more of its name:\n{models}"
CHOICE = "{label}"
CHOICE_CHOSEN = "✓ {label}"
MODEL_CHOICE_AUTO = "Usual order"
MODELS_MAY_RESET = "`/models reset` has all of them asked again at once."
MODELS_CHOICE_RESET = "Ask all again"
MODELS_RESET = "Every model is asked again as if it had never failed."
MODELS_ROW = "- **{model}**{key}: {state}"
MODELS_KEY = ", key {number}"
MODELS_STATE = {
    "ready": "ready",
    "resting": "left to rest until {time}",
    "on probation": "asked again with the next message",
}
MODELS_CALLS = "calls: {calls}, in vain: {failures}"
MODELS_NEVER = "not asked yet"
MODELS_SPEED = "begins after {first:.1f} s, {speed:.0f} tokens a second"
MODELS_TOKENS = "{read} tokens read ({cached} of them from a cache), {written} written"
MODELS_ERROR = "last failure {time}: {reason} ({detail})"
TOKENS_USED = "Tokens\n\nToday:\n{today}\n\nThe last 30 days:\n{month}"
TOKENS_ROW = "- {model}: {read} read ({cached} from a cache), {written} written; calls: {answers}"
TOKENS_NONE = "- none"
REBUILT = "The index is built anew, in {seconds:.1f} s.\nNotes: {notes}"
REBUILD_JOINED = "It was under way already when you asked."
REINDEXED = "Looked at all notes, in {seconds:.1f} s: {added} new, {changed} changed, {removed} gone."
MEMORY_STATUS = "Notes: {files}\nChunks: {chunks}\nSearch: {search}\nWords: {fts}\nLast indexed: {indexed}"
NEVER = "never"
NOT_KNOWN = "not known"
NOBODY = "nobody"
INDEX_AWAY = (
    "Index: its server cannot be used just now. Nothing is lost; `commonplace doctor` says why, and what "
    "to do."
)
INDEX_PROBLEM = "Index: {problem}"
BY_MEANING = "by meaning and by words"
BY_MEANING_WITH = "by meaning and by words, with {model} of {reason}"
BY_MEANING_FOR_NOW = "by meaning and by words, for now with the fallback {model} of {provider}"
BY_WORDS = "by words alone"
BY_WORDS_FOR_NOW = "by words alone for now"
BY_FILES_FOR_NOW = "by words alone for now, through the files one by one"
SEARCHED = "Searched {how}."
BY_WORDS_SINCE = "by words alone ({reason})"
ALL_VECTORS = "Vectors: all there"
MISSING_VECTORS = "Vectors: {missing} missing"
VECTORS_PROBLEM = "Vectors: {missing} missing; {problem}"
NEXT_TRY = " (asked again at {time})"
WATCH = {
    "off": "Watching the folder: no",
    "waiting": "Watching the folder: waiting for it",
    "events": "Watching the folder: yes",
    "polling": "Watching the folder: by looking regularly",
}
WATCH_DEAD = "Watching the folder: no longer"
TASK_STOPPED = (
    "The background task “{task}” failed ({error}) and will restart at {again}. The log has the details."
)
TASK_RESTARTED = (
    "The background task “{task}” failed at {time} ({error}) and is running again. The log has the details."
)
REINDEX = "Last look at all notes: {last}; next: {next}"
REINDEX_ELSEWHERE = "Regular look at all notes: by {holder}"
REINDEX_NOW = "Looking at all notes: now"
SEARCH_WHAT = "Usage: `/memory search QUERY`"
GET_WHAT = "Usage: `/memory get PATH`"
CACHE_WHAT = "Usage: `/memory cache clear`"
CACHE_CLEARED = (
    "Cleared from the cache: {cleared} vectors that no note needs, and {queries} of earlier questions. "
    "Kept: {kept} that your notes need."
)
EMPTY_NOTE = "That note is empty."
NOTE_CUT = "(lines {first} to {last} of {total}; there is more)"
CORE_TOO_LONG = (
    "MEMORY.md is {chars:,} characters long, but I only keep the first {most:,} in mind at all times (up to line "
    "{line}); I have to search for the rest."
)
CORE_SHORTEN = "Please shorten it, or move what I don't always need to know into other notes."
CORE_NOTICE = "About my notes: {warning}"
NO_NOTES = "There are no notes yet."
NO_SUCH_FOLDER = "I found no folder {folder} with notes in it. `/memory list` shows your folders."
NOTE_ROW = "- `{path}`, {size}"
NOTES_MORE = "These are the latest {shown} of {all}. `/memory list FOLDER` shows one folder."
FOLDERS = "Folders: {folders}"
FOLDER_ROW = "`{folder}` ({count})"
FOLDERS_MORE = "and {count} more"
CORRECT_USAGE = (
    "Usage: `/correct PATH:LINE TEXT`, for example: `/correct 2026-11-21.md:3 The boiler is blue.`"
)
CORRECT_ONE_LINE = "I can only correct one line at a time. Usage: `/correct PATH:LINE TEXT`"
CORRECTED = (
    "Corrected {place}. It said:\n\n> {old}\n\nNow it says:\n\n> {new}\n\n`/memory trash` has the old line."
)
CORRECTED_BEFORE = "Corrected {place}. `/memory trash` has the old line."
TRASH = "Removed, newest first:\n{rows}\n\n`/memory trash restore N` puts one back."
TRASH_ROW = "- **{number}** {time}, `{note}`: {words}"
TRASH_MORE = "- and {count} older"
TRASH_EMPTY = "The trash is empty."
TRASH_USAGE = "Usage: `/memory trash`, or `/memory trash restore N` with a number from that list"
TRASH_NO_NUMBER = "There is no number {number} in the trash. `/memory trash` lists what is."
RESTORED = "Restored to {place}."
RESTORED_IN_PLACE = (
    "Restored {place}. It said:\n\n{old}\n\nNow it says:\n\n{new}\n\n`/memory trash` has what it said before."
)
RESTORED_BESIDE = (
    "Restored to {place}. The text that had replaced it isn't there any more, so please check the lines "
    "around it."
)
TRASH_SEVERAL = (
    "Number {number} now fits several entries. Please use the longer number that `/memory trash` shows."
)
RESTORED_BEFORE = "Number {number} has already been restored."

IN_COMPANY = (
    'Another terminal is already in this conversation ("{session}"). Each shows the answers to its own questions. '
    "To have a separate conversation here, start with --session NAME."
)
BANNER_NOTES = "{name}: your notes are in {folder}"
BANNER_MODEL = "Model: {model}"
BANNER_NOTEBOOK = (
    "Model: none yet. The built-in notebook keeps notes and finds them; see docs/models.md to add a language "
    "model."
)
BANNER_PAGE = "Status page: {page}"
EXIT_HELP = "leaves the terminal"
BANNER_KEYS = "Just say something. /help lists the commands, Alt-Enter starts a new line, exit leaves."
"""When a person sits down at the terminal."""

START = (
    "Hello, I am {name}. Just write to me, as you would to a person. What matters I note, and I find it again "
    "when you ask. `/remember TEXT` notes something at once, `/recall QUERY` looks it up; /help shows what "
    "else there is."
)
START_GUEST = (
    "Hello, I am {name}. Just write to me, as you would to a person. /help shows what else there is."
)
PAIRING = (
    "Your code is {code}. To talk with me, ask my owner to send me this line within {minutes} min:\n\n"
    "`/pair {code}`"
)
LET_IN = "You can talk with me now. /start tells how."
LET_IN_AS_OWNER = "You are my owner now and can talk with me. /start shows how."
MAY_TALK = "{who} can talk with me now, and read and write all of the memory. `/deny {person}` ends that."
MAY_TALK_AS_GUEST = "{who} can talk with me now as a guest, without the memory. `/deny {person}` ends that."
IS_OWNER = "{who} is an owner now and can do everything, in every chat. `/deny {person}` at the terminal undoes that."
ALLOW_OWNER = "{person} is already an owner and can do everything."
DENIED = "{who} can no longer talk with me. `/allow {person}` takes that back."
KEPT_OUT = "{who} is kept out. `/allow {person}` takes that back."
DENY_OWNER = (
    "I can't: the settings name {person} as an owner. Remove them from access.owners there, then send "
    "`/config reload`."
)
DENY_PAIRED_OWNER = (
    "{person} is an owner. You can only undo that at the terminal where I run: "
    '`commonplace chat -m "/deny {person}"`'
)
DENY_TERMINAL = "Anyone at the terminal where I run can always talk with me."
PAIR_WRONG = (
    "That code isn't valid. It may be mistyped, already used, more than an hour old, or from another Commonplace: each "
    "workspace folder has codes of its own. Anyone who writes to me gets a new one."
)
PAIR_LOOKED_IN = (
    "I looked in {folder}. If your bot uses another folder, run this there, or name the folder: "
    "`commonplace chat --workspace FOLDER`"
)
PAIR_FORM = (
    "A code has {length} letters and digits. Usage: `/pair CODE`, `/pair CODE guest` to let them in without the "
    "memory, or, at the terminal where I run, `/pair CODE owner`."
)
PAIR_OWNER_NOT_HERE = (
    'Owners can only be added at the terminal where I run: `commonplace chat -m "/pair CODE owner"`'
)
PAIR_OWNER_UNKNOWN = "I don't know {person} yet. Ask them to write to me first, then send this again."
PAIR_OWNER_USED = "To make them an owner: `/pair USER owner`, with the id in parentheses as USER."
PAIR_WAIT = "Too many wrong codes. Please try again in {minutes} min; `/allow USER` still works."
PAIRING_OFF = "Pairing is off (access.pairing in the settings). `/allow USER` lets somebody in."
ASKS = (
    "{who} would like to talk with me. `/pair {code}` lets them in, with the memory, all of it; `/pair {code} guest` "
    "lets them in without it; `/deny {person}` keeps them out. The code counts for {minutes} min."
)
ASKS_NO_MORE = (
    "Many have asked within an hour, so I tell of no more until {time}. `/pair` lists whoever asks."
)
ASKS_TURNED_AWAY = (
    "{count} people are waiting for approval, the most I keep, so I turned others away. `/pair` lists who is waiting; "
    "`/pair clear` turns them all away, so that others can ask."
)
CHOICE_CLEAR = "Turn all away"
CHOICE_LET_IN = "Let in{name}"
CHOICE_AS_GUEST = "As guest{name}"
CHOICE_KEEP_OUT = "Keep out{name}"
PAIR_ASKING = (
    "Waiting for approval:\n{rows}\n\nSend somebody's line to let them in with the whole memory; add `guest` to let "
    "them in without it. `/deny USER` keeps somebody out."
)
PAIR_ASKING_AT_TERMINAL = f"{PAIR_ASKING}\n\nTo become an owner yourself, add `owner`: `/pair {{code}} owner`"
PAIR_ROW = "- {who}: `/pair {code}`, expires in {minutes} min"
PAIR_NOBODY = "No pending requests. Anyone who writes to me gets a code; `/pair CODE` lets them in."
PAIR_TURNED_AWAY = (
    "Others asked in the last hour and were turned away, because the list is full. `/pair clear` empties it."
)
PAIR_CLEARED = "Done: {count} turned away. They can ask again in an hour; anyone else can ask now."
PAIR_WAS_CLEARED = "That request was cleared with `/pair clear`. `/allow {person}` still lets {who} in."
PAIR_NOT_HERE = "Others can read this chat. Please send `/pair` to me in private."
PAIR_USED = "{who} was already let in with that code."
PAIR_KEPT_OUT = "{who} has been kept out since then. `/allow {person}` takes that back."
WHO = (
    "Tell me who by channel and id, as in `/{command} telegram:123456`. A name with @ is not enough: it may be "
    "somebody else's tomorrow."
)
MEMORY_ON = (
    "The memory is on in this room: I may tell here what is in the notes, and note what is said. "
    "`/memory off` ends that."
)
MEMORY_OFF = "The memory is off in this room. `/memory on` opens it again."
MEMORY_ALWAYS_ON = (
    "Nobody else listens here, so the memory is always on. `/memory on` and `off` are for rooms."
)

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
MOMENT = "{weekday}, {day} {month} {year} at {time}"
MOMENT_ZONE = "{moment} ({zone})"
DUE_YESTERDAY = "yesterday {time}"
DUE_EARLIER = "{weekday} {day} {month} {time}"
RULE_ONE = "every {unit}"
RULE_MANY = "every {count} {unit}s"
RULE_WORKDAYS = "every weekday"
RULE_AT = "at {times}"
RULE_WEEK_DAYS = "{every} on {days}"
RULE_NTH = "{every} on the {nth} {day}"
RULE_DAY = "{every} on day {day}"
RULE_LATE_DAY = "{every} on day {day} (the last day of shorter months)"
RULE_LAST_DAY = "{every} on its last day"
RULE_DATE = "{every} on {day} {month}"
NTH = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth (or last)", -1: "last"}
AND = "{first} and {last}"
WHEN = {
    "unread": (
        "I didn't understand the time. Please write it first, for example `20m`, `tomorrow 9:00` or "
        "`every monday 8:00`. `2026-12-03 14:00` always works."
    ),
    "past": "That's in the past: {moment}. Please pick a later time.",
    "today": "Today at what time? For example: `today 18:00`.",
    "no_clock": "{time} isn't a valid time (00:00–23:59). For example: `18:00`.",
    "no_date": "There is no {date}. Please pick another day; year-month-day always works: `2026-12-03`.",
    "other_day": "{day} is a {weekday}, not a {told}. Which one do you mean? For example: `{example}`.",
    "two_dates": "{date} could be two different dates. Please write it as year-month-day: `2026-12-03`.",
    "doubt": (
        "Is {number} the time? Then write `{begin} at {number}`. If it's part of the text, put a colon before it: "
        "`{begin}: {number} …`."
    ),
    "two_days": (
        "A reminder can have only one date, unless it repeats: `every monday and tuesday 8:00`. "
        "For several dates, please set several reminders."
    ),
    "no_count": "I can't use {count} × {unit}. Please use a smaller whole number, for example `in 3 days`.",
    "too_often": "Once a minute is the most often I can do: `every 1 minute`.",
    "too_far": "I can't find that date in the calendar. Year-month-day always works: `2026-12-03 14:00`.",
    "odd_rule": "I can't combine these. For example: `every monday 8:00` or `every month on the 1st at 9:00`.",
    "separator": "{number} could be two different numbers. Please write `{plain}` or `{point}`.",
    "range": "I need one time, not a range. For example: `in {number} hours`.",
    "no_range": "I need one time, not a range. For example: `friday 9:00`.",
    "ago": "“{ago}” is in the past. Please pick a later time, for example `in 20 minutes`.",
    "relative": (
        "I can't work out a time before or after something else. Please write the time itself, for example "
        "`in 2 hours` or `friday 18:00`."
    ),
    "except": (
        "I can't leave days out. Please list the days you want: `every monday, tuesday and wednesday 8:00`."
    ),
    "time_in_text": (
        "Is {time} when I should remind you? Then write `{begin} at {time} …`. If it's part of the text, put a colon "
        "before the text: `{begin}: …`."
    ),
    "vague": (
        "I didn't understand “{time}”. Please write the time as `{begin} at 9:30 …`. If it's part of the text, put a "
        "colon before it: `{begin}: {time} …`."
    ),
    "day_in_text": (
        "Is “{day}” when I should remind you? Then write the day first: `{day} {begin} …`. If it's part of the text, "
        "put a colon before the text: `{begin}: …`."
    ),
    "day_of_text": (
        "“{day}” looks like part of the text. When should I remind you? Please write the time first, for example "
        "`tomorrow 9:00 …`."
    ),
    "until": (
        "I can't stop a reminder on a set date. Please leave out the end; you can stop it later with "
        "`/reminders cancel N`."
    ),
    "zone": (
        "I can't work with “{zone}”. Please write the time in your own time zone, for example `tomorrow 9:00`."
    ),
}
"""Why no moment can be made of what was written, and how to write it; by `bot.timeparse.moment.TimeParseReason`."""
REMIND_WHAT = "What should I remind you of? For example: `/remind tomorrow 9:00 call mum`"
SCHEDULE_WHAT = "What should I do then? For example: `/schedule every monday 8:00 what is planned this week?`"
REMINDER_SET = "Reminder {number} is set: “{text}”, {moment}{again}."
SCHEDULE_SET = "Scheduled as number {number}: {moment}{again}. `/reminders cancel {number}` cancels it."
AGAIN = ", then {rule}"
AT_TERMINAL = "I can only remind you while Commonplace is running; otherwise you'll see it next time."
REMINDER = "⏰ {text}"
REMINDER_LATE = "⏰ {text}\n\n(due {due})"
SCHEDULED_LATE = "{text}\n\n(due {due})"
REMINDER_SKIPPED = "(skipped {count}× in between, because the last one was still waiting)"
REMINDER_UNREADABLE = (
    "(I can't read how often reminder {number} repeats, so it won't come again. Please set it again.)"
)
REMINDERS_NONE = "You have no reminders. To set one: `/remind tomorrow 9:00 call mum`"
REMINDERS = "Upcoming ({zone}):\n{rows}\n\n`/reminders cancel N` cancels one."
REMINDERS_ROW = "- **{number}**: {moment}{again}: {text}"
REMINDERS_ROW_PROMPT = "- **{number}** (scheduled): {moment}{again}: {text}"
REMINDERS_ROW_UNREADABLE = (
    "- **{number}**: I can't read when this one is due: {text}. `/reminders cancel {number}` removes it."
)
REMINDER_CANCELLED = "Cancelled reminder {number}: {text}"
REMINDER_UNKNOWN = "There is no upcoming reminder {number} here. `/reminders` lists them."
REMINDERS_FULL = (
    "This chat already has {limit} reminders, the most that a chat can have. Please cancel some first: "
    "`/reminders` lists them, `/reminders cancel 1 2 3` cancels several at once."
)
REMINDERS_FULL_OF_PERSON = (
    "You already have {limit} reminders in all chats together, the most that one person can have. Please cancel some "
    "first: `/reminders` lists those of the chat in which you write it, `/reminders cancel 1 2 3` cancels several at "
    "once."
)
REMINDER_LONG = "That text is too long: {length} characters, the limit is {limit}. Please shorten it."
REMINDERS_CHOICE_CANCEL = "Cancel {number}: {text}"
CANCEL_WHICH = (
    "Which one? Please give its number, for example `/reminders cancel 3`. `/reminders` lists them."
)

BACKED_UP = "Backed up, with our conversations: {file}\nFiles: {files}\nSize: {size}"
BACKED_UP_IN_PART = "Backed up in {file}, but this could not be read and is missing there:\n{problems}"
NOT_BACKED_UP = "I could not do that: {reason}."
BACKUP_ELSEWHERE = "Backup of the notes: by {holder}; here of the conversations alone"
BACKUP_JOB = "Last backup of the night: {last}; next: {next}"
BACKUP_NOW = "Backing up: now"
CONFIG = "Settings file: {file}\nWorkspace: {workspace}\n\nOther than the defaults:\n{rows}"
CONFIG_NO_FILE = "none"
CONFIG_ROW = "- {key} = {value}"
CONFIG_NOTHING = "- nothing"
CONFIG_IS_SET = "set"
CONFIG_ARE_SET = "set ({count})"
CONFIG_CHANGED = "Changed since, and not in force yet: {keys}. /config reload puts that in force."
CONFIG_AFTER_RESTART = "Takes effect after a restart: {keys}."
CONFIG_TAKEN = "The settings have been read again. In force from now on: {keys}."
CONFIG_SAME = "The settings have been read again. Nothing has changed in them."
CONFIG_IN_SERVICE_TOO = "The running service reloads its settings too; its log says what changed."
CONFIG_UNUSABLE = "The settings cannot be used as they stand now, so nothing has changed: {reason}"
CONFIG_WOULD_FAIL = "They have changed since, and cannot be used as they stand now: {reason}"

FLUSHED = {
    "noted": "Noted in {places}.",
    "raw": "No language model answered, so what was said stands in {places} as it is, until one does.",
    "doubtful": "The model's notes may not be whole, so what was said stands beside them in {places}.",
    "nothing": "There was nothing in it that had to be noted.",
    "old": "There is nothing new to note.",
    "waits": "No language model answered; it is tried again with your next message.",
    "no model": "There is no language model here to sort what was said. What you had me note is noted.",
    "off": "What was said is not noted by itself here: memory.flush.enabled is false.",
}
FLUSHED_UNASKED = {
    "noted": "{why}; what matters is noted in {places}.",
    "raw": "{why}. No language model answered, so what was said stands in {places} as it is, until one does.",
    "doubtful": "{why}. The model's notes may not be whole, so what was said stands beside them in {places}.",
}
FLUSH_WHY = {
    "threshold": "Our conversation has become long",
    "overflow": "Our conversation has become long",
    "idle": "Our conversation has rested for a while",
}
PLACES_AND = " and "
TERMINAL = "Terminal"
YOU = "You"
COMPACTED = "The earlier part of our conversation is summed up now; all of it is kept."
NOTHING_TO_COMPACT = "There is nothing earlier to sum up; the latest of what we say stays as it is."
NOT_NOTED_HERE = "What is said here goes into no notes."

FORGET_NOTHING = "I know nothing that has all of these words, so there is nothing to forget."
FORGET_TOO_MANY = (
    "More than {most} passages of the notes have these words. Please tell me more exactly what to forget."
)
FORGET_LINES = "In the notes:"
FORGET_NO_LINES = (
    "**No note has all of these words.** To remove a note, send `/forget` with words that stand in it. "
    "What I found is only outside the notes:"
)
FORGET_LINE = "**{place}**\n\n{quotation}"
FORGET_MESSAGES = "In our conversations, messages with these words or with such a line: {count}."
FORGET_EXAMPLES = "For example:"
FORGET_EXCERPT = "- {excerpt}"
FORGET_ELSEWHERE = "In the trash, reminders, summaries and other places: {count}"
FORGET_UNREAD = "I could not look into {path}: {reason}"
FORGET_CONFIRM = (
    "All of that is removed for good, without a copy, when you send this within {minutes} minutes:\n\n"
    "`/forget yes {code}`"
)
FORGET_NO_CODE = (
    "That code is not valid, or no longer: it expires after a while, and a newer list replaces it. "
    "`/forget QUERY` shows what I know, with a new code."
)
FORGET_CHOICE_REMOVE = "Remove it for good"
FORGET_CHOICE_LEAVE = "Leave it"
FORGET_LEAVING = {
    "left": "What is there stays.",
    "removed": "That has been removed already.",
    "unknown": "Nothing waits to be removed here; what is there stays.",
}
FORGOTTEN = (
    "Forgotten. Passages removed from the notes: {lines}, messages: {messages}, in other places: {elsewhere}."
)
FORGET_MISSED = "Changed meanwhile and still there: {places}. `/forget QUERY` shows what it is now."
FORGET_WHICH_CODE = "Which code? It stands below what `/forget QUERY` shows: `/forget yes CODE`."
FORGOTTEN_IN_PART = (
    "Not all of it is gone: {fault} Passages removed from the notes so far: {lines}, messages: {messages}, in other "
    "places: {elsewhere}."
)
FORGET_LEFT = "Still there: {places}."
FORGET_OTHER_INSTANCES = (
    "Other instances, where there are any, have conversations of their own: say it to their bots too."
)
FORGET_AGAIN = "Once that is mended, `/forget yes {code}` removes the rest, or `/forget` with the same words."
FORGET_PROBLEM = (
    "A trace may be left on the disk ({problem}). Please send `/forget` with the same words later."
)
FORGET_NOT_MINE = (
    "Backups that were made before still hold it, what a restore has put aside (`before-restore-…`) too, and so does "
    "whatever stands in the chats themselves."
)

SENT_STICKER = "[sticker {emoji}]"
"""What somebody sends that is no text, in a message as it is read; so are those below."""
SENT_LOCATION = "[location {where}]"
SENT_VENUE = "[place {title}, {address} ({where})]"
SENT_CONTACT = "[contact {name}, {number}]"
SENT_DICE = "[{emoji} {value}]"
SENT_POLL = "[poll: {question}]\n{options}"
SENT_CHECKLIST = "[checklist: {title}]\n{tasks}"
SENT_GAME = "[game {title}]"
SENT_INVOICE = "[invoice {title}]"
SENT_STORY = "[story]"
SENT_PAID_MEDIA = "[media that must be paid for]"
SENT_GIVEAWAY = "[giveaway]"
SENT_SOMETHING = "[something that cannot be read here]"
SENT_BY_SOMEBODY = "somebody"
TOPIC_TITLE = "{chat} › {topic}"
"""A topic of a room."""

FILED = "Filed in {path}."
FILED_BEFORE = "Already filed in {path}."
FILED_TITLE = "Document"
FILED_FROM = "Sent as {name} by {who} on {day}."
"""In the note itself, as are the next four."""
FILED_BY_NOBODY = "Sent as {name} on {day}."
FILED_NAMELESS = "a document"
FILED_CUT = "Only its beginning is here: {kept:,} of {all:,} characters."
FILED_CUT_SOMEWHERE = "Only its beginning is here: {kept:,} characters."
FILED_UNKNOWN = "There is no document {number} here, or not any more. Please send it once more."
FILED_NOTHING = "There is no text in it that I could keep."
FILED_NOT_A_DOCUMENT = (
    "I can only keep text, so what this holds is not noted. `/remember TEXT` notes it in your words."
)
NOT_FILED = "{name}: {reason}"
REMEMBER_CORE_WHAT = "Usage: `/remember core: TEXT`"
REMEMBER_CORE_OWNERS = "Only owners can write to MEMORY.md. `/remember TEXT` notes it in today's log."
REMEMBER_WHAT = (
    "Tell me what to note: `/remember TEXT`. A document is filed when you send it with `/remember`, or reply "
    "`/remember` to it."
)

WEB_SIGN_IN_FIRST = "This needs the token: send it as `Authorization: Bearer TOKEN`."
WEB_WRONG = "That is not the token."
WEB_SIGNED_OUT = "You are not signed in any more, so this was not done."
WEB_TOO_MANY = "Too many wrong tokens came from your address. Please wait a minute."
WEB_FOREIGN_SITE = "This came from another site, and was not done."
WEB_FOREIGN_HOST = (
    "Without a token I answer only to this machine's own names, such as localhost and 127.0.0.1. "
    "To be reached by another name, set server.token."
)
WEB_BUSY = "This is busy just now; it is shown as soon as it can be."
REBUILD_BROKE = "by a mistake of mine; what it was is in the log."
WEB_PART_BROKEN = "This could not be shown, by a mistake of mine. What it was is in the log."
WEB_SEARCH_TOOK_LONG = "The search took too long. Please try again."
WEB_DAYS = "{count} days"
WEB_AGO = "{time} ago"
WEB_AHEAD = "in {time}"
WEB_JUST_NOW = "just now"
WEB_MEMORY = "The memory: {reason}"
WEB_INDEX = "The index cannot be asked, so the files are searched one by one: {reason}"
WEB_VECTORS = "Searching by meaning: {problem}"
WEB_VECTORS_FALLBACK = "Searching by meaning, where {fallback} stands in: {problem}"
WEB_MODEL_RESTS = "{model} is left to rest until {time}"
WEB_JOB = "{job}: {outcome}"
WEB_NOTES_UNREAD = "Notes that could not be read in full: {count}"
WEB_ERRORS = "Errors within the last hour: {count}"
