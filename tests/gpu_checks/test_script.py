"""`python -m gpu_checks`: the matrix in one command, with torch, numpy and the repository alone."""

import json
import subprocess
import sys
from dataclasses import replace
from importlib import resources

import jsonschema
import numpy
import pytest

torch = pytest.importorskip("torch")

from gpu_checks import __main__ as script  # noqa: E402
from gpu_checks import precision  # noqa: E402
from gpu_checks.recurrences import RECURRENCES  # noqa: E402
from gpu_checks.resume_pairs import Pair  # noqa: E402
from gpu_checks.sglang.all_pairs import DEEPEST, matrix  # noqa: E402
from spec.engine import Guard  # noqa: E402
from spec.sglang.checkpoints import decode_checkpoint, node_of  # noqa: E402
from spec.sglang.configuration import Configuration  # noqa: E402
from spec.sglang.releases import DESIGNS  # noqa: E402

ALONE = """
import sys
from gpu_checks.__main__ import main
code = main(["--device", "cpu", "--deepest", "64"])
print("loaded:", *sorted({m.split(".")[0] for m in sys.modules}))
sys.exit(code)
"""


@pytest.fixture(scope="module")
def whole():
    return matrix()


def test_it_needs_torch_numpy_and_the_repository_alone(root):
    ran = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, cwd=root)
    assert ran.returncode == 0, ran.stderr
    loaded = set(ran.stdout.rpartition("loaded:")[2].split())
    assert not loaded & {"z3", "cvc5", "click", "rich", "jinja2", "jsonschema", "transformers"}


def test_its_document_is_as_its_schema_has_it_and_a_table_comes_last(tmp_path, capsys):
    out = tmp_path / "numbers.json"
    assert script.main(["--device", "cpu", "--deepest", "64", "--out", str(out)]) == 0
    document = json.loads(out.read_text(encoding="utf-8"))
    schema = resources.files("generators.schemas").joinpath("gpu-checks-1.json").read_text("utf-8")
    jsonschema.Draft202012Validator(json.loads(schema)).validate(document)
    assert capsys.readouterr().out.splitlines()[-1].startswith("short_conv")


def test_a_wrong_replay_exits_1(monkeypatch, capsys):
    from gpu_checks import equal_or_diverges

    monkeypatch.setattr(equal_or_diverges, "predicted", lambda node, state: "equal")
    assert script.main(["--device", "cpu", "--deepest", "64"]) == 1


def test_a_device_that_is_not_there_exits_3(monkeypatch, capsys):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for asked in (["--device", "cuda"], ["--require-gpu"]):
        assert script.main(asked) == 3
        said = capsys.readouterr()
        assert said.out == "" and "no CUDA device is there" in said.err


@pytest.mark.parametrize("depth", ["0", "63", "4096", "many"])
def test_a_depth_out_of_range_is_refused(depth, capsys):
    with pytest.raises(SystemExit) as end:
        script.main(["--deepest", depth])
    assert end.value.code == 2
    assert "from 64 to 2048" in capsys.readouterr().err


def test_the_matrix_has_what_single_configurations_bring_about(whole):
    pairs = set(whole.pairs)
    for design in DESIGNS.values():
        for page, dcp, interval in ((64, 8, 256), (16, 6, 320), (1, 3, 64)):
            c = Configuration(page_size=page, dcp_size=dcp, mamba_track_interval=interval)
            grid = int(design.grid("decode", c))
            for seq_len in range(grid, DEEPEST + 1, grid):
                checkpoint = decode_checkpoint(design, c, seq_len)
                if node := int(node_of(design, c, checkpoint)):
                    assert Pair(node, int(checkpoint.state)) in pairs


def test_the_matrix_has_both_kinds_and_no_deeper_states_than_asked(whole):
    errors = numpy.array([pair.state - pair.node for pair in whole.pairs])
    assert (errors == 0).any() and (errors > 0).any() and (errors < 0).any()
    assert max(pair.state for pair in matrix(512).pairs) == 512
    assert set(matrix(512).pairs) < set(whole.pairs)


def test_what_a_release_refuses_to_start_with_is_not_in_the_matrix(monkeypatch):
    design = next(iter(DESIGNS.values()))
    never = Guard("never", "nothing is accepted", "nowhere", lambda c: c.page_size < 0)
    monkeypatch.setattr(
        "gpu_checks.sglang.all_pairs.DESIGNS", {"none": replace(design, guards=(never,))}
    )
    assert matrix().pairs == ()


@pytest.mark.parametrize("recurrence", RECURRENCES.values(), ids=list(RECURRENCES))
def test_a_state_that_is_stored_once_stays_within_its_tolerance(recurrence):
    errors = precision.stored(recurrence, 256, "cpu")
    assert 0 < errors["float32"] <= precision.STORED_TOLERANCE["float32"] < errors["bfloat16"]
    assert errors["bfloat16"] <= precision.STORED_TOLERANCE["bfloat16"]
