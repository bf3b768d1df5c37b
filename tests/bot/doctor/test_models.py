import socket
import struct
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bot.doctor.check import Check
from bot.doctor.http_probe import HttpProbe
from bot.doctor.models import check_health, check_models, gguf_problem, is_model_listed
from bot.models.health import Health, RouteName
from tests.bot.doctor.sample_state import about, everything, find_check, statuses
from tests.fakes.model_list import ModelList
from tests.fakes.model_server import KEY, proxy_error
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.table_test import table_test

WRONG = "wrong-key-0987654321"
pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")


async def asked(
    kind: str,
    base_url: str,
    *,
    model: str = "m-1",
    seconds: float = 5.0,
    environment: Mapping[str, str] | None = None,
    chain: bool = True,
    **table: Any,
) -> list[Check]:
    """What is told of one provider, called mine."""
    settings = about(
        providers={"mine": {"kind": kind, "base_url": base_url, **table}},
        models={"chain": [f"mine/{model}"]}
        if chain
        else {"chain": ["builtin/notebook"], "on_error": {"auth": [f"mine/{model}"]}},
    )
    async with HttpProbe(seconds=seconds) as asking:
        checks = await check_models(settings, environment or {}, asking)
    return [check for check in checks if check.name == "mine"]


async def test_the_notebook_needs_nobody() -> None:
    async with HttpProbe() as asking:
        assert statuses(await check_models(about(), {}, asking)) == {"ok"}


@table_test(
    ("kind", "version", "path"),
    [("openai", "/v1", "/v1/models"), ("anthropic", "", "/v1/models"), ("gemini", "", "/v1beta/models")],
)
async def test_each_kind_is_asked_for_its_models_and_nothing_else(kind: str, version: str, path: str) -> None:
    async with ModelList("m-1") as server:
        [check] = await asked(kind, server.root + version, api_key=KEY)
        assert (check.status, check.detail) == ("ok", "answers and accepts the API key")
        assert server.asked == [f"GET {path}"]
        [check] = await asked(kind, server.root + version, api_key=WRONG)
        assert check.status == "fail"
        assert check.detail.startswith("rejects the API key: answered 40")
        assert check.fix == "set providers.mine.api_key or MINE_API_KEY"
        assert WRONG not in check.detail
        well, missing = await asked(kind, server.root + version, api_key=KEY, model="m-2")
        assert (well.status, missing.status) == ("ok", "warn")
        assert "did you mean m-1?" in missing.detail


async def test_of_a_model_that_ollama_lacks_doctor_says_how_to_get_it() -> None:
    async with ModelList("qwen3:latest") as server, HttpProbe() as asking:
        tables = {"ollama": {"base_url": f"{server.root}/api", "api_key": KEY}}
        settings = about(providers=tables, models={"chain": ["ollama/qwen3", "ollama/qwen4"]})
        checks = await check_models(settings, {}, asking)
    [missing] = [check for check in checks if check.status == "warn"]
    assert missing.detail == "qwen4 is not in its list of models, which has qwen3:latest"
    assert missing.fix == "run `ollama pull qwen4`, or correct models.chain"


async def test_a_provider_that_is_asked_only_when_others_fail_is_a_warning() -> None:
    async with ModelList("m-1") as server:
        [check] = await asked("openai", f"{server.root}/v1", api_key=WRONG, chain=False)
        assert check.status == "warn"


async def test_one_bad_key_among_good_ones_is_a_warning_that_says_which() -> None:
    async with ModelList("m-1") as server:
        checks = await asked("openai", f"{server.root}/v1", api_keys=[KEY, WRONG])
    assert [check.status for check in checks] == ["ok", "warn"]
    assert checks[1].detail.endswith("(key 2 of 2)")


async def test_a_key_that_is_missing_is_told_without_asking_anybody() -> None:
    settings = about(models={"chain": ["openai/gpt-4.1"]})
    async with HttpProbe() as asking:
        check = find_check(await check_models(settings, {}, asking), "openai")
    assert (check.status, check.detail) == ("fail", "it has no API key")
    assert "OPENAI_API_KEY" in check.fix


async def test_a_key_that_can_be_none_is_told(tmp_path: Path) -> None:
    [check] = await asked("openai", "http://127.0.0.1:1/v1", api_key="schlüssel")
    assert (check.status, "schlüssel" in everything([check])) == ("fail", False)


async def test_a_server_that_is_not_there_fails_with_the_mend() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        [check] = await asked("openai", f"http://127.0.0.1:{free.getsockname()[1]}/v1", api_key=KEY)
    assert check.status == "fail"
    assert "cannot be reached" in check.detail
    assert "providers.mine.base_url" in check.fix


@pytest.mark.thorough
async def test_a_provider_that_hangs_leaves_no_other_unchecked() -> None:
    async with ModelList("m-1") as server, HttpProbe(seconds=60) as asking:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            silent_url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
            settings = about(
                providers={
                    "silent": {"kind": "openai", "base_url": silent_url, "api_key": KEY},
                    "mine": {"kind": "openai", "base_url": f"{server.root}/v1", "api_key": KEY},
                },
                models={"chain": ["silent/m-1", "mine/m-1"]},
            )
            checks = await check_models(settings, {}, asking, seconds=1)
    assert find_check(checks, "chain").detail == "silent/m-1 → mine/m-1"
    assert (find_check(checks, "silent").status, find_check(checks, "silent").detail) == (
        "warn",
        "it took more than 1 s",
    )
    assert (find_check(checks, "mine").status, find_check(checks, "mine").detail) == (
        "ok",
        "answers and accepts the API key",
    )


