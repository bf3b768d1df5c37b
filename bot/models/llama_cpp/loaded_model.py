"""A chat model loaded in llama.cpp: a prompt goes in, pieces of text come out. Single-threaded."""

import codecs
import ctypes
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from bot.models.errors import BadRequest, ContextTooLong, ModelNotFound, ServerFailed
from bot.models.llama_cpp.chat_template import ChatTemplate, UnusableTemplate
from bot.models.llama_cpp.output_parser import MARKS
from memory.embeddings.llama_library import (
    LibraryUnusable,
    StopFlag,
    clear_errors,
    first_error,
    load_library,
    model_parameters,
    tokenize,
)

MAX_WINDOW = 16_384
"""Maximum window in tokens if the settings name no `context_window`: each token of the window takes memory."""
MIN_ANSWER_TOKENS = 1024
"""Tokens that must be left for an answer; at most a quarter of the window."""
BATCH_TOKENS = 256
"""Prompt tokens between two progress events; on a GPU also between two checks of the stop flag."""

TEMPERATURE = 0.6
TOP_K = 40
TOP_P = 0.95
MIN_P = 0.05

_ABORTED = 2
_RANDOM_SEED = 0xFFFFFFFF
_SEPARATOR = "\ufdd1"  # a noncharacter, which occurs in no text
_SIBLINGS = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"


