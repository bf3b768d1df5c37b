"""Google's Gemini API: `models/{model}:streamGenerateContent`."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from bot.models.connection_pool import ConnectionPool
from bot.models.errors import (
    BadKey,
    ModelError,
    ModelNotFound,
    OutOfCredit,
    Overloaded,
    RateLimited,
    ServerFailed,
    TimedOut,
)
from bot.models.gemini_history import contents_of
from bot.models.gemini_reader import GeminiReader
from bot.models.http import HttpModel
from bot.models.options import ModelOptions
from bot.models.protocol import ModelRequest, ToolSpec
from memory.http_responses import HttpFailure

VERSION = "v1beta"

_KINDS: Mapping[object, type[ModelError]] = {
    # `error.details[].reason`
    "API_KEY_INVALID": BadKey,  # sent with 400, also for an expired key
    "BILLING_DISABLED": OutOfCredit,
    "MODEL_CAPACITY_EXHAUSTED": Overloaded,  # sent with 429
    # `error.status`
    "UNAUTHENTICATED": BadKey,
    "PERMISSION_DENIED": BadKey,
    "FAILED_PRECONDITION": OutOfCredit,  # 400: no free tier in this country
    "NOT_FOUND": ModelNotFound,
    "RESOURCE_EXHAUSTED": RateLimited,
    "UNAVAILABLE": Overloaded,
    "DEADLINE_EXCEEDED": TimedOut,
    "INTERNAL": ServerFailed,
    "UNKNOWN": ServerFailed,
    "CANCELLED": ServerFailed,
    "ABORTED": ServerFailed,
}
# Efforts that not every model takes: only some know "minimal", and none after 2.5 knows "none".
_LEVELS = {"none": "low", "minimal": "low", "xhigh": "high", "max": "high"}
# Token budgets that Google itself maps OpenAI's efforts to.
_BUDGETS = {"none": 0, "minimal": 1024, "low": 1024, "medium": 8192, "high": 24_576}
_PRO_MINIMUM = 128
_BY_BUDGET = re.compile(r"gemini-[12]\b")
_CALL_FIELD = re.compile(r"\bcontents\[\d+\]\.parts\[\d+\]\.function_?(?:call|response)$", re.IGNORECASE)


class GeminiChatDialect:
    """One model, asked with one key."""

    def __init__(self, options: ModelOptions) -> None:
        self._name = options.name
        model = options.model.removeprefix("models/")
        self.url = f"{options.base_url}/{VERSION}/models/{model}:streamGenerateContent?alt=sse"
        self.headers: Mapping[str, str] = {"x-goog-api-key": options.key} if options.key else {}
        self._config = _generation_config(model, options)
        self._takes_ids = True

    def body(self, request: ModelRequest) -> Mapping[str, Any]:
        """Return the request as JSON."""
        body: dict[str, Any] = {
            "contents": contents_of(request.messages, model=self._name, with_ids=self._takes_ids)
        }
        if request.system:
            body["systemInstruction"] = {"parts": [{"text": request.system}]}
        if request.tools:
            body["tools"] = [{"functionDeclarations": [_declaration(tool) for tool in request.tools]}]
        if self._config:
            body["generationConfig"] = self._config
        return body

    def reader(self) -> GeminiReader:
        """Return a reader for one answer."""
        return GeminiReader()

    def kind_of(self, failure: HttpFailure) -> type[ModelError] | None:
        """Return the error type by quota, by `error.details[].reason`, else by `error.status`."""
        error = failure.fields.get("error")
        if not isinstance(error, Mapping):
            return None
        details = list(_objects(error.get("details")))
        if any(_is_exhausted(quota) for detail in details for quota in _objects(detail.get("violations"))):
            return OutOfCredit
        names = [*(detail.get("reason") for detail in details), error.get("status")]
        return next((_KINDS[name] for name in names if isinstance(name, str) and name in _KINDS), None)

    def adapt(self, failure: HttpFailure) -> bool:
        """Drop the ids of calls, which Vertex AI and gateways in front of it reject."""
        error = failure.fields.get("error")
        if not self._takes_ids or not isinstance(error, Mapping):
            return False
        violations = (
            violation
            for detail in _objects(error.get("details"))
            for violation in _objects(detail.get("fieldViolations"))
        )
        self._takes_ids = not any(_CALL_FIELD.search(str(violation.get("field"))) for violation in violations)
        return not self._takes_ids


def _generation_config(model: str, options: ModelOptions) -> Mapping[str, Any]:
    config: dict[str, Any] = {}
    if options.temperature is not None:
        config["temperature"] = options.temperature
    if options.max_tokens is not None:
        config["maxOutputTokens"] = options.max_tokens
    if thinking := _thinking_config(model, options.reasoning_effort):
        config["thinkingConfig"] = thinking
    return config


def _thinking_config(model: str, effort: str | None) -> Mapping[str, Any]:
    """Return the fields that ask for thoughts, as a sign of life, if the model is sure to support them."""
    if _BY_BUDGET.match(model):
        if effort is None:
            return {}
        budget = _BUDGETS.get(effort, _BUDGETS["high"])
        if "pro" in model:  # these always think
            budget = max(budget, _PRO_MINIMUM)
        return {"thinkingBudget": budget, "includeThoughts": True} if budget else {"thinkingBudget": 0}
    config: dict[str, Any] = {"includeThoughts": True} if model.startswith("gemini-") else {}
    return config if effort is None else {**config, "thinkingLevel": _LEVELS.get(effort, effort)}


def _declaration(tool: ToolSpec) -> Mapping[str, Any]:
    """Return a tool as JSON Schema: `parameters` accepts only part of it and rejects any other keyword."""
    declaration: dict[str, Any] = {"name": tool.name, "description": tool.description}
    if tool.parameters.get("properties"):  # some models reject an object without properties
        declaration["parametersJsonSchema"] = tool.parameters
    return declaration


def _is_exhausted(quota: Mapping[str, object]) -> bool:
    """Return whether waiting as long as the provider suggests (always under a minute) would not help.

    That is so for daily quotas, and for models outside the plan: their quota is 0, which is omitted.
    """
    name = quota.get("quotaId")
    return isinstance(name, str) and ("PerDay" in name or quota.get("quotaValue") in (None, "0"))


def _objects(value: object) -> Iterator[Mapping[str, object]]:
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, Mapping))


def open_gemini(options: ModelOptions, connection: ConnectionPool) -> HttpModel:
    """Open Gemini; `base_url` is the host without a path, such as https://generativelanguage.googleapis.com."""
    return HttpModel(GeminiChatDialect(options), connection, options)
