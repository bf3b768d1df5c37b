"""Every text that the assistant itself shows to people, in English: the source of the catalogues in `bot/locales`.

Read them as `phrases.NAME`, which is in the language of the person who reads them; as `english.NAME` only what must be
English. After a change here, `make languages` brings the catalogues up to date.
"""

from bot.language.text import Plural

STRANGER = "I don't know you yet, so I can't talk with you here."
EMPTY_MESSAGE = "I don't see any text in that message."
STOPPED_HERE = "*(stopped)*"
STOPPED = "Stopped."
WHOLE_IN_FILE = "*(This reply is long: {characters:,} characters. All of it is in the file below.)*"
REST_NOT_SHOWN = (
    "*(This is only the beginning: the reply is too long for a chat, and I can't send files here. The rest "
    "is saved in our conversation; ask me for the part you need.)*"
)
SENDING_STOPPED = "*(stopped; the whole reply is in the file below)*"
SENDING_STOPPED_WITHOUT_FILE = (
    "*(stopped; the rest is saved in our conversation, so you can ask me for it any time)*"
)
NOTHING_RUNS = "There is nothing to stop right now."
CANNOT_SAVE = "I can't save our conversation right now, so I've stopped here. Please try again later."
CANNOT_SAVE_YET = "I can't save our conversation right now. I'll answer as soon as I can."
FILES_SET_ASIDE = (
    "Sorry, I crashed twice while reading your files, so I skipped them. I still have your message. Please send "
    "the files again one at a time, or as plain text."
)
GIVEN_UP = "Sorry, I crashed repeatedly on this message, so I skipped it. The log has the details."
NOTICE_GIVEN_UP = (
    "Sorry, I wanted to tell you something, but I crashed each time I tried. The log has the details; "
    "/reminders shows your upcoming reminders."
)
BUDGET_SPENT = "Today's token budget is used up. I've kept your message; /retry asks again after midnight."
TOO_MANY_MESSAGES = "That was too much at once, so I skipped it. Please send it again in {seconds} s."
CANNOT_LISTEN = (
    "I can't listen to voice messages here yet: no transcription service is set up. An owner can add one: "
    "`speech.provider` in the settings, with an API key for openai, groq or mistral."
)
CANNOT_LISTEN_WITHOUT_KEY = (
    "I can't listen to voice messages here yet: {provider} should transcribe them, but has no API key. An "
    "owner can set it: `{variable}` in the environment, or `api_key` under `[providers.{provider}]` in the "
    "settings."
)
CANNOT_READ_KIND = "I can read pictures, text, PDF files and voice messages, but not this kind of file."
NO_SPEECH_PROVIDER = (
    "It was not transcribed: no transcription service is set up (speech.provider in the settings, with an "
    "API key for openai, groq or mistral)."
)
NO_SPEECH_KEY = (
    "It was not transcribed: {provider} has no API key ({variable}, or providers.{provider}.api_key)."
)
NOT_TRANSCRIBED = "{provider} could not transcribe it: {reason}."
AUDIO_UNKNOWN = "It could not be transcribed: its audio format is not supported."
AUDIO_TOO_LONG = "It could not be transcribed: it is too long for {provider}."
NO_SPEECH = "No speech can be heard in it."
ATTACHMENT_TOO_LARGE = "It was not downloaded: it is larger than {most} MB."
ATTACHMENT_GONE = "It is no longer available. Please send it again."
NOT_READ = "It was not read."
NOT_READ_AGAIN = "It was not read: I crashed twice while reading the files in this message."
NOT_FETCHED = "It could not be downloaded. Please try sending it again later."
TOO_MANY_PICTURES = "It was not looked at: {most} pictures per message is the limit."
TOO_MANY_ATTACHED = "They were not read: that is too much for one message."
PICTURE_IS_HEIC = (
    "It can't be opened: HEIC and AVIF aren't supported. Please send it as a JPEG or as a photo."
)
PICTURE_TOO_LARGE = "It can't be opened: it has more than {most} megapixels."
PICTURE_TOO_MUCH = "It can't be opened: that takes too long or too much memory."
PICTURE_UNKNOWN = "It can't be opened: it is not a picture of a supported kind (JPEG, PNG, GIF, WebP or BMP)."
PICTURE_DAMAGED = "It can't be opened: the file is damaged."
DOCUMENT_EMPTY = "It is empty."
DOCUMENT_IS_PICTURE = "It is a picture, not text."
DOCUMENT_IS_PACKED = (
    "It can't be read: it is an office document or an archive. Please send it as PDF or plain text."
)
DOCUMENT_IS_BINARY = "It can't be read: it isn't text. Only PDF and plain text work."
NO_TIME_LEFT = "It was not read: the other files in this message took too long. Please send it by itself."
PDF_LOCKED = "It can't be read: it is protected by a password."
PDF_DAMAGED = "It can't be read: the file is damaged."
PDF_TOO_MUCH = "It can't be read: that takes too long or too much memory."
PDF_HAS_NO_TEXT = "It contains no text; it may be a scan. Please send its pages as pictures."
MEMORY_IS_CLOSED = "Memory is off here because others can read this chat. An owner can turn it on: /memory on"
OUR_FAULT = "Sorry, something went wrong on my side. Please try again; the log has the details."

