"""All settings, in frozen sections. Each part of the program is given only its own section."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, PrivateAttr, SecretStr, Strict, ValidationError, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from bot.config.channel import ChannelSettings
from bot.config.discord import DiscordSettings
from bot.config.errors import PREFIX, ConfigError, Origin, explain, format_value, printable, shorten
from bot.config.loaders import EnvironmentSource, SecretFilesSource, merge_tables
from bot.config.secret_files import FOLDER_VARIABLE, secrets_folder
from bot.config.sources import SettingSources, collect_sources
from bot.config.system_zone import system_zone
from bot.config.telegram import TelegramSettings
from bot.config.toml_file import read_toml
from bot.language.codes import LANGUAGES, find_language
from bot.messages import OWNER_AT_TERMINAL
from bot.models.known_providers import KIND_BY_NAME, KNOWN_PROVIDERS, ProviderKind
from bot.models.model_names import ways_to_write, with_provider
from memory.settings import (
    MAX_COUNT,
    IndexSettings,
    Section,
    SettingsConflict,
    Texts,
    check_web_address,
    section_field,
)
from memory.settings import MemorySettings as NotesSettings

if TYPE_CHECKING:
    from ipaddress import IPv4Network, IPv6Network
    from zoneinfo import ZoneInfo

    from memory.note_folders import NoteFolders

__all__ = ["ConfigError", "Settings", "config_file", "load_settings", "read_again"]

BUILTIN_PROVIDER = "builtin"
BUILTIN_MODEL = "notebook"
PEOPLE_FORM = 'a list of ids such as "telegram:1" under each name, each id once'
PRIVATE_FOLDER = ".commonplace"
SECRETS_NAME = "secrets.toml"

MIN_MCP_TOKEN_CHARS = 16
EXAMPLE_TOKENS = frozenset({"put-your-own-secret-here", "and-another-secret-here"})
"""What the example file and docs/mcp.md show, and anybody can read there."""
MAX_MCP_TOKENS = 32
MAX_MCP_NAME_CHARS = 40

McpRights = Literal["read", "append", "write"]
"""What a program may do over MCP; each may do all that those before it may."""

Secrets = Annotated[tuple[SecretStr, ...], Strict(False)]


class AgentSettings(Section):
    """The assistant itself."""

    name: str = "Commonplace"
    """The assistant's name."""
    instructions: str = ""
    """Your own instructions to the model: tone, language, rules."""
    language: str = ""
    """Language of the assistant's messages and its page, such as "de", unless a person chose one with `/language`; ""
    for that of each app or browser."""

    @field_validator("name")
    @classmethod
    def _one_line(cls, value: str) -> str:
        if not value.strip() or not value.isprintable():
            raise ValueError("a name on one line")
        return value

    @field_validator("language")
    @classmethod
    def _known_language(cls, value: str) -> str:
        if value and find_language(value) is None:
            raise ValueError(f'one of {", ".join(LANGUAGES)}, or "" for the language of each person\'s app')
        return value


class ServerSettings(Section):
    """The HTTP server: status page, health check, metrics, JSON-RPC and webhooks."""

    enabled: bool = True
    """Whether to run the HTTP server."""
    host: str = "127.0.0.1"
    """Address to listen on. Anything but 127.0.0.1, ::1 and localhost needs a token."""
    port: int = Field(default=8321, ge=0, le=65_535)
    """Port to listen on; 0 for any free one."""
    token: SecretStr = SecretStr("")
    """Secret that you sign in with, and that programs send as "Authorization: Bearer ..."."""
    trusted_proxies: Texts = ()
    """Proxies whose X-Forwarded-For is trusted, such as ["127.0.0.1", "172.16.0.0/12"], so that
    wrong tokens lock out only the client that sent them."""

    @field_validator("trusted_proxies")
    @classmethod
    def _networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        from ipaddress import ip_network

        for entry in value:
            try:
                ip_network(entry, strict=False)
            except ValueError:
                raise ValueError(
                    f'a list of addresses or networks, such as "127.0.0.1" or "172.16.0.0/12"; {entry!r} is neither'
                ) from None
        return value

    @property
    def proxies(self) -> "tuple[IPv4Network | IPv6Network, ...]":
        """The parsed networks of `trusted_proxies`."""
        from ipaddress import ip_network

        return tuple(ip_network(entry, strict=False) for entry in self.trusted_proxies)

    @field_validator("host")
    @classmethod
    def _host(cls, value: str) -> str:
        if not value or not value.isprintable() or any(character in value for character in " /@"):
            raise ValueError('an address or host name of this machine, such as "127.0.0.1"')
        return value

    @model_validator(mode="after")
    def _others_need_a_token(self) -> Self:
        if self.enabled and not self.token.get_secret_value().strip() and not is_loopback(self.host):
            raise SettingsConflict("host", "127.0.0.1, ::1 or localhost unless server.token is set")
        return self


