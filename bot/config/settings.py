"""All settings: one frozen section per part; each part is handed its own section and nothing else."""

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field, PrivateAttr, SecretStr, Strict, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, SettingsError

from bot.config.channel import ChannelSettings
from bot.config.discord import DiscordSettings
from bot.config.errors import PREFIX, ConfigError, Origin, explain, printable, shorten
from bot.config.loaders import EnvironmentSource, SecretFilesSource, TomlSource
from bot.config.secret_files import FOLDER_VARIABLE, secrets_folder
from bot.config.system_zone import system_zone
from bot.config.telegram import TelegramSettings
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

__all__ = ["ConfigError", "Settings", "config_file", "load_settings", "read_again"]

BUILTIN_PROVIDER = "builtin"
BUILTIN_MODEL = "notebook"
PRIVATE_FOLDER = ".commonplace"

Secrets = Annotated[tuple[SecretStr, ...], Strict(False)]


class AgentSettings(Section):
    """The assistant itself."""

    name: str = "Commonplace"
    """What the assistant is called."""
    instructions: str = ""
    """Your own words to the model: manner, language, rules."""

    @field_validator("name")
    @classmethod
    def _one_line(cls, value: str) -> str:
        if not value.strip() or not value.isprintable():
            raise ValueError("a name on one line")
        return value


class ServerSettings(Section):
    """The HTTP server, for health checks and programs."""

    enabled: bool = True
    """Whether there is an HTTP server at all."""
    host: str = "127.0.0.1"
    """Address to listen on. Anything but this machine alone (127.0.0.1, ::1, localhost) needs a token."""
    port: int = Field(default=8321, ge=0, le=65_535)
    """Port to listen on; 0 takes any that is free."""
    token: SecretStr = SecretStr("")
    """Secret that programs send as "Authorization: Bearer ..."."""
    trusted_proxies: Texts = ()
    """Proxies in front whose X-Forwarded-For is believed, such as ["127.0.0.1", "172.16.0.0/12"]:
    then who guesses the token waits alone."""

    @field_validator("trusted_proxies")
    @classmethod
    def _networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        from ipaddress import ip_network

        for entry in value:
            try:
                ip_network(entry, strict=False)
            except ValueError:
                raise ValueError(
                    f'a list of addresses or networks, such as "127.0.0.1" or "172.16.0.0/12", which {entry!r} is not'
                ) from None
        return value

    @property
    def proxies(self) -> "tuple[IPv4Network | IPv6Network, ...]":
        """The networks of `trusted_proxies`."""
        from ipaddress import ip_network

        return tuple(ip_network(entry, strict=False) for entry in self.trusted_proxies)

    @field_validator("host")
    @classmethod
    def _host(cls, value: str) -> str:
        if not value or not value.isprintable() or any(character in value for character in " /@"):
            raise ValueError('an address or a name of this machine, such as "127.0.0.1"')
        return value

    @model_validator(mode="after")
    def _others_need_a_token(self) -> Self:
        if self.enabled and not self.token.get_secret_value().strip() and not is_loopback(self.host):
            raise SettingsConflict("host", "127.0.0.1, ::1 or localhost as long as server.token is empty")
        return self