NO_ANSWER = "I got no answer from the language model: {reason}. I've kept your message; /retry asks again."
NO_MODEL_ANSWERED = (
    "None of the language models answered: {reasons}. I've kept your message; /retry asks again."
)
ANSWERED_INSTEAD = "*({failed}, so {model} answered.{hint})*"
BUILTIN_NOTEBOOK = "the built-in notebook"
HINT_RETRY = " `/retry` asks again."
HINT_DOCTOR = " `commonplace doctor` shows what to fix."
STEPS = Plural("1 step", "{count} steps")
OUT_OF_STEPS = "I stopped after {steps} without finishing. Say “go on” and I'll continue from here."
CUT_SHORT = "*(The answer stops here because it reached the model's length limit.)*"
MODEL_REASON = "{model}: {reason}"
REASON_AND_FIX = "{reason} ({fix})"
LIST_MARK = "; "
WITH_REASON = "{what} ({reason})"
STOPPED_EARLY = "it stopped in the middle of its answer"
MODEL_ERRORS = {
    "": "it failed",
    "rate_limit": "rate limit reached",
    "overloaded": "it is overloaded",
    "server": "server error",
    "timeout": "it took too long",
    "network": "it could not be reached",
    "auth": "API key missing or rejected",
    "billing": "the account has no credit left",
    "context_length": "this conversation is too long for it (/new starts another one)",
    "not_found": "it was not found at its address",
    "bad_request": "it did not understand the request",
    "refused": "it refused to answer",
    "empty": "it gave an empty answer",
    "broken_tool_call": "it used its tools wrongly",
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
MODEL_STOPPED_EARLY = "{model} stopped in the middle of its answer"

USAGE = "Usage: `{usage}`"
USAGE_EXAMPLE = "For example: `{example}`"
UNKNOWN_COMMAND = "There is no /{name} here. /help lists the commands."
UNKNOWN_COMMAND_NEAR = "There is no /{name} here. Did you mean /{near}? /help lists the commands."
NO_ANSWER_HERE = "I can't answer you here."
NOT_YOUR_BUTTONS = "These buttons are not for you."
NOT_SAVED = "I couldn't save that, so nothing was done. Please try again in a moment."
REPLY_BLOCKED = "I have an answer, but this server's rules block it. Please ask me in a direct message."
NOT_SHOWN = "I have an answer, but {platform} won't let me show it here."
FILE_OPTION = "A document to file in the notes, or a voice message to note."

HELP = "Just write to me, or use one of these commands:\n\n{commands}"
HELP_ROW = "- `{usage}`: {help}"
HELP_ONE = "`{usage}`: {help}"
HELP_OPTION = "- {option}: {help}"
NEW = "Started a new conversation. I still have my notes."
REMEMBERED = "Noted in {place}."
NOTE_CORRECTED = "Corrected in {place}."
ALREADY_NOTED = "That's already noted in {place}."
NOT_REMEMBERED = "I couldn't write that down: {error}"
NOT_REALLY_NOTED = "I haven't actually written that down. To note it, send `/remember TEXT`."
NOT_REALLY_NOTED_HERE = "I haven't actually written that down: I can't use the notes in this chat."
NOT_REALLY_CHANGED = "I haven't actually changed any notes. Please tell me again what to change."
NOT_REALLY_REMINDED = "I haven't actually set, moved or cancelled a reminder. `/remind WHEN TEXT` sets one."
FACT_SINCE = "Since {date}; before: {before}"
FACT_FROM = "From {date}; before: {before}"
FACT_TOLD = "“{text}” ({date})"
SAYS_WHO = "From {names}"
FACT_CHANGED = "Told on {date}; changed since, see {place}"
NOTHING_FOUND = "I found nothing about that in my notes."
NOTHING_FOUND_ANYWHERE = "I found nothing about that in my notes or in our chats."
NEIGHBOURS = "See also: {notes}"
NEIGHBOUR_OF = "{path} (linked in {place})"
NEIGHBOUR_TO = "{place} (links to {hit})"
FROM_OUR_CHAT = "From our chat on {date}:"
FROM_CHAT = "From {chat} on {date}:"
CHAT_OF_CHANNEL = "{name} ({channel})"
SOMEBODY = "somebody"
SAID_BY = "**{name}:** {text}"
CONVERSATIONS_OFF = "Conversations weren't searched: enabled is false under [memory.conversations]."
CONVERSATIONS_OVER_HTTP = (
    "Conversations weren't searched: over HTTP, that needs a server.token in the settings."
)
CHANGES_OVER_HTTP = (
    "Changes to the notes are only shown here if server.token is set in the settings. Without it, use /changes in a "
    "chat, or “commonplace memory changes” in a terminal."
)
CONVERSATIONS_PROBLEM = "Conversations can't be searched right now: {problem}"
STATUS_MODEL = "Model: {model}"
STATUS_NO_MODEL = "No model is answering: {reasons}. Run `commonplace doctor` to see what to fix."
STATUS_NO_MODEL_FOR_OTHERS = (
    "No model is answering: {reasons}. An owner can find out more with `commonplace doctor`."
)
STATUS = "{model}\nChat: {chat}\nNotes: {files}\nChunks: {chunks}\nSearch: {search}"
STATUS_GUEST = "{model}\nChat: {chat}"
STATUS_LINKED = "Linked accounts: {ids}"
STATUS_OPEN = "Waiting to be answered or delivered: {count}"
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
HELD_BY = "held by {holder}"
STANDS_IN = "a second process here serves it for {workspace}"
LEASES_UNKNOWN = "the index server can't be reached, so I don't know which instance holds it"
LEASED_CHANNEL = "{channel} ({bot})"
LEASED_WORKSPACE = "Workspace {workspace}"
LEASED_JOBS = {
    "schedule": "Regular scan of all notes",
    "backup": "Backup of the notes",
}
WEB_LEASES = "I can't tell what other instances are doing: {problem}"
STANDBY = "Another instance is serving this workspace; this one is on standby."
STANDBY_UNKNOWN = (
    "The server in index.url can't be reached, so I don't know which instance is serving this workspace; "
    "`commonplace doctor` shows why."
)
"""Does not name the server: strangers see this too."""
NOT_OURS = "another instance has this channel now"
STATUS_INSTANCE = "Instance: {name}"
STATUS_LEASE = "{what}: {holder}"
STATUS_LEASE_SINCE = "{what}: {holder}, since {time}"
STATUS_NO_INSTANCES = "No instance is running."
STATUS_LEASES_PROBLEM = (
    "I can't tell what other instances are doing because the index server can't be reached; `commonplace "
    "doctor` shows why."
)
"""Does not name the server or quote it: others may read along in a chat."""
STATUS_UNREAD = "Messages from {channel} that I kept but couldn't read (the log says why): {count}"
STATUS_CHOSEN = "{model}, chosen for this chat"
NOTHING_TO_RETRY = "There is nothing to answer again yet."
MODEL_AUTO = (
    "Model: {model} first, the others if it fails.\nAvailable models:\n{models}\n\n`/model NAME` chooses one "
    "for this chat."
)
MODEL_ONLY = "Model: {model}. It's the only one here."
MODEL_NOW = "Model: {model}, chosen for this chat. `/model auto` switches back.\nAvailable models:\n{models}"
MODEL_ROW = "- {model}"
MODEL_CHOSEN = "This chat now uses {model}. `/model auto` switches back."
MODEL_AUTO_AGAIN = "Back to the usual order: {model} answers first."
MODEL_UNKNOWN = "There is no model {name} here. Available models:\n{models}"
MODEL_UNKNOWN_NEAR = "There is no model {name} here. Did you mean {near}? Available models:\n{models}"
MODEL_TO_ADD = '\n\nTo use it, add "{name}" to `chain` under `[models]`.'
MODEL_AMBIGUOUS = "{name} matches several models. Please give more of the name:\n{models}"
CHOICE = "{label}"
CHOICE_CHOSEN = "✓ {label}"
MODEL_CHOICE_AUTO = "Usual order"
MODELS_MAY_RESET = "`/models reset` clears the failures, so that all models are tried again."
MODELS_CHOICE_RESET = "Try all again"
MODELS_RESET = "Failures cleared; all models will be tried again."
MODELS_ROW = "- **{model}**{key}: {state}"
MODELS_KEY = ", key {number}"
MODELS_STATE = {
    "ready": "ready",
    "resting": "paused until {time}",
    "on probation": "will be tried again with the next message",
}
MODELS_CALLS = Plural("1 call, {failures} failed", "{count} calls, {failures} failed")
MODELS_UNUSED = "not used yet"
MODELS_SPEED = "first token after {first:.1f} s, {speed:.0f} tokens per second"
MODELS_TOKENS = "{read:,} tokens in ({cached:,} cached), {written:,} out"
MODELS_ERROR = "last failure {time}: {reason} ({detail})"
TOKENS_USED = "Tokens\n\nToday:\n{today}\n\nLast 30 days:\n{month}"
TOKENS_ROW = "- {model}: {read:,} in ({cached:,} cached), {written:,} out; calls: {answers}"
TOKENS_NONE = "- none"
REBUILT = "Index rebuilt in {seconds:.1f} s.\nNotes: {notes}"
REBUILT_WITHOUT = "{folder} is away, so its notes are out of the index until it is back."
REBUILD_JOINED = "It was already running when you asked."
REINDEXED = "Scanned all notes in {seconds:.1f} s: {added} new, {changed} changed, {removed} removed."
MEMORY_STATUS = (
    "Notes: {files}\nChunks: {chunks}\nSearch: {search}\nText search: {fts}\nLast indexed: {indexed}"
)
SIZE_IN_BYTES = "{size} bytes"
SECONDS = "{seconds} s"
MINUTES = "{minutes} min {seconds} s"
HOURS = "{hours} h {minutes} min"
ROUGH_MINUTES = "{minutes} min"
ROUGH_HOURS = "{hours} h"
ROUGH_DAYS = "{days} days"
"""After "up for"."""
PROGRESS = {
    "indexing": "indexing {done} of {total}",
    "rebuilding": "rebuilding {done} of {total}",
    "embedding": "embedding {done} of {total}",
}
PROGRESS_RATE = "{progress}, {rate:.0f} a second"
PROGRESS_SLOW_RATE = "{progress}, {rate:.1f} a second"
PROGRESS_LEFT = "{progress}, {time} left"
NEVER = "never"
NOT_KNOWN = "unknown"
NOBODY = "nobody"
INDEX_AWAY = (
    "Index: I can't use its server right now. Nothing is lost; `commonplace doctor` shows why, and what to "
    "do."
)
INDEX_PROBLEM = "Index: {problem}"
BY_MEANING = "by meaning and by words"
BY_MEANING_WITH = "by meaning and by words, using {model} from {reason}"
BY_MEANING_FOR_NOW = "by meaning and by words, for now using the fallback {model} from {provider}"
BY_WORDS = "by words alone"
BY_WORDS_FOR_NOW = "by words alone for now"
BY_FILES_FOR_NOW = "by words alone for now, reading the files one by one"
SEARCHED = "Searched {how}."
BY_WORDS_SINCE = "by words alone ({reason})"
ALL_VECTORS = "Vectors: complete"
MISSING_VECTORS = "Vectors: {missing} missing"
VECTORS_PROBLEM = "Vectors: {missing} missing; {problem}"
NEXT_TRY = " (next try at {time})"
WATCH = {
    "off": "Watching the folder: off",
    "waiting": "Watching the folder: not yet",
    "events": "Watching the folder: on",
    "polling": "Watching the folder: on, by regular checks",
}
WATCH_DEAD = "Watching the folder: stopped"
FOLDER = "Folder `{name}/`: {state}"
FOLDER_AWAY = "Folder `{name}/` is {problem}"
FOLDER_HIDDEN = "{lines} hidden"
FOLDER_ACCESS = {False: "read-only", True: "writable"}
TASK_STOPPED = (
    "The background task “{task}” failed ({error}) and will restart at {again}. The log has the details."
)
TASK_RESTARTED = (
    "The background task “{task}” failed at {time} ({error}) and is running again. The log has the details."
)
REINDEX = "Last scan of all notes: {last}; next: {next}"
REINDEX_ELSEWHERE = "Regular scan of all notes: done by {holder}"
REINDEX_NOW = "Scanning all notes now"
SEARCH_WHAT = "Usage: `/memory search QUERY`"
GET_WHAT = "Usage: `/memory get PATH`"
CACHE_WHAT = "Usage: `/memory cache clear`"
CACHE_CLEARED = (
    "Cache cleared: removed {cleared} vectors that no note needs and {queries} from earlier searches. "
    "Kept {kept} that your notes need."
)
EMPTY_NOTE = "That note is empty."
NOTE_CUT = "(lines {first} to {last} of {total}; there is more)"
CORE_TOO_LONG = (
    "MEMORY.md is {chars:,} characters long, but I only keep the first {most:,} in mind at all times (up to line "
    "{line}); I have to search for the rest."
)
CORE_SHORTEN = "Please shorten it, or move what I don't always need to know into other notes."
CORE_NOTICE = "About my notes: {warning}"
NOTES = Plural("1 note", "{count:,} notes")
LINES = Plural("1 line", "{count:,} lines")
HEALTH_NOTHING = "I looked through {notes} and found nothing to fix."
HEALTH_FOUND = Plural(
    "I looked through {notes} and found one thing you may want to fix. I changed nothing.",
    "I looked through {notes} and found {count:,} things you may want to fix. I changed nothing.",
)
HEALTH_UNREAD = "I ran out of time before I could read {notes}."
HEALTH_UNREAD_NOTES = Plural("1 more note", "{count:,} more notes")
HEALTH_TITLES = {
    "duplicate": "Noted twice",
    "near_duplicate": "Noted twice in nearly the same words",
    "superseded": "Out of date",
    "core_too_long": "MEMORY.md is too long",
    "not_found": "Notes that no search finds",
    "broken_link": "Broken links",
    "foreign_text": "Other people's words",
}
HEALTH_ADVICE = {
    "duplicate": "The command empties the copy; `/memory trash` keeps it.",
    "near_duplicate": "Please compare them first. The command empties the first of the two; `/memory trash` keeps it.",
    "superseded": "The command adds until when it was true.",
    "core_too_long": "The command shows the part I don't keep in mind. `/correct MEMORY.md:LINE -` empties a line.",
    "not_found": "Please give each note a few words of its own, or delete its file.",
    "broken_link": "The command fixes the link, or leaves only its text.",
    "foreign_text": "If it's true, the command makes the line your own. `/correct PATH:LINE -` empties it.",
}
HEALTH_READ_ONLY = "These are in {folders}, which I may only read, so please fix them there."
WEB_HEALTH_TOOK_LONG = "I'm still looking through your notes. Please reload this page in a minute."
HEALTH_AS_IN = "Also in {place}: {text}"
HEALTH_NEWER = "Newer, in {place}: {text}"
HEALTH_MORE_PLACES = Plural("And in one more place.", "And in {count:,} more places.")
HEALTH_NO_TARGET = "Not found: {target}."
HEALTH_MOVED = "There is no {target}, but there is {path}."
HEALTH_SAYS = "From {who}."
HEALTH_MORE = "- and {count:,} more; `commonplace memory health` shows up to ten of each kind"
NO_NOTES = "There are no notes yet."
NO_SUCH_FOLDER = "I found no folder {folder} with notes in it. `/memory list` shows your folders."
NOTE_ROW = "- `{path}`, {size}"
NOTE_ROW_CHANGED = "- `{path}`, {size}, {time}"
NOTES_MORE = "These are the latest {shown} of {all}. `/memory list FOLDER` shows one folder."
FOLDERS = "Folders: {folders}"
FOLDER_ROW = "`{folder}` ({count})"
FOLDERS_MORE = "and {count} more"
CORRECT_USAGE = (
    "Usage: `/correct PATH:LINE TEXT`, for example: `/correct 2026-11-21.md:3 The boiler is blue.`"
)
CORRECT_ONE_LINE = (
    "I can only correct one line at a time. Usage: `/correct PATH:LINE TEXT`, or `/correct PATH:LINE-LINE -` to empty "
    "several."
)
CORRECTED = (
    "Corrected {place}. It said:\n\n> {old}\n\nNow it says:\n\n> {new}\n\n`/memory trash` has the old line."
)
EMPTIED = "Emptied {place}. It said:\n\n{old}\n\n`/memory trash` has it."
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
    "Number {number} now matches several entries. Please use the longer number that `/memory trash` shows."
)
RESTORED_BEFORE = "Number {number} has already been restored."

