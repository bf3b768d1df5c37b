"""Cost of listing 100,000 notes on the page, by folder and by date: `python benchmarks/note_listing.py [--notes N]`.

One folder has all of them, and another memory has as many in a thousand folders, with a log for each of ten thousand
days. *Cold* is the first look at a folder, and one after a note was added to it; *warm* is what somebody meets who goes
from page to page. Each figure is the median of the processor time of service and client until the page has arrived.
"""

import argparse
import asyncio
import statistics
import sys
import time
from datetime import date, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from figures import Report, measure_to_the_end
from workspaces import ROOT

sys.path.insert(0, str(ROOT))
from bot.web.page.notes import ENTRIES_PER_PAGE
from tests.fakes.web_client import WebClient, open_web_client

FOLDERS = 1_000
DAYS = 10_000
LOOKS = 15
MAX_MILLISECONDS = 100.0
QUIET = {"watch": {"enabled": False}, "embedding": {"provider": "none"}}
"""Nothing is indexed while the lists are measured."""
FIRST_DAY = date(1999, 7, 1)


async def measure(notes: int) -> list[str]:
    """Print the figures; return those beyond their limit."""
    report = Report()
    with TemporaryDirectory() as folder:
        await measure_one_folder(Path(folder), notes, report)
    with TemporaryDirectory() as folder:
        await measure_many_folders(Path(folder), notes, report)
    return report.failed


async def measure_one_folder(base: Path, notes: int, report: Report) -> None:
    memory = base / "memory"
    memory.mkdir()
    for number in range(notes):
        (memory / f"Note {number * 7919 % notes}.md").touch()
    (memory / "few").mkdir()
    (memory / "few/a.md").touch()
    async with open_web_client(base, memory=QUIET) as site:
        await asyncio.sleep(2.1)  # a folder that has just changed is read again for each page
        print(f"{notes:,} notes in one folder, in milliseconds of processor time")
        await look(site, "/notes/few/")  # compiles the template
        report.figure("cold", 1000 * await look(site, "/notes/"), limit=MAX_MILLISECONDS)
        report.figure("the second page, which sorts all", 1000 * await look(site, "/notes/?page=2"))
        pages = [f"/notes/?page={1 + number * 37 % (notes // ENTRIES_PER_PAGE)}" for number in range(LOOKS)]
        seconds = [await look(site, page) for page in pages]
        report.figure("warm, any page", 1000 * statistics.median(seconds), limit=MAX_MILLISECONDS)


async def measure_many_folders(base: Path, notes: int, report: Report) -> None:
    memory = base / "memory"
    for number in range(FOLDERS):
        (memory / f"folder {number}").mkdir(parents=True)
    for number in range(DAYS):
        (memory / f"{FIRST_DAY + timedelta(number)}.md").touch()
    for number in range(notes - DAYS):
        (memory / f"folder {number % FOLDERS}" / f"Note {number}.md").touch()
    async with open_web_client(base, memory=QUIET) as site:
        began = time.perf_counter()
        await site.services.memory.sync()
        for page in ("/notes/folder%20999/", "/days/1999-07"):  # compile the templates
            await look(site, page)
        print(f"{notes:,} notes in {FOLDERS:,} folders, indexed in {time.perf_counter() - began:.0f} s")
        report.figure("cold, the root with its 10,000 daily logs", 1000 * await look(site, "/notes/"))
        folders = [f"/notes/folder%20{number}/" for number in range(LOOKS)]
        seconds = [await look(site, page) for page in folders]
        report.figure("cold, a folder below", 1000 * statistics.median(seconds), limit=MAX_MILLISECONDS)
        (memory / "2027-01-01.md").touch()
        await site.services.memory.sync()
        report.figure("by date, cold", 1000 * await look(site, "/days"), limit=MAX_MILLISECONDS)
        for name, page in (("years", "/days"), ("months", "/days/2020"), ("days", "/days/2020-03")):
            seconds = [await look(site, page) for _ in range(LOOKS)]
            report.figure(f"by date, {name}", 1000 * statistics.median(seconds), limit=MAX_MILLISECONDS)


async def look(site: WebClient, page: str) -> float:
    """Return the processor time in seconds until a page has arrived."""
    began = time.process_time()
    async with site.client.get(page) as answer:
        assert answer.status == 200, answer.status
        await answer.read()
    return time.process_time() - began


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=int, default=100_000)
    measure_to_the_end(measure(parser.parse_args().notes))
