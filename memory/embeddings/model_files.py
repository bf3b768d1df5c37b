"""The file of the local embedding model: its location and its download."""

import hashlib
import os
import re
import shutil
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Self
from urllib.parse import quote

from memory.deadline import Deadline
from memory.disk import open_private_folder, reason, sync_folder
from memory.embeddings.errors import (
    EmbeddingTimedOut,
    EmbeddingUnreachable,
    KeyRejected,
    LimitReached,
    ModelUnknown,
    ModelUnusable,
    ResponseUnusable,
    ServiceFailed,
)
from memory.quantities import format_size
from memory.redaction import find_url_password, remove_secrets
from memory.translatable import Translatable

if TYPE_CHECKING:
    import httpx

# Six layers of 384, like all-MiniLM-L6-v2 and as fast, but for twelve languages (Arabic, Chinese, Czech,
# Dutch, English, French, German, Italian, Japanese, Korean, Portuguese, Spanish), Apache-2.0, and 121 MB.
DEFAULT_MODEL = (
    "hf:bartowski/granite-embedding-107m-multilingual-GGUF/granite-embedding-107m-multilingual-Q8_0.gguf"
)
HUB = "https://huggingface.co"
SETTING = "memory.embedding.local.model_path"

GGUF = b"GGUF"

_FIX = Translatable(
    " Check the network, or set {setting} to a GGUF file that is on this machine.", setting=SETTING
)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_CONTENT_RANGE = re.compile(r"bytes (\d{1,18})-")
_SIZE = re.compile(r"\d{1,18}")
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MAX_REDIRECTS = 10
_MAX_TRIES = 5
_SILENCE_SECONDS = 30.0
_REPORT_SECONDS = 0.1
_SAMPLE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file in a repository of a model hub."""

    repository: str
    """As `owner/name`."""
    path: str
    """Relative to the repository's root, with `/`."""


@dataclass(frozen=True, slots=True)
class DownloadProgress:
    """Progress of a download."""

    done: int
    """Bytes downloaded."""
    total: int | None
    """Bytes of the whole file, if the server sends it."""
    seconds_left: float | None


class DownloadStopped(ModelUnusable):
    """The download was stopped by its caller; the part that arrived is kept."""


def parse_reference(reference: str) -> Path | HubFile:
    """Parse `model_path`: a path, or `hf:owner/repo/file.gguf`; empty means `DEFAULT_MODEL`.

    Raises `ModelUnusable` if an `hf:` reference names no file.
    """
    reference = reference.strip() or DEFAULT_MODEL
    if not reference.startswith("hf:"):
        return Path(reference).expanduser()
    owner, _, rest = reference.removeprefix("hf:").partition("/")
    name, _, path = rest.partition("/")
    parts = path.split("/")
    if not (
        all(map(_NAME.fullmatch, (owner, name)))
        and all(part.isprintable() and "\\" not in part for part in parts)
        and not {"", ".", ".."} & {*parts}
        and path.lower().endswith(".gguf")
    ):
        raise ModelUnusable(
            "{reference} does not name a file: write {setting} as hf:owner/repository/file.gguf, "
            "or as a path.",
            reference=reference,
            setting=SETTING,
        )
    return HubFile(f"{owner}/{name}", path)


def find_local_path(reference: str, cache_dir: str | Path) -> Path:
    """Return the file's path, whether it is downloaded or not. Raises `ModelUnusable` as `parse_reference`."""
    found = parse_reference(reference)
    if isinstance(found, Path):
        return found
    return Path(cache_dir).expanduser() / found.repository / found.path


def is_downloaded(reference: str, cache_dir: str | Path) -> bool:
    """Return whether the model can be loaded without a download; False for an invalid reference."""
    try:
        return find_local_path(reference, cache_dir).is_file()
    except (ModelUnusable, OSError, RuntimeError):  # RuntimeError: `~` of an unknown user
        return False


def model_name(reference: str) -> str:
    """Return the file's name, which is the same for a path and an `hf:` reference."""
    path = PurePosixPath(reference.strip() or DEFAULT_MODEL)
    return path.name.removesuffix(".gguf")


