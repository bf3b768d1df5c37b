"""API calls that answer interactions: the callback, and messages through the token."""

from typing import TYPE_CHECKING, Any

from tests.fakes.discord_api import chats, wire
from tests.fakes.discord_api.api_call import ApiRequest
from tests.fakes.discord_api.chats import Interaction, Message
from tests.fakes.discord_api.message_body import SETTABLE, Draft, read_draft
from tests.fakes.discord_api.messages import change
from tests.fakes.discord_api.refusals import Form, make_refusal, wrong
from tests.fakes.discord_api.requests import Body

if TYPE_CHECKING:
    from tests.fakes.discord_api.world import World

Json = dict[str, Any]

MESSAGE, MESSAGE_LATER, EDIT_LATER, EDIT, CHOICES, FORM = 4, 5, 6, 7, 8, 9
COMMAND, COMPONENT, AUTOCOMPLETE, SUBMITTED = 2, 3, 4, 5
ALLOWED = {
    COMMAND: (MESSAGE, MESSAGE_LATER, FORM),
    COMPONENT: (MESSAGE, MESSAGE_LATER, EDIT_LATER, EDIT, FORM),
    AUTOCOMPLETE: (CHOICES,),
    SUBMITTED: (MESSAGE, MESSAGE_LATER, EDIT_LATER, EDIT),
}
ONLY_USERS = {"users"}
"""Default mentions in answers: no roles, not everyone."""
MAX_CHOICES = 25


def callback(world: "World", ask: ApiRequest) -> Json | None:
    interaction = world.interactions.get(ask.ids["token"])
    if interaction is None or interaction.id != ask.ids["interaction"]:
        raise make_refusal(10062)
    if interaction.callback:
        raise make_refusal(40060)
    if world.clock() - interaction.time > world.acknowledge_seconds:
        # By now Discord has told the person that the bot did not respond.
        raise make_refusal(10062)
    given = ask.fields
    kind, data = given.get("type"), given.get("data") or {}
    if kind not in ALLOWED[interaction.kind]:
        told = f"Value must be one of {ALLOWED[interaction.kind]}."
        raise wrong("type", "INTERACTION_RESPONSE_TYPE_INVALID", told)
    body = Body(data, ask.body.files)
    assert isinstance(kind, int)
    if kind == CHOICES:
        interaction.choices = _choices(data)
    elif kind == FORM:
        interaction.form = _form(data)
    elif kind == EDIT:
        _edit_source(world, interaction, ask, body)
    elif kind == EDIT_LATER:
        interaction.original = interaction.message
    else:
        _first(world, interaction, ask, body, later=kind == MESSAGE_LATER)
    interaction.callback, interaction.acknowledged = kind, world.clock()
    world.notify_waiters()
    if ask.query.get("with_response", "").lower() not in ("1", "true"):
        return None
    return _response(world, interaction, ask)


def _response(world: "World", interaction: Interaction, ask: ApiRequest) -> Json:
    about: Json = {"id": str(interaction.id), "type": interaction.kind}
    told: Json = {"interaction": about}
    message = interaction.original
    if message is not None and interaction.callback in (MESSAGE, MESSAGE_LATER, EDIT):
        about |= {
            "response_message_id": str(message.id),
            "response_message_loading": message.loading,
            "response_message_ephemeral": message.ephemeral,
        }
        if interaction.callback != MESSAGE_LATER:
            told["resource"] = {
                "type": interaction.callback,
                "message": _message_response(world, message, ask),
            }
            return told
    told["resource"] = {"type": interaction.callback}
    return told


def _first(world: "World", interaction: Interaction, ask: ApiRequest, body: Body, *, later: bool) -> None:
    hidden = bool(int(body.fields.get("flags") or 0) & chats.EPHEMERAL)
    draft = Draft(flags=body.fields.get("flags")) if later else _read(world, interaction, body, hidden=hidden)
    if draft.empty and not later:
        raise make_refusal(50006)
    flags = ((draft.flags or 0) & SETTABLE) | (chats.EPHEMERAL if hidden else 0)
    interaction.ephemeral = hidden
    interaction.original = _post(world, interaction, draft, flags | (chats.LOADING if later else 0))


def _read(
    world: "World", interaction: Interaction, body: Body, *, hidden: bool, edited: Message | None = None
) -> Draft:
    return read_draft(world, interaction.channel, interaction.bot, body, hidden=hidden, edited=edited)


