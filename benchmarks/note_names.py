"""Whether a vault's notes are found by what links and aliases call them: `python benchmarks/note_names.py VAULT`.

VAULT is a folder of Markdown notes with `[[target|shown text]]` links or aliases, such as the help pages of Obsidian.
Each text of a link is asked for once, after the line with the link was removed, and each alias; the answer is the note
that the link leads to, or that has the alias. And every second word of a paragraph of each note is asked for, since
names must not hide what notes say. Recall counts the first one and five distinct notes. By words alone.

Half of the notes, by a hash of their names, are printed as *tuning*, the others as *checking*: constants may be chosen
by the first alone. `--save FILE` keeps each question's reciprocal rank, `--against FILE` prints the mean differences.
"""

import argparse
import asyncio
import json
import re
import sys
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from workspaces import ROOT, make_workspace

sys.path.insert(0, str(ROOT))
from figures import paired_difference

from memory.chunker import split_passages
from memory.front_matter import read_front_matter
from memory.link_targets import LinkName, LinkTargets, fold, link_key
from memory.memory import Memory
from memory.note_links import find_links
from memory.settings import MemorySettings

LIMIT = 20


@dataclass(frozen=True, slots=True)
class Question:
    """A name, the note that has it, and the line to remove before it is searched for."""

    kind: str
    text: str
    answer: str
    note: str = ""
    line: int = 0

    @property
    def id(self) -> str:
        """What identifies it in saved figures."""
        return f"{self.kind}|{self.text}|{self.answer}"

    @property
    def half(self) -> str:
        """Whether constants may be chosen by it."""
        return "tuning" if zlib.crc32(self.answer.encode()) % 2 else "checking"


def make_questions(notes: dict[str, str]) -> Iterator[Question]:
    """Yield what may be asked of these notes, by path: each text of a link to another note, and each alias, once."""
    names: dict[str, LinkTargets] = {}
    for path in notes:
        names.setdefault(link_key(path), LinkTargets()).add(LinkName(path))
    asked = set[tuple[str, str]]()
    for path, text in notes.items():
        own = link_key(path)
        for alias in read_front_matter(text).aliases:
            if fold(alias) != own:
                yield Question("alias", alias, path)
        for link in find_links(text):
            called = names.get(link_key(link.target))
            target = called and called.resolve(link.target, path=path, is_wiki=link.is_wiki)
            is_name = fold(link.label) in (fold(link.target), link_key(link.target))
            if target in (None, path) or is_name or (fold(link.label), target) in asked:
                continue
            asked.add((fold(link.label), str(target)))
            yield Question("shown text", link.label, str(target), path, link.line)
        paragraphs = [
            each.text for each in split_passages(text) if len(each.text) > 80 and not each.is_heading
        ]
        if paragraphs:
            words = re.findall(r"\w+", max(paragraphs, key=lambda each: zlib.crc32(each.encode())))
            yield Question("paragraph", " ".join(words[1:20:2]), path)


async def ask(folder: Path, notes: dict[str, str], questions: list[Question]) -> dict[str, int]:
    """Return the place of the answer among the distinct notes that a search finds, by question; 0 for none."""
    workspace = make_workspace(folder / "w")
    for path, text in notes.items():
        file = workspace / "memory" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    places: dict[str, int] = {}
    settings = MemorySettings.model_validate({"embedding": {"provider": "none"}})
    async with Memory(settings, workspace=workspace, now=lambda: datetime.now(UTC), lasting=True) as memory:
        for question in questions:
            file = workspace / "memory" / question.note
            if question.line:
                lines = notes[question.note].split("\n")
                file.write_text("\n".join([*lines[: question.line - 1], *lines[question.line :]]), "utf-8")
                await memory.sync()
            found = await memory.search(question.text, limit=LIMIT)
            paths = list(dict.fromkeys(hit.path for hit in found.hits))
            places[question.id] = paths.index(question.answer) + 1 if question.answer in paths else 0
            if question.line:
                file.write_text(notes[question.note], "utf-8")
    return places


def main() -> None:
    """Print the figures of each kind and half."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("vault", type=Path, help="a folder of notes")
    parser.add_argument("--save", type=Path, metavar="FILE", help="write each question's figure as JSON")
    parser.add_argument("--against", type=Path, metavar="FILE", help="print differences to figures so saved")
    arguments = parser.parse_args()
    files = sorted(arguments.vault.rglob("*.md"))
    notes = {file.relative_to(arguments.vault).as_posix(): file.read_text("utf-8") for file in files}
    questions = list(make_questions(notes))
    with tempfile.TemporaryDirectory() as folder:
        places = asyncio.run(ask(Path(folder), notes, questions))
    ranks = {name: 1 / place if place else 0.0 for name, place in places.items()}
    if arguments.save:
        arguments.save.write_text(json.dumps(ranks), "utf-8")
    before = json.loads(arguments.against.read_text("utf-8")) if arguments.against else {}
    print(f"{'':24}{'questions':>10}{'recall@1':>10}{'recall@5':>10}{'mrr':>10}")
    for kind in ("shown text", "alias", "paragraph"):
        for half in ("tuning", "checking"):
            some = [each.id for each in questions if (each.kind, each.half) == (kind, half)]
            if not some:
                continue
            first, five = (sum(0 < places[name] <= most for name in some) / len(some) for most in (1, 5))
            mrr = sum(ranks[name] for name in some) / len(some)
            print(f"{f'{kind}, {half}':24}{len(some):10}{first:10.3f}{five:10.3f}{mrr:10.3f}")
            if compared := [(ranks[name], before[name]) for name in some if name in before]:
                mean, margin = paired_difference(compared)
                print(f"  mrr differs by {mean:+.3f} ± {margin:.3f}")


if __name__ == "__main__":
    main()
