import socket
from pathlib import Path
from typing import Any

import pytest

from bot.doctor.check import Check
from bot.doctor.embeddings import check_embeddings
from bot.embedding import open_embedding_from_settings
from memory.embeddings.protocol import digest_version
from memory.index.sqlite_inspection import IndexInspection, ModelVectors
from tests.bot.doctor.sample_state import about, everything, find_check, statuses
from tests.fakes.embedding_server import KEY, EmbeddingServer, error


def indexed(*vectors: ModelVectors) -> IndexInspection:
    return IndexInspection(True, True, {"a.md": (1, 1, 1)}, {}, 1, "", vectors)


async def told(
    section: dict[str, Any],
    index: IndexInspection | None = None,
    *,
    alive: bool = False,
    seconds: float = 10.0,
    **others: Any,
) -> list[Check]:
    settings = about(memory={"embedding": section}, **others)
    embedding = open_embedding_from_settings(settings)
    try:
        return await check_embeddings(settings, embedding, index, alive=alive, seconds=seconds)
    finally:
        if embedding.embedder:
            await embedding.embedder.close()


async def test_nobody_is_well_where_nobody_was_asked_for() -> None:
    [check] = await told({})
    assert (check.status, check.detail.startswith("none: ")) == ("ok", True)


async def test_a_provider_is_asked_for_the_vector_of_one_word_of_ours() -> None:
    async with EmbeddingServer() as server:
        section = {"provider": "openai", "base_url": server.base_url("openai"), "api_key": KEY}
        checks = await told(section, indexed())
        assert statuses(checks) == {"ok"}
        assert find_check(checks, "answer").detail == "answers with vectors of 1536 dimensions"
        assert [asked.texts for asked in server.requests] == [("commonplace",)]


async def test_a_key_that_is_refused_fails_where_the_provider_was_set() -> None:
    async with EmbeddingServer() as server:
        section = {"provider": "openai", "base_url": server.base_url("openai"), "api_key": "wrong-key-123"}
        check = find_check(await told(section), "answer")
    assert check.status == "fail"
    assert "401" in check.detail
    assert "by words only" in check.fix
    assert "wrong-key-123" not in everything([check])


async def test_one_that_was_chosen_by_itself_is_a_warning() -> None:
    provider = {"kind": "openai", "base_url": "http://127.0.0.1:1/v1", "api_key": KEY}
    checks = await told({}, providers={"openai": provider})
    assert find_check(checks, "answer").status == "warn"


async def test_a_fallback_is_asked_as_well() -> None:
    async with EmbeddingServer() as server:
        section = {
            "provider": "openai", "base_url": server.base_url("openai"), "api_key": KEY, "fallback": "voyage"
        }  # fmt: skip
        table = {"voyage": {"kind": "openai", "base_url": server.base_url("voyage"), "api_key": "wrong"}}
        checks = await told(section, providers=table)
    assert [check.status for check in checks if check.name == "fallback"] == ["ok", "warn"]


@pytest.mark.thorough
async def test_a_provider_that_hangs_leaves_its_fallback_to_be_checked() -> None:
    async with EmbeddingServer() as server:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            section = {
                "provider": "ollama",
                "base_url": f"http://127.0.0.1:{silent.getsockname()[1]}",
                "fallback": "openai",
            }
            openai = {"kind": "openai", "base_url": server.base_url("openai"), "api_key": KEY}
            checks = await told(section, providers={"openai": openai}, seconds=1)
    assert find_check(checks, "answer").detail == "it took more than 1 s"
    assert [each.status for each in checks if each.name == "fallback"] == ["ok", "ok"]


async def test_vectors_of_another_model_are_told_before_they_are_paid_for_again() -> None:
    async with EmbeddingServer() as server:
        section = {"provider": "openai", "base_url": server.base_url("openai"), "api_key": KEY}
        version = digest_version(server.base_url("openai"))
        mine = ModelVectors("openai", f"text-embedding-3-small@{version}", 1536, 12)
        assert (
            find_check(await told(section, indexed(mine)), "stored").detail == "12 of text-embedding-3-small"
        )
        before = ModelVectors("openai", "text-embedding-3-small", 1536, 12)
        check = find_check(await told(section, indexed(before)), "stored")
        assert check.status == "ok"
        assert check.detail.startswith("12 of an earlier text-embedding-3-small, kept if")
        shorter = ModelVectors("openai", "text-embedding-3-small", 512, 12)
        other = ModelVectors("gemini", "gemini-embedding-001", 768, 12)
        for stored in (shorter, other):
            check = find_check(await told(section, indexed(stored)), "stored")
            assert check.status == "warn"
            assert f"({stored.dimensions} dimensions)" in check.detail
            assert "will be made again" in check.detail


async def test_a_broken_service_is_told_as_such() -> None:
    async with EmbeddingServer() as server:

        async def broken(_: Any, asked: Any) -> Any:
            return error(asked, 500)

        server.always(broken)
        section = {"provider": "openai", "base_url": server.base_url("openai"), "api_key": KEY}
        assert "500" in find_check(await told(section), "answer").detail


@pytest.mark.parametrize("alive", [True, False])
async def test_a_local_model_is_never_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alive: bool
) -> None:
    monkeypatch.setattr("bot.doctor.embeddings.find_spec", lambda _: object())
    local = {"model_path": "hf:a/b/c.gguf", "cache_dir": str(tmp_path)}
    checks = await told({"provider": "local", "local": local}, alive=alive)
    assert find_check(checks, "answer").detail.startswith("the model will be downloaded")
    local["model_path"] = str(tmp_path / "gone.gguf")
    checks = await told({"provider": "local", "local": local}, alive=alive)
    assert find_check(checks, "answer").status == "fail"
    assert list(tmp_path.iterdir()) == []


async def test_beside_what_runs_no_second_model_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.doctor.embeddings.find_spec", lambda _: object())
    file = tmp_path / "model.gguf"
    file.write_bytes(b"GGUF no more of it")
    checks = await told({"provider": "local", "local": {"model_path": str(file)}}, alive=True)
    assert "not loaded again" in find_check(checks, "answer").detail


async def test_without_the_library_the_mend_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.doctor.embeddings.find_spec", lambda _: None)
    check = find_check(await told({"provider": "local"}), "answer")
    assert (check.status, "make local" in check.fix) == ("fail", True)
