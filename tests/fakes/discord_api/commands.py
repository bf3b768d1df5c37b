"""API calls about application commands."""

import unicodedata
from typing import TYPE_CHECKING, Any

from tests.fakes.discord_api.api_call import ApiRequest, ApiResponse
from tests.fakes.discord_api.refusals import Form, make_refusal

if TYPE_CHECKING:
    from tests.fakes.discord_api.world import World

Json = dict[str, Any]

MAX_COMMANDS, MOST_OPTIONS, MAX_CHOICES, MAX_CHARACTERS, MOST_A_DAY = 100, 25, 25, 8000, 200
SUB_COMMAND, SUB_COMMAND_GROUP, STRING, INTEGER, NUMBER = 1, 2, 3, 4, 10


def list_commands(world: "World", ask: ApiRequest) -> list[Json]:
    return ask.bot.commands.get(_place(world, ask), [])


def put_commands(world: "World", ask: ApiRequest) -> list[Json]:
    """Replace all commands; those that stay keep their id."""
    place = _place(world, ask)
    given = ask.body.given if isinstance(ask.body.given, list) else []
    if sum(one.get("type", 1) == 1 for one in given) > MAX_COMMANDS:
        raise make_refusal(30032)
    form = Form()
    seen: set[tuple[str, int]] = set()
    for at, one in enumerate(given):
        _check(form, str(at), one)
        key = (str(one.get("name")), one.get("type", 1))
        if key in seen:
            told = "Application command names must be unique"
            form.wrong(str(at), "APPLICATION_COMMANDS_DUPLICATE_NAME", told)
        seen.add(key)
    form.done()
    old = {(one["name"], one["type"]): one for one in ask.bot.commands.get(place, [])}
    new = [
        _complete_command(world, ask, place, one, old.get((one["name"], one.get("type", 1)))) for one in given
    ]
    _count_created(ask, len(set(seen) - set(old)))
    ask.bot.commands[place] = new
    world.notify_waiters()
    return new


def create_command(world: "World", ask: ApiRequest) -> ApiResponse:
    """Create a command, replacing one with the same name."""
    place = _place(world, ask)
    given = ask.fields
    form = Form()
    _check(form, "", given)
    form.done()
    here = ask.bot.commands.setdefault(place, [])
    old = next((one for one in here if one["name"] == given["name"]), None)
    stored = _complete_command(world, ask, place, given, old)
    if old is None:
        if len(here) >= MAX_COMMANDS:
            raise make_refusal(30032)
        _count_created(ask, 1)
        here.append(stored)
        return ApiResponse(stored, 201)
    here[here.index(old)] = stored
    ask.bot.commands_written += 1
    return ApiResponse(stored, 200)


def edit_command(world: "World", ask: ApiRequest) -> Json:
    place, old = _place(world, ask), _find(world, ask)
    form = Form()
    changed = {**old, **ask.fields}
    _check(form, "", changed)
    form.done()
    stored = _complete_command(world, ask, place, changed, old)
    ask.bot.commands[place] = [stored if one is old else one for one in ask.bot.commands[place]]
    ask.bot.commands_written += 1
    return stored


def get_command(world: "World", ask: ApiRequest) -> Json:
    return _find(world, ask)


def delete_command(world: "World", ask: ApiRequest) -> None:
    ask.bot.commands[_place(world, ask)].remove(_find(world, ask))
    ask.bot.commands_written += 1


def _place(world: "World", ask: ApiRequest) -> int:
    """Return the guild's id, or 0 for global commands."""
    if ask.ids["application"] != ask.bot.id:
        raise make_refusal(20012)
    number: int = ask.ids.get("guild", 0)
    if number and (number not in world.guilds or ask.bot.id not in world.guilds[number].members):
        raise make_refusal(50001)
    return number


def _find(world: "World", ask: ApiRequest) -> Json:
    for one in ask.bot.commands.get(_place(world, ask), []):
        if one["id"] == str(ask.ids["command"]):
            return one
    raise make_refusal(10063)


def _count_created(ask: ApiRequest, fresh: int) -> None:
    if ask.bot.commands_created + fresh > MOST_A_DAY:
        raise make_refusal(30034)
    ask.bot.commands_created += fresh
    ask.bot.commands_written += 1


def _complete_command(world: "World", ask: ApiRequest, place: int, given: Json, old: Json | None) -> Json:
    """Return a command with defaults for omitted fields."""
    told: Json = {
        "id": old["id"] if old else str(world.new_id()),
        "application_id": str(ask.bot.id),
        "type": given.get("type", 1),
        "name": given["name"],
        "name_localizations": given.get("name_localizations"),
        "description": given.get("description", ""),
        "description_localizations": given.get("description_localizations"),
        "default_member_permissions": _text(given.get("default_member_permissions")),
        "nsfw": bool(given.get("nsfw", False)),
    }
    if options := [_complete_option(one) for one in given.get("options") or []]:
        told["options"] = options
    if place:
        told["guild_id"] = str(place)
    else:
        told |= {
            "dm_permission": given.get("dm_permission", True) is not False,
            "contexts": given.get("contexts"),
            "integration_types": given.get("integration_types") or [0],
        }
    same = old is not None and {**old, "version": None} == {**told, "version": None}
    told["version"] = old["version"] if old and same else str(world.new_id())
    return told


