"""Every piece of a checkpoint counts for everything that goes through the pieces; what is not known is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from changed_checkpoints import changed
from command import run
from plain_checkpoints import logits as plain_logits

from lightning_sym import apply, circuits, compare_fingerprints, fingerprint, open_checkpoint, same_checkpoints
from lightning_sym.checkpoints import families, layer_parts, logits, pieces, stored_checkpoint, transformer, understood
from lightning_sym.checkpoints.comparison import CheckpointAnswer
from lightning_sym.checkpoints.layout import Place
from lightning_sym.checkpoints.model import Block, Checkpoint, CheckpointForm, Ends, MadeCheckpoint
from lightning_sym.checkpoints.piece_table import ATTENTION, CheckpointPiece
from lightning_sym.checkpoints.pieces import SHAPELESS, SHAPELESS_FORM
from lightning_sym.checkpoints.random_symmetries import random_symmetry
from lightning_sym.checkpoints.symmetry import LayerSymmetry, Symmetry
from lightning_sym.checkpoints.understood import FOLLOWS, NAMED, Walker
from lightning_sym.checkpoints.writing import save_checkpoint
from lightning_sym.errors import BadInput
from lightning_sym.testing import small_checkpoint
from lightning_sym.whole_models.model_symmetries import symmetries_of


def arrays(held: Any) -> dict[str, Any]:
    return {name: np.asarray(array, dtype=np.float64) for name, array in held.present()}


# ---- every row of the table says what is so

NETWORKS = {
    "gpt2": small_checkpoint("gpt2", 1, layers=1, vocabulary=8, context=5, stored="BF16"),
    "gpt2, untied": small_checkpoint("gpt2", 2, layers=1, vocabulary=8, context=5, tied=False, stored="BF16"),
    "llama": small_checkpoint("llama", 3, layers=1, vocabulary=8, biases=True, stored="BF16"),
    "mistral, tied": small_checkpoint("mistral", 4, layers=1, vocabulary=8, tied=True, stored="BF16"),
    "qwen2": small_checkpoint("qwen2", 5, layers=1, vocabulary=8, stored="BF16"),
    "gemma2": small_checkpoint("gemma2", 7, layers=1, vocabulary=8, biases=True, stored="BF16"),
    "mixtral": small_checkpoint("mixtral", 8, layers=1, vocabulary=8, inner=8, stored="BF16"),
    "olmo2": small_checkpoint("olmo2", 9, layers=1, vocabulary=8, biases=True, stored="BF16"),
    "qwen3": small_checkpoint("qwen3", 6, layers=1, vocabulary=8, biases=True, stored="BF16"),
    "youtu": small_checkpoint("youtu", 10, layers=1, vocabulary=8, stored="BF16"),
}
BIASED = replace(NETWORKS["mixtral"].blocks[0], router_bias=np.array([0.5, -0.25, 0.125], dtype=np.float32))
NETWORKS["mixtral"] = replace(NETWORKS["mixtral"], blocks=(BIASED,))
IDS = [3, 1, 4, 1, 5]
VERDICT = 1e-9
"""Work that leaves nothing for the search of known mistakes, which is no part of what is asked here."""


def doubled(one: MadeCheckpoint) -> Iterator[tuple[str, MadeCheckpoint]]:
    """By piece, the checkpoint with one entry of it doubled, the largest of those that the prompt reads."""
    new: Any
    for layer in (None, 0):
        for name, array in (one.outer if layer is None else one.blocks[0]).present():
            new = np.array(array)
            read = np.abs(new[IDS]).argmax() if name == "embedding" else np.abs(new).argmax()
            place = np.unravel_index(read, (len(IDS), *new.shape[1:]) if name == "embedding" else new.shape)
            new[(IDS[place[0]], *place[1:]) if name == "embedding" else place] *= 2
            yield name, changed(one, layer, **{name: new})


ENDS_ALONE = ("gpt2, untied", "mistral, tied", "qwen2")
"""Networks whose layers have the pieces of another one's: their ends are what is new."""
CASES = [(network, name, wrong) for network, one in NETWORKS.items() for name, wrong in doubled(one)
         if network not in ENDS_ALONE or name in SHAPELESS.ends]  # fmt: skip
