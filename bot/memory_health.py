"""What to fix in the notes: as text for people, as JSON, and the commands that fix it."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from typing import Any

from bot import phrases
from bot.conversations.core_note import count_visible_lines, is_too_long, length_warning, read_core_note
from bot.language.text import join_sentences, localize
from bot.note_refs import format_note_ref
from bot.visible_names import escape_path
from memory.health.report import Finding, FindingKind, HealthReport, Place, shorten
from memory.memory import CORE_NOTE, Memory
from memory.translatable import end_sentence

MAX_COMMAND_CHARS = 400
"""A longer command is not shown to people, who get the one that shows the line."""


@dataclass(frozen=True, slots=True)
class FindingText:
    """A finding as people read it."""

    places: Sequence[tuple[str, str]]
    """Where it is (`PATH:LINE`, or a note's path) and what it says there."""
    why: str
    """What is wrong; "" if its title says that."""
    commands: Sequence[str]


@dataclass(frozen=True, slots=True)
class FindingGroup:
    """Findings of one kind as people read them."""

    title: str
    advice: str
    findings: Sequence[FindingText]
    left_out: int
    """Number of further findings of this kind."""

    @property
    def count(self) -> int:
        """Number of all findings of this kind."""
        return len(self.findings) + self.left_out


async def examine_memory(memory: Memory) -> HealthReport:
    """Examine the notes, and the length of the core note; see `Memory.health`. Raises MemoryFault."""
    report = await memory.health()
    core = await read_core_note(memory)
    if not is_too_long(core):
        return report
    lines = core.rstrip("\n").split("\n")
    first = count_visible_lines(core) + 1
    hidden = shorten("\n".join(lines[first - 1 :]))
    place = Place(CORE_NOTE, min(first, len(lines)), len(lines), hidden)
    found = Finding("core_too_long", (place,), reason=length_warning(core))
    return replace(report, findings=(found, *report.findings))


def find_commands(finding: Finding, report: HealthReport) -> list[str]:
    """Return the commands that fix a finding, or show what only the person can fix.

    None fixes a place in a folder that may only be read.
    """
    if finding.new_text is None:
        return [f"/memory get {_format_place(place)}" for place in finding.places]
    return [
        f"/correct {_format_place(place)} {finding.new_text or '-'}"
        for place in finding.places
        if not report.find_read_only_folder(place)
    ]


def describe_health(report: HealthReport, *, most: int) -> list[FindingGroup]:
    """Return the findings by kind, with at most `most` of each."""
    groups = []
    for kind, each in groupby(report.findings, key=lambda finding: finding.kind):
        found = list(each)
        groups.append(
            FindingGroup(
                phrases.HEALTH_TITLES[kind],
                _describe_advice(kind, found[:most], report),
                [_describe_finding(one, report) for one in found[:most]],
                len(found[most:]) + report.left_out.get(kind, 0),
            )
        )
    return groups


def summarize_health(report: HealthReport) -> str:
    """Return one or two sentences on what was read and found."""
    notes = phrases.NOTES.format(count=report.notes)
    count = len(report.findings) + sum(report.left_out.values())
    told = [
        phrases.HEALTH_NOTHING.format(notes=notes)
        if not count
        else phrases.HEALTH_FOUND.format(notes=notes, count=count)
    ]
    if report.unread:
        told.append(
            phrases.HEALTH_UNREAD.format(notes=phrases.HEALTH_UNREAD_NOTES.format(count=report.unread))
        )
    return join_sentences(told)


def format_health(report: HealthReport, *, most: int) -> str:
    """Return the report as Markdown for a chat."""
    parts = [summarize_health(report)]
    for group in describe_health(report, most=most):
        lines = [f"**{group.title}**", group.advice, ""]
        lines += (line for finding in group.findings for line in _format_finding(finding))
        if group.left_out:
            lines.append(phrases.HEALTH_MORE.format(count=group.left_out))
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def encode_health(report: HealthReport) -> dict[str, Any]:
    """Return the report as JSON; lines are null where a whole note is meant."""
    return {
        "healthy": report.is_healthy,
        "notes": report.notes,
        "unread": report.unread,
        "seconds": round(report.seconds, 3),
        "findings": [
            {
                "kind": each.kind,
                "places": [_encode_place(place) for place in each.places],
                "about": each.about and _encode_place(each.about),
                "more": each.more,
                "reason": each.reason,
                "commands": find_commands(each, report),
            }
            for each in report.findings
        ],
        "left_out": report.left_out,
    }


def _encode_place(place: Place) -> dict[str, Any]:
    return {**asdict(place), "line_start": place.line_start or None, "line_end": place.line_end or None}


def _describe_advice(kind: FindingKind, findings: Sequence[Finding], report: HealthReport) -> str:
    """Return what to do about findings of a kind, and where only the person can do it."""
    folders = [report.find_read_only_folder(place) for each in findings for place in each.places]
    told = [phrases.HEALTH_ADVICE[kind]] if any(find_commands(each, report) for each in findings) else []
    if names := [f"{name}/" for name in dict.fromkeys(filter(None, folders))]:
        told.append(phrases.HEALTH_READ_ONLY.format(folders=phrases.COMMA.join(names)))
    return join_sentences(told)


def _describe_finding(finding: Finding, report: HealthReport) -> FindingText:
    why = finding.reason
    if finding.kind == "broken_link":
        why = (
            phrases.HEALTH_MOVED.format(target=finding.reason, path=escape_path(finding.about.path))
            if finding.about
            else phrases.HEALTH_NO_TARGET.format(target=finding.reason)
        )
    elif finding.kind == "not_found":
        why = localize(end_sentence(finding.reason))
        if not why.startswith(finding.places[0].path):
            why = why[:1].upper() + why[1:]
    elif finding.kind == "foreign_text":
        why = phrases.HEALTH_SAYS.format(who=finding.reason)
    elif finding.about:
        phrase = phrases.HEALTH_NEWER if finding.kind == "superseded" else phrases.HEALTH_AS_IN
        why = phrase.format(place=_format_place(finding.about), text=finding.about.text)
    if finding.more:
        why = join_sentences([why, phrases.HEALTH_MORE_PLACES.format(count=finding.more)])
    commands = find_commands(finding, report)
    if any(len(command) > MAX_COMMAND_CHARS for command in commands):
        commands = find_commands(replace(finding, new_text=None), report)
    return FindingText([(_format_place(place), place.text) for place in finding.places], why, commands)


def _format_place(place: Place) -> str:
    if not place.line_start:
        return escape_path(place.path)
    return format_note_ref(place.path, place.line_start, place.line_end)


def _format_finding(finding: FindingText) -> Iterator[str]:
    for place, text in finding.places:
        yield f"- {_code(place)} {text}".rstrip()
    if finding.why:
        yield f"  {finding.why}"
    yield from (f"  {_code(command)}" for command in finding.commands)


def _code(text: str) -> str:
    return f"`` {text} ``" if "`" in text else f"`{text}`"
