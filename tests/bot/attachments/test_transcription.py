"""Speech becomes words over a real socket, whatever the service does."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest

from bot.attachments.audio_format import MAX_BYTES, detect_format
from bot.attachments.open_transcriber import open_transcriber
from bot.attachments.transcription import Transcriber
from bot.attachments.transcription_providers import (
    TRANSCRIPTION_MODELS,
    TranscriptionProvider,
    missing_key,
    resolve_transcription_provider,
)
from bot.config.settings import ConfigError, Settings, load_settings
from bot.models.connection_pool import ConnectionPool
from bot.models.errors import (
    BadKey,
    BadRequest,
    ContextTooLong,
    CutOff,
    EmptyAnswer,
    ModelError,
    ModelNotFound,
    OutOfCredit,
    RateLimited,
    ServerFailed,
    TimedOut,
    Unreachable,
)
from tests.fakes.table_test import table_test
from tests.fakes.transcription_server import (
    KEY,
    MODEL,
    Reply,
    TranscriptionServer,
    answers,
    drops,
    fails,
    hangs,
)

VOICE = b"OggS\0\x02" + bytes(100)


class Heard:
    """A server, and a client of it that waits no real seconds."""

    def __init__(self, server: TranscriptionServer) -> None:
        self.server = server
        self.waits: list[float] = []
        self.provider = TranscriptionProvider("openai", server.base_url, MODEL, (KEY,), needs_key=True)

    async def transcribe(self, audio: bytes = VOICE, *, seconds: float = 10.0, **changes: object) -> str:
        async def sleep(seconds: float) -> None:
            self.waits.append(seconds)

        provider = replace(self.provider, **changes)  # type: ignore[arg-type]
        connection = ConnectionPool(provider.base_url, connect_seconds=5)
        try:
            return await Transcriber(provider, connection, seconds=seconds, sleep=sleep).transcribe(
                BytesIO(audio)
            )
        finally:
            await connection.close()


@pytest.fixture
async def heard() -> AsyncIterator[Heard]:
    async with TranscriptionServer(words=" Buy milk. ") as server:
        yield Heard(server)


async def test_a_voice_message_is_written_down(heard: Heard) -> None:
    assert await heard.transcribe() == "Buy milk."
    (request,) = heard.server.requests
    assert (request.file_name, request.audio) == ("voice.ogg", VOICE)
    assert request.fields == {"model": MODEL}


async def test_the_language_is_told_where_it_is_set(heard: Heard) -> None:
    await heard.transcribe(language="de")
    assert heard.server.requests[0].fields["language"] == "de"


@table_test(
    ("head", "ending"),
    [
        (b"OggS", "ogg"),
        (b"ID3\x04", "mp3"),
        (b"\xff\xfb\x90\x64", "mp3"),
        (b"fLaC", "flac"),
        (b"RIFF\0\0\0\0WAVEfmt ", "wav"),
        (b"\x1aE\xdf\xa3", "webm"),
        (b"\0\0\0\x18ftypM4A ", "m4a"),
        (b"\0\0\0\x18ftypisom", "mp4"),
        (b"\xff\xd8\xff\xe0", ""),
        (b"#!AMR\n", ""),
        (b"", ""),
    ],
)
def test_a_format_is_known_by_what_the_file_holds(head: bytes, ending: str) -> None:
    assert detect_format(head + bytes(20) if head else b"") == ending


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (fails(401, f"Incorrect API key provided: {KEY}"), BadKey),
        (fails(402), OutOfCredit),
        (fails(404), ModelNotFound),
        (fails(400, "Invalid file format."), BadRequest),
        (fails(413), ContextTooLong),
        (fails(302), BadRequest),
        (answers(b"{}"), EmptyAnswer),
        (answers(b"<html>", kind="text/html"), EmptyAnswer),
        (answers(b'{"text": 3}'), EmptyAnswer),
    ],
)
async def test_what_will_not_pass_is_not_asked_again(
    heard: Heard, reply: Reply, kind: type[ModelError]
) -> None:
    heard.server.enqueue(reply)
    with pytest.raises(kind) as caught:
        await heard.transcribe()
    assert KEY not in str(caught.value)
    assert len(heard.server.requests) == 1


async def test_a_missing_version_is_tried_once_and_remembered(heard: Heard) -> None:
    root = heard.server.base_url.removesuffix("/v1")
    connection = ConnectionPool(root, connect_seconds=5)
    speech = Transcriber(replace(heard.provider, base_url=root), connection)
    assert [await speech.transcribe(BytesIO(VOICE)) for _ in range(2)] == ["Buy milk."] * 2
    await connection.close()
    assert heard.server.strays == ["POST /audio/transcriptions"]
    assert [request.audio for request in heard.server.requests] == [VOICE] * 2


async def test_at_the_same_time_all_find_the_missing_version(heard: Heard) -> None:
    root = heard.server.base_url.removesuffix("/v1")
    connection = ConnectionPool(root, connect_seconds=5)
    speech = Transcriber(replace(heard.provider, base_url=root), connection)
    assert await asyncio.gather(*(speech.transcribe(BytesIO(VOICE)) for _ in range(4))) == ["Buy milk."] * 4
    await connection.close()


async def test_a_missing_model_is_no_address_that_is_wrong(heard: Heard) -> None:
    with pytest.raises(ModelNotFound, match="does not exist"):
        await heard.transcribe(base_url=heard.server.base_url.removesuffix("/v1"), model="another")
    assert len(heard.server.requests) == 1


async def test_an_address_with_a_path_is_asked_as_it_is(heard: Heard) -> None:
    with pytest.raises(ModelNotFound):
        await heard.transcribe(base_url=heard.server.base_url.replace("/v1", "/v2"))
    assert heard.server.strays == ["POST /v2/audio/transcriptions"]


@pytest.mark.parametrize("reply", [fails(429), fails(500), fails(503), drops()])
async def test_what_may_pass_is_asked_again(heard: Heard, reply: Reply) -> None:
    heard.server.enqueue(reply, reply)
    assert await heard.transcribe() == "Buy milk."
    assert heard.waits == [1.0, 2.0]


@pytest.mark.parametrize(
    ("reply", "kind"), [(fails(429), RateLimited), (fails(502), ServerFailed), (drops(), CutOff)]
)
async def test_it_is_asked_three_times_at_most(heard: Heard, reply: Reply, kind: type[ModelError]) -> None:
    heard.server.enqueue(*[reply] * 9)
    with pytest.raises(kind):
        await heard.transcribe()
    assert len(heard.server.requests) == 3


async def test_the_wait_that_is_asked_for_is_kept_unless_it_is_long(heard: Heard) -> None:
    heard.server.enqueue(fails(429, headers={"Retry-After": "7"}), fails(429, headers={"Retry-After": "60"}))
    with pytest.raises(RateLimited):
        await heard.transcribe()
    assert heard.waits == [7.0]


async def test_the_next_key_is_used_where_one_is_refused(heard: Heard) -> None:
    assert await heard.transcribe(keys=("wrong-key", KEY)) == "Buy milk."
    assert heard.waits == []


async def test_nobody_is_waited_for_without_end(heard: Heard) -> None:
    heard.server.enqueue(hangs())
    with pytest.raises(TimedOut):
        await heard.transcribe(seconds=0.05)


async def test_nobody_there_is_told_with_no_secret() -> None:
    async with TranscriptionServer() as server:
        gone = Heard(server)
    with pytest.raises(Unreachable) as caught:
        await gone.transcribe(base_url=gone.provider.base_url.replace("//", "//user:password@"))
    assert "password" not in str(caught.value)


async def test_without_a_key_nobody_is_asked(heard: Heard) -> None:
    with pytest.raises(BadKey, match="no key"):
        await heard.transcribe(keys=())
    assert heard.server.requests == []


async def test_a_server_of_ones_own_wants_no_key(heard: Heard) -> None:
    heard.server.enqueue(answers(json.dumps({"text": "Hi"}).encode()))
    assert await heard.transcribe(keys=(), needs_key=False) == "Hi"
    assert "Authorization" not in heard.server.requests[0].headers


@pytest.mark.parametrize("audio", [b"no sound", b"OggS" + bytes(MAX_BYTES)])
async def test_what_no_service_takes_is_not_sent(heard: Heard, audio: bytes) -> None:
    with pytest.raises(ModelError, match="was not called"):
        await heard.transcribe(audio)
    assert heard.server.requests == []


# -- who is asked -------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def settings_of(toml: str) -> Settings:
    Path("config.toml").write_text(toml)
    return load_settings()


def asked(toml: str, **environment: str) -> TranscriptionProvider | None:
    settings = settings_of(toml)
    return resolve_transcription_provider(settings.speech, settings.providers, environment)


def test_without_a_key_there_is_nobody() -> None:
    assert asked("") is None
    assert asked("", ANTHROPIC_API_KEY="sk-ant", GEMINI_API_KEY="g") is None


def test_auto_is_the_first_with_a_key_that_is_known_to_do_it() -> None:
    found = asked("", MISTRAL_API_KEY="m", GROQ_API_KEY="g")
    assert found
    assert (found.name, found.model, found.keys) == ("groq", TRANSCRIPTION_MODELS["groq"], ("g",))
    found = asked(
        '[providers.mistral]\napi_key = "m"\n[providers.mine]\nkind = "openai"\n', OPENAI_API_KEY="o"
    )
    assert found
    assert (found.name, found.keys) == ("mistral", ("m",))


def test_a_provider_a_model_and_a_language_can_be_named() -> None:
    found = asked(
        '[speech]\nprovider = "mine"\nmodel = "large"\nlanguage = "de"\n'
        '[providers.mine]\nkind = "openai"\nbase_url = "http://localhost:9000/v1/"\n'
    )
    assert found == TranscriptionProvider(
        "mine", "http://localhost:9000/v1", "large", language="de", key_variable="MINE_API_KEY"
    )


def test_none_is_nobody_whatever_keys_there_are() -> None:
    assert asked('[speech]\nprovider = "none"', OPENAI_API_KEY="o") is None


@table_test(
    ("toml", "key"),
    [
        ('provider = "anthropic"', "speech.provider"),
        ('provider = "nobody"', "speech.provider"),
        ('language = "Deutsch"', "speech.language"),
    ],
)
def test_what_cannot_be_is_refused_at_the_start(toml: str, key: str) -> None:
    with pytest.raises(ConfigError, match=key):
        settings_of(f"[speech]\n{toml}")


def test_a_provider_without_its_key_is_told_with_the_mend() -> None:
    settings = settings_of('[speech]\nprovider = "groq"')
    told = missing_key(settings, {})
    assert all(each in told for each in ("speech.provider", "GROQ_API_KEY", "providers.groq.api_key"))
    assert missing_key(settings, {"GROQ_API_KEY": KEY}) == ""
    assert missing_key(settings_of(""), {}) == ""


@pytest.mark.thorough
async def test_it_is_opened_from_the_settings_and_closed(heard: Heard) -> None:
    settings = settings_of(f'[providers.openai]\nbase_url = "{heard.server.base_url}"\napi_key = "{KEY}"')
    speech, close = open_transcriber(settings, {})
    assert speech
    assert await speech.transcribe(BytesIO(VOICE)) == "Buy milk."
    await close()
    with pytest.raises(ModelError):
        await speech.transcribe(BytesIO(VOICE))
    assert open_transcriber(settings_of(""), {})[0] is None
    assert KEY not in repr(heard.provider)