def _post(world: "World", interaction: Interaction, draft: Draft, flags: int) -> Message:
    first = interaction.original is None
    source = interaction.message if interaction.kind == COMPONENT else interaction.original
    message = world.post(
        interaction.channel,
        interaction.bot,
        content=draft.content or "",
        type=chats.COMMAND
        if first and interaction.kind == COMMAND
        else chats.REPLY
        if source
        else chats.DEFAULT,
        reference=source,
        ping_reply=False,
        allowed_mentions=draft.allowed_mentions,
        default_mentions=ONLY_USERS,
        attachments=draft.files or [],
        components=draft.components or [],
        embeds=draft.embeds or [],
        flags=flags,
        interaction=interaction,
    )
    interaction.messages.append(message)
    return message


def _edit_source(world: "World", interaction: Interaction, ask: ApiRequest, body: Body) -> None:
    message = interaction.message
    if message is None or message.deleted:
        raise make_refusal(10008)
    interaction.original = message
    _change(world, interaction, message, ask, body)


def _change(world: "World", interaction: Interaction, message: Message, ask: ApiRequest, body: Body) -> None:
    draft = _read(world, interaction, body, hidden=message.ephemeral, edited=message)
    change(world, message, ask, draft, default_mentions=ONLY_USERS)


def _choices(data: Json) -> list[Json]:
    choices = data.get("choices")
    form = Form()
    if not isinstance(choices, list):
        raise wrong("data.choices", "BASE_TYPE_REQUIRED", "This field is required")
    form.at_most("data.choices", choices, MAX_CHOICES)
    for at, one in enumerate(choices):
        form.between(f"data.choices.{at}.name", one.get("name") or "", 1, 100)
        if isinstance(one.get("value"), str):
            form.between(f"data.choices.{at}.value", one["value"], 1, 100)
    form.done()
    return choices


def _form(data: Json) -> Json:
    form = Form()
    form.between("data.custom_id", data.get("custom_id") or "", 1, 100)
    form.between("data.title", data.get("title") or "", 1, 45)
    form.between("data.components", data.get("components") or [], 1, 5)
    form.done()
    return data


# -- through the token
# -----------------------------------------------------------------------------------------


def _interaction(world: "World", ask: ApiRequest) -> Interaction:
    interaction = world.interactions.get(ask.ids["token"])
    if interaction is None or interaction.bot.id != ask.ids["application"]:
        raise make_refusal(10015)
    if world.clock() - interaction.time > world.token_seconds:
        raise make_refusal(50027)
    if not interaction.callback:
        raise make_refusal(10015)
    return interaction


def _message_response(world: "World", message: Message, ask: ApiRequest) -> Json:
    return wire.message_json(world, message, ask.bot, has_intent=True)


def _message(world: "World", ask: ApiRequest) -> tuple[Interaction, Message]:
    """Return the first answer, or the one with the id in the path."""
    interaction = _interaction(world, ask)
    message = interaction.original
    if "message" in ask.ids:
        message = next((one for one in interaction.messages if one.id == ask.ids["message"]), None)
    if message is None or message.deleted:
        raise make_refusal(10008)
    return interaction, message


def get_answer(world: "World", ask: ApiRequest) -> Json:
    return _message_response(world, _message(world, ask)[1], ask)


def edit_answer(world: "World", ask: ApiRequest) -> Json:
    interaction, message = _message(world, ask)
    _change(world, interaction, message, ask, ask.body)
    return _message_response(world, message, ask)


def delete_answer(world: "World", ask: ApiRequest) -> None:
    world.delete_message(_message(world, ask)[1])


def followup(world: "World", ask: ApiRequest) -> Json:
    """Add a message; after a deferral it becomes the first answer, hidden or visible as announced."""
    interaction = _interaction(world, ask)
    if interaction.original is not None and interaction.original.loading:
        _change(world, interaction, interaction.original, ask, ask.body)
        return _message_response(world, interaction.original, ask)
    hidden = bool(int(ask.fields.get("flags") or 0) & chats.EPHEMERAL)
    draft = _read(world, interaction, ask.body, hidden=hidden)
    if draft.empty:
        raise make_refusal(50006)
    flags = ((draft.flags or 0) & SETTABLE) | (chats.EPHEMERAL if hidden else 0)
    message = _post(world, interaction, draft, flags)
    return _message_response(world, message, ask)
