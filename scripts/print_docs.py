"""Generate documents from the code: config.example.toml, docs/settings.md, docs/commands.md, docs/files.md.

Also the table of bounds in docs/security.md. With `--check`, write nothing, but name each stale file and exit
with 1.
"""

import argparse
import inspect
import sys
from pathlib import Path

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from bot.commands.registry import COMMANDS
from bot.config.example import example_config, field_explanations, plain_fields, sections, to_toml
from bot.config.schema import describe_type, strip_none
from scripts import bounds
from scripts.file_list import files_page

ROOT = Path(__file__).resolve().parent.parent

SETTINGS_OPENING = """\
# Settings

*Printed from the code by `make docs`; not to be edited by hand.*

You don't have to set anything: without a file, the defaults below apply. `commonplace init` writes a file to start
from, the same as [config.example.toml](../config.example.toml).

**Which file.** `--config FILE`, or else the file that `$COMMONPLACE_CONFIG` names, or else `config.toml` in the
current folder if it exists. A file that you name must exist.

**Secrets.** A file `secrets.toml` beside the settings file is read too. It has the same tables and keys, and wins over
the settings file. `commonplace init` puts tokens and keys there, so that only you can read them, and you can show
`config.toml` to others.

**Environment variables.** Every key is a variable too: `COMMONPLACE_`, then sections and name in capitals, joined by
two underscores. `COMMONPLACE_MEMORY__SEARCH__FINAL_TOP_K=8` is `memory.search.final_top_k`, and
`COMMONPLACE_PROVIDERS__OPENAI__API_KEY` is `providers.openai.api_key`; a provider that the file calls
`My-Server` is `MY_SERVER`. Lists and whole sections are JSON: `COMMONPLACE_ACCESS__OWNERS='["telegram:1"]'`. Variables
win over the files. An empty variable counts as not set.

**Secrets as files.** `$COMMONPLACE_SECRETS_DIR` names a folder of secrets; in the container it is `/run/secrets`. A
file in it that has the name of such a variable sets that variable, unless it is set already. So does a file whose name
ends in `_API_KEY` or `_TOKEN`, such as `OPENAI_API_KEY` or `TELEGRAM_BOT_TOKEN`. Other files there are never opened.

**Workspace.** `--workspace DIR` wins over file and environment; a relative one starts at the current folder. A relative
`workspace` in the file or the environment starts at the file's folder or, without a file, at the current
folder. `~` is your home folder. If nothing sets it and there is no file, it is `./workspace` if that exists,
or else `commonplace` in your data folder: `$XDG_DATA_HOME`, or else `~/.local/share`.

**Mistakes.** An unknown key or variable, a wrong type (a number in quotes is text) or an impossible value stops the
start with exit code 2 and one line that names the key and what is allowed. So does asking for
something that this version does not have. Secrets are never shown.
"""

BOUNDS_BEGIN = "<!-- Printed from scripts/bounds.py by `make docs`; not to be edited by hand. -->"
BOUNDS_END = "<!-- The end of what is printed. -->"

COMMANDS_OPENING = """\
# Slash commands

*Printed from the code by `make docs`; not to be edited by hand.*

The same everywhere. `WORD` must be given, `[WORD]` may be left out.

| command | does | who may use it |
|---|---|---|
"""


def settings_page() -> str:
    """Return docs/settings.md: a table of keys for each section."""
    parts = [SETTINGS_OPENING]
    for section in sections():
        text = field_explanations(section.model)
        rows = [_setting_row(name, field, text[name]) for name, field in plain_fields(section.model)]
        heading = (
            f"## `{section.header}`\n\n{inspect.cleandoc(section.model.__doc__ or '')}"
            if section.keys
            else "## At the top"
        )
        table = "\n".join(["| key | default | takes | meaning |", "|---|---|---|---|", *rows])
        parts.append(f"{heading}\n\n{table}\n")
    return "\n".join(parts)


def commands_page() -> str:
    """Return docs/commands.md: the command table."""
    rows = []
    for command in COMMANDS:
        who = (
            "owners"
            if command.owner_only
            else "all but guests"
            if command.uses_memory
            else "everyone allowed"
        )
        rows.append(f"| `{_escape_cell(command.usage)}` | {_escape_cell(command.help)} | {who} |")
    return COMMANDS_OPENING + "\n".join(rows) + "\n"


def insert_bounds(page: str) -> str:
    """Return docs/security.md with the current table of bounds. Raises ValueError if the page has no place for it."""
    before, begin, rest = page.partition(BOUNDS_BEGIN)
    _, end, after = rest.partition(BOUNDS_END)
    if not (begin and end):
        raise ValueError(f"docs/security.md has no {BOUNDS_BEGIN} with {BOUNDS_END} below it")
    return f"{before}{begin}\n\n{bounds.bounds_table()}\n\n{end}{after}"


def printed_pages() -> dict[Path, str]:
    """Return the content of each generated file."""
    docs = ROOT / "docs"
    return {
        ROOT / "config.example.toml": example_config(),
        docs / "files.md": files_page(),
        docs / "settings.md": settings_page(),
        docs / "commands.md": commands_page(),
        docs / "security.md": insert_bounds((docs / "security.md").read_text("utf-8")),
    }


def main() -> int:
    """Write the files, or with `--check` compare them."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument(
        "--check", action="store_true", help="change nothing; exit with 1 where a file is stale"
    )
    check = options.parse_args().check
    stale = [
        (file, text)
        for file, text in printed_pages().items()
        if not file.is_file() or file.read_text("utf-8") != text
    ]
    for file, text in stale:
        if check:
            print(f"{file.relative_to(ROOT)} is stale: run `make docs`", file=sys.stderr)
        else:
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, "utf-8")
    return 1 if check and stale else 0


def _setting_row(name: str, field: FieldInfo, meaning: str) -> str:
    value = field.get_default(call_default_factory=True)
    default = "must be set" if value is PydanticUndefined else "" if value is None else f"`{to_toml(value)}`"
    takes = describe_type(strip_none(field.annotation), field)
    return f"| `{name}` | {_escape_cell(default)} | {_escape_cell(takes)} | {_escape_cell(' '.join(meaning.split()))} |"


def _escape_cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main())
