"""What a run found: tables, ratios, targets, answers that differ, and a chart."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.spatial import answers
from benchmarks.spatial.answers import Answer
from benchmarks.spatial.runner import Row
from geostrata import text_table

OURS, NAIVE = "geostrata", "sedona-naive"
# More than this many cores in use by others, and a time says little. Watching takes a twentieth of one itself.
DISTURBED_CORES = 0.15
# A case that is ours alone is held against the peers' times of this one.
_SAME_QUESTION = {"zones-stored": "zones"}


@dataclass(frozen=True)
class Target:
    """Our seconds (or another figure) as a part of `whose`: the best peer's, one engine's or our own of another case."""

    case: str
    whose: str
    must: float
    aim: float | None
    sizes_from: float


# Each is meant for the case at its full size; joins and windows, for 2 million points and more.
TARGETS = (
    Target("zones-stored", "best peer", 1.0, 0.5, 2),
    Target("zones-stored", NAIVE, 0.15, None, 2),
    Target("zones", "best peer", 1.5, 1.0, 2),
    Target("parcels", "best peer", 1.3, 0.9, 2),
    Target("parcels", NAIVE, 0.4, None, 2),
    Target("parcels-incremental", "own parcels-incremental-full", 0.1, 0.03, 2),
    Target("window", "ideal_bytes", 1.5, 1.1, 2),
    Target("window", "plain_bytes", 0.1, None, 2),
    Target("nearest", "best peer", 2.0, 1.0, 0.1),
    Target("nearest", "duckdb", 1.0, None, 0.1),
    Target("nearest", "geopandas", 1.0, None, 0.1),
    Target("overlay-zones", "best peer", 1.0, 0.7, 0.02),
    Target("overlay-areas", "best peer", 1.5, 1.0, 0.02),
)


class Findings:
    """The rows of one run."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = list(rows)

    def of(self, case: str, size: float, engine: str) -> Row | None:
        wanted = (case, size, engine)
        return next((row for row in self.rows if (row.case, row.size, row.engine) == wanted), None)

    def best_peer(self, case: str, size: float) -> Row | None:
        question = _SAME_QUESTION.get(case, case)
        asked = [row for row in self.rows if (row.case, row.size) == (question, size)]
        peers = [row for row in asked if row.engine != OURS]
        return min(peers, key=lambda row: row.wall_s, default=None)

    def naive(self, case: str, size: float) -> Row | None:
        return self.of(_SAME_QUESTION.get(case, case), size, NAIVE)

    def table(self) -> str:
        header = [
            "",
            "million rows",
            "engine",
            "wall s",
            "CPU s",
            "peak MB",
            "of best peer",
            "of naive Sedona",
        ]
        lines = []
        cases = list(dict.fromkeys(row.case for row in self.rows))
        for row in sorted(self.rows, key=lambda row: (cases.index(row.case), row.size)):
            lines.append(
                [
                    row.case,
                    f"{row.size:g}",
                    row.engine,
                    f"{row.wall_s:.2f}",
                    _number(row.cpu_s, ".1f"),
                    _number(row.peak_mb, ",.0f"),
                    _ratio(row, self.best_peer(row.case, row.size)),
                    _ratio(row, self.naive(row.case, row.size)),
                ]
            )
        return text_table.render(header, lines)

    def targets(self) -> str:
        """Ours against what was set; empty if none of it was measured."""
        lines = []
        for target in TARGETS:
            for row in self.rows:
                if (row.case, row.engine) == (target.case, OURS) and row.size >= target.sizes_from:
                    ratio = self._part(row, target.whose)
                    if ratio is not None:
                        lines.append(
                            [
                                target.case,
                                f"{row.size:g}",
                                target.whose,
                                f"{ratio:.3f}",
                                f"{target.must:g}",
                                _number(target.aim, "g"),
                                "yes" if ratio <= target.must else "NO",
                            ]
                        )
        header = ["ours", "million rows", "as a part of", "is", "must be", "aim", "reached"]
        return text_table.render(header, lines) if lines else ""

    def disturbed(self) -> str:
        """Rows that others on the machine may have spoilt; empty if none."""
        spoilt = [row for row in self.rows if row.extras.get("others_cores", 0) > DISTURBED_CORES]
        told = [f"{row.case} {row.size:g} {row.engine} ({row.extras['others_cores']:g})" for row in spoilt]
        return f"  Others used the machine meanwhile, by so many cores: {', '.join(told)}" if told else ""

    def growth(self) -> str:
        """Seconds and memory by a million points, for what ran at several sizes."""
        lines = []
        for case in dict.fromkeys(row.case for row in self.rows):
            ours = sorted((row for row in self.rows if row.engine == OURS and row.case == case), key=_size)
            if len(ours) > 1 and ours[0].answer:
                lines.append(
                    [
                        case,
                        ", ".join(f"{row.wall_s / row.size:.2f}" for row in ours),
                        ", ".join(_number(row.peak_mb, ",.0f") for row in ours),
                    ]
                )
        return text_table.render(["ours, by size", "s a million rows", "peak MB"], lines) if lines else ""

    def _part(self, row: Row, whose: str) -> float | None:
        if whose.endswith("_bytes"):
            whole = row.extras.get(whose)
            return row.extras["bytes_read"] / whole if whole else None
        if whose.startswith("own "):
            other = self.of(whose.removeprefix("own "), row.size, OURS)
        elif whose == "best peer":
            other = self.best_peer(row.case, row.size)
        else:
            other = self.of(_SAME_QUESTION.get(row.case, row.case), row.size, whose)
        return row.wall_s / other.wall_s if other else None

    def chart(self, path: Path) -> None:
        """A bar an engine, a panel a case and size; one scale a panel."""
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

        panels: dict[tuple[str, float], list[Row]] = {}
        for row in self.rows:
            if row.answer:
                panels.setdefault((_SAME_QUESTION.get(row.case, row.case), row.size), []).append(row)
        across = min(3, len(panels))
        down = -(-len(panels) // across)
        figure, axes = pyplot.subplots(
            down, across, figsize=(5 * across, 2.6 * down), squeeze=False, layout="constrained"
        )
        for axis in axes.flat[len(panels) :]:
            axis.set_visible(False)
        for axis, ((case, size), rows) in zip(axes.flat, panels.items(), strict=False):
            rows.sort(key=lambda row: -row.wall_s)
            names = [f"{row.engine}{row.case.removeprefix(case).replace('-', ', ')}" for row in rows]
            colours = ["#c8553d" if row.engine == OURS else "#8da9c4" for row in rows]
            bars = axis.barh(names, [row.wall_s for row in rows], color=colours)
            axis.bar_label(bars, [f"{row.wall_s:.2f} s" for row in rows], padding=3, fontsize=8)
            axis.margins(x=0.2)
            axis.set_title(f"{case}, {size:g} million rows", fontsize=10)
            axis.tick_params(labelsize=8)
            axis.spines[["top", "right"]].set_visible(False)
        figure.savefig(path, dpi=120)
        pyplot.close(figure)


def disagreements(found: dict[str, Answer]) -> list[str]:
    """By engine. Those that agree with each other are one party; every other party is told apart from the largest."""
    parties: list[list[str]] = []
    for engine, answer in found.items():
        for party in parties:
            if answers.difference(found[party[0]], answer) is None:
                party.append(engine)
                break
        else:
            parties.append([engine])
    parties.sort(key=len, reverse=True)
    return [
        f"{', '.join(party)} against {', '.join(parties[0])}: "
        f"{answers.difference(found[parties[0][0]], found[party[0]])}"
        for party in parties[1:]
    ]


def _ratio(row: Row, other: Row | None) -> str:
    return f"{row.wall_s / other.wall_s:.2f}" if other and row.answer else ""


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def _size(row: Row) -> float:
    return row.size
