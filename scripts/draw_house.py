"""The house: which room of the code imports from which, drawn as floors. `python scripts/draw_house.py > house.svg`.

A room is a folder, or a file that stands beside folders. It stands one floor above the highest room that it imports
from, so every arrow points down.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from html import escape
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("lightning_sym", "proofs_check", "lightning_cli")

BOX, GAP, HIGH, BETWEEN, MARGIN = 112, 18, 42, 44, 8
LANE = 10
"""A line that passes a floor takes so much room beside the boxes."""
_MODULE = re.compile(rf"({'|'.join(PACKAGES)})\.[a-z_.]+")


@dataclass(frozen=True)
class Drawing:
    """The house as SVG, and what is in it, in a sentence."""

    svg: str
    caption: str


def room_of(path: Path) -> str:
    """Return the room of a file, such as `lightning_sym.rings` for one in that folder.

    It is `lightning_sym.errors` for one that stands beside folders.

    Example:
        >>> room_of(Path("lightning_sym/rings/arrays.py")), room_of(Path("lightning_sym/__init__.py"))
        ('lightning_sym.rings', 'lightning_sym')
    """
    parts = path.with_suffix("").parts[:2]
    return parts[0] if parts[1] == "__init__" else ".".join(parts)


def files() -> dict[Path, str]:
    """Return every file, by its path from the root, and its room; without the `__init__` files that import nothing."""
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
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _MODULE.fullmatch(node.value):
            names.add(node.value)  # the name of a module in a table: imported when it is asked for
    return frozenset(names)


def arrows() -> dict[str, set[str]]:
    """Return for every room the rooms that it imports from; imports inside functions count."""
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
    """Return the rooms by floor, the ground first.

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
    """Return the arrows that do not follow from others.

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


Spot = tuple[str, str, int]
"""A box `(room, "", floor)`, or where a line from one room to another passes a floor, `(room, other, floor)`."""


def _routes(rows: list[list[str]], lines: list[tuple[str, str]]) -> list[list[Spot]]:
    """Return every line as the spots it touches, from above."""
    floor = {room: i for i, row in enumerate(rows) for room in row}
    return [
        [(a, "", floor[a]), *((a, b, i) for i in range(floor[a] - 1, floor[b], -1)), (b, "", floor[b])]
        for a, b in lines
    ]


def _placed(rows: list[list[str]], routes: list[list[Spot]]) -> dict[Spot, float]:
    """Return the middle of every spot: spots of a floor beside each other, near the spots that they are joined to."""
    spots: list[list[Spot]] = [[(room, "", i) for room in row] for i, row in enumerate(rows)]
    joined: dict[Spot, list[Spot]] = {spot: [] for row in spots for spot in row}
    for route in routes:
        for spot in route[1:-1]:
            spots[spot[2]].append(spot)
            joined[spot] = []
        for one, other in pairwise(route):
            joined[one].append(other)
            joined[other].append(one)
    place = {spot: float(i * BOX) for row in spots for i, spot in enumerate(row)}
    for sweep in range(60):
        for row in spots if sweep % 2 else reversed(spots):
            wanted = {s: sum(place[o] for o in joined[s]) / len(joined[s]) if joined[s] else place[s] for s in row}
            if sweep < 40:
                row.sort(key=lambda spot: (wanted[spot], spot))
            at: list[float] = []
            for i, spot in enumerate(row):
                apart = (_width(row[i - 1]) + _width(spot)) / 2 + GAP if i else 0
                at.append(max(wanted[spot], at[-1] + apart) if i else wanted[spot])
            shift = sum(at[i] - wanted[spot] for i, spot in enumerate(row)) / len(row)
            place |= {spot: at[i] - shift for i, spot in enumerate(row)}
    left = min(place[spot] - _width(spot) / 2 for spot in place)
    return {spot: round(x - left + MARGIN, 1) for spot, x in place.items()}


def _width(spot: Spot) -> int:
    return LANE if spot[1] else BOX


def _line(points: list[tuple[float, float]]) -> str:
    """Return a line from the foot of a box, straight through the floors it passes, to the head of another."""
    (x, y), *others = points
    y += HIGH
    path = f"M{x:g} {y:g}"
    for i, (a, b) in enumerate(others, start=2):
        middle = (y + b) / 2
        path += f" C{x:g} {middle:g} {a:g} {middle:g} {a:g} {b:g}"
        x, y = a, b
        if i < len(points):
            y += HIGH
            path += f" L{x:g} {y:g}"
    return f'<path d="{path}" fill="none" stroke="currentColor" stroke-opacity="0.4"/>'


def house() -> Drawing:
    """Return the house as it stands now."""
    graph = arrows()
    lines, rows = needed(graph), floors(graph)
    routes = _routes(rows, lines)
    place = _placed(rows, routes)
    where = files()
    count = {room: sum(r == room for r in where.values()) for room in graph}
    width = max(x + _width(spot) / 2 for spot, x in place.items()) + MARGIN
    height = len(rows) * (HIGH + BETWEEN) - BETWEEN + 2 * MARGIN
    top = [height - MARGIN - HIGH - floor * (HIGH + BETWEEN) for floor in range(len(rows))]
    out = [
        f'<svg class="house" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img" '
        'aria-label="rooms of the code and which imports from which">'
    ]
    out += [_line([(place[spot], top[spot[2]]) for spot in route]) for route in routes]
    for floor, row in enumerate(rows):
        for room in row:
            package, _, name = room.partition(".")
            x, y = place[room, "", floor], top[floor]
            number = f"{count[room]} files" if count[room] > 1 else "one file"
            out.append(
                f'<g class="room {package}"><rect x="{x - BOX / 2:g}" y="{y:g}" width="{BOX}" height="{HIGH}" rx="5"/>'
                f'<text class="name" x="{x:g}" y="{y + 18:g}">{escape(name or package)}</text>'
                f'<text class="size" x="{x:g}" y="{y + 33:g}">{escape(number)}</text></g>'
            )
    out.append("</svg>")
    caption = (
        f"{len(where)} files in {len(graph)} rooms on {len(rows)} floors, {sum(map(len, graph.values()))} arrows from "
        f"room to room, of which the {len(lines)} that do not follow from others are drawn."
    )
    return Drawing("\n".join(out), caption)


def main() -> None:
    """Print the picture."""
    print(house().svg)


if __name__ == "__main__":
    main()