CHANGES_OWN = "Your latest changes to the notes:"
CHANGES_ALL = "The latest changes to the notes:"
CHANGES_OF_NOTE = "The latest changes to `{path}`:"
CHANGES_OF_NOTE_OWN = "Your latest changes to `{path}`:"
CHANGES_OF_TODAY = "Today's changes to the notes:"
CHANGES_OF_TODAY_OWN = "Your changes to the notes today:"
CHANGES_NONE = "No changes to the notes are recorded."
CHANGES_NONE_OWN = "You haven't changed any notes yet."
CHANGES_NONE_TODAY = "Nothing has changed in the notes today."
CHANGES_NONE_TODAY_OWN = "You haven't changed any notes today."
CHANGES_NONE_OF_NOTE = "No changes to {path} are recorded{period}."
CHANGES_NONE_OF_NOTE_OWN = "You haven't changed {path}{period}."
CHANGES_PERIOD = Plural(" in the last day", " in the last {count} days")
CHANGES_RECORD = Plural(", which goes back one day", ", which goes back {count} days")
CHANGES_ROW = "- **#{number}** {time}, {who}, `{path}`: {what}"
CHANGES_HINT = "`/changes #{number}` shows that change in full."
CHANGES_HINT_UNDO = "`/changes #{number}` shows that change in full; `/undo {number}` undoes it."
CHANGES_MORE = "`/changes {count}` shows more."
CHANGES_USAGE = "Usage: `/changes`, `/changes 30`, `/changes today`, `/changes PATH` or `/changes #12`"
CHANGES_HERE_ONLY = (
    "This covers only what was changed through this instance ({name}); the others that share this memory keep their "
    "own records."
)
CHANGE_UNKNOWN = "There is no change {number}. `/changes` lists the latest."
CHANGE_UNKNOWN_OWN = "There is no change {number} of yours. `/changes` lists your latest."
CHANGE_HEAD = "Change {number} to `{path}`, line {line}, {time}, {by}{chat}{made_by}{model}."
CHANGE_CHAT = " in {chat}"
CHANGE_MODEL = " (model: {model})"
CHANGE_MADE_BY = {
    "tool": "",
    "agent": ", noted by me on request",
    "command": ", with a command",
    "flush": ", noted from the conversation",
    "document": ", by saving a document",
    "import": "",
    "cli": "",
    "http": "",
    "mcp": "",
    "forget": ", with `/forget`",
}
CHANGE_SAYS = "The words are from {says}."
CHANGE_REPLACED_OF = "It replaced lines {by}."
CHANGE_REMOVED_OF = "It removed lines {by}."
CHANGE_IS_UNDO = "It undid change {number}."
CHANGE_IS_REDO = "It redid change {number}."
CHANGE_WAS_UNDONE = "Change {number} undid it. `/undo {number}` redoes it."
CHANGE_WAS_REDONE = "Change {number} redid that change."
CHANGE_UNDO_HINT = "`/undo {number}` undoes it."
CHANGE_FORGOTTEN = "Some of its text was forgotten, so it can't be undone."
CHANGE_YOU = "you"
CHANGE_YOU_ON_PAGE = "you, on the page"
CHANGE_HERE = "this chat"
CHANGE_PRIVATE = "a private chat on {channel}"
CHANGE_ROOM = "a room on {channel}"
CHANGE_TERMINAL = "the terminal"
CHANGE_IMPORT = "an imported chat"
CHANGED_BY = {
    "import": "an import",
    "cli": "the command line",
    "http": "a program over HTTP",
    "mcp": "a program over MCP",
}
CHANGED_BY_CLIENT = "{client} over MCP"
CHANGED_AT_TERMINAL = "the terminal user"
CHANGED_ON_PAGE = "an owner, on the page"
CHANGED_BY_SEVERAL = "several people in {chat}"
BY_YOU = "by you"
BY_YOU_ON_PAGE = "by you on the page"
BY_OWNER_ON_PAGE = "by an owner on the page"
BY_NAME = "by {name}"
BY_SOMEBODY_ELSE = "by somebody else"
BY_SEVERAL = "by several people in {chat}"
BY_MEANS = {
    "import": "by an import",
    "cli": "on the command line",
    "http": "by a program over HTTP",
    "mcp": "by a program over MCP",
}
CHANGE_ADDED = "added “{new}”"
CHANGE_REMOVED = "removed “{old}”"
CHANGE_DELETED = "deleted the note “{title}”"
CHANGE_RESTORED = "restored the note “{title}”"
CHANGE_CHANGED = "“{old}” became “{new}”"
CHANGE_CHECKED = "checked off “{new}”"
CHANGE_UNCHECKED = "unchecked “{new}”"
CHANGE_WITHIN = "changed “{new}”"
CHANGE_BLANK = "only blank lines"
CHANGE_MOVED = "moved or renamed the note"
CHANGE_MOVED_FROM = "moved the note from {old} to {new}"
CHANGE_UNDONE = "{what} (undone)"
CHANGE_UNDOES = "undid #{number}: {what}"
CHANGE_REDOES = "redid #{number}: {what}"
CHANGE_MORE_LINES = Plural("… and one more line", "… and {count} more lines")
CHANGE_TIME = "{day} at {time}"
CHANGE_TODAY = "today"
CHANGE_YESTERDAY = "yesterday"
CHANGE_ON = "on {date}"
UNDO_USAGE = "Usage: `/undo`, or `/undo N` with a number from `/changes`"
UNDO_NOTHING = "You have no change to undo."
UNDO_NOTHING_OWNER = (
    "You have no change of your own to undo. `/changes` lists everybody's; `/undo N` undoes one of them."
)
UNDONE = "Undid change {number} in {place}{whose}."
REDONE = "Redid change {number} in {place}{whose}."
UNDONE_WHOSE = ", made {by}"
UNDONE_REMOVED = "I removed:\n\n{removed}"
UNDONE_PUT_BACK = "I put back:\n\n{put_back}"
UNDONE_BOTH = "I removed:\n\n{removed}\n\nand put back:\n\n{put_back}"
UNDO_HOW_TO_REDO = "`/redo` redoes it."
REDO_HOW_TO_UNDO = "`/undo {number}` undoes it again."
UNDO_TOUCHES = "This also affects lines {by}."
UNDO_BUTTON = "Undo change {number}"
REDO_BUTTON = "Redo"
CLI_NO_CHANGE = "there is no change {number}; `commonplace memory changes` lists the latest"
CLI_REDO_NOTHING = (
    "there is nothing to redo; `memory redo` redoes what you undid last, unless you have made a change since"
)
CLI_UNDO_NOTHING = (
    "you have no change of your own to undo; `commonplace memory changes` lists everybody's, and "
    "`commonplace memory undo N` undoes one of them"
)
CLI_UNDO_EARLIER = "{refusal} `commonplace memory undo N` undoes an earlier change"
REDO_NOTHING = (
    "There is nothing to redo. `/redo` redoes what you undid last, unless you have made a change since."
)
UNDO_REFUSED = {
    "unknown": "There is no change {number}.",
    "redone": "Change {number} undid change {undone}, which change {by} has already redone.",
    "undone": "Change {number} has already been undone, by change {by}.",
    "forgotten": "Some text of change {number} was forgotten, so it can't be undone.",
    "nothing": "Change {number} changed no lines, so there is nothing to undo.",
    "put_back": "Change {by} has already put back what change {number} removed.",
    "note_gone": "{path} is gone or empty, so change {number} can't be undone.",
    "changed_later": (
        "Change {by} has since edited the lines of change {number} in {path}; please undo change {by} first."
    ),
    "moved_later": "Change {by} has moved {path} again since; please undo change {by} first.",
    "name_taken": (
        "There is another note {path} now, so change {number} can't be undone. Please rename that note first."
    ),
    "edited": "The lines of change {number} in {path} have been edited since, so I left them as they are.",
}
UNDO_EDITED_DIFF = "`-` marks what the change wrote, `+` what is there now:"
UNDO_UNDONE_HINT = "`/undo {by}` redoes it."
UNDO_EARLIER_HINT = "`/undo N` undoes an earlier change; `/changes` lists them."
UNDO_LATER_HINT = "`/undo {by}` does that."
UNDO_REFUSED_BY_OTHERS = "I can't undo that: somebody else has changed it since."
WHY_USAGE = (
    "Usage: `/why PATH:LINE`, for example: `/why 2026-11-21.md:3`. `/recall QUERY` shows which note and line."
)
WHY_BLANK = "Line {line} of {path} is empty."
WHY_UNKNOWN = (
    "I don't know where this line comes from: somebody wrote or edited it by hand, or it is older than my "
    "record{record}."
)
WHY_NOT_YOURS = "This line comes from somebody else, so I can't tell you more about it."
WHY_MESSAGE = "It comes from {name}'s message in {chat}, {time}{colon}"
WHY_YOUR_MESSAGE = "It comes from your message in {chat}, {time}{colon}"
WHY_FLUSH_MESSAGE = (
    "It was noted from the conversation in {chat}, probably because of {name}'s message {time}{colon}"
)
WHY_FLUSH_YOUR_MESSAGE = (
    "It was noted from the conversation in {chat}, probably because of your message {time}{colon}"
)
WHY_MADE_BY = {
    "tool": "it was written for {who} in {chat}, {time}. The message has since been edited, forgotten or deleted.",
    "agent": "it was written for {who} in {chat}, {time}. The message has since been edited, forgotten or deleted.",
    "command": "{who} wrote it with a command in {chat}, {time}.",
    "flush": "it was noted from the conversation in {chat}, {time}.",
    "document": "it is from a document that {who} filed in {chat}, {time}.",
    "cli": "it was written on the command line, {time}.",
    "http": "it was written {by}, {time}.",
    "mcp": "it was written {by}, {time}.",
    "forget": "it is what `/forget` left there, {time}.",
}
WHY_MADE_BY_YOU = {
    "tool": "it was written for you in {chat}, {time}. The message has since been edited, forgotten or deleted.",
    "agent": "it was written for you in {chat}, {time}. The message has since been edited, forgotten or deleted.",
    "command": "you wrote it with a command in {chat}, {time}.",
    "document": "it is from a document that you filed in {chat}, {time}.",
}
WHY_IMPORT = "It came with import {run}, {time}, from the file `{file}`."
WHY_IMPORT_UNKNOWN = "It came with an import, {time}."
WHY_PUT_BACK_ONLY = (
    "It was put back {by} {time}, after it had been removed. I don't know where it comes from."
)
WHY_OTHERS_CHAT = "I can't quote it, since you can't search that chat from here."
WHY_NOT_QUOTED = "I can't quote it in this chat."
WHY_MODEL = "Written down by {model}."
WHY_SAYS = "The words are not {name}'s own; they are from {says}."
WHY_SAYS_NOT_YOU = "The words are not your own; they are from {says}."
WHY_MOVED = "It was first written in `{path}`."
WHY_PUT_BACK = "Change {number} put it back after it had been removed."
WHY_CHANGE = "`/changes #{number}` shows the change; `/undo {number}` undoes it."

