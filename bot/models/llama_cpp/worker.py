"""The process of a local model: reads requests as JSON lines, writes events as JSON lines.

`python -m bot.models.llama_cpp.worker FILE WINDOW`. Reads `{"ask": {…}}`, and `{"stop": true}` for the last
ask. Writes `{"loaded": window}`, or `{"error": kind, …}` before it exits; then for each ask the events of
`LoadedModel.answer`, or one error. It exits with its parent, whatever it is doing.
"""

import ctypes
import json
import os
import signal
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from queue import SimpleQueue
from typing import Any, BinaryIO, NamedTuple

from bot.models.errors import ContextTooLong, ModelError
from bot.models.llama_cpp.loaded_model import LoadedModel
from memory.embeddings.llama_library import StopFlag

_SET_PARENT_DEATH_SIGNAL = 1


class _Ask(NamedTuple):
    what: Mapping[str, Any]
    stop: StopFlag


def main() -> None:
    """Serve one parent until it exits."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    # Output printed by C code must not end up between the lines.
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    asks: SimpleQueue[_Ask] = SimpleQueue()
    threading.Thread(target=_listen, args=(asks,), daemon=True).start()
    try:
        model = LoadedModel(Path(sys.argv[1]), int(sys.argv[2]) or None)
    except ModelError as error:
        _send_error(out, error)
        return
    _send(out, {"loaded": model.window})
    while True:
        ask = asks.get()
        try:
            for event in model.answer(ask.what, ask.stop):
                _send(out, event)
        except ModelError as error:
            _send_error(out, error)


def _listen(asks: "SimpleQueue[_Ask]") -> None:
    stop = StopFlag()
    # Not `sys.stdin`: its lock would be held while Python exits.
    with os.fdopen(os.dup(0), "rb") as lines:
        for line in lines:
            message = json.loads(line)
            if "ask" in message:
                stop = StopFlag()
                asks.put(_Ask(message["ask"], stop))
            else:
                stop.set()
    os._exit(0)  # the parent is gone, and C code may run for long


def _send(out: BinaryIO, event: Mapping[str, object]) -> None:
    out.write(json.dumps(event).encode() + b"\n")


def _send_error(out: BinaryIO, error: ModelError) -> None:
    window = error.window if isinstance(error, ContextTooLong) else None
    _send(out, {"error": error.kind, "detail": error.detail, "window": window})


if __name__ == "__main__":
    main()
