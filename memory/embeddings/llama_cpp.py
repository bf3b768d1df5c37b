"""Embeddings from a local GGUF file by llama.cpp."""

import asyncio
import atexit
import contextlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, InvalidStateError
from importlib.util import find_spec
from pathlib import Path

from memory.embeddings.errors import EmbeddingError, ModelUnusable
from memory.embeddings.llama_library import StopFlag, not_installed
from memory.embeddings.llama_model import MAX_TEXTS, MAX_TOKENS, LlamaModel, prefixes_version
from memory.embeddings.model_files import (
    DownloadProgress,
    content_version,
    download_model,
    find_local_path,
    model_name,
)
from memory.embeddings.protocol import Purpose, Vector, digest_version
from memory.translatable import Translatable

_EXIT_SECONDS = 5.0
_CLOSED = Translatable("The local embedding model was closed.")


def is_installed() -> bool:
    """Return whether llama-cpp-python is installed; loads nothing."""
    return find_spec("llama_cpp") is not None


def count_usable_cores() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class LlamaCppProvider:
    """A local model, downloaded and loaded for the first text, on a thread of its own.

    Texts are cut at the model's training context (512 tokens for most small models), and at 2048 tokens in
    any case. Queries precede documents, and wait for at most one call of 256 tokens, or one longer text.
    """

    def __init__(
        self,
        model_path: str,
        *,
        cache_dir: str | Path,
        dimensions: int = 0,
        threads: int = 0,
        report: Callable[[DownloadProgress], None] = lambda _: None,
    ) -> None:
        """Store the settings. `dimensions` shortens the vectors, if the model supports it; 0 keeps them whole.

        `threads` is the number of processors to use, 0 for all. `report` is called with a download's
        progress, on the provider's thread.
        """
        self._reference = model_path
        self._cache_dir = cache_dir
        self._wanted_dimensions = dimensions
        self._threads = threads or count_usable_cores()
        self._report = report
        self._model = model_name(model_path)
        self._dimensions = dimensions
        self._version: str | None = None
        self._seen = (0, 0)
        self._fetching: DownloadProgress | None = None
        self._changed = threading.Condition()
        self._waiting: list[_EmbeddingRequest] = []
        self._stop = StopFlag()
        self._thread: threading.Thread | None = None
        self._ended: Future[None] = Future()

    @property
    def provider(self) -> str:
        """The provider's name in the settings."""
        return "local"

    @property
    def model(self) -> str:
        """The file's name: the same for a path and an `hf:` reference, and known before the download."""
        return self._model

    @property
    def version(self) -> str | None:
        """A digest of the file's content and the prefixes, since files may share a name; None before the download."""
        if self._thread is None:
            with contextlib.suppress(
                OSError, RuntimeError, ModelUnusable
            ):  # RuntimeError: `~` of an unknown user
                self._read_version(find_local_path(self._reference, self._cache_dir))
        return self._version

    @property
    def dimensions(self) -> int:
        """Length of the vectors; 0 before the first one."""
        return self._dimensions

    @property
    def fetching(self) -> DownloadProgress | None:
        """Progress of the download; None if none is running."""
        return self._fetching

    async def embed(self, texts: Sequence[str], *, purpose: Purpose) -> list[Vector]:
        """See `EmbeddingProvider`. Waits for download and loading; after a failure they are tried again."""
        request = _EmbeddingRequest(texts, purpose)
        with self._changed:
            if self._stop.is_set():
                raise ModelUnusable(_CLOSED)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run_worker, name="local-embedding", daemon=True)
                self._thread.start()
                atexit.register(self._stop_at_exit)
            self._waiting.append(request)
            self._changed.notify()
        try:
            return await asyncio.wrap_future(request.answer)
        finally:
            self._remove_request(request)

    async def close(self) -> None:
        """Abort running work and free the memory; does not wait for a hub that is silent."""
        self._stop.set()
        with self._changed:
            self._changed.notify()
        if self._thread is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_EXIT_SECONDS):
                    await asyncio.shield(asyncio.wrap_future(self._ended))

    def _stop_at_exit(self) -> None:
        """Stop before Python exits: C code must not run while the interpreter is torn down."""
        self._stop.set()
        with self._changed:
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(_EXIT_SECONDS)

    def _remove_request(self, request: "_EmbeddingRequest") -> None:
        with self._changed:
            if request in self._waiting:
                self._waiting.remove(request)

    def _run_worker(self) -> None:
        model: LlamaModel | None = None
        try:
            while request := self._wait_for_request():
                try:
                    model = model or self._load()
                    if request.advance(model):
                        self._remove_request(request)
                except EmbeddingError as error:
                    self._fail_requests([request] if model else self._waiting_requests(), error)
                except Exception as error:  # noqa: BLE001 - nobody else sees the error, and callers are waiting
                    failure = ModelUnusable("The local embedding model failed: {error}", error=repr(error))
                    self._fail_requests([request] if model else self._waiting_requests(), failure)
        finally:
            if model:
                model.close()
            self._fail_requests(self._waiting_requests(), ModelUnusable(_CLOSED))
            atexit.unregister(self._stop_at_exit)
            self._ended.set_result(None)

    def _wait_for_request(self) -> "_EmbeddingRequest | None":
        """Return the next request, queries first; None once closed. Blocks."""
        with self._changed:
            while True:
                if self._stop.is_set():
                    return None
                self._waiting = [request for request in self._waiting if not request.answer.cancelled()]
                if self._waiting:
                    return min(self._waiting, key=lambda request: request.purpose != "query")
                self._changed.wait()

    def _load(self) -> LlamaModel:
        if not is_installed():  # otherwise over 100 MB would be downloaded that nothing can read
            raise ModelUnusable("The local embedding model {fault}", fault=not_installed())
        try:
            path = download_model(
                self._reference, self._cache_dir, report=self._report_progress, stopped=self._stop.is_set
            )
        finally:
            self._fetching = None
        with contextlib.suppress(OSError):  # an unreadable file cannot be loaded either
            self._read_version(path)
        model = LlamaModel(path, dimensions=self._wanted_dimensions, threads=self._threads, stop=self._stop)
        self._dimensions = model.dimensions
        return model

    def _read_version(self, path: Path) -> None:
        """Read the version from the file if it has changed. Raises OSError."""
        stat = path.stat()
        if self._seen != (seen := (stat.st_ino, stat.st_mtime_ns)):
            self._version = digest_version(content_version(path), prefixes_version())
            self._seen = seen

    def _report_progress(self, progress: DownloadProgress) -> None:
        self._fetching = progress
        self._report(progress)

    def _waiting_requests(self) -> "list[_EmbeddingRequest]":
        with self._changed:
            return [*self._waiting]

    def _fail_requests(self, requests: "Iterable[_EmbeddingRequest]", error: EmbeddingError) -> None:
        for request in requests:
            request.fail(error)
            self._remove_request(request)


