import pytest
from pydantic import ValidationError

from memory.settings import ChunkSettings, IndexSettings, MemorySettings, SearchSettings, check_web_address
from tests.fakes.table_test import table_test


def test_every_section_has_its_defaults_without_being_named() -> None:
    settings = MemorySettings()
    assert settings.path == "memory"
    assert settings.chunk == ChunkSettings(target_tokens=400, overlap_tokens=80)
    assert settings.embedding.provider == "auto"
    assert settings.embedding.local.cache_dir == "~/.cache/commonplace/models"
    assert settings.embedding.cache.max_entries == 50_000
    assert settings.search.final_top_k == 5
    assert settings.watch.debounce_seconds == 1.5
    assert settings.reindex.interval_minutes == 60


def test_sections_are_frozen() -> None:
    with pytest.raises(ValidationError):
        MemorySettings().path = "elsewhere"  # type: ignore[misc]


@table_test(
    "path",
    [
        "",
        ".",
        "/",
        "/etc",
        "..",
        "../notes",
        "a/../../b",
        "~",
        "~/notes",
        ".commonplace",
        ".commonplace/x",
        "a\0b",
        "a\nb",
        " notes",
        "notes ",
        "C:\\notes",
        "//server/share",
        "./../x",
    ],
)
def test_a_folder_that_may_be_outside_the_workspace_is_refused(path: str) -> None:
    with pytest.raises(ValidationError, match="a folder inside the workspace"):
        MemorySettings(path=path)


@table_test("path", ["memory", "notes/mine", "./memory", "Notizen für mich", "笔记", "..notes", "a..b"])
def test_a_folder_inside_the_workspace_is_accepted(path: str) -> None:
    assert MemorySettings(path=path).path == path


@table_test(("target", "overlap"), [(80, 80), (50, 80), (1, 1)])
def test_an_overlap_that_is_not_smaller_than_the_chunk_is_refused(target: int, overlap: int) -> None:
    with pytest.raises(ValidationError, match=f"less than target_tokens, which is {target}"):
        ChunkSettings(target_tokens=target, overlap_tokens=overlap)


def test_one_weight_may_be_0_but_not_both() -> None:
    assert SearchSettings(vector_weight=0).text_weight == 0.3
    assert SearchSettings(text_weight=0).vector_weight == 0.7
    with pytest.raises(ValidationError, match="more than 0"):
        SearchSettings(vector_weight=0, text_weight=0)


@table_test(
    "address", ["", "http://localhost:11434", "https://api.openai.com/v1", "HTTPS://x", "http://[::1]:80"]
)
def test_web_addresses_are_accepted(address: str) -> None:
    assert check_web_address(address) == address


@table_test(
    "address",
    [
        "localhost",
        "ftp://x",
        "http:/x",
        "http://",
        "https:///v1",
        "http://a b",
        "http://a\n",
        "file:///etc",
        "://x",
    ],
)
def test_other_addresses_are_refused(address: str) -> None:
    with pytest.raises(ValueError, match="begins with http:// or https://"):
        check_web_address(address)


def test_secrets_do_not_show_in_repr_or_dumps() -> None:
    settings = IndexSettings.model_validate({"url": "postgresql://me:s3cret@host/db"})
    assert settings.url.get_secret_value() == "postgresql://me:s3cret@host/db"
    for text in (repr(settings), str(settings), str(settings.model_dump()), settings.model_dump_json()):
        assert "s3cret" not in text
