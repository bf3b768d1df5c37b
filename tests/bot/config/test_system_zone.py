"""The machine's time zone, from TZ and from files as Linux and macOS have them."""

from pathlib import Path

import pytest

from bot.config.system_zone import MachineZone, system_zone
from tests.fakes.commonplace import Commonplace


def link(etc: Path, target: str) -> None:
    (etc / "localtime").symlink_to(target)


@pytest.mark.parametrize(
    ("tz", "name"),
    [
        ("Europe/Paris", "Europe/Paris"),
        (":Europe/Paris", "Europe/Paris"),
        (" UTC ", "UTC"),
        (":/usr/share/zoneinfo/America/Argentina/Salta", "America/Argentina/Salta"),
    ],
)
def test_the_variable_wins(tz: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link(tmp_path, "/usr/share/zoneinfo/Asia/Tokyo")
    monkeypatch.setenv("TZ", tz)
    assert system_zone(tmp_path) == MachineZone(name)


@pytest.mark.parametrize("tz", ["CET-1CEST", "Mars/Olympus", "../../etc/passwd", "/etc/passwd"])
def test_a_variable_that_cannot_be_used_is_utc_and_says_so(
    tz: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", tz)
    assert system_zone(tmp_path) == MachineZone("UTC", f"TZ is {tz!r}, which is not an IANA name")


@pytest.mark.parametrize("tz", [None, ""])
@pytest.mark.parametrize(
    "target",
    [
        "/usr/share/zoneinfo/Asia/Kathmandu",
        "../usr/share/zoneinfo/posix/Asia/Kathmandu",
        "/var/db/timezone/zoneinfo/Asia/Kathmandu",  # as on a Mac
    ],
)
def test_the_link_says_it(
    tz: str | None, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TZ") if tz is None else monkeypatch.setenv("TZ", tz)
    (tmp_path / "timezone").write_text("Asia/Tokyo\n")
    link(tmp_path, target)
    assert system_zone(tmp_path) == MachineZone("Asia/Kathmandu")


def test_where_the_file_is_a_copy_another_one_says_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TZ")
    (tmp_path / "localtime").write_bytes(b"TZif2")
    (tmp_path / "timezone").write_text("Asia/Tokyo\n")
    assert system_zone(tmp_path) == MachineZone("Asia/Tokyo")


def test_a_copy_without_a_name_is_utc_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TZ")
    (tmp_path / "localtime").write_bytes(b"TZif2")
    assert system_zone(tmp_path) == MachineZone("UTC", f"{tmp_path}/localtime does not say its name")


def test_a_link_to_itself_and_an_unknown_name_are_utc(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TZ")
    link(tmp_path, "localtime")
    (tmp_path / "timezone").write_text("Mars/Olympus")
    expected = f"{tmp_path}/timezone says 'Mars/Olympus', which is not an IANA name"
    assert system_zone(tmp_path) == MachineZone("UTC", expected)


def test_a_machine_that_has_none_is_in_utc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TZ")
    assert system_zone(tmp_path) == MachineZone("UTC")


@pytest.mark.thorough
def test_the_daily_log_is_that_of_the_machines_day(tmp_path: Path) -> None:
    commonplace = Commonplace(tmp_path)
    for zone in ("Pacific/Kiritimati", "Pacific/Pago_Pago"):  # 25 hours apart: never the same day
        commonplace.environment["TZ"] = zone
        commonplace.output_of("memory", "write", "Watered the ferns.", "--workspace", "workspace")
    logs = sorted(each.stem for each in commonplace.memory.glob("2*.md"))
    assert len(logs) == 2


@pytest.mark.thorough
def test_the_service_says_in_its_log_that_the_machines_zone_cannot_be_used(tmp_path: Path) -> None:
    commonplace = Commonplace(tmp_path)
    commonplace.environment |= {"COMMONPLACE_SERVER__ENABLED": "false", "TZ": "CET-1CEST"}
    done = commonplace("run", stdin="")
    assert done.returncode == 0
    assert "using UTC as the timezone; this machine's cannot be used: TZ is 'CET-1CEST'" in done.stderr
    done = commonplace("run", stdin="", environment={"COMMONPLACE_TIMEZONE": "Europe/Berlin"})
    assert "timezone" not in done.stderr


def test_utc_is_called_so_whatever_the_machine_calls_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TZ", "Etc/UTC")
    assert system_zone(tmp_path) == MachineZone("UTC")
