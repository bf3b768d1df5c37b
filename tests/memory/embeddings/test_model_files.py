import hashlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memory.embeddings.errors import (
    EmbeddingError,
    EmbeddingTimedOut,
    EmbeddingUnreachable,
    KeyRejected,
    LimitReached,
    ModelUnknown,
    ModelUnusable,
    ResponseUnusable,
    ServiceFailed,
)
from memory.embeddings.model_files import (
    DEFAULT_MODEL,
    DownloadProgress,
    DownloadStopped,
    HubFile,
    download_model,
    find_local_path,
    is_downloaded,
    model_name,
    parse_reference,
)
from tests.fakes.hub_server import REFERENCE, REPOSITORY, ModelHub, running_hub

CONTENT = b"GGUF" + bytes(range(256)) * 400
ROOT = Path(__file__).parents[3]


@pytest.fixture
def hub() -> Iterator[ModelHub]:
    with running_hub(CONTENT) as hub:
        yield hub


def get(hub: ModelHub, folder: Path, *, token: str = "", reference: str = REFERENCE, **options: Any) -> Path:
    environment = {"HF_ENDPOINT": hub.url, "HF_TOKEN": token}
    return download_model(reference, folder, environment=environment, pause=0.01, **options)


def leftovers(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*.part")]


# What a reference means


def test_a_path_stands_for_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert parse_reference("~/model.gguf") == tmp_path / "model.gguf"
    assert find_local_path("/a/model.gguf", "/cache") == Path("/a/model.gguf")


def test_a_hub_reference_has_its_place_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert parse_reference(REFERENCE) == HubFile(REPOSITORY, "small/tiny.gguf")
    assert find_local_path(REFERENCE, "~/cache") == tmp_path / "cache/someone/models/small/tiny.gguf"


def test_an_empty_reference_means_the_default_model(tmp_path: Path) -> None:
    assert parse_reference("") == parse_reference(DEFAULT_MODEL)
    assert find_local_path(" ", tmp_path).name == DEFAULT_MODEL.rpartition("/")[2]


@pytest.mark.parametrize(
    "reference",
    [
        "hf:",
        "hf:owner",
        "hf:owner/repo",
        "hf:owner/repo/",
        "hf:owner/repo/file.bin",
        "hf:owner/repo/../../file.gguf",
        "hf:../repo/file.gguf",
        "hf:owner/../file.gguf",
        "hf:owner/repo//file.gguf",
        "hf:ow ner/repo/file.gguf",
        "hf:owner/repo/a\\b.gguf",
        "hf:owner/repo/a\nb.gguf",
    ],
)
def test_an_invalid_reference_is_refused_with_an_example(reference: str, tmp_path: Path) -> None:
    with pytest.raises(ModelUnusable, match="hf:owner/repository/"):
        parse_reference(reference)
    assert not is_downloaded(reference, tmp_path)


def test_a_model_has_the_same_name_by_path_and_by_reference() -> None:
    assert model_name("/models/tiny.gguf") == model_name(REFERENCE) == "tiny"
    assert model_name("") == "granite-embedding-107m-multilingual-Q8_0"


def test_a_model_exists_locally_once_its_file_is_there(tmp_path: Path) -> None:
    assert not is_downloaded(REFERENCE, tmp_path)
    place = find_local_path(REFERENCE, tmp_path)
    place.parent.mkdir(parents=True)
    place.write_bytes(CONTENT)
    assert is_downloaded(REFERENCE, tmp_path)
    assert is_downloaded(str(place), tmp_path / "elsewhere")
    assert not is_downloaded(str(place.parent), tmp_path)
    assert not is_downloaded("~nobody-of-this-name/model.gguf", tmp_path)


# Fetching


def test_a_file_is_fetched_once(hub: ModelHub, tmp_path: Path) -> None:
    path = get(hub, tmp_path)
    assert path == find_local_path(REFERENCE, tmp_path)
    assert path.read_bytes() == CONTENT
    assert leftovers(tmp_path) == []
    asked = len(hub.asked)
    assert get(hub, tmp_path) == path
    assert len(hub.asked) == asked


def test_a_path_is_never_fetched(hub: ModelHub, tmp_path: Path) -> None:
    assert get(hub, tmp_path, reference=str(tmp_path / "none.gguf")) == tmp_path / "none.gguf"
    assert hub.asked == []


def test_the_token_stays_with_the_hub(hub: ModelHub, tmp_path: Path) -> None:
    hub.token = "hf_secret"
    get(hub, tmp_path, token="hf_secret")
    assert {one.authorization for one in hub.asked if one.server == "hub"} == {"Bearer hf_secret"}
    assert {one.authorization for one in hub.asked if one.server == "store"} == {""}


def test_a_plain_server_without_redirects_works(hub: ModelHub, tmp_path: Path) -> None:
    hub.direct = True
    assert get(hub, tmp_path).read_bytes() == CONTENT


def test_a_hub_that_sends_neither_size_nor_hash_works(hub: ModelHub, tmp_path: Path) -> None:
    hub.tells_hash = False
    assert get(hub, tmp_path).read_bytes() == CONTENT


def test_an_interrupted_download_is_resumed(hub: ModelHub, tmp_path: Path) -> None:
    hub.cuts = [1000, 5000]
    assert get(hub, tmp_path).read_bytes() == CONTENT
    assert [one.range for one in hub.downloads()] == ["", "bytes=1000-", "bytes=6000-"]


def test_a_stopped_download_is_resumed_by_the_next_run(hub: ModelHub, tmp_path: Path) -> None:
    hub.seconds_per_piece = 0.01
    seen: list[DownloadProgress] = []
    with pytest.raises(DownloadStopped):
        get(hub, tmp_path, stopped=lambda: bool(seen), report=seen.append)
    assert len(leftovers(tmp_path)) == 1
    assert not is_downloaded(REFERENCE, tmp_path)
    hub.seconds_per_piece = 0
    assert get(hub, tmp_path).read_bytes() == CONTENT
    assert hub.downloads()[-1].range.startswith("bytes=")
    assert leftovers(tmp_path) == []


def test_a_server_without_range_support_sends_everything_again(hub: ModelHub, tmp_path: Path) -> None:
    hub.cuts, hub.takes_ranges = [1000], False
    assert get(hub, tmp_path).read_bytes() == CONTENT


def test_a_partial_file_of_another_version_is_not_used(hub: ModelHub, tmp_path: Path) -> None:
    hub.cuts = [1000] + [0] * 10
    with pytest.raises(EmbeddingUnreachable):
        get(hub, tmp_path)
    hub.cuts = []
    hub.content = b"GGUF" + b"new" * 5000
    assert get(hub, tmp_path).read_bytes() == hub.content


def test_a_damaged_partial_file_is_deleted(hub: ModelHub, tmp_path: Path) -> None:
    hub.cuts = [1000] + [0] * 10
    with pytest.raises(EmbeddingUnreachable):
        get(hub, tmp_path)
    (rest,) = tmp_path.rglob("*.part")
    rest.write_bytes(b"x" * 1000)
    hub.cuts = []
    assert get(hub, tmp_path).read_bytes() == CONTENT


def test_a_wrong_hash_is_detected(hub: ModelHub, tmp_path: Path) -> None:
    hub.hash = hashlib.sha256(b"something else").hexdigest()
    with pytest.raises(ResponseUnusable, match="damaged"):
        get(hub, tmp_path)
    assert not is_downloaded(REFERENCE, tmp_path)
    assert leftovers(tmp_path) == []


def test_a_login_page_is_refused_as_a_model(hub: ModelHub, tmp_path: Path) -> None:
    hub.content, hub.direct = b"<html>Welcome to the hotel's network", True
    with pytest.raises(ResponseUnusable, match="not a GGUF file"):
        get(hub, tmp_path)
    assert not is_downloaded(REFERENCE, tmp_path)


@pytest.mark.parametrize(
    ("status", "error", "words"),
    [
        (401, KeyRejected, "HF_TOKEN"),
        (403, KeyRejected, "HF_TOKEN"),
        (404, ModelUnknown, "memory.embedding.local.model_path"),
        (429, LimitReached, "rate-limiting"),
        (418, ResponseUnusable, "418"),
    ],
)
def test_a_refusal_is_reported_at_once(
    hub: ModelHub, tmp_path: Path, status: int, error: type[EmbeddingError], words: str
) -> None:
    hub.statuses = [status]
    with pytest.raises(error, match=words) as caught:
        get(hub, tmp_path)
    assert len(hub.asked) == 1
    assert getattr(caught.value, "retry_after", 7) == 7


def test_a_hub_that_fails_briefly_is_retried(hub: ModelHub, tmp_path: Path) -> None:
    hub.statuses = [503, 500]
    assert get(hub, tmp_path).read_bytes() == CONTENT


def test_a_hub_that_keeps_failing_is_given_up(hub: ModelHub, tmp_path: Path) -> None:
    hub.statuses = [503] * 50
    with pytest.raises(ServiceFailed, match="503"):
        get(hub, tmp_path)
    assert len(hub.asked) == 5


@pytest.mark.thorough
def test_a_silent_hub_is_given_up(hub: ModelHub, tmp_path: Path) -> None:
    hub.silent = True
    with pytest.raises(EmbeddingTimedOut, match="no answer"):
        get(hub, tmp_path, silence=0.05)


def test_without_network_one_line_says_what_to_do(tmp_path: Path) -> None:
    environment = {"HF_ENDPOINT": "http://127.0.0.1:9"}
    with pytest.raises(EmbeddingUnreachable) as caught:
        download_model(REFERENCE, tmp_path, environment=environment, pause=0)
    text = str(caught.value)
    assert text.startswith(
        "The embedding model small/tiny.gguf could not be downloaded: no connection to 127.0.0.1:9"
    )
    assert text.endswith("or set memory.embedding.local.model_path to a GGUF file that is on this machine.")
    assert "\n" not in text


def test_no_error_shows_the_signed_url(hub: ModelHub, tmp_path: Path) -> None:
    hub.cuts = [0] * 20
    with pytest.raises(EmbeddingUnreachable) as caught:
        get(hub, tmp_path)
    assert "secret" not in str(caught.value)


def test_a_strange_endpoint_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelUnusable, match="HF_ENDPOINT"):
        download_model(REFERENCE, tmp_path, environment={"HF_ENDPOINT": "hub.example"})


