"""Validation of messages that bots send."""

import mimetypes
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.fakes.discord_api import chats, wire
from tests.fakes.discord_api.api_call import may
from tests.fakes.discord_api.chats import Attachment, Bot, Channel, Message
from tests.fakes.discord_api.refusals import Form, make_refusal
from tests.fakes.discord_api.requests import Body

if TYPE_CHECKING:
    from tests.fakes.discord_api.world import World

Json = dict[str, Any]

MAX_CHARACTERS = 2000
MAX_CHARACTERS_OF_ANYBODY = 4000
"""Limit for people with a subscription; longer texts get another error."""
MAX_FILES = 10
EMBED_LIMITS = {"title": 256, "description": 4096}
SETTABLE = chats.SUPPRESS_EMBEDS | chats.DISK_SILENT | chats.VOICE_MESSAGE | chats.COMPONENTS_V2


@dataclass(slots=True)
class Draft:
    """A validated body; None for fields that it does not mention."""

    content: str | None = None
    embeds: list[Json] | None = None
    components: list[Json] | None = None
    files: list[Attachment] | None = None
    allowed_mentions: Json | None = None
    flags: int | None = None
    nonce: str | int | None = None
    given: Json = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        return not (self.content or self.embeds or self.components or self.files)


def read_draft(
    world: "World",
    channel: Channel,
    bot: Bot,
    body: Body,
    *,
    edited: Message | None = None,
    hidden: bool = False,
) -> Draft:
    """Validate a body. `edited`: the message to change; `hidden`: for one person only."""
    given = body.fields
    form = Form()
    draft = Draft(given=given)
    if given.get("content") is not None or "content" in given:
        draft.content = _content(form, given["content"])
    draft.nonce = _nonce(form, given.get("nonce"))
    if "embeds" in given:
        draft.embeds = _embeds(form, given["embeds"] or [])
    if "components" in given:
        draft.components = given["components"] or []
        _check_components(form, draft.components)
    draft.allowed_mentions = _allowed_mentions(form, given.get("allowed_mentions"))
    if (flags := given.get("flags")) is not None:
        draft.flags = int(flags)
    form.done()
    draft.files = _files(world, channel, body, edited, hidden=hidden)
    if not edited and draft.flags and draft.flags & chats.VOICE_MESSAGE:
        _check_voice(draft)
    if draft.embeds and channel.guild and not may(channel, bot, "embed_links"):
        # Without the permission they are silently dropped.
        draft.embeds = []
    return draft


def _content(form: Form, content: Any) -> str:
    """Return the text without surrounding whitespace, measured in Unicode characters."""
    if content is None:
        return ""
    if not isinstance(content, (str, int, float)):
        form.wrong("content", "BASE_TYPE_BAD_TYPE", "Could not interpret value as string.")
        return ""
    text = str(content)
    if len(text) > MAX_CHARACTERS:
        form.at_most(
            "content",
            text,
            MAX_CHARACTERS_OF_ANYBODY if len(text) > MAX_CHARACTERS_OF_ANYBODY else MAX_CHARACTERS,
        )
    return text.strip()


def _nonce(form: Form, nonce: Any) -> str | int | None:
    if nonce is None:
        return None
    if isinstance(nonce, str):
        form.at_most("nonce", nonce, 25)
    return nonce if isinstance(nonce, (str, int)) else str(nonce)


def _embeds(form: Form, embeds: list[Json]) -> list[Json]:
    form.at_most("embeds", embeds, 10)
    total = 0
    for at, embed in enumerate(embeds):
        for name, most in EMBED_LIMITS.items():
            text = embed.get(name) or ""
            form.at_most(f"embeds.{at}.{name}", text, most)
            total += len(text)
        fields = embed.get("fields") or []
        form.at_most(f"embeds.{at}.fields", fields, 25)
        for number, one in enumerate(fields):
            for name, most in (("name", 256), ("value", 1024)):
                text = one.get(name) or ""
                total += len(text)
                if not text:
                    path = f"embeds.{at}.fields.{number}.{name}"
                    form.wrong(path, "BASE_TYPE_REQUIRED", "This field is required")
                form.at_most(f"embeds.{at}.fields.{number}.{name}", text, most)
        total += len((embed.get("footer") or {}).get("text") or "")
        total += len((embed.get("author") or {}).get("name") or "")
    if total > 6000:
        form.wrong("embeds", "MAX_EMBED_SIZE_EXCEEDED", "Embed size exceeds maximum size of 6000")
    return [{**embed, "type": "rich"} for embed in embeds]


