"""`commonplace memory status`: where the index is, what of it is not known, on the owner's clock."""

import json
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from tests.fakes.commonplace import Commonplace, CommonplaceHere

SETTINGS = 'timezone = "Asia/Kathmandu"\n[memory.embedding]\nprovider = "none"\n'
AWAY = '[index]\nurl = "postgresql://me:s3cret@127.0.0.1:9/none"\n'


@pytest.fixture
def commonplace(tmp_path: Path) -> Commonplace:
    commonplace = CommonplaceHere(tmp_path)
    (tmp_path / "config.toml").write_text(SETTINGS)
    commonplace.memory.mkdir(parents=True)
    (commonplace.memory / "house.md").write_text("The boiler is blue.\n")
    return commonplace


def status(commonplace: Commonplace) -> dict[str, str]:
    lines = commonplace.output_of("memory", "status").splitlines()
    return {line[:14].strip(): line[14:] for line in lines}


def test_it_tells_where_the_index_is_and_when_it_was_written_on_the_owners_clock(
    commonplace: Commonplace,
) -> None:
    commonplace.output_of("memory", "index")
    told = status(commonplace)
    assert (told["notes"], told["chunks"], told["index"]) == ("1", "1", ".commonplace/index.db")
    now = datetime.now(ZoneInfo("Asia/Kathmandu"))
    moments = {f"{now - timedelta(seconds=ago):%Y-%m-%d %H:%M:%S}" for ago in range(60)}
    moment, _, zone = told["last indexed"].partition(" (")
    assert moment in moments
    assert zone == "Asia/Kathmandu)"
    assert "index error" not in told
    document = json.loads(commonplace.output_of("memory", "status", "--json"))
    assert (document["index"], document["index_problem"]) == (".commonplace/index.db", "")
    assert document["last_indexed_at"].endswith("+00:00"), "for programs as ever"


def test_what_only_a_server_that_is_away_knows_is_not_known(commonplace: Commonplace) -> None:
    (commonplace.folder / "config.toml").write_text(SETTINGS + AWAY)
    told = status(commonplace)
    assert told["notes"] == "1"
    assert told["chunks"] == told["last indexed"] == "unknown"
    assert told["index"] == "postgresql://me@127.0.0.1:9/none"
    assert "does not answer" in told["index error"]
    assert told["search"] == "by words alone for now, reading the files one by one"
    said = commonplace.output_of("memory", "status", "--json")
    assert "s3cret" not in said
    document = json.loads(said)
    assert (document["files"], document["total_chunks"], document["last_indexed_at"]) == (1, None, None)
    assert document["cache"] == {"entries": None, "hits": None, "misses": None}
