"""The prover's verdicts, each on a case that has it and on one that has not, and what makes a proof honest."""

from dataclasses import replace

import pytest

from spec import candidates
from spec import prove as prove_module
from spec.numbers import both, choose, divides, lcm, smallest
from spec.prove import Obligation, Prover, shown
from spec.sglang import checkpoints, guards
from spec.sglang.releases import CURRENT
from spec.sglang.rules import decode, extend, flush, grids, insert, lookup, slots, verify
from spec.sglang.theorems import LIBRARY
from spec.sglang.theorems import verify as verify_theorems
from spec.smt.solver import Limits
from spec.theorem import Library, Statement

ALL = [t.id for t in LIBRARY]
REQUIRED = {
    "every_track_depth_is_a_multiple_of_all_three_grids",
    "decode_checkpoint_lands_on_a_node",
    "every_snapshot_step_is_a_flush_step",
    "equal_grids_make_every_flush_step_a_snapshot_step",
    "only_equal_grids_make_every_flush_step_a_snapshot_step",
    "no_common_multiple_is_missed",
    "an_aligned_interval_is_left_unchanged",
    "a_raw_interval_is_safe_if_the_tree_page_divides_it",
    "a_raw_interval_is_safe_only_if_the_tree_page_divides_it",
    "the_configured_page_guard_does_not_imply_a_safe_interval",
    "an_absolute_extend_lands_on_a_node",
}


@pytest.fixture(scope="module")
def results():
    return {t.id: Prover().prove(t) for t in LIBRARY}


def own_theorem(state, **options):
    """A theorem outside the library, under SGLang's setting."""
    return Library(LIBRARY.setting).theorem("own", **options)(state)


def test_the_first_theorems_are_there():
    assert set(ALL) >= REQUIRED


@pytest.mark.parametrize("name", ALL)
def test_every_theorem_is_proved_with_unbounded_parameters(results, name):
    result = results[name]
    assert result.verdict == "proved", result.reason
    assert result.symbolic and result.asked


@pytest.mark.parametrize("name", ALL)
def test_the_printed_witness_satisfies_the_hypotheses(results, name):
    result = results[name]
    statement = result.theorem.at(result.witness)
    assert all(v is True for v in map(bool, statement.hypotheses.values()))
    assert statement.conclusion


@pytest.mark.parametrize("name", ALL)
def test_every_hypothesis_is_needed_and_its_counterexample_is_one(results, name):
    theorem = results[name].theorem
    for hypothesis in results[name].hypotheses:
        assert hypothesis.status == "necessary"
        statement = theorem.at(hypothesis.counterexample)
        others = {k: v for k, v in statement.hypotheses.items() if k != hypothesis.name}
        assert all(others.values()) and not statement.hypotheses[hypothesis.name]
        assert not statement.conclusion


@pytest.mark.parametrize("name", [t.id for t in LIBRARY if t.refuted_by])
def test_wrong_designs_fail_on_the_integers_shown(results, name):
    result = results[name]
    assert [r.design for r in result.refutes] == list(result.theorem.refuted_by)
    for refutation in result.refutes:
        design = LIBRARY.setting.design(refutation.design)
        statement = result.theorem.at(refutation.counterexample, design)
        assert all(statement.hypotheses.values()) and not statement.conclusion


def test_no_solver_seed_leaves_a_theorem_unknown():
    assert {Prover(seeds=10).prove(t).verdict for t in LIBRARY} == {"proved"}


def raw_interval(c):
    return c.mamba_track_interval


def product_grid(c):
    return grids.cache_chunk_size(c) * grids.tree_page(c) * c.mamba_track_interval


def forgets_dcp(c):
    return lcm(lcm(grids.cache_chunk_size(c), c.page_size), c.mamba_track_interval)


def forgets_the_chunk(c):
    return lcm(grids.tree_page(c), c.mamba_track_interval)


