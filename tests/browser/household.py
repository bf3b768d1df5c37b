"""The household that a browser looks at, as a service that runs."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from tests.browser import notes
from tests.browser.service import TOKEN, Outside, Service, serving, write_past, write_upcoming
from tests.browser.talks import write_talks


@contextmanager
def household_service(folder: Path) -> Iterator[Service]:
    """A service with a token, channels, vectors, hostile notes too, reminders, and models that failed just now."""
    memory = folder / "workspace" / "memory"
    notes.write_household(memory, datetime.now(UTC).date())
    notes.write(memory, notes.HOSTILE)
    notes.write(memory, {"long.md": "# Long\n\n" + "".join(f"Line {n}.\n\n" for n in range(3, 2500, 2))})
    private = folder / "workspace" / ".commonplace"
    asyncio.run(write_past(private, time.time()))
    asyncio.run(write_upcoming(private, datetime.now(ZoneInfo("UTC"))))
    asyncio.run(write_talks(private))
    outside = Outside()
    with (
        outside.running(),
        serving(folder, outside.settings(answers=False), token=TOKEN) as service,
    ):
        anna = outside.telegram.person(7, "Anna", started=True)
        outside.telegram.do(anna.say("When was the boiler serviced?"))
        outside.telegram.do(anna.chat.answer(within=20))
        service.commonplace.output_of("memory", "write", "Zoë has borrowed the ladder")
        yield service