def content_version(path: Path) -> str:
    """Return a digest of the file's size, first megabyte and last megabyte. Raises OSError."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        digest = hashlib.sha256(str(size).encode())
        for at in (0, max(0, size - _SAMPLE_BYTES)):
            file.seek(at)
            digest.update(file.read(_SAMPLE_BYTES))
    return digest.hexdigest()


def download_model(
    reference: str,
    cache_dir: str | Path,
    *,
    report: Callable[[DownloadProgress], None] = lambda _: None,
    stopped: Callable[[], bool] = lambda: False,
    environment: Mapping[str, str] = os.environ,
    pause: float = 1.0,
    silence: float = _SILENCE_SECONDS,
) -> Path:
    """Return the path of the model's file, after downloading it if an `hf:` reference is not here yet.

    Blocks, for minutes if the file is large. HF_ENDPOINT names another hub; HF_TOKEN is sent to the hub
    alone. Interrupted downloads are resumed, also by the next call, and a process that downloads the same
    file is waited for. The file appears under its name only when complete, with the size and SHA-256 that the
    hub announced.

    `report` is called about ten times a second; when `stopped` returns True, `DownloadStopped` is raised.
    `pause` (seconds) is doubled after each try; `silence` is the maximum of seconds without data. Raises
    `EmbeddingError`.
    """
    found = parse_reference(reference)
    path = find_local_path(reference, cache_dir)
    if isinstance(found, Path) or path.is_file():
        return path
    endpoint = environment.get("HF_ENDPOINT", "").strip().rstrip("/") or HUB
    if not endpoint.startswith(("http://", "https://")):
        shown = endpoint.rpartition("@")[2]  # the part before @ is a secret
        raise ModelUnusable(
            "HF_ENDPOINT must begin with https:// or http://, and is {address}.", address=repr(shown)
        )
    token = environment.get("HF_TOKEN", "").strip()
    if not (token.isascii() and token.isprintable()):
        raise ModelUnusable("HF_TOKEN has characters that cannot be part of a token.")
    try:
        with open_private_folder(path.parent), _lock_download(path, stopped):
            if not path.is_file():
                with _Hub(endpoint, token, found, silence=silence) as hub:
                    _download(hub, path, _DownloadOptions(report, stopped, pause))
    except OSError as error:
        raise ModelUnusable(
            "{path} could not be written: {reason}.", path=path, reason=reason(error)
        ) from error
    return path


@contextmanager
def _lock_download(path: Path, stopped: Callable[[], bool]) -> Iterator[None]:
    from filelock import FileLock, Timeout

    lock = FileLock(path.with_name(f".{path.name}.lock"))
    while True:
        try:
            lock.acquire(timeout=0.2, poll_interval=0.05)
            break
        except Timeout:
            _check_not_stopped(stopped)
        except NotImplementedError:
            raise ModelUnusable(
                "The file system of {folder} has no locks; set memory.embedding.local.cache_dir to a "
                "folder on a local disk.",
                folder=path.parent,
            ) from None
    try:
        yield
    finally:
        lock.release()


def _check_not_stopped(stopped: Callable[[], bool]) -> None:
    if stopped():
        raise DownloadStopped("The download was cancelled.")


@dataclass(frozen=True, slots=True)
class _RemoteFile:
    """The hub's description of the file."""

    size: int | None
    tag: str
    """ETag without quotes, "" if there is none; the SHA-256 for large files."""

    @property
    def sha256(self) -> str:
        return self.tag if _SHA256.fullmatch(self.tag) else ""


def _parse_remote_file(size: str, tag: str) -> _RemoteFile:
    return _RemoteFile(
        int(size) if _SIZE.fullmatch(size) else None, tag.removeprefix("W/").strip('"').lower()
    )


