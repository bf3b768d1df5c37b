"""A person who uses Discord."""

import base64
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.fakes.discord_api import chats, wire
from tests.fakes.discord_api.permissions import Permission, channel_permissions, guild_permissions
from tests.fakes.discord_api.requests import Upload

if TYPE_CHECKING:
    from tests.fakes.discord_api.chats import Attachment, Bot, Channel, Interaction, Message, User
    from tests.fakes.discord_api.world import World

Json = dict[str, Any]

MAX_CHARACTERS = 2000
SUB_COMMAND, SUB_COMMAND_GROUP = 1, 2
STRING, INTEGER, BOOLEAN, USER, CHANNEL, ROLE, MENTIONABLE, NUMBER, FILE = range(3, 12)


@dataclass(eq=False)
class Person:
    """Acts in the direct messages with the first bot unless `channel` is given."""

    world: "World" = field(repr=False)
    id: int
    name: str
    display_name: str = ""
    locale: str = "en-US"
    refuses: int = 0
    """Code with which bots' messages are rejected: 50007 (closed), 50278 (no common guild); 0 for none."""

    @property
    def mention(self) -> str:
        return f"<@{self.id}>"

    @property
    def dm(self) -> "Channel":
        """The direct messages with the first bot."""
        return self.world.direct(self)

    def dm_with(self, bot: "Bot") -> "Channel":
        return self.world.direct(self, bot)

    # -- words -----------------------------------------------------------------------------------------------

    async def say(
        self,
        text: str,
        channel: "Channel | None" = None,
        *,
        reply_to: "Message | None" = None,
        ping: bool = True,
        files: Sequence[Upload] = (),
        embeds: Sequence[Json] = (),
    ) -> "Message":
        """Send a text; `ping`: whether a reply mentions the author replied to."""
        if len(text) > MAX_CHARACTERS:
            raise ValueError("a client makes a file of this: use files=")
        channel = channel or (reply_to.channel if reply_to else self.dm)
        attachments = [self._attach(channel, one) for one in files]
        return self._post(
            channel, text, reply_to=reply_to, ping=ping, attachments=attachments, embeds=list(embeds)
        )

    async def ask(self, text: str, channel: "Channel", *, bot: "Bot | None" = None, **more: Any) -> "Message":
        """Mention the bot and send a text; `more` as for `say`."""
        return await self.say(f"{(bot or self.world.bot).mention} {text}".rstrip(), channel, **more)

    async def voice(
        self,
        data: bytes = b"OggS voice",
        channel: "Channel | None" = None,
        *,
        seconds: float = 3.0,
        media_type: str = "audio/ogg",
    ) -> "Message":
        """Send a voice message: no text, one recording."""
        channel = channel or self.dm
        wave = base64.b64encode(bytes(range(0, 250, 10))).decode()
        file = self.world.add_file(
            channel, "voice-message.ogg", media_type, data, seconds=seconds, waveform=wave
        )
        return self._post(channel, "", attachments=[file], flags=chats.VOICE_MESSAGE)

    async def edit(self, message: "Message", text: str) -> None:
        self.world.change_message(message, content=text)

    async def delete(self, message: "Message") -> None:
        self.world.delete_message(message)

    async def react(self, message: "Message", emoji: str) -> None:
        self.world.react(message, self, emoji)

    async def unreact(self, message: "Message", emoji: str) -> None:
        self.world.react(message, self, emoji, remove=True)

    async def types(self, channel: "Channel | None" = None) -> None:
        self.world.tell_typing(channel or self.dm, self)

    # -- threads ---------------------------------------------------------------------------------------------

    async def open_thread(self, message: "Message", name: str) -> "Channel":
        return self.world.open_thread(message.channel, name, self, message=message)

    async def start_thread(
        self, channel: "Channel", name: str, *, private: bool = False, members: Sequence["User"] = ()
    ) -> "Channel":
        """Start a thread without a message; `members` are added."""
        thread = self.world.open_thread(channel, name, self, private=private)
        thread.thread_members |= {one.id for one in members}
        if members and private:
            # New members of a private thread are told of it now.
            self.world.tell_channel("THREAD_CREATE", thread)
        return thread

    async def post(
        self,
        forum: "Channel",
        title: str,
        text: str,
        *,
        files: Sequence[Upload] = (),
        tags: Sequence[int] = (),
    ) -> "Message":
        """Create a forum post: a thread whose first message has the thread's id."""
        thread = self.world.open_thread(forum, title, self)
        thread.tags = {number: forum.tags[number] for number in tags}
        attachments = [self._attach(thread, one) for one in files]
        return self._post(thread, text, attachments=attachments, number=thread.id)

    async def archive(self, thread: "Channel", *, locked: bool = False) -> None:
        self.world.change_thread(thread, archived=True, locked=locked)

    # -- interactions ----------------------------------------------------------------------------------------

    async def press(self, message: "Message", button: str, *, forged: bool = False) -> "Interaction":
        """Press the button with this label or custom_id; `forged`: send this custom_id even if no button has it."""
        custom_id = button
        if not forged:
            here = [
                one
                for one in message.buttons
                if one["type"] == 2 and button in (one.get("label"), one.get("custom_id"))
            ]
            if not here or message.deleted:
                raise AssertionError(f"no button {button!r} below {message!r}, only {message.labels}")
            if here[0].get("disabled"):
                raise AssertionError(f"the button {button!r} cannot be pressed")
            custom_id = here[0]["custom_id"]
        data = {"custom_id": custom_id, "component_type": 2, "id": 2}
        return self._interact(message.channel, 3, data, message)

    async def pick(self, message: "Message", *values: str, custom_id: str = "") -> "Interaction":
        """Choose from the message's select menu, by label or value; `custom_id` if it has several."""
        menus = [one for one in message.buttons if one["type"] == 3]
        menu = next((one for one in menus if custom_id in ("", one["custom_id"])), None)
        if menu is None:
            raise AssertionError(f"nothing to pick from below {message!r}")
        options = {one["label"]: one["value"] for one in menu["options"]}
        chosen = [options.get(one, one) for one in values]
        if unknown := [one for one in chosen if one not in options.values()]:
            raise AssertionError(f"{unknown} cannot be picked, only {list(options)}")
        data = {"custom_id": menu["custom_id"], "component_type": 3, "id": 2, "values": chosen}
        return self._interact(message.channel, 3, data, message)

    def menu(self, channel: "Channel | None" = None, bot: "Bot | None" = None) -> list[str]:
        """Return the names of the commands that the client offers in a channel."""
        channel, bot = channel or self.dm, bot or self.world.bot
        names: list[str] = []
        for place in [channel.guild.id, 0] if channel.guild else [0]:
            for one in bot.commands.get(place, []):
                if one["name"] not in names and self._is_offered(one, channel):
                    names.append(one["name"])
        return names

    async def use(
        self,
        command: str,
        channel: "Channel | None" = None,
        *,
        bot: "Bot | None" = None,
        forged: bool = False,
        **options: Any,
    ) -> "Interaction":
        """Use a command, as in `use("memory search", query="tea")`.

        A person, role, channel or Upload may be a value. `forged`: although the client does not offer it.
        Discord still checks the options.
        """
        channel = channel or self.dm
        data = self._command_data(command, channel, bot, options, forged=forged, focused="")
        return self.world.interact(self, channel, 2, data, bot=bot, name=command)

    async def complete(
        self,
        command: str,
        option: str,
        typed: str,
        channel: "Channel | None" = None,
        *,
        bot: "Bot | None" = None,
        forged: bool = False,
        **options: Any,
    ) -> "Interaction":
        """Type into an autocomplete option; the interaction's `choices` are what is offered."""
        channel = channel or self.dm
        given = {**options, option: typed}
        data = self._command_data(command, channel, bot, given, forged=forged, focused=option)
        return self.world.interact(self, channel, 4, data, bot=bot, name=command)

    async def submit(self, interaction: "Interaction", **values: str) -> "Interaction":
        """Fill in the form that an interaction was answered with, by the fields' custom_id."""
        form = interaction.form
        if not form:
            raise AssertionError(f"{interaction!r} has brought no form")
        rows = []
        for row in form["components"]:
            fields = row.get("components") or [row["component"]]
            told = [
                {"type": 4, "custom_id": one["custom_id"], "value": values.get(one["custom_id"], "")}
                for one in fields
            ]
            rows.append({"type": row["type"], "components": told} if "components" in row else
                        {"type": row["type"], "component": told[0]})  # fmt: skip
        data = {"custom_id": form["custom_id"], "components": rows}
        return self._interact(interaction.channel, 5, data, interaction.message)

    # -- internals -------------------------------------------------------------------------------------------

    def _post(
        self,
        channel: "Channel",
        text: str,
        *,
        reply_to: "Message | None" = None,
        ping: bool = True,
        **more: Any,
    ) -> "Message":
        speaks = Permission.send_messages_in_threads if channel.is_thread else Permission.send_messages
        if not channel_permissions(channel, self) & speaks:
            raise AssertionError(f"{self.name} may not write in {channel!r}")
        return self.world.post(
            channel,
            self,
            content=text,
            type=chats.REPLY if reply_to else chats.DEFAULT,
            reference=reply_to,
            ping_reply=ping,
            **more,
        )

    def _attach(self, channel: "Channel", file: Upload) -> "Attachment":
        return self.world.add_file(channel, file.name, file.media_type, file.data, size=file.size)

    def _interact(
        self, channel: "Channel", kind: int, data: Json, message: "Message | None"
    ) -> "Interaction":
        bot = None
        if message is not None and message.from_bot:
            bot = self.world.bots[message.author.id]
        return self.world.interact(self, channel, kind, data, bot=bot, message=message)

    def _is_offered(self, command: Json, channel: "Channel") -> bool:
        contexts = command.get("contexts")
        if contexts is not None and (0 if channel.guild else 1) not in contexts:
            return False
        if channel.guild is None:
            return command.get("guild_id") is None and command.get("dm_permission") is not False
        mine = guild_permissions(channel.guild, self)
        if not channel_permissions(channel, self) & Permission.use_application_commands:
            return False
        needed = command.get("default_member_permissions")
        if needed is None or mine & Permission.administrator:
            return True
        # "0" means administrators only.
        return int(needed) != 0 and mine & int(needed) == int(needed)

    def _command_data(
        self,
        command: str,
        channel: "Channel",
        bot: "Bot | None",
        options: Json,
        *,
        forged: bool,
        focused: str,
    ) -> Json:
        name, *below = command.split()
        registered = (bot or channel.bot or self.world.bot).command(name, channel.guild)
        if registered is None:
            raise AssertionError(f"there is no command /{name}")
        if not forged and not self._is_offered(registered, channel):
            raise AssertionError(f"/{name} is not offered to {self.name} in {channel!r}")
        resolved: Json = {}
        here: Json = registered
        kinds: list[int] = []
        for part in below:
            here = next((one for one in here.get("options", []) if one["name"] == part), {})
            if here.get("type") not in (SUB_COMMAND, SUB_COMMAND_GROUP):
                raise AssertionError(f"there is no command /{command}")
            kinds.append(here["type"])
        told = self._options(here, options, channel, resolved, focused)
        for part, kind in zip(reversed(below), reversed(kinds), strict=True):
            told = [{"name": part, "type": kind, "options": told}]
        data: Json = {"id": registered["id"], "name": name, "type": 1, "options": told}
        if registered.get("guild_id"):
            data["guild_id"] = registered["guild_id"]
        return {**data, "resolved": resolved} if resolved else data

    def _options(
        self, command: Json, given: Json, channel: "Channel", resolved: Json, focused: str
    ) -> list[Json]:
        known = {one["name"]: one for one in command.get("options", [])}
        if unknown := set(given) - set(known):
            raise AssertionError(f"/{command['name']} has no option {', '.join(sorted(unknown))}")
        missing = [name for name, one in known.items() if one.get("required") and name not in given]
        if missing and not focused:
            raise AssertionError(f"/{command['name']} needs {', '.join(missing)}")
        told: list[Json] = []
        for name, value in given.items():
            option = known[name]
            one: Json = {"name": name, "type": option["type"]}
            if name == focused:
                if not option.get("autocomplete"):
                    raise AssertionError(f"{name} of /{command['name']} does not complete")
                one["focused"] = True
            else:
                _check(option, value)
            one["value"] = self._value(option["type"], value, channel, resolved)
            told.append(one)
        return told

    def _value(self, kind: int, value: Any, channel: "Channel", resolved: Json) -> Any:
        """Return an option's value: objects by their id, with details in `resolved`."""
        if isinstance(value, Upload):
            file = self._attach(channel, value)
            resolved.setdefault("attachments", {})[str(file.id)] = wire.attachment_json(self.world, file)
            return str(file.id)
        if kind in (STRING, INTEGER, BOOLEAN, NUMBER) or not hasattr(value, "id"):
            return value
        number = str(value.id)
        if isinstance(value, chats.Role):
            resolved.setdefault("roles", {})[number] = wire.role_json(value)
        elif isinstance(value, chats.Channel):
            told = wire.channel_json(value)
            resolved.setdefault("channels", {})[number] = {
                **told, "permissions": str(channel_permissions(value, self)),
            }  # fmt: skip
        else:
            resolved.setdefault("users", {})[number] = wire.user_json(value)
            if channel.guild and value.id in channel.guild.members:
                member = wire.member_json(channel.guild.members[value.id], with_user=False)
                permissions = str(channel_permissions(channel, value))
                resolved.setdefault("members", {})[number] = {**member, "permissions": permissions}
        return number


def _check(option: Json, value: Any) -> None:
    """Reject what a client does not let people send."""
    name, kind = option["name"], option["type"]
    kinds = {STRING: str, INTEGER: int, BOOLEAN: bool, NUMBER: (int, float)}
    if kind in kinds and not isinstance(value, kinds[kind]):  # type: ignore[arg-type]
        raise AssertionError(f"{name} takes no {type(value).__name__}")
    if option.get("choices") and value not in [one["value"] for one in option["choices"]]:
        raise AssertionError(f"{name} cannot be {value!r}")
    if kind not in (STRING, INTEGER, NUMBER):
        return
    size = len(value) if kind == STRING else value
    least, most = ("min_length", "max_length") if kind == STRING else ("min_value", "max_value")
    if not option.get(least, -math.inf) <= size <= option.get(most, math.inf):
        raise AssertionError(f"{name} cannot be {value!r}: out of range")