def _complete_option(given: Json) -> Json:
    """Return an option without false and empty fields, as Discord does."""
    told = {
        name: value
        for name, value in given.items()
        if value is not None and value is not False and value != []
    }
    if "options" in told:
        told["options"] = [_complete_option(one) for one in told["options"]]
    return told


def _text(bits: Any) -> str | None:
    return None if bits is None else str(bits)


def _check(form: Form, path: str, command: Json) -> None:
    at = f"{path}." if path else ""
    kind = command.get("type", 1)
    _check_name(form, f"{at}name", command.get("name"), chat=kind == 1)
    if kind == 1:
        form.between(f"{at}description", command.get("description") or "", 1, 100)
    _check_options(form, f"{at}options", command.get("options") or [])
    if _size(command) > MAX_CHARACTERS:
        told = f"Command exceeds maximum size ({MAX_CHARACTERS})"
        form.wrong(path, "APPLICATION_COMMAND_TOO_LARGE", told)


def _check_name(form: Form, path: str, name: Any, *, chat: bool = True) -> None:
    text = str(name or "")
    form.between(path, text, 1, 32)
    if chat and text and not all(_is_name_letter(letter) for letter in text):
        form.wrong(path, "APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid")


def _is_name_letter(letter: str) -> bool:
    if letter in "-_'":
        return True
    kind = unicodedata.category(letter)
    script = unicodedata.name(letter, "").split(" ")[0]
    return (kind[0] in "LN" or script in ("DEVANAGARI", "THAI")) and letter == letter.lower()


def _check_options(form: Form, path: str, options: list[Json]) -> None:
    form.at_most(path, options, MOST_OPTIONS)
    names: set[str] = set()
    optional = False
    for at, one in enumerate(options):
        here = f"{path}.{at}"
        _check_name(form, f"{here}.name", one.get("name"))
        form.between(f"{here}.description", one.get("description") or "", 1, 100)
        if one.get("name") in names:
            form.wrong(path, "APPLICATION_COMMAND_OPTIONS_NAME_DUPLICATED", "Option names must be unique")
        names.add(str(one.get("name")))
        if one.get("type") not in range(1, 12):
            form.wrong(f"{here}.type", "BASE_TYPE_CHOICES", "Value must be one of 1 to 11.")
        if one.get("required") and optional:
            told = "Required options must be placed before non-required options"
            form.wrong(here, "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID", told)
        optional = optional or not one.get("required")
        if one.get("type") in (SUB_COMMAND, SUB_COMMAND_GROUP):
            _check_options(form, f"{here}.options", one.get("options") or [])
        _check_choices(form, here, one)


def _check_choices(form: Form, path: str, option: Json) -> None:
    choices = option.get("choices") or []
    form.at_most(f"{path}.choices", choices, MAX_CHOICES)
    names: set[str] = set()
    for at, one in enumerate(choices):
        form.between(f"{path}.choices.{at}.name", str(one.get("name") or ""), 1, 100)
        if option.get("type") == STRING:
            form.between(f"{path}.choices.{at}.value", str(one.get("value") or ""), 1, 100)
        if one.get("name") in names:
            told = "Choice names must be unique"
            form.wrong(f"{path}.choices", "APPLICATION_COMMAND_OPTIONS_CHOICE_NAME_ALREADY_EXISTS", told)
        names.add(str(one.get("name")))
    if choices and option.get("autocomplete"):
        told = "autocomplete may not be set to true if choices are present"
        form.wrong(path, "APPLICATION_COMMAND_OPTIONS_AUTOCOMPLETE_WITH_CHOICES", told)
    if option.get("autocomplete") and option.get("type") not in (STRING, INTEGER, NUMBER):
        told = "autocomplete is for strings, integers and numbers"
        form.wrong(path, "APPLICATION_COMMAND_OPTIONS_AUTOCOMPLETE_TYPE", told)
    for name, least in (("min_length", 0), ("max_length", 1)):
        if (length := option.get(name)) is not None and not least <= length <= 6000:
            told = f"int value should be between {least} and 6000."
            form.wrong(f"{path}.{name}", "NUMBER_TYPE_MAX", told)


def _size(command: Json) -> int:
    """Return the total length of names, descriptions and values."""
    total = len(str(command.get("name") or "")) + len(str(command.get("description") or ""))
    for one in command.get("options") or []:
        total += _size(one)
        for choice in one.get("choices") or []:
            total += len(str(choice.get("name") or "")) + len(str(choice.get("value") or ""))
    return total
