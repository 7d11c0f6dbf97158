"""`atlas --page FILE`: tables and plots of an atlas, one HTML file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from html import escape
from typing import TYPE_CHECKING

from lightning_cli.output_file import write_file
from lightning_cli.pictures.drawing import grey_legend, image, plain_axes
from lightning_cli.writing.board_page import page
from lightning_sym.version import __version__

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lightning_sym.atlas.store import Atlas, Entry

_MOST_SHOWN, _MOST_POINTS = 40, 20_000

# colours that colour-blind people tell apart, and shapes besides
_MARKS = {
    "agrees": ("certified, the paper's formula agrees", "#0072b2", "o"),
    "differs": ("certified, the paper's formula differs", "#d55e00", "D"),
    "without": ("certified, the paper has no formula", "#8a8a8a", "."),
    "open": ("bounds that do not meet", "#cc79a7", "^"),
}


def kind_of(entry: Entry) -> str:
    """Return which of the marks a network gets; `refused` gets none."""
    if entry.status == "refused":
        return "refused"
    if entry.dimension is None:
        return "open"
    return {1: "agrees", 0: "differs", None: "without"}[entry.formula_agrees]


def _draw(entries: Sequence[Entry], figure: Figure) -> None:
    axes = plain_axes(figure)
    for name, (label, colour, marker) in _MARKS.items():
        chosen = [e for e in entries if kind_of(e) == name and e.lower is not None and e.upper is not None]
        if not chosen:
            continue
        x, low = [e.parameters for e in chosen], [e.lower or 0 for e in chosen]
        if name == "open":
            axes.vlines(x, low, [e.upper or 0 for e in chosen], color=colour, linewidth=1)
        axes.scatter(x, low, s=18, color=colour, marker=marker, label=label, linewidths=0)
    axes.set(xlabel="parameters", ylabel="dimension")
    grey_legend(axes, loc="upper left")


def _rows(cells: Sequence[Sequence[object]], numbers: int) -> Iterator[str]:
    for row in cells:
        texts = [escape(str(cell)) for cell in row]
        first = f"<td>{texts[0]}</td>"
        rest = "".join(f'<td class="number">{t}</td>' for t in texts[1 : 1 + numbers])
        yield f"<tr>{first}{rest}{''.join(f'<td>{t}</td>' for t in texts[1 + numbers :])}</tr>"


def _table(head: Sequence[str], cells: Sequence[Sequence[object]]) -> str:
    names = "".join(f'<th class="{"number" if i else ""}">{escape(name)}</th>' for i, name in enumerate(head))
    body = "".join(_rows(cells, len(head) - 1))
    return f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>"


def _pattern(entry: Entry) -> str:
    """Return the options of a network in words, its kind."""
    words = ["lightning" if entry.normalization == "none" else entry.normalization]
    words += [f"{entry.heads} heads"] * (entry.heads > 1) + ["output projections"] * (entry.value_ranks is not None)
    words += ["skip"] * entry.skip + ["causal"] * (entry.mask == "causal")
    words += ["embedding"] * (entry.embed is not None) + ["unembedding"] * (entry.unembed is not None)
    tokens = "one token" if entry.tokens == 1 else "two tokens or more"
    return f"{', '.join(words)}; {entry.depth} layer{'s' * (entry.depth > 1)}, {tokens}"


def _listed(entries: Sequence[Entry], name: str, title: str, said: str) -> Iterator[str]:
    chosen = [e for e in entries if kind_of(e) == name]
    if not chosen:
        return
    more = f", the {_MOST_SHOWN} smallest" if len(chosen) > _MOST_SHOWN else ""
    yield f"<h2>{escape(title)}</h2><p>{len(chosen):,} networks{more}. {escape(said)}</p>"
    cells = [
        (
            e.architecture,
            e.parameters,
            "" if e.lower is None else e.lower if e.dimension is not None else f"{e.lower} to {e.upper}",
            "" if e.formula_value is None else e.formula_value,
        )
        for e in chosen[:_MOST_SHOWN]
    ]
    yield _table(["network", "parameters", "dimension", "formula of the paper"], cells)


def as_page(entries: Sequence[Entry], where: str | None) -> str:
    """Return the page of these networks."""
    counts: dict[str, Counter[str]] = {}
    for e in entries:
        counts.setdefault(_pattern(e), Counter())[kind_of(e)] += 1
    names = ("agrees", "differs", "without", "open", "refused")
    total = Counter(kind_of(e) for e in entries)
    certified = sum(total[name] for name in names[:3])
    chosen = f"Of the networks with <code>{escape(where)}</code>. " if where else ""
    svg = image(partial(_draw, entries[:_MOST_POINTS]), (7.6, 4.6), "svg", "the page").decode()
    parts = [
        "<header><h1>An atlas of dimensions</h1>",
        f'<p class="summary">{len(entries):,} networks: {certified:,} certified, {total["open"]:,} open, '
        f"{total['refused']:,} refused.</p>",
        f'<p class="faint">{chosen}A dimension is certified where a lower and an upper bound meet; each is exact. '
        f"Made by lightning-sym {escape(__version__)}.</p></header>",
        svg[svg.index("<svg") :].replace("<svg ", '<svg role="img" aria-label="dimension against parameters" ', 1),
        "<p><small>" + (f"The {_MOST_POINTS:,} smallest networks. " if len(entries) > _MOST_POINTS else "")
        + "A vertical line joins two bounds that do not meet.</small></p>",
        "<h2>Where the formula of the paper holds</h2>",
        _table(
            ["networks", "agrees", "differs", "no formula", "open", "refused"],
            [[pattern, *(found[name] or "" for name in names)] for pattern, found in sorted(counts.items())],
        ),
        *_listed(entries, "differs", "Where it differs", "Its hypotheses fail there, or it is refuted."),
        *_listed(entries, "open", "Where the bounds do not meet", "What is not known."),
        *_listed(entries, "refused", "Refused", "Too large for the memory that was allowed, or without a proof."),
    ]  # fmt: skip
    return "\n".join(page("An atlas of dimensions", parts, " svg { max-width: 100%; height: auto; }")) + "\n"


def write_page(path: str, atlas: Atlas, where: str | None) -> None:
    """Write the page; it appears complete, or nothing changes.

    Raises:
        BadInput: it cannot be written, or the condition is none.
        MissingExtra: matplotlib is not installed.
    """
    write_file("the output", path, as_page(list(atlas.entries(where)), where))
