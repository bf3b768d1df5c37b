import base64
import html
import json
import logging
import sys
import time
from collections.abc import Callable
from urllib.parse import quote, quote_plus, urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.log import RecentErrors, log_to_stderr, redact_logs
from bot.log.records import JsonFormatter, TextFormatter, make_record_factory
from memory.redaction import Redaction
from tests.fakes.table_test import table_test

# "Zq7": else one is found that is a word of the line itself.
SECRETS = st.builds(
    lambda before, behind: f"{before}Zq7{behind}",
    st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cf", "Zl", "Zp")), max_size=20),
    st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cf", "Zl", "Zp")), max_size=20),
).filter(lambda secret: len(secret.strip()) >= 8)
FORMS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "in an address": lambda secret: quote(secret, safe=""),
    "in a path": quote,
    "in small letters": lambda secret: quote(secret, safe="").lower() if secret.islower() else secret,
    "in a form": lambda secret: urlencode({"what": secret}),
    "in a form, twice": lambda secret: quote_plus(quote_plus(secret)),
    "in JSON": json.dumps,
    "in JSON with its letters": lambda secret: json.dumps(secret, ensure_ascii=False),
    "in JSON within JSON": lambda secret: json.dumps(json.dumps({"key": secret})),
    "in Python": repr,
    "in bytes": lambda secret: repr(secret.encode()),
    "in ASCII": ascii,
    "in HTML": html.escape,
    "in Basic credentials": lambda secret: base64.b64encode(f"me:{secret}".encode()).decode(),
    "in Base64": lambda secret: base64.b64encode(secret.encode()).decode(),
    "in Base64 for addresses": lambda secret: base64.urlsafe_b64encode(f"x{secret}y".encode()).decode(),
}


class Kept(logging.Handler):
    """Of some library, with a formatter of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []
        self.lines: list[str] = []
        self.setFormatter(logging.Formatter("%(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)
        self.lines.append(self.format(record))


def traces_of(secret: str, form: str) -> set[str]:
    """What must not be there: the secret itself, and enough of its form to have it back."""
    whole = form.strip("\"'=")
    return {secret.strip(), whole} - {""}


@settings(deadline=None, max_examples=40)
@given(
    secret=SECRETS,
    name=st.sampled_from(sorted(FORMS)),
    place=st.sampled_from(["message", "args", "error", "cause", "extra", "name", "stack"]),
)
def test_no_secret_gets_through_in_any_form_and_at_any_place(secret: str, name: str, place: str) -> None:
    form = FORMS[name](secret)
    redaction = Redaction([secret])
    library, troubles = Kept(), RecentErrors()
    troubles.set_redaction(redaction)
    logger = logging.Logger(f"lib.{form}" if place == "name" else "lib")
    lines: list[str] = []
    previous = logging.getLogRecordFactory()
    logging.setLogRecordFactory(make_record_factory(redaction))
    try:
        for handler in (library, troubles):
            logger.addHandler(handler)
        if place == "message":
            logger.warning(f"asked {form} for it")
        elif place == "args":
            logger.warning("asked %s %r for it", form, {"key": form})
        elif place in ("error", "cause"):
            try:
                try:
                    raise OSError(f"refused: {form}")
                except OSError as error:
                    if place == "cause":
                        raise RuntimeError("it broke") from error
                    raise
            except (OSError, RuntimeError):
                logger.exception("broken")
        elif place == "extra":
            logger.warning("asked", extra={"header": form})
        elif place == "stack":
            logger.warning("asked", stack_info=True)
        else:
            logger.warning("asked")
        for record in library.records:
            lines += [TextFormatter(redaction).format(record), JsonFormatter(redaction).format(record)]
            lines.append(json.loads(lines[-1])["message"])
    finally:
        logging.setLogRecordFactory(previous)
    assert lines
    shown = "\n".join([*lines, *library.lines, *(f"{each.source} {each.text}" for each in troubles.recent())])
    for trace in traces_of(secret, form):
        assert trace not in shown, (name, place)


KEY = "AAF-" + "x0" * 16


@table_test(
    "line",
    [
        "POST https://api.telegram.org/bot123456789:{}/getUpdates failed",
        "POST https://api.telegram.org/file/bot123456789:{}/photos/1.jpg failed",
        "GET https://host/bot123456789%3A{}/getMe",
        "token 123456789:{} is not valid",
        "Authorization: Bearer {}",
        "Authorization: Bot {}",
        "{{'authorization': 'Bearer {}'}}",
        "[(b'Authorization', b'Basic {}')]",
        '"headers": "{{\\"Authorization\\": \\"Bearer {}\\"}}"',
        "x-api-key: {}",
        "{{'x-goog-api-key': '{}'}}",
        "X-Telegram-Bot-Api-Secret-Token: {}",
        "GET https://host/v1?alt=sse&key={}&x=1",
        "postgresql://me:{}@db/commonplace",
        "Set-Cookie: commonplace_session={}; HttpOnly",
        "openai says: incorrect key sk-proj-{}",
    ],
)
def test_what_looks_like_a_secret_is_kept_out_without_being_known(line: str) -> None:
    shown = Redaction()(line.format(KEY))
    assert KEY not in shown
    assert "***" in shown


@table_test(
    "line",
    [
        "2026-11-22 10:15:02 INFO bot.app: listening on http://127.0.0.1:8321",
        "the bot is in /srv/bot/agent.py, line 12: basic understanding of the token",
        "openai answered 401: no Authorization header was sent",
        "message 123456789 of telegram:-1001234567890/4 took 12:30:15",
        "https://host/v1/models?limit=5 answered 404, see task-force and risk-averse-investments",
    ],
)
def test_other_lines_stay_as_they_are(line: str) -> None:
    assert Redaction()(line) == line


@pytest.mark.thorough
@table_test("piece", ["sk-", "x-", "a-", "://", "://a:b", "bearer ", "%25", "\\", "authorization:"])
def test_a_line_that_repeats_the_beginning_of_a_secret_takes_no_time(piece: str) -> None:
    redaction = Redaction(["hunter2-longer"])
    began = time.thread_time()
    redaction(piece * (20_000 // len(piece)))
    assert time.thread_time() - began < 0.5, "of two and more seconds"


def test_a_secret_that_controls_break_up_does_not_come_together_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    log_to_stderr("info", format="text", secrets=["hunter2-longer"])
    logging.getLogger("x").warning("hun\x1b[0mter2-\x00longer")
    assert capsys.readouterr().err.endswith("x: ***\n")


def test_what_becomes_a_secret_later_is_kept_out_and_what_was_one_stays_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    log = log_to_stderr("info", format="text", secrets=["the-first-one"])
    log.redact(["the-second-one"])
    logging.getLogger("x").warning("the-first-one, the-second-one")
    assert capsys.readouterr().err.endswith("x: ***, ***\n")


def test_records_are_harmless_before_there_is_a_log(capsys: pytest.CaptureFixture[str]) -> None:
    redact_logs(["hunter2-longer"])
    kept = Kept()
    logger = logging.Logger("lib")
    logger.addHandler(kept)
    try:
        raise OSError("hunter2-longer")
    except OSError:
        logger.exception("with %s", "hunter2-longer")
    assert "hunter2" not in "".join(kept.lines)
    assert "OSError: ***" in kept.lines[0]
    assert sys.stderr