OTHER_TERMINAL = (
    'Another terminal is already in this conversation ("{session}"). Each shows the answers to its own questions. '
    "To have a separate conversation here, start with --session NAME."
)
BANNER_NOTES = "{name}: your notes are in {folder}"
BANNER_MODEL = "Model: {model}"
BANNER_NOTEBOOK = (
    "Model: none yet. The built-in notebook keeps notes and finds them; `commonplace init model` adds a language "
    "model."
)
BANNER_PAGE = "Status page: {page}"
EXIT_HELP = "Leave the terminal"
HOW_TO_LEAVE = "To leave, type exit or press Ctrl-D."
BANNER_KEYS = "Just say something. /help lists the commands, Alt-Enter starts a new line, exit leaves."
"""The banner of the terminal chat; the keys are shown last."""

START = (
    "Hello, I'm {name}. Just write to me as you would to a person. I note what matters and find it again "
    "when you ask. `/remember TEXT` notes something right away, `/recall QUERY` looks it up, and /help shows "
    "what else I can do."
)
START_GUEST = "Hello, I'm {name}. Just write to me as you would to a person. /help shows what else I can do."
PAIRING = (
    "Your code is {code}. To talk with me, ask my owner to send me this line within {minutes} min:\n\n"
    "`/pair {code}`"
)
LET_IN = "You can talk with me now. /start shows how."
LET_IN_AS_OWNER = "You are my owner now and can talk with me. /start shows how."
LET_IN_BY_OWNER = {
    "owner": (
        "{who} is an owner now and can do everything, in every chat. `/deny {person}` at the terminal undoes that."
    ),
    "allowed": "{who} can talk with me now, and read and write all of the memory. `/deny {person}` undoes that.",
    "guest": "{who} can talk with me now as a guest, without the memory. `/deny {person}` undoes that.",
}
"""What is answered to an owner who has let somebody in."""
ALLOW_OWNER = "{who} is already an owner and can do everything."
BLOCKED = "{who} is blocked and can't talk with me. `/allow {person}` undoes that."
DENY_OWNER = (
    "I can't: the settings name {who} as an owner. Remove them from access.owners there, then send "
    "`/config reload`."
)
DENY_PAIRED_OWNER = (
    "{who} is an owner. You can only undo that at the terminal where I run: "
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
    "{who} would like to talk with me. `/pair {code}` lets them in with the whole memory; `/pair {code} "
    "guest` lets them in without it; `/deny {person}` blocks them. The code expires in {minutes} min."
)
ASKS_NO_MORE = (
    "Many people have asked within an hour, so I won't announce any more until {time}. `/pair` lists who is "
    "waiting."
)
ASKS_TURNED_AWAY = (
    "{count} people are waiting for approval, the most I keep, so I turned others away. `/pair` lists who is waiting; "
    "`/pair clear` turns them all away, so that others can ask."
)
CHOICE_CLEAR = "Turn all away"
CHOICE_LET_IN = "Let in"
CHOICE_AS_GUEST = "As guest"
CHOICE_BLOCK = "Block"
CHOICE_LET_NAME_IN = "Let in {name}"
CHOICE_NAME_AS_GUEST = "As guest {name}"
CHOICE_BLOCK_NAME = "Block {name}"
PAIR_ASKING = (
    "Waiting for approval:\n{rows}\n\nSend somebody's line to let them in with the whole memory; add `guest` to let "
    "them in without it. `/deny USER` blocks somebody."
)
PAIR_BECOME_OWNER = "To become an owner yourself, add `owner`: `/pair {code} owner`"
PAIR_ROW = "- {who}: `/pair {code}`, expires in {minutes} min"
PAIR_NOBODY = "No pending requests. Anyone who writes to me gets a code; `/pair CODE` lets them in."
PAIR_TURNED_AWAY = (
    "Others asked in the last hour and were turned away, because the list is full. `/pair clear` empties it."
)
PAIR_CLEARED = "Done: {count} turned away. They can ask again in an hour; anyone else can ask now."
PAIR_WAS_CLEARED = "That request was cleared with `/pair clear`. `/allow {person}` still lets {who} in."
PAIR_NOT_HERE = "Others can read this chat. Please send `/pair` to me in private."
PAIR_USED = "{who} was already let in with that code."
PAIR_BLOCKED = "{who} has been blocked since then. `/allow {person}` undoes that."
WHO = (
    "Please name the person by channel and id, for example `/{command} telegram:123456`. An @name isn't enough: it "
    "may belong to somebody else tomorrow."
)
LINK_WHO = (
    "Please give me two accounts of the same person, by channel and id: `/link telegram:123456 discord:9876`. "
    "In the terminal, you are `terminal:owner`."
)
LINK_NO_ID = "`{account}` isn't an account. {who}"
LINK_NOT_HERE = "Others can read this chat. Please send me `/link` in private."
LINK_ITSELF = (
    "That's the same account twice. Please give me two, for example `/link telegram:123456 discord:9876`."
)
LINK_NO_CHANNEL = "I don't know the channel {channel}. Please use one of these: {channels}."
LINK_ROOM = "{person} is a room, not a person."
LINK_TERMINAL = "In the terminal, you are `terminal:owner`."
LINK_STRANGER = "{who} isn't allowed to talk with me. Let them in with `/allow {person}`, then link them."
LINK_GUEST = "{who} is a guest and can't use the memory. Change that with `/allow {person}`, then link them."
LINK_IN_SETTINGS = (
    "The settings already say who {person} is (access.people.{name}), and they override `/link`. Change it there, "
    "then send `/config reload`."
)
LINKED = (
    "Linked: {ids}. They are one person now: in a private chat, they can find what they told me on either account. "
    "`/link {person} {other} off` undoes that."
)
LINKED_ALREADY = "Already linked: {ids}. `/link {person} {other} off` undoes that."
UNLINKED = "{person} and {other} are no longer linked."
UNLINKED_BUT = "I removed that link, but {person} and {other} are still linked through these:\n{rows}"
LINKED_BY_OTHERS = "{person} and {other} are only linked through these; undo one of them:\n{rows}"
NOT_LINKED = "{person} and {other} aren't linked. `/link` lists who is."
LINKS = "Linked accounts:\n{rows}\n\n`/link USER USER` adds a link, `/link USER USER off` undoes one."
LINKS_NONE = (
    "No accounts are linked. If someone has two, link them, and on each they can find what they told me on the other: "
    "`/link telegram:123456 discord:9876`."
)
LINK_ROW = "- {person} = {other}"
LINK_ROW_BUT = "{row} (inactive: {why})"
LINK_ROW_SET = "- {name}: {ids} (in the settings)"
LINK_ROW_SET_BUT = "- {name}: {ids} (in the settings; no access to the memory: {idle})"
LINK_IDLE_SETTINGS = "the settings say who {person} is"
LINK_IDLE_STANDING = "{person} has no access to the memory"
MEMORY_ON = (
    "Memory is on in this room: I can share what is in the notes here, and note what is said. `/memory off` "
    "turns it off."
)
MEMORY_OFF = "Memory is off in this room. `/memory on` turns it on again."
MEMORY_ALWAYS_ON = "Memory is always on in private chats. `/memory on` and `/memory off` are for rooms."