class LoadedModel:
    """Caches the last prompt, so that a longer version of the same conversation is not read again."""

    def __init__(self, path: Path, window: int | None) -> None:
        """Load the file. Raises ModelNotFound or ServerFailed."""
        try:
            self._c = c = load_library()
        except LibraryUnusable as error:
            raise ModelNotFound(str(error)) from error
        clear_errors()
        self._model = c.llama_model_load_from_file(bytes(path), model_parameters(c))
        if not self._model:
            raise ModelNotFound(
                f"{path} cannot be loaded{first_error()}; download or copy the file again, "
                "or choose another one"
            )
        self._vocabulary = c.llama_model_get_vocab(self._model)
        self._template = self._chat_template(path)
        trained = c.llama_model_n_ctx_train(self._model)
        self.window: int = window or min(trained or MAX_WINDOW, MAX_WINDOW)
        """Maximum tokens of prompt and answer together."""
        self._context = self._open(path)
        self._memory = c.llama_get_memory(self._context)
        self._read: list[int] = []
        self._marks = re.compile("|".join(map(re.escape, self._control_tokens())) or r"(?!)")

    def answer(self, ask: Mapping[str, Any], stop: StopFlag) -> Iterator[Mapping[str, object]]:
        """Yield `begin`, then `read` for each part of the prompt, `text` for each token, finally `end`.

        `ask` has `messages` and `tools` in template form, `settings` for the template, `temperature` and
        `max_tokens`. Raises ContextTooLong, BadRequest or ServerFailed.
        """
        self._c.llama_set_abort_callback(self._context, *stop.as_callback(self._c.ggml_abort_callback))
        try:
            prompt = self._template.prompt(
                self._neutralize_control_tokens(ask["messages"]),
                self._neutralize_control_tokens(ask["tools"]),
                ask["settings"],
            )
        except (UnusableTemplate, RecursionError) as error:  # RecursionError: deeply nested arguments
            raise BadRequest(str(error)) from error
        tokens = self._tokens(prompt.text)
        if not tokens:
            raise BadRequest("gets no input from its chat template")
        longest = ask["max_tokens"] or self.window
        if len(tokens) + min(longest, MIN_ANSWER_TOKENS, self.window // 4) > self.window:
            words = f"got {len(tokens)} tokens, which leaves too few of its {self.window} for an answer"
            raise ContextTooLong(words, window=self.window)
        known = self._keep_common_prefix(tokens)
        yield {"begin": len(tokens), "known": known, "in_thought": prompt.in_thought}
        for start in range(known, len(tokens), BATCH_TOKENS):
            if not self._decode(tokens[start : start + BATCH_TOKENS], stop):
                yield {"end": "stopped", "written": 0}
                return
            yield {"read": len(self._read)}
        yield from self._write(min(longest, self.window - len(tokens)), ask["temperature"], stop)

    # -- loading -----------------------------------------------------------------------------------------

    def _open(self, path: Path) -> Any:
        settings = self._c.llama_context_default_params()
        settings.n_ctx = self.window
        settings.n_batch = settings.n_ubatch = BATCH_TOKENS
        settings.n_threads = settings.n_threads_batch = processor_cores()
        settings.no_perf = True
        context = self._c.llama_init_from_model(self._model, settings)
        if not context:
            raise ServerFailed(
                f"{path} does not fit into memory with {self.window} tokens{first_error()}; "
                "set a smaller context_window"
            )
        return context

    def _chat_template(self, path: Path) -> ChatTemplate:
        c = self._c
        default, for_tools = (c.llama_model_chat_template(self._model, name) for name in (None, b"tool_use"))
        if not default:
            raise ModelNotFound(
                f"{path} is not a chat model: it has no chat template; set model_path to one that has"
            )
        try:
            return ChatTemplate(
                default.decode("utf-8", "replace"),
                tool_template=(for_tools or b"").decode("utf-8", "replace"),
                bos=self._token_text(c.llama_vocab_bos(self._vocabulary)),
                eos=self._token_text(c.llama_vocab_eos(self._vocabulary)),
            )
        except UnusableTemplate as error:
            raise ModelNotFound(f"{path} cannot be used: {error}; choose another one") from error

    def _control_tokens(self) -> list[str]:
        """Return the texts of all control tokens, the longest first, since some begin with others."""
        c, vocabulary = self._c, self._vocabulary
        texts = {
            self._token_text(token)
            for token in range(c.llama_vocab_n_tokens(vocabulary))
            if c.llama_vocab_is_control(vocabulary, token)
        }
        return sorted(texts - {""}, key=len, reverse=True)

    def _token_text(self, token: int) -> str:
        if token < 0:
            return ""
        return (self._c.llama_vocab_get_text(self._vocabulary, token) or b"").decode("utf-8", "replace")

    # -- reading -----------------------------------------------------------------------------------------

    def _neutralize_control_tokens(self, value: Any) -> Any:
        """Neutralise control tokens in what people, notes and tools say: they are text, not commands."""
        match value:
            case str():
                return self._marks.sub(lambda found: f"{found[0][0]}{_SEPARATOR}{found[0][1:]}", value)
            case dict():
                return {name: self._neutralize_control_tokens(each) for name, each in value.items()}
            case list():
                return [self._neutralize_control_tokens(each) for each in value]
        return value

    def _tokens(self, prompt: str) -> list[int]:
        bos = self._token_text(self._c.llama_vocab_bos(self._vocabulary))
        tokens: list[int] = []
        for number, part in enumerate(prompt.split(_SEPARATOR)):
            with_bos = number == 0 and not (bos and part.startswith(bos))
            found = tokenize(
                self._c, self._vocabulary, part.encode("utf-8", "replace"), ends=with_bos, controls=True
            )
            if found is None:
                raise BadRequest("cannot tokenize the request")
            tokens += found
        return tokens

    def _keep_common_prefix(self, tokens: Sequence[int]) -> int:
        """Keep the part of the cache that the prompt shares; return its length. The last token is always read again."""
        same = 0
        for ours, theirs in zip(self._read, tokens[:-1], strict=False):
            if ours != theirs:
                break
            same += 1
        if same < len(self._read) and not self._c.llama_memory_seq_rm(self._memory, 0, same, -1):
            self._c.llama_memory_clear(self._memory, True)  # recurrent models cannot forget only a part
            same = 0
        del self._read[same:]
        return same

    def _decode(self, tokens: Sequence[int], stop: StopFlag) -> bool:
        """Have the model read tokens; return False if it was stopped. Raises ServerFailed."""
        array = (ctypes.c_int32 * len(tokens))(*tokens)
        code = self._c.llama_decode(self._context, self._c.llama_batch_get_one(array, len(tokens)))
        if code == 0:
            self._read += tokens
            return not stop.is_set()
        kept = self._c.llama_memory_seq_pos_max(self._memory, 0) + 1
        self._read = [*self._read, *tokens][:kept]
        if code == _ABORTED and stop.is_set():
            return False
        raise ServerFailed(f"failed while reading the request (llama.cpp says {code}{first_error()})")

    # -- writing -----------------------------------------------------------------------------------------

    def _write(self, limit: int, temperature: float | None, stop: StopFlag) -> Iterator[Mapping[str, object]]:
        sampler = self._sampler(TEMPERATURE if temperature is None else temperature)
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        written = 0
        end = "length"
        try:
            while written < limit:
                token = self._c.llama_sampler_sample(sampler, self._context, -1)
                if self._c.llama_vocab_is_eog(self._vocabulary, token):
                    end = "stop"
                    break
                written += 1
                yield {"text": decoder.decode(self._piece(token))}
                if written < limit and not self._decode([token], stop):
                    end = "stopped"
                    break
        finally:
            self._c.llama_sampler_free(sampler)
        if rest := decoder.decode(b"", final=True):
            yield {"text": rest}
        yield {"end": end, "written": written}

    def _sampler(self, temperature: float) -> Any:
        c = self._c
        chain = c.llama_sampler_chain_init(c.llama_sampler_chain_default_params())
        steps = (
            [
                c.llama_sampler_init_top_k(TOP_K),
                c.llama_sampler_init_top_p(TOP_P, 1),
                c.llama_sampler_init_min_p(MIN_P, 1),
                c.llama_sampler_init_temp(temperature),
                c.llama_sampler_init_dist(_RANDOM_SEED),
            ]
            if temperature > 0
            else [c.llama_sampler_init_greedy()]
        )
        for step in steps:
            c.llama_sampler_chain_add(chain, step)
        return chain

    def _piece(self, token: int) -> bytes:
        """Return the bytes of a token; of control tokens only those that the parser needs."""
        shown = self._token_text(token) in MARKS
        room = 64
        while True:
            found = ctypes.create_string_buffer(room)
            size = self._c.llama_token_to_piece(self._vocabulary, token, found, room, 0, shown)
            if size >= 0:
                return found.raw[:size]
            room = -size


def processor_cores() -> int:
    """Return the number of physical cores available: two threads on one core only wait for each other."""
    if not hasattr(os, "sched_getaffinity"):
        return os.cpu_count() or 1
    cores = set()
    for number in os.sched_getaffinity(0):
        siblings = str(number)
        with suppress(OSError):
            siblings = Path(_SIBLINGS.format(number)).read_text("ascii")
        cores.add(siblings)
    return len(cores)
