"""`dimension --config`: what is counted, what is refused, what is left out only when asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command import run

from lightning_sym.dimension import blocks, transformers
from lightning_sym.dimension.transformers import ModelDimension, model_dimension
from lightning_sym.errors import BadInput, ProgramError
from lightning_sym.network.model_config import Model, model_of

SIZES = {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 3, "vocab_size": 1000}
PLAIN = {"model_type": "attention-only", **SIZES}
GPT2 = {
    "activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1,
    "bos_token_id": 50256, "initializer_range": 0.02, "layer_norm_epsilon": 1e-05, "model_type": "gpt2",
    "n_ctx": 1024, "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024, "vocab_size": 50257,
}  # fmt: skip


def write(path: Path, text: str | bytes | dict[str, Any]) -> str:
    file = path / "config.json"
    if isinstance(text, dict):
        text = json.dumps(text)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(file)


def test_a_plain_model(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, err = run(capsys, "dimension", "--config", write(tmp_path, PLAIN), "--json")
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert document["schema"] == "lightning-sym/config/2"
    parameters = 2 * 1000 * 64 + 3 * 4 * 4 * 16 * 64
    assert document["parameters"] == parameters
    # the symmetries counted one by one: GL_64 of the stream, GL_16 twice in every head
    assert document["fiber_dimension"] == 64**2 + 3 * 4 * 2 * 16**2
    assert document["dimension"] == parameters - document["fiber_dimension"]
    assert document["lower"] == document["upper"] == document["dimension"]
    assert document["theorem"].startswith("equality, Proposition 18")
    assert document["left_out"] == {}
    # four ranks a head, and two sums of heads that are inverted
    assert document["certified"]["matrices"] == 3 * 4 * 4 + 2
    assert document["certified"]["lower"] == document["dimension"]


def test_gpt2_is_counted_whole_and_then_cut_to_its_attention(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = model_of(GPT2, attention_only=True)
    found = {True: model_dimension(model)}  # computed once, written twice
    monkeypatch.setattr(transformers, "model_dimension", lambda given, **options: found[given == model])
    file = write(tmp_path, GPT2)
    code, out, err = run(capsys, "dimension", "--config", file)
    assert (code, err) == (0, "")
    for words in ("124,439,808 parameters", "functions of dimension 123,093,224", "functions of dimension 65,434,752"):
        assert words in out.replace("\n               ", " ")
    assert run(capsys, "dimension", "--config", file, "--certificate", str(tmp_path / "none.json"))[0] == 2
    no_layout = write(tmp_path, {**GPT2, "model_type": "bert"})
    code, out, err = run(capsys, "dimension", "--config", no_layout)
    assert (code, out, err.count("\n")) == (2, "", 1)
    for key in ("activation_function", "layer_norm_epsilon", "--attention-only"):
        assert key in err
    file = write(tmp_path, GPT2)
    code, out, err = run(capsys, "dimension", "--config", file, "--attention-only")
    assert (code, err) == (0, "")
    for words in (
        "65,434,752  97.79 %",
        "untied         103,736,832 of 105,506,304",
        "left out       layer norm (layer_norm_epsilon)",
        "certified      65,434,752  by 587 full ranks modulo",
        "causal",
        "its transpose as",
    ):
        assert words in out
    code, out, err = run(capsys, "dimension", "--config", file, "--attention-only", "--json")
    document = json.loads(out)
    # the embedding has 50,257 x 768 entries, and the model has them once; rotations of the stream are left
    assert document["untied"] == {"parameters": document["parameters"] + 50257 * 768, "dimension": 103_736_832}
    assert document["fiber_dimension"] == 768 * 767 // 2 + 12 * 12 * 2 * 64**2
    assert document["parameters"] - document["fiber_dimension"] == document["dimension"] == 65_434_752


# what the library that writes these files makes of a config that names the sizes alone
def test_a_byte_order_mark_is_fine(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = write(tmp_path, b"\xef\xbb\xbf" + json.dumps(PLAIN).encode())
    assert run(capsys, "dimension", "--config", file)[0] == 0


BAD = {
    "no file": (None, "readable file"),
    "truncated": (json.dumps(PLAIN)[:-9], "must be JSON"),
    "empty": ("", "must be JSON"),
    "not text": (b"\xff\xfe\x00", "must be JSON"),
    "a list": ("[1, 2]", "one JSON object"),
    "deep": ("[" * 100_000, "must be JSON"),
    "duplicate": ('{"n_head": 2, "n_head": 3}', "must not repeat"),
    "duplicate inside": ('{"x": {"a\\ud800": 2, "a\\ud800": 3}}', "must not repeat"),
    "nan": ('{"hidden_size": NaN}', "numbers in JSON must be integers, decimals"),
    "infinity": ('{"rope_theta": Infinity}', "numbers in JSON must be integers, decimals"),
    "digits": ('{"hidden_size": ' + "9" * 6000 + "}", "of at most 4000 digits"),
    "large file": (" " * (4 * 2**20 + 1), "at most 4,194,304 bytes"),
    "no type": (SIZES, "model_type must be one of attention-only, bert"),
    "foreign": ({**SIZES, "model_type": "t5"}, "got 't5', which means an encoder beside the decoder"),
    "other type": ({**PLAIN, "model_type": "falcon\n"}, "got 'falcon\\n'"),
    "odd type": ({**PLAIN, "model_type": ["gpt2"]}, "model_type must be one of"),
    "odd tie": ({**PLAIN, "tie_word_embeddings": "no"}, "tie_word_embeddings must be true or false"),
    "odd layers": ({**PLAIN, "layer_types": [["full_attention"]]}, "keys not understood (layer_types)"),
    "no mask": ({**PLAIN, "model_type": "llama", "causal": False}, "causal must agree with the mask of model_type"),
    "projected": ({**PLAIN, "model_type": "opt", "word_embed_proj_dim": 32}, "the config says word_embed_proj_dim"),
    "missing": ({"model_type": "gpt2", "hidden_size": 64}, "heads (num_attention_heads or n_head"),
    "fraction": ({**PLAIN, "hidden_size": 64.0}, "an integer between 1 and 1,000,000,000, got 64.0"),
    "words": ({**PLAIN, "vocab_size": "1000"}, "vocab_size must be an integer"),
    "true": ({**PLAIN, "num_hidden_layers": True}, "num_hidden_layers must be an integer"),
    "negative": ({**PLAIN, "num_hidden_layers": -1}, "num_hidden_layers must be an integer"),
    "zero heads": ({**PLAIN, "num_attention_heads": 0}, "num_attention_heads must be an integer"),
    "huge": ({**PLAIN, "hidden_size": 10**12}, "between 1 and 1,000,000,000"),
    "not divisible": ({**PLAIN, "num_attention_heads": 5}, "divisible"),
    "two names": ({**PLAIN, "n_embd": 32}, "named once"),
    "few words tied": ({**PLAIN, "vocab_size": 63, "tie_word_embeddings": True}, "nothing is proved of tied"),
    "few words grouped": ({**PLAIN, "vocab_size": 63, "num_key_value_heads": 2}, "nothing is proved of shared"),
    "mask": ({**PLAIN, "is_decoder": "yes"}, "true or false"),
    "masks": ({**PLAIN, "is_decoder": True, "causal": False}, "must agree"),
    "encoder and decoder": ({**PLAIN, "is_encoder_decoder": True}, "is_encoder_decoder"),
    "mlp": ({**PLAIN, "intermediate_size": 256}, "MLP (intermediate_size)"),
    "gpt2 mlp": ({**PLAIN, "n_inner": None}, "MLP (n_inner)"),
    "norm": ({**PLAIN, "rms_norm_eps": 1e-6}, "layer norm (rms_norm_eps)"),
    "rotary": ({**PLAIN, "rope_theta": 1e4}, "rotary positions (rope_theta)"),
    "odd groups": ({**PLAIN, "num_key_value_heads": 3}, "a multiple of the sets of keys and values, got 4 and 3"),
    "more groups than heads": ({**PLAIN, "num_key_value_heads": 8}, "got 4 and 8"),
    "groups twice": ({**PLAIN, "num_key_value_heads": 2, "n_kv_heads": 1}, "named once"),
    "one set and two": ({**PLAIN, "multi_query": True, "n_kv_heads": 2}, "multi_query must be true or false"),
    "odd multi_query": ({**PLAIN, "multi_query": "yes"}, "multi_query must be true or false"),
    "odd values": ({**PLAIN, "v_head_dim": 0}, "v_head_dim must be an integer"),
    "biases": ({**PLAIN, "attention_bias": True}, "biases (attention_bias)"),
    "unknown": ({**PLAIN, "new\n\ud800thing": 1}, "keys not understood"),
    "many unknown": ({**PLAIN, **{f"k{i:03}": 1 for i in range(500)}}, "and 488 more"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_configs_get_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str) -> None:
    text, message = BAD[name]
    file = str(tmp_path / "none.json") if text is None else write(tmp_path, text)
    code, out, err = run(capsys, "dimension", "--config", file)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("error: ")
    assert message in err
    assert len(err) < 1000


def test_what_says_that_a_part_is_absent_is_no_part() -> None:
    absent = {"rope_scaling": None, "attention_bias": False, "mlp_bias": False, "intermediate_size": 0,
              "num_key_value_heads": 4, "tie_word_embeddings": False, "dropout": 0.1, "is_decoder": True}  # fmt: skip
    model = model_of({**PLAIN, **absent}, attention_only=False)
    assert model == Model(64, 4, 3, 1000, 16, True, {})


def test_attention_only_lists_everything_and_leaves_no_other_model() -> None:
    named = {"intermediate_size": 9, "novelty": 1}
    left_out = model_of({**PLAIN, **named}, attention_only=True).left_out
    assert {key for keys in left_out.values() for key in keys} == set(named)
    with pytest.raises(ValueError, match="kv_lora_rank"):
        model_of({**PLAIN, "kv_lora_rank": 8}, attention_only=True)


def test_what_is_tied_or_shared_is_counted() -> None:
    named = {"num_key_value_heads": 2, "tie_word_embeddings": True, "v_head_dim": 24}
    model = model_of({**PLAIN, **named}, attention_only=False)
    assert model == Model(64, 4, 3, 1000, 16, None, {}, True, 2, 24)
    # each of two groups: its keys and queries are a 64 x 128 matrix of rank 16, its values one of rank 24
    heads = 3 * 2 * (16 * (64 + 128 - 16) + 24 * (64 + 128 - 24))
    result = model_dimension(model)
    assert result.value == 64_000 - 64 * 63 // 2 + heads
    assert result.ranks is not None
    assert any("orthogonal" in each for each in result.conditions)
    assert "Corollary 6" not in result.theorem
    assert model_of({**PLAIN, "multi_query": True}, attention_only=False).groups == 1
    assert model_of({**PLAIN, "multi_query": None}, attention_only=False).groups == 4


def test_a_vocabulary_smaller_than_the_stream(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = write(tmp_path, {**PLAIN, "vocab_size": 63})
    code, out, err = run(capsys, "dimension", "--config", file)
    assert (code, err) == (0, "")
    assert "Theorem 12" in out
    assert "three tokens or more" in out
    code, out, err = run(capsys, "dimension", "--config", file, "--certificate", str(tmp_path / "none.json"))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert not (tmp_path / "none.json").exists()
    narrow = {**PLAIN, "vocab_size": 1, "hidden_size": 5, "num_hidden_layers": 4, "num_attention_heads": 1,
              "head_dim": 1, "v_head_dim": 4}  # fmt: skip
    code, out, err = run(capsys, "dimension", "--config", write(tmp_path, narrow))
    assert (code, err) == (3, "")
    assert "undecided, between 9 and 45" in out
    document = json.loads(run(capsys, "dimension", "--config", write(tmp_path, narrow), "--json")[1])
    assert (document["dimension"], document["fiber_dimension"], document["certified"]) == (None, None, None)
    far = {**narrow, "num_hidden_layers": 10**9}
    assert run(capsys, "dimension", "--config", write(tmp_path, far))[0] == 2


def test_a_model_too_large_for_ranks_is_still_a_theorem(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    llama = {"model_type": "llama", "hidden_size": 8192, "num_attention_heads": 64, "num_hidden_layers": 80,
             "num_key_value_heads": 8, "vocab_size": 128256}  # fmt: skip
    code, out, err = run(capsys, "dimension", "--config", write(tmp_path, llama), "--attention-only")
    assert (code, err) == (0, "")
    assert "14,092,861,440" in out
    assert "not computed   the ranks of the matrices of 80 layers" in out
    seven = {**llama, "hidden_size": 4096, "num_attention_heads": 32, "num_hidden_layers": 32}
    out = run(capsys, "dimension", "--config", write(tmp_path, seven), "--attention-only")[1]
    assert "2,367,684,608" in out  # at once, not after minutes of ranks that the theorem does not need
    assert "at most 1e+12 multiplications, estimated 2.8e+12" in out
    for many in ({"num_hidden_layers": 10**6}, {"num_attention_heads": 10**6}):
        small = {**PLAIN, "hidden_size": 4, "num_attention_heads": 2, "head_dim": 1, "num_hidden_layers": 1, **many}
        assert "not computed   the ranks" in run(capsys, "dimension", "--config", write(tmp_path, small))[1]
    endless = {**PLAIN, "num_hidden_layers": 10**9}
    code, out, err = run(capsys, "dimension", "--config", write(tmp_path, endless))
    assert (code, err) == (0, "")
    code, out, err = run(
        capsys, "dimension", "--config", write(tmp_path, endless), "--certificate", str(tmp_path / "large.json")
    )
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "so that it can be checked" in err


def test_a_certificate_of_a_model(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = str(tmp_path / "certificate.json")
    code, _, err = run(capsys, "dimension", "--config", write(tmp_path, PLAIN), "--certificate", file)
    assert (code, err) == (0, f"certificate: {file}\n")
    code, out, _ = run(capsys, "verify", file)
    assert code == 0
    assert "proved: dim M = " in out
    code, out, err = run(
        capsys, "dimension", "--config", write(tmp_path, PLAIN), "--certificate", str(tmp_path / "no" / "file.json")
    )
    assert (code, out, err.count("\n")) == (2, "", 1)


def test_ranks_that_prove_another_number_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transformers, "certify", lambda shape, **_: blocks.BlockRanks(shape.dimension + 1, 7, 1))
    with pytest.raises(ProgramError, match="the ranks prove 56, the theorem says 55"):
        model_dimension(Model(3, 2, 2, 4, 1, True, {}))


def test_a_part_never_shows_as_the_whole() -> None:
    def percent(part: int, parameters: int) -> str:
        model = Model(1, 1, 1, parameters // 2 - 2, 1, True, {})
        assert model.parameters == parameters
        return ModelDimension(model, part, part, "", (), None, None).percent

    assert percent(10**9 - 1, 10**9) == "99.99"
    assert percent(2, 6) == "33.33"
    assert percent(8, 8) == "100.00"


def test_the_answer_is_no_truth_value() -> None:
    with pytest.raises(BadInput, match="write result"):
        bool(model_dimension(Model(3, 2, 2, 4, 1, True, {})))


@pytest.mark.parametrize("given", [{"tied": True}, {"key_heads": 1}])
def test_a_narrow_model_that_shares_weights_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="nothing is proved of"):
        model_dimension(Model(4, 2, 2, 2, 1, True, {}, **given))