async def test_a_server_that_hangs_is_not_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        began = time.monotonic()
        [check] = await asked("openai", f"http://127.0.0.1:{silent.getsockname()[1]}/v1", seconds=0.2)
    assert time.monotonic() - began < 5
    assert (check.status, "did not answer within 0.2 s" in check.detail) == ("fail", True)


@table_test(
    ("status", "body", "told"),
    [
        (429, {"error": {"message": "slow down"}}, "429 (slow down)"),
        (402, {"error": {"message": "no credit"}}, "402 (no credit)"),
        (503, "<html>nginx</html>", "503"),
        (302, "", "redirects elsewhere"),
        (404, "<html>", "has no list of models"),
    ],
)
async def test_other_refusals_are_told_as_they_are(status: int, body: Any, told: str) -> None:
    async with ModelList("m-1") as server:
        server.status, server.body = status, body
        [check] = await asked("openai", f"{server.root}/v1", api_key=KEY)
    assert told in check.detail
    assert check.status == ("fail" if status == 302 else "warn")
    assert check.fix


async def test_what_a_provider_repeats_of_the_key_is_blanked_out() -> None:
    async with ModelList("m-1") as server:
        server.status, server.body = 500, {"error": {"message": f"broke with {KEY}"}}
        [check] = await asked("openai", f"{server.root}/v1", api_key=KEY)
    assert KEY not in check.detail


@table_test("key", [KEY, WRONG])
async def test_a_version_that_is_missing_in_an_address_is_found_and_told(key: str) -> None:
    async with ModelList("m-1") as server:
        [check] = await asked("openai", server.root, api_key=key)
        assert server.asked == ["GET /models", "GET /v1/models"]
    assert check.status == ("ok" if key == KEY else "fail")
    if key == KEY:
        assert check.detail == "answers at /v1 (missing at the end of base_url) and accepts the API key"


async def test_nothing_else_is_tried_where_an_address_leads_nowhere() -> None:
    async with ModelList("m-1") as server:
        for base_url in (f"{server.root}/v2", f"{server.root}/v1/v1"):
            [check] = await asked("openai", base_url, api_key=KEY)
            assert "has no list of models" in check.detail
        assert server.asked == ["GET /v2/models", "GET /v1/v1/models"]


async def test_a_version_in_an_address_that_wants_none_fails() -> None:
    [check] = await asked("anthropic", "https://api.anthropic.com/v1", api_key=KEY)
    assert (check.status, "remove the version" in check.fix) == ("fail", True)


async def test_a_server_that_knows_no_list_is_told_so() -> None:
    async with OpenAIServer() as server:
        server.always(proxy_error())
        [check] = await asked("openai", server.base_url, api_key=KEY)
    assert check.status == "warn"
    assert "/v1" in check.fix


@table_test(
    ("model", "listed", "found"),
    [
        ("gpt-4.1", ["gpt-4.1", "o3"], True),
        ("gpt-4", ["gpt-4.1", "o3"], False),
        ("claude-sonnet-4-5", ["claude-sonnet-4-5-20250929"], True),
        ("claude-3-5-haiku-latest", ["claude-3-5-haiku-20241022"], True),
        ("llama3", ["llama3:latest"], True),
        ("x/y:free", ["x/y"], True),
        ("x/y", [], False),
    ],
)
def test_a_model_is_known_by_its_name_with_or_without_a_date(
    model: str, listed: list[str], found: bool
) -> None:
    assert is_model_listed(model, listed) is found


def test_models_that_are_left_to_rest_are_told() -> None:
    now = time.time()
    resting = Health(
        RouteName("mine/m"),
        failed_in_a_row=3,
        last_error="answered 500",
        rests_until=now + 60,
        rest_seconds=60,
    )
    [check] = check_health([resting, Health(RouteName("mine/n"))], ["mine/m", "mine/n"], now=now)
    assert (check.status, check.detail) == (
        "warn",
        "mine/m is paused after 3 failures in a row: answered 500",
    )
    assert list(check_health([resting], ["other/m"], now=now)) == []


def test_a_file_that_is_no_model_is_told(tmp_path: Path) -> None:
    file = tmp_path / "model.gguf"
    assert gguf_problem(file) == f"{file} does not exist"
    file.write_bytes(b"PK\x03\x04")
    assert gguf_problem(file) == f"{file} is not a GGUF file"
    file.write_bytes(b"GGUF" + struct.pack("<I", 3))
    assert gguf_problem(file) == ""


async def test_a_local_model_without_its_file_fails_with_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.doctor.models.find_spec", lambda _: object())
    [check] = await asked("llama_cpp", "", model_path=str(tmp_path / "gone.gguf"))
    assert (check.status, "providers.mine.model_path" in check.fix) == ("fail", True)
    monkeypatch.setattr("bot.doctor.models.find_spec", lambda _: None)
    [check] = await asked("llama_cpp", "", model_path=str(tmp_path / "gone.gguf"))
    assert "make local" in check.fix