IDENTIFIERS = [f"{network}-{name}" for network, name, _ in CASES]
BLIND = {("gpt2", "key_bias")}
"""Softmax does not see it."""


def apart(one: Checkpoint, two: Checkpoint) -> float:
    return float(np.abs(plain_logits(one, IDS) - plain_logits(two, IDS)).max())


def test_every_row_is_tried() -> None:
    assert {name for _, name, _ in CASES} == NAMED.keys() == {*SHAPELESS.layer, *SHAPELESS.ends}
    assert set(NAMED.values()) == {frozenset(Walker) - FOLLOWS}


@pytest.mark.parametrize(("network", "name", "wrong"), CASES, ids=IDENTIFIERS)
def test_the_forward_pass_sees_it_and_a_comparison_never_says_same(
    network: str, name: str, wrong: MadeCheckpoint
) -> None:
    one = NETWORKS[network]
    far = apart(one, wrong)
    assert (far < 1e-12) is ((network, name) in BLIND)
    compared = logits.compare_logits(one, wrong, IDS)
    assert (compared.apart is None) is ((network, name) in BLIND)
    assert abs(float(compared.bound) - far) < 0.1 * far + 1e-12
    if far > 1e-12:
        hidden = apply(random_symmetry(wrong, seed=1), wrong)
        turned = len(name) % 2 * 2 - 1  # each piece from one side as it is, and from the other one in disguise
        for pair in ((one, wrong)[::turned], (hidden, one)[::turned]):
            assert same_checkpoints(*pair, ids=IDS, work=VERDICT).answer is CheckpointAnswer.DIFFERENT


@pytest.mark.parametrize(("network", "name", "wrong"), CASES, ids=IDENTIFIERS)
def test_a_rewriting_and_a_fingerprint_see_it(network: str, name: str, wrong: MadeCheckpoint) -> None:
    one = NETWORKS[network]
    two = apply(random_symmetry(wrong, seed=2), wrong)
    assert apart(wrong, two) < 1e-9
    seen = (network, name) not in BLIND
    assert (apart(one, two) > 1e-9) is seen
    assert not compare_fingerprints(fingerprint(wrong), fingerprint(two)).different
    assert compare_fingerprints(fingerprint(one), fingerprint(wrong)).different is seen


OF_HEADS = {"norm1_gain", "norm1_bias", "query", "query_bias", "key", "key_bias", "value", "output"}
OF_HEADS |= {"query_norm_gain", "key_norm_gain", "query_row_gain", "key_row_gain"}
OF_HEADS |= {"latent", "query_latent", "norm3_gain", "norm4_gain"}
"""What QK and OV of the heads depend on."""


@pytest.mark.parametrize(("network", "name", "wrong"), CASES, ids=IDENTIFIERS)
def test_the_table_of_heads_sees_what_is_of_heads(network: str, name: str, wrong: MadeCheckpoint) -> None:
    tables = [[(h.qk.frobenius[0], h.ov.frobenius[0]) for h in circuits(each, conditions=False).heads]
              for each in (NETWORKS[network], wrong)]  # fmt: skip
    assert (tables[0] != tables[1]) is (name in OF_HEADS and (network, name) not in BLIND)


def test_walkers_read_pieces_in_one_place() -> None:
    """Where each has to say who it is; writing names what it leaves out by the layout, the others hand pieces on."""
    room = Path(understood.__file__).parent
    read = {path.name for path in room.glob("*.py") for line in path.read_text(encoding="utf-8").splitlines()
            if re.search(r"(?<!np)\.(block|ends)\(", line) and not re.match(r" *(>>>|\.\.\.)", line)}  # fmt: skip
    assert read == {
        "understood.py",
        "edited.py",
        "symmetry_table.py",
        "align.py",
    }


