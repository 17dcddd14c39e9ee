"""Prove that the installed llama.cpp computes: a real prompt of 150 tokens through real weights.

Run in a child process, `prove.py MODEL.gguf`: a wrong build ends by a signal or with wrong words.
Counting is what any language model can go on with, so that a wrong answer means wrong arithmetic.
"""

import os
import sys
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "passive")

LAST = 40
LEAST_TOKENS = 64


def main(model: str) -> int:
    from llama_cpp import Llama

    llama = Llama(model, n_ctx=512, n_batch=256, n_gpu_layers=-1, verbose=False)
    text = ", ".join(str(number) for number in range(1, LAST + 1)) + ","
    tokens = llama.tokenize(text.encode())
    if len(tokens) < LEAST_TOKENS:
        print(f"the prompt has only {len(tokens)} tokens")
        return 1
    answer: Any = llama.create_completion(tokens, max_tokens=6, temperature=0.0)
    words = answer["choices"][0]["text"]
    print(f"{len(tokens)} tokens in, out: {words!r}")
    return 0 if str(LAST + 1) in words else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
