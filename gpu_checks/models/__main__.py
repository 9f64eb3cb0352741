"""Cold against warm on real model classes, tiny, as a table::

    python -m gpu_checks.models [--node TOKENS] [--state TOKENS] [MODEL ...]

Exits 0 when every aligned run is equal and every other one differs, 1 when not, 2 on bad usage, 3 when nothing ran.
"""

from __future__ import annotations

import argparse
import os
import sys

NAMES = ("qwen3_next", "kimi_linear", "falcon_h1", "bamba", "nemotron_h", "minimax", "lfm2")
HEADER = (
    f"{'model':<12} {'phase':<7} {'state':>5} {'node':>5} {'state error':>11} "
    f"{'log-probability, by distance 1 / 2-16 / 17-64':<46} {'KL':<26} argmax flips"
)


def _arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m gpu_checks.models", description=(__doc__ or "").partition("::")[0]
    )
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"{', '.join(NAMES)}")
    parser.add_argument("--node", type=int, default=512, help="depth of the node, tokens")
    parser.add_argument("--state", type=int, default=768, help="depth of the other state, tokens")
    asked = parser.parse_args(arguments)
    for name in asked.models:
        if name not in NAMES:
            parser.error(f"unknown model {name!r}; accepted are {', '.join(NAMES)}")
    if not 2 <= asked.node < asked.state <= 4_000:
        parser.error("depths must be 2 <= node < state <= 4000 tokens")
    return asked


def main(arguments: list[str]) -> int:
    """Run the models; the exit code."""
    asked = _arguments(arguments)
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    try:
        import transformers  # noqa: F401

        from gpu_checks.models.replay import compared
        from gpu_checks.models.tiny import ModelMissing, built
    except ImportError as error:
        print(
            f"gpu_checks: {error.name} is not installed, so nothing was run; "
            "'pip install gridproof[models]' brings it",
            file=sys.stderr,
        )
        return 3
    seen = []
    print(HEADER)
    for name in asked.models or NAMES:
        try:
            model = built(name)
        except ModelMissing as error:
            print(f"{name:<12} skipped: {error}")
            continue
        for one in compared(model, asked.node, asked.state):
            seen.append(one.as_predicted)
            print(
                f"{name:<12} {one.phase:<7} {one.pair.state:>5} {one.pair.node:>5} "
                f"{one.state_error:>11.1e} "
                f"{' / '.join(f'{x:.1e}' for x in one.log_probability):<46} "
                f"{' / '.join(f'{x:.1e}' for x in one.divergence):<26} "
                f"{' / '.join(map(str, one.flips))}{'' if one.as_predicted else '  NOT AS PREDICTED'}",
                flush=True,
            )
    if not seen:
        return 3
    return int(not all(seen))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
