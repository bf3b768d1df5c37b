"""Vectors from a GGUF file on this machine, by llama.cpp."""

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
from memory.embeddings.llama_model import (
    MOST_TEXTS,
    MOST_TOKENS,
    NOT_INSTALLED,
    LlamaModel,
    StopFlag,
    prefixes_version,
)
from memory.embeddings.model_files import (
    DownloadProgress,
    content_version,
    download_model,
    find_local_path,
    model_name,
)
from memory.embeddings.protocol import Purpose, Vector, digest_version

_EXIT_SECONDS = 5.0
_CLOSED = "The local embedding model was closed."


def is_installed() -> bool:
    """Tell whether llama-cpp-python is there; loads nothing."""
    return find_spec("llama_cpp") is not None


def count_usable_cores() -> int:
    """Count the processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class LlamaCppProvider:
    """The model is loaded, and an `hf:` one fetched, at the first text; all on one thread of its own.

    A text is cut at what the model takes (its training context: 512 tokens for most small ones), and at 2048
    tokens in any case. Queries go before documents, and wait for at most one call of 256 tokens (a longer text
    is a call of its own).
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
        """Remember the settings. `dimensions` cuts the vectors (for models trained for it), 0 leaves them whole.

        `threads` is how many processors may be used, 0 for all. `report` is told how a download goes, on the
        provider's own thread.
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
        """The name in the settings."""
        return "local"

    @property
    def model(self) -> str:
        """The file's name: the same by path and by `hf:`, and known before it is fetched."""
        return self._model

    @property
    def version(self) -> str | None:
        """The file's content and the prefixes: two files of one name are two models; None while it is not here."""
        if self._thread is None:
            with contextlib.suppress(OSError, RuntimeError, ModelUnusable):  # RuntimeError: a ~ of nobody
                self._read_version(find_local_path(self._reference, self._cache_dir))
        return self._version

    @property
    def dimensions(self) -> int:
        """Length of the vectors, 0 before the first one."""
        return self._dimensions

    @property
    def fetching(self) -> DownloadProgress | None:
        """How far the file is on its way, None while none is fetched."""
        return self._fetching

    async def embed(self, texts: Sequence[str], *, purpose: Purpose) -> list[Vector]:
        """See `EmbeddingProvider`. Waits while the model is fetched and loaded; what failed is tried anew."""
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
        """Stop in the middle of what is running, and give the memory back; a silent hub is not waited for."""
        self._stop.set()
        with self._changed:
            self._changed.notify()
        if self._thread is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_EXIT_SECONDS):
                    await asyncio.shield(asyncio.wrap_future(self._ended))

    def _stop_at_exit(self) -> None:
        """Before Python goes: nothing of it may be missing while C is still at work."""
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
                except Exception as error:  # noqa: BLE001 - nobody else hears of it, and callers wait
                    failure = ModelUnusable(f"The local embedding model failed: {error!r}")
                    self._fail_requests([request] if model else self._waiting_requests(), failure)
        finally:
            if model:
                model.close()
            self._fail_requests(self._waiting_requests(), ModelUnusable(_CLOSED))
            atexit.unregister(self._stop_at_exit)
            self._ended.set_result(None)

    def _wait_for_request(self) -> "_EmbeddingRequest | None":
        """Wait for work: queries first, since somebody waits for them; None once closed."""
        with self._changed:
            while True:
                if self._stop.is_set():
                    return None
                self._waiting = [request for request in self._waiting if not request.answer.cancelled()]
                if self._waiting:
                    return min(self._waiting, key=lambda request: request.purpose != "query")
                self._changed.wait()

    def _load(self) -> LlamaModel:
        if not is_installed():  # else a file of 100 MB and more would be fetched that nothing can read
            raise ModelUnusable(NOT_INSTALLED.format(name="llama_cpp"))
        try:
            path = download_model(
                self._reference, self._cache_dir, report=self._report_progress, stopped=self._stop.is_set
            )
        finally:
            self._fetching = None
        with contextlib.suppress(OSError):  # what cannot be read cannot be loaded either
            self._read_version(path)
        model = LlamaModel(path, dimensions=self._wanted_dimensions, threads=self._threads, stop=self._stop)
        self._dimensions = model.dimensions
        return model

    def _read_version(self, path: Path) -> None:
        """Tell the version by the file, again where it is another one. Raises OSError."""
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
    """Texts of one caller, and what has become of them."""

    def __init__(self, texts: Sequence[str], purpose: Purpose) -> None:
        self.texts = texts
        self.purpose: Purpose = purpose
        self.answer: Future[list[Vector]] = Future()
        self._vectors: list[Vector] = []
        self._batches: Iterator[list[list[int]]] | None = None

    def advance(self, model: LlamaModel) -> bool:
        """Embed some of the texts, as many as go well at once; True when all are done. Raises EmbeddingError."""
        if self._batches is None:
            tokens = (model.tokens(text, self.purpose) for text in self.texts)
            self._batches = make_batches(tokens, most_tokens=MOST_TOKENS, most_texts=MOST_TEXTS)
        self._vectors += model.vectors(next(self._batches))
        if len(self._vectors) < len(self.texts):
            return False
        with contextlib.suppress(InvalidStateError):  # cancelled meanwhile
            self.answer.set_result(self._vectors)
        return True

    def fail(self, error: EmbeddingError) -> None:
        with contextlib.suppress(InvalidStateError):
            self.answer.set_exception(error)


def make_batches(
    texts: Iterable[list[int]], *, most_tokens: int, most_texts: int
) -> Iterator[list[list[int]]]:
    """Put texts together while they stay within both limits; a text that is too long for that stands alone."""
    batch: list[list[int]] = []
    size = 0
    for text in texts:
        if batch and (size + len(text) > most_tokens or len(batch) == most_texts):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += len(text)
    if batch:
        yield batch