def _check_components(form: Form, components: list[Json]) -> None:
    form.at_most("components", components, 5)
    seen: set[str] = set()
    for at, row in enumerate(components):
        inner = row.get("components") or []
        path = f"components.{at}.components"
        if row.get("type") == 1:
            form.between(path, inner, 1, 5)
        for number, one in enumerate(inner):
            _check_component(form, f"{path}.{number}", one, seen)


def _check_component(form: Form, path: str, one: Json, seen: set[str]) -> None:
    if one.get("type") == 2:
        form.at_most(f"{path}.label", one.get("label") or "", 80)
        if not one.get("label") and not one.get("emoji"):
            form.wrong(f"{path}.label", "BASE_TYPE_REQUIRED", "This field is required")
        if one.get("style") == 5:
            return
    if one.get("type") == 3:
        options = one.get("options") or []
        form.between(f"{path}.options", options, 1, 25)
        for at, option in enumerate(options):
            form.between(f"{path}.options.{at}.label", option.get("label") or "", 1, 100)
            form.between(f"{path}.options.{at}.value", option.get("value") or "", 1, 100)
            form.at_most(f"{path}.options.{at}.description", option.get("description") or "", 100)
    custom_id = one.get("custom_id")
    if not custom_id:
        form.wrong(f"{path}.custom_id", "BASE_TYPE_REQUIRED", "This field is required")
        return
    form.at_most(f"{path}.custom_id", custom_id, 100)
    if custom_id in seen:
        form.wrong(
            f"{path}.custom_id", "COMPONENT_CUSTOM_ID_DUPLICATED", "Component custom id cannot be duplicated"
        )
    seen.add(custom_id)


def _allowed_mentions(form: Form, given: Any) -> Json | None:
    if not isinstance(given, dict):
        return None
    for at, one in enumerate(given.get("parse") or []):
        if one not in ("users", "roles", "everyone"):
            told = "Value must be one of {'users', 'everyone', 'roles'}."
            form.wrong(f"allowed_mentions.parse.{at}", "BASE_TYPE_CHOICES", told)
    for name in ("users", "roles"):
        form.at_most(f"allowed_mentions.{name}", given.get(name) or [], 100)
    return given


def _files(
    world: "World", channel: Channel, body: Body, edited: Message | None, *, hidden: bool
) -> list[Attachment] | None:
    """Return kept and new files; None if the body does not mention files."""
    told = body.fields.get("attachments")
    if told is None and not body.files:
        return None
    old = {file.id: file for file in edited.attachments} if edited else {}
    kept = list(old.values()) if told is None else []
    described: dict[int, Json] = {}
    for one in told or []:
        number = int(one["id"])
        if number in old:
            kept.append(old[number])
        else:
            described[number] = one
    for number, upload in sorted(body.files.items()):
        if len(upload.data) > wire.MAX_FILE_BYTES:
            raise make_refusal(40005)
        about = described.get(number, {})
        kept.append(
            world.add_file(
                channel,
                name := about.get("filename") or upload.name,
                _media_type(name, upload.media_type),
                upload.data,
                description=about.get("description") or "",
                seconds=about.get("duration_secs") or 0.0,
                waveform=about.get("waveform") or "",
                ephemeral=hidden,
            )
        )
    if len(kept) > MAX_FILES:
        raise make_refusal(30015)
    return kept


def _check_voice(draft: Draft) -> None:
    files = draft.files or []
    if draft.content or draft.embeds or draft.components:
        raise make_refusal(50159)
    if len(files) != 1 or not files[0].media_type.startswith("audio/"):
        raise make_refusal(50160)
    if not files[0].waveform:
        raise make_refusal(50161)


def _media_type(name: str, given: str) -> str:
    """Return the media type by file name; Discord ignores the client's."""
    known, _ = mimetypes.guess_type(name)
    if known is None:
        return given
    return f"{known}; charset=utf-8" if known.startswith("text/") else known
