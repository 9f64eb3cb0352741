"""The inductions are closed: whatever state an order of events reaches, the theorem that covers the next event takes it.

Random orders of events are acted out by the project's own scheduler.  Each launch, result and finish is covered by one
theorem; its premises have to hold of the slots reached, which have to be slots that the theorem's parameters can say.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest

from spec import candidates
from spec.sglang import slot_buffer
from spec.sglang.checkpoints import extend_checkpoint, node_of
from spec.sglang.configuration import NUMERIC_FIELDS, Configuration
from spec.sglang.radix_tree import Tree
from spec.sglang.releases import CURRENT, design_named
from spec.sglang.rules import tree, verify
from spec.sglang.rules.slots import NO_DEPTH
from spec.sglang.scheduler import NOTHING, PROMPT, STEP, VERIFY, Pass, Request, Scheduler
from spec.sglang.slot_buffer import NO_SLOT, Slots
from spec.sglang.theorems import LIBRARY
from spec.sglang.theorems import slot_invariants as forms
from spec.sglang.theorems.library import COMPLETED_SWAP
from spec.theorem import Theorem

Values = dict[str, int]


def _eager(slots: Slots) -> Values:
    """The parameters of `forms.eager` that say these slots."""
    return {
        "next_entry": slots.next,
        "label": slots.label,
        "previous": slots.previous,
        "kept": slots.state(slots.kept),
        "new": slots.state(slots.next),
        "written": slots.written,
        "written_before": slots.written_before,
    }


def _single(slots: Slots) -> Values:
    """Those of `forms.single`."""
    return {
        "label": slots.label,
        "previous": slots.previous,
        "kept": slots.first,
        "unused": slots.second,
        "written": slots.written,
        "written_before": slots.written_before,
    }


def _held(slots: Slots) -> bool:
    return slots.state(1 - slots.next) != NO_SLOT


def _lazy(slots: Slots) -> Values:
    """Those of `forms.lazy`."""
    return {
        "next_entry": slots.next,
        "second": int(_held(slots)),
        "label": slots.label,
        "kept": slots.state(1 - slots.next) if _held(slots) else 0,
        "new": slots.state(slots.next),
        "written": slots.written,
        "written_before": slots.written_before,
    }


def _between_verifies(slots: Slots) -> Values:
    """Those of `forms.between_verifies`."""
    return {
        "next_entry": slots.next,
        "second": int(_held(slots)),
        "label": slots.label,
        "kept": slots.state(slots.next),
        "new": slots.state(1 - slots.next) if _held(slots) else 0,
    }


def _holding(slots: Slots) -> Values:
    """Those of `forms.holding`."""
    return {
        "next_entry": slots.next,
        "kept_entry": slots.kept,
        "label": slots.label,
        "kept": slots.state(slots.kept),
        "other": slots.state(1 - slots.kept),
        "written": slots.written,
        "written_before": slots.written_before,
    }


FORMS: dict[Callable[..., Slots], Callable[[Slots], Values]] = {
    forms.eager: _eager,
    forms.single: _single,
    forms.lazy: _lazy,
    forms.holding: _holding,
    forms.between_verifies: _between_verifies,
}


def _of(name: str, form: Callable[..., Slots]) -> tuple[Theorem, Callable[..., Slots]]:
    return LIBRARY[name], form


_VERIFIES = forms.between_verifies
# The theorem that covers an event, and how it says the slots: of eager slots, of lazy ones, without overlap.
PROMPT_LAUNCHED = (
    _of("a_prompts_launch_keeps_the_eager_invariant", forms.eager),
    _of("a_prompts_launch_keeps_the_lazy_invariant", forms.lazy),
    _of("a_prompt_without_overlap_keeps_its_label_true_and_donates_its_own_state", forms.single),
)
STEP_LAUNCHED = (
    _of("a_launch_of_an_eager_step_keeps_the_invariant", forms.eager),
    _of("a_launch_of_a_lazy_step_keeps_the_invariant", forms.lazy),
    None,
)
MIXED_STEP_LAUNCHED = _of(
    "a_launch_of_a_lazy_step_in_a_mixed_batch_keeps_the_invariant", forms.lazy
)
STEP_COMPLETED = (
    _of("a_result_of_an_eager_step_keeps_the_invariant", forms.eager),
    _of("a_result_of_a_lazy_step_keeps_the_invariant", forms.lazy),
    _of("a_step_without_overlap_keeps_its_label_true", forms.single),
)
VERIFIES = (
    _of(
        "an_overlapped_verify_keeps_the_label_true_unless_two_in_a_row_cross_the_grid", forms.eager
    ),
    _of(
        "an_overlapped_lazy_verify_keeps_the_invariant_unless_two_in_a_row_cross_the_grid",
        _VERIFIES,
    ),
    _of(
        "a_verify_without_overlap_keeps_its_label_true_if_no_dropped_token_is_on_the_grid",
        forms.single,
    ),
)
PROMPT_COMPLETED = (
    _of(
        "a_prompts_result_keeps_the_eager_invariant_and_donates_its_own_state",
        forms.eager,
    ),
    _of("a_prompts_result_keeps_the_lazy_invariant_and_donates_its_own_state", forms.lazy),
    None,
)
PROMPT_BEFORE_A_LAZY_VERIFY = _of(
    "a_prompts_result_keeps_the_invariant_of_lazy_verifies_and_donates_its_own_state", _VERIFIES
)
FINISH = (
    _of("an_eager_finish_donates_the_state_of_its_label", forms.eager),
    _of("a_lazy_finish_donates_the_state_of_its_label", forms.holding),
    _of("a_finish_without_overlap_donates_the_state_of_its_label", forms.single),
)
VERIFIED_END = (
    _of(
        "a_verify_that_finishes_donates_a_labelled_state_unless_two_in_a_row_cross_the_grid",
        forms.eager,
    ),
    _of("a_lazy_verify_that_finishes_donates_the_state_of_the_label_before", _VERIFIES),
    None,
)
COVERING = {
    theorem.id
    for covering in (
        *(PROMPT_LAUNCHED, STEP_LAUNCHED, STEP_COMPLETED, VERIFIES, PROMPT_COMPLETED),
        *((MIXED_STEP_LAUNCHED, PROMPT_BEFORE_A_LAZY_VERIFY), FINISH, VERIFIED_END),
    )
    for theorem, _ in filter(None, covering)
}


def completed(r: Request) -> int:
    """The length whose result was processed last, of a prompt: that was launched last (tokens)."""
    if not r.waiting:
        return r.length
    first = r.waiting[0]
    return first.end if first.kind == PROMPT else first.start


def tokens(one: Pass | None) -> int:
    """What a pass computes; 0 where there is none."""
    return one.end - one.start if one else 0


def planned(slots: Slots, one: Pass | None) -> int:
    """0 where a verify writes the next entry, else 1."""
    return int(one is not None and one.entry != slots.next)


class NotCovered(AssertionError):
    """An order of events reaches a state that the theorem for the next event does not take."""


def misfit(theorem: Theorem, form, design, c, slots: Slots, lengths: Values) -> str | None:
    """Why a theorem does not take these slots, or None; a conclusion that fails is a misfit as well."""
    numbers = {key: int(value) for key, value in FORMS[form](slots).items()}
    if fixed := set(numbers) - set(theorem.lengths):
        return f"it fixes {fixed}"
    if replace(form(**numbers), donates=slots.donates) != slots:
        return "it has no such slots"
    return unfit(theorem, design, c, {**numbers, "donates": int(slots.donates), **lengths})


def unfit(theorem: Theorem, design, c, lengths: Values) -> str | None:
    """Why a theorem does not take these values, or None; a conclusion that fails is a reason as well."""
    values = {**{name: getattr(c, name) for name in NUMERIC_FIELDS}, **lengths}
    if below := {name for name, least in theorem.lengths.items() if values[name] < least}:
        return f"it has no such {below}"
    statement = theorem.at(values, design)
    if failed := {name for name, holds in statement.hypotheses.items() if not holds}:
        return f"it supposes {failed}"
    return None if statement.conclusion else "it is false"


class Watched(Scheduler):
    """A scheduler that holds each event against the theorem that covers it, and counts what is covered."""

    def __init__(self, design, c, supposed=lambda theorem, slots: True):
        super().__init__(design, c)
        self.supposed = supposed
        self.lazy = c.strategy == "extra_buffer_lazy"
        self.settled = self.admit()
        self.origin: dict[Pass, Request] = {}
        self.covered: Counter[str] = Counter()

    def covers(self, theorem: Theorem, form, slots: Slots, **lengths: int) -> None:
        """Hold an event against a theorem."""
        if why := misfit(theorem, form, self.design, self.c, slots, lengths):
            raise NotCovered(f"{self.design.name} {self.c}: {theorem.id}: {why}: {slots} {lengths}")
        if not self.supposed(theorem, slots):
            raise NotCovered(f"{theorem.id}: it supposes more")
        self.covered[theorem.id] += 1

    def _settled(self, r: Request, most: int) -> Request:
        self.settled = super()._settled(r, most)
        return self.settled

    def _launched(self, r, launched, checkpoint) -> Request:
        self.origin[launched] = before = self.settled
        if launched.kind == PROMPT:
            self._covers_a_prompt(before, launched, checkpoint)
        elif self.c.overlap:
            covers = self._covers_a_step if launched.kind == STEP else self._covers_verifies
            covers(before, launched)
        if launched.kind == STEP and launched.mixed and not self.lazy:
            assert r.slots == before.slots, (
                "in a mixed batch a step does nothing to two slots or one"
            )
        return super()._launched(r, launched, checkpoint)

    def _covers_a_prompt(self, before: Request, launched: Pass, checkpoint) -> None:
        if not checkpoint.saved:
            checkpoint = NOTHING  # nothing is written, whatever the rules say of its depths
        lengths = {
            **{"start": launched.start, "completed": launched.end},
            **{"wanted": int(checkpoint.wanted), "passes": int(checkpoint.passes)},
            **{"depth": int(checkpoint.recorded), "state": int(checkpoint.state)},
        }
        self.covers(*self._of_kind(PROMPT_LAUNCHED), before.slots, **lengths)

    def _of_kind(self, theorems):
        eager, lazy, single = theorems
        return lazy if self.lazy else eager if self.c.overlap else single

    def _covers_a_step(self, before: Request, launched: Pass) -> None:
        fails = {"fails": int(before.allocation_fails)} if self.lazy else {}
        lengths = {"completed": completed(before), "boundary": self.boundary(before.waiting)}
        ahead = launched.start - completed(before)
        theorem = self._of_kind(STEP_LAUNCHED)
        if launched.mixed:
            if not self.lazy:
                return
            theorem = MIXED_STEP_LAUNCHED
        self.covers(*theorem, before.slots, ahead=ahead, **lengths, **fails)

    def _covers_verifies(self, before: Request, behind: Pass | None) -> None:
        """The launch of a verify (None: none is launched) and the result of the one before, if there is one."""
        first = before.waiting[-1] if before.waiting else None
        in_flight = first if first and first.kind == VERIFY else None
        pre = in_flight.start if in_flight else before.length
        lengths = {"pre": pre, "accepted": tokens(in_flight), "following": tokens(behind)}
        if self.lazy:
            lengths |= {"planned": planned(before.slots, in_flight)}
            lengths |= {"fails": int(before.allocation_fails)}
        self.covers(*self._of_kind(VERIFIES), before.slots, **lengths)

    def boundary(self, waiting) -> int:
        """The depth of a boundary in flight that a step has written (0: none)."""
        written = [
            p.end for p in waiting if p.kind == STEP and p.end % self.grid == 0 and not p.mixed
        ]
        assert len(written) <= 1
        return written[0] if written else NO_DEPTH

    def _result(self, r: Request) -> Request:
        done, *behind = r.waiting
        if done.mixed and done.kind == STEP:
            after = super()._result(r)
            assert after.slots == r.slots, "the result of a step in a mixed batch does nothing"
            return after
        if not self.c.overlap:
            self._covers_without_overlap(done)
        elif done.kind == PROMPT:
            self._covers_a_prompts_result(r, done, behind)
        elif done.kind == STEP:
            self._covers_a_steps_result(r, done, behind, finishes=0)
        elif not behind:
            self._covers_verifies(r, None)
        return super()._result(r)

    def _covers_a_steps_result(self, r: Request, done: Pass, behind, finishes: int) -> None:
        lengths = {"completed": done.start, "boundary": self.boundary(r.waiting)}
        lengths |= {"ahead": len(behind), "mixed": int(any(one.mixed for one in behind))}
        lengths |= {"finishes": finishes} if self.lazy else {}
        self.covers(*self._of_kind(STEP_COMPLETED), r.slots, **lengths)

    def _covers_a_prompts_result(self, r: Request, done: Pass, behind: list[Pass]) -> None:
        verifying = behind[0] if behind and behind[0].kind == VERIFY else None
        if not self.lazy:
            point = self.in_flight(verifying) if verifying else self.boundary(behind)
            entry = verifying.entry if verifying else r.slots.written
            lengths = {"completed": done.end, "boundary": point, "entry": entry}
            self.covers(*PROMPT_COMPLETED[0], r.slots, **lengths)
        elif verifying:
            lengths = {"pre": done.end, "accepted": tokens(verifying)}
            lengths |= {"planned": planned(r.slots, verifying)}
            self.covers(*PROMPT_BEFORE_A_LAZY_VERIFY, r.slots, **lengths)
        else:
            lengths = {"completed": done.end, "boundary": self.boundary(behind)}
            self.covers(*PROMPT_COMPLETED[1], r.slots, **lengths)

    def in_flight(self, one: Pass) -> int:
        """The depth of the checkpoint that a verify writes (0: none)."""
        return int(forms.boundary_of_verify(self.verify_grid, one.start, tokens(one)))

    def _covers_without_overlap(self, done: Pass, retained: int | None = None) -> None:
        """The launch of a pass and its result, between which there is nothing."""
        if done.kind == PROMPT or done.mixed or done not in self.origin:
            return  # a prompt is covered at its launch; the others do nothing
        before = self.origin[done].slots
        if done.kind == STEP:
            self.covers(*STEP_COMPLETED[2], before, completed=done.start)
        else:
            lengths = {"pre": done.start, "accepted": tokens(done)}
            lengths |= {"retained": tokens(done) if retained is None else retained}
            self.covers(*VERIFIES[2], before, **lengths)

    def finish(self, r: Request, retained: int | None = None, grammar: bool = False) -> Request:
        r = self._last_results(r)
        last, *behind = r.waiting
        with pytest.MonkeyPatch.context() as patch:
            asked: list[tuple[Slots, int]] = []
            real = slot_buffer.finished
            patch.setattr(
                slot_buffer,
                "finished",
                lambda d, c, s, key: asked.append((s, key)) or real(d, c, s, key),
            )
            after = super().finish(r, retained, grammar)
        ((slots, key),) = asked
        kept = tokens(last) if retained is None or not grammar else retained
        if last.kind == VERIFY and self.c.overlap:
            self._covers_an_end_at_a_verify(r, last, behind, kept, key)
            return after
        if not self.c.overlap:
            self._covers_without_overlap(last, kept)
        elif last.kind == STEP and not last.mixed:
            self._covers_a_steps_result(r, last, behind, finishes=1)
        end = last.start + kept if last.kind == VERIFY else last.end
        self.covers(*self._of_kind(FINISH), slots, completed=end, key=key)
        return after

    def _covers_an_end_at_a_verify(self, r, last: Pass, behind, retained: int, key: int) -> None:
        before = self.origin[behind[0]] if behind else r
        lengths = {"pre": last.start, "accepted": tokens(last), "retained": retained, "key": key}
        lengths |= {"following": tokens(behind[0]) if behind else 0}
        if self.lazy:
            lengths |= {"planned": planned(before.slots, last)}
            lengths |= {"fails": int(before.allocation_fails)}
        self.covers(*self._of_kind(VERIFIED_END), before.slots, **lengths)


SWAPS_RIGHT = ("sglang-0.5.22+completed-swap", COMPLETED_SWAP)
KINDS = (
    {"strategy": "extra_buffer", "overlap": True},
    {"strategy": "extra_buffer", "overlap": False},
    {"strategy": "extra_buffer_lazy", "overlap": True},
)
# Grids above one token, of which two verifies pass one at most: what the theorems suppose of a configuration.
GEOMETRIES = (
    *((1, 1, 8, 4, 0), (4, 2, 8, 4, 0), (2, 3, 6, 2, 0), (1, 1, 2, 2, 0)),
    *((4, 1, 8, 4, 3), (2, 2, 4, 2, 2), (1, 1, 8, 4, 1), (1, 1, 6, 2, 3), (2, 1, 32, 4, 2)),
)
ORDERS = 800


def act_at_random(rng: Random, scheduler: Watched) -> None:
    """A request's life, from its admission to its finish, at lengths around the grids."""
    c = scheduler.c
    near = 2 * max(scheduler.grid, scheduler.verify_grid)
    mixes = scheduler.design.writes_mixed_prompts and not c.speculates
    r = scheduler.admit(rng.choice([0, 0, near]))
    for _ in range(rng.choice([1, 1, 2])):
        r = scheduler.mixed_batch(r) if mixes and rng.random() < 0.2 else r
        r = scheduler.extend(r, r.length + rng.randint(1, near))
    for _ in range(rng.randint(0, 12)):
        event = rng.choice(("launch",) * 5 + ("other_batch", "fails", "mixed"))
        if event == "other_batch" and c.overlap:
            r = scheduler.other_batch(r)
        elif event == "fails" and scheduler.lazy:
            r = scheduler.allocation_failure(r)
        elif event == "mixed" and mixes:
            r = scheduler.mixed_batch(r)
        elif not c.speculates:
            r = scheduler.decode(r, r.length + rng.choice([1, 1, 2, rng.randint(1, near)]))
        elif rng.random() < 0.8:
            r = scheduler.verify(r, rng.randint(1, c.speculative_num_draft_tokens))
        else:
            r = scheduler.verify_on(r, rng.randint(1, 2 * near))
    last = scheduler.ends_with(r)
    if last.kind != VERIFY:
        scheduler.finish(r)
        return
    kept = rng.randint(1, tokens(last))
    lost = verify.crosses(scheduler.verify_grid, last.start + kept, tokens(last) - kept)
    # Without overlap a grammar that drops a token on the grid costs the state under the label: docs/found.md.
    grammar = rng.random() < 0.5 and (c.overlap or not lost)
    scheduler.finish(r, kept, grammar)