LANGUAGE = "I speak {language} with you."
LANGUAGE_CHOSEN = "I speak {language} with you, as you chose. `/language auto` undoes that."
LANGUAGE_LIST = (
    "I speak {languages}; for example, `/language de` chooses German. This is for my own messages: a language model "
    "answers in the language that you write in."
)
LANGUAGE_ROW = "{name} (`{code}`)"
LANGUAGE_SET = "From now on I speak {language} with you. `/language auto` undoes that."
LANGUAGE_AUTO = "Your choice is cleared: I speak {language} with you now."
LANGUAGE_UNKNOWN = "I don't speak `{code}`. I speak {languages}; for example, `/language de` chooses German."

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
DATE = "{day} {month} {year}"
DATE_THIS_YEAR = "{day} {month}"
MOMENT = "{weekday}, {date} at {time}"
MOMENT_ZONE = "{moment} ({zone})"
DUE_YESTERDAY = "yesterday {time}"
DUE_EARLIER = "{weekday} {date} {time}"
RULE_EACH = {
    "minutes": "every minute",
    "hours": "every hour",
    "days": "every day",
    "weeks": "every week",
    "months": "every month",
    "years": "every year",
}
RULE_EVERY = {
    "minutes": "every {count} minutes",
    "hours": "every {count} hours",
    "days": "every {count} days",
    "weeks": "every {count} weeks",
    "months": "every {count} months",
    "years": "every {count} years",
}
"""No `Plural`: for one, some languages without forms for counts say something else, too."""
RULE_WORKDAYS = "every weekday"
RULE_AT = "{every} at {times}"
RULE_WEEK_DAYS = "{every} on {days}"
RULE_NTH = "{every} on the {nth} {day}"
RULE_DAY = "{every} on day {day}"
RULE_LATE_DAY = "{every} on day {day} (the last day of shorter months)"
RULE_LAST_DAY = "{every} on its last day"
RULE_DATE = "{every} on {day} {month}"
NTH = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth (or last)", -1: "last"}
COMMA = ", "
COLON = ":"
FULL_STOP = "."
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
"""Why a time could not be parsed and how to write it, by `bot.timeparse.moment.TimeParseReason`."""
REMIND_WHAT = "What should I remind you of? For example: `/remind tomorrow 9:00 call mum`"
SCHEDULE_WHAT = "What should I do then? For example: `/schedule every monday 8:00 what is planned this week?`"
REMINDER_SET = "Reminder {number} is set: “{text}”, {moment}{again}."
SCHEDULE_SET = "Scheduled as number {number}: {moment}{again}. `/reminders cancel {number}` cancels it."
AGAIN = ", then {rule}"
AT_TERMINAL = "If Commonplace isn't running then, you'll see it the next time you start it."
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
REMINDER_REPEATS = (
    "This reminder repeats, and a new time moves the whole series. Please also say how often, for example "
    "`every monday 8:00`."
)
REMINDER_PASSED = "That reminder's time has passed, so I can't bring it back. Please set a new one."
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

