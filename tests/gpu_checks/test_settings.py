"""What must be equal is equal whichever kernels the libraries choose: by processor, by a variable, by threads.

Each choice has a process of its own, as libraries read these variables when they load.  What runs there is marked
`every_processor`: that an aligned resume is equal, that a state one token off is not, that a broken replay is noticed.
"""

import os
import platform
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

SETTINGS = (
    {},
    {"MKL_CBWR": "COMPATIBLE"},
    {"MKL_CBWR": "AVX2"},
    {"ATEN_CPU_CAPABILITY": "avx2"},
    {"ATEN_CPU_CAPABILITY": "default"},
)
THREADS = (1, 2)
VARIABLES = {name for setting in SETTINGS for name in setting}
FILES = ("tests/gpu_checks", "tests/gridproof/test_replay.py")


@pytest.mark.parametrize("threads", THREADS, ids="threads-{}".format)
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: "-".join(*s.items()) if s else "plain")
def test_replays_go_as_predicted_in_a_process_of(setting, threads, root):
    inherited = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    # Threads that wait passively do not take each other's time where tests run side by side.
    waiting = {"OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "passive"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    ran = subprocess.run(
        [*command, "-m", "every_processor", *FILES],
        env={**inherited, **waiting, **setting},
        capture_output=True,
        text=True,
        cwd=root,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert " passed" in ran.stdout


@pytest.mark.every_processor
def test_this_process_runs_as_its_variables_say():
    assert torch.get_num_threads() == int(os.environ.get("OMP_NUM_THREADS", "1"))
    wanted = os.environ.get("ATEN_CPU_CAPABILITY")
    if wanted and platform.machine() in ("x86_64", "AMD64"):
        assert torch.backends.cpu.get_cpu_capability() == wanted.upper()