def random_lives(seed: int, orders: int, designs=SWAPS_RIGHT, **options) -> Counter[str]:
    """Lives of requests in several designs and configurations; how often each theorem covered an event."""
    rng, covered = Random(seed), Counter[str]()
    for _ in range(orders):
        page, dcp, interval, chunk, drafts = rng.choice(GEOMETRIES)
        algorithm = "EAGLE" if drafts else None
        kind = rng.choice(KINDS)
        c = Configuration(
            page, dcp, interval, drafts, algorithm, None, **kind, mamba_chunk_size=chunk
        )
        scheduler = Watched(design_named(rng.choice(designs)), c, **options)
        assert scheduler.grid > 1 and 2 * drafts <= scheduler.verify_grid
        act_at_random(rng, scheduler)
        covered += scheduler.covered
    return covered


def test_each_event_of_any_order_is_covered_by_a_theorem_whose_premises_hold():
    covered = random_lives(31, ORDERS)
    assert set(covered) == COVERING
    assert min(covered.values()) > 10


# What the theorems supposed before, each of it false of some state that is reached.
SUPPOSED_BEFORE = (
    (STEP_LAUNCHED[0], "no label before", lambda s: s.previous == NO_DEPTH),
    (STEP_COMPLETED[0], "the next entry written last", lambda s: s.written == s.next),
    (STEP_COMPLETED[0], "the other entry before it", lambda s: s.written_before == 1 - s.written),
    (FINISH[0], "no label before the last one", lambda s: s.previous == NO_DEPTH),
    (STEP_LAUNCHED[1], "the other entry of a lazy request", lambda s: s.written_before != s.next),
    (PROMPT_LAUNCHED[0], "the slots of a new request", lambda s: s.next == 0),
    (VERIFIES[0], "a verify and no label before", lambda s: s.previous == NO_DEPTH),
    (VERIFIES[1], "the first entry kept by a lazy verify", lambda s: s.next == 0),
    (VERIFIES[1], "no second slot written", lambda s: s.second < 0),
    (STEP_COMPLETED[2], "a second entry without a slot", lambda s: s.second == NO_SLOT),
)