class McpTokenSettings(Section):
    """A program that may use your notes over MCP, under a name of your choice; see docs/mcp.md."""

    token: SecretStr = Field(examples=["put-your-own-secret-here"])
    """Secret that the program sends as "Authorization: Bearer ...", for example from `openssl rand -hex 24`;
    it opens /mcp and nothing else."""
    rights: McpRights = "read"
    """What the program may do: "read" searches and reads notes, "append" also adds to them, "write" also edits them and
    undoes changes."""
    conversations: bool = False
    """Whether it may also search and read all chats."""

    @field_validator("token")
    @classmethod
    def _long(cls, value: SecretStr) -> SecretStr:
        token = value.get_secret_value()
        if len(token) < MIN_MCP_TOKEN_CHARS or not (token.isascii() and token.isprintable()) or " " in token:
            raise ValueError(
                f"at least {MIN_MCP_TOKEN_CHARS} letters, digits and signs without spaces, for example from "
                "`openssl rand -hex 24`"
            )
        if token in EXAMPLE_TOKENS:
            raise ValueError("your own: `openssl rand -hex 24` prints one")
        return value


class McpSettings(Section):
    """Other programs that may use your notes over MCP; without a token, /mcp does not exist."""

    tokens: dict[str, McpTokenSettings] = Field(
        default_factory=dict, max_length=MAX_MCP_TOKENS, examples=["cursor"]
    )

    @model_validator(mode="after")
    def _tokens_make_sense(self) -> Self:
        names = dict[str, str]()
        for name, each in self.tokens.items():
            is_plain = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
            if not is_plain or len(name) > MAX_MCP_NAME_CHARS:
                raise SettingsConflict(
                    "tokens",
                    f"tables whose names have at most {MAX_MCP_NAME_CHARS} letters, digits, - and _, unlike {name!r}",
                )
            if other := names.get(each.token.get_secret_value()):
                raise SettingsConflict(f"tokens.{name}.token", f"a token other than that of {other}")
            names[each.token.get_secret_value()] = name
        return self