class AccessSettings(Section):
    """Who may talk, on channels that others reach; in the terminal you are the owner. Commands add to this."""

    owners: Texts = ()
    """Who may administer, such as ["telegram:123456", "discord:9876"]."""
    allow: Texts = ()
    """Who may talk, with the memory; "telegram:*" opens a channel to everybody.
    "discord:SERVER/@ROLE" lets a role in, "discord:SERVER/#CHANNEL" all of a channel."""
    guests: Texts = ()
    """Who may talk, without the memory."""
    pairing: bool = True
    """Whether somebody unknown gets a code that an owner can approve."""

    @field_validator("owners", "allow", "guests")
    @classmethod
    def _people(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        people = []
        for entry in value:
            written, colon, person = entry.partition(":")
            channel = written.lower()
            if not (
                channel.isidentifier() and colon and person and person.isprintable() and " " not in person
            ):
                raise ValueError(f'a list of "channel:id" or "channel:*", which {entry!r} is not')
            people.append(f"{channel}:{person}")
        return tuple(people)

    @field_validator("owners")
    @classmethod
    def _named_owners(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for entry in value:
            if entry.endswith(":*") or "/" in entry:
                who = "everybody" if entry.endswith(":*") else "whoever is there"
                raise ValueError(f"a list of people by name; {entry!r} would let {who} administer")
        return value


class OnErrorSettings(Section):
    """Where to go next when a model fails, by class of error: lists of "provider/model", before the chain goes on."""

    rate_limit: Texts = ()
    """Too many requests."""
    context_length: Texts = ()
    """The conversation is too long for the model."""
    auth: Texts = ()
    """The key is wrong or not allowed to use the model."""
    overloaded: Texts = ()
    """The provider is too busy."""
    timeout: Texts = ()
    """No answer in time."""
    server: Texts = ()
    """The provider broke."""
    billing: Texts = ()
    """The account has no credit left."""
    network: Texts = ()
    """No connection."""
    not_found: Texts = ()
    """The provider has no such model."""
    refused: Texts = ()
    """The provider will not answer this."""
    empty: Texts = ()
    """The answer was empty."""

    @field_validator("*")
    @classmethod
    def _with_providers(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(with_provider, value))


class ModelParams(Section):
    """How one model is asked; any number of tables, each named for its model."""

    temperature: float | None = Field(default=None, ge=0, le=2, examples=[0.7])
    """How freely the model chooses its words, from 0 to 2."""
    max_tokens: int | None = Field(default=None, ge=1, le=100_000_000, examples=[4096])
    """The longest answer, in tokens."""
    context_window: int | None = Field(default=None, ge=1, le=100_000_000, examples=[128_000])
    """How many tokens the model takes in, where the provider's word is not to be taken for it."""
    reasoning_effort: str | None = Field(default=None, examples=["low"])
    """How long the model thinks, in the provider's own word, such as "low"."""
    vision: bool | None = Field(default=None, examples=[True])
    """Whether the model sees pictures, where that is not known of it; else it is tried."""


class ModelsSettings(Section):
    """Which language models answer, in which order, and how long one is waited for."""

    chain: Texts = ("builtin/notebook",)
    """Models as "provider/model", tried in order; builtin/notebook needs no model at all.
    A well-known one needs no provider: "gpt-4.1", "claude-sonnet-4-5"."""
    max_retries: int = Field(default=2, ge=0, le=100)
    """How often one model is asked again after an error that may pass."""
    retry_delay: float = Field(default=1.0, ge=0, le=3600)
    """Seconds before it is asked again; where the server says how long, that counts."""
    timeout: float = Field(default=120.0, gt=0, le=86_400)
    """Seconds until a model has begun its answer, after all its thinking; none of the next two can be longer."""
    first_token_timeout: float = Field(default=60.0, gt=0, le=86_400)
    """Seconds until anything comes from it at all; then the next model is asked."""
    idle_timeout: float = Field(default=30.0, gt=0, le=86_400)
    """Seconds of silence in the middle of an answer."""
    total_timeout: float = Field(default=600.0, gt=0, le=86_400)
    """Seconds for a whole answer, however steadily it is written."""
    fallback: bool = True
    """Whether others are asked when one fails; false: the first of chain alone."""
    adaptive: bool = False
    """Whether healthy and fast models are tried first, whatever their place in the chain."""
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
    """A provider of language models; any number, any names. Well-known ones need no table but for a key."""

    kind: ProviderKind = Field(examples=["openai"])
    """Its protocol; "openai" fits any compatible server. A well-known name says it already."""
    base_url: str = ""
    """Address of the server, for "openai" with its version; empty for the usual one."""
    api_key: SecretStr = SecretStr("")
    """Key for the provider; without one, that of the environment, such as OPENAI_API_KEY for [providers.openai]."""
    api_keys: Secrets = ()
    """Several keys: the next one is used when a key is refused or has reached its limit."""
    model_path: str = ""
    """The model's GGUF file, for kind "llama_cpp"; a relative one is relative to the settings file's folder."""

    @field_validator("base_url")
    @classmethod
    def _address(cls, value: str) -> str:
        return check_web_address(value)

    @property
    def keys(self) -> tuple[str, ...]:
        """Every key that is set, each once, in the order in which they are used."""
        found = (key.get_secret_value().strip() for key in (self.api_key, *self.api_keys))
        return tuple(dict.fromkeys(filter(None, found)))


class LimitsSettings(Section):
    """What one person, one turn and one day may cost."""

    messages_per_minute: int = Field(default=60, ge=1, le=MAX_COUNT)
    """Messages that one person may send in a minute; owners may send more."""
    steps_per_turn: int = Field(default=25, ge=1, le=1000)
    """How often the model may be asked, and run tools, for one message."""
    tokens_per_turn: int = Field(default=0, ge=0, le=1_000_000_000_000)
    """Tokens that one message may cost; 0 for no limit."""
    daily_tokens: int = Field(default=0, ge=0, le=1_000_000_000_000)
    """Tokens that may be used in a day; 0 for no limit."""


class AttachmentSettings(Section):
    """What comes along with messages: pictures, documents, voice."""

    max_megabytes: int = Field(default=20, ge=1, le=2000)
    """The largest file that is fetched. Telegram's own server gives bots no more than 20."""
    document_characters: int = Field(default=20_000, ge=500, le=10_000_000)
    """How much text of documents or of a voice one message brings in; letters beyond a to z count for two or three."""


class SpeechSettings(Section):
    """Who writes voice messages down: a provider of language models that has /audio/transcriptions."""

    provider: str = "auto"
    """A provider's name, or "none"; "auto" is the first with a key of your providers, openai, groq and mistral."""
    model: str = ""
    """The provider's model; empty for its usual one."""
    language: str = ""
    """The language that is spoken, in two letters, such as "de"; empty lets the provider find out."""

    @field_validator("language")
    @classmethod
    def _code(cls, value: str) -> str:
        if not re.fullmatch(r"([a-z]{2,3})?", value):
            raise ValueError('a language in two letters, such as "de", or nothing')
        return value


class BackupSettings(Section):
    """Backups of notes and conversations that the service makes by itself, in .commonplace/backups."""

    keep: int = Field(default=7, ge=0, le=10_000)
    """How many backups of nights are kept; 0: none are made. What /backup has made stays until you remove it."""
    at: str = "03:30"
    """When, as HH:MM in your time zone."""

    @field_validator("at")
    @classmethod
    def _time_of_day(cls, value: str) -> str:
        if not re.fullmatch(r"([01][0-9]|2[0-3]):[0-5][0-9]", value):
            raise ValueError('a time of the day as HH:MM, such as "03:30"')
        return value

    @property
    def time(self) -> time:
        """`at`, as a time without a zone."""
        return time.fromisoformat(self.at)


class InstanceSettings(Section):
    """One of several instances of the service that share a memory; index.url names what they share."""

    name: str = ""
    """What the others call this one; empty for the name of its machine."""
    take_over: Texts = ()
    """Folders: workspaces of others, mounted here. When one of them dies, its conversations go on here.
    A relative one is relative to the settings file's folder."""

    @field_validator("name")
    @classmethod
    def _one_line(cls, value: str) -> str:
        if not value.isprintable() or value != value.strip() or len(value) > 100:
            raise ValueError("a name on one line, or nothing")
        return value

    @field_validator("take_over")
    @classmethod
    def _folders(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not all(each.strip() and each.isprintable() for each in value):
            raise ValueError("a list of folders")
        return value


class FlushSettings(Section):
    """Before a conversation is shortened, what is worth keeping goes into the daily log."""

    enabled: bool = True
    """Whether this is done. Conversations are shortened all the same."""
    token_threshold: int = Field(default=6000, ge=1, le=100_000_000)
    """Length of a conversation, in tokens, from which it is shortened."""
    idle_minutes: int = Field(default=360, ge=0, le=1_000_000)
    """Minutes without a word after which it is done as well; 0 for never."""


class MemorySection(NotesSettings):
    """Your notes."""

    flush: FlushSettings = section_field()


@dataclass(frozen=True, slots=True)
class ReadFrom:
    """Where settings come from, which makes no two of them different."""

    file: Path | None = field(default=None, compare=False)
    config: Path | None = field(default=None, compare=False)
    """As `load_settings` was given it, and the next."""
    workspace: Path | None = field(default=None, compare=False)


class Settings(Section, BaseSettings):
    """Every setting, from the file and the environment; `load_settings` is the way to get one."""

    # case_sensitive: the sources spell every name as it is here, whatever the case of a variable's letters.
    model_config = SettingsConfigDict(env_prefix=PREFIX, env_nested_delimiter="__", case_sensitive=True)

    workspace: Annotated[Path, Strict(False)] = Path("workspace")
    """Folder that holds everything. A relative one is relative to the settings file's folder."""
    timezone: str = ""
    """Your time zone by its IANA name, such as "Europe/Berlin"; empty for this machine's.
    It decides which day a daily log is and when reminders come."""
    log_level: Literal["debug", "info", "warning", "error", "critical"] = "info"
    """How much is logged."""
    log_format: Literal["auto", "text", "json"] = "auto"
    """Whether log lines are text or JSON; "auto" is text in a terminal, and JSON where a program reads them."""
    agent: AgentSettings = section_field()
    server: ServerSettings = section_field()
    telegram: TelegramSettings = section_field()
    discord: DiscordSettings = section_field()
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

    @property
    def channels(self) -> "Mapping[str, ChannelSettings]":
        """The sections of all channels that others reach, by name, with a token or without."""
        sections = ((name, getattr(self, name)) for name in type(self).model_fields)
        return {
            name: section_field
            for name, section_field in sections
            if isinstance(section_field, ChannelSettings)
        }

    @field_validator("workspace", mode="before")
    @classmethod
    def _named_folder(cls, value: object) -> object:
        name = str(value) if isinstance(value, Path) else value
        if isinstance(name, str) and not (name.strip() and name.isprintable()):
            raise ValueError("the name of a folder")
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
        access = self.access
        for key, entries in (("owners", access.owners), ("allow", access.allow), ("guests", access.guests)):
            for entry in entries:
                channel, _, person = entry.partition(":")
                section_field = self.channels.get(channel)
                if section_field and person != "*" and (allowed := section_field.person_fault(person)):
                    raise SettingsConflict(f"access.{key}", f"{allowed}; {entry!r} is none of these")
        return self

    @model_validator(mode="after")
    def _webhooks_are_served(self) -> Self:
        if self.telegram.mode == "webhook" and not self.server.enabled:
            raise SettingsConflict("telegram.mode", '"polling" as long as server.enabled is false')
        return self

    @model_validator(mode="after")
    def _providers_make_sense(self) -> Self:
        for name, provider in self.providers.items():
            if not name.isascii() or not name.replace("-", "").replace("_", "").isalnum():
                raise SettingsConflict(
                    "providers", f"tables named with letters, digits, - and _, which {name!r} is not"
                )
            if name == BUILTIN_PROVIDER and provider.kind != "builtin":
                raise SettingsConflict(
                    f"providers.{name}.kind", '"builtin"; give another provider another name'
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
            raise SettingsConflict(key, f'"provider/model", which {model!r} is not: write {ways}')
        if not (provider and slash and name and name.isprintable() and name == name.strip()):
            raise SettingsConflict(key, f'"provider/model", which {model!r} is not')
        known = {name: each.kind for name, each in KNOWN_PROVIDERS.items()}
        known |= {name: table.kind for name, table in self.providers.items()}
        if provider not in known:
            raise SettingsConflict(key, f"of a known provider ({', '.join(known)}), which {model!r} is not")
        if known[provider] == "builtin" and name != BUILTIN_MODEL:
            raise SettingsConflict(
                key, f"{provider}/{BUILTIN_MODEL}, the one model of that provider, not {model!r}"
            )
        if known[provider] == "llama_cpp" and not self._has_file(provider):
            raise SettingsConflict(
                key, f"of a provider with a model_path; set it under [providers.{provider}] for {model!r}"
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
        """Take what the constructor is given and nothing else: `load_settings` alone reads files and variables."""
        return (init_settings,)

    @property
    def file(self) -> Path | None:
        """The file that they were read from; None where all of them are defaults or of the environment."""
        return self._read_from.file

    @property
    def memory_folder(self) -> Path:
        """Where the notes are."""
        return self.workspace / self.memory.path

    @property
    def private_folder(self) -> Path:
        """Where the index, the conversations and other files of ours are."""
        return self.workspace / PRIVATE_FOLDER

    @property
    def zone(self) -> "ZoneInfo":
        """The owner's time zone: the one that is set, else this machine's."""
        from zoneinfo import ZoneInfo

        return ZoneInfo(self.timezone or system_zone().name)

    def now(self) -> datetime:
        """The time on the owner's clock; aware."""
        return datetime.now(self.zone)


def config_file(config: Path | None = None) -> Path | None:
    """The file to read, absolute: `config`, else $COMMONPLACE_CONFIG, else ./config.toml where it exists."""
    if config is None and (named := os.environ.get("COMMONPLACE_CONFIG")):
        config = Path(named)
    if config is None:
        default = _working_folder() / "config.toml"
        return default if os.path.lexists(default) else None
    config = _expand(config, "the settings file")
    return config if config.is_absolute() else _working_folder() / config


def default_workspace() -> Path:
    """Return the workspace to use without a settings file and without one named in a variable or option.

    It is `./workspace` where that is there already, else `commonplace` in the user's data folder.
    """
    here = _working_folder() / "workspace"
    with suppress(OSError):  # a folder that we may not look into holds no workspace of ours
        if here.is_dir() or here.is_symlink():
            return here
    return data_folder()


def data_folder() -> Path:
    """Return `commonplace` in the user's data folder: $XDG_DATA_HOME, else ~/.local/share."""
    named = Path(os.environ.get("XDG_DATA_HOME", ""))
    base = named if named.is_absolute() else Path("~/.local/share")  # XDG has relative ones ignored
    return _expand(base, "the data folder") / "commonplace"


def load_settings(config: Path | None = None, workspace: Path | None = None) -> Settings:
    """Read the settings; raise `ConfigError`, fit to be shown as it is, where they cannot be used.

    The environment wins over the file, `workspace` (relative to the working folder) over both.
    """
    file = config_file(config)
    settings = _read(file)
    folder = _expand(settings.workspace if workspace is None else workspace, "workspace")
    if not (workspace or file or "workspace" in settings.model_fields_set):
        folder = default_workspace()
    if not folder.is_absolute():
        beside_file = workspace is None and file and file.is_file()
        folder = (file.parent if file and beside_file else _working_folder()) / folder
    providers = {
        name: table.model_copy(update={"model_path": _resolve_from_file(file, table.model_path)})
        for name, table in settings.providers.items()
    }
    channels = {name: _with_token(section_field) for name, section_field in settings.channels.items()}
    others = tuple(
        _resolve_from_file(file, each, "instance.take_over") for each in settings.instance.take_over
    )
    loaded = settings.model_copy(
        update={
            "workspace": folder,
            "providers": providers,
            **channels,
            "instance": settings.instance.model_copy(update={"take_over": others}),
        }
    )
    loaded._read_from = ReadFrom(file, config, workspace)
    return loaded


def _with_token(section_field: ChannelSettings) -> ChannelSettings:
    """Take the token of the environment where the section has none.

    It is not checked here: it may be meant for another program, and most commands have no use for it.
    """
    if section_field.token:
        return section_field
    token = SecretStr(os.environ.get(section_field.variable, "").strip())
    return section_field.model_copy(update={"token": token})


def _read(file: Path | None) -> Settings:
    """Read the sources as they are: the environment wins over secret files, these over the settings file."""
    table = TomlSource(Settings, file)
    sources: list[EnvironmentSource] = [EnvironmentSource(Settings, table.toml_data)]
    try:
        if folder := secrets_folder():
            sources.append(SecretFilesSource(Settings, table.toml_data, folder))
        return Settings(_build_sources=((*sources, table), {}))
    except (SettingsError, OSError) as error:
        raise ConfigError(f"{FOLDER_VARIABLE} cannot be used: {printable(str(error))}") from None
    except ValidationError as error:
        origins = {keys: name for source in reversed(sources) for keys, name in source.origins.items()}
        raise ConfigError(explain(Settings, error, Origin(file, table.toml_data, origins))) from None


def read_again(settings: Settings) -> Settings:
    """What the same file and environment say by now; raise `ConfigError` as `load_settings` does.

    A file that has gone is an error, wherever it was found: an editor may be about to put another in its place.
    """
    fresh = load_settings(settings._read_from.config, settings._read_from.workspace)
    if settings.file and not fresh.file:
        raise ConfigError(f"there is no settings file {printable(str(settings.file))} any more")
    return fresh


def _resolve_from_file(file: Path | None, path: str, what: str = "model_path") -> str:
    """A file's path as the settings have it, from the folder of the settings; "" for none."""
    if not path.strip():
        return ""
    expanded = _expand(Path(path.strip()), what)
    return str((file.parent if file and file.is_file() else _working_folder()) / expanded)


def _expand(path: Path, what: str) -> Path:
    try:
        if os.environ.get("HOME") == "" and path.parts[:1] == ("~",):  # `~` would be the root folder
            from pwd import getpwuid

            return Path(getpwuid(os.getuid()).pw_dir, *path.parts[1:])
        return path.expanduser()
    except RuntimeError:
        raise ConfigError(f"{what} is {str(path)!r}, and there is no such home folder") from None


def _working_folder() -> Path:
    try:
        return Path.cwd()
    except OSError:
        raise ConfigError("the folder where you are no longer exists; change to another one") from None


def is_loopback(host: str) -> bool:
    """Whether an address or name is one that only this machine itself reaches."""
    if host.lower() in {"127.0.0.1", "::1", "localhost"}:
        return True
    from ipaddress import ip_address

    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _check_zone(name: str) -> None:
    """Raise ValueError, with the nearest name that there is, unless `name` is a time zone."""
    from zoneinfo import ZoneInfo, available_timezones

    try:
        ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        from difflib import get_close_matches

        zones = {zone.lower(): zone for zone in available_timezones()}
        near = get_close_matches(name.lower(), zones, n=1)
        hint = f'the nearest is "{zones[near[0]]}"' if near else 'such as "Europe/Berlin"'
        raise ValueError(f"a time zone by its IANA name; {hint}") from None