class _Hub:
    """The hub's addresses, the token, and the meaning of its responses."""

    def __init__(self, endpoint: str, token: str, file: HubFile, *, silence: float) -> None:
        self._endpoint = endpoint
        self._token = token
        self._file = file
        self._silence = silence
        self._url = f"{endpoint}/{file.repository}/resolve/main/{quote(file.path)}"

    def __enter__(self) -> Self:
        import httpx

        timeout = httpx.Timeout(self._silence, connect=min(self._silence, 10.0))
        headers = {"Accept-Encoding": "identity"}
        try:
            self._origin = _origin(httpx.URL(self._endpoint))
        except httpx.InvalidURL:
            raise ModelUnusable("HF_ENDPOINT is not a usable address ({host}).", host=self._host) from None
        self._client = httpx.Client(timeout=timeout, headers=headers, verify=_certificates())
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def describe(self) -> _RemoteFile:
        """Request size and hash. Raises `EmbeddingError`."""
        with self._answer("HEAD", {}) as (response, hops):
            for hop in hops:
                # The hub's own response describes the file, the last one only the copy that it redirects to.
                headers = hop.headers
                if "x-linked-etag" in headers or "x-linked-size" in headers:
                    return _parse_remote_file(
                        headers.get("x-linked-size", ""), headers.get("x-linked-etag", "")
                    )
            if response.is_error and _origin(response.url) != self._origin:
                return _RemoteFile(None, "")  # the copy's URL was signed for GET alone
            self._check_response(response)
            return _parse_remote_file(
                response.headers.get("content-length", ""), response.headers.get("etag", "")
            )

    @contextmanager
    def content(self, start: int) -> Iterator[tuple[int, Iterator[bytes]]]:
        """Request the bytes from `start` on; yields where they really start, and the bytes.

        Raises `EmbeddingError`.
        """
        with self._answer("GET", {"Range": f"bytes={start}-"} if start else {}) as (response, _):
            if start and response.status_code == 416:
                yield -1, iter(())
                return
            self._check_response(response)
            found = _CONTENT_RANGE.match(response.headers.get("content-range", ""))
            begin = int(found[1]) if response.status_code == 206 and found else 0
            yield begin, response.iter_raw()

    @contextmanager
    def _answer(
        self, method: str, headers: dict[str, str]
    ) -> "Iterator[tuple[httpx.Response, list[httpx.Response]]]":
        """Send a request; yields the last response and all responses before it.

        Redirects are followed here, so that the token stays with the hub and https does not become http.
        """
        import httpx

        hops: list[httpx.Response] = []
        try:
            url = httpx.URL(self._url)
            while True:
                own = self._token and _origin(url) == self._origin
                sent = {**headers, "Authorization": f"Bearer {self._token}"} if own else headers
                with self._client.stream(method, url, headers=sent) as response:
                    hops.append(response)
                    target = response.headers.get("location", "")
                    if response.status_code not in _REDIRECTS or not target:
                        yield response, hops
                        return
                before, url = url, url.join(target)
                if len(hops) > _MAX_REDIRECTS or (before.scheme, url.scheme) == ("https", "http"):
                    raise self.wrong_file_error(
                        Translatable("{host} redirects in circles, or away from https", host=self._host)
                    )
        except httpx.TimeoutException:
            raise EmbeddingTimedOut(
                "{problem} no answer from {host} in time.{fix}",
                problem=self._failure_text,
                host=self._host,
                fix=_FIX,
            ) from None
        except (httpx.TransportError, httpx.InvalidURL) as error:
            # The copy's URL may contain a signature, so only the hub's own URL is shown.
            secrets = (self._token, find_url_password(self._endpoint))
            detail = f" ({remove_secrets(str(error), secrets)})" if len(hops) == 0 and str(error) else ""
            raise EmbeddingUnreachable(
                "{problem} no connection to {host}{detail}.{fix}",
                problem=self._failure_text,
                host=self._host,
                detail=detail,
                fix=_FIX,
            ) from None

    @property
    def _host(self) -> str:
        return self._endpoint.partition("://")[2].rpartition("@")[2]

    @property
    def _failure_text(self) -> str:
        return Translatable("The embedding model {file} could not be downloaded:", file=self._file.path)

    def wrong_file_error(self, why: str) -> ResponseUnusable:
        return ResponseUnusable("{problem} {reason}.{fix}", problem=self._failure_text, reason=why, fix=_FIX)

    def cut_off_error(self) -> EmbeddingUnreachable:
        return EmbeddingUnreachable(
            "{problem} the connection to {host} keeps breaking.{fix}",
            problem=self._failure_text,
            host=self._host,
            fix=_FIX,
        )

    def _check_response(self, response: "httpx.Response") -> None:
        status = response.status_code
        if status in {200, 206}:
            return
        if status in {401, 403}:
            # The hub also sends 401 if the repository does not exist.
            raise KeyRejected(
                "{problem} {host} refuses {repository}. Check its name; if it is private or asks for "
                "consent, set HF_TOKEN to a token that may read it.",
                problem=self._failure_text,
                host=self._host,
                repository=self._file.repository,
            )
        if status in {404, 410}:
            raise ModelUnknown(
                "{problem} {host} has no such file in {repository}. Check {setting}.",
                problem=self._failure_text,
                host=self._host,
                repository=self._file.repository,
                setting=SETTING,
            )
        seconds = response.headers.get("retry-after", "")
        if status == 429:
            raise LimitReached(
                "{problem} {host} is rate-limiting the download; it will be tried again later.",
                problem=self._failure_text,
                host=self._host,
                retry_after=float(seconds) if seconds.isdecimal() else None,
            )
        if status >= 500:
            raise ServiceFailed(
                "{problem} {host} answers with {status}; it will be tried again later.",
                problem=self._failure_text,
                host=self._host,
                status=status,
            )
        raise ResponseUnusable(
            "{problem} {host} answers with {status}.{fix}",
            problem=self._failure_text,
            host=self._host,
            status=status,
            fix=_FIX,
        )


