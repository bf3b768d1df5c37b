"""One embedding model in llama.cpp: text to tokens, tokens to vectors. For a single thread."""

import ctypes
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory.disk import reason
from memory.embeddings.errors import ModelUnusable, ResponseUnusable
from memory.embeddings.llama_library import (
    LibraryUnusable,
    StopFlag,
    clear_errors,
    first_error,
    load_library,
    model_parameters,
    tokenize,
)
from memory.embeddings.model_files import GGUF, SETTING
from memory.embeddings.protocol import Purpose, Vector
from memory.translatable import Translatable

if TYPE_CHECKING:
    import numpy as np

MAX_TEXT_TOKENS = 2048
"""Maximum tokens per text. A model may take more, but its working memory grows with the square."""

MAX_TOKENS = 256
"""Maximum tokens of several texts in one call; more are no faster, and queries would wait longer."""
MAX_TEXTS = 64
"""Maximum number of texts in one call."""

_NOTHING = ("", "")
_INSTRUCT = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: "
_REPRESENT = "Represent this sentence for searching relevant passages: "
# The prefixes that these models were trained with; without them recall drops clearly. The first row that fits
# the model's name counts (architecture, `general.name` and file name, in lower case, with "-" between words);
# no row, no prefix.
_PREFIXES = tuple(
    (re.compile(pattern), prefixes)
    for pattern, prefixes in (
        (r"^gemma-embedding |embedding-?gemma", ("task: search result | query: ", "title: none | text: ")),
        (r"^nomic-bert|nomic-embed-text", ("search_query: ", "search_document: ")),
        (r"qwen3-embedding|\be5\b.*-instruct\b|\be5-mistral", (_INSTRUCT, "")),
        (r"\be5-", ("query: ", "passage: ")),
        (r"\bbge-m3\b", _NOTHING),
        (r"\bbge-.*-en\b", (_REPRESENT, "")),
        (r"\bbge-.*-zh\b", ("为这个句子生成表示以用于检索相关文章：", "")),
        (r"arctic-embed-.*v2", ("query: ", "")),
        (r"arctic-embed|mxbai-embed", (_REPRESENT, "")),
    )
)

_POOLED = {1, 2, 3}  # mean, first token, last token; 0 is none, 4 ranks pairs
_POOLED_MEAN = 1


class EmbeddingStopped(ModelUnusable):
    """The flag was set while llama.cpp was working."""


def prefixes_version() -> str:
    """Return a digest of all prefixes, since vectors with different prefixes cannot be compared."""
    return repr([(pattern.pattern, found) for pattern, found in _PREFIXES])


def prefixes(name: str) -> tuple[str, str]:
    """Return the prefixes for queries and for documents of the model with this name."""
    plain = re.sub(r"[_\s]+", "-", name.lower())
    return next((found for pattern, found in _PREFIXES if pattern.search(plain)), _NOTHING)


