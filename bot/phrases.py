"""Every sentence that the assistant itself says to people, in one place."""

STRANGER = "I do not know you yet, so I cannot talk with you here."
NOTHING_SAID = "I see no text in that."
STOPPED_HERE = "*(stopped)*"
STOPPED = "Stopped."
NOTHING_RUNS = "Nothing is running here."
CANNOT_KEEP = (
    "I cannot keep our conversation at the moment, so I would rather not go on. Please try again later."
)
OUR_FAULT = "Sorry, something went wrong on my side. It is in the log; please try again."

NO_ANSWER = "I got no answer from the language model: {reason}. What you said is kept; /retry asks again."
NO_MODEL_ANSWERED = (
    "None of the language models answered: {reasons}. What you said is kept; /retry asks again."
)
ANSWERED_INSTEAD = "*({model} answers this: {reasons}.)*"
CUT_SHORT = "*(The answer ends here because it has reached the longest that the model may write.)*"
MODEL_REASON = "{model}: {reason}"
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

USAGE = "That does not fit: `{usage}` - {help}"
UNKNOWN_COMMAND = "There is no /{name} here; /help shows what there is."
UNKNOWN_COMMAND_NEAR = "There is no /{name} here; did you mean /{near}? /help shows what there is."

HELP = "Talk to me as you like, or use one of these:\n\n{commands}"
NEW = "A new conversation. What I have noted stays in the memory."
REMEMBERED = "Noted in {place}."
NOTHING_FOUND = "I found nothing about that in the memory."
STATUS = "Model: {model}\nChat: {chat}\nNotes: {files}\nChunks: {chunks}\nSearch: {search}"
STATUS_CHOSEN = "{model}, chosen for this chat"
NOTHING_TO_RETRY = "There is nothing yet that I could answer again."
MODEL_AUTO = (
    "Model: {model} first, others when it fails.\nThere are:\n{models}\n\n"
    "`/model NAME` chooses one for this chat."
)
MODEL_NOW = "Model: {model}, chosen for this chat; `/model auto` ends that.\nThere are:\n{models}"
MODEL_ROW = "- {model}"
MODEL_CHOSEN = "From now on {model} answers here first. `/model auto` ends that."
MODEL_AUTO_AGAIN = "The models are asked in their usual order again, {model} first."
MODEL_UNKNOWN = "There is no model {name} here. There are:\n{models}"
MODEL_UNKNOWN_NEAR = "There is no model {name} here; did you mean {near}? There are:\n{models}"
MODEL_AMBIGUOUS = "{name} may be any of these; tell me more of its name:\n{models}"
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
REINDEXED = "Looked at all notes, in {seconds:.1f} s: {added} new, {changed} changed, {removed} gone."
MEMORY_STATUS = "Notes: {files}\nChunks: {chunks}\nSearch: {search}\nWords: {fts}\nLast indexed: {indexed}"
NEVER = "never"
BY_MEANING = "by meaning and by words"
BY_MEANING_WITH = "by meaning and by words, with {model} of {reason}"
BY_WORDS = "by words alone"
BY_WORDS_FOR_NOW = "by words alone for now"
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
UPKEEP_PROBLEM = "Keeping up with the notes broke off and begins anew: {problem}"
REINDEX = "Last look at all notes: {last}; next: {next}"
REINDEX_NOW = "Looking at all notes: now"
SEARCH_WHAT = "Tell me what to look for: `/memory search QUERY`"
GET_WHAT = "Tell me which note: `/memory get PATH`"
EMPTY_NOTE = "That note is empty."
NOTE_CUT = "(lines {first} to {last} of {total}; there is more)"

GREETING = "{name}: just say something. /help lists the commands, Ctrl-D leaves."
"""When a person sits down at the terminal."""
