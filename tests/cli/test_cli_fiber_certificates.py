"""`fiber --certificate` as a user meets it: written and proved, or refused in one line and nothing written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import run

from lightning_sym.certificates import fibers

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(
    ("name", "options", "code", "theorem"),
    [
        ("transformer", ("--tokens", "3"), 0, "docs/transformer-fibers.md, Corollary 5"),
        ("equal_heads", ("--tokens", "2"), 3, None),
        ("two_layers", ("--normalization", "softmax"), 0, "docs/softmax-fibers.md, Theorem 1"),
    ],
)
def test_fiber_writes_what_verify_proves(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, options: tuple[str, ...], code: int, theorem: str
) -> None:
    path, words = tmp_path / "fiber.json", ("fiber", str(EXAMPLES / f"{name}.json"), *options)
    returned, plain, _ = run(capsys, *words)
    assert run(capsys, *words, "--certificate", str(path)) == (returned, plain, f"certificate: {path}\n")
    assert (returned, list(tmp_path.iterdir())) == (code, [path])
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document["theorem"] == theorem
    assert run(capsys, *words, "--certificate", str(path), "--json")[0] == code
    returned, out, err = run(capsys, "verify", str(path))
    assert (returned, err) == (0, "")
    assert out.startswith(f"{path}: proved: ")
    changed = document | {"dimension": (document["dimension"] or 0) + 1}
    path.write_text(json.dumps(changed), encoding="utf-8")
    assert run(capsys, "verify", str(path))[0] == 1


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("two_layers.json",), "a certificate of a lightning fiber needs Theorem 3 of docs/deep-lightning.md"),
        (("transformer.json", "--tokens", "1"), "a certificate of a fiber needs two tokens or more"),
        (("wide.json", "--tokens", "2"), "a certificate needs a theorem that applies, or a condition that is"),
    ],
)
def test_what_cannot_be_certified_is_refused(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    reason: str,
) -> None:
    monkeypatch.setattr(fibers, "WIDEST", 4)
    folder, path = tmp_path / "files", tmp_path / "fiber.json"
    folder.mkdir()
    for name in ("two_layers", "transformer"):
        (folder / f"{name}.json").write_bytes((EXAMPLES / f"{name}.json").read_bytes())
    row = [[1, 0, 0, 0, 0]]  # heads are equal, but of networks wider than WIDEST nothing is written down of that
    wide = {f"{c}{i}.{h}": row for c in "QKV" for i in (1, 2) for h in (1, 2)}
    wide |= {f"O{i}.{h}": [[1]] * 5 for i in (1, 2) for h in (1, 2)}
    form = {"normalization": "softmax", "mask": "none", "skip": True}
    (folder / "wide.json").write_text(json.dumps({**wide, "form": form}), encoding="utf-8")
    code, out, err = run(capsys, "fiber", str(folder / words[0]), *words[1:], "--certificate", str(path))
    assert (code, out) == (2, "")
    assert reason in err
    assert err.count("\n") == 1
    assert not path.exists()


def test_the_path_is_looked_at_first(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing" / "fiber.json"):
        words = ("fiber", str(EXAMPLES / "transformer.json"), "--tokens", "3", "--certificate", str(path))
        code, out, err = run(capsys, *words)
        assert (code, out, err.count("\n")) == (2, "", 1)
