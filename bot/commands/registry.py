"""The table of all slash commands, behind `/help`, the channels' menus and docs/commands.md."""

from bot.commands.admin import make_backup, show_config
from bot.commands.changes import redo_change, show_changes, undo_change
from bot.commands.command import Command, Option
from bot.commands.conversations import compact_conversation, flush_notes, start_new_conversation
from bot.commands.forget import forget
from bot.commands.general import show_help, show_status, stop_turn
from bot.commands.language import choose_language
from bot.commands.memory import MEMORY_ACTIONS, manage_memory, recall, reindex, remember
from bot.commands.models import choose_model, retry_last, show_models, show_usage
from bot.commands.notes import correct_line
from bot.commands.people import allow, deny, link_accounts, pair, welcome
from bot.commands.reminders import manage_reminders, remind, schedule
from bot.commands.why import explain_line

COMMANDS: tuple[Command, ...] = (
    Command(
        "help",
        "List the commands, or explain one of them",
        show_help,
        (Option("command", "A command's name, such as remind.", required=False, type="word"),),
        only_tells=True,
    ),
    Command("start", "Show the welcome message", welcome, whatever_follows=True),
    Command("new", "Start a new conversation; the memory stays", start_new_conversation),
    Command("stop", "Stop the reply in progress", stop_turn, at_once=True),
    Command("retry", "Answer your latest message again", retry_last),
    Command("status", "Show model and memory status", show_status, only_tells=True),
    Command(
        "remember",
        "Note something in today's log, or file a document you send or reply to",
        remember,
        (
            Option(
                "text",
                "What to note, or a document's title. Owners can start with core: to write to MEMORY.md.",
                required=False,
                shown="TEXT",
            ),
        ),
        uses_memory=True,
    ),
    Command(
        "recall",
        "Search the notes and what was said in chats",
        recall,
        (Option("query", "What to look for."),),
        uses_memory=True,
    ),
    Command(
        "changes",
        "List the latest changes to the notes, or show one in full",
        show_changes,
        (
            Option(
                "what",
                "How many to list, today, a note such as 2026-11-21.md, or #12 to show one change in full.",
                required=False,
                shown="N|today|PATH|#N",
            ),
        ),
        example="/changes today",
        uses_memory=True,
        only_tells=True,
    ),
    Command(
        "undo",
        "Undo your latest change to the notes, or the one with this number",
        undo_change,
        (
            Option(
                "number",
                "The change's number in /changes; if left out, your latest change.",
                required=False,
                type="word",
                shown="N",
            ),
        ),
        uses_memory=True,
    ),
    Command("redo", "Redo the change that you undid last", redo_change, uses_memory=True),
    Command(
        "why",
        "Show which message led to a line of a note",
        explain_line,
        (Option("place", "The note and the line, such as 2026-11-21.md:3.", shown="PATH:LINE"),),
        example="/why 2026-11-21.md:3",
        uses_memory=True,
        only_tells=True,
    ),
    Command(
        "model",
        "Show or choose the model for this chat",
        choose_model,
        (
            Option(
                "name",
                "A model's name or part of it; auto for the usual order.",
                required=False,
                shown="NAME|auto",
            ),
        ),
    ),
    Command(
        "language",
        "Show or choose the language in which I speak with you",
        choose_language,
        (
            Option(
                "code",
                "A code such as de, zh or en; auto to go by your app.",
                required=False,
                type="word",
                shown="CODE",
            ),
        ),
        example="/language de",
    ),
    Command(
        "compact",
        "Note what matters, and summarise our earlier conversation",
        compact_conversation,
    ),
    Command("flush", "Note what matters in our conversation now", flush_notes, uses_memory=True),
    Command("usage", "Show the tokens used today and in the last 30 days", show_usage, only_tells=True),
    Command(
        "remind",
        "Set a reminder in this chat, once or repeating",
        remind,
        (
            Option("when", "20m, tomorrow 9:00, every monday 8:00, 2026-12-03 14:00 …", type="word"),
            Option("text", "What to remind you of, word for word."),
        ),
        example="/remind tomorrow 9:00 call mum",
    ),
    Command(
        "reminders",
        "List the upcoming reminders in this chat, or cancel some",
        manage_reminders,
        (
            Option(
                "action",
                "Leave it out to see the list.",
                required=False,
                type="word",
                choices=("cancel",),
            ),
            Option("number", "Their numbers in the list.", required=False, shown="N ..."),
        ),
    ),
    Command(
        "schedule",
        "Have me answer a prompt in this chat at set times",
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
        "Show status, notes or trash, search, rebuild the index; turn memory on or off in rooms",
        manage_memory,
        (
            Option(
                "action",
                "What to do; status if left out.",
                required=False,
                type="word",
                choices=tuple(MEMORY_ACTIONS),
            ),
            Option(
                "what",
                "A query, a note such as 2026-11-21.md:3-9, a folder to list, or restore N for the trash.",
                required=False,
            ),
        ),
        owner_only=True,
        uses_memory=True,
        also_closed=("on", "off"),
    ),
    Command(
        "correct",
        "Replace one line of a note; the old line is kept in the trash",
        correct_line,
        (
            Option(
                "place", "The note and the line, such as 2026-11-21.md:3.", type="word", shown="PATH:LINE"
            ),
            Option("text", "The new text; the list marker or heading stays. A lone - empties the line."),
        ),
        example="/correct 2026-11-21.md:3 The boiler is blue.",
        owner_only=True,
        uses_memory=True,
    ),
    Command(
        "models",
        "Show how each model is doing; reset clears the failures",
        show_models,
        (
            Option(
                "action",
                "Leave it out to see how they are doing.",
                required=False,
                type="word",
                choices=("reset",),
            ),
        ),
        owner_only=True,
    ),
    Command(
        "allow",
        "Let somebody talk with me and use the memory",
        allow,
        (Option("user", "Who, by channel and id, such as telegram:123456."),),
        owner_only=True,
    ),
    Command(
        "deny",
        "Block somebody",
        deny,
        (Option("user", "Who, by channel and id, such as telegram:123456."),),
        owner_only=True,
    ),
    Command(
        "link",
        "Link two accounts of one person; without accounts, list all links",
        link_accounts,
        (
            Option(
                "user",
                "An account by channel and id, such as telegram:123456; leave both out to see the list.",
                required=False,
                type="word",
            ),
            Option(
                "other",
                "The same person's account on another channel, such as discord:9876 or terminal:owner.",
                required=False,
                type="word",
                shown="USER",
            ),
            Option("action", "off undoes the link.", required=False, type="word", choices=("off",)),
        ),
        example="/link telegram:123456 discord:9876",
        owner_only=True,
    ),
    Command(
        "pair",
        "Let in the person with this code; without a code, list who is waiting",
        pair,
        (
            Option(
                "code",
                "The person's code, or clear to empty the list; leave it out to see the list.",
                required=False,
                type="word",
                shown="CODE|clear",
            ),
            Option(
                "guest",
                "guest: without the memory; owner: all commands (only at the terminal).",
                required=False,
                shown="guest|owner",
            ),
        ),
        owner_only=True,
    ),
    Command(
        "forget",
        "Show what I know about something, and remove it everywhere once you confirm",
        forget,
        (
            Option(
                "query", "Words that are all in what I should forget; or yes and the code that I showed you."
            ),
        ),
        owner_only=True,
        uses_memory=True,
    ),
    Command(
        "reindex",
        "Scan all notes for changes",
        reindex,
        owner_only=True,
        uses_memory=True,
    ),
    Command(
        "backup", "Back up notes and conversations to an archive on the server", make_backup, owner_only=True
    ),
    Command(
        "config",
        "Show the settings that differ from the defaults; reload applies changes",
        show_config,
        (
            Option(
                "action",
                "show (if left out) or reload.",
                required=False,
                type="word",
                choices=("show", "reload"),
            ),
        ),
        owner_only=True,
    ),
)
"""In the order in which `/help` lists them."""
