"""An estimator of learning coefficients against thirty exact ones.

    python examples/calibrate.py [--estimator devinterp] [--output measured.json]
    python examples/calibrate.py --picture sgld.json devinterp.json calibration.svg

Each case of examples/calibration/cases.json becomes a PyTorch model at its weights. An estimator samples weights near
them, at inverse temperature n beta, and answers n beta times the mean of the loss. It needs the package torch; the
estimator `devinterp` needs the package of that name too, the estimator `sgld` nothing else. A picture needs the extra
`plot` of lightning-sym and no torch.
"""

import argparse
import json
import math
import sys
import tempfile
import time
from datetime import date
from fractions import Fraction
from itertools import product
from pathlib import Path

CASES = Path(__file__).parent / "calibration" / "cases.json"
ACCEPTED, PILOT = 0.95, 400
"""How often Metropolis would accept the steps of a rate, and how many steps are tried to know it."""

WANTED = "this needs the package {}; install it into an environment of its own: pip install {}"


def needed(name):
    """Return a package, or one line that says how to get it."""
    try:
        return __import__(name)
    except ImportError:
        print(WANTED.format(name, name), file=sys.stderr)
        raise SystemExit(2) from None


# ---- models: every weight has a first axis of copies, which walk apart


def attention(w, x, case):
    """Return the outputs of a network: layers of heads, with or without softmax, skip, embedding, unembedding."""
    stream, form = w["E"] @ x if "E" in w else x, case["form"]
    softmax = form.get("normalization") == "softmax"
    for layer in range(1, 1 + max(int(name[1:].split(".")[0]) for name in w if name[0] == "Q")):
        total = stream if form.get("skip") else 0
        for name in (name[1:] for name in w if name[0] == "Q" and int(name[1:].split(".")[0]) == layer):
            scores = (w["K" + name] @ stream).mT @ (w["Q" + name] @ stream)
            written = w["V" + name] @ stream @ (scores.softmax(-2) if softmax else scores)
            total = total + (w["O" + name] @ written if "O" + name in w else written)
        stream = total
    return w["U"] @ stream if "U" in w else stream


def over_strings(w, x, case):
    """Return the output at the last word b of each string: the mean over its words a of g_ba h_a, or softmax(g) h."""
    tokens = w["E"][:, 0, x]  # copies x strings x length x width
    scores = tokens[:, :, -1:] @ w["Q"] @ tokens.mT
    pattern = scores.softmax(-1) if case["model"] == "one head" else scores / x.shape[1]
    return (pattern @ tokens @ w["U"])[:, :, 0]


def matrix_product(w, x, case):
    """Return `B A x`, the output of a product of two matrices."""
    return w["B"] @ (w["A"] @ x)


OUTPUTS = {
    "attention": attention,
    "linear attention": over_strings,
    "one head": over_strings,
    "product": matrix_product,
}


def build(case, copies):
    """Return a PyTorch model of a case: copies of its weights, and `losses(x)`, copies x inputs."""
    torch = needed("torch")

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.names = {name.replace(".", "_"): name for name in case["weights"]}
            for key, name in self.names.items():
                rows = [[float(Fraction(entry)) for entry in row] for row in case["weights"][name]]
                start = torch.tensor(rows, dtype=torch.float64)
                self.register_buffer("true_" + key, start[None, None].clone())
                self.register_parameter(key, torch.nn.Parameter(start.expand(copies, 1, *start.shape).clone()))

        def losses(self, x):
            found, true = (
                OUTPUTS[case["model"]]({name: getattr(self, prefix + key) for key, name in self.names.items()}, x, case)
                for prefix in ("", "true_")
            )
            if case["loss"] == "Kullback-Leibler divergence":
                found, true = found.log_softmax(-1), true.log_softmax(-1)
                return (true.exp() * (true - found)).sum(-1)
            return ((found - true) ** 2).flatten(2).sum(2) / 2

    return Model()


