"""Plain tables for the terminal: first column to the left, the others to the right."""

from __future__ import annotations


def render(header: list[str], rows: list[list[str]], indent: str = "  ") -> str:
    widths = [max(len(line[column]) for line in [header, *rows]) for column in range(len(header))]
    lines = []
    for line in [header, *rows]:
        cells = [
            line[0].ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)),
        ]
        lines.append((indent + "  ".join(cells)).rstrip())
    return "\n".join(lines)


def size(count: float) -> str:
    """Bytes for people: 1.2 MB."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"
