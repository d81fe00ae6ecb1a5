"""The boxes of a table's files as an SVG: one panel a version, all on the same extent."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np

from geostrata.errors import GeostrataError
from geostrata.tables import boxes
from geostrata.tables.health import file_boxes
from geostrata.tables.state import TableState

_SIDE, _MARGIN, _HEAD, _FOOT = 560.0, 24.0, 76.0, 34.0
# Too small to see otherwise: a file of one point is a dot.
_LEAST = 1.5
_STYLE = """
text { font-family: system-ui, sans-serif; fill: #1f2933 }
.title { font-size: 17px; font-weight: 600 } .told { font-size: 13px; fill: #52606d } .corner { font-size: 11px; fill: #7b8794 }
.frame { fill: #fbfcfd; stroke: #cbd2d9 } .file { fill: #0b7285; stroke: #0b7285; stroke-width: 0.8 }
"""


@dataclass(frozen=True)
class Panel:
    title: str
    state: TableState


def write(path: Path, table: str, panels: list[Panel]) -> None:
    if path.suffix.lower() != ".svg":
        raise GeostrataError(f"{path}: pictures are written as SVG; name the file {path.with_suffix('.svg')}")
    try:
        path.write_text(draw(table, panels))
    except OSError as error:
        raise GeostrataError(f"{path}: the picture can't be written: {error.strerror}") from error


def draw(table: str, panels: list[Panel]) -> str:
    placed = [file_boxes(panel.state.files) for panel in panels]
    known = [found for found in placed if found is not None]
    if not known:
        raise GeostrataError(f"{table}: no file of it has statistics of a bbox, so there is nothing to draw")
    whole = boxes.extent(np.concatenate(known))
    width, height = _panel_size(whole)
    total = len(panels) * (width + _MARGIN) + _MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total:.0f} {_HEAD + height + _FOOT:.0f}" '
        f'width="{total:.0f}" height="{_HEAD + height + _FOOT:.0f}" role="img" aria-label="{_quoted(table)}">',
        f'<style>{_STYLE}</style><rect width="100%" height="100%" fill="#ffffff"/>',
    ]
    for number, (panel, found) in enumerate(zip(panels, placed, strict=True)):
        left = _MARGIN + number * (width + _MARGIN)
        parts += _panel(panel, found, whole, (left, _HEAD, width, height))
    return "\n".join([*parts, "</svg>", ""])


def _panel_size(whole: tuple[float, float, float, float]) -> tuple[float, float]:
    """In the extent's own shape, within a square; a degree of longitude is as wide as it is in the middle of the extent."""
    xmin, ymin, xmax, ymax = whole
    middle = np.cos(np.radians((ymin + ymax) / 2)) if ymin >= -90 and ymax <= 90 else 1.0
    across, up = (xmax - xmin) * middle or 1.0, ymax - ymin or 1.0
    ratio = min(3.0, max(1 / 3, across / up))
    # Wide enough for the words above it.
    return (_SIDE, _SIDE / ratio) if ratio >= 1 else (max(_SIDE * ratio, 340.0), _SIDE)


def _panel(
    panel: Panel,
    found: boxes.Boxes | None,
    whole: tuple[float, float, float, float],
    frame: tuple[float, float, float, float],
) -> list[str]:
    left, top, width, height = frame
    files = len(panel.state.files)
    told = f"{files:,} {'file' if files == 1 else 'files'}"
    if found is not None:
        told += f", {boxes.overlap_depth(found):.1f} deep"
    parts = [
        f'<text class="title" x="{left:.0f}" y="34">{escape(panel.title)}</text>',
        f'<text class="told" x="{left:.0f}" y="56">{told}</text>',
        f'<rect class="frame" x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}"/>',
    ]
    if found is not None:
        parts += _rectangles(found, whole, frame)
    xmin, ymin, xmax, ymax = whole
    low = top + height + 18
    parts.append(f'<text class="corner" x="{left:.0f}" y="{low:.0f}">{xmin:.4f}, {ymin:.4f}</text>')
    parts.append(
        f'<text class="corner" x="{left + width:.0f}" y="{low:.0f}" text-anchor="end">{xmax:.4f}, {ymax:.4f}</text>'
    )
    return parts


def _rectangles(
    found: boxes.Boxes,
    whole: tuple[float, float, float, float],
    frame: tuple[float, float, float, float],
) -> list[str]:
    left, top, width, height = frame
    xmin, ymin, xmax, ymax = whole
    xs = left + (found[:, [0, 2]] - xmin) / (xmax - xmin or 1.0) * width
    # North is up.
    ys = top + (ymax - found[:, [3, 1]]) / (ymax - ymin or 1.0) * height
    # Fainter where many lie over each other, so that dense places still show.
    depth = boxes.overlap_depth(found)
    fill, stroke = min(0.25, max(0.01, 0.5 / depth)), min(0.9, max(0.08, 2 / depth))
    parts = [f'<g class="file" fill-opacity="{fill:.3f}" stroke-opacity="{stroke:.3f}">']
    for (x0, x1), (y0, y1) in zip(xs, ys, strict=True):
        w, h = max(_LEAST, x1 - x0), max(_LEAST, y1 - y0)
        parts.append(f'<rect x="{x0:.1f}" y="{y0:.1f}" width="{w:.1f}" height="{h:.1f}"/>')
    return [*parts, "</g>"]


def _quoted(text: str) -> str:
    return escape(text, {'"': "&quot;"})