BACKED_UP = "Backup saved, including our conversations: {file}\nFiles: {files}\nSize: {size}"
BACKED_UP_IN_PART = "Backup saved as {file}, but it isn't complete. I couldn't read these:\n{problems}"
NOT_BACKED_UP = "That didn't work: {reason}."
BACKUP_ELSEWHERE = "Backup of the notes: done by {holder}; here only the conversations are backed up"
BACKUP_JOB = "Last nightly backup: {last}; next: {next}"
BACKUP_NOW = "Backing up now"
CONFIG = "Settings file: {file}\nWorkspace: {workspace}\n\n{settings}"
CONFIG_ROWS = "Changed from the defaults:\n{rows}"
CONFIG_NO_FILE = "none"
CONFIG_ROW = "- {key} = {value}"
CONFIG_NOTHING = "All settings are at their defaults."
CONFIG_IS_SET = "set"
CONFIG_NOT_SET = "not set"
CONFIG_ARE_SET = "set ({count})"
CONFIG_CHANGED = "Changed since, but not active yet: {keys}. /config reload applies them."
CONFIG_AFTER_RESTART = "Takes effect after a restart: {keys}."
CONFIG_RELOADED = "Settings reloaded."
CONFIG_ACTIVE = "Now active: {keys}."
CONFIG_REMOVED = "Removed: {keys}."
CONFIG_SAME = "Nothing has changed."
CONFIG_SAME_HERE = "Nothing has changed in this chat since it started."
CONFIG_IN_SERVICE_TOO = "The running service reloads its settings too; its log says what changed there."
CONFIG_UNUSABLE = "The settings have a mistake in them, so nothing has changed: {reason}"
CONFIG_WOULD_FAIL = "The settings have changed, but can't be used because of a mistake in them: {reason}"

FLUSHED = {
    "noted": "Noted in {places}.",
    "raw": "No language model answered, so I've saved our conversation word for word in {places} until one does.",
    "doubtful": "The model's notes may be incomplete, so I've also saved our conversation word for word in {places}.",
    "nothing": "There was nothing in it to note.",
    "old": "There is nothing new to note.",
    "waits": "No language model answered; I'll try again with your next message.",
    "no model": "There is no language model here to pick out what matters. What you asked me to note is saved.",
    "off": "I don't take notes on my own here: memory.flush.enabled is false.",
}
FLUSHED_UNASKED = {
    "noted": "{why}, so I've noted what matters in {places}.",
    "raw": "{why}. No language model answered, so I've saved it word for word in {places} until one does.",
    "doubtful": "{why}. The model's notes may be incomplete, so I've also saved it word for word in {places}.",
}
FLUSH_WHY = {
    "threshold": "Our conversation has become long",
    "overflow": "Our conversation has become long",
    "idle": "Our conversation has been quiet for a while",
}
PLACES_AND = " and "
TERMINAL = "Terminal"
YOU = "You"
COMPACTED = "I've summarised our earlier conversation; nothing was deleted."
NOTHING_TO_COMPACT = "There is nothing earlier to summarise; the latest messages stay as they are."
NOT_NOTED_HERE = "I don't take notes in this chat."

FORGET_NOTHING = "I found nothing with all of these words, so there is nothing to forget."
FORGET_TOO_MANY = (
    "More than {most} passages in the notes have these words. Please tell me more precisely what to forget."
)
FORGET_LINES = "In the notes:"
FORGET_NO_LINES = (
    "**No note has all of these words.** To remove a note, send `/forget` with words from it. I only found "
    "something outside the notes:"
)
FORGET_LINE = "**{place}**\n\n{quotation}"
FORGET_MESSAGES = "Messages in our conversations with these words or one of these lines: {count}."
FORGET_EXAMPLES = "For example:"
FORGET_EXCERPT = "- {excerpt}"
FORGET_ELSEWHERE = "In the trash, reminders, summaries and other places: {count}"
FORGET_UNREAD = "I couldn't look into {path}: {reason}"
FORGET_CONFIRM = (
    "To remove all of this for good, without keeping a copy, send this within {minutes} minutes:\n\n`/forget "
    "yes {code}`"
)
FORGET_STAYS = "Lines in {folders} stay in your files, which I may only read; I hide them instead."
FORGET_NO_CODE = (
    "That code isn't valid. Codes expire after a while, and a newer list replaces the old code. `/forget "
    "QUERY` shows what I know, with a new code."
)
FORGET_CHOICE_REMOVE = "Remove it for good"
FORGET_CHOICE_LEAVE = "Keep it"
FORGET_LEAVING = {
    "left": "I've kept everything.",
    "removed": "That has already been removed.",
    "unknown": "There is nothing to cancel here; I've kept everything.",
}
FORGOTTEN = (
    "Forgotten. Passages removed from the notes: {lines}, messages: {messages}, elsewhere: {elsewhere}."
)
FORGOTTEN_HIDDEN = "Hidden."
FORGET_HIDDEN = (
    "Still in folders that I may only read: {places}. I no longer find or show these lines; to remove them for good, "
    "delete them there."
)
FORGET_MISSED = "Changed in the meantime and still there: {places}. `/forget QUERY` shows the new text."
FORGET_WHICH_CODE = "Which code? `/forget QUERY` shows one below its list. Usage: `/forget yes CODE`"
FORGOTTEN_IN_PART = (
    "Not all of it is gone: {fault} Passages removed from the notes so far: {lines}, messages: {messages}, "
    "elsewhere: {elsewhere}."
)
FORGET_LEFT = "Still there: {places}."
FORGET_OTHER_INSTANCES = (
    "If you run other instances, they have their own conversations: please tell their bots too."
)
FORGET_AGAIN = (
    "Once that is fixed, `/forget yes {code}` removes the rest, or send `/forget` with the same words."
)
FORGET_PROBLEM = (
    "A trace may be left on the disk ({problem}). Please send `/forget` with the same words again later."
)
FORGET_NOT_MINE = (
    "It is still in earlier backups, in what a restore has put aside (`before-restore-…`) and in the chats "
    "themselves; I can't remove it there."
)