@pytest.mark.parametrize(
    ("covering", "held"),
    [pytest.param(covering, held, id=name) for covering, name, held in SUPPOSED_BEFORE],
)
def test_a_premise_that_a_reached_state_does_not_satisfy_is_noticed(covering, held):
    def supposed(theorem: Theorem, slots: Slots) -> bool:
        return theorem is not covering[0] or bool(held(slots))

    with pytest.raises(NotCovered, match="supposes more"):
        random_lives(31, ORDERS, supposed=supposed)


def test_a_theorem_that_fixes_a_field_of_the_slots_covers_nothing():
    theorem, form = STEP_COMPLETED[0]
    fixed = replace(theorem, lengths={k: v for k, v in theorem.lengths.items() if k != "previous"})
    slots = slot_buffer.admitted(Configuration())
    assert misfit(fixed, form, None, Configuration(), slots, {}) == "it fixes {'previous'}"


def test_the_released_swap_reaches_states_that_no_theorem_takes():
    with pytest.raises(
        NotCovered, match="a_result_of_an_eager_step_keeps_the_invariant: it is false"
    ):
        random_lives(31, ORDERS, (CURRENT.name,))


def test_a_finish_needs_a_key_that_has_all_that_is_completed():
    theorem, needed = FINISH[0][0], "the_key_has_all_that_is_completed"
    slots = {"next_entry": 0, "label": 2, "previous": 1, "kept": 2, "new": 0}
    values = {**slots, "written": 0, "written_before": 1, "completed": 2, "key": 1}
    assert candidates.fails_at(theorem, values, without=needed)
    assert not candidates.fails_at(theorem, values)


