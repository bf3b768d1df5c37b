"""Google's Gemini API on a real socket: its format, and its rules for histories, signatures and schemas."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from aiohttp import web

from tests.fakes.model_server import KEY, ModelAnswer, ModelServer, ReceivedRequest

MODELS = ("gemini-3.8-flash", "gemini-3-pro-preview", "gemini-2.5-pro", "gemini-2.5-flash", "gemma-4-31b-it")
NO_SIGNATURE = "skip_thought_signature_validator"
PICTURES = {"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"}

_STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_REQUEST = {"contents", "systemInstruction", "tools", "generationConfig"}
_CONFIG = {"temperature", "maxOutputTokens", "thinkingConfig"}
_THINKING = {"thinkingLevel", "thinkingBudget", "includeThoughts"}
_PART = {"text", "thought", "thoughtSignature", "inlineData", "functionCall", "functionResponse"}
_DATA = {"text", "inlineData", "functionCall", "functionResponse"}
_DECLARATION = {"name", "description", "parameters", "parametersJsonSchema"}
_SCHEMA = {
    *("type", "format", "title", "description", "nullable", "enum", "default", "example", "anyOf"),
    *("items", "maxItems", "minItems", "minLength", "maxLength", "pattern", "minimum", "maximum"),
    *("properties", "required", "minProperties", "maxProperties", "propertyOrdering"),
}
_RESPONSES = (
    "Please ensure that the number of function response parts is equal to the number of function call parts"
)


class GeminiRefusal(Exception):
    """The service rejects a request; `field` names the offending field, if any."""

    def __init__(self, message: str, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class GeminiServer(ModelServer):
    """`models/{model}:streamGenerateContent` as server-sent events; without `takes_ids` like Vertex AI."""

    def __init__(self, *, key: str = KEY, takes_ids: bool = True) -> None:
        super().__init__(key=key)
        self.takes_ids = takes_ids
        self._signed: dict[str, object] = {}
        """The signed call, without its id, by signature."""

    @property
    def base_url(self) -> str:
        """The host without a path."""
        return self.root

    def add_routes(self, app: web.Application) -> None:
        app.router.add_post("/v1beta/models/{model:[^:/]+}:streamGenerateContent", self.handle)

    def error(
        self, status: int, message: str, *, code: str = "", headers: Mapping[str, str] | None = None
    ) -> web.Response:
        """Return an error; `code` is its reason."""
        info = {
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": code,
            "domain": "googleapis.com",
        }
        return _error(status, message, [info] if code else [], headers)

    def not_found(self, request: web.Request) -> web.Response:
        """Return an empty 404: unknown paths do not reach the service itself."""
        return web.Response(status=404, content_type="text/html")

    def objection(self, asked: ReceivedRequest) -> web.Response | None:
        key = asked.headers.get("x-goog-api-key")
        if key is None or "key=" in asked.path:
            return self.error(403, "Method doesn't allow unregistered callers.")
        if key != self.key:
            return self.error(400, "API key not valid. Please pass a valid API key.", code="API_KEY_INVALID")
        model = _model(asked)
        if model not in MODELS:
            return self.error(404, f"models/{model} is not found for API version v1beta.")
        try:
            assert asked.path.endswith("?alt=sse")
            _check_fields(asked.body, takes_ids=self.takes_ids)
            _check_config(model, asked.body.get("generationConfig", {}))
            _check_turns(asked.body["contents"])
            if not model.startswith("gemini-2"):
                self._check_signatures(asked.body["contents"])
        except GeminiRefusal as refused:
            violations = [{"field": refused.field, "description": str(refused)}]
            bad = {"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": violations}
            return _error(400, str(refused), [bad] if refused.field else [])
        return None

    def _check_signatures(self, contents: list[dict[str, Any]]) -> None:
        """Check only the current turn: everything after the person's last message."""
        for content in reversed(contents):
            calls = [part for part in content["parts"] if "functionCall" in part]
            if content["role"] == "user" and any("functionResponse" not in part for part in content["parts"]):
                return
            if calls and not calls[0].get("thoughtSignature"):
                name = calls[0]["functionCall"]["name"]
                raise GeminiRefusal(
                    f"Function call is missing a thought_signature in functionCall parts: {name}"
                )
            for part in content["parts"]:
                signature = part.get("thoughtSignature", NO_SIGNATURE)
                if signature != NO_SIGNATURE and self._signed.get(signature) != _needs_signature(part):
                    raise GeminiRefusal("Thought signature is not valid.")

    # -- answers ------------------------------------------------------------------------------------------

    def events(self, asked: ReceivedRequest, says: ModelAnswer) -> list[bytes]:
        texts = [says.text] if isinstance(says.text, str) else says.text
        thought = [{"text": says.thought, "thought": True}] if says.thought else []
        parts: list[dict[str, Any]] = [*thought, *({"text": text} for text in texts if text)]
        stop = says.stop or "STOP"
        for number, (name, arguments) in enumerate(says.calls):
            args = _arguments(arguments)
            if args is None:  # never reaches the client
                stop = "MALFORMED_FUNCTION_CALL"
                break
            parts.append({"functionCall": {"name": name, "args": args, "id": f"call{number}"}})
        if not _model(asked).startswith("gemini-2"):
            self._sign(parts)
        usage = {"promptTokenCount": says.input_tokens, "totalTokenCount": says.input_tokens}
        chunks = [_chunk(usage, content=_content(part)) for part in parts]
        thoughts = says.output_tokens // 2 if says.thought else 0
        usage["candidatesTokenCount"] = says.output_tokens - thoughts
        usage["totalTokenCount"] += says.output_tokens
        if thoughts:
            usage["thoughtsTokenCount"] = thoughts
        if says.cached_tokens:
            usage["cachedContentTokenCount"] = says.cached_tokens
        chunks.append(_chunk(usage, content={"role": "model"}, finishReason=stop))
        return [sse(chunk) for chunk in chunks]

    def _sign(self, parts: list[dict[str, Any]]) -> None:
        """Sign the first call, or if there is none, an empty text at the end."""
        first = next((part for part in parts if "functionCall" in part), None)
        if first is None:
            parts.append(first := {"text": ""})
        signature = f"c2lnbmF0dXJl{len(self._signed):04}"
        self._signed[signature] = _needs_signature(first)
        first["thoughtSignature"] = signature


