"""The house: which room of the code imports from which, drawn as floors. `python scripts/draw_house.py > house.svg`.

A room is a folder, or a file that stands beside folders. It stands one floor above the highest room that it imports
from, so every arrow points down.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("lightning_sym", "proofs_check", "lightning_cli")

BOX, GAP, HIGH, BETWEEN, MARGIN = 118, 14, 42, 46, 8


@dataclass(frozen=True)
class Drawing:
    """The house as SVG, and what is in it, in a sentence."""

    svg: str
    caption: str


def room_of(path: Path) -> str:
    """`lightning_sym.rings` for a file in that folder, `lightning_sym.errors` for one that stands beside folders.

    Example:
        >>> room_of(Path("lightning_sym/rings/arrays.py")), room_of(Path("lightning_sym/__init__.py"))
        ('lightning_sym.rings', 'lightning_sym')
    """
    parts = path.with_suffix("").parts[:2]
    return parts[0] if parts[1] == "__init__" else ".".join(parts)


def files() -> dict[Path, str]:
    """Every file, by its path from the root, and its room; without the `__init__` files that import nothing."""
    found = [path.relative_to(ROOT) for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    return {path: room_of(path) for path in found if path.name != "__init__.py" or _imported(path)}


@cache
def _imported(path: Path) -> frozenset[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(names)


def arrows() -> dict[str, set[str]]:
    """For every room the rooms that it imports from; imports inside functions count."""
    where = files()
    rooms = set(where.values())
    found: dict[str, set[str]] = {room: set() for room in rooms}
    for path, room in where.items():
        for name in _imported(path):
            parts = name.split(".")
            other = ".".join(parts[:2])
            if other not in rooms and parts[0] in rooms and len(parts) == 2:
                other = parts[0]  # a public name of a package
            if other in rooms and other != room and len(parts) > 1:
                found[room].add(other)
    return found


def floors(graph: dict[str, set[str]]) -> list[list[str]]:
    """Rooms by floor, the ground first.

    Raises:
        graphlib.CycleError: rooms import in a circle.

    Example:
        >>> floors({"a": set(), "b": {"a"}, "c": {"a", "b"}})
        [['a'], ['b'], ['c']]
    """
    height: dict[str, int] = {}
    for room in TopologicalSorter(graph).static_order():
        height[room] = 1 + max((height[other] for other in graph[room]), default=-1)
    return [sorted(r for r, h in height.items() if h == floor) for floor in range(max(height.values()) + 1)]


def needed(graph: dict[str, set[str]]) -> list[tuple[str, str]]:
    """The arrows that do not follow from others.

    Example:
        >>> needed({"a": set(), "b": {"a"}, "c": {"a", "b"}})
        [('b', 'a'), ('c', 'b')]
    """
    below: dict[str, set[str]] = {}
    for room in TopologicalSorter(graph).static_order():
        below[room] = graph[room].union(*(below[other] for other in graph[room]))
    return sorted(
        (room, other)
        for room, others in graph.items()
        for other in others
        if not any(other in below[third] for third in others)
    )


def _ordered(rows: list[list[str]], lines: list[tuple[str, str]]) -> list[list[str]]:
    """Rooms of a floor beside the rooms that they are joined to, to keep lines from crossing."""
    place = {room: (i + 0.5) / len(row) for row in rows for i, room in enumerate(row)}
    for _ in range(8):
        for i, row in enumerate(rows):
            joined = {r: [place[b if a == r else a] for a, b in lines if r in (a, b)] or [place[r]] for r in row}
            rows[i] = sorted(row, key=lambda room: (sum(joined[room]) / len(joined[room]), room))
            place |= {room: (k + 0.5) / len(row) for k, room in enumerate(rows[i])}
    return rows


def house() -> Drawing:
    """The house as it stands now."""
    graph = arrows()
    lines = needed(graph)
    rows = _ordered(floors(graph), lines)
    where = files()
    count = {room: sum(r == room for r in where.values()) for room in graph}
    width = max(len(row) for row in rows) * (BOX + GAP) - GAP + 2 * MARGIN
    height = len(rows) * (HIGH + BETWEEN) - BETWEEN + 2 * MARGIN
    corner: dict[str, tuple[float, float]] = {}
    for floor, row in enumerate(rows):
        left = (width - len(row) * (BOX + GAP) + GAP) / 2
        for i, room in enumerate(row):
            corner[room] = (left + i * (BOX + GAP), height - MARGIN - HIGH - floor * (HIGH + BETWEEN))
    out = [
        f'<svg class="house" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        'aria-label="rooms of the code and which imports from which">'
    ]
    for room, other in lines:
        (x1, y1), (x2, y2) = corner[room], corner[other]
        y1 += HIGH
        bend = min((y2 - y1) / 2, BETWEEN / 2)
        a, b = x1 + BOX / 2, x2 + BOX / 2
        out.append(
            f'<path class="arrow" d="M{a:g} {y1:g} C{a:g} {y1 + bend:g} {b:g} {y2 - bend:g} {b:g} {y2:g}" '
            'fill="none" stroke="currentColor" stroke-opacity="0.35"/>'
        )
    for room, (x, y) in sorted(corner.items()):
        package, _, name = room.partition(".")
        number = f"{count[room]} files" if count[room] > 1 else "one file"
        out.append(
            f'<g class="room {package}"><rect x="{x:g}" y="{y:g}" width="{BOX}" height="{HIGH}" rx="5"/>'
            f'<text class="name" x="{x + BOX / 2:g}" y="{y + 18:g}">{escape(name or package)}</text>'
            f'<text class="size" x="{x + BOX / 2:g}" y="{y + 33:g}">{escape(number)}</text></g>'
        )
    out.append("</svg>")
    arrow_count = sum(map(len, graph.values()))
    caption = (
        f"{len(where)} files in {len(graph)} rooms on {len(rows)} floors, {arrow_count} arrows from room to room, "
        f"of which the {len(lines)} that do not follow from others are drawn."
    )
    return Drawing("\n".join(out), caption)


def main() -> None:
    """Print the picture."""
    print(house().svg)


if __name__ == "__main__":
    main()
