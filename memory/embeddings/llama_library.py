"""llama.cpp's C functions: load the library, silence it, collect its errors, stop its work."""

import ctypes
import os
import threading
from importlib import import_module
from typing import Any

from memory.installation import how_to_add, how_to_install
from memory.translatable import Translatable, TranslatableError

_ERROR_LEVEL = 4

_loading = threading.Lock()
_errors = threading.local()
_log_callback: Any = None  # C holds no reference to it


class LibraryUnusable(TranslatableError):
    """llama-cpp-python is missing or does not run; the text is the end of a sentence that begins with the model."""


class StopFlag:
    """A flag that makes llama.cpp abort its work; it cannot be cleared."""

    def __init__(self) -> None:
        self._digit = ctypes.create_string_buffer(b"0")

    def set(self) -> None:
        self._digit[0] = b"1"

    def is_set(self) -> bool:
        return self._digit[0] == b"1"

    def as_callback(self, kind: Any) -> tuple[Any, ctypes.c_void_p]:
        """Return a C function and its argument, which llama.cpp calls after each of a thousand small steps."""
        # `atoi("0")` is false and `atoi("1")` is true: a C function that needs neither Python nor the GIL.
        return ctypes.cast(ctypes.CDLL(None).atoi, kind), ctypes.cast(self._digit, ctypes.c_void_p)


def not_installed(module: str | None = "llama_cpp") -> Translatable:
    """Return the end of a sentence that begins with the model and says that a module is missing."""
    return Translatable(
        "needs {module}, which is not installed: run {command}", module=module, command=how_to_add("local")
    )


def load_library() -> Any:
    """Load llama.cpp and silence it: it would log to standard error. Raises `LibraryUnusable`."""
    global _log_callback
    with _loading:
        if "OMP_WAIT_POLICY" not in os.environ:
            # If other processes are busy too, threads that spin for each other waste more than they work: 2.5
            # times the CPU at the same load. It is read once, when the library is loaded.
            os.environ.setdefault("GOMP_SPINCOUNT", "1000")
        try:
            library = import_module("llama_cpp.llama_cpp")
        except ModuleNotFoundError as error:
            raise LibraryUnusable(not_installed(error.name)) from None
        except (ImportError, OSError, RuntimeError) as error:
            raise LibraryUnusable(
                "needs llama-cpp-python, which is installed but does not run here ({error}); build it again: {command}",
                error=error,
                command=how_to_install(
                    "--force-reinstall", "--no-binary", "llama-cpp-python", "llama-cpp-python"
                ),
            ) from error
        if _log_callback is None:
            _log_callback = library.llama_log_callback(_collect_error)
            library.llama_log_set(_log_callback, None)
            library.llama_backend_init()
    return library


def model_parameters(library: Any) -> Any:
    """Return the parameters with which to load a file."""
    parameters = library.llama_model_default_params()
    parameters.n_gpu_layers = -1  # all of them, if llama.cpp was built for a GPU
    # Weights in AMX layout (Xeon since 2023) crash ggml with a protection fault: its compilers leave the tiles'
    # configuration unset (ggml-org/llama.cpp, 20824 and 26954).
    parameters.use_extra_bufts = b"AMX_INT8 = 1" not in library.llama_print_system_info()
    return parameters


def tokenize(library: Any, vocabulary: Any, text: bytes, *, ends: bool, controls: bool) -> list[int] | None:
    """Return a text's tokens; None if llama.cpp cannot read it.

    `ends`: with the tokens that a text begins and ends with; `controls`: read what looks like a control token as one.
    """
    room = len(text) + 8
    while True:
        found = (ctypes.c_int32 * room)()
        count = library.llama_tokenize(vocabulary, text, len(text), found, room, ends, controls)
        if count >= 0:
            return list(found[:count])
        if -count <= room:
            return None
        room = -count


def clear_errors() -> None:
    """Forget the errors of this thread."""
    _errors.lines = []


def first_error() -> str:
    """Return llama.cpp's first error on this thread since `clear_errors`, as `: …` for the middle of a sentence."""
    lines = [line.rpartition("error loading model: ")[2] for line in _errors.__dict__.get("lines", ())]
    return f": {lines[0]}" if lines else ""


def _collect_error(level: int, text: bytes, _nothing: object) -> None:
    if level == _ERROR_LEVEL:
        _errors.__dict__.setdefault("lines", []).append(text.decode("utf-8", "replace").strip())
