"""maintenance.yml: what it says is what holds, and what can't be is refused with its line and the way out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from delta_tables import shapes, write_project
from deltalake import DeltaTable, write_deltalake

from geostrata import cli, settings
from geostrata.errors import GeostrataError
from geostrata.tables import policy
from geostrata.tables.project import ProjectTable
from geostrata.tables.units import days, parse_duration, parse_size, parse_window

ROOT = Path(__file__).resolve().parents[3]


def load(tmp_path: Path, text: str) -> policy.Policy:
    (tmp_path / policy.FILE).write_text(text)
    return policy.load(tmp_path / policy.FILE)


def rules(*lines: str) -> str:
    return "version: 1\nconcurrency: 3\nrules:\n" + "".join(f"  - {line}\n" for line in lines)


def table(name: str, **more: Any) -> ProjectTable:
    layer, model = name.split(".")
    return ProjectTable(name, f"/nowhere/{model}", layer=layer, model=model, **more)


def test_later_rules_win_setting_by_setting(tmp_path: Path) -> None:
    chosen = load(
        tmp_path,
        rules(
            "{select: all, compact: {small_files: 20, unclustered_bytes: 1gb}}",
            "{select: silver, compact: {small_files: 10}, window: '22:00-05:00'}",
            "{select: 'tag:hot', compact: {small_files: 5}, retention: {deleted_files: 3 weeks, log: 60 days}}",
            "{select: silver.parcels, window: always}",
        ),
    )
    assert chosen.concurrency == 3
    gold = chosen.settings_for(table("gold.trips"))
    assert (gold.small_files, gold.unclustered_bytes, gold.window) == (20, 1 << 30, None)
    hot = chosen.settings_for(table("silver.telemetry", tags=frozenset({"hot"})))
    assert (hot.small_files, hot.unclustered_bytes, str(hot.window)) == (5, 1 << 30, "22:00-05:00 UTC")
    assert (hot.deleted_files, hot.log) == (timedelta(days=21), timedelta(days=60))
    parcels = chosen.settings_for(table("silver.parcels"))
    assert (parcels.small_files, parcels.window) == (10, None)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        (
            "version: 1\nrules: []\nconcurrency: 6\n",
            3,
            "concurrency 6: at most 5 jobs run at once, at least 1",
        ),
        ("version: 1\nconcurrency: none\nrules: []\n", 2, "concurrency none: at most 5 jobs"),
        ("version: 2\nrules: []\n", 1, "version 2 is unknown; this is version 1"),
        ("version: 1\n", 1, "`rules` is missing"),
        ("version: 1\nrule: []\n", 2, "the policy knows no `rule`; did you mean rules?"),
        ("version: 1\nrules: {select: all}\n", 2, "`rules` must be a list, each with a `select`"),
        (rules("{compact: {}}"), 4, "a rule needs `select`: all, a layer, a model or tag:name"),
        (rules("all"), 4, "a rule begins with `select`"),
        (rules("{select: all, compct: {}}"), 4, "a rule knows no `compct`; did you mean compact?"),
        (rules("select: all\n    compact:\n      smal_files: 3"), 6, "did you mean small_files?"),
        (rules("{select: all, compact: {small_files: 0}}"), 4, "small_files: '0' is no count"),
        (rules("{select: all, compact: {small_share: 20}}"), 4, "small_share: '20' is no share"),
        (
            rules("{select: all, compact: {unclustered_bytes: much}}"),
            4,
            "'much' is no size: write it as 64mb",
        ),
        (rules("{select: all, compact: {target_file_size: 64 potatoes}}"), 4, "is no size"),
        (rules("{select: all, retention: {log: 30}}"), 4, "log: '30' is no duration: write it as '14 days'"),
        (rules("{select: all, retention: {allow_short_retention: true}}"), 4, "write the reason"),
        (rules("{select: all, window: at night}"), 4, "'at night' is no window: write it as '22:00-05:00'"),
        (rules("{select: all, window: '25:00-26:00'}"), 4, "'25:00-26:00' is no window"),
        (rules("{select: all, window: '05:00-05:00'}"), 4, "'05:00-05:00' is no window"),
        ("version: 1\nrules: [\n", 3, "no YAML: "),
    ],
)
def test_what_can_t_be_is_refused_with_its_line(tmp_path: Path, text: str, line: int, said: str) -> None:
    with pytest.raises(GeostrataError) as refused:
        load(tmp_path, text)
    assert str(refused.value).startswith(f"maintenance.yml, line {line}: ")
    assert said in str(refused.value)


def test_a_missing_file_is_told_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(GeostrataError, match=r"is not there: docs/maintenance\.md shows one"):
        policy.load(tmp_path / policy.FILE)


def check(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    text: str,
    tables: dict[str, dict[str, Any]],
) -> tuple[int, list[str]]:
    write_project(tmp_path, tables)
    (tmp_path / policy.FILE).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(settings.STATE_VARIABLE, str(tmp_path / "state"))
    code = cli.main(["maintain", "check"])
    return code, capsys.readouterr().out.splitlines()


STREAMED: dict[str, Any] = {"config": {"meta": {"streamed": True}}}


@pytest.mark.parametrize(
    ("rule", "tables", "said"),
    [
        (
            "{select: gold, retention: {deleted_files: 5 days, snapshots: 1 day}}",
            {"gold.trips": {}, "gold.cells": {}},
            "gold.cells and 1 more: removed files would be deleted after 5 days, while somebody may still read them; "
            "keep them for 7 days, or say why not in allow_short_retention",
        ),
        (
            "{select: silver, retention: {deleted_files: 10 days}}",
            {"silver.telemetry": STREAMED, "silver.parcels": {}},
            "silver.telemetry: a stream reads it (meta.streamed), and deleted_files is kept for 10 days only; "
            "keep both log and deleted_files for 14 days",
        ),
        (
            "{select: silver, retention: {deleted_files: 40 days}}",
            {"silver.parcels": {}},
            "silver.parcels: its log is kept for 30 days, shorter than its removed files (40 days)",
        ),
        (
            "{select: silver, retention: {snapshots: 20 days}}",
            {"silver.parcels": {}},
            "silver.parcels: versions of 20 days ago should be readable, which needs both log and deleted_files",
        ),
        (
            "{select: sliver}",
            {"silver.parcels": {}, "gold.trips": {}},
            "select: sliver matches no table of the project; write all, a layer (gold, silver), a model's name or tag:name",
        ),
    ],
)
def test_rules_against_the_tables_that_they_hold_for(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    rule: str,
    tables: dict[str, dict[str, Any]],
    said: str,
) -> None:
    code, lines = check(tmp_path, monkeypatch, capsys, rules(rule), tables)
    assert code == 1
    assert len(lines) == 1
    assert lines[0].startswith(f"Wrong: maintenance.yml, line 4: {said}")


@pytest.mark.parametrize(
    "rule",
    [
        "{select: gold, retention: {deleted_files: 2 hours, snapshots: 1 hour, allow_short_retention: 'erased on request'}}",
        "{select: all, retention: {deleted_files: 14 days}}",
    ],
)
def test_sound_policies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], rule: str
) -> None:
    tables = {"gold.trips": {}} if "gold" in rule else {"silver.telemetry": STREAMED}
    code, lines = check(tmp_path, monkeypatch, capsys, rules(rule), tables)
    assert (code, lines) == (0, ["maintenance.yml is sound: 1 rules, 1 tables, 0 built."])


def test_streams_need_two_weeks_even_where_short_retention_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rule = "{select: all, retention: {deleted_files: 1 day, snapshots: 1 day, allow_short_retention: hurry}}"
    code, lines = check(tmp_path, monkeypatch, capsys, rules(rule), {"silver.telemetry": STREAMED})
    assert code == 1
    assert "a stream reads it" in lines[0]


def test_tables_in_two_crs_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def geo(code: int) -> str:
        crs = f'"crs": {{"id": {{"authority": "EPSG", "code": {code}}}}}'
        return f'{{"primary_column": "geometry", "columns": {{"geometry": {{{crs}}}}}}}'

    for name, code in {"parcels": 4326, "zones": 4326, "roads": 3857}.items():
        path = tmp_path / "state/warehouse/silver.db" / name
        write_deltalake(path, shapes([0, 0, 1, 1]))
        properties = {"geostrata.geo": geo(code)}
        DeltaTable(path).alter.set_table_properties(properties, raise_if_not_exists=False)
    tables: dict[str, dict[str, Any]] = {f"silver.{name}": {} for name in ("parcels", "zones", "roads")}
    code, lines = check(tmp_path, monkeypatch, capsys, rules("{select: all}"), tables)
    assert code == 1
    assert lines == [
        "Wrong: maintenance.yml: silver.roads: its geometry is in EPSG:3857 (property geostrata.geo), the other tables' in "
        "EPSG:4326; transform it, or build the table again"
    ]


def test_a_log_that_delta_keeps_for_less_is_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "state/warehouse/silver.db/parcels"
    write_deltalake(
        path, shapes([0, 0, 1, 1]), configuration={"delta.logRetentionDuration": "interval 9 days"}
    )
    code, lines = check(tmp_path, monkeypatch, capsys, rules("{select: all}"), {"silver.parcels": {}})
    assert code == 0
    assert "Warning: maintenance.yml: silver.parcels: Delta keeps its log for 9 days" in lines[0]


def test_the_project_s_own_policy_can_be_read() -> None:
    chosen = policy.load(ROOT / policy.FILE)
    bronze = chosen.settings_for(table("bronze.raw_parcels"))
    assert bronze.deleted_files == timedelta(days=14)
    assert chosen.settings_for(table("gold.trips")).small_files == 16


def test_units() -> None:
    assert (parse_size("64mb"), parse_size("1.5 GB"), parse_size(12)) == (64 << 20, 3 << 29, 12)
    assert parse_duration("interval 1 week") == parse_duration("7 days") == timedelta(days=7)
    assert (days(timedelta(days=1)), days(timedelta(hours=12))) == ("1 day", "12 hours")


def test_a_window_may_reach_past_midnight() -> None:
    night = parse_window("22:00-05:00")
    at = {hour: datetime(2026, 3, 1, hour, 30, tzinfo=UTC) for hour in (4, 5, 21, 22, 23)}
    assert [hour for hour, now in at.items() if night.is_open(now)] == [4, 22, 23]
    assert night.closes(at[23]) == datetime(2026, 3, 2, 5, 0, tzinfo=UTC)
    assert night.closes(at[4]) == datetime(2026, 3, 1, 5, 0, tzinfo=UTC)
    noon = parse_window("11:00-13:00")
    assert noon.is_open(datetime(2026, 3, 1, 12, tzinfo=UTC))
    assert not noon.is_open(datetime(2026, 3, 1, 13, tzinfo=UTC))