class LlamaModel:
    """A loaded model; not for two threads at once."""

    def __init__(self, path: Path, *, dimensions: int = 0, threads: int, stop: StopFlag) -> None:
        """Load the model; `dimensions` shortens its vectors, 0 keeps them whole.

        Raises `ModelUnusable`, `EmbeddingStopped`.
        """
        _check_is_gguf(path)
        self._stop = stop
        self._path = path
        try:
            self._c = load_library()
        except LibraryUnusable as error:
            raise ModelUnusable("The local embedding model {fault}", fault=error) from error
        self._model: Any = None
        self._context: Any = None
        try:
            self._load()
            self._open_context(threads)
            self.dimensions = self._cut(dimensions)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Free the memory."""
        if self._context:
            self._c.llama_free(self._context)
        if self._model:
            self._c.llama_model_free(self._model)
        self._context = self._model = None

    def tokens(self, text: str, purpose: Purpose) -> list[int]:
        """Return the text's tokens, at most `limit`, including the end token. Raises `ResponseUnusable`."""
        text = self._prefixes[purpose == "document"] + text
        # No token is this long on average, so the end of a text of megabytes need not be read.
        data = text[: self.limit * 64].encode("utf-8", "replace")
        tokens = tokenize(self._c, self._vocabulary, data, ends=True, controls=False)
        if tokens is None:
            raise ResponseUnusable("The local embedding model cannot read a text.")
        if len(tokens) > self.limit:
            last = tokens[-1]
            is_mark = self._c.llama_vocab_is_control(self._vocabulary, last)
            tokens[self.limit - 1 :] = [last if is_mark else tokens[self.limit - 1]]
        return tokens or [max(self._c.llama_vocab_bos(self._vocabulary), 0)]

    def vectors(self, texts: Sequence[Sequence[int]]) -> list[Vector]:
        """Embed tokenized texts: at most `MAX_TEXTS`, together at most `room` tokens.

        Raises `ResponseUnusable`, `ModelUnusable`, `EmbeddingStopped`.
        """
        batch, _arrays = self._make_batch(texts)
        cache = self._c.llama_get_memory(self._context)
        if cache:
            self._c.llama_memory_clear(cache, False)
        code = (self._c.llama_decode if cache else self._c.llama_encode)(self._context, batch)
        if self._stop.is_set():
            raise EmbeddingStopped("The local embedding model was closed.")
        if code:
            raise ModelUnusable(
                "The local embedding model {file} failed (llama.cpp says {code}).",
                file=self._path.name,
                code=code,
            )
        return [self._read_vector(number) for number in range(len(texts))]

    def _load(self) -> None:
        settings = model_parameters(self._c)
        go_on = self._c.llama_progress_callback(lambda _progress, _nothing: not self._stop.is_set())
        settings.progress_callback = go_on
        clear_errors()
        self._model = self._c.llama_model_load_from_file(bytes(self._path), settings)
        if self._stop.is_set():
            raise EmbeddingStopped("The local embedding model was closed.")
        if not self._model:
            raise ModelUnusable(
                "{file} cannot be loaded{error}. Fetch or copy the file again, or name another one in "
                "{setting}.",
                file=self._path,
                error=first_error(),
                setting=SETTING,
            )
        self._vocabulary = self._c.llama_model_get_vocab(self._model)
        name = f"{self._read_metadata('general.architecture')} {self._read_metadata('general.name')} {self._path.stem}"
        self._prefixes = prefixes(name)

    def _open_context(self, threads: int) -> None:
        c = self._c
        architecture = self._read_metadata("general.architecture")
        pooling = self._read_metadata(f"{architecture}.pooling_type")
        is_encoder = self._read_metadata(f"{architecture}.attention.causal") == "false"
        trained = c.llama_model_n_ctx_train(self._model)
        self.limit: int = min(trained, MAX_TEXT_TOKENS) if trained > 0 else MAX_TEXT_TOKENS
        self.room: int = max(self.limit, MAX_TOKENS)
        settings = c.llama_context_default_params()
        settings.n_ctx = settings.n_batch = settings.n_ubatch = self.room
        settings.n_seq_max = MAX_TEXTS
        settings.kv_unified = True
        settings.n_threads = settings.n_threads_batch = threads
        settings.embeddings = True
        settings.no_perf = True
        if is_encoder and pooling in {"", "0"}:
            settings.pooling_type = _POOLED_MEAN  # early files do not state it
        elif not pooling.isdigit() or int(pooling) not in _POOLED:
            kind = Translatable("ranks texts") if pooling == "4" else Translatable("writes text")
            raise ModelUnusable(
                "{file} is not an embedding model (it {kind}). Set {setting} to one, or leave it empty.",
                file=self._path.name,
                kind=kind,
                setting=SETTING,
            )
        settings.abort_callback, settings.abort_callback_data = self._stop.as_callback(c.ggml_abort_callback)
        clear_errors()
        self._context = c.llama_init_from_model(self._model, settings)
        if not self._context:
            raise ModelUnusable(
                "{file} cannot be used{error}. Set {setting} to another model.",
                file=self._path,
                error=first_error(),
                setting=SETTING,
            )
        self._width: int = c.llama_model_n_embd_out(self._model)

    def _cut(self, dimensions: int) -> int:
        if dimensions > self._width:
            raise ModelUnusable(
                "{file} makes vectors of {dimensions} numbers: set memory.embedding.dimensions to at "
                "most that, or to 0.",
                file=self._path.name,
                dimensions=self._width,
            )
        return dimensions or self._width

    def _read_metadata(self, key: str) -> str:
        """Return the file's metadata under `key`, "" if there is none."""
        value = ctypes.create_string_buffer(256)
        size = self._c.llama_model_meta_val_str(self._model, key.encode(), value, len(value))
        return value.value.decode("utf-8", "replace") if size >= 0 else ""

    def _make_batch(self, texts: Sequence[Sequence[int]]) -> "tuple[Any, list[np.ndarray[Any, Any]]]":
        """Build llama.cpp's batch; the arrays must live as long as the batch is used."""
        import numpy as np

        sizes = np.array([len(text) for text in texts])
        total = int(sizes.sum())
        tokens = np.fromiter((token for text in texts for token in text), np.int32, total)
        positions = np.concatenate([np.arange(size, dtype=np.int32) for size in sizes])
        counts = np.ones(total, np.int32)
        owners = np.repeat(np.arange(len(texts), dtype=np.int32), sizes)
        pointers = owners.ctypes.data + np.arange(total, dtype=np.uintp) * owners.itemsize
        wanted = np.ones(total, np.int8)
        arrays = {
            "token": tokens,
            "pos": positions,
            "n_seq_id": counts,
            "seq_id": pointers,
            "logits": wanted,
        }
        batch = self._c.llama_batch()
        batch.n_tokens = total
        for name, kind in self._c.llama_batch._fields_:
            if name in arrays:
                setattr(batch, name, ctypes.cast(arrays[name].ctypes.data, kind))
        return batch, [owners, *arrays.values()]

    def _read_vector(self, number: int) -> Vector:
        import numpy as np

        found = self._c.llama_get_embeddings_seq(self._context, number)
        if not found:
            raise ModelUnusable("The local embedding model {file} gives no vectors.", file=self._path.name)
        raw = np.ctypeslib.as_array(found, (self._width,))[: self.dimensions].astype(np.float64)
        length = float(np.linalg.norm(raw))
        if not np.isfinite(length) or not length:
            raise ResponseUnusable(
                "The local embedding model {file} gives no usable vector for a text.", file=self._path.name
            )
        return (raw / length).astype("<f4").tobytes()


def _check_is_gguf(path: Path) -> None:
    try:
        with path.open("rb") as file:
            start = file.read(len(GGUF))
    except FileNotFoundError:
        raise ModelUnusable(
            "{path} does not exist. Correct {setting}, or leave it empty.", path=path, setting=SETTING
        ) from None
    except OSError as error:
        raise ModelUnusable("{path} cannot be read: {reason}.", path=path, reason=reason(error)) from error
    if start != GGUF:
        raise ModelUnusable(
            "{path} is not a GGUF file. Set {setting} to an embedding model in GGUF format.",
            path=path,
            setting=SETTING,
        )