def sse(chunk: object) -> bytes:
    """Return one event as Google writes it."""
    return b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\r\n\r\n"


def _error(
    status: int,
    message: str,
    details: Sequence[Mapping[str, object]],
    headers: Mapping[str, str] | None = None,
) -> web.Response:
    error: dict[str, object] = {"code": status, "message": message, "status": _STATUS.get(status, "UNKNOWN")}
    if details:
        error["details"] = details
    return web.json_response({"error": error}, status=status, headers=headers)


def _model(asked: ReceivedRequest) -> str:
    return asked.path.removeprefix("/v1beta/models/").partition(":")[0]


def _chunk(usage: Mapping[str, int], **candidate: object) -> Mapping[str, object]:
    return {"candidates": [{**candidate, "index": 0}], "usageMetadata": dict(usage), "responseId": "x1"}


def _content(part: object) -> Mapping[str, object]:
    return {"parts": [part], "role": "model"}


def _arguments(arguments: Mapping[str, Any] | str) -> Mapping[str, Any] | None:
    if not isinstance(arguments, str):
        return arguments
    try:
        found = json.loads(arguments)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _needs_signature(part: Mapping[str, Any]) -> object:
    call = part.get("functionCall")
    return {key: value for key, value in call.items() if key != "id"} if call else part.get("text")


# -- rules ------------------------------------------------------------------------------------------------


def _check_known_fields(known: set[str], fields: Mapping[str, Any], where: str) -> None:
    for name in fields:
        if name not in known:
            raise GeminiRefusal(
                f"Invalid JSON payload received. Unknown name \"{name}\" at '{where}'.", where
            )


def _check_fields(body: Mapping[str, Any], *, takes_ids: bool) -> None:
    _check_known_fields(_REQUEST, body, "")
    if not body["contents"]:
        raise GeminiRefusal("* GenerateContentRequest.contents: contents is not specified")
    for turn, content in enumerate(body["contents"]):
        _check_known_fields({"role", "parts"}, content, f"contents[{turn}]")
        if content["role"] not in ("user", "model"):
            raise GeminiRefusal("Please use a valid role: user, model.")
        if not content["parts"]:
            raise GeminiRefusal(
                f"* GenerateContentRequest.contents[{turn}].parts: contents.parts must not be empty."
            )
        for place, part in enumerate(content["parts"]):
            _check_part(part, f"contents[{turn}].parts[{place}]", takes_ids=takes_ids)
    for tool in body.get("tools", []):
        for place, declaration in enumerate(tool["functionDeclarations"]):
            _check_declaration(declaration, f"tools[0].function_declarations[{place}]")


