"""One-line mutations of the released 0.5.23 wheel, and for each the emitted test that turns red on it.

A mutant is a line of an engine function, what is put in its place, and one run of an emitted test that passes on the
wheel as it is. The line is looked up in the installed wheel: one that is not there any more is an error.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

RELEASE = "0.5.23"  # the release whose lines these are

BATCH = "managers.schedule_batch"
RESULTS = "managers.scheduler_components.batch_result_processor"
COMPONENT = "mem_cache.unified_cache.components.mamba"
POOL = "mem_cache.memory_pool"
COMMIT = "speculative.spec_utils"
BACKEND = "layers.attention.hybrid_linear_attn_backend"
ROWS = "layers.attention.mamba.prefill_track_metadata"
SCHEDULER = "managers.scheduler"


@dataclass(frozen=True)
class Mutant:
    """What goes wrong, where (a module below `sglang.srt` and a function in it), the text, and what it becomes.

    `noticed_by`: one run of an emitted test, as `FILE::TEST[ID]`, that passes without the mutation and fails with it.
    """

    name: str
    module: str
    function: str
    old: str
    new: str
    noticed_by: str = ""


MUTANTS = (
    # managers/schedule_batch.py: extend
    Mutant(
        "an extend needs one token more than a checkpoint",
        BATCH,
        "ScheduleBatch._mamba_radix_cache_v2_req_prepare_for_extend",
        "mask = req.extend_len >= checkpoint_grid",
        "mask = req.extend_len > checkpoint_grid",
        "test_extend.py::test_a_follower_of_a_prefill_resumes_where_its_state_stopped"
        "[page64-dcp1-interval256-chunk64-from0-to64]",
    ),
    Mutant(
        "an extend counts its depth without its prefix",
        BATCH,
        "ScheduleBatch._mamba_radix_cache_v2_req_prepare_for_extend",
        "prefix_len + (req.extend_len // checkpoint_grid) * checkpoint_grid",
        "(req.extend_len // checkpoint_grid) * checkpoint_grid",
        "test_extend.py::test_an_extend_donates_a_depth_the_tree_can_name"
        "[page1-dcp1-interval256-chunk64-from1-to128]",
    ),
    Mutant(
        "an extend under dcp donates a depth without a row",
        BATCH,
        "ScheduleBatch._mamba_radix_cache_v2_req_prepare_for_extend",
        "and (mamba_track_seqlen_aligned - prefix_len) % cache_chunk_size == 0",
        "and cache_chunk_size > 0",
        "test_extend.py::test_an_extend_donates_a_depth_the_tree_can_name"
        "[page64-dcp8-interval256-chunk64-from1-to513]",
    ),
    Mutant(
        "an extend reads the last state for an earlier one",
        BATCH,
        "ScheduleBatch._mamba_radix_cache_v2_req_prepare_for_extend",
        "return i + 1",
        "return i",
        "test_extend.py::test_an_extend_donates_a_depth_the_tree_can_name"
        "[page64-dcp8-interval256-chunk64-from64-to576]",
    ),
    Mutant(
        "an eager prompt leaves its slot to the first step",
        BATCH,
        "ScheduleBatch._mamba_radix_cache_v2_req_prepare_for_extend",
        "if not get_exec().mamba.enable_mamba_extra_buffer_lazy:",
        "if get_exec().mamba.enable_mamba_extra_buffer_lazy:",
        "test_slots.py::test_a_follower_of_any_order_of_results_resumes_where_its_state_stopped"
        "[page64-dcp1-interval256-chunk64-extra-buffer-prompt255-stop257-nothing-ahead-of256]",
    ),
    Mutant(
        "a branching extend keeps the ordinary label",
        BATCH,
        "ScheduleBatch._mamba_radix_cache_v2_req_prepare_for_extend",
        "mamba_track_seqlen_aligned = req.mamba_branching_seqlen",
        "pass",
        "test_branches.py::test_a_branching_extend_donates_the_state_of_its_branching_point"
        "[page16-dcp1-interval256-chunk64-from0-to130-branch64]",
    ),
    Mutant(
        "a branching extend reads the ordinary row",
        BATCH,
        "ScheduleBatch._mamba_radix_cache_v2_req_prepare_for_extend",
        "mamba_track_seqlen = _force_track_h(req.mamba_branching_seqlen)",
        "_force_track_h(req.mamba_branching_seqlen)",
        "test_branches.py::test_a_branching_extend_donates_the_state_of_its_branching_point"
        "[page16-dcp1-interval256-chunk64-from0-to130-branch64]",
    ),
    Mutant(
        "an extend branches at a depth that no row is kept for",
        BATCH,
        "ScheduleBatch._mamba_radix_cache_v2_req_prepare_for_extend",
        "and branching_seqlen_aligned_mask\n",
        "and cache_chunk_size > 0\n",
        "test_branches.py::test_a_branching_extend_donates_the_state_of_its_branching_point"
        "[page16-dcp1-interval256-chunk64-from0-to130-branch80]",
    ),
    Mutant(
        "a new request's own slot is not cleared",
        BATCH,
        "ScheduleBatch._collect_deferred_mamba_cow_and_clear",
        "elif req.kv.mamba_needs_clear:",
        "elif False:",
        "test_orders.py::test_a_follower_is_served_the_state_of_its_own_prefix"
        "[page64-dcp1-interval64-chunk64-extra-buffer-prompt63-stop127-other-prefill-after64]",
    ),
    Mutant(
        "a state is copied to another request's slot",
        BATCH,
        "ScheduleBatch._collect_deferred_mamba_cow_and_clear",
        "cow_dst_tensors.append(req.kv.mamba_pool_idx.unsqueeze(0))",
        "cow_dst_tensors.append(reqs[-1].kv.mamba_pool_idx.unsqueeze(0))",
        "test_twins.py::test_two_requests_that_come_together_each_get_the_state_of_their_prefix"
        "[page64-dcp1-interval256-chunk64-extra-buffer-prompt64-stop256]",
    ),
    # managers/schedule_batch.py: mixed batches
    Mutant(
        "the rows of a mixed batch are reversed",
        BATCH,
        "ScheduleBatch.mix_with_running",
        "self.mamba_track_indices = torch.cat([indices, untracked])",
        "self.mamba_track_indices = torch.cat([untracked, indices])",
        "test_mixed.py::test_a_prompt_in_a_mixed_batch_leaves_the_state_of_its_own_prefix"
        "[page64-dcp1-interval256-chunk64-extra-buffer-lazy-prompt8-at257-stop512-other64]",
    ),
    Mutant(
        "the mask of a mixed batch is reversed",
        BATCH,
        "ScheduleBatch.mix_with_running",
        "self.mamba_track_mask = torch.cat([mask, untracked >= 0])",
        "self.mamba_track_mask = torch.cat([untracked >= 0, mask])",
        "test_mixed.py::test_a_prompt_in_a_mixed_batch_leaves_the_state_of_its_own_prefix"
        "[page64-dcp1-interval256-chunk64-extra-buffer-lazy-prompt8-at257-stop512-other64]",
    ),
    Mutant(
        "a mixed lazy boundary keeps the slot it did not write",
        BATCH,
        "ScheduleBatch.mix_with_running",
        "running_batch.mamba_lazy_undo_prealloc_at_boundary()",
        "pass",
        "test_mixed.py::test_a_request_holds_no_second_slot_for_a_boundary_that_it_did_not_write"
        "[page64-dcp1-interval64-chunk64-extra-buffer-lazy-prompt8-at128-stop192-other10]",
    ),
    Mutant(
        "the undo of a mixed lazy boundary leaves the freed slot to be written next",
        BATCH,
        "ScheduleBatch.mamba_lazy_undo_prealloc_at_boundary",
        "req.kv.mamba_next_track_idx = 1 - next_idx",
        "pass",
        "test_mixed.py::test_a_request_one_of_whose_steps_is_mixed_leaves_the_state_of_its_own_prefix"
        "[page64-dcp1-interval64-chunk64-extra-buffer-lazy-prompt8-at128-stop192-other10]",
    ),
    Mutant(
        "the undo of a mixed lazy boundary is not remembered",
        BATCH,
        "ScheduleBatch.mamba_lazy_undo_prealloc_at_boundary",
        "req.kv.mamba_untracked_decode_batch_idx = req.decode_batch_idx",
        "pass",
        "test_mixed.py::test_a_request_one_of_whose_steps_is_mixed_leaves_the_state_of_its_own_prefix"
        "[page64-dcp1-interval256-chunk64-extra-buffer-lazy-prompt8-at512-stop511-other64]",
    ),
    # managers/schedule_batch.py: decode
    Mutant(
        "a step snapshots one token late",
        BATCH,
        "ScheduleBatch.prepare_for_decode",
        "track_mask_cpu = track_remainders_cpu == 0",
        "track_mask_cpu = track_remainders_cpu == 1",
        "test_decode.py::test_decode_snapshots_are_depths_the_tree_can_name"
        "[page128-dcp1-interval128-chunk64-to128]",
    ),
    Mutant(
        "the mask of the step ahead is one step early",
        BATCH,
        "ScheduleBatch.prepare_for_decode",
        "(track_remainders_cpu == mamba_track_interval - 1).tolist()",
        "(track_remainders_cpu == mamba_track_interval - 2).tolist()",
        "test_decode.py::test_the_mask_of_the_step_ahead_is_the_mask_of_the_next_step"
        "[page128-dcp1-interval128-chunk64-to128]",
    ),
    Mutant(
        "a lazy boundary writes into the slot that is kept",
        BATCH,
        "ScheduleBatch.mamba_lazy_prealloc_at_boundary",
        "req.kv.mamba_next_track_idx = other_idx",
        "pass",
        "test_slots.py::test_a_follower_of_any_order_of_results_resumes_where_its_state_stopped"
        "[page64-dcp1-interval256-chunk64-extra-buffer-lazy-prompt255-stop511-nothing-ahead-of511-no-slot-at512]",
    ),
    Mutant(
        "a failed lazy allocation keeps the label",
        BATCH,
        "ScheduleBatch.mamba_lazy_prealloc_at_boundary",
        "req.kv.mamba_last_track_seqlen = None",
        "pass",
        "test_slots.py::test_a_follower_of_any_order_of_results_resumes_where_its_state_stopped"
        "[page64-dcp1-interval64-chunk64-extra-buffer-lazy-prompt127-stop129-no-slot-at128]",
    ),
    Mutant(
        "a failed lazy allocation under speculation keeps the label",
        BATCH,
        "ScheduleBatch.mamba_lazy_spec_prepare",
        "req.kv.mamba_last_track_seqlen = None",
        "pass",
        "test_failures.py::test_a_verify_without_a_second_slot_leaves_no_state_of_another_depth"
        "[page1-dcp1-interval8-chunk4-extra-buffer-lazy-draft4-prompt7-accept4-1-4-1-grammar3-no-slot-for2]",
    ),
    Mutant(
        "a lazy verify is planned for the slot that is kept",
        BATCH,
        "ScheduleBatch.mamba_lazy_spec_prepare",
        "other_idx if has_pending else req.kv.mamba_next_track_idx",
        "req.kv.mamba_next_track_idx",
        "test_verifies.py::test_a_follower_of_verifies_resumes_where_its_state_stopped"
        "[page1-dcp1-interval8-chunk4-extra-buffer-lazy-draft4-prompt6-accept2-4-4-grammar1]",
    ),
    Mutant(
        "a lazy verify looks one verify ahead and not two",
        BATCH,
        "mamba_lazy_spec_in_window",
        "window = 2 * max_draft_tokens",
        "window = max_draft_tokens",
        "test_verifies.py::test_a_follower_of_verifies_resumes_where_its_state_stopped"
        "[page1-dcp1-interval8-chunk4-extra-buffer-lazy-draft4-prompt6-accept2-4-4-grammar1]",
    ),
    Mutant(
        "rows of requests that are gone are still written",
        BATCH,
        "set_mamba_track_indices_from_reqs",
        "batch.mamba_track_indices[freed_rows] = -1",
        "pass",
        "test_late.py::test_a_verify_launched_after_its_request_ended_overwrites_no_state"
        "[page64-dcp1-interval64-chunk64-extra-buffer-draft40-prompt60-accept40-1-40-grammar1]",
    ),
    # managers/scheduler_components/batch_result_processor.py
    Mutant(
        "a result labels the length that was launched",
        RESULTS,
        "SchedulerBatchResultProcessor._handle_finish_state_updated_req",
        "req.kv.mamba_last_track_seqlen = req.kv.kv_committed_len - lookahead",
        "req.kv.mamba_last_track_seqlen = req.kv.kv_committed_len",
        "test_results.py::test_a_boundary_labels_the_slot_it_wrote_with_its_own_length"
        "[page64-dcp1-interval64-chunk64-at128-ahead0-then1]",
    ),
    Mutant(
        "a verify's result forgets the label before",
        RESULTS,
        "SchedulerBatchResultProcessor._mamba_prefix_cache_update",
        "req.kv.mamba_prev_track_seqlen = previous_track_seqlen",
        "req.kv.mamba_prev_track_seqlen = None",
        "test_verifies.py::test_a_follower_of_verifies_resumes_where_its_state_stopped"
        "[page64-dcp1-interval256-chunk64-extra-buffer-draft4-prompt253-full63-accept4-4-4-stop1]",
    ),
    Mutant(
        "a mixed step is taken for one that overwrites",
        RESULTS,
        "SchedulerBatchResultProcessor._handle_finish_state_updated_req",
        "and req.kv.mamba_untracked_decode_batch_idx != req.decode_batch_idx",
        "and lookahead == 1",
        "test_mixed.py::test_a_request_one_of_whose_steps_is_mixed_leaves_the_state_of_its_own_prefix"
        "[page64-dcp1-interval256-chunk64-extra-buffer-lazy-prompt8-at512-stop511-other64]",
    ),
    Mutant(
        "a boundary swaps no slots",
        RESULTS,
        "SchedulerBatchResultProcessor._mamba_prefix_cache_update",
        "batch.req_to_token_pool.get_mamba_ping_pong_other_idx(track_idx)",
        "track_idx",
        "test_results.py::test_a_boundary_swaps_the_slots_exactly_once"
        "[page128-dcp1-interval128-chunk64-at128-ahead0-then0]",
    ),
    Mutant(
        "a lazy verify's slot is donated though it was overwritten",
        RESULTS,
        "SchedulerBatchResultProcessor._mamba_lazy_spec_update",
        "req.mamba_lazy_checkpoint = False",
        "pass",
        "test_verifies.py::test_a_follower_of_verifies_resumes_where_its_state_stopped"
        "[page1-dcp1-interval8-chunk8-extra-buffer-lazy-draft6-prompt7-accept6-5-6-grammar5]",
    ),
    Mutant(
        "the slot of a lazy verify is not promoted",
        RESULTS,
        "SchedulerBatchResultProcessor._mamba_lazy_spec_update",
        "req.kv.mamba_next_track_idx = planned_pos",
        "pass",
        "test_verifies.py::test_a_follower_of_verifies_resumes_where_its_state_stopped"
        "[page1-dcp1-interval8-chunk8-extra-buffer-lazy-draft6-prompt7-accept6-5-6-grammar5]",
    ),
    Mutant(
        "a lazy verify labels nothing",
        RESULTS,
        "SchedulerBatchResultProcessor._mamba_lazy_spec_update",
        "req.kv.mamba_last_track_seqlen = track_seqlen",
        "pass",
        "test_verifies.py::test_a_follower_of_verifies_resumes_where_its_state_stopped"
        "[page64-dcp1-interval256-chunk64-extra-buffer-lazy-draft4-prompt253-full10-accept4-4-4-stop4]",
    ),
    Mutant(
        "a verify counts what a grammar dropped",
        RESULTS,
        "SchedulerBatchResultProcessor._mamba_check_track_boundary",
        "num_committed = max(len(retained[i]) - (num_non_draft - 1), 0)",
        "num_committed = result.num_correct_drafts_per_req_cpu[i] + 1",
        "test_verifies.py::test_a_follower_of_verifies_resumes_where_its_state_stopped"
        "[page64-dcp1-interval64-chunk64-extra-buffer-draft40-prompt64-accept2-1-grammar1]",
    ),
    Mutant(
        "a verify labels its own end",
        RESULTS,
        "SchedulerBatchResultProcessor._mamba_check_track_boundary",
        "return True, cur // interval * interval",
        "return True, cur",
        "test_failures.py::test_a_verify_without_a_second_slot_leaves_no_state_of_another_depth"
        "[page1-dcp1-interval8-chunk8-extra-buffer-lazy-draft6-prompt6-accept6-6-6-stop4-no-slot-for0]",
    ),
    Mutant(
        "a lazy boundary keeps the slot that it frees",
        RESULTS,
        "SchedulerBatchResultProcessor.mamba_lazy_post_decode_at_boundary",
        "req.kv.mamba_last_track_idx = track_idx",
        "req.kv.mamba_last_track_idx = 1 - track_idx",
        "test_slots.py::test_a_follower_of_any_order_of_results_resumes_where_its_state_stopped"
        "[page64-dcp1-interval64-chunk64-extra-buffer-lazy-prompt127-stop129-no-slot-at128]",
    ),
    Mutant(
        "a lazy boundary does not free the slot before",
        RESULTS,
        "SchedulerBatchResultProcessor.mamba_lazy_post_decode_at_boundary",
        "if not req.kv.mamba_ping_pong_empty[other_idx]:",
        "if False:",
        "test_orders.py::test_a_follower_is_served_the_state_of_its_own_prefix"
        "[page64-dcp1-interval64-chunk64-extra-buffer-lazy-prompt63-stop127-other-prefill-after64]",
    ),
    # mem_cache/unified_cache/components/mamba.py
    Mutant(
        "an eviction leaves the state",
        COMPONENT,
        "MambaComponent.evict_component",
        "            cd.value = None\n\n        # Host layer",
        "            pass\n\n        # Host layer",
        "test_evictions.py::test_after_an_eviction_a_request_resumes_from_a_state_that_is_still_kept"
        "[page64-dcp1-interval256-chunk64-python-key64-first64-shared64-second128-again0-states2-follower64]",
    ),
    Mutant(
        "a split gives the upper node the state of the lower",
        COMPONENT,
        "MambaComponent.redistribute_on_node_split",
        "new_parent.component_data[ct].value = None",
        "new_parent.component_data[ct].value = child.component_data[ct].value",
        "test_tree.py::test_a_follower_is_given_the_state_of_its_own_prefix"
        "[page16-dcp3-interval256-chunk64-python-key_length300-donated192-follower100]",
    ),
    Mutant(
        "a second donation replaces the first",
        COMPONENT,
        "MambaComponent.commit_insert_component_data",
        "if node.component_data[self.component_type].value is None:",
        "if True:",
        "test_ownership.py::test_a_node_keeps_the_state_of_its_first_donor_and_no_slot_is_lost"
        "[page16-dcp3-interval256-chunk64-python-key100-first96-previous0-shared96-second96-follower32]",
    ),
    Mutant(
        "a node without a state is given",
        COMPONENT,
        "MambaComponent.create_match_validator",
        "return lambda node: node.component_data[ct].value is not None",
        "return lambda node: True",
        "test_tree.py::test_a_follower_is_given_the_state_of_its_own_prefix"
        "[page16-dcp3-interval256-chunk64-python-key_length300-donated192-follower100]",
    ),
    Mutant(
        "the depth of a branch is not rounded",
        COMPONENT,
        "MambaComponent.finalize_match_result_in_tree_core",
        "aligned_seqlen if aligned_seqlen > mamba_boundary_len else None",
        "result.full_kv_hit_length if aligned_seqlen > mamba_boundary_len else None",
        "test_branches.py::test_a_request_that_leaves_a_path_leaves_its_state_where_it_left"
        "[page16-dcp1-interval256-chunk64-python-first130-shared80-to130]",
    ),
    Mutant(
        "a request is told to branch where it already is",
        COMPONENT,
        "MambaComponent.finalize_match_result_in_tree_core",
        "aligned_seqlen if aligned_seqlen > mamba_boundary_len else None",
        "aligned_seqlen if aligned_seqlen >= mamba_boundary_len else None",
        "test_tree.py::test_a_follower_is_told_to_branch_at_a_depth_that_a_node_can_have"
        "[page16-dcp3-interval256-chunk64-python-key_length64-donated100-follower50]",
    ),
    Mutant(
        "a match copies no state",
        COMPONENT,
        "MambaComponent.finalize_match_result_in_cache",
        "req.kv.mamba_cow_src_index = src_index",
        "pass",
        "test_decode.py::test_a_follower_of_a_decode_resumes_where_its_state_stopped"
        "[page128-dcp1-interval128-chunk64-to128]",
    ),
    Mutant(
        "a fall-back donates the newest slot",
        COMPONENT,
        "MambaComponent._select_finished_checkpoint",
        "return previous_cache_len, pool.get_mamba_ping_pong_other_idx(keep_idx)",
        "return previous_cache_len, keep_idx",
        "test_ownership.py::test_a_node_keeps_the_state_of_its_first_donor_and_no_slot_is_lost"
        "[page64-dcp1-interval256-chunk64-rust-key64-first128-previous64-shared0-second64-follower64]",
    ),
    Mutant(
        "a fall-back passes the key as well",
        COMPONENT,
        "MambaComponent._select_finished_checkpoint",
        "or previous_cache_len > token_ids_len",
        "or previous_cache_len > cache_len",
        "test_tree.py::test_a_follower_is_given_the_state_of_its_own_prefix"
        "[page16-dcp3-interval256-chunk64-rust-key_length64-donated192-previous96-follower50]",
    ),
    Mutant(
        "a label at the end of the key is not donated",
        COMPONENT,
        "MambaComponent._select_finished_checkpoint",
        "if cache_len <= token_ids_len:",
        "if cache_len < token_ids_len:",
        "test_decode.py::test_a_follower_of_a_decode_resumes_where_its_state_stopped"
        "[page128-dcp1-interval128-chunk64-to128]",
    ),
    Mutant(
        "the slot that a finished request donates is freed",
        COMPONENT,
        "MambaComponent.cleanup_after_caching_req",
        "keep_idx = prepared_keep_idx if mamba_value_inserted else None",
        "keep_idx = None",
        "test_evictions.py::test_after_an_eviction_a_request_resumes_from_a_state_that_is_still_kept"
        "[page16-dcp3-interval256-chunk64-rust-key192-first192-shared0-second96-again0-states1-follower96]",
    ),
    Mutant(
        "a slot that was not inserted is kept",
        COMPONENT,
        "MambaComponent.cleanup_after_caching_req",
        "keep_idx = prepared_keep_idx if mamba_value_inserted else None",
        "keep_idx = prepared_keep_idx",
        "test_ownership.py::test_a_node_keeps_the_state_of_its_first_donor_and_no_slot_is_lost"
        "[page16-dcp3-interval256-chunk64-rust-key100-first96-previous0-shared96-second96-follower32]",
    ),
    # mem_cache/memory_pool.py
    Mutant(
        "the device keeps the slot that was donated",
        POOL,
        "HybridReqToTokenPool.set_mamba_ping_pong_slot",
        "self.req_index_to_mamba_ping_pong_track_buffer_mapping[req.kv.req_pool_idx] = (",
        "req.kv.mamba_ping_pong_track_buffer = (",
        "test_slots.py::test_a_follower_of_any_order_of_results_resumes_where_its_state_stopped"
        "[page64-dcp1-interval256-chunk64-extra-buffer-lazy-prompt64-stop255-no-slot-at256]",
    ),
    Mutant(
        "a request goes on writing into the slot that it donated",
        POOL,
        "HybridReqToTokenPool.donate_mamba_ping_pong_slot",
        "self.set_mamba_ping_pong_slot(req, donate_idx, new_slot[0])",
        "pass",
        "test_slots.py::test_a_follower_of_any_order_of_results_resumes_where_its_state_stopped"
        "[page64-dcp1-interval256-chunk64-extra-buffer-lazy-prompt64-stop255-no-slot-at256]",
    ),
    Mutant(
        "a request donates the slot that it writes next",
        POOL,
        "HybridReqToTokenPool.get_mamba_ping_pong_keep_idx",
        "return req.kv.mamba_last_track_idx",
        "return req.kv.mamba_next_track_idx",
        "test_decode.py::test_a_follower_of_a_decode_resumes_where_its_state_stopped"
        "[page128-dcp1-interval128-chunk64-to128]",
    ),
    Mutant(
        "a finished request frees the slot that it donates",
        POOL,
        "HybridReqToTokenPool.free_mamba_cache",
        "positions = [p for p in range(size) if p != keep and not empty[p]]",
        "positions = [p for p in range(size) if not empty[p]]",
        "test_evictions.py::test_after_an_eviction_a_request_resumes_from_a_state_that_is_still_kept"
        "[page16-dcp3-interval256-chunk64-rust-key192-first192-shared0-second96-again0-states1-follower96]",
    ),
    Mutant(
        "a finished request frees none of its slots",
        POOL,
        "HybridReqToTokenPool.free_mamba_cache",
        "positions = [p for p in range(size) if p != keep and not empty[p]]",
        "positions = []",
        "test_ownership.py::test_a_node_keeps_the_state_of_its_first_donor_and_no_slot_is_lost"
        "[page64-dcp1-interval256-chunk64-rust-key64-first128-previous0-shared0-second64-follower32]",
    ),
    # speculative/spec_utils.py
    Mutant(
        "a verify saves the state one step late",
        COMMIT,
        "_verify_commit_step_indices",
        "to_track_ith = torch.clamp(tracking_point - seq_lens_pre_verify - 1, min=0).to(",
        "to_track_ith = torch.clamp(tracking_point - seq_lens_pre_verify, min=0).to(",
        "test_verifies.py::test_a_follower_of_verifies_resumes_where_its_state_stopped"
        "[page64-dcp1-interval64-chunk64-extra-buffer-draft16-prompt60-accept4-2-1-stop1]",
    ),
    Mutant(
        "a verify does not take a request's row of accepted tokens",
        COMMIT,
        "_verify_commit_step_indices",
        "candidate_track_steps = accept_index[req_idx, to_track_ith] - accept_indices_offset",
        "candidate_track_steps = accept_index[req_idx, to_track_ith]",
        "test_pairs.py::test_a_verify_of_two_requests_saves_the_state_of_each"
        "[page64-dcp1-interval256-chunk64-from255-accept1-then-from255-accept1]",
    ),
    Mutant(
        "a verify saves every state",
        COMMIT,
        "_verify_commit_step_indices",
        "!= seq_lens_post_verify // mamba_track_interval",
        "!= seq_lens_post_verify",
        "test_verify.py::test_a_verify_saves_the_state_of_a_depth_the_tree_can_name"
        "[page2-dcp3-interval8-chunk1-from0-accept8]",
    ),
    # layers/attention
    Mutant(
        "rows of intermediate states ignore the requests before",
        ROWS,
        "build_prefill_track_plan",
        "h_offsets[row] + chunk",
        "chunk",
        "test_batches.py::test_each_extend_of_a_batch_donates_its_own_state_and_window"
        "[page128-dcp2-interval256-chunk64-from0-to10-then-from0-to320]",
    ),
    Mutant(
        "rows of intermediate states are counted by whole chunks",
        ROWS,
        "build_prefill_track_plan",
        "((n + chunk_size - 1) // chunk_size for n in extend_lens)",
        "(n // chunk_size for n in extend_lens)",
        "test_batches.py::test_each_extend_of_a_batch_donates_its_own_state_and_window"
        "[page128-dcp2-interval256-chunk64-from0-to10-then-from0-to320]",
    ),
    Mutant(
        "a state is read from another request's row",
        ROWS,
        "build_prefill_track_plan",
        "length = track_lens[row] - prefix_lens[row]",
        "length = track_lens[row] - prefix_lens[0]",
        "test_batches.py::test_each_extend_of_a_batch_donates_its_own_state_and_window"
        "[page128-dcp1-interval256-chunk64-from64-to300-then-from0-to320]",
    ),
    Mutant(
        "a final state is copied to the first tracked slot",
        BACKEND,
        "MambaAttnBackendBase._init_track_ssm_indices_from_cpu",
        "destinations.index_select(0, final_rows),",
        "destinations.index_select(0, final_rows * 0),",
        "test_batches.py::test_each_extend_of_a_batch_donates_its_own_state_and_window"
        "[page16-dcp1-interval256-chunk64-from0-to130-then-from0-to128]",
    ),
    Mutant(
        "the window of an extend ends one token early",
        BACKEND,
        "MambaAttnBackendBase._init_track_conv_indices",
        "start_indices = query_start_loc[:-1] + aligned_len - conv_state_len",
        "start_indices = query_start_loc[:-1] + aligned_len - conv_state_len - 1",
        "test_batches.py::test_each_extend_of_a_batch_donates_its_own_state_and_window"
        "[page16-dcp1-interval256-chunk64-from0-to64-then-from0-to50]",
    ),
    Mutant(
        "the window of an extend ignores the requests before",
        BACKEND,
        "MambaAttnBackendBase._init_track_conv_indices",
        "start_indices = query_start_loc[:-1] + aligned_len - conv_state_len",
        "start_indices = aligned_len - conv_state_len",
        "test_batches.py::test_each_extend_of_a_batch_donates_its_own_state_and_window"
        "[page16-dcp1-interval256-chunk64-from0-to130-then-from0-to128]",
    ),
    # managers/scheduler.py: what a prefill chunk must hold
    Mutant(
        "a prefill chunk in which no prompt can be cut is accepted",
        SCHEDULER,
        "Scheduler.check_truncation_align_fits_chunk",
        "if align is None or chunk is None or chunk >= align:",
        "if align is None or chunk is None or chunk > 0:",
        "test_guards.py::test_a_prefill_chunk_is_refused_in_which_no_prompt_can_be_cut"
        "[page16-dcp2-interval256-chunk64-extra-buffer-lazy-gdn-tp8-prefill32]",
    ),
    Mutant(
        "a prefill chunk of one cache chunk is refused",
        SCHEDULER,
        "Scheduler.check_truncation_align_fits_chunk",
        "if align is None or chunk is None or chunk >= align:",
        "if align is None or chunk is None or chunk > align:",
        "test_guards.py::test_a_prefill_chunk_is_refused_in_which_no_prompt_can_be_cut"
        "[page16-dcp2-interval256-chunk64-extra-buffer-lazy-gdn-tp8-prefill64]",
    ),
)


def held(mutant: Mutant) -> FunctionType:
    """The function of the engine that a mutant changes."""
    found: Any = importlib.import_module(f"sglang.srt.{mutant.module}")
    for name in mutant.function.split("."):
        found = inspect.getattr_static(found, name)
    if isinstance(found, (staticmethod, classmethod)):
        found = found.__func__
    return inspect.unwrap(found)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def mutated_source(mutant: Mutant) -> str:
    """The text of the module with the mutant's line in place; `ValueError` where the wheel has no such line.

    The text must stand exactly once in the function.
    """
    function = held(mutant)
    module = inspect.getsource(inspect.getmodule(function))
    lines, first = inspect.getsourcelines(function)
    body = "".join(lines)
    if body.count(mutant.old) != 1:
        raise ValueError(
            f"{mutant.name}: {mutant.function} has {body.count(mutant.old)} times {mutant.old!r}"
        )
    before = "".join(module.splitlines(keepends=True)[: first - 1])
    behind = module[len(before) + len(body) :]
    return before + body.replace(mutant.old, mutant.new) + behind


@contextmanager
def applied(mutant: Mutant) -> Iterator[None]:
    """The engine with this mutation, wherever the function was imported to."""
    function = held(mutant)
    source = mutated_source(mutant)
    tree = ast.parse(source)
    module = compile(tree, function.__code__.co_filename, "exec", dont_inherit=True)
    (code,) = (c for c in _codes(module) if c.co_qualname == function.__code__.co_qualname)
    kept = function.__code__
    function.__code__ = code
    try:
        yield
    finally:
        function.__code__ = kept