MUTANTS = [
    (
        slots,
        "swap_follows_the_completed_step",
        slots.swap_follows_the_lookahead,
        "a_boundary_swaps_the_slots_exactly_once",
    ),
    (
        slots,
        "swap_follows_the_lookahead",
        lambda g, n, a: divides(g, n + 1),
        "a_swap_by_the_lookahead_happens_once_exactly_if_the_lookahead_is_unchanged",
    ),
    (
        slots,
        "swap_follows_the_lookahead",
        lambda g, n, a: divides(g, n) == (a == 1),
        "a_swap_by_the_lookahead_happens_once_exactly_if_the_lookahead_is_unchanged",
    ),
    (
        slots,
        "swap_follows_the_lookahead",
        lambda g, n, a: n >= 1,
        "a_swap_by_the_lookahead_happens_once_exactly_if_the_lookahead_is_unchanged",
    ),
    (
        insert,
        "node_depth",
        lambda t, k, d: (smallest(k, d) + t - 1) // t * t,
        "a_node_is_the_deepest_one_that_the_donation_and_its_key_reach",
    ),
    (
        insert,
        "node_depth",
        lambda t, k, d: d // t * t,
        "a_node_is_the_deepest_one_that_the_donation_and_its_key_reach",
    ),
    (insert, "accepts_any_depth", lambda t, d: d < 0, "decode_checkpoint_lands_on_a_node"),
    (grids, "period", lambda c, g: 1, "one_checkpoint_in_a_period_lands_on_a_node"),
    (
        grids,
        "period",
        lambda c, g: grids.tree_page(c),
        "one_checkpoint_in_a_period_lands_on_a_node",
    ),
    (verify, "crosses", lambda g, p, a: a >= g, "no_depth_on_the_grid_is_passed_unsaved"),
    (
        verify,
        "crosses",
        lambda g, p, a: divides(g, p + a),
        "no_depth_on_the_grid_is_passed_unsaved",
    ),
    (
        verify,
        "tracking_point",
        lambda g, p, a: (p // g + 1) * g,
        "no_depth_on_the_grid_is_passed_unsaved",
    ),
    (
        extend,
        "relative_donates",
        lambda g, c, p, e: e >= p,
        "a_relative_extend_lands_on_a_node_if_its_prefix_does",
    ),
    (
        extend,
        "absolute_depth",
        lambda g, p, e: (e - 1) // g * g,
        "under_dcp_an_extend_from_a_cut_on_the_cache_chunk_misses_no_depth",
    ),
    (extend, "forces_intermediate", lambda s, p, e, d: e >= 0, "the_row_read_exists"),
    (extend, "tracked_length", lambda s, p, e, d: d + 1, "the_row_read_exists"),
    (
        decode,
        "snapshot_step",
        lambda g, n: (n % g != 0) == True,
        "decode_checkpoint_lands_on_a_node",
    ),
    (
        extend,
        "absolute_donates",
        lambda g, c, p, e: (e < p) == False,
        "an_absolute_extend_lands_on_a_node",
    ),
    (
        extend,
        "depth_is_on_the_chunk",
        lambda c, p, d: divides(2 * c, d),
        "the_old_assertion_holds_from_a_prefix_on_the_cache_chunk",
    ),
    (grids, "track_grid", raw_interval, "decode_checkpoint_lands_on_a_node"),
    (grids, "track_grid", forgets_dcp, "decode_checkpoint_lands_on_a_node"),
    (grids, "track_grid", product_grid, "no_common_multiple_is_missed"),
    (grids, "track_grid", forgets_the_chunk, "every_track_depth_is_a_multiple_of_all_three_grids"),
    (grids, "track_interval", product_grid, "every_snapshot_step_is_a_flush_step"),
    (grids, "checkpoint_grid", grids.cache_chunk_size, "an_absolute_extend_lands_on_a_node"),
    (
        grids,
        "tree_page",
        lambda c: c.page_size,
        "the_configured_page_guard_does_not_imply_a_safe_interval",
    ),
    (insert, "node_depth", lambda t, k, d: d // t * t + t, "decode_checkpoint_lands_on_a_node"),
    (
        insert,
        "depth_has_a_node",
        lambda t, d: d >= t,
        "the_insert_guard_accepts_exactly_the_depths_with_a_node",
    ),
    (
        insert,
        "depth_has_a_node",
        lambda t, d: divides(2 * t, d),
        "the_insert_guard_accepts_exactly_the_depths_with_a_node",
    ),
    (flush, "flush_step", lambda i, n: divides(i + 1, n), "every_snapshot_step_is_a_flush_step"),
    (
        extend,
        "absolute_depth",
        lambda g, p, e: e // g * g + 1,
        "an_absolute_extend_lands_on_a_node",
    ),
    (extend, "absolute_donates", lambda g, c, p, e: e >= g, "an_absolute_extend_lands_on_a_node"),
    (
        extend,
        "relative_depth",
        lambda g, p, e: e,
        "a_relative_extend_lands_on_a_node_if_its_prefix_does",
    ),
    (
        extend,
        "offset_is_on_the_chunk",
        extend.depth_is_on_the_chunk,
        "the_extend_assertion_never_fires",
    ),
    (
        extend,
        "tracked_length",
        lambda s, p, e, d: e,
        "the_row_read_is_the_row_of_the_recorded_depth",
    ),
    (
        verify,
        "saved_step",
        lambda g, p, a: (p + a) // g * g - p,
        "the_saved_verify_step_has_consumed_exactly_the_recorded_depth",
    ),
    (verify, "tracking_point", lambda g, p, a: p + a, "verify_checkpoint_lands_on_a_node"),
    (
        extend,
        "absolute_donates",
        lambda g, c, p, e: both(e // g * g > p, divides(g, e // g * g - p)),
        "an_absolute_extend_donates_nothing_exactly_from_a_prefix_off_the_cache_chunk",
    ),
    (
        extend,
        "absolute_donates",
        lambda g, c, p, e: both(e // g * g > p, divides(c, p), e - p >= g),
        "under_dcp_an_extend_from_a_cut_on_the_cache_chunk_misses_no_depth",
    ),
    (
        extend,
        "relative_depth",
        lambda g, p, e: p // g * g + (e - p) // g * g,
        "a_relative_extend_replays_what_its_prefix_has_beyond_a_page",
    ),
    (
        extend,
        "relative_donates",
        lambda g, c, p, e: e - p > g,
        "an_extend_from_a_donated_depth_misses_no_depth",
    ),
    (
        extend,
        "keeps_branching_point",
        lambda c, p, t, b: both(b > p, b < t, divides(c, b)),
        "the_row_read_for_a_branching_point_is_its_own",
    ),
    (
        extend,
        "keeps_branching_point",
        lambda c, p, t, b: both(b > p, divides(c, b - p)),
        "the_row_read_for_a_branching_point_is_its_own",
    ),
    (
        extend,
        "keeps_branching_point",
        lambda c, p, t, b: both(b > p, b + c < t, divides(c, b - p)),
        "an_extend_from_a_donated_node_keeps_its_branching_point",
    ),
    (
        extend,
        "depth_is_on_the_chunk",
        lambda c, p, d: divides(c, d - p),
        "the_old_assertion_fires_exactly_for_an_earlier_row_from_a_prefix_off_the_chunk",
    ),
    (
        verify,
        "saved_step",
        lambda g, p, a: (p + a) // g * g - p - 1,
        "the_saved_step_is_always_an_accepted_one",
    ),
    (
        verify_theorems,
        "interval_covers_draft_tokens",
        lambda c: c.mamba_track_interval + 1 >= c.speculative_num_draft_tokens,
        "a_verify_within_the_guard_passes_one_depth_at_most",
    ),
    (
        slots,
        "label_counts_the_retained",
        slots.label_counts_the_accepted,
        "the_label_is_the_saved_depth_where_no_dropped_token_is_on_the_grid",
    ),
    (
        verify_theorems,
        "verify_label",
        lambda d, c, p, a, r: checkpoints.verify_label(d, c, p, a, a),
        "a_state_saved_among_dropped_tokens_is_not_labelled",
    ),
    (
        slots,
        "label_counts_the_accepted",
        slots.label_counts_the_retained,
        "an_old_label_is_repeated_exactly_within_the_dropped_tokens_before_the_start",
    ),
    (
        slots,
        "a_verify_may_cross",
        lambda g, c, n: verify.crosses(g, c, 2 * n - 1),
        "the_planned_window_covers_every_crossing_one_verify_ahead",
    ),
    (
        slots,
        "a_verify_may_cross",
        lambda g, c, n: verify.crosses(g, c, 2 * n + 1),
        "a_second_slot_is_planned_only_if_a_verify_can_cross_the_grid",
    ),
    (
        slots,
        "label_within_the_key",
        lambda k, n, p: choose(n <= k, n, p),
        "a_finish_donates_no_state_beyond_its_key",
    ),
    (
        slots,
        "label_within_the_key",
        lambda k, n, p: choose(n <= k, n, 0),
        "a_finish_donates_the_last_label_that_its_key_reaches",
    ),
    (
        slots,
        "label_cut_to_the_key",
        lambda k, n, p: k,
        "an_old_finish_has_a_state_beyond_its_node_exactly_where_the_label_passes_the_key",
    ),
    (
        lookup,
        "longest_given",
        lambda t, n: n // t * t,
        "a_request_matches_a_node_exactly_if_its_prompt_goes_beyond_it",
    ),
    (
        lookup,
        "is_branching_point",
        lambda b, n: b >= n,
        "the_branching_point_is_a_depth_that_a_node_can_have",
    ),
    (
        lookup,
        "branching_point",
        lambda g, h: (h - 1) // g * g,
        "the_branching_point_is_the_last_depth_on_the_grid_within_the_hit",
    ),
    (
        grids,
        "cache_chunk_size",
        lambda c: c.mamba_chunk_size,
        "the_cache_chunk_is_whole_chunks_and_pages_if_one_divides_the_other",
    ),
    (
        guards,
        "chunk_and_page_fit",
        lambda c: divides(c.mamba_chunk_size, c.page_size),
        "the_cache_chunk_is_whole_chunks_and_pages_only_if_one_divides_the_other",
    ),
    (
        grids,
        "checkpoint_grid",
        lambda c: lcm(lcm(grids.cache_chunk_size(c), grids.tree_page(c)), grids.track_interval(c)),
        "the_checkpoint_grid_is_the_least_for_the_model_chunk_and_the_tree_page",
    ),
    (
        grids,
        "track_grid",
        product_grid,
        "the_interval_is_rounded_up_by_what_it_lacks_of_the_checkpoint_grid",
    ),
    (
        grids,
        "track_grid",
        lambda c: 2 * lcm(grids.checkpoint_grid(c), grids.track_interval(c)),
        "a_snapshot_is_taken_of_every_depth_on_all_grids",
    ),
    (
        grids,
        "track_grid",
        forgets_the_chunk,
        "a_later_extend_from_a_decode_checkpoint_misses_no_depth",
    ),
    (
        checkpoints,
        "misplaced",
        lambda d, c, k: both(k.saved, checkpoints.node_of(d, c, k) != k.state),
        "a_state_below_one_tree_page_is_not_cached",
    ),
    (
        checkpoints,
        "misplaced",
        lambda d, c, k: both(
            checkpoints.node_of(d, c, k) > 0, checkpoints.node_of(d, c, k) != k.state
        ),
        "beyond_the_first_page_a_raw_checkpoint_has_the_wrong_prefix_exactly_off_the_tree_page",
    ),
    (
        checkpoints,
        "misplaced",
        lambda d, c, k: both(k.saved, checkpoints.node_of(d, c, k) > k.state),
        "one_of_two_successive_raw_checkpoints_has_the_wrong_prefix",
    ),
    (
        decode,
        "snapshot_step",
        lambda g, n: divides(2 * g, n),
        "a_raw_checkpoint_replays_its_remainder_by_the_tree_page",
    ),
    (
        decode,
        "next_step_snapshots",
        lambda g, n: n % g == 1,
        "the_mask_handed_on_is_the_mask_of_the_next_step",
    ),
    (
        decode,
        "completed_length",
        lambda k, a: k,
        "a_result_labels_the_depth_of_its_own_snapshot",
    ),
    (
        slots,
        "label_of_the_completed_step",
        lambda g, n, a: choose(both(divides(g, n), a == 0), n, 0),
        "a_result_labels_the_depth_of_its_own_snapshot",
    ),
    (
        slots,
        "label_of_the_completed_step",
        lambda g, n, a: n // g * g,
        "a_result_labels_the_depth_of_its_own_snapshot",
    ),
    (
        flush,
        "flushed_depth",
        lambda i, n: (n - 1) // i * i,
        "a_checkpoint_of_the_flushed_state_is_at_its_recorded_depth",
    ),
    (
        flush,
        "flushed_depth",
        lambda i, n: n,
        "the_flushed_state_is_that_of_the_last_flush_step",
    ),
    (
        verify,
        "window_end",
        lambda g, p, a: p + a,
        "equal_grids_save_a_state_wherever_a_window_is_written",
    ),
]


@pytest.mark.parametrize(("module", "rule", "mutant", "theorem"), MUTANTS)
def test_a_rule_changed_at_run_time_makes_its_theorem_fail(
    monkeypatch, results, module, rule, mutant, theorem
):
    assert results[theorem].verdict == "proved"
    monkeypatch.setattr(module, rule, mutant)
    result = Prover().prove(LIBRARY[theorem])
    assert result.verdict == "refuted", (result.verdict, result.reason)
    statement = LIBRARY[theorem].at(result.counterexample)
    assert all(statement.hypotheses.values()) and not statement.conclusion


WRONG_DESIGNS = [
    (
        {"decode_grid": lambda c: 2 * grids.track_grid(c)},
        "a_snapshot_is_taken_of_every_depth_on_all_grids",
    ),
    (
        {"decode_grid": forgets_the_chunk},
        "a_later_extend_from_a_decode_checkpoint_misses_no_depth",
    ),
    (
        {"flush_grid": grids.track_grid},
        "a_flush_off_the_snapshots_updates_the_state_and_writes_no_checkpoint",
    ),
    (
        {"window_grid": lambda c: 2 * grids.track_grid(c)},
        "a_window_is_written_wherever_a_state_is_saved",
    ),
    (
        {"verify_grid": grids.tree_page},
        "only_equal_grids_save_a_state_wherever_a_window_is_written",
    ),
]


@pytest.mark.parametrize(("changes", "theorem"), WRONG_DESIGNS)
def test_a_producer_on_another_grid_is_refuted(changes, theorem):
    wrong, claim = replace(CURRENT, **changes), LIBRARY[theorem]
    found = candidates.counterexample(claim, claim.parameters(wrong), wrong)
    assert found is not None and candidates.fails_at(claim, found, wrong)


def test_contradictory_hypotheses_are_vacuous_and_never_proved():
    def nothing_is_below_itself(design, c):
        """A claim about nothing."""
        return Statement({"impossible": c.page_size < c.page_size}, c.page_size == 0)

    result = Prover().prove(own_theorem(nothing_is_below_itself))
    assert result.verdict == "vacuous" and result.witness is None


def test_a_true_claim_without_a_proof_is_unknown():
    def squares_are_never_two_more(design, c, n):
        """No square is twice another: true, and beyond the lemmas."""
        return Statement({"any": n >= 1}, c.page_size * c.page_size != 2 * (n * n))

    result = Prover().prove(own_theorem(squares_are_never_two_more))
    assert result.verdict == "unknown" and result.counterexample is None


def test_a_resource_limit_ends_unknown_and_never_proved():
    result = Prover(Limits(resources=1)).prove(LIBRARY["decode_checkpoint_lands_on_a_node"])
    assert result.verdict == "unknown"


def test_a_rule_that_branches_on_a_term_is_an_error_that_says_so():
    def branches(design, c):
        """A rule that Python decides."""
        return Statement({"any": c.page_size >= 1}, c.page_size >= 1 if c.dcp_size > 1 else True)

    result = Prover().prove(own_theorem(branches))
    assert result.verdict == "error" and "choose" in result.reason


def test_a_false_encoding_is_found_out_at_the_witness(monkeypatch):
    original = prove_module.Ledger.division

    def wrong(ledger, n, t):
        known = original(ledger, n, t)
        ledger.definitions.append(known.remainder.expr > t.expr)
        return known

    monkeypatch.setattr(prove_module.Ledger, "division", wrong)
    result = Prover().prove(LIBRARY["decode_checkpoint_lands_on_a_node"])
    assert result.verdict == "error" and "witness" in result.reason


def test_a_design_that_was_to_be_caught_and_is_not_is_an_error():
    def harmless(design, c):
        """True of every design."""
        return Statement({"any": c.page_size >= 1}, c.page_size >= 1)

    theorem = own_theorem(harmless, refuted_by=("sglang-0.5.18",))
    assert Prover().prove(theorem).verdict == "error"


def test_a_hypothesis_that_is_not_needed_is_redundant():
    def with_something_idle(design, c, depth):
        """A multiple of the tree page is one, whatever the chunk."""
        return Statement(
            {
                "on_the_page": divides(grids.tree_page(c), depth),
                "idle": c.mamba_chunk_size >= 2,
            },
            divides(c.page_size, depth),
        )

    result = Prover().prove(own_theorem(with_something_idle))
    statuses = {h.name: h.status for h in result.hypotheses}
    assert statuses == {"on_the_page": "necessary", "idle": "redundant"}


def test_definitions_constrain_nothing_if_a_divisor_is_not_positive():
    """``n // t`` must not smuggle in ``t >= 1``: a claim that needs it has to fail without it."""

    def divisors_are_positive(design, c, t):
        """False: nothing makes the difference positive."""
        difference = t - c.page_size
        return Statement({"used": (t % 3 >= 0)}, difference >= 1)

    result = Prover().prove(own_theorem(divisors_are_positive))
    assert result.verdict == "refuted"


FALSE_CLAIMS = {
    "truths_compared": lambda d, c, n: Statement(
        {"same": divides(c.page_size, n) == divides(c.dcp_size, n)}, c.page_size == c.dcp_size
    ),
    "truths_distinguished": lambda d, c, n: Statement(
        {"any": n >= 1}, divides(c.page_size, n) != divides(c.dcp_size, n)
    ),
    "truth_is_false": lambda d, c, n: Statement(
        {"no": divides(c.page_size, n) == False},
        c.page_size == 99,
    ),
    "truth_is_true": lambda d, c, n: Statement({"yes": (n >= 1) == True}, n >= 1000),
    "chosen_by_a_comparison": lambda d, c, n: Statement(
        {"any": n >= 1},
        choose(divides(c.page_size, n) == divides(c.dcp_size, n), n - n + 1, 0) == 0,
    ),
}


@pytest.mark.parametrize("name", FALSE_CLAIMS)
def test_false_claims_about_truths_are_refuted(name):
    def claim(design, c, n):
        """False."""
        return FALSE_CLAIMS[name](design, c, n)

    assert Prover().prove(own_theorem(claim)).verdict == "refuted"


@pytest.mark.parametrize(
    "claim",
    [
        lambda d, c, n: Statement({"any": n < 1.5}, n == 7),
        lambda d, c, n: Statement({"any": n >= 1}, n * 0.5 == 0),
        lambda d, c, n: Statement({"any": n != "1"}, n >= 2),
        lambda d, c, n: Statement({"any": n >= 1}, (n >= 1) + n >= 3),
    ],
)
def test_what_is_no_whole_number_is_an_error_and_never_rounded(claim):
    def rounded(design, c, n):
        """False."""
        return claim(design, c, n)

    assert Prover().prove(own_theorem(rounded)).verdict == "error"


def test_terms_that_differ_from_integers_are_found_out_at_the_witness(monkeypatch):
    monkeypatch.setattr(prove_module.Ledger, "negation", lambda ledger, truth: ledger.truth(truth))
    result = Prover().prove(LIBRARY["the_row_read_exists"])
    assert result.verdict == "error" and "differ at the witness" in result.reason


def test_only_what_is_proved_counts_as_shown():
    def false_claim(design, c, n):
        """False."""
        return Statement({"any": n >= 1}, divides(grids.tree_page(c), n))

    assert not shown(own_theorem(false_claim))
    assert shown(LIBRARY["decode_checkpoint_lands_on_a_node"])


def test_the_query_is_about_the_rules_that_were_called(monkeypatch):
    theorem = LIBRARY["decode_checkpoint_lands_on_a_node"]
    parameters = theorem.parameters()
    values = dict.fromkeys(parameters, 8)
    calls = []
    original = grids.track_grid
    monkeypatch.setattr(grids, "track_grid", lambda c: calls.append(c) or original(c))
    Obligation(theorem, parameters, values)
    assert calls, "the proved formula has to come from calling the rule"
