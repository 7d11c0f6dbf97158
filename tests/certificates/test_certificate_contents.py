"""What goes into a certificate: polynomials by their coefficients, values, and no more than checkers read."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from checker import verdict, written

from lightning_sym import (
    SOFTMAX,
    Architecture,
    Normalization,
    Weights,
    certified_dimension,
    same_function,
)
from lightning_sym.certificates import limits as certificate_limits
from lightning_sym.certificates.dimension import dimension_certificate
from lightning_sym.certificates.document import normalization_document
from lightning_sym.certificates.files import write_certificate
from lightning_sym.certificates.same_function import same_certificate
from lightning_sym.errors import BadInput, TooLarge
from proofs_check.certificates import CertificateWriter
from proofs_check.checker import verify
from proofs_check.claims.normalized.rational_normalizer import ONE_PLUS_Y, of_values, one_rank


def test_values_of_rational_normalizers(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    writer = CertificateWriter(tmp_path, "values", "y")
    writer.write(of_values(one_rank((2, 2, 2)), 0))
    writer.write(of_values(Architecture((2, 2, 2), (1, 2), 2, normalization=ONE_PLUS_Y), 1))
    assert len(writer.written) == 2
    for path in (tmp_path / "values").iterdir():
        assert verdict(capsys, path).startswith("proved: ")


def test_a_polynomial_is_written_by_its_coefficients() -> None:
    square = Normalization(
        "1 + y^2/3", lambda k: [Fraction(1), Fraction(0), Fraction(1, 3)][k] if k < 3 else Fraction(0)
    )
    assert normalization_document(square) == {"name": "1 + y^2/3", "taylor": ["1", "0", "1/3"]}
    with pytest.raises(BadInput, match="softmax or a polynomial"):
        normalization_document(Normalization("1/(1 - y)", lambda k: Fraction(1)))


def test_no_certificate_is_larger_than_checkers_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    document = dimension_certificate(certified_dimension(Architecture((2, 2), (1,), 2)))
    monkeypatch.setattr(certificate_limits, "LARGEST_FILE", 100)
    with pytest.raises(TooLarge, match="at most"):
        write_certificate(tmp_path / "c.json", document)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "network",
    [
        Architecture((3, 2, 3), (2, 2), 2),
        Architecture((2,) * 9, (1,) * 8, 3, SOFTMAX),
        Architecture((3, 3), (2,), 2, SOFTMAX, 2, (1,), skip=True, causal=True, embed=2, unembed=4),
        Architecture((3, 3, 2), (2, 1), 2, Normalization("1 + y", lambda k: Fraction(int(k < 2)))),
    ],
    ids=str,
)
def test_the_steps_of_a_check_are_known_before(network: Architecture) -> None:
    document = dimension_certificate(certified_dimension(network))
    stated = certificate_limits.steps(network, document["lower"], document["lower_bound"])
    verify.BUDGET.set(verify.Budget())
    verify.lower_bound(verify.Network(document["network"]), document["lower"], document["lower_bound"])
    spent = verify.STEPS - verify.BUDGET.get().steps
    assert stated <= 1.5 * spent
    assert spent <= 1.5 * stated


OUTPUTS = {
    "lightning": Architecture((2, 2), (1,), 3, skip=True),
    "masked": Architecture((2, 2, 2), (1, 2), 3, heads=2, causal=True),
    "softmax": Architecture((2, 2, 2), (2, 1), 3, SOFTMAX, heads=2, skip=True),
    "masked softmax": Architecture((2, 2), (2,), 3, SOFTMAX, value_ranks=(1,), skip=True, causal=True),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_the_steps_of_outputs_are_those_that_the_checker_foresees(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    network = OUTPUTS[name]
    first, second = (Weights.random(network, seed=seed, bound=3) for seed in (1, 2))
    document = same_certificate(same_function(first, second, 3), first, second, 3)
    if document["proof"]["by"] != "input":  # a theorem that decides all such pairs
        document["proof"] = {"by": "input", "input": [[1, 2, 3], [0, 1, 5]], "prime": None, "bits": 64}
    assert verdict(capsys, written(tmp_path, document)).startswith("proved: ")
    budget, shape = verify.Budget(), replace(network, tokens=len(document["proof"]["input"][0]))
    budget.steps = 100
    with pytest.raises(verify.Rejected, match=r"this takes [0-9,]+ or more") as refused:
        verify.check(document, budget)
    said = int(re.search("this takes ([0-9,]+)", str(refused.value))[1].replace(",", ""))  # type: ignore[index]
    assert said - verify.STEPS + budget.steps == 2 * certificate_limits.output_steps(shape, document["proof"]["bits"])


def test_an_input_that_takes_too_long_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    for network in (OUTPUTS["lightning"], OUTPUTS["softmax"]):
        first, second = (Weights.random(network, seed=seed, bound=3) for seed in (1, 2))
        comparison = same_function(first, second, 3)
        assert same_certificate(comparison, first, second, 3)["proof"]["by"] == "input"
        monkeypatch.setattr(certificate_limits, "MOST_STEPS", 300)
        with pytest.raises(TooLarge, match=r"an input of so many tokens takes [0-9,]+"):
            same_certificate(comparison, first, second, 3)
        monkeypatch.undo()
