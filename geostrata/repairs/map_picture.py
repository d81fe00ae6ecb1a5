"""Where rows change, as an SVG: their boxes over the boxes of the table's files."""

from __future__ import annotations

from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from geostrata.errors import GeostrataError
from geostrata.repairs.difference import Difference
from geostrata.tables import boxes
from geostrata.tables.health import file_boxes
from geostrata.tables.state import TableState

_SIDE, _MARGIN, _HEAD, _FOOT = 640.0, 24.0, 76.0, 34.0
# Too small to see otherwise: a row is often a point.
_LEAST = 3.0
_STYLE = """
text { font-family: system-ui, sans-serif; fill: #1f2933 }
.title { font-size: 17px; font-weight: 600 } .told { font-size: 13px; fill: #52606d } .corner { font-size: 11px; fill: #7b8794 }
.frame { fill: #fbfcfd; stroke: #cbd2d9 } .file { fill: none; stroke: #cbd2d9; stroke-width: 0.8 }
.removed { fill: #c92a2a; fill-opacity: 0.35; stroke: #c92a2a } .added { fill: #2b8a3e; fill-opacity: 0.35; stroke: #2b8a3e }
"""


def check(path: Path, state: TableState) -> None:
    """Before anything is computed or done."""
    if path.suffix.lower() != ".svg":
        raise GeostrataError(f"{path}: maps are written as SVG; name the file {path.with_suffix('.svg')}")
    if not path.parent.is_dir():
        raise GeostrataError(f"{path}: there is no folder {path.parent}")
    if not state.is_spatial:
        raise GeostrataError(
            f"{state.uri}: it has no bbox column, so there is no map to draw; leave out --map"
        )


def write(path: Path, title: str, found: Difference, state: TableState) -> None:
    try:
        path.write_text(draw(title, found, state))
    except OSError as error:
        raise GeostrataError(f"{path}: the map can't be written: {error.strerror}") from error


def draw(title: str, found: Difference, state: TableState) -> str:
    files = file_boxes(state.files)
    rows = {kind: np.array(placed) for kind, placed in found.boxes.items()}
    known = [placed for placed in (files, *rows.values()) if placed is not None and len(placed)]
    if not known:
        return _page(title, "nothing with a place changes", _SIDE, _SIDE, [])
    whole = boxes.extent(np.concatenate(known))
    width, height = _size(whole)
    parts = [] if files is None else _group("file", files, whole, width, height, 0.0)
    for kind in ("removed", "added"):
        if kind in rows:
            parts += _group(kind, rows[kind], whole, width, height, _LEAST)
    low = _HEAD + height + 18
    parts.append(f'<text class="corner" x="{_MARGIN}" y="{low:.0f}">{whole[0]:.4f}, {whole[1]:.4f}</text>')
    parts.append(
        f'<text class="corner" x="{_MARGIN + width:.0f}" y="{low:.0f}" text-anchor="end">{whole[2]:.4f}, {whole[3]:.4f}</text>'
    )
    drawn = sum(len(placed) for placed in rows.values())
    total = found.rows_removed + found.rows_added
    told = f"{found.rows_removed:,} rows removed (red), {found.rows_added:,} added (green)"
    told += f"; {drawn:,} of {total:,} drawn" if drawn < total else ""
    return _page(title, told, width, height, parts)


def _page(title: str, told: str, width: float, height: float, parts: list[str]) -> str:
    across, down = width + 2 * _MARGIN, _HEAD + height + _FOOT
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {across:.0f} {down:.0f}" width="{across:.0f}" '
        f'height="{down:.0f}" role="img" aria-label={quoteattr(title)}>',
        f'<style>{_STYLE}</style><rect width="100%" height="100%" fill="#ffffff"/>',
        f'<text class="title" x="{_MARGIN}" y="34">{escape(title)}</text>',
        f'<text class="told" x="{_MARGIN}" y="56">{escape(told)}</text>',
        f'<rect class="frame" x="{_MARGIN}" y="{_HEAD}" width="{width:.1f}" height="{height:.1f}"/>',
    ]
    return "\n".join([*head, *parts, "</svg>", ""])


def _size(whole: tuple[float, float, float, float]) -> tuple[float, float]:
    """In the extent's own shape; a degree of longitude is as wide as it is in the middle of it."""
    xmin, ymin, xmax, ymax = whole
    middle = float(np.cos(np.radians((ymin + ymax) / 2))) if ymin >= -90 and ymax <= 90 else 1.0
    ratio = min(3.0, max(1 / 3, ((xmax - xmin) * middle or 1.0) / (ymax - ymin or 1.0)))
    return (_SIDE, _SIDE / ratio) if ratio >= 1 else (max(_SIDE * ratio, 400.0), _SIDE)


def _group(
    kind: str,
    placed: boxes.Boxes,
    whole: tuple[float, float, float, float],
    width: float,
    height: float,
    least: float,
) -> list[str]:
    xmin, ymin, xmax, ymax = whole
    xs = _MARGIN + (placed[:, [0, 2]] - xmin) / (xmax - xmin or 1.0) * width
    # North is up.
    ys = _HEAD + (ymax - placed[:, [3, 1]]) / (ymax - ymin or 1.0) * height
    parts = [f'<g class="{kind}">']
    for (x0, x1), (y0, y1) in zip(xs, ys, strict=True):
        # A dot stays where its row is.
        w, h = max(least, x1 - x0), max(least, y1 - y0)
        left, top = (x0 + x1 - w) / 2, (y0 + y1 - h) / 2
        parts.append(f'<rect x="{left:.1f}" y="{top:.1f}" width="{w:.1f}" height="{h:.1f}"/>')
    return [*parts, "</g>"]
