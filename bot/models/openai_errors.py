"""Pure: interpret errors in OpenAI's format by their codes and types, never by their words."""

from collections.abc import Iterator, Mapping

from bot.models.dialect import kind_of_status
from bot.models.errors import (
    BadKey,
    BadRequest,
    ContentRefused,
    ContextTooLong,
    ModelError,
    ModelNotFound,
    OutOfCredit,
    Overloaded,
    RateLimited,
    ServerFailed,
    TimedOut,
)
from memory.http_responses import HttpFailure, parse_fields

_KINDS: Mapping[type[ModelError], tuple[str, ...]] = {
    OutOfCredit: (
        "insufficient_quota",
        "billing_hard_limit_reached",
        "billing_not_active",
        "credit_balance_exhausted",
        "payment_required",  # OpenRouter
        "exceeded_current_quota_error",  # Moonshot
        "Arrearage",  # Alibaba
        *("1113", "1309"),  # Zhipu: in arrears, subscription expired
    ),
    BadKey: (
        "invalid_api_key",
        "authentication_error",
        "invalid_authentication_error",  # Moonshot
        "authentication",  # OpenRouter
        *("1000", "1001", "1002", "1003", "1004", "1110", "1111", "1112", "1121", "1220", "1311"),  # Zhipu
    ),
    ModelNotFound: (
        "model_not_found",
        "model_decommissioned",  # Groq
        "invalid_model",  # Mistral
        "model_not_available",  # Together
        "dedicated_endpoint_not_running",
        "DeploymentNotFound",  # Azure
        "NotFoundError",  # vLLM
        "not_found_error",  # llama.cpp
        *("1211", "1222"),  # Zhipu
    ),
    ContextTooLong: (
        "context_length_exceeded",
        "string_above_max_length",
        "string_too_long",  # OpenRouter
        "exceed_context_size_error",  # llama.cpp
        "1261",  # Zhipu
    ),
    RateLimited: (
        "rate_limit_exceeded",
        "rate_limit_error",
        "rate_limit_reached_error",  # Moonshot
        "rate_limited",  # Mistral
        *("1302", "1303", "1304", "1305", "1308", "1310", "1313"),  # Zhipu
    ),
    Overloaded: (
        "server_is_overloaded",
        "server_overloaded",
        "slow_down",
        "overloaded_error",
        "service_unavailable_error",
        "engine_overloaded_error",  # Moonshot
        "provider_overloaded",  # OpenRouter
        "capacity_exceeded",  # Groq
        "service_tier_capacity_exceeded",  # Mistral
        "unavailable_error",  # llama.cpp, while loading
        "1312",  # Zhipu
    ),
    TimedOut: ("timeout",),  # OpenRouter
    ContentRefused: (
        "content_filter",
        "content_policy_violation",
        "invalid_prompt",
        "ResponsibleAIPolicyViolation",  # Azure
        "refusal",  # OpenRouter
        "data_inspection_failed",  # Alibaba
        "1301",  # Zhipu
    ),
}
_KIND_OF: Mapping[str, type[ModelError]] = {name: kind for kind, names in _KINDS.items() for name in names}
_OUR_FAULT = ("invalid_request_error", "BadRequestError")
_OF_THE_REQUEST = (ContextTooLong, ContentRefused)
_UNKNOWN_FIELD = (None, "", "unknown_parameter", "unsupported_parameter", "unsupported_value")


def kind_of(failure: HttpFailure) -> type[ModelError] | None:
    """Return what an error's code or type means; None leaves it to the status. Errors in a stream have no status."""
    error = _error(failure)
    if failure.status == 413:  # Groq reports a request larger than a minute's tokens as a rate limit
        return ContextTooLong
    for name in _names(error):
        if kind := _KIND_OF.get(name):
            return kind
    if error.get("param") == "input_tokens":  # vLLM
        return ContextTooLong
    if failure.status >= 400:
        return None
    code = error.get("code")
    if isinstance(code, int) and code >= 400:
        return kind_of_status(code)
    return BadRequest if error.get("type") in _OUR_FAULT else ServerFailed


def refused_field(failure: HttpFailure) -> str | None:
    """Return the body field that the server reports as unknown or unsupported by this model."""
    if failure.status not in (400, 422):
        return None
    error = _error(failure)
    param = error.get("param")
    if isinstance(param, str) and error.get("code") in _UNKNOWN_FIELD:
        return param.partition(".")[0]
    message = failure.fields.get("message")
    for place in (failure.fields, message):
        match place:
            case {"detail": list(details)}:
                return next(_extra_fields(details), None)
    return None


def _error(failure: HttpFailure) -> Mapping[str, object]:
    """Return the error object; Mistral and older vLLM do not wrap it."""
    error = failure.fields.get("error")
    return error if isinstance(error, dict) else failure.fields


def _names(error: Mapping[str, object]) -> Iterator[str]:
    """Yield every name that an error gives its kind, the most specific first."""
    code, kind = error.get("code"), error.get("type")
    if isinstance(code, str) and not (
        kind and code.isdecimal()
    ):  # Zhipu has no type, Mistral uses other numbers
        yield code
    if isinstance(kind, str):
        yield kind
    match error.get("innererror"):  # Azure
        case {"code": str(inner)}:
            yield inner
    match error.get("metadata"):  # OpenRouter
        case {"reasons": list()}:
            yield "content_filter"
        case {"limit_source": "openrouter_in_flight_budget"}:  # a 402 that clears as the other calls end
            yield "rate_limit_exceeded"
        case {"error_type": str(error_type)} if (
            error_type != "invalid_prompt"
        ):  # a malformed request, at OpenRouter
            yield error_type
        case {"raw": str(raw)}:  # from the provider behind it, whose account and limits are not ours
            match parse_fields(raw.encode("utf-8", "replace")).get("error"):
                case {"code": str(inner)} if _KIND_OF.get(inner) in _OF_THE_REQUEST:
                    yield inner


def _extra_fields(details: list[object]) -> Iterator[str]:
    for detail in details:
        match detail:
            case {"type": "extra_forbidden", "loc": ["body", str(name), *_]}:
                yield name
