"""As many threads as OMP_NUM_THREADS says, else one; and memory that is poisoned until it is written."""

import os

import pytest


@pytest.fixture(autouse=True)
def few_threads():
    torch = pytest.importorskip("torch")
    threads, gradients = torch.get_num_threads(), torch.is_grad_enabled()
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    yield
    torch.set_num_threads(threads)
    torch.set_grad_enabled(gradients)


@pytest.fixture
def poisoned_memory():
    """torch.empty and its like give NaN."""
    torch = pytest.importorskip("torch")
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = True
    yield
    torch.use_deterministic_algorithms(before)