# ---- a piece that a family gets: gains on the queries


@dataclass(frozen=True, eq=False)
class GainedBlock(Block):
    """A block with `query_gain`, `(H, a)`."""

    query_gain: Any = None


def gained(block: Block, gain: Any) -> GainedBlock:
    return GainedBlock(**{**vars(block), "query_gain": gain})


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, Path]]:
    """Two checkpoints of such a family, apart in one gain; the forward pass knows of it."""
    family, attention, heads = families.FAMILIES["llama"], pieces.attention, transformer.heads

    def with_gain(form: CheckpointForm) -> Iterator[CheckpointPiece]:
        query, *others = attention(form)
        rows = (query.axes[0], query.axes[1]._replace(sized=True))
        yield from (query, *others, CheckpointPiece("query_gain", rows))

    places = {**family.layout.block, "query_gain": Place("model.layers.{}.self_attn.q_norm.weight")}
    monkeypatch.setitem(families.FAMILIES, "llama", replace(family, layout=replace(family.layout, block=places)))
    monkeypatch.setattr(pieces, "attention", with_gain)
    pieces.table.cache_clear()
    for named in (pieces.HALVES[ATTENTION].maps, pieces.LAYER):
        monkeypatch.setitem(named, "query_gain", list(with_gain(SHAPELESS_FORM))[-1])
    monkeypatch.setattr(layer_parts, "CUT_ALONG", layer_parts.cuts_along(pieces.LAYER))
    monkeypatch.setattr(stored_checkpoint, "Block", GainedBlock)
    monkeypatch.setitem(NAMED, "query_gain", frozenset({Walker.FORWARD}))
    monkeypatch.setattr(
        transformer, "heads",
        lambda block, *rest: heads(replace(block, query=block.query * block.query_gain[..., None]), *rest),
    )  # fmt: skip
    one = small_checkpoint("llama", stored="F32", tied=False)
    gain = np.ones((4, 4), dtype=np.float32)
    gain[1, 2] = 2
    for name, by in (("one", np.ones_like(gain)), ("other", gain)):
        save_checkpoint(replace(one, blocks=tuple(gained(b, by) for b in one.blocks)), tmp_path / name)
    yield tmp_path / "one", tmp_path / "other"
    pieces.table.cache_clear()