SENT_STICKER = "[sticker {emoji}]"
"""Stands for a message without text, as do the texts below."""
SENT_LOCATION = "[location {where}]"
SENT_VENUE = "[place {title}, {address} ({where})]"
SENT_CONTACT = "[contact {name}, {number}]"
SENT_DICE = "[{emoji} {value}]"
SENT_POLL = "[poll: {question}]\n{options}"
SENT_CHECKLIST = "[checklist: {title}]\n{tasks}"
SENT_GAME = "[game {title}]"
SENT_INVOICE = "[invoice {title}]"
SENT_STORY = "[story]"
SENT_PAID_MEDIA = "[paid media]"
SENT_GIVEAWAY = "[giveaway]"
SENT_SOMETHING = "[something I can't read here]"
SENT_BY_SOMEBODY = "somebody"
TOPIC_TITLE = "{chat} › {topic}"
"""The title of a topic in a room."""

FILED = "Filed in {path}."
FILED_BEFORE = "Already filed in {path}."
FILED_TITLE = "Document"
FILED_FROM = "Sent as {name} by {who} on {day}."
"""Written into the note itself, as are the next four."""
FILED_BY_NOBODY = "Sent as {name} on {day}."
FILED_NAMELESS = "a document"
FILED_CUT = "This is only its beginning: {kept:,} of {all:,} characters."
FILED_CUT_SOMEWHERE = "This is only its beginning: {kept:,} characters."
FILED_UNKNOWN = "There is no document {number} here, or not any more. Please send it again."
FILED_NOTHING = "There is no text in it to keep."
FILED_NOT_A_DOCUMENT = (
    "I can only keep text, so I haven't noted this. `/remember TEXT` notes it in your words."
)
NOT_FILED = "{name}: {reason}"
REMEMBER_CORE_WHAT = "Usage: `/remember core: TEXT`"
REMEMBER_CORE_OWNERS = "Only owners can write to MEMORY.md. `/remember TEXT` notes it in today's log."
REMEMBER_WHAT = (
    "What should I note? Usage: `/remember TEXT`. To file a document, send it with `/remember`, or reply "
    "`/remember` to it."
)

