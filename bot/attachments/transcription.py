"""Transcribes voice messages over the OpenAI-compatible endpoint `/audio/transcriptions`."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from io import SEEK_END
from secrets import token_hex
from typing import TYPE_CHECKING, BinaryIO
from urllib.parse import urlsplit

import httpx

from bot.attachments.audio_format import MAX_BYTES, detect_format
from bot.attachments.transcription_providers import TranscriptionProvider
from bot.models.dialect import kind_of_status
from bot.models.errors import (
    BadKey,
    BadRequest,
    ContextTooLong,
    CutOff,
    EmptyAnswer,
    ModelError,
    ModelNotFound,
    OutOfCredit,
    Overloaded,
    RateLimited,
    ServerFailed,
    TimedOut,
    Unreachable,
)
from bot.models.openai_errors import kind_of
from memory.http_responses import (
    HttpFailure,
    explain_bad_key,
    find_error_message,
    one_line,
    parse_failure,
    parse_fields,
    read_bounded,
)
from memory.redaction import find_url_password

if TYPE_CHECKING:
    from bot.models.connection_pool import ConnectionPool

log = logging.getLogger(__name__)

ANSWER_BYTES = 4 << 20
MAX_TRIES = 3
SECONDS = 90.0
"""For one attempt: an hour of speech takes a while."""
RETRY_DELAY = 1.0
MAX_WAIT = 10.0
"""Seconds: if a provider asks for a longer pause, there is no retry."""

_TEMPORARY_ERRORS = (RateLimited, Overloaded, ServerFailed, Unreachable)
_KEY_ERRORS = (BadKey, OutOfCredit, RateLimited)


class Transcriber:
    """A transcription provider."""

    def __init__(
        self,
        provider: TranscriptionProvider,
        connection: "ConnectionPool",
        *,
        seconds: float = SECONDS,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._provider = provider
        self._connection = connection
        self._seconds = seconds
        self._sleep = sleep
        self._now = now
        self._secrets = (*provider.keys, find_url_password(provider.base_url))

    @property
    def name(self) -> str:
        """The provider and model: `provider/model`."""
        return f"{self._provider.name}/{self._provider.model}"

    @property
    def provider(self) -> TranscriptionProvider:
        """The provider in use."""
        return self._provider

    async def transcribe(self, audio: BinaryIO) -> str:
        """Return the text of an audio file, "" without speech. Raises ModelError; BadRequest for an unknown format.

        Temporary errors are retried, and errors of a key with the next key.
        """
        audio.seek(0)
        ending = detect_format(audio.read(64))
        if not ending:
            raise self._error(BadRequest, "was not called: the audio format is not supported")
        if audio.seek(0, SEEK_END) > MAX_BYTES:
            raise self._error(ContextTooLong, f"was not called: the file is larger than {MAX_BYTES >> 20} MB")
        keys = list(self._provider.keys or ("",))
        tries = 0
        while True:
            try:
                return await self._ask(audio, f"voice.{ending}", keys[0])
            except ModelError as error:
                if isinstance(error, _KEY_ERRORS) and len(keys) > 1:
                    del keys[0]
                    continue
                tries += 1
                wait = error.retry_after or RETRY_DELAY * 2 ** (tries - 1)
                if not isinstance(error, _TEMPORARY_ERRORS) or tries >= MAX_TRIES or wait > MAX_WAIT:
                    raise
                log.info("%s did not transcribe (attempt %d): %s", self.name, tries, error.detail)
                await self._sleep(wait)

    async def _ask(self, audio: BinaryIO, file_name: str, key: str) -> str:
        if wrong := explain_bad_key(key) or ("has no key" if self._provider.needs_key and not key else ""):
            raise self._error(BadKey, wrong)
        fields = {"model": self._provider.model}
        if self._provider.language:
            fields["language"] = self._provider.language
        headers = {"Content-Type": f"multipart/form-data; boundary={token_hex(16)}"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        url = self._url
        response, body = await self._post(url, fields, (file_name, audio), headers)
        if response.status_code == 404:
            failure = self._failure(response, body)
            # A concurrent call may have found the right address meanwhile.
            if self._url != url or self._connection.address.adapt(failure):
                response, body = await self._post(self._url, fields, (file_name, audio), headers)
                if response.status_code == 404:
                    self._connection.address.adapt(self._failure(response, body))
        return self._parse_text(response, body)

    @property
    def _url(self) -> str:
        return f"{self._connection.address.base_url}/audio/transcriptions"

    async def _post(
        self,
        url: str,
        fields: Mapping[str, str],
        file: tuple[str, BinaryIO],
        headers: Mapping[str, str],
    ) -> tuple[httpx.Response, bytes]:
        try:
            async with asyncio.timeout(self._seconds):
                client = self._connection.client
                file[1].seek(0)
                request = client.build_request(
                    "POST", url, data=fields, files={"file": file}, headers=headers
                )
                async with self._connection.in_use(client):
                    response = await client.send(request, stream=True)
                    try:
                        body = await read_bounded(response, ANSWER_BYTES)
                    finally:
                        await response.aclose()
        except (TimeoutError, httpx.TimeoutException) as error:
            raise self._error(TimedOut, f"gave no answer within {self._seconds:g} s") from error
        except httpx.DecodingError as error:
            raise self._error(EmptyAnswer, "sent an answer with an unsupported compression") from error
        except (httpx.ReadError, httpx.RemoteProtocolError) as error:
            raise self._error(CutOff, "lost the connection") from error
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError, ImportError) as error:
            host = urlsplit(url).netloc.rpartition("@")[2]
            said = str(error) or type(error).__name__
            raise self._error(Unreachable, f"cannot be reached at {host}: {said}") from error
        return response, body

    def _parse_text(self, response: httpx.Response, body: bytes) -> str:
        if not response.is_success:
            raise self._response_error(response, body)
        text = parse_fields(body).get("text")
        if not isinstance(text, str):
            raise self._error(EmptyAnswer, "sent an answer without text: check the provider's base_url")
        return text.strip()

    def _response_error(self, response: httpx.Response, body: bytes) -> ModelError:
        failure = self._failure(response, body)
        kind = kind_of(failure) or kind_of_status(failure.status)
        if kind is BadKey:  # their texts repeat parts of the key
            said = "check its api_key"
        elif kind is ModelNotFound and not failure.fields:
            said = "it has no /audio/transcriptions: set speech.provider to one that does"
        else:
            said = find_error_message(failure.fields)
        words = f"answered {failure.status}" + (f" ({said})" if said else "")
        return self._error(kind, words, failure.retry_after)

    def _failure(self, response: httpx.Response, body: bytes) -> HttpFailure:
        return parse_failure(response.status_code, response.headers, body, now=self._now())

    def _error(self, kind: type[ModelError], words: str, retry_after: float | None = None) -> ModelError:
        return kind(one_line(words, secrets=self._secrets), model=self.name, retry_after=retry_after)
