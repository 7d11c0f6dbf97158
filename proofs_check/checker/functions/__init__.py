"""What certificates about functions of given weights share, the same or different ones, and fibers.

`network` reads weights, `proofs` is how two networks with a form (masks, skip connections, heads, embeddings) are shown
to have the same function or not, also with heads in other layers: `streams` follows what they have in common,
`theorems` compares what a function shows, `outputs` evaluates. `matrices` and `rings` count what numbers cost, and
`fibers` is about all weights with one function.
"""