WEB_PAGES = {
    "/": "Today",
    "/search": "Search",
    "/notes/": "Notes",
    "/conversations": "Conversations",
    "/people": "People",
    "/changes": "Changes",
    "/models": "Models",
    "/settings": "Settings",
    "/backups": "Backups",
    "/system": "System",
}
"""The pages' names, by their addresses."""
WEB_SIGN_IN_FIRST = "This needs the token. Please send it as `Authorization: Bearer TOKEN`."
WEB_WRONG = "That token is wrong. Please check it and try again."
WEB_SIGNED_OUT = "You are signed out, so nothing was done. Please sign in again."
WEB_SIGNED_OUT_KEPT = (
    "You are signed out, so nothing was done yet. What you wrote is below. Sign in, and you can send it."
)
WEB_TOO_MANY = "Too many wrong tokens came from your address. Please wait a minute."
WEB_FOREIGN_SITE = "This request came from another site, so nothing was done."
WEB_FOREIGN_HOST = (
    "Without a token I only answer to this machine's own names, such as localhost and 127.0.0.1. To reach me "
    "by another name, set server.token."
)
WEB_LOCKED_TITLE = "This page needs a token"
WEB_LOCKED_PAGE = (
    "Whoever opens it can write your notes, read your chats or let people in. Without a token, any program on this "
    "machine could do that. To make one, run:"
)
WEB_LOCKED_COMMAND = "commonplace init page"
WEB_NOTHING_DONE = "Nothing was done"
WEB_NOT_AVAILABLE = "Not available"
WEB_NOT_FOUND = "Not found"
WEB_NOTHING_FORGOTTEN = "Nothing was forgotten"
WEB_KINDS = {"": "All", "person": "Direct", "room": "Rooms", "imported": "Imported"}
"""The filters of the conversations: the value in the address, and its name."""
WEB_JOBS = {"re-index": "Scan all notes", "backup": "Backup", "tidying up": "Tidying up"}
WEB_LEVELS = {"warning": "warning", "error": "error", "critical": "critical"}
WEB_NOTES_BY_DATE = "Notes by date"
WEB_BY_DATE = "By date"
WEB_MONTH = "{month} {year}"
WEB_NO_SUCH_NOTE = "No note has this name"
WEB_PROPERTIES = "Properties"
WEB_TASK_DONE = "done"
WEB_TASK_OPEN = "to do"
WEB_TABLE = "Table in line {line}"
WEB_SOME_TABLE = "Table"
WEB_TABLE_OF_MESSAGE = "Table in line {line} of message {message}"
WEB_SOME_TABLE_OF_MESSAGE = "Table of message {message}"
WEB_ALL_CONVERSATIONS = "All conversations"
WEB_LOCKED = (
    "This needs `server.token`: without one, any program on this machine could ask for it. To make one, run: "
    "commonplace init page"
)
WEB_OLD_FORM = "You opened this page before you last signed in, so nothing was done. Please open it again."
WEB_NOT_SENT_TITLE = "Not sent yet"
WEB_SEND_AGAIN = (
    "You have signed in since you opened this form, so nothing was done yet. Please check what you wrote, and "
    "send it."
)
WEB_COPY_AGAIN = (
    "I can't tell whether this form came from a page of mine, so nothing was done. Copy what you wrote, and paste it "
    "where it belongs."
)
WEB_NO_PAGE = "There is no such page"
WEB_NO_PAGE_HELP = "Please check the address, or use the menu above."
WEB_ONLY_FORMS = "This address only takes forms. Please go back, or use the menu above."
WEB_TOO_LONG = "That was too long"
WEB_TOO_LONG_HELP = "Nothing was saved. If you go back, what you wrote should still be in the form."
WEB_BROKEN = "Something went wrong on my side"
WEB_BROKEN_HELP = "The log has the details. Please check whether it was done before you try again."
WEB_UNREADABLE = "I couldn't read what your browser sent. Please go back and try again."
WEB_TYPED = {
    "text": "Text",
    "path": "Name",
    "to": "New name, with its folders",
    "when": "New time",
    "person": "Account",
    "other": "Same person’s other account",
}
"""What people type into forms, by the fields' names."""
WEB_NOTE_DONE = {
    "saved": "Saved.",
    "created": "Created.",
    "moved": "Moved. The links in this note still work; links in other notes were not changed.",
    "deleted": "Deleted. You can restore it from the trash.",
    "restored": "Restored.",
    "restored-as": "Restored under this name, because another note has the old one.",
    "task": "Task changed.",
}
WEB_TASK_CHANGED = (
    "The line of this task has changed since you opened the note, so nothing was saved. You see the note as it is "
    "now."
)
WEB_NOTE_TOO_LONG = (
    "This text is {size}, too long to edit in a browser (at most {limit}). Please use a text editor, or split it "
    "into several notes."
)
WEB_NOTE_CHANGED = (
    "The note has changed since you opened it, so nothing was saved. Below is what changed, and your version, which "
    "you can still edit."
)
WEB_NOTE_GONE = (
    "The note was deleted or moved in the meantime, so nothing was saved. Your text is still here."
)
WEB_NOTE_NOT_DELETED = (
    "The note has changed since you opened this page, so nothing was deleted. Please have a look at it first."
)
WEB_FILE_TOO_LARGE = (
    "This file is {size}, too large to show here (at most {limit}). You'll find it in your notes folder."
)
WEB_TRASH_GONE = "That is no longer in the trash; it may have been restored already."
WEB_NO_CHANGE = "That isn't the number of a change. Please go back and use one of the buttons."
WEB_DAY = "{weekday}, {day} {month}"
WEB_DONE = {
    "noted": "Noted in today's log.",
    "cancelled": "Reminder cancelled.",
    "moved": "Reminder moved.",
    "restored": "Reminder restored.",
    "let-in": "{who} can now talk with me and use the memory. I've told them.",
    "guest": "{who} can now talk with me as a guest, without the memory. I've told them.",
    "blocked": "{who} is blocked and can't talk with me.",
    "undone": "Change undone.",
    "redone": "Change redone.",
}
"""What the page says was done, by the key in its address; `who` is in the address too, as an account."""
WEB_TODAY_LOCKED = (
    "To add to the log here, and to see reminders, changes and people waiting to be let in, set `server.token`: "
    "without one, any program on this machine could do the same. To make one, run: `commonplace init page`"
)
WEB_NOTE_NAMELESS = "Please give the note a name."
WEB_LOG_EMPTY = "Please write something first."
WEB_REMINDER_GONE = "That reminder is no longer upcoming: it has been delivered, or somebody cancelled it."
WEB_REMINDER_WHEN = "Please write the new time, for example `tomorrow 9:00`."
WEB_REMINDER_REST = (
    "I understood {moment}, but not “{rest}”. Please write only the time, for example `tomorrow 9:00`."
)
WEB_REMINDER_UNREADABLE = "I can't tell when this is due."
WEB_NOT_WAITING = "They are no longer waiting: their code has expired, or somebody has already decided."
WEB_BACKUP_RUNS = "A backup is already being made. It will appear below when it is ready."
WEB_BACKUP_FAILED = "something went wrong on my side; the log has the details"
WEB_BACKUP_GONE = "There is no such backup. It may have been removed to make room for a newer one."
WEB_BACKUP_LARGE = (
    "This backup is so large that I stopped reading it after a minute. `tar -tzf FILE` lists its contents."
)
WEB_SETTINGS_TOP = "General"
WEB_SETTING_SOURCES = {
    "default": "default",
    "machine": "from this machine",
    "option": "from --workspace",
    "file": "from {name}",
    "variable": "from {name}",
}
WEB_SETTINGS_NO_FILE = "config.toml, a new file in the folder in which I am started"
WEB_SETTING_BY_OPTION = (
    "It was given with --workspace when I was started, which takes precedence over the file. To change it, start me "
    "with another folder."
)
WEB_SETTING_BY_VARIABLE = (
    "The environment variable `{name}` sets it, which takes precedence over the file. To change it, change the "
    "variable and restart me."
)
WEB_SETTING_AT_TOP = (
    "To change it, write this line into {file}, at the top, before the first line in square brackets:"
)
WEB_SETTING_IN_TABLE = (
    "To change it, write this into {file}. If the file has a line `{header}`, write only the second "
    "line, below it:"
)
WEB_SETTING_IN_ENTRY = (
    "To change it, write this line into {file}, into entry {number} of those that begin with `{header}`:"
)
WEB_SETTING_RELOAD = "Then send me `/config reload` in a chat."
WEB_SETTING_RESTART = "Then restart me: `/config reload` isn't enough for it."
WEB_SETTING_INIT = "Or run `{command}` in a terminal: it asks for the value."
WEB_SETTING_WORDS = {
    "workspace": "folder directory data where notes are kept stored",
    "timezone": "time zone timezone clock hour local summer time UTC",
    "log_level": "logs logging verbose debug",
    "agent.name": "name of the bot assistant rename called",
    "agent.instructions": "personality tone style behaviour prompt rules",
    "agent.language": "language German Chinese English translate speak",
    "server.host": "address network phone open from another computer remote LAN",
    "server.port": "address URL page website browser",
    "server.token": "password sign in log in login page website browser security",
    "telegram.token": "Telegram bot connect",
    "discord.token": "Discord bot connect",
    "access.owners": "owner admin administrator who may",
    "access.allow": "people users family let in permission who may talk",
    "access.guests": "guests visitors permission who may talk",
    "access.pairing": "strangers codes approve let in",
    "access.people": "link accounts same person family",
    "models.chain": "language model AI LLM GPT Claude Gemini choose switch provider",
    "models.timeout": "slow wait answer",
    "limits.daily_tokens": "cost costs money budget spend expensive",
    "limits.messages_per_minute": "rate limit spam flood",
    "attachments.max_megabytes": "file size upload large documents pictures photos",
    "speech.provider": "voice messages audio transcription speech dictation",
    "speech.language": "voice messages audio transcription spoken language",
    "memory.path": "notes folder directory",
    "memory.search.final_top_k": "number of results hits more fewer",
    "memory.embedding.provider": "search by meaning semantic vectors embeddings",
    "memory.recall.automatic": "remember remind look up notes by itself",
    "memory.conversations.enabled": "search chats history what was said",
    "memory.conversations.retention_days": "old chats history how long delete privacy",
    "memory.changes.keep_days": "undo history how long",
    "index.url": "PostgreSQL database several computers server",
    "backup.keep": "backups how many copies nightly",
    "backup.at": "backups when night hour",
}
"""What people call a setting, by its key, besides what its name and meaning say."""
WEB_NO_CONVERSATION = "There is no such conversation, or nothing was said on that day."
WEB_DAY_UNKNOWN = "On an unknown day"
WEB_FORGET_INVALID = "That isn't a day of this conversation. Please go back and use one of the links."
WEB_STILL_ANSWERING = "I'm answering in this conversation right now. Please try again in a moment."
WEB_TYPED_LINES_KEPT = (
    "The lines that you typed in the terminal can't be removed from its history ({reason}). Please fix that "
    "first: the file is .commonplace/chat_history in the workspace."
)
WEB_FORGOTTEN = (
    "Forgotten: nobody can find or read it in conversations any more. Earlier backups still have it, and so does the "
    "chat on your phone or computer."
)
WEB_NO_PERSON = "Nobody with this account has been let in or blocked. Please go back to the list of people."
WEB_NO_ACCOUNT = "That isn't an account. Please give the channel and the id, for example telegram:123456."
WEB_PEOPLE_DONE = {
    "allowed": "{who} can now talk with me and use the memory.",
    "guest": "{who} can now talk with me as a guest, without the memory.",
    "blocked": "{who} is blocked and can't talk with me.",
    "linked": "{who} and {other} are linked: they are one person now.",
    "unlinked": "{who} and {other} are no longer linked.",
}
WEB_DECIDED_HERE = "you, on this page"
WEB_BUSY = "This is taking a while. It will appear as soon as it is ready."
REBUILD_FAILED = "something went wrong on my side; the log has the details."
WEB_PANEL_FAILED = "I couldn't show this because of an error on my side. The log has the details."
WEB_SEARCH_DATES = "Only the {count} best passages are checked for dates; notes without a date are left out."
WEB_SEARCH_NO_DAY = "The first day is after the last, so nothing can match. Please change one of them."
WEB_SEARCH_TOOK_LONG = "The search took too long. Please try again."
WEB_TIME = "{time}, {distance}"
WEB_AGO = "{time} ago"
WEB_AHEAD = "in {time}"
WEB_JUST_NOW = "just now"
WEB_MEMORY = "Memory: {reason}"
WEB_INDEX = "The index can't be used, so I search the files one by one: {reason}"
WEB_VECTORS = "Search by meaning: {problem}"
WEB_VECTORS_FALLBACK = "Search by meaning, using the fallback {fallback}: {problem}"
WEB_MODEL_RESTS = "{model} is paused until {time}"
WEB_JOB = "{job}: {outcome}"
WEB_NOTES_UNREAD = "Notes I couldn't read in full: {count}"
WEB_ERRORS = "Errors in the last hour: {count}"

UNTRANSLATED = frozenset(
    {
        # Stored with a conversation and shown to models.
        "SENT_STICKER",
        "SENT_LOCATION",
        "SENT_VENUE",
        "SENT_CONTACT",
        "SENT_DICE",
        "SENT_POLL",
        "SENT_CHECKLIST",
        "SENT_GAME",
        "SENT_INVOICE",
        "SENT_STORY",
        "SENT_PAID_MEDIA",
        "SENT_GIVEAWAY",
        "SENT_SOMETHING",
        "SENT_BY_SOMEBODY",
        "TOPIC_TITLE",
        "NOT_READ",
        "SCHEDULED_LATE",
        "NOT_READ_AGAIN",
        "TOO_MANY_ATTACHED",
        # Written into notes.
        "TERMINAL",
        "FILED_TITLE",
        "FILED_FROM",
        "FILED_BY_NOBODY",
        "FILED_NAMELESS",
        # Said over HTTP or on the command line, which speak English, or to be run there.
        "OTHER_TERMINAL",
        "CHANGES_OVER_HTTP",
        "CONVERSATIONS_OVER_HTTP",
        "STANDBY",
        "STANDBY_UNKNOWN",
        "WEB_LOCKED_COMMAND",
    }
    | {name for name in list(globals()) if name.startswith("CLI_")}
)
"""Texts that are English for everybody."""
