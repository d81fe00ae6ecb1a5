"""The command line: instant where nothing is asked of it, and calm where something goes wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from geostrata import cli, settings

MODULE = """
from geostrata.errors import GeostrataError

def add_arguments(parser):
    parser.add_argument("--how", default="well")

def run(args):
    if args.how == "badly":
        raise GeostrataError("parcels.geojson: no such file; run geostrata demo")
    if args.how == "interrupted":
        raise KeyboardInterrupt
    print("went", args.how)
    return 7
"""


@pytest.fixture
def trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "trial_command.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(cli, "COMMANDS", (cli.Command("trial", "a trial", "trial_command"),))


@pytest.mark.usefixtures("trial")
@pytest.mark.parametrize(
    ("arguments", "code", "out", "err"),
    [
        (["trial"], 7, "went well\n", ""),
        (["trial", "--how", "slowly"], 7, "went slowly\n", ""),
        (
            ["trial", "--how", "badly"],
            2,
            "",
            "geostrata: parcels.geojson: no such file; run geostrata demo\n",
        ),
        (["trial", "--how", "interrupted"], 130, "", "geostrata: interrupted\n"),
    ],
)
def test_exit_codes_and_what_is_said(
    arguments: list[str], code: int, out: str, err: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(arguments) == code
    said = capsys.readouterr()
    assert (said.out, said.err) == (out, err)


@pytest.mark.usefixtures("trial")
def test_help_of_a_command_shows_its_own_options(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["trial", "--help"])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert said.startswith("usage: geostrata trial")
    assert "--how" in said


@pytest.mark.parametrize("arguments", [[], ["nonsense"]])
def test_a_wrong_command_shows_the_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert ended.value.code == 2
    assert "usage: geostrata" in capsys.readouterr().err


@pytest.mark.parametrize("command", cli.COMMANDS, ids=lambda command: command.name)
def test_every_command_answers_help(command: cli.Command, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main([command.name, "--help"])
    assert ended.value.code == 0
    assert f"usage: geostrata {command.name}" in capsys.readouterr().out


def test_listing_the_commands_loads_nothing_heavy() -> None:
    code = (
        "import sys\nfrom geostrata import cli\ntry:\n    cli.main(['--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'dbt', 'numpy', 'pandas', 'pyarrow', 'pyspark', 'shapely', 'yaml'} & set(sys.modules)\n"
        "sys.exit(f'loaded: {heavy}' if heavy else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    for command in cli.COMMANDS:
        assert command.name in done.stdout


def test_the_project_is_found_from_a_folder_inside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dbt_project.yml").touch()
    inside = tmp_path / "models" / "gold"
    inside.mkdir(parents=True)
    monkeypatch.chdir(inside)
    monkeypatch.delenv("GEOSTRATA_STATE", raising=False)
    assert settings.project_dir() == tmp_path
    assert settings.state_dir() == tmp_path / ".geostrata"
    assert settings.landing_dir() == tmp_path / ".geostrata" / "landing"


@pytest.mark.parametrize(("value", "expected"), [("/elsewhere", "/elsewhere"), ("state", "{project}/state")])
def test_one_setting_moves_the_state(
    value: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dbt_project.yml").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GEOSTRATA_STATE", value)
    assert settings.warehouse_dir() == Path(expected.format(project=tmp_path)) / "warehouse"
