"""The step that a speculative verify saves has consumed exactly the depth recorded for it."""

from spec.numbers import both, divides
from spec.sglang.checkpoints import verify_checkpoint
from spec.sglang.rules import grids, verify
from spec.sglang.theorems.library import theorem
from spec.theorem import Statement


@theorem("verify", least={"pre": 0})
def the_saved_verify_step_has_consumed_exactly_the_recorded_depth(design, c, pre, accepted):
    """A verify that crosses the grid saves one of its accepted steps, whose state is at the recorded depth."""
    checkpoint = verify_checkpoint(design, c, pre, accepted)
    step = verify.saved_step(design.grid("verify", c), pre, accepted)
    return Statement(
        {"the_verify_crosses_the_grid": checkpoint.saved},
        both(checkpoint.state == checkpoint.recorded, step >= 0, step < accepted),
    )


@theorem("verify", refuted_by=("sglang-0.5.17", "sglang-0.5.18"), least={"pre": 0})
def verify_checkpoint_lands_on_a_node(design, c, pre, accepted):
    """The state that a verify saves has consumed a depth that the tree can name."""
    checkpoint = verify_checkpoint(design, c, pre, accepted)
    return Statement(
        {"the_verify_crosses_the_grid": checkpoint.saved},
        divides(grids.tree_page(c), checkpoint.state),
    )


@theorem("verify", least={"pre": 0})
def no_depth_on_the_grid_is_passed_unsaved(design, c, pre, accepted, depth):
    """A verify that passes a depth on the track grid saves a state of that depth or a later one."""
    checkpoint = verify_checkpoint(design, c, pre, accepted)
    return Statement(
        {
            "the_depth_is_on_the_grid": divides(grids.track_grid(c), depth),
            "the_depth_lies_beyond_the_start": depth > pre,
            "the_depth_is_accepted": depth <= pre + accepted,
        },
        both(checkpoint.saved, checkpoint.recorded >= depth, checkpoint.recorded <= pre + accepted),
    )
