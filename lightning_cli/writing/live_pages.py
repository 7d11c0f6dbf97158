"""Live pages: sources of the package put together into one HTML file that loads nothing, on disk or on a server.

A source is an HTML file in `lightning_cli/pages`. Style sheets and scripts that it names are put in its place, formulas
between dollars become MathML, and an empty `<script type="application/json" id="NAME">` receives what Python knows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import TYPE_CHECKING

from lightning_cli.writing.board_page import STYLE
from lightning_cli.writing.mathml import mathml
from lightning_sym.arguments import shown
from lightning_sym.errors import BadInput
from lightning_sym.lazy import lazy_imports

with lazy_imports(__name__):
    from lightning_cli.writing import playground
    from lightning_sym.geometry import classify, layer_orbits

if TYPE_CHECKING:
    from lightning_sym.checkpoints.model import Checkpoint

# no page can load anything, whatever is written in it
_ALONE = (
    '<meta http-equiv="Content-Security-Policy" '
    "content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\"/>"
)


@dataclass(frozen=True)
class LivePage:
    """One page.

    Attributes:
        title: what it shows, in one line.
        data: by the name of the element, what Python puts into the page.
        of_weights: the same of a person's checkpoint, where the page can show one.
    """

    title: str
    data: Mapping[str, Callable[[], object]] = field(default_factory=dict)
    of_weights: Mapping[str, Callable[[Checkpoint], object]] = field(default_factory=dict)


def _figure_1_orbits() -> list[dict[str, object]]:
    """Return what `classify` says of every kind of point for `d = 2`, `d' = 1`, `a >= 2`."""
    kinds = [(orbit, classify.classify(orbit.weights(2))) for orbit in layer_orbits.pair_orbits(2, 1, 2)]
    return [
        {
            "attention": orbit.attention,
            "value": orbit.value,
            "common": orbit.common,
            "labels": [label.value for label in found.labels],
            "reasons": list(found.reasons),
        }
        for orbit, found in kinds
    ]


PAGES = {
    "figure-1": LivePage(
        "Figure 1: the quartic surface, its singular line, a point and a line", {"orbits": _figure_1_orbits}
    ),
    "dimension": LivePage(
        "Certified or not: two bounds for a dimension, the pivots, and the paper's formula beside them"
    ),
    "fiber": LivePage("A fiber to move along: rescalings, bases and the exchange, and a polynomial that stays"),
    "softmax": LivePage("Softmax peeled: two tokens, mean and difference, and one layer after the other read off"),
    "playground": LivePage(
        "A transformer to take apart: rewrite it and no logit moves, break a rule, and twelve models to be mended",
        {"model": lambda: playground.playground()},
        {"model": lambda checkpoint: playground.playground_of(checkpoint)},
    ),
}
"""By name: the source is `lightning_cli/pages/NAME.html`."""


def page_text(name: str, checkpoint: Checkpoint | None = None) -> str:
    """Return a page, whole, with a person's checkpoint in place of the one that it comes with.

    Raises:
        BadInput: there is none of this name, or it shows no checkpoint, or not one of this form.
        MissingExtra: what writes formulas is not installed.
    """
    if name not in PAGES:
        raise BadInput(f"the page must be one of {', '.join(PAGES)}, got {shown(name)}")
    page = PAGES[name]
    if checkpoint is not None and not page.of_weights:
        able = ", ".join(each for each, other in PAGES.items() if other.of_weights)
        raise BadInput(f"a checkpoint must go with the page {able}, got {name}")
    text = source(f"{name}.html")
    text = text.replace('<meta charset="utf-8"/>', f'<meta charset="utf-8"/>\n{_ALONE}', 1)
    text = _with_formulas(text)
    for element, made in page.data.items():
        text = _with_data(text, element, made() if checkpoint is None else page.of_weights[element](checkpoint))
    # last: nothing that stands in a script is taken for anything else
    text = re.sub(
        r'<link rel="stylesheet" href="([\w.-]+)"/>', lambda found: f"<style>{STYLE}{source(found[1])}</style>", text
    )
    return re.sub(r'<script src="([\w.-]+)"></script>', lambda found: f"<script>\n{source(found[1])}</script>", text)


def source(name: str) -> str:
    """Return a file of `lightning_cli/pages`."""
    return files("lightning_cli.pages").joinpath(name).read_text(encoding="utf-8")


def _with_formulas(text: str) -> str:
    text = re.sub(r"\$\$(.+?)\$\$", lambda found: mathml(found[1], display="block"), text, flags=re.DOTALL)
    return re.sub(r"\$(.+?)\$", lambda found: mathml(found[1], display="inline"), text, flags=re.DOTALL)


def _with_data(text: str, element: str, value: object) -> str:
    empty = f'<script type="application/json" id="{element}"></script>'
    # a text in it cannot end the element
    said = json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")
    return text.replace(empty, empty.replace("></", f">{said}</"), 1)
