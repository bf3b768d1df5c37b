"""The table of all slash commands: `/help`, the channels' menus and docs/commands.md are printed from it."""

from bot.commands.command import Command, Option
from bot.commands.everyday import begin_anew, show_help, show_status, stop_turn
from bot.commands.memory import look_after_memory, recall, reindex, remember
from bot.commands.models import ask_again, choose_model, show_models, show_usage

COMMANDS: tuple[Command, ...] = (
    Command("help", "lists the commands", show_help),
    Command("new", "begins a new conversation; the memory stays", begin_anew),
    Command("stop", "stops the reply that is being made", stop_turn, at_once=True),
    Command("retry", "answers your latest message again", ask_again),
    Command("status", "tells which model answers and what the memory holds", show_status),
    Command(
        "remember",
        "notes something in today's log",
        remember,
        (Option("text", "What to note, in your words."),),
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
    Command("usage", "counts the tokens of today and of the last 30 days", show_usage),
    Command(
        "memory",
        "shows the state of the memory, searches it, shows a note, or builds the index anew",
        look_after_memory,
        (
            Option(
                "action",
                "What to do; without it, status.",
                required=False,
                type="word",
                choices=("status", "search", "get", "rebuild"),
            ),
            Option(
                "what", "What to search for, or the note to show, such as 2026-11-21.md:3-9.", required=False
            ),
        ),
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
        "reindex",
        "looks at all notes for what has changed",
        reindex,
        owner_only=True,
        uses_memory=True,
    ),
)
"""In the order in which they are listed."""
