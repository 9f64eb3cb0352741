"""The whole matrix on one device, in a single command::

    python -m gpu_checks [--device cpu|cuda] [--require-gpu] [--out FILE] [--deepest TOKENS]

Needs torch, numpy and this repository.  Writes the numbers as JSON and prints a short table last; exits 0 when
everything was as predicted, 1 when something was not, 3 when the device is not there, 2 on bad usage.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gpu_checks import choices
from spec.engine import DEFAULT, part

SCHEMA = "gridproof/gpu-checks/1"
PRECISION_DEPTH = 512  # tokens
DEEPEST = {"cpu": 512, "cuda": 2_048}  # tokens; a CPU gets a part of the matrix
MISSING = 3


def _arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m gpu_checks", description=__doc__.partition("::")[0]
    )
    parser.add_argument(
        "--device", choices=choices.DEVICES, help="default: cuda where there is one"
    )
    parser.add_argument("--require-gpu", action="store_true", help="fail where there is no GPU")
    parser.add_argument(
        "--out", type=_file, help="write the numbers to this file instead of stdout"
    )
    parser.add_argument("--deepest", type=_depth, help="states of up to so many tokens, 64 to 2048")
    asked = parser.parse_args(arguments)
    if asked.require_gpu and asked.device == "cpu":
        parser.error("--require-gpu and --device cpu exclude each other; give one of them")
    return asked


def _file(text: str) -> Path:
    path = Path(text)
    if path.is_dir() or not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is no file in a folder that is there")
    return path


def _depth(text: str) -> int:
    if not text.isdecimal() or not 64 <= int(text) <= 2_048:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 64 to 2048")
    return int(text)


def measured(device: str, deepest: int) -> dict[str, Any]:
    """All numbers of one device as a document."""
    import torch

    from gpu_checks import devices, throughput
    from gpu_checks.recurrences import RECURRENCES

    found, load = part(DEFAULT, "gpu_checks").pairs(deepest), throughput.LOADS[device]
    bandwidth = throughput.copy_bandwidth(load, device)
    return {
        "schema": SCHEMA,
        "device": devices.described(device),
        "torch": torch.__version__,
        "deepest": deepest,
        "pairs": len(found.pairs),
        "checkpoints": found.checkpoints,
        "copy_bytes_per_second": bandwidth,
        "recurrences": {
            name: _of_one(recurrence, found.pairs, device, load, bandwidth)
            for name, recurrence in RECURRENCES.items()
        },
    }


def _of_one(
    recurrence: Any, pairs: Any, device: str, load: Any, bandwidth: float
) -> dict[str, Any]:
    """The numbers of one recurrence."""
    from gpu_checks import precision, throughput
    from gpu_checks.resume_pairs import replay

    start = time.perf_counter()
    replays = replay(recurrence, pairs, device=device)
    seconds = time.perf_counter() - start
    aligned = [one for one in replays if one.pair.node == one.pair.state]
    others = [one for one in replays if one.pair.node != one.pair.state]
    largest = [max(one.state_error, one.output_error) for one in aligned]
    margins = [min(one.state_error, one.output_error) / one.tolerance for one in others]
    return {
        "replays": len(replays),
        "wrong": sum(not one.as_predicted for one in replays),
        "between": sum(one.observed == "between" for one in replays),
        "bitwise_equal": sum(error == 0 for error in largest),
        "aligned": len(aligned),
        "aligned_largest_error": max(largest),
        "misaligned_least_over_tolerance": min(margins),
        "seconds": seconds,
        "stored_in": precision.stored(recurrence, PRECISION_DEPTH, device),
        "stored_tolerance": precision.STORED_TOLERANCE,
        "calculated_in": precision.calculated(recurrence, PRECISION_DEPTH, device),
        "speed": asdict(throughput.speed(recurrence, load, bandwidth, device)),
    }


def stored_as_expected(numbers: dict[str, Any]) -> bool:
    """Whether a state that is stored once stays within the tolerance of its dtype."""
    tolerance = numbers["stored_tolerance"]
    return all(error <= tolerance[name] for name, error in numbers["stored_in"].items())


def table(document: dict[str, Any]) -> list[str]:
    """The document in a few lines."""
    lines = [
        f"{document['device']}, torch {document['torch']}: {document['pairs']} pairs for "
        f"{document['checkpoints']:,} checkpoints up to {document['deepest']} tokens, "
        f"copies {document['copy_bytes_per_second'] / 1e9:.1f} GB/s",
        f"{'recurrence':<11} {'replays':>7} {'wrong':>5} {'bitwise':>9} {'aligned':>8} {'off/tol':>8} "
        f"{'bf16':>8} {'fp32 run':>8} {'bf16 run':>8} {'tok/s':>9} {'floor':>10} {'s':>6}",
    ]
    for name, n in document["recurrences"].items():
        speed = n["speed"]
        lines.append(
            f"{name:<11} {n['replays']:>7} {n['wrong']:>5} {n['bitwise_equal']:>4}/{n['aligned']:<4} "
            f"{n['aligned_largest_error']:>8.1e} {n['misaligned_least_over_tolerance']:>8.1e} "
            f"{n['stored_in']['bfloat16']:>8.1e} {n['calculated_in']['float32']:>8.1e} "
            f"{n['calculated_in']['bfloat16']:>8.1e} {speed['tokens_per_second']:>9.0f} "
            f"{speed['floor_tokens_per_second']:>10.0f} {n['seconds']:>6.1f}"
        )
    return lines


def main(arguments: list[str]) -> int:
    """Run everything; the exit code."""
    asked = _arguments(arguments)
    try:
        from gpu_checks import devices
    except ImportError:
        print("gpu_checks: torch is not installed; nothing was run", file=sys.stderr)
        return MISSING
    try:
        device = devices.chosen(asked.device, asked.require_gpu)
    except devices.NoDevice as error:
        print(f"gpu_checks: {error}; nothing was run", file=sys.stderr)
        return MISSING
    devices.repeatable(device)
    document = measured(device, asked.deepest or DEEPEST[device])
    text = json.dumps(document, indent=2) + "\n"
    if asked.out is None:
        sys.stdout.write(text)
    else:
        try:
            asked.out.write_text(text, encoding="utf-8")
        except OSError as error:
            print(f"gpu_checks: {asked.out}: cannot be written ({error.strerror})", file=sys.stderr)
            return 2
    print("\n".join(table(document)))
    numbers = document["recurrences"].values()
    return int(any(n["wrong"] or not stored_as_expected(n) for n in numbers))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
