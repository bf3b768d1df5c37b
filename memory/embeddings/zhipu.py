"""Zhipu AI's (BigModel's) embeddings: OpenAI's API with numeric error codes."""

from collections.abc import Mapping
from dataclasses import dataclass

from memory.embeddings.errors import (
    EmbeddingError,
    EmbeddingOutOfCredit,
    KeyRejected,
    LimitReached,
    ModelUnknown,
)
from memory.embeddings.http import HttpProvider
from memory.embeddings.openai import OpenAIEmbeddingDialect, open_dialect
from memory.embeddings.options import ProviderOptions
from memory.http_responses import HttpFailure

DIMENSIONS = {"embedding-3": 2048, "embedding-2": 1024}

_CODES: Mapping[object, type[EmbeddingError]] = {
    **dict.fromkeys(("1000", "1001", "1002", "1003", "1004", "1110", "1111", "1112", "1220"), KeyRejected),
    "1113": EmbeddingOutOfCredit,  # sent as 429
    **dict.fromkeys(("1211", "1212", "1221", "1222"), ModelUnknown),  # sent as 400
    **dict.fromkeys(("1302", "1303", "1305"), LimitReached),
}


@dataclass(frozen=True, slots=True)
class ZhipuEmbeddingDialect(OpenAIEmbeddingDialect):
    """OpenAI's API without base64 and with other error codes."""

    offers_base64: bool = False

    def kind_of(self, failure: HttpFailure) -> type[EmbeddingError] | None:
        """Return the error for `error.code`, a number as text."""
        match failure.fields.get("error"):
            case {"code": code}:
                return _CODES.get(str(code))
        return None


def open_zhipu(options: ProviderOptions) -> HttpProvider:
    """Open Zhipu; embedding-2 does not support `dimensions`."""
    return open_dialect(
        ZhipuEmbeddingDialect,
        options,
        request=0 if options.model == "embedding-2" else options.dimensions,
        known=DIMENSIONS.get(options.model, 0),
    )
