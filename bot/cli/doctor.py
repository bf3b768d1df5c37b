"""`commonplace doctor`: run the checks and print them as lines or as one JSON document."""

import asyncio
import json
import logging
import os
import shutil
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from bot.cli.outcome import DONE, FAILED, WRONG_USAGE, print_error
from bot.config.settings import ConfigError, config_file, load_settings
from bot.doctor.check import Check, sanitize_checks
from bot.doctor.run import check_broken_settings, run_checks
from bot.log import collect_secrets
from bot.sanitize import escape_json_controls

GRACE_SECONDS = 2.0
"""How long to wait after the report for pending work, such as a name server that does not answer."""
COLOURS = {"ok": "\x1b[32m", "warn": "\x1b[33m", "fail": "\x1b[31m"}
DIM, PLAIN = "\x1b[2m", "\x1b[0m"


def run_doctor(config: Path | None, workspace: Path | None, *, as_json: bool) -> int:
    """Run and print the checks; return the exit code: 1 if one fails, 2 if the settings are unusable."""
    logging.getLogger().addHandler(logging.NullHandler())  # the report says it all
    fault: ConfigError | None = None
    secrets: list[str] = []
    runner = asyncio.Runner()
    try:
        settings = load_settings(config, workspace)
        secrets = collect_secrets(settings)
        checks = runner.run(run_checks(settings, os.environ))
    except ConfigError as error:
        fault = error
        checks = runner.run(check_broken_settings(_config_path(config), error))
    checks = sanitize_checks(checks, secrets)
    failed = sum(check.status == "fail" for check in checks)
    if as_json:
        document = {"ok": not failed, "checks": [_as_json(check) for check in checks]}
        sys.stdout.write(escape_json_controls(json.dumps(document, ensure_ascii=False)) + "\n")
    else:
        _print(checks)
    sys.stdout.flush()
    code = DONE
    if fault is not None:
        code = print_error(str(fault), WRONG_USAGE)
    elif failed:
        code = print_error(
            f"{failed} of {len(checks)} checks failed; see the lines that start with `fail`", FAILED
        )
    _close(runner, code)
    return code


def _close(runner: asyncio.Runner, code: int) -> None:
    """Close the runner, but end the program if that takes longer than GRACE_SECONDS."""
    hurry = threading.Timer(GRACE_SECONDS, os._exit, (code,))
    hurry.daemon = True
    hurry.start()
    runner.close()
    hurry.cancel()


def _config_path(config: Path | None) -> Path | None:
    try:
        return config_file(config)
    except ConfigError:  # such as a missing home folder
        return None


def _as_json(check: Check) -> dict[str, str]:
    """Return a check as JSON; `told` and `mend` are the deprecated names of `detail` and `fix`."""
    return {
        "topic": check.topic,
        "name": check.name,
        "status": check.status,
        "detail": check.detail,
        "fix": check.fix,
        "told": check.detail,
        "mend": check.fix,
    }


def _print(checks: Sequence[Check]) -> None:
    """Print a line for each check, with colours and wrapped fixes at a terminal."""
    at_terminal = sys.stdout.isatty()
    colourful = at_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    width = shutil.get_terminal_size().columns if at_terminal else None
    for line in format_report(checks, width=width, colourful=colourful):
        sys.stdout.write(line + "\n")
    if at_terminal:
        counts = {status: sum(check.status == status for check in checks) for status in COLOURS}
        sys.stdout.write(f"\n{counts['ok']} ok, {counts['warn']} warn, {counts['fail']} fail\n")


def format_report(checks: Sequence[Check], *, width: int | None, colourful: bool) -> Iterator[str]:
    """Yield the lines of the report: status, topic, name, finding, and the fix behind an arrow.

    `width`: of the terminal, in columns; a fix that does not fit gets its own line.
    """
    topics = max((len(check.topic) for check in checks), default=0)
    names = max((len(check.name) for check in checks), default=0)
    for check in checks:
        topic, name = check.topic.ljust(topics), check.name.ljust(names)
        status = check.status.ljust(4)
        line = f"{status}  {topic}  {name}  {check.detail}"
        breaks = width is not None and len(line) + len(check.fix) + 3 > width
        if colourful:
            shown = f"{COLOURS[check.status]}{status}{PLAIN}  {DIM}{topic}{PLAIN}  {name}  {check.detail}"
        else:
            shown = line
        if not check.fix:
            yield shown
        elif breaks:
            yield shown
            yield f"{' ' * (topics + names + 10)}→ {check.fix}"
        else:
            yield f"{shown} → {check.fix}"
