"""The `commonplace` command: parse, run, print. Expensive imports wait until they are needed."""

import argparse
import gc
import io
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TextIO

from bot.cli.outcome import (
    DONE,
    FAILED,
    INTERRUPTED,
    PROGRAM,
    WRONG_USAGE,
    CommandFailed,
    WrongUsage,
    print_error,
)
from bot.version import VERSION

if TYPE_CHECKING:
    from bot.config.settings import Settings
    from memory.redaction import Redaction

MAX_COUNT = 1_000_000
INIT_FLAGS = (
    ("name", "NAME", "the assistant's name"),
    ("timezone", "ZONE", "your time zone, such as Europe/Berlin (default: this machine's)"),
    (
        "model",
        "PROVIDER/MODEL",
        "language model, such as anthropic/claude-sonnet-4-5 or ollama/qwen3; none for no model",
    ),
    ("base-url", "URL", "address of the model's server, if it is not the provider's usual one"),
    ("api-key-file", "FILE", "file with the provider's API key"),
    ("telegram-token-file", "FILE", "file with the token of your Telegram bot"),
    ("telegram-owner", "ID", "your numeric Telegram id; you may do everything"),
    ("discord-token-file", "FILE", "file with the token of your Discord bot"),
    ("discord-owner", "ID", "your numeric Discord id; you may do everything"),
    ("vault", "DIR", "an Obsidian vault, or other folder of Markdown, to search as well"),
    ("vault-name", "NAME", "its name in search results"),
    ("vault-write", "", "allow changes to its notes"),
    ("page-token", "", "make a token for the status page"),
)
"""Options of `init`: name, metavar ("" for a switch) and help."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code: 0 done, 1 failed, 2 wrong usage or settings, 130 interrupted."""
    signal.signal(signal.SIGINT, _exit_immediately)
    _fix_streams()
    try:
        try:
            with nullcontext() if arguments else _disable_garbage_collection():
                code = _run(_parse(arguments))
        except SystemExit as leaving:  # argparse: --help, --version, wrong usage
            code = leaving.code if isinstance(leaving.code, int) else FAILED
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = INTERRUPTED
        _discard_output()
    except BrokenPipeError:  # the reader has closed the pipe
        code = DONE
        _discard_output()
    except OSError as error:
        code = print_error(f"{error.strerror or error}" + (f": {error.filename}" if error.filename else ""))
        _discard_output()
    except Exception as error:
        if sys.flags.dev_mode:
            raise
        _log_traceback()
        code = print_error(_error_location(error))
        _discard_output()
    return code


@contextmanager
def _disable_garbage_collection() -> Iterator[None]:
    """Disable garbage collection, which costs a one-shot command a quarter of its CPU time."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()  # or the interpreter collects everything once more at exit
        gc.enable()


def _redact_server_texts(settings: "Settings") -> None:
    """Redact every secret of the settings in servers' messages; secrets are collected on first use."""
    from memory.redaction import set_redaction

    @cache
    def redaction() -> "Redaction":
        from bot.log import collect_secrets
        from memory.redaction import Redaction

        return Redaction(collect_secrets(settings))

    set_redaction(lambda text: redaction()(text))


# -- the parser ---------------------------------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        """Report the error in one line, without the usage."""
        self.exit(print_error(f"{message} (see {self.prog} --help)", WRONG_USAGE))


class _ProgramParser(_Parser):
    def format_help(self) -> str:
        """Return the help, and where the documents are, in a line that can be copied whole."""
        from memory.installation import documents_folder

        folder = documents_folder()
        return super().format_help() + (f"Documentation: {folder}\n" if folder else "")


