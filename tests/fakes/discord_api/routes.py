"""The table of API calls by method and path."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from tests.fakes.discord_api import commands, guilds, interactions, messages
from tests.fakes.discord_api.api_call import ApiRequest
from tests.fakes.discord_api.refusals import NOT_ALLOWED, NOT_FOUND, wrong

if TYPE_CHECKING:
    from tests.fakes.discord_api.world import World

Handler = Callable[["World", ApiRequest], Any | Awaitable[Any]]

TEXTS = ("token", "emoji")
NO_TOKEN = {"gateway", "callback", "original", "edit_original", "delete_original", "followup"} | {
    "get_followup", "edit_followup", "delete_followup",
}  # fmt: skip
"""Calls without a bot token; those about interactions have a token in the path."""

MESSAGE = "/channels/{channel}/messages/{message}"
ANSWER = "/webhooks/{application}/{token}/messages"
GLOBAL = "/applications/{application}/commands"
LOCAL = "/applications/{application}/guilds/{guild}/commands"

TABLE: list[tuple[str, str, str, Handler]] = [
    ("GET", "/gateway", "gateway", guilds.gateway),
    ("GET", "/gateway/bot", "gateway_bot", guilds.gateway_bot),
    ("GET", "/users/@me", "me", guilds.me),
    ("GET", "/applications/@me", "application", guilds.application),
    ("GET", "/oauth2/applications/@me", "application", guilds.application),
    ("POST", "/users/@me/channels", "create_dm", guilds.create_dm),
    ("GET", "/users/@me/guilds", "my_guilds", guilds.my_guilds),
    ("DELETE", "/users/@me/guilds/{guild}", "leave_guild", guilds.leave_guild),
    ("GET", "/users/{user}", "user", guilds.user),
    ("GET", "/guilds/{guild}", "guild", guilds.guild),
    ("GET", "/guilds/{guild}/channels", "guild_channels", guilds.guild_channels),
    ("GET", "/guilds/{guild}/roles", "roles", guilds.roles),
    ("GET", "/guilds/{guild}/members", "members", guilds.members),
    ("GET", "/guilds/{guild}/members/{user}", "member", guilds.member),
    ("GET", "/guilds/{guild}/threads/active", "active_threads", guilds.active_threads),
    ("GET", "/channels/{channel}", "channel", guilds.get_channel),
    ("PATCH", "/channels/{channel}", "edit_channel", guilds.edit_channel),
    ("DELETE", "/channels/{channel}", "delete_channel", guilds.delete_channel),
    ("POST", "/channels/{channel}/typing", "typing", messages.typing),
    ("POST", "/channels/{channel}/threads", "start_thread", guilds.start_thread),
    ("GET", "/channels/{channel}/threads/archived/public", "archived_threads", guilds.archived_threads),
    ("PUT", "/channels/{channel}/thread-members/@me", "join_thread", guilds.join_thread),
    ("DELETE", "/channels/{channel}/thread-members/@me", "leave_thread", guilds.leave_thread),
    ("GET", "/channels/{channel}/messages", "history", messages.history),
    ("POST", "/channels/{channel}/messages", "create_message", messages.create_message),
    ("GET", MESSAGE, "message", messages.get_message),
    ("PATCH", MESSAGE, "edit_message", messages.edit_message),
    ("DELETE", MESSAGE, "delete_message", messages.delete_message),
    ("POST", f"{MESSAGE}/threads", "thread_from_message", guilds.thread_from_message),
    ("PUT", f"{MESSAGE}/reactions/{{emoji}}/@me", "react", messages.react),
    ("DELETE", f"{MESSAGE}/reactions/{{emoji}}/@me", "unreact", messages.unreact),
    ("GET", GLOBAL, "list_commands", commands.list_commands),
    ("PUT", GLOBAL, "put_commands", commands.put_commands),
    ("POST", GLOBAL, "create_command", commands.create_command),
    ("GET", f"{GLOBAL}/{{command}}", "get_command", commands.get_command),
    ("PATCH", f"{GLOBAL}/{{command}}", "edit_command", commands.edit_command),
    ("DELETE", f"{GLOBAL}/{{command}}", "delete_command", commands.delete_command),
    ("GET", LOCAL, "list_commands", commands.list_commands),
    ("PUT", LOCAL, "put_commands", commands.put_commands),
    ("POST", LOCAL, "create_command", commands.create_command),
    ("GET", f"{LOCAL}/{{command}}", "get_command", commands.get_command),
    ("PATCH", f"{LOCAL}/{{command}}", "edit_command", commands.edit_command),
    ("DELETE", f"{LOCAL}/{{command}}", "delete_command", commands.delete_command),
    ("POST", "/interactions/{interaction}/{token}/callback", "callback", interactions.callback),
    ("POST", "/webhooks/{application}/{token}", "followup", interactions.followup),
    ("GET", f"{ANSWER}/@original", "original", interactions.get_answer),
    ("PATCH", f"{ANSWER}/@original", "edit_original", interactions.edit_answer),
    ("DELETE", f"{ANSWER}/@original", "delete_original", interactions.delete_answer),
    ("GET", f"{ANSWER}/{{message}}", "get_followup", interactions.get_answer),
    ("PATCH", f"{ANSWER}/{{message}}", "edit_followup", interactions.edit_answer),
    ("DELETE", f"{ANSWER}/{{message}}", "delete_followup", interactions.delete_answer),
]
NAMES = {name for _, _, name, _ in TABLE} | {"attachment", "connect"}
"""Names of all calls; `connect` is a websocket's handshake."""


@dataclass(frozen=True, slots=True)
class Route:
    method: str
    pattern: re.Pattern[str]
    name: str
    handler: Handler


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", path.replace("@", "(?:@|%40)")))


ROUTES = [Route(method, _pattern(path), name, handler) for method, path, name, handler in TABLE]


def find_route(method: str, path: str) -> tuple[Route, dict[str, Any]]:
    """Return the route and ids; `path` is relative to the version and still encoded."""
    known = False
    for route in ROUTES:
        if (match := route.pattern.fullmatch(path)) is None:
            continue
        known = True
        if route.method == method:
            return route, {name: _id(name, unquote(text)) for name, text in match.groupdict().items()}
    raise NOT_ALLOWED if known else NOT_FOUND


def _id(name: str, text: str) -> Any:
    if name in TEXTS:
        return text
    if not text.isdecimal():
        told = f'Value "{text}" is not snowflake.'
        raise wrong(f"{name}_id", "NUMBER_TYPE_COERCE", told)
    return int(text)