def test_who_does_not_know_a_piece_refuses_it(folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    one, other = map(str, folders)
    refused = "layer 0, not known: query_gain\n"
    for words in (("circuits", one), ("circuits", one, "--fingerprint"), ("circuits", one, "--against", other)):
        code, out, err = run(capsys, *words)
        assert (code, out, err.count("\n"), err.endswith(refused)) == (2, "", 1, True), (words, err)
    opened = open_checkpoint(one)
    for call in (lambda: fingerprint(opened), lambda: circuits(opened)):
        with pytest.raises(BadInput, match="not known: query_gain"):
            call()
    assert logits.compare_logits(opened, open_checkpoint(other), [1, 2, 3]).apart is not None


def test_who_follows_the_table_compares_it(folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    """The gain goes with its head; what would mix its entries is refused by its name."""
    one, other = map(str, folders)
    for code, pair in ((0, (one, one)), (1, (one, other)), (1, (other, one))):
        for words in ((), ("--exact",)):
            assert run(capsys, "same", *pair, *words)[0] == code
    opened = open_checkpoint(other)
    moved = apply(random_symmetry(opened, ("heads", "values", "neurons", "ups", "scale"), 1), opened)
    assert not np.array_equal(arrays(moved.block(0))["query_gain"], arrays(opened.block(0))["query_gain"])
    assert logits.compare_logits(opened, moved, [1, 2, 3]).bound < 1e-9
    assert same_checkpoints(opened, moved).answer is CheckpointAnswer.SAME
    assert same_checkpoints(open_checkpoint(one), moved).answer is CheckpointAnswer.DIFFERENT
    for kinds in (("queries",), ("heads", "queries", "stream")):
        turned = apply(random_symmetry(opened, kinds, 1), opened)
        with pytest.raises(BadInput, match="query_gain: no change of the query-key basis is known for it"):
            turned.block(0)


def test_nobody_knows_a_piece_that_is_in_no_row(folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(NAMED, "query_gain")
    with pytest.raises(BadInput, match="the forward pass must know every piece of layer 0, not known: query_gain"):
        logits.logits(open_checkpoint(folders[0]), [1])


def test_a_row_that_says_too_much_makes_nothing_the_same(
    folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(NAMED, "query_gain", frozenset(Walker))
    for words in ((), ("--exact",)):
        code, out, _ = run(capsys, "same", *map(str, folders), *words)
        assert code == 1
        assert "different" in out


@pytest.mark.parametrize("network", NETWORKS)
def test_a_layer_without_a_piece_of_its_form_is_refused_by_all(network: str) -> None:
    """A gate that is missing would leave symmetries that are none; one piece is as many as all of its kind are not."""
    one = NETWORKS[network]
    lost = [name for name, piece in pieces.table(one.form).layer.items() if not piece.added_to]
    assert ("gate" in lost) is one.form.has_gate
    for name in lost:
        wrong = changed(one, 0, **{name: None})
        for walker in Walker:
            with pytest.raises(BadInput, match=f"must have the pieces of their form, missing is {name}"):
                understood.block_of(wrong, 0, walker)
    for question in (symmetries_of, fingerprint, circuits):
        with pytest.raises(BadInput, match=f"missing is {name}"):
            question(wrong)
    if not one.form.has_gate:
        with pytest.raises(BadInput, match="got gate"):
            logits.logits(changed(one, 0, gate=one.blocks[0].up), IDS)


@dataclass(frozen=True, eq=False)
class MoreEnds(Ends):
    """Ends with a piece more."""

    sinks: Any = None


@dataclass(frozen=True)
class MoreForm(CheckpointForm):
    """A form with a part more, `None` where there is none."""

    softcap: int | None = None


def test_ends_and_forms_are_known_too() -> None:
    one = small_checkpoint("llama")
    ends = replace(one, outer=MoreEnds(**vars(one.outer), sinks=np.ones(4)))
    form = replace(one, form=MoreForm(**vars(one.form), softcap=30))
    none = LayerSymmetry()
    for wrong, said in ((ends, "the ends, not known: sinks"), (form, "form, not known: softcap")):
        for call in (
            lambda wrong=wrong: same_checkpoints(wrong, wrong),
            lambda wrong=wrong: same_checkpoints(one, wrong),
            lambda wrong=wrong: fingerprint(wrong),
            lambda wrong=wrong: apply(Symmetry((none, none)), wrong).ends(),
            lambda wrong=wrong: logits.logits(wrong, [1]),
        ):
            with pytest.raises(BadInput, match=said):
                call()
    still = replace(one, form=MoreForm(**vars(one.form)))
    assert same_checkpoints(still, still).answer is CheckpointAnswer.SAME


@dataclass(frozen=True, eq=False)
class Exchanged(MadeCheckpoint):
    """Whose layers are what stands before and behind them."""

    def block(self, layer: int) -> Any:
        return self.outer


def test_the_ends_are_not_taken_for_a_layer() -> None:
    wrong = Exchanged(**vars(small_checkpoint("llama", layers=1)))
    with pytest.raises(BadInput, match="must be Block where these are asked for, got Ends"):
        understood.block_of(replace(wrong, form=replace(wrong.form, tied=False)), 0, Walker.REWRITING)
    with pytest.raises(TypeError, match="no_such_piece"):  # no array is dropped without a word
        small_checkpoint("llama").blocks[0].having({"no_such_piece": np.ones(1)})