def _check_part(part: Mapping[str, Any], where: str, *, takes_ids: bool) -> None:
    _check_known_fields(_PART, part, where)
    data = part.keys() & _DATA
    if len(data) != 1 or (part.get("text") == "" and not part.get("thoughtSignature")):
        raise GeminiRefusal(f"* {where}.data: required oneof field 'data' must have one initialized field")
    if picture := part.get("inlineData"):
        _check_known_fields({"mimeType", "data"}, picture, f"{where}.inline_data")
        if picture["mimeType"] not in PICTURES:
            raise GeminiRefusal(f"Unsupported MIME type: {picture['mimeType']}")
    ids = {"id"} if takes_ids else set()
    for kind, snake, value in (
        ("functionCall", "function_call", "args"),
        ("functionResponse", "function_response", "response"),
    ):
        if function := part.get(kind):
            _check_known_fields({"name", value, *ids}, function, f"{where}.{snake}")
            if not re.fullmatch(r"[\w.:-]{1,128}", function["name"], re.ASCII):
                raise GeminiRefusal(f"* {where}.{snake}.name: Invalid function name.")
            if not isinstance(function[value], dict):
                raise GeminiRefusal("Proto field is not a message.", f"{where}.{snake}.{value}")


def _check_declaration(declaration: Mapping[str, Any], where: str) -> None:
    _check_known_fields(_DECLARATION, declaration, where)
    if {"parameters", "parametersJsonSchema"} <= declaration.keys():
        raise GeminiRefusal("parameters and parameters_json_schema are mutually exclusive.")
    for schema, place in _schemas(declaration.get("parameters"), f"{where}.parameters"):
        _check_known_fields(_SCHEMA, schema, place)
    for name in ("parameters", "parametersJsonSchema"):
        if name in declaration and not declaration[name].get("properties"):
            raise GeminiRefusal(f"* {where}.{name}.properties: should be non-empty for OBJECT type")


def _schemas(schema: Any, where: str) -> Iterator[tuple[Mapping[str, Any], str]]:
    if schema:
        yield schema, where
        for place, each in enumerate(schema.get("properties", {}).values()):
            yield from _schemas(each, f"{where}.properties[{place}].value")
        yield from _schemas(schema.get("items"), f"{where}.items")


def _check_config(model: str, config: Mapping[str, Any]) -> None:
    _check_known_fields(_CONFIG, config, "generation_config")
    thinking = config.get("thinkingConfig", {})
    _check_known_fields(_THINKING, thinking, "generation_config.thinking_config")
    level, budget = thinking.get("thinkingLevel"), thinking.get("thinkingBudget")
    if level is not None and budget is not None:
        raise GeminiRefusal("You can only set only one of thinking budget and thinking level.")
    if level is not None and (model.startswith("gemini-2") or level not in ("low", "medium", "high")):
        raise GeminiRefusal(f"Thinking level {level} is not supported for this model.")
    if thinking.get("includeThoughts") and model.startswith("gemma"):
        raise GeminiRefusal("Thinking is not enabled for this model.")
    if budget == 0 and "pro" in model:
        raise GeminiRefusal("Budget 0 is invalid. This model only works in thinking mode.")
    if budget is not None and budget > 24_576:
        raise GeminiRefusal(f"The thinking budget ({budget}) is invalid.")


def _check_turns(contents: list[dict[str, Any]]) -> None:
    """Check that each call has its result in the next turn, in order, and each result its call in the turn before."""
    before: list[dict[str, Any]] = []
    role = ""
    for content in contents:
        calls = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
        results = [part["functionResponse"] for part in content["parts"] if "functionResponse" in part]
        if calls and (content["role"], role) != ("model", "user"):
            raise GeminiRefusal("Please ensure that function call turn comes immediately after a user turn.")
        if len(results) != len(before):
            raise GeminiRefusal(_RESPONSES)
        for call, result in zip(before, results, strict=True):
            if call["name"] != result["name"]:
                raise GeminiRefusal(_RESPONSES)
            if call.get("id") != result.get("id"):
                raise GeminiRefusal("functionResponse.id does not match functionCall.id")
        before, role = calls, content["role"]
    if before:
        raise GeminiRefusal(_RESPONSES)
