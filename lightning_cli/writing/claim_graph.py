"""What rests on what: the claims as a drawing in which each name leads to its statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from proofs_check.registry import claim_by_id, levels

COLUMN, ROW, BOX, HEIGHT = 222, 30, 194, 22


def _order(columns: list[list[str]], below: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Each column sorted so that lines are short: by the mean place of what a claim is joined to."""
    for _ in range(4):
        for direction in (1, -1):
            span = columns if direction == 1 else columns[::-1]
            places = {claim: place for column in columns for place, claim in enumerate(column)}
            for column in span:
                mean: dict[str, float] = {}
                for claim in column:
                    near = [
                        places[other]
                        for other in places
                        if (other in below[claim] if direction == 1 else claim in below[other])
                    ]
                    mean[claim] = sum(near) / len(near) if near else places[claim]
                column.sort(key=lambda claim: mean[claim])
                places.update({claim: place for place, claim in enumerate(column)})
    return columns


def graph_svg(claims: Sequence[str], kinds: Mapping[str, str], anchors: Mapping[str, str]) -> str:
    """The drawing as SVG, from left to right.

    Args:
        claims: their ids.
        kinds: by id, the class that gives a box its colour.
        anchors: by id, where a click leads.
    """
    found, below = levels(claims), {claim: claim_by_id(claim).rests_on for claim in claims}
    by_level = [[c for c in claims if found[c] == level] for level in range(max(found.values(), default=0) + 1)]
    columns = _order(by_level, below)
    tallest = max(map(len, columns))
    place: dict[str, tuple[float, float]] = {}
    for x, column in enumerate(columns):
        top = (tallest - len(column)) * ROW / 2
        place |= {claim: (4 + x * COLUMN, 4 + top + y * ROW) for y, claim in enumerate(column)}
    lines, boxes = [], []
    for claim, (left, top) in place.items():
        for each in below[claim]:
            if each in place:
                from_x, from_y = place[each][0] + BOX, place[each][1] + HEIGHT / 2
                half, to_y = (from_x + left) / 2, top + HEIGHT / 2
                lines.append(
                    f'<path d="M{from_x:g} {from_y:g}C{half:g} {from_y:g} {half:g} {to_y:g} {left:g} {to_y:g}"/>'
                )
        boxes.append(
            f'<a href="#{anchors[claim]}" class="{kinds[claim]}"><rect x="{left:g}" y="{top:g}" width="{BOX}" '
            f'height="{HEIGHT}" rx="4"/><text x="{left + 8:g}" y="{top + 15:g}">{escape(claim)}</text></a>'
        )
    width, height = len(columns) * COLUMN - COLUMN + BOX + 8, tallest * ROW + 4
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'style="min-width: {min(1100, 1.3 * width):g}px" '
        'role="img" aria-label="which claims rest on which; the same stands as text with each claim">'
        f'<g class="lines">{"".join(lines)}</g>{"".join(boxes)}</svg>'
    )