class _ShowVersion(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        print(PROGRAM, VERSION)
        parser.exit(DONE)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the arguments; without a command, and for `help`, print the help and exit."""
    parser = build_parser()
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        shown = " ".join(_without_values(unknown))
        program = " ".join(filter(None, (parser.prog, options.command)))
        parser.exit(print_error(f"unrecognized arguments: {shown} (see {program} --help)", WRONG_USAGE))
    if options.command in (None, "help"):
        parser.parse_args([*getattr(options, "about", ()), "--help"])
    return options


def _without_values(unknown: Sequence[str]) -> Sequence[str]:
    """Return unknown arguments without the values of unknown options, which may be secret."""
    return [each.partition("=")[0] for each in unknown if each.startswith("-")] or unknown


def build_parser() -> argparse.ArgumentParser:
    """Build the parser of all commands and their options."""
    everywhere = _Parser(add_help=False)
    # SUPPRESS: a subcommand without the option must not reset the one before it.
    everywhere.add_argument(
        "--config",
        metavar="FILE",
        type=Path,
        default=argparse.SUPPRESS,
        help="settings file (default: $COMMONPLACE_CONFIG, or ./config.toml if it exists)",
    )
    everywhere.add_argument(
        "--workspace",
        metavar="DIR",
        type=Path,
        default=argparse.SUPPRESS,
        help="folder for notes and data; overrides the settings",
    )
    parser = _ProgramParser(
        prog=PROGRAM,
        description="A personal assistant whose memory is a folder of Markdown that you own.",
        epilog="To get started: commonplace chat",
        parents=[everywhere],
    )
    parser.add_argument("--version", action=_ShowVersion, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(metavar="COMMAND", dest="command", parser_class=_Parser)

    def command(name: str, does: str) -> _Parser:
        return commands.add_parser(name, help=does, description=f"{does}.", parents=[everywhere])

    run = command("run", "Run the service: all channels and the status page")
    run.add_argument(
        "--stand-in", action="store_true", help=argparse.SUPPRESS
    )  # as bot/cluster/takeover.py does
    chat = command("chat", "Talk in the terminal")
    chat.add_argument(
        "-m",
        "--message",
        metavar="TEXT",
        type=_decode_argument,
        help="send this message, print the reply and exit",
    )
    chat.add_argument(
        "--session",
        metavar="NAME",
        type=_decode_argument,
        default="main",
        help="name of the conversation (default: main)",
    )
    _add_init_command(command)
    _add_memory_actions(command("memory", "Search, read and add notes"), everywhere)
    _add_mcp_command(command)
    doctor = command("doctor", "Check settings, folders, tokens and providers, and show how to fix problems")
    doctor.add_argument("--json", action="store_true", help="print one JSON document")
    _add_backup_commands(command)
    _add_import_command(command)
    about = command("help", "Show this help, or the help for a command")
    about.add_argument("about", metavar="COMMAND", nargs="*", help="a command, such as chat or memory search")
    return parser


def _add_init_command(command: Callable[[str, str], _Parser]) -> None:
    init = command("init", "Set up Commonplace: ask, test, and write a commented config.toml and the folders")
    init.epilog = (
        "In a terminal it asks for what no option gives. Elsewhere, and with --yes, it asks nothing and writes what "
        "the options give. Tokens and keys go to secrets.toml, beside config.toml; FILE may be - for standard input."
    )
    init.add_argument(
        "folder",
        metavar="DIR|STEP",
        nargs="?",
        help="folder to write to (default: this one); or a step to repeat: "
        "you, model, telegram, discord, notes, page, service",
    )
    init.add_argument("--yes", action="store_true", help="ask nothing; take the defaults")
    for flag, metavar, does in INIT_FLAGS:
        if metavar:
            init.add_argument(f"--{flag}", metavar=metavar, type=_decode_argument, help=does)
        else:
            init.add_argument(f"--{flag}", action="store_true", help=does)
    init.add_argument(
        "--service",
        choices=("systemd", "launchd", "docker", "none"),
        help="what runs Commonplace in the background",
    )
    init.add_argument("--start", action="store_true", help="start that service, now and at each login")


def _add_backup_commands(command: Callable[[str, str], _Parser]) -> None:
    backup = command(
        "backup", "Back up notes and conversations into one archive, even while the service runs"
    )
    backup.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        type=Path,
        help="archive to write, or a folder for it (default: .commonplace/backups in the workspace); hidden files and "
        "symbolic links among the notes are skipped",
    )
    restore = command("restore", "Restore notes and conversations from a backup")
    restore.add_argument(
        "file",
        metavar="FILE",
        type=Path,
        help="archive to restore; the previous state is kept in .commonplace",
    )
    export = command("export", "Print all conversations, including ended ones")
    export.add_argument(
        "chat",
        metavar="CHAT",
        nargs="?",
        type=_decode_argument,
        help="only this chat, such as terminal:main",
    )
    export.add_argument(
        "--json", action="store_true", help="print one JSON document per line, with all details"
    )
    export.add_argument(
        "--out", metavar="DIR", type=Path, help="write one file per conversation to this folder"
    )


def _add_import_command(command: Callable[[str, str], _Parser]) -> None:
    bring = command("import", "Import conversations or notes from another assistant")
    bring.add_argument(
        "path",
        metavar="PATH",
        nargs="?",
        type=Path,
        help="an export from ChatGPT or Claude (the zip, or conversations.json), OpenClaw's workspace, or a folder of "
        "Markdown",
    )
    bring.add_argument(
        "--from",
        dest="format",
        choices=("auto", "chatgpt", "claude", "openclaw", "markdown"),
        default="auto",
        help="what it is (default: auto, which looks at the content)",
    )
    bring.add_argument(
        "--owner", metavar="USER", default="", help="whose conversations they are, such as telegram:123"
    )
    bring.add_argument("--dry-run", action="store_true", help="only show what would be imported")
    bring.add_argument(
        "--undo", metavar="RUN", type=_parse_count, help="undo an import, except for what you've edited since"
    )
    bring.add_argument("--list", action="store_true", help="list the imports with their numbers")
    bring.add_argument("--json", action="store_true", help="print one JSON document")


def _add_mcp_command(command: Callable[[str, str], _Parser]) -> None:
    mcp = command("mcp", "Let another program use the notes: an MCP server on standard input and output")
    mcp.epilog = (
        "It never reads ./config.toml, which may be another program's. Without --config and $COMMONPLACE_CONFIG, its "
        "settings are the workspace's own: the config.toml in that folder or beside it that names it."
    )
    mcp.add_argument(
        "--rights",
        choices=("read", "append", "write"),
        default="write",
        help="read: search and read notes; append: also add to them; write (the default): also edit them and undo "
        "changes",
    )
    mcp.add_argument("--conversations", action="store_true", help="also let it search all chats")


def _add_memory_actions(memory: _Parser, everywhere: _Parser) -> None:
    actions = memory.add_subparsers(metavar="ACTION", dest="action", required=True, parser_class=_Parser)

    def action(name: str, does: str) -> _Parser:
        parser = actions.add_parser(name, help=does, description=f"{does}.", parents=[everywhere])
        parser.add_argument("--json", action="store_true", help="print one JSON document")
        return parser

    action("status", "Show the memory's status, and check that the embedding provider answers")
    action("health", "Find what to fix in the notes, such as duplicates and broken links; changes nothing")
    search = action("search", "Search the notes and what was said in chats")
    search.add_argument("query", metavar="QUERY", nargs="*", type=_decode_argument, help="what to look for")
    search.add_argument("--limit", metavar="N", type=_parse_count, help="maximum number of passages")
    search.add_argument(
        "--source",
        choices=("notes", "conversations", "all"),
        default="notes",
        help="notes (the default), the conversations of all chats, or both",
    )
    search.add_argument(
        "--batch",
        metavar="FILE",
        help="file with one query per line (- for standard input); prints one JSON document per line",
    )
    search.add_argument(
        "--explain", action="store_true", help="also show which words of each passage matched"
    )
    get = action("get", "Print a note, or some of its lines")
    get.add_argument(
        "path",
        metavar="PATH",
        type=_decode_argument,
        help="note as shown by a search: 2026-11-21.md or 2026-11-21.md:3-9",
    )
    get.add_argument("--line", metavar="N", type=_parse_count, help="first line")
    get.add_argument("--limit", metavar="N", type=_parse_count, help="maximum number of lines")
    write = action("write", "Note something")
    write.add_argument(
        "text",
        metavar="TEXT",
        nargs="+",
        type=_decode_argument,
        help="what to note; - reads it from standard input",
    )
    write.add_argument(
        "--target", choices=("core", "daily"), default="daily", help="MEMORY.md, or today's log (the default)"
    )
    changes = action("changes", "List the latest changes to the notes, or show one in full")
    changes.add_argument(
        "what",
        metavar="N|today|PATH",
        nargs="?",
        default="",
        type=_decode_argument,
        help="how many to list (default: 10), today, or a note",
    )
    changes.add_argument("--number", metavar="N", type=_parse_number, help="show this change in full")
    undo = action("undo", "Undo a change to the notes")
    undo.add_argument(
        "number",
        metavar="N",
        nargs="?",
        type=_parse_number,
        help="its number in the list (default: your latest change at this terminal)",
    )
    action("redo", "Redo the change that you undid last")
    index = action("index", "Update the index, and embed new text")
    index.add_argument("--rebuild", action="store_true", help="rebuild it from the notes")
    index.add_argument("--no-cache", action="store_true", help="recompute all vectors, even cached ones")


def _decode_argument(argument: str) -> str:
    """Decode an argument as UTF-8 whatever the locale; replace invalid bytes."""
    typed = os.fsencode(argument)
    try:
        return typed.decode()
    except UnicodeDecodeError:
        foreign = any("\udc80" <= letter <= "\udcff" for letter in argument)  # Python's mark for such bytes
        return typed.decode("utf-8", "replace") if foreign else argument


def _parse_count(argument: str) -> int:
    if not (argument.isdecimal() and argument.strip("0")):
        raise argparse.ArgumentTypeError(f"{argument!r} is not a whole number of 1 or more")
    return int(argument) if len(argument) <= len(str(MAX_COUNT)) else MAX_COUNT


def _parse_number(argument: str) -> int:
    """Parse the number of a change, also as the list shows it: `#12`."""
    return _parse_count(argument.removeprefix("#"))


# -- the commands -------------------------------------------------------------------------------------------


def _run(options: argparse.Namespace) -> int:
    if options.command == "run":  # a signal while it starts ends it at once
        signal.signal(signal.SIGINT, _exit_quietly)
        signal.signal(signal.SIGTERM, _exit_quietly)
        if not os.isatty(0):  # at a terminal, SIGHUP means that it was closed
            signal.signal(signal.SIGHUP, signal.SIG_IGN)  # the settings are about to be read anyway
        from bot.malloc import tune_malloc
        from bot.service.descriptors import raise_descriptor_limit

        tune_malloc()
        raise_descriptor_limit()

    if options.command in {"run", "chat"}:
        # Where click is installed, as with the extra `mcp`, httpx would import a command line of its own, and rich.
        sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]
    # Before anything else can print where only the protocol may be written.
    streams = _claim_streams() if options.command == "mcp" else None

    from bot.config.errors import ConfigError
    from bot.config.secret_files import export_secrets
    from memory.errors import MemoryFault

    config: Path | None = getattr(options, "config", None)
    workspace: Path | None = getattr(options, "workspace", None)
    try:
        export_secrets()
        if options.command == "init":
            from bot.cli.init import run_init

            return run_init(options, config=config, workspace=workspace)
        if options.command == "doctor":
            from bot.cli.doctor import run_doctor

            return run_doctor(config, workspace, as_json=options.json)
        import asyncio

        from bot.config.settings import load_settings, load_workspace_settings

        load = load_workspace_settings if options.command == "mcp" else load_settings
        settings = load(config, workspace)
        _redact_server_texts(settings)
        if options.command != "restore" and os.path.lexists(settings.private_folder / "restore.json"):
            from bot.process_lock import RESTORE_UNFINISHED

            raise CommandFailed(RESTORE_UNFINISHED)
        if options.command in {"backup", "restore", "export"}:
            from bot.cli.backup import run_backup_command

            return run_backup_command(options, settings)
        if options.command == "import":
            from bot.cli.imports import run_import_command

            return run_import_command(options, settings)
        if streams:
            from bot.cli.mcp import run_mcp

            return run_mcp(options, settings, streams)
        if options.command == "memory":
            from bot.cli.memory import run_memory_action

            return asyncio.run(run_memory_action(options, settings))
        from bot.cli.run_and_chat import run_talk

        if options.command == "chat" and options.message is None:
            gc.enable()  # it may run for years; the service enables it once everything is open
        if options.command == "chat" and options.message is not None:
            signal.signal(signal.SIGINT, signal.default_int_handler)  # lets the turn save the conversation
        return asyncio.run(run_talk(options, settings))
    except (ConfigError, WrongUsage) as error:
        return print_error(str(error), WRONG_USAGE)
    except (MemoryFault, CommandFailed) as error:
        return print_error(str(error))


# -- streams and signals ------------------------------------------------------------------------------------


def _exit_immediately(number: int, frame: object) -> NoReturn:
    """End a one-shot command at once: the files on disk survive that, and no thread delays it."""
    del number, frame
    os._exit(INTERRUPTED)


def _exit_quietly(number: int, frame: object) -> NoReturn:
    del number, frame
    os._exit(DONE)


def _fix_streams() -> None:
    """Make the three streams usable: UTF-8 whatever the locale, and /dev/null where one is closed."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:  # or the next opened file would become a standard stream
            os.open(os.devnull, os.O_RDWR)
    sys.stdin = _to_utf8(sys.stdin, "r")
    sys.stdout = _to_utf8(sys.stdout, "w")
    sys.stderr = _to_utf8(sys.stderr, "w")


def _claim_streams() -> tuple[int, int]:
    """Return descriptors of standard input and output, and replace these by an empty input and by standard error."""
    claimed = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return claimed


def _to_utf8(stream: TextIO | None, mode: Literal["r", "w"]) -> TextIO:
    if stream is None:
        return Path(os.devnull).open(mode, encoding="utf-8")
    if isinstance(stream, io.TextIOWrapper) and mode == "r":
        stream.reconfigure(encoding="utf-8-sig", errors="replace")
    elif isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    return stream


def _discard_output() -> None:
    """Drop unprinted output, so that the interpreter does not fail at exit."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        return


def _log_traceback() -> None:
    import logging

    if logging.getLogger().handlers:  # without one it would go to standard error
        logging.getLogger(__name__).exception("a bug")


def _error_location(error: Exception) -> str:
    from bot.log.tracebacks import error_summary

    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    place = f" in {frame.tb_frame.f_code.co_filename}:{frame.tb_lineno}" if frame else ""
    return f"this is a bug, please report it: {error_summary(error)}{place}"