class _EmbeddingRequest:
    """Texts of one caller, and their vectors."""

    def __init__(self, texts: Sequence[str], purpose: Purpose) -> None:
        self.texts = texts
        self.purpose: Purpose = purpose
        self.answer: Future[list[Vector]] = Future()
        self._vectors: list[Vector] = []
        self._batches: Iterator[list[list[int]]] | None = None

    def advance(self, model: LlamaModel) -> bool:
        """Embed as many texts as fit in one call; return True when all are done. Raises `EmbeddingError`."""
        if self._batches is None:
            tokens = (model.tokens(text, self.purpose) for text in self.texts)
            self._batches = make_batches(tokens, max_tokens=MAX_TOKENS, max_texts=MAX_TEXTS)
        self._vectors += model.vectors(next(self._batches))
        if len(self._vectors) < len(self.texts):
            return False
        with contextlib.suppress(InvalidStateError):  # cancelled meanwhile
            self.answer.set_result(self._vectors)
        return True

    def fail(self, error: EmbeddingError) -> None:
        with contextlib.suppress(InvalidStateError):
            self.answer.set_exception(error)


def make_batches(texts: Iterable[list[int]], *, max_tokens: int, max_texts: int) -> Iterator[list[list[int]]]:
    """Group texts within both limits; a text that is too long is a batch of its own."""
    batch: list[list[int]] = []
    size = 0
    for text in texts:
        if batch and (size + len(text) > max_tokens or len(batch) == max_texts):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += len(text)
    if batch:
        yield batch