def test_a_cache_that_cannot_be_written_is_named(hub: ModelHub, tmp_path: Path) -> None:
    (tmp_path / "someone").write_text("a file where a folder should be")
    with pytest.raises(ModelUnusable, match="could not be written"):
        get(hub, tmp_path)


@pytest.mark.thorough
def test_progress_shows_size_and_time_left(hub: ModelHub, tmp_path: Path) -> None:
    hub.seconds_per_piece = 0.02
    seen: list[DownloadProgress] = []
    get(hub, tmp_path, report=seen.append)
    assert len(seen) >= 3
    assert [one.done for one in seen] == sorted(one.done for one in seen)
    assert {one.total for one in seen} == {len(CONTENT)}
    assert seen[-1].done == len(CONTENT)
    assert seen[-1].seconds_left == 0
    assert (seen[0].seconds_left or 0) > 0


@pytest.mark.thorough
def test_two_processes_download_the_file_once(hub: ModelHub, tmp_path: Path) -> None:
    hub.seconds_per_piece = 0.01
    code = (
        "import sys; from memory.embeddings.model_files import download_model; "
        "print(download_model(sys.argv[1], sys.argv[2]).stat().st_size)"
    )
    command = [sys.executable, "-c", code, REFERENCE, str(tmp_path)]
    environment = {**os.environ, "HF_ENDPOINT": hub.url, "PYTHONPATH": str(ROOT)}
    both = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [one.communicate(timeout=20)[0].strip() for one in both] == [str(len(CONTENT))] * 2
    assert len(hub.downloads()) == 1


@pytest.mark.thorough
def test_waiting_for_another_process_s_download_can_be_stopped(hub: ModelHub, tmp_path: Path) -> None:
    hub.seconds_per_piece = 0.05
    over = threading.Event()
    first = threading.Thread(target=_quietly, args=(hub, tmp_path, over))
    first.start()
    while not leftovers(tmp_path):
        time.sleep(0.01)
    try:
        with pytest.raises(DownloadStopped):
            get(hub, tmp_path, stopped=lambda: True)
    finally:
        over.set()
        first.join()


def _quietly(hub: ModelHub, folder: Path, over: threading.Event) -> None:
    with pytest.raises(DownloadStopped):
        get(hub, folder, stopped=over.is_set)