# A tree of states: every event of it, and each chunk of a prompt that goes on from a node.

TREES = ((1, 1, 4), (2, 1, 4), (4, 1, 2), (1, 2, 4), (2, 3, 4), (4, 2, 2))  # page, ranks, chunk
REQUESTS = 12


class WatchedTree(Tree):
    """A tree that holds each event against the theorem that covers it, and counts what is covered."""

    def __init__(self, design, c):
        super().__init__(design, c)
        self.covered: Counter[str] = Counter()

    def covers(self, name: str, **lengths: int) -> None:
        """Hold an event against a theorem."""
        if why := unfit(LIBRARY[name], self.design, self.c, lengths):
            raise NotCovered(f"{name}: {why}: {lengths}, {self.c}")
        self.covered[name] += 1

    def _hit(self, key):
        before = dict(self.nodes)
        hit = super()._hit(key)
        for at in set(self.nodes) - set(before):
            below = min((node for node in before if node[: len(at)] == at), key=len)
            node = before[below]
            lengths = {"depth": node.depth, "state": node.state, "at": self.nodes[at].depth}
            self.covers("a_split_leaves_the_state_on_the_node_of_its_depth", **lengths)
        return hit

    def insert(self, tokens, depth: int, state: int, payload=None) -> None:
        """Donate a state to the node of a depth."""
        key = self.pages(tokens, depth)
        self._hit(key)
        node = self.nodes.get(key, tree.Node(depth))
        lengths = {"depth": depth, "state": state, "held": node.state}
        self.covers("a_donation_keeps_a_node_with_the_state_of_its_depth", **lengths)
        if node.has_state:
            self.covers("a_node_that_has_a_state_keeps_it", **lengths)
        super().insert(tokens, depth, state, payload)

    def drop(self, key) -> None:
        """Evict the state of a node."""
        node = self.nodes[key]
        above = [self.nodes[key[:i]] for i in range(1, len(key)) if key[:i] in self.nodes]
        before = above[-1] if above else tree.ROOT
        lengths = {"other": before.depth, "other_state": before.state}
        self.covers("an_eviction_moves_no_state", depth=node.depth, state=node.state, **lengths)
        self.evict(key)

    def given_to(self, tokens) -> tree.Node:
        """The node that a prompt is given."""
        _, path = self.path(tokens)
        for number, node in enumerate(path):
            best = tree.given(path[:number])
            so_far = {"best": best.depth, "best_state": best.state}
            lengths = {**so_far, "depth": node.depth, "state": node.state}
            name = "a_match_is_given_the_state_of_its_depth_short_of_its_prompt"
            self.covers(name, prompt=len(tokens), **lengths)
            for passed in path[:number]:
                other = {"other": passed.depth, "other_state": passed.state}
                self.covers("a_match_is_given_the_deepest_state_of_its_path", **lengths, **other)
        return tree.given(path)

    def prompt(self, tokens, cuts, requests: int) -> None:
        """Compute a prompt in chunks, from the node it is given, in so many requests at a time, which donate all."""
        given = self.given_to(tokens)
        page = self.page if self.c.dcp_size > 1 else self.c.page_size
        ends = [*(given.depth + cut * page for cut in cuts), len(tokens)]
        start = given.depth
        for end in (end for end in ends if end <= len(tokens)):
            if end <= start:
                continue
            checkpoint = extend_checkpoint(self.design, self.c, start, end)
            depth = int(node_of(self.design, self.c, checkpoint)) if checkpoint.saved else 0
            if depth:
                known = self.nodes.get(self.pages(tokens, depth))
                lengths = {"prefix": given.depth, "given": given.state, "cut": start - given.depth}
                lengths |= {"tokens": end - start, "held": known.state if known else 0}
                self.covers(RESUMED[self.c.dcp_size > 1], **lengths)
                for _ in range(requests):
                    self.insert(tokens, depth, int(checkpoint.state))
            start = end


RESUMED = (
    "without_dcp_a_prompt_that_is_cut_on_a_page_is_inserted_at_the_depth_of_its_state",
    "under_dcp_a_prompt_that_is_cut_anywhere_is_inserted_at_the_depth_of_its_state",
)


def test_each_event_of_a_tree_is_covered_by_a_theorem_whose_premises_hold():
    rng, covered = Random(5), Counter[str]()
    for _ in range(40):
        page, dcp, chunk = rng.choice(TREES)
        served = WatchedTree(CURRENT, Configuration(page, dcp, mamba_chunk_size=chunk))
        for number in range(REQUESTS):
            shared = rng.randint(0, 60)
            own = [1000 * (number + 1) + i for i in range(rng.randint(1, 20))]
            cuts = sorted(rng.choices(range(1, 12), k=2))
            served.prompt([*range(shared), *own], cuts, rng.choice([1, 1, 2]))
            if served.nodes and rng.random() < 0.3:
                served.drop(rng.choice(list(served.nodes)))
        covered += served.covered
    every = {theorem.id for theorem in LIBRARY if theorem.family == "tree"}
    of_one_release = {t for t in every if LIBRARY[t].proved_for}
    assert set(covered) == every - of_one_release
    assert min(covered.values()) > 10