def sampler(case, generator):
    """Return a function that draws so many inputs; of strings it gives all, as they are few."""
    torch, law = needed("torch"), case["inputs"]
    if law["law"] == "all strings":
        every = torch.tensor(list(product(range(law["words"]), repeat=law["length"])))
        return lambda count: every
    if law["law"] == "normal":
        return lambda count: torch.randn(count, *law["shape"], generator=generator, dtype=torch.float64)
    low, high = law["from"], law["to"]
    return lambda count: low + (high - low) * torch.rand(count, *law["shape"], generator=generator, dtype=torch.float64)


# ---- estimators: the answer of each chain


def squares(parts):
    """Return the sum of squares of a change of all weights, for each copy."""
    return sum((part**2).flatten(1).sum(1) for part in parts)


def langevin_walk(case, given, rate, steps):
    """Return the mean loss of each chain of Langevin steps, and how often Metropolis would accept a step.

    All chains walk at once.

    The first half of the steps is thrown away.
    """
    torch = needed("torch")
    torch.manual_seed(given.seed)
    model = build(case, given.chains)
    inputs = sampler(case, torch.Generator().manual_seed(given.seed))(given.inputs)
    weights = list(model.parameters())
    starts, size, seen, kept = [w.detach().clone() for w in weights], math.sqrt(rate), 0, 0
    energy, pulls, noises = None, [], []
    for step in range(steps):
        losses = model.losses(inputs).mean(1)
        model.zero_grad()
        losses.sum().backward()
        with torch.no_grad():
            away = [w - start for w, start in zip(weights, starts, strict=True)]
            before, energy = energy, given.nbeta * losses.detach() + given.localization / 2 * squares(away)
            pulled, pulls = (
                pulls,
                [given.nbeta * w.grad + given.localization * v for w, v in zip(weights, away, strict=True)],
            )
            if 2 * step >= steps:
                back = [size / 2 * (old + new) - noise for old, new, noise in zip(pulled, pulls, noises, strict=True)]
                kept += (before - energy + (squares(noises) - squares(back)) / 2).exp().clamp(max=1).mean()
                seen += losses.detach()
            noises = [torch.randn_like(w) for w in weights]
            for w, pull, noise in zip(weights, pulls, noises, strict=True):
                w += size * noise - rate / 2 * pull
    return seen / (steps - steps // 2), float(kept / (steps - steps // 2))


def chosen_rate(case, given):
    """Return the rate that is asked for, or the first of 1e-2, 3e-3, 1e-3, ... whose steps Metropolis would accept."""
    rates = (each * 10.0**power for power in range(-2, -9, -1) for each in (1.0, 0.3))
    return given.rate or next((rate for rate in rates if langevin_walk(case, given, rate, PILOT)[1] > ACCEPTED), 1e-9)


def sgld(case, given, rate):
    """Return an estimate for each chain, from plain Langevin steps."""
    return (given.nbeta * langevin_walk(case, given, rate, given.steps)[0]).tolist()


def devinterp(case, given, rate):
    """Return `llc` of the package devinterp by chain: it takes the mean over all steps, from the first one on."""
    needed("devinterp")
    from datasets import Dataset
    from devinterp.slt.llc import llc

    torch = needed("torch")
    model, draw = build(case, 1), sampler(case, torch.Generator().manual_seed(given.seed))
    inputs = draw(given.inputs)
    rows = Dataset.from_dict({"input_ids": [[k, 0] for k in range(len(inputs))]}).with_format("torch")
    with tempfile.TemporaryDirectory() as folder:
        found = llc(
            model, rows, {}, lr=rate, n_beta=given.nbeta, localization=given.localization,
            num_chains=given.chains, num_draws=given.steps, batch_size=len(inputs), num_init_loss_batches=1,
            init_seed=given.seed, device="cpu", output_path=Path(folder) / "samples.zarr",
            loss_fn=lambda model, chosen: model.losses(inputs[chosen[:, 0]])[0][:, None],
        )  # fmt: skip
        return [float(x) for x in found["llc_per_chain"]]


ESTIMATORS = {"sgld": sgld, "devinterp": devinterp}


# ---- the table, the file and the picture


def row(case, rate, chains):
    """Return what is written of a case: the exact pair, the estimate with its standard error, and how far it is off."""
    mean = sum(chains) / len(chains)
    spread = math.sqrt(sum((x - mean) ** 2 for x in chains) / max(1, len(chains) - 1) / len(chains))
    return {
        "name": case["name"],
        "lambda": case["lambda"],
        "m": case["m"],
        "rate": rate,
        "estimate": mean,
        "error": spread,
    }


def measure(given):
    """Run the estimator on all cases, print a line for each, and write the file."""
    cases = [case for case in json.loads(CASES.read_text(encoding="utf-8"))["cases"] if given.only in case["name"]]
    rows, began = [], time.perf_counter()
    print(f"{'model':36} {'exact':>6} {'m':>2} {'rate':>6} {'estimate':>9} {'error':>6}")
    for case in cases:
        rate = chosen_rate(case, given)
        found = row(case, rate, ESTIMATORS[given.estimator](case, given, rate))
        rows.append(found)
        print("{name:36} {lambda:>6} {m:>2} {rate:6.0e} {estimate:9.3f} {error:6.3f}".format(**found), flush=True)
    off = [each["estimate"] - float(Fraction(each["lambda"])) for each in rows]
    print(f"mean error {sum(off) / len(off):+.3f}, mean size of it {sum(map(abs, off)) / len(off):.3f}")
    print(f"{time.perf_counter() - began:.0f} s")
    if given.output:
        settings = {name: getattr(given, name) for name in SETTINGS}
        head = json.dumps({"measured": str(date.today()), "estimator": given.estimator, **settings})
        lines = ",\n".join(map(json.dumps, rows))
        Path(given.output).write_text(f'{head[:-1]}, "rows": [\n{lines}\n]}}\n', encoding="utf-8")


def draw_picture(sources, target):
    """Estimate against truth, a panel for each file that was measured, one colour for each multiplicity."""
    from lightning_cli.pictures.drawing import BLUE, GREY, ORANGE, grey_legend, image, plain_axes, write_caption

    every = [json.loads(Path(source).read_text(encoding="utf-8")) for source in sources]
    styles = {1: (BLUE, "o", "m = 1"), 2: (ORANGE, "s", "m = 2")}

    def drawn(figure):
        for place, measured in enumerate(every, 1):
            axes = plain_axes(figure, "", (1, len(every), place))
            rows = [{**each, "exact": float(Fraction(each["lambda"]))} for each in measured["rows"]]
            most = max(max(each["exact"], each["estimate"]) for each in rows) + 0.4
            axes.plot([0, most], [0, most], color=GREY, linewidth=1)
            for m, (colour, shape, label) in styles.items():
                across, up, errors = zip(
                    *((r["exact"], r["estimate"], r["error"]) for r in rows if r["m"] == m), strict=True
                )
                axes.errorbar(across, up, errors, color=colour, marker=shape, linestyle="", markersize=5, label=label)
            axes.set_title(f"{measured['estimator']}, {measured['steps']:,} steps")
            axes.set_xlabel("learning coefficient, exact")
            axes.set_ylabel("estimate")
            axes.set_aspect("equal")
            grey_legend(axes, loc="upper left")
        write_caption(figure, "Exact: the places across. Up: estimates in floats, with a standard error over chains.")

    Path(target).write_bytes(image(drawn, (4.4 * len(every), 4.4), Path(target).suffix[1:]))


SETTINGS = {
    "chains": (8, "chains"), "steps": (10000, "of each chain"),
    "rate": (0.0, "learning rate, the same for all; 0 chooses one for each"),
    "nbeta": (1000.0, "inverse temperature"), "localization": (10.0, "strength of the pull to the weights"),
    "inputs": (256, "that are drawn once"), "seed": (0, "of everything random"),
}  # fmt: skip


def main():
    """Measure, or draw what was measured."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--estimator", choices=sorted(ESTIMATORS), default="sgld")
    asked.add_argument("--only", default="", help="cases with this in their name")
    asked.add_argument("--output", help="also write the figures to this file")
    asked.add_argument("--picture", nargs="+", metavar="FILE", help="draw files that were measured; the last is drawn")
    for name, (value, said) in SETTINGS.items():
        asked.add_argument(f"--{name}", type=type(value), default=value, help=f"{said}; {value} if not given")
    given = asked.parse_args()
    if given.picture:
        draw_picture(given.picture[:-1], given.picture[-1])
    else:
        measure(given)


if __name__ == "__main__":
    main()
