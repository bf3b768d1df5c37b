"""The table of all slash commands: `/help`, the channels' menus and docs/commands.md are printed from it."""

from bot.commands.admin import make_backup, show_config
from bot.commands.command import Command, Option
from bot.commands.conversations import compact_conversation, flush_notes, start_new_conversation
from bot.commands.forget import forget
from bot.commands.general import show_help, show_status, stop_turn
from bot.commands.memory import MEMORY_ACTIONS, manage_memory, recall, reindex, remember
from bot.commands.models import choose_model, retry_last, show_models, show_usage
from bot.commands.notes import correct_line
from bot.commands.people import allow, deny, pair, welcome
from bot.commands.reminders import manage_reminders, remind, schedule

COMMANDS: tuple[Command, ...] = (
    Command(
        "help",
        "lists the commands; with a name, tells more of one",
        show_help,
        (Option("command", "The name of one, such as remind.", required=False, type="word"),),
        only_tells=True,
    ),
    Command("start", "says hello, and what there is", welcome, whatever_follows=True),
    Command("new", "begins a new conversation; the memory stays", start_new_conversation),
    Command("stop", "stops the reply that is being made", stop_turn, at_once=True),
    Command("retry", "answers your latest message again", retry_last),
    Command("status", "tells which model answers and what the memory holds", show_status, only_tells=True),
    Command(
        "remember",
        "notes something in today's log, or files a document that it is sent with or replies to",
        remember,
        (
            Option(
                "text",
                "What to note, or a document's title. Owners: begin with core: to write to MEMORY.md.",
                required=False,
                shown="TEXT",
            ),
        ),
        uses_memory=True,
    ),
    Command(
        "recall",
        "shows the notes that fit",
        recall,
        (Option("query", "What to look for."),),
        uses_memory=True,
    ),
    Command(
        "model",
        "tells which model answers here, or chooses one",
        choose_model,
        (
            Option(
                "name",
                "A model, by its name or part of it; auto for the usual order.",
                required=False,
                shown="NAME|auto",
            ),
        ),
    ),
    Command(
        "compact",
        "notes what matters, and sums up the earlier part of our conversation",
        compact_conversation,
    ),
    Command("flush", "notes now what matters of our conversation", flush_notes, uses_memory=True),
    Command("usage", "counts the tokens of today and of the last 30 days", show_usage, only_tells=True),
    Command(
        "remind",
        "sets a reminder in this chat, once or repeating",
        remind,
        (
            Option("when", "20m, tomorrow 9:00, every monday 8:00, 2026-12-03 14:00 …", type="word"),
            Option("text", "What to say then, word for word."),
        ),
        example="/remind tomorrow 9:00 call mum",
    ),
    Command(
        "reminders",
        "lists the upcoming reminders of this chat, or cancels some",
        manage_reminders,
        (
            Option(
                "action",
                "Without it, the list.",
                required=False,
                type="word",
                choices=("cancel",),
            ),
            Option("number", "Their numbers in the list.", required=False, shown="N ..."),
        ),
    ),
    Command(
        "schedule",
        "has me answer a prompt in this chat at set times",
        schedule,
        (
            Option("when", "every monday 8:00, every day at 7:30, tomorrow 9:00 …", type="word"),
            Option("prompt", "What to ask me then."),
        ),
        example="/schedule every monday 8:00 what is planned this week?",
        owner_only=True,
    ),
    Command(
        "memory",
        "shows the memory's state, notes and trash, searches it, rebuilds the index; on or off for rooms",
        manage_memory,
        (
            Option(
                "action",
                "What to do; without it, status.",
                required=False,
                type="word",
                choices=tuple(MEMORY_ACTIONS),
            ),
            Option(
                "what",
                "A query, a note such as 2026-11-21.md:3-9, a folder to list; for the trash: restore N.",
                required=False,
            ),
        ),
        owner_only=True,
        uses_memory=True,
        also_closed=("on", "off"),
    ),
    Command(
        "correct",
        "replaces one line of a note; the old line is kept in the trash",
        correct_line,
        (
            Option(
                "place", "The note and the line, such as 2026-11-21.md:3.", type="word", shown="PATH:LINE"
            ),
            Option("text", "The new text of the line; its list marker or heading stays."),
        ),
        example="/correct 2026-11-21.md:3 The boiler is blue.",
        owner_only=True,
        uses_memory=True,
    ),
    Command(
        "models",
        "shows how each model fares; reset has all of them asked again",
        show_models,
        (
            Option(
                "action",
                "Without it, how they fare.",
                required=False,
                type="word",
                choices=("reset",),
            ),
        ),
        owner_only=True,
    ),
    Command(
        "allow",
        "lets somebody talk, with the memory",
        allow,
        (Option("user", "Who, by channel and id, such as telegram:123456."),),
        owner_only=True,
    ),
    Command(
        "deny",
        "keeps somebody out",
        deny,
        (Option("user", "Who, by channel and id, such as telegram:123456."),),
        owner_only=True,
    ),
    Command(
        "pair",
        "lets in the person who has this code; without a code, lists who is waiting",
        pair,
        (
            Option(
                "code",
                "The code that the person was given, or clear to empty the list; without it, the list.",
                required=False,
                type="word",
                shown="CODE|clear",
            ),
            Option(
                "guest",
                "guest: without the memory; owner: with all commands (only at the terminal).",
                required=False,
                shown="guest|owner",
            ),
        ),
        owner_only=True,
    ),
    Command(
        "forget",
        "shows what is known about something, and removes it everywhere once you confirm that",
        forget,
        (Option("query", "What to forget: words that all stand in it. Or yes and the code that was shown."),),
        owner_only=True,
        uses_memory=True,
    ),
    Command(
        "reindex",
        "looks at all notes for what has changed",
        reindex,
        owner_only=True,
        uses_memory=True,
    ),
    Command(
        "backup", "writes notes and conversations into an archive on the server", make_backup, owner_only=True
    ),
    Command(
        "config",
        "shows the settings that differ from the defaults; reload reads them again",
        show_config,
        (Option("action", "What to do with them.", required=False, type="word", choices=("show", "reload")),),
        owner_only=True,
    ),
)
"""In the order in which they are listed."""
