"""A guest sends slow and large files in forty topics of a group at once: one of the attacks of standstill.py.

`Scenario(NAME, attack, TABLES)` is its line there. The service has 512 MB in compose.yaml, for itself and the
processes that read files together.
"""

import asyncio
import sys
from pathlib import Path
from typing import Any, Protocol

from workspaces import ROOT

sys.path.insert(0, str(ROOT))
from tests.fakes.pdf_file import slow_pdf

NAME = "files in 40 topics"
OWNER, GUEST = 7, 8
TOPICS = 40
SLOW_FILES = 3
"""PDF files in each topic, a few kB that take minutes to read."""
LARGE_BYTES = 19 << 20
"""Bytes of the text beside them, one in each topic."""
TABLES: dict[str, dict[str, object]] = {
    "access": {"owners": [f"telegram:{OWNER}"], "guests": [f"telegram:{GUEST}"]},
    "limits": {"messages_per_minute": 1000},
}
"""Settings: the guest may send all of it within a minute."""


class Target(Protocol):
    """The service under attack."""

    @property
    def api(self) -> Any:
        """The tests' Bot API that it uses."""

    @property
    def seconds(self) -> float:
        """Duration of the attack."""

    @property
    def folder(self) -> Path:
        """The workspace."""


async def send_files(target: Target) -> None:
    """Have a guest send all files, the large one first in every other topic, and let the service read."""
    api = target.api
    owner, guest = api.person(OWNER, "Anna"), api.person(GUEST, "Mallory")
    forum = api.forum("House", owner, guest)
    pdf, line = slow_pdf(), b"All work and no play makes Jack a dull boy.\n"
    large = line * (LARGE_BYTES // len(line))
    for number in range(TOPICS):
        topic = await api.open_topic(forum, f"Topic {number}", guest)
        files = [(pdf, f"{at}.pdf") for at in range(SLOW_FILES)]
        files.insert(0 if number % 2 else SLOW_FILES, (large, "large.txt"))
        for data, name in files:
            await guest.document(data, "@commonplace_bot Read this", forum, name=name, topic=topic)
        await asyncio.sleep(0)
    await api.wait_until_confirmed(within=300)
    await asyncio.sleep(target.seconds)