@dataclass(frozen=True, slots=True)
class _DownloadOptions:
    """The caller's options and callbacks for a download."""

    report: Callable[[DownloadProgress], None]
    stopped: Callable[[], bool]
    pause: float


def _download(hub: _Hub, path: Path, options: _DownloadOptions) -> None:
    """Download the file and put it in place, resuming after interruptions. Raises `EmbeddingError`, OSError."""
    tries = 0
    while True:
        _check_not_stopped(options.stopped)
        before = _count_part_bytes(path)
        try:
            content = hub.describe()
            part = _part_path(path, content)
            _check_free_space(content, part)
            resumed = _file_size(part) > 0
            _download_rest(hub, content, part, options)
            if _verify(hub, content, part, last_chance=not resumed):
                break
        except (EmbeddingUnreachable, EmbeddingTimedOut, ServiceFailed):
            tries = 1 if _count_part_bytes(path) > before else tries + 1
            if tries == _MAX_TRIES:
                raise
            _wait(options.pause * 2 ** (tries - 1), options.stopped)
    with open_private_folder(path.parent) as folder:
        part.replace(path)
        sync_folder(folder)


def _part_path(path: Path, content: _RemoteFile) -> Path:
    """Return the partial file's path, named after the content's hash; delete partial files of other contents."""
    key = hashlib.sha256(content.tag.encode()).hexdigest()[:16]
    part = path.with_name(f".{path.name}.{key}.part")
    for other in _find_part_files(path):
        if other != part or not content.tag:
            other.unlink()
    return part


def _find_part_files(path: Path) -> list[Path]:
    start = f".{path.name}."
    return [
        other for other in path.parent.iterdir() if other.name.startswith(start) and other.suffix == ".part"
    ]


def _count_part_bytes(path: Path) -> int:
    return sum(map(_file_size, _find_part_files(path)))


def _file_size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _check_free_space(content: _RemoteFile, part: Path) -> None:
    missing = (content.size or 0) - _file_size(part)
    free = shutil.disk_usage(part.parent).free
    if missing > free:
        raise ModelUnusable(
            "The embedding model needs another {missing} in {folder}, but only {free} are free; "
            "free some space, or set memory.embedding.local.cache_dir.",
            missing=format_size(missing),
            folder=part.parent,
            free=format_size(free),
        )


def _download_rest(hub: _Hub, content: _RemoteFile, part: Path, options: _DownloadOptions) -> None:
    """Download the missing bytes into the partial file. Raises `EmbeddingError`, OSError."""
    here = _file_size(part)
    if here and here == content.size:
        return
    with hub.content(here) as (start, pieces):
        if start != here:
            part.unlink(missing_ok=True)  # the server does not support ranges
        if start not in {0, here}:
            raise hub.cut_off_error()
        began = reported = time.monotonic()
        done = start
        with part.open("ab") as file:
            for piece in pieces:
                file.write(piece)
                done += len(piece)
                now = time.monotonic()
                if now - reported >= _REPORT_SECONDS:
                    reported = now
                    options.report(_estimate_progress(done, done - start, content.size, now - began))
                _check_not_stopped(options.stopped)
                if content.size is not None and done > content.size:
                    break
            file.flush()
            os.fsync(file.fileno())
        options.report(_estimate_progress(done, done - start, content.size, time.monotonic() - began))
    if content.size is not None and done < content.size:
        raise hub.cut_off_error()


def _estimate_progress(done: int, received: int, total: int | None, seconds: float) -> DownloadProgress:
    rate = received / seconds if seconds else 0.0
    return DownloadProgress(done, total, (total - done) / rate if total is not None and rate else None)


def _verify(hub: _Hub, content: _RemoteFile, part: Path, *, last_chance: bool) -> bool:
    """Return whether the file is what the hub described; delete it if not."""
    with part.open("rb") as file:
        is_gguf = file.read(len(GGUF)) == GGUF
        file.seek(0)
        digest = hashlib.file_digest(file, "sha256").hexdigest() if content.sha256 else ""
    right_size = content.size in {None, _file_size(part)}
    if is_gguf and right_size and digest == content.sha256:
        return True
    part.unlink()
    if last_chance:
        raise hub.wrong_file_error(
            "the download is damaged" if is_gguf else "the download is not a GGUF file"
        )
    return False


def _wait(seconds: float, stopped: Callable[[], bool]) -> None:
    deadline = Deadline.after(seconds)
    while left := deadline.left:
        _check_not_stopped(stopped)
        time.sleep(min(left, 0.1))


@cache
def _certificates() -> ssl.SSLContext:
    import httpx

    return httpx.create_ssl_context()


def _origin(url: "httpx.URL") -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port
