"""The step about running all the time: systemd, launchd, or Docker."""

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from bot.config.settings import SECRETS_NAME
from bot.setup import phrases
from bot.setup.command_line import is_clone
from bot.setup.errors import SetupFailed
from bot.setup.file_writing import PRIVATE_MODE, NewFile, write_files
from bot.setup.questions import AnswerOption
from bot.setup.service_files import ServiceFile, launchd_agent, systemd_unit
from bot.setup.settings_files import SettingsFiles
from bot.setup.setup import Setup
from memory.disk import reason

NONE, SYSTEMD, LAUNCHD, DOCKER = "none", "systemd", "launchd", "docker"
FILES = {SYSTEMD: systemd_unit, LAUNCHD: launchd_agent}
SECONDS = 60.0


def set_up_service(setup: Setup) -> str:
    """Ask how the service is to run, and write what that needs; return what was written."""
    present = _find_present(setup)
    if present and not setup.questions.is_unattended:
        setup.questions.say(phrases.SERVICE_NOW.format(file=present))
        options = [AnswerOption(NONE, phrases.SERVICE_KEEP)]
    else:
        options = [AnswerOption(NONE, phrases.SERVICE_NONE, phrases.SERVICE_NONE_NEEDS)]
    if sys.platform == "darwin":
        options.append(AnswerOption(LAUNCHD, phrases.SERVICE_LAUNCHD))
    else:
        options.append(AnswerOption(SYSTEMD, phrases.SERVICE_SYSTEMD))
    if setup.questions.is_unattended or is_clone(setup.files.file.parent):
        options.append(AnswerOption(DOCKER, phrases.SERVICE_DOCKER, phrases.SERVICE_DOCKER_NEEDS))
    chosen = setup.questions.choose("service", phrases.ASK_SERVICE, options, default=NONE)
    if chosen == NONE:
        return ""
    setup.save()  # the service reads them as soon as it starts
    if chosen == DOCKER:
        return _set_up_docker(setup)
    return _write_service(setup, FILES[chosen](setup.files.file, setup.environment))


def _find_present(setup: Setup) -> Path | None:
    """Return the file of the service that is there; None if there is none."""
    describe = FILES[LAUNCHD if sys.platform == "darwin" else SYSTEMD]
    try:
        path = describe(setup.files.file, setup.environment).path
    except SetupFailed:  # this folder cannot have one
        return None
    return path if os.path.lexists(path) else None


# -- systemd and launchd ------------------------------------------------------------------------------------


def _write_service(setup: Setup, service: ServiceFile) -> str:
    questions, path = setup.questions, service.path
    present = _read_present(path)
    if present == service.text:
        questions.say(phrases.SERVICE_SAME.format(file=path))
    else:
        questions.say(phrases.SERVICE_FILE.format(file=path))
        shown = "\n".join(f"    {line}" for line in service.text.splitlines())
        questions.say(f"{shown}\n", verbatim=True)
        if present is not None:
            questions.say(phrases.SERVICE_OTHER)
        ask = phrases.SERVICE_WRITE if present is None else phrases.SERVICE_REPLACE
        if not (questions.is_unattended or questions.confirm("", ask, default=present is None)):
            return ""
        write_files(NewFile(path, service.text.encode(), 0o644))
        setup.written.append(path)
    must_start = questions.has("start")
    is_wanted = questions.confirm("start", phrases.SERVICE_START, default=False)
    is_started = is_wanted and _start(setup, service, must_start=must_start)
    if not is_started:
        shown = " && ".join(map(shlex.join, service.start))
        questions.say(phrases.SERVICE_TO_START.format(command=shown), verbatim=True)
    if path.suffix == ".service":
        questions.say(phrases.SERVICE_LINGER)
    has_failed = is_wanted and not is_started
    return (phrases.SERVICE_NOT_STARTED if has_failed else phrases.SERVICE_SET).format(file=path)


def _read_present(path: Path) -> str | None:
    """Return the text of the file that is there; None if there is none. Raises SetupFailed."""
    try:
        return path.read_text("utf-8", "replace") if path.is_file() else None
    except OSError as error:
        raise SetupFailed(phrases.NOT_WRITABLE.format(file=path, reason=reason(error))) from error


def _start(setup: Setup, service: ServiceFile, *, must_start: bool) -> bool:
    """Start the service, or the new version of one that runs; return whether that worked.

    Raises SetupFailed if it did not and it `must_start`.
    """
    if service.stop:
        with suppress(OSError, subprocess.TimeoutExpired):  # it need not run
            subprocess.run(service.stop, capture_output=True, timeout=SECONDS, check=False)  # noqa: S603
    folder = setup.files.file.parent
    return all(_run(setup, command, folder, must_succeed=must_start) for command in service.start)


def _run(setup: Setup, command: Sequence[str], folder: Path, *, must_succeed: bool = False) -> bool:
    """Run a command; return whether it succeeded.

    Raises SetupFailed if it did not and it `must_succeed`, or nobody is there to read that.
    """
    try:
        done = subprocess.run(  # noqa: S603 - fixed programs, no shell
            command, cwd=folder, capture_output=True, errors="replace", timeout=SECONDS, check=False
        )
        said = "" if done.returncode == 0 else (done.stderr.strip() or f"exit code {done.returncode}")
    except (OSError, subprocess.TimeoutExpired) as error:
        said = reason(error) if isinstance(error, OSError) else f"no answer within {SECONDS:g} s"
    if not said:
        return True
    last = said.splitlines()[-1]
    if "connect to bus" in last:
        user = setup.environment.get("USER") or str(os.getuid())
        last = phrases.SERVICE_NO_BUS.format(reason=last, user=user)
    text = phrases.SERVICE_FAILED.format(command=shlex.join(command), reason=last)
    if must_succeed or setup.questions.is_unattended:
        raise SetupFailed(text)
    setup.questions.say(f"  {text}")
    return False


# -- Docker -------------------------------------------------------------------------------------------------


def _set_up_docker(setup: Setup) -> str:
    """Make what compose.yaml needs, and copy the settings to the folder that the container reads."""
    file = setup.files.file
    folder = file.parent
    if not is_clone(folder):
        raise SetupFailed(phrases.DOCKER_NO_CLONE.format(file=file))
    if not _run(setup, ["docker/setup"], folder):
        return ""
    target = folder / "config" / "config.toml"
    if target.exists():
        setup.questions.say(phrases.DOCKER_KEPT.format(file=target))
    else:
        _copy_settings(setup.files, target)
        shown = target.relative_to(folder)
        setup.questions.say(phrases.DOCKER_COPIED.format(folder=target.parent, file=shown))
    if any(model.startswith("ollama/") for model in setup.files.settings().models.chain):
        setup.questions.say(phrases.DOCKER_OLLAMA)
    return phrases.DOCKER_SET.format(folder=folder)


def _copy_settings(files: SettingsFiles, target: Path) -> None:
    """Copy both files; the server listens for the container's port if it has a token."""
    has_token = bool(files.settings().server.token.get_secret_value())
    sources = {target.with_name(SECRETS_NAME): files.secrets_file, target: files.file}
    write_files(
        *(
            NewFile(copy, source.read_bytes(), PRIVATE_MODE)
            for copy, source in sources.items()
            if source.exists() and not copy.exists()
        )
    )
    if has_token:
        copied = SettingsFiles(target)
        copied.set(("server", "host"), "0.0.0.0")  # noqa: S104 - the container's own; compose.yaml publishes it
        copied.save()