class AccessSettings(Section):
    """Who may talk to the assistant on Telegram and Discord; /pair adds more. In the terminal, you are the owner."""

    owners: Texts = ()
    """People who may do everything, such as ["telegram:123456", "discord:9876"]."""
    allow: Texts = ()
    """People who may talk and use the memory; "telegram:*" is everybody there,
    "discord:SERVER/@ROLE" a role, "discord:SERVER/#CHANNEL" everybody in a channel."""
    guests: Texts = ()
    """People who may talk, but not use the memory."""
    pairing: bool = True
    """Whether strangers get a code that an owner can approve."""
    people: dict[str, Texts] = Field(
        default_factory=dict, examples=[{"anna": ["telegram:123456", "discord:9876"]}]
    )
    """One person's accounts, under any name: on each, they find what they said on the others.
    Overrides /link. In the terminal, you are "terminal:owner"."""

    def entries(self) -> "Iterator[tuple[str, str]]":
        """Yield every entry of the lists with the key of its list: `("access.owners", "telegram:123456")`."""
        for name in ("owners", "allow", "guests"):
            yield from ((f"access.{name}", entry) for entry in getattr(self, name))
        yield from (("access.people", entry) for ids in self.people.values() for entry in ids)

    @field_validator("owners", "allow", "guests")
    @classmethod
    def _valid_entries(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        found = []
        for entry in value:
            if not (valid := _read_entry(entry)):
                raise ValueError(f'a list of "channel:id" or "channel:*"; {entry!r} is neither')
            found.append(valid)
        return tuple(found)

    @field_validator("people")
    @classmethod
    def _one_name_for_each_id(cls, value: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        name_of: dict[str, str] = {}
        for name, entries in value.items():
            if not (name.strip() and name.isprintable()):
                raise ValueError("lists of ids under names on one line")
            for written in entries:
                if fault := _explain_unlinkable(entry := _read_entry(written)):
                    raise ValueError(f"{PEOPLE_FORM}; {written!r} in {name} {fault}")
                if (other := name_of.setdefault(entry, name)) != name:
                    raise ValueError(
                        f"{PEOPLE_FORM}; {entry!r} is in {other} and in {name}: remove it from one of them"
                    )
        return {name: tuple(each for each in name_of if name_of[each] == name) for name in value}

    @field_validator("owners")
    @classmethod
    def _named_owners(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for entry in value:
            if entry.endswith(":*") or "/" in entry:
                who = "everybody" if entry.endswith(":*") else "everybody there"
                raise ValueError(f"a list of single people; {entry!r} would make {who} an owner")
        return value


def _read_entry(written: str) -> str:
    """Return `channel:id` with the channel in lower case; "" if it is not of that form."""
    channel, colon, person = written.partition(":")
    valid = channel.isidentifier() and colon and person and person.isprintable() and " " not in person
    return f"{channel.lower()}:{person}" if valid else ""


def _explain_unlinkable(entry: str) -> str:
    """Return why an entry is not the id of one person, "" if it may be."""
    channel, _, person = entry.partition(":")
    if not entry:
        return "is not one"
    if person == "*":
        return "is a whole channel"
    if "/" in person:
        return "is a role or a channel"
    if channel == OWNER_AT_TERMINAL.channel and entry != str(OWNER_AT_TERMINAL):
        return f'is not one: in the terminal you are "{OWNER_AT_TERMINAL}"'
    return ""


class OnErrorSettings(Section):
    """Models to try next for each kind of error, as lists of "provider/model"; after them, the rest of the chain."""

    rate_limit: Texts = ()
    """Rate limit reached."""
    context_length: Texts = ()
    """The conversation is too long for the model."""
    auth: Texts = ()
    """API key missing or rejected."""
    overloaded: Texts = ()
    """The provider is overloaded."""
    timeout: Texts = ()
    """No answer in time."""
    server: Texts = ()
    """Server error."""
    billing: Texts = ()
    """No credit left."""
    network: Texts = ()
    """No connection."""
    not_found: Texts = ()
    """The provider has no such model."""
    refused: Texts = ()
    """The provider refused to answer."""
    empty: Texts = ()
    """The answer was empty."""

    @field_validator("*")
    @classmethod
    def _with_providers(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(with_provider, value))


class ModelParams(Section):
    """Options for one model; add a table for each model that needs any."""

    temperature: float | None = Field(default=None, ge=0, le=2, examples=[0.7])
    """Randomness of the answers, from 0 to 2."""
    max_tokens: int | None = Field(default=None, ge=1, le=100_000_000, examples=[4096])
    """Maximum length of an answer, in tokens."""
    context_window: int | None = Field(default=None, ge=1, le=100_000_000, examples=[128_000])
    """Size of the context window in tokens, if what the provider reports is wrong."""
    reasoning_effort: str | None = Field(default=None, examples=["low"])
    """How much the model reasons before it answers, in the provider's terms, such as "low"."""
    vision: bool | None = Field(default=None, examples=[True])
    """Whether the model accepts pictures, if that is not known; otherwise it is found out by trying."""


class ModelsSettings(Section):
    """Which language models answer, in which order, and how long to wait for them."""

    chain: Texts = ("builtin/notebook",)
    """Models as "provider/model", tried in order; "builtin/notebook" needs no language model.
    Well-known models need no provider: "gpt-4.1", "claude-sonnet-4-5"."""
    max_retries: int = Field(default=2, ge=0, le=100)
    """Retries for each model after a temporary error."""
    retry_delay: float = Field(default=1.0, ge=0, le=3600)
    """Seconds before a retry; a Retry-After from the server takes precedence."""
    timeout: float = Field(default=120.0, gt=0, le=86_400)
    """Seconds to wait for the first words of the answer, reasoning included; also limits the next two."""
    first_token_timeout: float = Field(default=60.0, gt=0, le=86_400)
    """Seconds to wait for any response at all; after that, the next model is tried."""
    idle_timeout: float = Field(default=30.0, gt=0, le=86_400)
    """Seconds without new text before an answer counts as stalled."""
    total_timeout: float = Field(default=600.0, gt=0, le=86_400)
    """Seconds for a whole answer."""
    fallback: bool = True
    """Whether to try the other models when one fails; false to use only the first of chain."""
    adaptive: bool = False
    """Whether to try healthy and fast models first, regardless of their position in chain."""
    on_error: OnErrorSettings = section_field()
    params: dict[str, ModelParams] = Field(default_factory=dict, examples=["openai/gpt-4.1"])

    @field_validator("chain")
    @classmethod
    def _some_model(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not value:
            raise ValueError('a list of at least one "provider/model", such as ["builtin/notebook"]')
        return tuple(map(with_provider, value))

    @field_validator("params")
    @classmethod
    def _params_with_providers(cls, value: dict[str, ModelParams]) -> dict[str, ModelParams]:
        found = {with_provider(name): params for name, params in value.items()}
        if len(found) < len(value):
            raise ValueError("one table for each model, with or without its provider")
        return found


class ProviderSettings(Section):
    """A provider of language models. Add as many as you like, under any names; well-known ones only need a key."""

    kind: ProviderKind = Field(examples=["openai"])
    """API to use; "openai" works with any compatible server. Not needed for well-known names."""
    base_url: str = ""
    """URL of the API (for "openai", including the version, such as /v1); empty for the default."""
    api_key: SecretStr = SecretStr("")
    """API key; if empty, the variable is used, such as OPENAI_API_KEY for [providers.openai]."""
    api_keys: Secrets = ()
    """Several API keys: when one is rejected or reaches its rate limit, the next one is used."""
    model_path: str = ""
    """GGUF file of the model, for kind "llama_cpp"; a relative path starts at the settings file's folder."""

    @field_validator("base_url")
    @classmethod
    def _address(cls, value: str) -> str:
        return check_web_address(value)

    @property
    def keys(self) -> tuple[str, ...]:
        """All API keys without duplicates, in order of use."""
        found = (key.get_secret_value().strip() for key in (self.api_key, *self.api_keys))
        return tuple(dict.fromkeys(filter(None, found)))


class LimitsSettings(Section):
    """Limits for each person, message and day."""

    messages_per_minute: int = Field(default=60, ge=1, le=MAX_COUNT)
    """Messages that a person may send in a minute; owners have no limit."""
    steps_per_turn: int = Field(default=25, ge=1, le=1000)
    """How many times the model may be called for one message; each call can run tools."""
    tokens_per_turn: int = Field(default=0, ge=0, le=1_000_000_000_000)
    """Token limit for one message; 0 for none."""
    daily_tokens: int = Field(default=0, ge=0, le=1_000_000_000_000)
    """Token limit for a day; 0 for none."""


class AttachmentSettings(Section):
    """Files sent with messages: pictures, documents, voice messages."""

    max_megabytes: int = Field(default=20, ge=1, le=2000)
    """Maximum size of a file. Telegram's own servers never give bots more than 20 MB."""
    document_characters: int = Field(default=20_000, ge=500, le=10_000_000)
    """Characters of text taken from the attachments of one message; letters other than a to z count as two or three."""


class SpeechSettings(Section):
    """Transcription of voice messages, by a provider whose API has /audio/transcriptions."""

    provider: str = "auto"
    """A provider's name, or "none"; "auto" is the first with a key: your own providers, then openai, groq, mistral."""
    model: str = ""
    """Transcription model; empty for the provider's default."""
    language: str = ""
    """Spoken language as a code such as "de"; empty to detect it."""

    @field_validator("language")
    @classmethod
    def _code(cls, value: str) -> str:
        if not re.fullmatch(r"([a-z]{2,3})?", value):
            raise ValueError('a language code, such as "de", or empty')
        return value


class BackupSettings(Section):
    """Nightly backups of notes and conversations by the service, in .commonplace/backups."""

    keep: int = Field(default=7, ge=0, le=10_000)
    """Nightly backups to keep; 0 to make none. Backups made by /backup stay until you delete them."""
    at: str = "03:30"
    """Time of the backup, as HH:MM in your time zone."""

    @field_validator("at")
    @classmethod
    def _time_of_day(cls, value: str) -> str:
        if not re.fullmatch(r"([01][0-9]|2[0-3]):[0-5][0-9]", value):
            raise ValueError('a time of day as HH:MM, such as "03:30"')
        return value

    @property
    def time(self) -> time:
        """`at` as a time without a zone."""
        return time.fromisoformat(self.at)


class InstanceSettings(Section):
    """Settings for several instances that share one memory through the server of index.url."""

    name: str = ""
    """Name of this instance; empty for the host name."""
    take_over: Texts = ()
    """Workspaces of other instances, mounted here. If one dies, this instance continues its conversations.
    A relative path starts at the settings file's folder."""

    @field_validator("name")
    @classmethod
    def _one_line(cls, value: str) -> str:
        if not value.isprintable() or value != value.strip() or len(value) > 100:
            raise ValueError("a name on one line, or empty")
        return value

    @field_validator("take_over")
    @classmethod
    def _folders(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not all(each.strip() and each.isprintable() for each in value):
            raise ValueError("a list of folders")
        return value


class FlushSettings(Section):
    """Before a long conversation is compacted, what is worth keeping is saved to the daily log."""

    enabled: bool = True
    """Whether to save anything. Conversations are compacted either way."""
    token_threshold: int = Field(default=6000, ge=1, le=100_000_000)
    """Length in tokens at which a conversation is compacted."""
    idle_minutes: int = Field(default=360, ge=0, le=1_000_000)
    """Minutes of silence after which notes are saved as well; 0 for never."""


class ConversationSearchSettings(Section):
    """Search in past conversations, not only in notes. See docs/memory.md."""

    enabled: bool = True
    """Whether conversations can be searched."""
    vectors: bool = False
    """Whether conversations are also found by meaning. Their text is then sent to the embedding provider."""
    retention_days: int = Field(default=0, ge=0, le=100_000)
    """How many days back conversations are found; 0 for all. Older ones are not deleted."""


class RecallSettings(Section):
    """Before a model answers, your notes are searched; passages that fit go with the message. See docs/memory.md."""

    automatic: bool = True
    """Whether to do this. The model can search by itself either way."""
    max_chars: int = Field(default=1500, ge=300, le=100_000)
    """Maximum length of all passages together, in characters."""
    min_score: float = Field(default=0.65, ge=0, le=1)
    """How well a passage must match, from 0 to 1. Raise it for fewer but surer passages."""
    remote_embedding: bool = False
    """Whether a remote embedding provider may get each message for this; a model on this machine always does."""


class ChangeSettings(Section):
    """Every change to a note is recorded, so that you can see who made it and undo it. See docs/memory.md."""

    keep_days: int = Field(default=90, ge=0, le=100_000)
    """How many days changes are kept, with the lines before and after; 0 keeps them forever."""


class MemorySection(NotesSettings):
    """Your notes."""

    flush: FlushSettings = section_field()
    conversations: ConversationSearchSettings = section_field()
    recall: RecallSettings = section_field()
    changes: ChangeSettings = section_field()


@dataclass(frozen=True, slots=True)
class ReadFrom:
    """Where settings were read from; ignored when settings are compared."""

    file: Path | None = field(default=None, compare=False)
    secrets: Path | None = field(default=None, compare=False)
    """The file of secrets beside it."""
    config: Path | None = field(default=None, compare=False)
    """The arguments of `load_settings`, this and the next."""
    workspace: Path | None = field(default=None, compare=False)


class Settings(Section, BaseSettings):
    """All settings, from the file and the environment. Use `load_settings` to read them."""

    # case_sensitive: our sources already give every name as it is spelt here, whatever the case of a variable.
    model_config = SettingsConfigDict(env_prefix=PREFIX, env_nested_delimiter="__", case_sensitive=True)

    workspace: Annotated[Path, Strict(False)] = Path("workspace")
    """Folder for notes, conversations and everything else. A relative path starts at the settings file's folder."""
    timezone: str = ""
    """IANA name of your time zone, such as "Europe/Berlin"; empty for this machine's.
    Reminders and the days of the daily log follow it."""
    log_level: Literal["debug", "info", "warning", "error", "critical"] = "info"
    """Minimum level of log messages."""
    log_format: Literal["auto", "text", "json"] = "auto"
    """Format of log lines; "auto" is text in a terminal and JSON otherwise."""
    agent: AgentSettings = section_field()
    server: ServerSettings = section_field()
    telegram: TelegramSettings = section_field()
    discord: DiscordSettings = section_field()
    mcp: McpSettings = section_field()
    access: AccessSettings = section_field()
    models: ModelsSettings = section_field()
    providers: dict[str, ProviderSettings] = Field(default_factory=dict, examples=["openai"])
    limits: LimitsSettings = section_field()
    attachments: AttachmentSettings = section_field()
    speech: SpeechSettings = section_field()
    memory: MemorySection = section_field()
    index: IndexSettings = section_field()
    backup: BackupSettings = section_field()
    instance: InstanceSettings = section_field()
    _read_from: ReadFrom = PrivateAttr(default=ReadFrom())
    _sources: SettingSources = PrivateAttr(default=SettingSources())

    @property
    def channels(self) -> "Mapping[str, ChannelSettings]":
        """The sections of all channels but the terminal, by name, configured or not."""
        sections = ((name, getattr(self, name)) for name in type(self).model_fields)
        return {name: section for name, section in sections if isinstance(section, ChannelSettings)}

    @field_validator("workspace", mode="before")
    @classmethod
    def _named_folder(cls, value: object) -> object:
        name = str(value) if isinstance(value, Path) else value
        if isinstance(name, str) and not (name.strip() and name.isprintable()):
            raise ValueError("a folder name")
        return value

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, value: str) -> str:
        if value not in ("", "UTC"):
            _check_zone(value)
        return value

    @field_validator("log_level", mode="before")
    @classmethod
    def _any_case(cls, value: object) -> object:
        return value.lower() if isinstance(value, str) else value

    @field_validator("providers", mode="before")
    @classmethod
    def _kind_by_name(cls, value: object) -> object:
        if not isinstance(value, dict):
            return value
        return {
            name: {"kind": KIND_BY_NAME[name], **table}
            if name in KIND_BY_NAME and isinstance(table, dict)
            else table
            for name, table in value.items()
        }

    @model_validator(mode="after")
    def _people_have_ids_of_their_channel(self) -> Self:
        channels = self.channels
        for key, entry in self.access.entries():
            name, _, person = entry.partition(":")
            channel = channels.get(name)
            if channel and person != "*" and (allowed := channel.explain_invalid_person(person)):
                raise SettingsConflict(key, f"{allowed}; {entry!r} is not one")
            if channel and key == "access.people" and channel.is_group(person):
                raise SettingsConflict(key, f"{PEOPLE_FORM}; {entry!r} is a group")
        return self

    @model_validator(mode="after")
    def _no_mcp_token_signs_in_to_the_page(self) -> Self:
        for name, each in self.mcp.tokens.items():
            if each.token.get_secret_value() == self.server.token.get_secret_value().strip():
                raise SettingsConflict(f"mcp.tokens.{name}.token", "a token other than server.token")
        return self

    @model_validator(mode="after")
    def _channels_have_the_server_they_need(self) -> Self:
        if not self.server.enabled:
            for channel in self.channels.values():
                if conflict := channel.conflict_without_server():
                    raise conflict
        return self

    @model_validator(mode="after")
    def _providers_make_sense(self) -> Self:
        for name, provider in self.providers.items():
            if not name.isascii() or not name.replace("-", "").replace("_", "").isalnum():
                raise SettingsConflict(
                    "providers", f"tables named with letters, digits, - and _ only; {name!r} is not"
                )
            if name == BUILTIN_PROVIDER and provider.kind != "builtin":
                raise SettingsConflict(
                    f"providers.{name}.kind", '"builtin"; use another name for another provider'
                )
        return self

    @model_validator(mode="after")
    def _models_are_known(self) -> Self:
        on_error = {f"models.on_error.{key}": models for key, models in self.models.on_error}
        for key, models in {"models.chain": self.models.chain, **on_error}.items():
            for model in models:
                self._check_model(key, model)
        for model in self.models.params:
            self._check_model("models.params", model)
        return self

    @model_validator(mode="after")
    def _speech_is_known(self) -> Self:
        name = self.speech.provider
        if name in ("auto", "none"):
            return self
        known = {name: each.kind for name, each in KNOWN_PROVIDERS.items()}
        known |= {name: table.kind for name, table in self.providers.items()}
        if known.get(name) != "openai":
            able = ", ".join(name for name, kind in known.items() if kind == "openai")
            raise SettingsConflict(
                "speech.provider", f'"auto", "none" or a provider of kind "openai" ({able}), not {name!r}'
            )
        return self

    def _check_model(self, key: str, model: str) -> None:
        provider, slash, name = model.partition("/")
        if model.strip() and not slash:
            own = [each for each in self.providers if each not in KNOWN_PROVIDERS]
            ways = ways_to_write(shorten(printable(model)), own)
            raise SettingsConflict(key, f'"provider/model"; instead of {model!r}, write {ways}')
        if not (provider and slash and name and name.isprintable() and name == name.strip()):
            raise SettingsConflict(key, f'"provider/model"; {model!r} is not')
        known = {name: each.kind for name, each in KNOWN_PROVIDERS.items()}
        known |= {name: table.kind for name, table in self.providers.items()}
        if provider not in known:
            raise SettingsConflict(key, f"a model of a known provider ({', '.join(known)}); {model!r} is not")
        if known[provider] == "builtin" and name != BUILTIN_MODEL:
            raise SettingsConflict(
                key, f"{provider}/{BUILTIN_MODEL}, the provider's only model, not {model!r}"
            )
        if known[provider] == "llama_cpp" and not self._has_file(provider):
            raise SettingsConflict(
                key, f"a model with a file: set model_path under [providers.{provider}] for {model!r}"
            )

    def _has_file(self, provider: str) -> bool:
        return provider in self.providers and bool(self.providers[provider].model_path.strip())

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Use only the constructor's arguments: files and variables are read by `load_settings`."""
        return (init_settings,)

    @property
    def file(self) -> Path | None:
        """The settings file; None if there is none."""
        return self._read_from.file

    @property
    def secrets_file(self) -> Path | None:
        """The file of secrets beside the settings file; None if there is none."""
        return self._read_from.secrets

    @property
    def workspace_option(self) -> Path | None:
        """The workspace that the command line names; None if it names none."""
        return self._read_from.workspace

    @property
    def sources(self) -> SettingSources:
        """Which file or variable sets each key."""
        return self._sources

    @property
    def memory_folder(self) -> Path:
        """The folder of the notes."""
        return self.workspace / self.memory.path

    @property
    def note_folders(self) -> "NoteFolders":
        """All folders of notes: our own, and those under `[[memory.folders]]`."""
        from memory.note_folders import NoteFolder, NoteFolders

        return NoteFolders(NoteFolder(self.memory_folder), tuple(map(NoteFolder.of, self.memory.folders)))

    @property
    def private_folder(self) -> Path:
        """The folder of the index, the conversations and our other files."""
        return self.workspace / PRIVATE_FOLDER

    @property
    def zone(self) -> "ZoneInfo":
        """The owner's time zone; this machine's if none is set."""
        from zoneinfo import ZoneInfo

        return ZoneInfo(self.timezone or system_zone().name)

    def now(self) -> datetime:
        """Return the current time in the owner's time zone; aware."""
        return datetime.now(self.zone)


def config_file(config: Path | None = None) -> Path | None:
    """Return the absolute path of the file to read: `config`, $COMMONPLACE_CONFIG, or ./config.toml if it exists.

    Raises `ConfigError`.
    """
    if config is None and (named := os.environ.get("COMMONPLACE_CONFIG")):
        config = Path(named)
    if config is None:
        default = _working_folder() / "config.toml"
        return default if os.path.lexists(default) else None
    config = expand_home(config, "the settings file")
    return config if config.is_absolute() else _working_folder() / config


def find_secrets_file(file: Path | None) -> Path | None:
    """Return `secrets.toml` beside the settings file; None if there is none."""
    beside = file.with_name(SECRETS_NAME) if file else None
    return beside if beside and beside != file and os.path.lexists(beside) else None


def default_workspace() -> Path:
    """Return the workspace for when no file, variable or option names one.

    It is `./workspace` if that exists, else `commonplace` in the user's data folder.
    """
    here = _working_folder() / "workspace"
    with suppress(OSError):  # a folder that we cannot read holds no workspace of ours
        if here.is_dir() or here.is_symlink():
            return here
    return data_folder()


def data_folder() -> Path:
    """Return `commonplace` in the user's data folder: $XDG_DATA_HOME, else ~/.local/share."""
    named = Path(os.environ.get("XDG_DATA_HOME", ""))
    base = (
        named if named.is_absolute() else Path("~/.local/share")
    )  # the XDG specification ignores relative paths
    return expand_home(base, "the data folder") / "commonplace"


def load_settings(config: Path | None = None, workspace: Path | None = None) -> Settings:
    """Read the settings. Raises `ConfigError` with a line for the user if they cannot be used.

    The environment wins over the files, and `workspace` (relative to the working folder) over both.
    """
    return _load(config_file(config), config, workspace)


def load_workspace_settings(config: Path | None = None, workspace: Path | None = None) -> Settings:
    """Read the settings for a command that other programs start in folders of theirs. Raises `ConfigError`.

    `config.toml` of such a folder is not ours. Without `config` and $COMMONPLACE_CONFIG, the file is the workspace's
    own: `config.toml` in it or beside it, if that names it as its workspace.
    """
    if config or os.environ.get("COMMONPLACE_CONFIG"):
        return load_settings(config, workspace)
    named = workspace or os.environ.get(f"{PREFIX}WORKSPACE")
    folder = _working_folder() / expand_home(Path(named), "workspace") if named else default_workspace()
    file = _file_of_workspace(folder)
    return _load(file, file, workspace)


def _file_of_workspace(folder: Path) -> Path | None:
    files = (folder / "config.toml", folder.parent / "config.toml")
    return next((file for file in files if file.is_file() and _names_workspace(file, folder)), None)


def _names_workspace(file: Path, folder: Path) -> bool:
    """Return whether the file is the settings file of the workspace `folder`.

    It may name it by leaving the key out, but so does the `config.toml` of any other program: then there must already
    be something of ours in the folder, which also decides about a file that cannot be read.
    """
    is_ours = (folder / PRIVATE_FOLDER).is_dir()
    try:
        table = read_toml(file)
    except ConfigError:
        return is_ours
    named = table.get("workspace", str(Settings.model_fields["workspace"].default) if is_ours else "")
    if not (isinstance(named, str) and named.strip()):
        return False
    try:
        return (file.parent / expand_home(Path(named), "workspace")).samefile(folder)
    except (OSError, ValueError, ConfigError):  # it is of another workspace, which may be gone
        return False


def _load(file: Path | None, config: Path | None, workspace: Path | None) -> Settings:
    """Read this file and the environment; `config` and `workspace` are the arguments of `load_settings`."""
    secrets = find_secrets_file(file)
    return resolve_settings(_read(file, secrets), ReadFrom(file, secrets, config, workspace))


def resolve_settings(settings: Settings, origin: ReadFrom) -> Settings:
    """Return the settings with absolute paths, and with tokens that variables without our prefix hold.

    Raises `ConfigError`.
    """
    file, workspace = origin.file, origin.workspace
    folder = expand_home(settings.workspace if workspace is None else workspace, "workspace")
    if not (workspace or file or "workspace" in settings.model_fields_set):
        folder = default_workspace()
    if not folder.is_absolute():
        folder = _base_folder(file if workspace is None else None) / folder
    providers = {
        name: table.model_copy(update={"model_path": _resolve_from_file(file, table.model_path)})
        for name, table in settings.providers.items()
    }
    channels = {name: _with_token(section) for name, section in settings.channels.items()}
    others = tuple(
        _resolve_from_file(file, each, "instance.take_over") for each in settings.instance.take_over
    )
    loaded = settings.model_copy(
        update={
            "workspace": folder,
            "providers": providers,
            **channels,
            "instance": settings.instance.model_copy(update={"take_over": others}),
            "memory": settings.memory.model_copy(
                update={
                    "folders": tuple(
                        each.model_copy(
                            update={
                                "path": _resolve_from_file(file, each.path, f"memory.folders[{number}].path")
                            }
                        )
                        for number, each in enumerate(settings.memory.folders)
                    )
                }
            ),
        }
    )
    if loaded.memory.folders:
        _check_folders(loaded)
    loaded._read_from = origin
    return loaded


def _check_folders(settings: Settings) -> None:
    """Raise `ConfigError` if the other folders of notes overlap our own or each other, or a name is taken."""
    from memory.folder_checks import find_conflict

    if fault := find_conflict(settings.note_folders, private=settings.private_folder):
        raise ConfigError(f"memory.folders cannot be used: {printable(fault)}")


def _with_token(section: ChannelSettings) -> ChannelSettings:
    """Return the section with the token from the environment if it has none of its own.

    The token is not checked here: it may be another program's, and most commands do not need it.
    """
    if section.token:
        return section
    token = SecretStr(os.environ.get(section.variable, "").strip())
    return section.model_copy(update={"token": token})


def _read(file: Path | None, secrets: Path | None) -> Settings:
    """Read all sources: the environment wins over secret files, then come secrets.toml and the settings file."""
    tables = {each: read_toml(each) for each in (secrets, file) if each}
    return check_tables(tables)


def check_tables(
    tables: Mapping[Path, Mapping[str, Any]], *, first: Mapping[str, Any] | None = None
) -> Settings:
    """Return the settings of these contents of files, the first of which wins, and of the environment.

    `first`: values that win over both, and that an error is about. Paths are not resolved. Raises `ConfigError`.
    """
    contents = merge_tables(tables.values())
    sources: list[EnvironmentSource] = [EnvironmentSource(Settings, contents)]
    try:
        if folder := secrets_folder():
            sources.append(SecretFilesSource(Settings, contents, folder))
        given = InitSettingsSource(Settings, dict(first or {}))
        settings = Settings(_build_sources=((given, *sources, InitSettingsSource(Settings, contents)), {}))
    except (SettingsError, OSError) as error:
        raise ConfigError(f"{FOLDER_VARIABLE} cannot be used: {printable(str(error))}") from None
    except ValidationError as error:
        origins = {keys: name for each in reversed(sources) for keys, (name, _) in each.found.items()}
        origin = Origin({}, {}) if first else Origin(tables, origins)
        raise ConfigError(explain(Settings, error, origin)) from None
    settings._sources = collect_sources((each.found for each in sources), tables)
    return settings


def read_again(settings: Settings) -> Settings:
    """Read the same file and environment again. Raises `ConfigError` as `load_settings` does.

    A missing file is an error even if it was optional: an editor may be about to replace it.
    """
    fresh = load_settings(settings._read_from.config, settings._read_from.workspace)
    if settings.file and not fresh.file:
        raise ConfigError(f"the settings file {printable(str(settings.file))} is gone")
    if settings.secrets_file and not fresh.secrets_file:
        raise ConfigError(f"the file of secrets {printable(str(settings.secrets_file))} is gone")
    return fresh


def _resolve_from_file(file: Path | None, path: str, what: str = "model_path") -> str:
    """Return a path relative to the settings file's folder as an absolute one; "" for none."""
    if not path.strip():
        return ""
    expanded = expand_home(Path(path.strip()), what)
    return str(_base_folder(file) / expanded)


def _base_folder(file: Path | None) -> Path:
    """Return the folder where relative paths start: the file's, unless it is a pipe."""
    if file is None or (file.exists() and not file.is_file()):
        return _working_folder()
    return file.parent


def expand_home(path: Path, what: str) -> Path:
    """Return the path with the home folder for `~`; `what` names it in the error. Raises `ConfigError`."""
    try:
        if os.environ.get("HOME") == "" and path.parts[:1] == ("~",):  # `~` would be the root folder
            from pwd import getpwuid

            return Path(getpwuid(os.getuid()).pw_dir, *path.parts[1:])
        return path.expanduser()
    except RuntimeError:
        raise ConfigError(
            f"{what} = {format_value(path)} is invalid: that home folder does not exist"
        ) from None


def _working_folder() -> Path:
    try:
        return Path.cwd()
    except OSError:
        raise ConfigError("the folder where you are no longer exists; change to another one") from None


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address or host name."""
    if host.lower() in {"127.0.0.1", "::1", "localhost"}:
        return True
    from ipaddress import ip_address

    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _check_zone(name: str) -> None:
    """Raise ValueError, with a suggestion, if `name` is not a time zone."""
    from zoneinfo import ZoneInfo, available_timezones

    try:
        ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        from difflib import get_close_matches

        zones = {zone.lower(): zone for zone in available_timezones()}
        near = get_close_matches(name.lower(), zones, n=1)
        hint = f'; did you mean "{zones[near[0]]}"?' if near else ', such as "Europe/Berlin"'
        raise ValueError(f"the IANA name of a time zone{hint}") from None
