"""SGLang's finding codes: one entry a code, and of a common code what SGLang adds to it."""

from __future__ import annotations

from dataclasses import replace

from generators.cases import codes as common
from generators.cases.codes import Code, Example, KnownFault
from generators.sglang.check import conditions, fixes, impact, notes
from spec.sglang.fault_frequency import Traffic

_SERVE = "sglang serve --model-path Qwen/Qwen3-Next-80B-A3B-Instruct"
_LAZY = f"{_SERVE} --mamba-radix-cache-strategy extra_buffer_lazy"
_EAGLE = f"{_SERVE} --page-size 64 --speculative-algorithm EAGLE --speculative-num-draft-tokens"
_DRAFTS = f"{_EAGLE} 4"
_LONG_DRAFTS = f"{_EAGLE} 40 --mamba-track-interval 64"
_WIDE = f"{_SERVE} --tp-size 8 --dcp-size 8 --page-size 64"
_WHOLE = "--chunked-prefill-size -1"
_GRID = ("mamba_track_interval", "dcp_size", "page_size")
_CUTS = ("chunked_prefill_size", "page_size", "dcp_size")
_UNBUFFERED = "With no_buffer this was read in the engine, not run: the code that does it does not ask for the strategy"
_TRAFFIC = Traffic(grid=256, mean_steps=600, nothing_ahead=0.15)

_WHOLE_INTERVAL = "set an interval that is a multiple of the tree page (fewer decode checkpoints), or use a release from 0.5.19 on"
_FROM_22_OR_LAZY = (
    "use a release from 0.5.22 on; before it --mamba-radix-cache-strategy extra_buffer_lazy keeps the labels right, but "
    "no flags keep the slots right as well while a verify has more than one token (GP401)"
)
# What is seen of a wrong state, what it is no sign of, and what to do about those that are cached: of every finding of one.
_SILENT = (
    "nothing is logged and no request fails: an answer to a prompt whose beginning is cached is that to a slightly "
    "different text, as if some of its tokens were missing or stood there twice; the same prompt sent to an empty cache "
    "is answered rightly"
)
_NO_SIGN = (
    "cache misses and low hit rates, a server that stops, NaN, wrong output for prompts of which nothing was cached, or "
    "output that differs from run to run within rounding: look for another cause of those"
)
_CACHED = (
    "wrong states stay in the cache until they are evicted, and more requests inherit one than are handed it, as a request "
    "that resumes from it caches states that follow from it: flush the cache (POST /flush_cache, which an idle server "
    "accepts) or restart the server once the launch is mended, and with a storage backend clear that as well "
    "(POST /hicache/storage-backend/clear)"
)


def _example(release: str, launch: str, instead: str) -> Example:
    return Example(f"sglang=={release}", launch, instead)


def _pulls(*numbers: int) -> tuple[str, ...]:
    return tuple(f"https://github.com/sgl-project/sglang/pull/{number}" for number in numbers)


REJECTED = replace(
    common.REJECTED,
    example=_example(
        "0.5.23",
        f"{_SERVE} --page-size 64 --mamba-track-interval 100",
        f"{_SERVE} --page-size 64 --mamba-track-interval 128",
    ),
    about=("mamba_track_interval", "page_size", "dcp_size", "chunked_prefill_size"),
    fixes=fixes.that_start,
)
INERT = replace(
    common.INERT,
    remedy="choose a tree page (page_size times dcp_size) within the context",
    example=_example(
        "0.5.23",
        f"{_SERVE} --tp-size 8 --dcp-size 8 --page-size 8192 --mamba-track-interval 8192 {_WHOLE}",
        f"{_SERVE} --tp-size 8 --dcp-size 8 --page-size 64 {_WHOLE}",
    ),
    about=("page_size", "dcp_size", "context_length"),
    fixes=fixes.pages,
)
NOT_MODELLED = replace(
    common.NOT_MODELLED,
    example=_example("0.5.23", f"{_SERVE} --disable-radix-cache", _SERVE),
    about=(
        "disable_radix_cache",
        "config_file",
        "disaggregation_mode",
        "mamba_radix_cache_strategy",
    ),
)
ASSUMED = replace(
    common.ASSUMED,
    example=_example(
        "0.5.23",
        "sglang serve --model-path some/model --mamba-track-interval 128",
        f"{_SERVE} --mamba-track-interval 128",
    ),
    about=("model_path",),
)
ROUNDED_UP = Code(
    "GP004",
    "interval-rounded-up",
    "decode checkpoints are further apart than the interval that was asked for",
    severity="note",
    why="Nothing is wrong; a cache hit may compute more of its prefix again than the interval suggests.",
    remedy="set an interval that is a multiple of the checkpoint grid, the least common multiple of cache chunk and tree page",
    example=_example(
        "0.5.23",
        f"{_SERVE} --mamba-track-interval 16",
        f"{_SERVE} --mamba-track-interval 64",
    ),
    upstream=_pulls(35412),
    theorem="every_track_depth_is_a_multiple_of_all_three_grids",
    about=_GRID,
    noted=notes.interval_rounded_up,
)
CANNOT_START = Code(
    "GP005",
    "cannot-start",
    "the server does not start: the strategy for recurrent states does not go with the page, DCP or the overlap scheduler",
    why="The server stops, in some cases only when it sizes the pool, after it has loaded the weights.",
    remedy="use the strategy extra_buffer, or no_buffer with a tree page of one token and the overlap scheduler off",
    example=_example(
        "0.5.23",
        f"{_SERVE} --mamba-radix-cache-strategy no_buffer --tp-size 8 --dcp-size 8",
        f"{_SERVE} --tp-size 8 --dcp-size 8",
    ),
    upstream=_pulls(34760),
    about=("mamba_radix_cache_strategy", "disable_overlap_schedule", "dcp_size", "page_size"),
    guards=(
        *("no_buffer_has_page_one", "no_buffer_has_no_overlap"),
        *("lazy_has_overlap", "lazy_is_not_dflash"),
    ),
    fixes=fixes.that_start,
)
REFUSED_THOUGH_VALID = replace(
    common.REFUSED_THOUGH_VALID,
    why="Since 0.5.19 the engine rounds the interval up itself. Any multiple of the page passes the guard and behaves "
    "the same.",
    remedy="round the flag up to a multiple of the page (nothing else changes)",
    example=_example(
        "0.5.23",
        f"{_SERVE} --page-size 64 --mamba-track-interval 100 {_WHOLE}",
        f"{_SERVE} --page-size 64 --mamba-track-interval 128 {_WHOLE}",
    ),
    upstream=_pulls(35412),
    about=_GRID,
    guards=("interval_is_whole_pages", "prefill_chunks_are_whole_pages"),
    noted=notes.refused_though_valid,
)
PREFILL_BELOW_GRID = Code(
    "GP007",
    "prefill-below-grid",
    "a prompt may leave no checkpoint: its prefill chunks are smaller than the checkpoint grid",
    severity="note",
    why="A later request with the same prompt computes it again from the last checkpoint before it, or from the start.",
    remedy="set a prefill chunk of at least the checkpoint grid",
    example=_example(
        "0.5.23",
        f"{_WIDE} --chunked-prefill-size 256",
        f"{_WIDE} --chunked-prefill-size 2048",
    ),
    upstream=_pulls(30938),
    about=("chunked_prefill_size",),
    noted=notes.prefill_below_grid,
)
UNRESOLVED = replace(
    common.UNRESOLVED,
    example=_example("0.5.23", f"{_SERVE} --page-size '$PAGE'", f"{_SERVE} --page-size 1"),
)
MISSPELT = replace(
    common.MISSPELT,
    example=_example(
        "0.5.23",
        f"{_SERVE} --mamba-track-intervall 64",
        f"{_SERVE} --mamba-track-interval 64",
    ),
    fixes=fixes.renamed,
)
GIVEN_TWICE = replace(
    common.GIVEN_TWICE,
    example=_example(
        "0.5.23",
        f"{_SERVE} --mamba-track-interval 64 --mamba-track-interval 128",
        f"{_SERVE} --mamba-track-interval 128",
    ),
)

DECODE_GRID = Code(
    "GP101",
    "decode-grid",
    "decode checkpoints are stored under the wrong prefix: decode takes them at lengths that have no node in the radix tree",
    why="The next request that hits the prefix runs on a state that has seen some of its tokens twice; its output is wrong "
    "and nothing reports it. Under DCP the tree's page is the page of one rank times the ranks, and up to 0.5.18 "
    "decode takes a checkpoint at every multiple of the interval all the same.",
    remedy=_WHOLE_INTERVAL,
    symptom=_SILENT,
    not_explained=_NO_SIGN,
    afterwards=_CACHED,
    example=_example(
        "0.5.18",
        f"{_WIDE} {_WHOLE}",
        f"{_WIDE} --mamba-track-interval 512 {_WHOLE}",
    ),
    upstream=_pulls(35412),
    theorem="decode_checkpoint_lands_on_a_node",
    producer="decode",
    about=_GRID,
    fixes=fixes.intervals,
    reach=impact.of_decode,
)
VERIFY_GRID = Code(
    "GP102",
    "verify-grid",
    "checkpoints of a verify are stored under the wrong prefix: it saves them at lengths that have no node in the radix tree",
    why="As for decode (GP101): the next request that hits the prefix runs on the state of another length.",
    remedy=_WHOLE_INTERVAL,
    symptom=_SILENT,
    not_explained=_NO_SIGN,
    afterwards=_CACHED,
    example=_example(
        "0.5.18",
        f"{_WIDE} --speculative-algorithm EAGLE --speculative-num-draft-tokens 4 {_WHOLE}",
        f"{_WIDE} --speculative-algorithm EAGLE --speculative-num-draft-tokens 4 --mamba-track-interval 512 {_WHOLE}",
    ),
    upstream=_pulls(35412, 37818),
    theorem="verify_checkpoint_lands_on_a_node",
    producer="verify",
    about=_GRID,
    fixes=fixes.intervals,
    reach=impact.of_verify,
)
VERIFY_STEP = Code(
    "GP103",
    "verify-step",
    "a verify saves the state of another draft step than the one at the length it records",
    why="The state that the next request resumes from is off by some draft tokens; the output of this request is right.",
    remedy="save the state after draft step depth - start - 1, as every modelled release does",
    symptom=_SILENT,
    not_explained=_NO_SIGN,
    afterwards=_CACHED,
    theorem="the_saved_verify_step_has_consumed_exactly_the_recorded_depth",
    producer="verify",
    fixes=fixes.intervals,
)
DECODE_STATE = Code(
    "GP104",
    "decode-state",
    "a decode step saves a state that has consumed more or fewer tokens than the length it records",
    why="The state that the next request resumes from lacks tokens of its prefix, or has seen some twice.",
    remedy="save the state after the step's own token, as every modelled release does",
    symptom=_SILENT,
    not_explained=_NO_SIGN,
    afterwards=_CACHED,
    theorem="decode_checkpoint_lands_on_a_node",
    producer="decode",
    fixes=fixes.intervals,
)
EXTEND_PREFIX = Code(
    "GP201",
    "extend-prefix",
    "a prompt's checkpoint is stored under too short a prefix: a piece of the prompt that starts inside a tree page "
    "counts its checkpoint grid from there",
    why="The next request that hits the prefix computes some tokens twice, and nothing reports it. Without DCP the "
    "scheduler ends every piece on the page, unless decode steps share its batch (--enable-mixed-chunk) or memory runs "
    "short between two pieces; up to 0.5.20 DCP widens the tree's page and pieces end on the page of one rank.",
    remedy="where --enable-mixed-chunk is given, leave it out (decode steps then wait for a piece of a prompt); else set a "
    "page of one token, or under DCP use a release from 0.5.21 on",
    symptom=_SILENT,
    not_explained=_NO_SIGN,
    afterwards=_CACHED,
    example=_example("0.5.23", f"{_SERVE} --page-size 64 --enable-mixed-chunk", _SERVE),
    upstream=_pulls(39115),
    theorem="an_extend_under_dcp_lands_on_a_node",
    producer="extend",
    about=("enable_mixed_chunk", *_CUTS),
    fixes=fixes.cuts,
    reach=impact.of_extends,
)
EXTEND_GRID = Code(
    "GP202",
    "extend-grid",
    "a prompt's checkpoint is stored under the wrong prefix: it is taken on a grid that the tree page does not divide",
    why="Every prompt that ends off the tree page can leave such a state; the next request that hits it computes some "
    "tokens twice.",
    remedy="use a tree page that divides the cache chunk (no DCP), or a release from 0.5.18 on",
    symptom=_SILENT,
    not_explained=_NO_SIGN,
    afterwards=_CACHED,
    example=_example("0.5.17", _WIDE, f"{_SERVE} --page-size 64 {_WHOLE}"),
    upstream=_pulls(34808),
    theorem="an_extend_under_dcp_lands_on_a_node",
    producer="extend",
    about=("dcp_size", "page_size"),
    fixes=fixes.cuts,
    reach=impact.of_extends,
)
EXTEND_ROW = Code(
    "GP203",
    "extend-row",
    "a prompt's checkpoint is an intermediate state of another length than the one it is recorded with",
    why="The state of an earlier row is stored under a longer prefix; the next request that hits it skips the tokens "
    "between.",
    remedy="set a page no larger than the model's chunk, or use a release from 0.5.19 on",
    symptom=_SILENT,
    not_explained=_NO_SIGN,
    afterwards=_CACHED,
    example=_example(
        "0.5.18",
        f"{_SERVE} --page-size 128 {_WHOLE}",
        f"{_SERVE} --page-size 64 {_WHOLE}",
    ),
    theorem="the_row_read_is_the_row_of_the_recorded_depth",
    producer="extend",
    about=("page_size",),
    fixes=fixes.cuts,
    reach=impact.of_extends,
)
EXTEND_ASSERTION = Code(
    "GP204",
    "extend-assertion",
    "the scheduler stops at an assertion when a piece of a prompt starts off the cache chunk",
    why="An assertion about an optional checkpoint takes the scheduler down, and every request with it.",
    remedy="set a page that is a multiple of the model's chunk, without --enable-mixed-chunk, so that every piece of "
    "a prompt ends on the cache chunk; or use a release from 0.5.19 on",
    symptom="the log has an AssertionError of the scheduler, and every request that runs or waits ends with the server",
    not_explained="wrong answers and cache misses of a server that runs on",
    example=_example(
        "0.5.18",
        f"{_SERVE} --tp-size 8 --dcp-size 8 --page-size 16",
        f"{_SERVE} --page-size 64",
    ),
    upstream=_pulls(36005),
    theorem="the_extend_assertion_never_fires",
    producer="extend",
    about=_CUTS,
    fixes=fixes.cuts,
)
EXTEND_CHUNK = Code(
    "GP205",
    "extend-chunk",
    "a prompt's checkpoint lacks tokens of its prefix: the model's text config and its whole config give different chunks",
    why="The engine counts the rows of states by the chunk of the text config, and decides which lengths to cache by the "
    "chunk of the whole config. With chunks of 64 and 128 a prompt of 330 tokens is cached under 320 tokens with a state "
    "that has consumed 256; the next request that hits it skips the tokens between.",
    remedy="use a config.json whose top level holds the same mamba_chunk_size as its text config, or --disable-radix-cache "
    "(nothing is reused then)",
    symptom=_SILENT,
    not_explained=_NO_SIGN,
    afterwards=_CACHED,
    example=_example(
        "0.5.23",
        "sglang serve --model-path nvidia/Nemotron-Omni",
        "sglang serve --model-path nvidia/Nemotron-H",
    ),
    producer="extend",
    about=("model_path",),
    known=(
        KnownFault(
            conditions.since("0.5.20"),
            conditions.has_a_nested_chunk,
            "Prompts that end off the text config's chunk are cached with a state of fewer tokens",
        ),
    ),
    fixes=fixes.cuts,
)
EXTEND_MIXED = Code(
    "GP206",
    "extend-mixed",
    "a slot that was never written is cached: a piece of a prompt that shares its batch with decode steps writes no "
    "checkpoint, and its slot is inserted into the radix tree all the same",
    why="The next request that hits the cache resumes from memory that nothing was written to for it; nothing reports it. "
    "It takes --enable-mixed-chunk and one request that decodes beside a prompt.",
    remedy="leave out --enable-mixed-chunk (decode steps then wait for a piece of a prompt), or use release 0.5.23",
    symptom=_SILENT,
    not_explained=_NO_SIGN,
    afterwards=_CACHED,
    example=_example("0.5.22", f"{_SERVE} --enable-mixed-chunk", _SERVE),
    producer="extend",
    about=("enable_mixed_chunk",),
    known=(
        KnownFault(
            conditions.before("0.5.23"),
            conditions.mixes,
            "A prompt of 5000 tokens beside one decoding request leaves an unwritten state under the 4928-token prefix",
        ),
    ),
    fixes=fixes.cuts,
)
FLUSH = Code(
    "GP301",
    "flush-nesting",
    "a decode checkpoint lacks its last tokens: it is taken at a step that does not flush them",
    why="The tokens that were pending when the checkpoint was taken are missing from it.",
    remedy="keep the checkpoint grid a multiple of the interval, as every modelled release does",
    symptom=_SILENT,
    not_explained=_NO_SIGN,
    afterwards=_CACHED,
    theorem="every_snapshot_step_is_a_flush_step",
    producer="flush",
    about=_GRID,
)
WINDOW_GRID = Code(
    "GP302",
    "window-grid",
    "the draft model's convolution windows are kept on the interval that was asked for, its states on another grid",
    severity="note",
    why="It costs accepted drafts, not output: the target model verifies every token.",
    remedy="set an interval that is a multiple of the checkpoint grid",
    example=_example(
        "0.5.23",
        "sglang serve --model-path thinkingmachines/Inkling-Small-NVFP4 --attention-backend fa3 --mamba-track-interval 32 "
        "--speculative-algorithm DSPARK --speculative-num-draft-tokens 8",
        "sglang serve --model-path thinkingmachines/Inkling-Small-NVFP4 --attention-backend fa3 --mamba-track-interval 64 "
        "--speculative-algorithm DSPARK --speculative-num-draft-tokens 8",
    ),
    about=_GRID,
    noted=notes.windows_on_another_grid,
)

SLOT_OVERWRITTEN = Code(
    "GP401",
    "slot-overwritten",
    "a checkpoint's slot is overwritten by a later snapshot before the checkpoint is inserted into the radix tree",
    why="The next request that hits the prefix is given the state of another length; nothing reports it. With the default "
    f"flags about 1 in {_TRAFFIC.one_in:,.0f} of the requests that pass a boundary in decode leaves such a state (an "
    f"interval of {_TRAFFIC.grid}, {_TRAFFIC.mean_steps:.0f} decode steps on average, {_TRAFFIC.nothing_ahead:.0%} of "
    "results processed with no further step launched; docs/found.md, 1, lists the other assumptions).",
    remedy="no modelled release mends it with the default flags; without speculation use --mamba-radix-cache-strategy "
    f"extra_buffer_lazy from 0.5.22 on ({fixes.LAZY_COST}), else --disable-overlap-schedule (slower decode steps); with "
    "speculation use a release from 0.5.22 on, the overlap scheduler, and an interval of at least twice the draft tokens",
    symptom=_SILENT,
    not_explained=_NO_SIGN,
    afterwards=_CACHED,
    example=_example("0.5.23", _SERVE, _LAZY),
    upstream=_pulls(29792, 33477),
    theorem="an_eager_finish_donates_the_state_of_its_label",
    producer="slots",
    about=("mamba_radix_cache_strategy",),
    fixes=fixes.slots,
)
SLOT_LABEL = Code(
    "GP402",
    "slot-label",
    "a slot is inserted under a prefix length it never held a state for",
    why="The next request that hits the prefix resumes from the state of another length, or from memory that was never "
    "written.",
    remedy=_FROM_22_OR_LAZY,
    symptom=_SILENT,
    not_explained=_NO_SIGN,
    afterwards=_CACHED,
    example=_example(
        "0.5.21", _DRAFTS, f"{_DRAFTS} --mamba-radix-cache-strategy extra_buffer_lazy"
    ),
    theorem="a_result_of_an_eager_step_keeps_the_invariant",
    producer="slots",
    about=("mamba_radix_cache_strategy", "speculative_num_draft_tokens"),
    fixes=fixes.slots,
)
KEY_OVERSHOT = Code(
    "GP403",
    "key-overshot",
    "a state is inserted under a key that is shorter than what the state has consumed",
    why="The next request that hits the key computes the tokens between its end and the state's a second time.",
    remedy=_FROM_22_OR_LAZY,
    symptom=_SILENT,
    not_explained=_NO_SIGN,
    afterwards=_CACHED,
    example=_example(
        "0.5.21",
        f"{_LONG_DRAFTS} --disable-overlap-schedule",
        f"{_LONG_DRAFTS} --mamba-radix-cache-strategy extra_buffer_lazy",
    ),
    theorem="a_finish_donates_no_state_beyond_its_key",
    producer="slots",
    about=("mamba_radix_cache_strategy", "speculative_num_draft_tokens"),
    fixes=fixes.slots,
)
NODE_DEPTH = Code(
    "GP404",
    "node-depth",
    "a state is attached to the wrong node although a node of the right length exists or could be created",
    why="The next request is given a state of another length than the prefix that it matched.",
    remedy="cut the key to the length of the state, as every modelled release does",
    symptom=_SILENT,
    not_explained=_NO_SIGN,
    afterwards=_CACHED,
    theorem="with_the_insert_guard_an_extend_is_inserted_at_its_recorded_depth",
    producer="extend",
    fixes=fixes.cuts,
)
TREE_STATE = Code(
    "GP405",
    "tree-state",
    "an operation on the radix tree (insert, split, evict or match) leaves a node, or a request, with a state of the "
    "wrong length",
    why="Every request that resumes from that node computes some tokens twice, or skips them.",
    remedy="keep to the rules of the tree that every modelled release has",
    symptom=_SILENT,
    not_explained=_NO_SIGN,
    afterwards=_CACHED,
    theorem="a_split_leaves_the_state_on_the_node_of_its_depth",
    producer="extend",
    fixes=fixes.cuts,
)
SLOTS = (SLOT_OVERWRITTEN, SLOT_LABEL, KEY_OVERSHOT)

GUARD_OF_ONE_RANK = Code(
    "GP501",
    "guard-does-not-protect",
    "the start-up guard passes although the interval does not fit: it compares the interval with the page of one rank, "
    "and DCP widens the tree's page",
    severity="note",
    why="The guard should catch this, but it compares against the page of one rank. Passing it does not mean the launch "
    "is safe.",
    remedy="set an interval that is a multiple of page_size times dcp_size",
    example=_example(
        "0.5.18",
        f"{_WIDE} {_WHOLE}",
        f"{_WIDE} --mamba-track-interval 512 {_WHOLE}",
    ),
    upstream=_pulls(34760, 35412),
    about=_GRID,
    noted=notes.guard_of_one_rank,
)
GUARD_NOT_EVALUATED = Code(
    "GP502",
    "guard-not-evaluated",
    "the interval is no multiple of the page, and the start-up guard did not check it because --page-size was left out",
    severity="note",
    why="The guard looks at the flag only; a page that the attention backend sets later is never compared with the "
    "interval.",
    remedy="set an interval that is a multiple of the resolved page",
    example=_example(
        "0.5.18",
        f"sglang serve --model-path moonshotai/Kimi-K3 --mamba-track-interval 100 {_WHOLE}",
        f"sglang serve --model-path moonshotai/Kimi-K3 --mamba-track-interval 128 {_WHOLE}",
    ),
    about=_GRID,
    noted=notes.guard_not_evaluated,
)

HOST_LOAD = Code(
    "GP601",
    "host-load",
    "a request runs without the state of its prefix: a load of states from host memory is refused, and what the request "
    "computes then is cached",
    why="The request goes on from its device prefix with an empty state, and its checkpoints hold only the tokens since; "
    "later requests that hit them answer as if the prefix were missing. With write_back two requests that load one branch "
    "in the same pass are enough; with other policies it takes a load for which no tokens or state slots can be freed "
    "(read, not run). Up to 0.5.18 an assertion stops the scheduler instead.",
    remedy="use --hicache-write-policy write_through, which copies every cached state to the host, so that only loads "
    "that find no memory are left; or leave out --enable-hierarchical-cache (evicted prefixes are computed again)",
    symptom=_SILENT,
    not_explained=_NO_SIGN,
    afterwards=_CACHED,
    example=_example(
        "0.5.23",
        f"{_LAZY} --enable-hierarchical-cache --hicache-write-policy write_back",
        _LAZY,
    ),
    producer="host",
    about=("hicache_write_policy", "enable_hierarchical_cache"),
    known=(
        KnownFault(
            conditions.since("0.5.19"),
            conditions.writes_back,
            "A request continues from 128 tokens with an empty state, and what it computes is cached under 256",
        ),
        KnownFault(
            conditions.before("0.5.19"),
            conditions.writes_back,
            "In this release an assertion stops the scheduler",
        ),
        KnownFault(
            conditions.since("0.5.19"),
            conditions.writes_through,
            "Where the write policy is not write_back, it takes a load for which no tokens or state slots can be freed",
            severity="warning",
        ),
        KnownFault(
            conditions.since("0.5.19"),
            conditions.may_write_back,
            "What it takes depends on --hicache-write-policy, which is not known here: with write_back two loads of one "
            "branch are enough. Where the write policy is not write_back, it takes a load for which no tokens or state "
            "slots can be freed",
            severity="warning",
        ),
        KnownFault(
            conditions.before("0.5.19"),
            conditions.may_write_back,
            "In this release an assertion stops the scheduler if --hicache-write-policy, which is not known here, is "
            "write_back",
            severity="warning",
        ),
        KnownFault(
            conditions.since("0.5.17"),
            conditions.unbuffered(conditions.writes_back),
            _UNBUFFERED,
            severity="warning",
        ),
    ),
    fixes=fixes.without_host,
)
HOST_MATCH = Code(
    "GP602",
    "host-match",
    "a request resumes from too short a state: the state of an abandoned match is copied over that of a later, longer one",
    why="A request that waits for the storage backend goes on from 512 tokens with a state that has consumed 128. It "
    "takes a device prefix that is evicted while the request waits, so that the storage is asked a second time.",
    remedy="leave out --hicache-storage-backend (prefixes of other servers and earlier runs are computed again)",
    symptom=_SILENT,
    not_explained=_NO_SIGN,
    afterwards=_CACHED,
    example=_example(
        "0.5.23",
        f"{_LAZY} --enable-hierarchical-cache --hicache-storage-backend file",
        _LAZY,
    ),
    producer="host",
    about=("hicache_storage_backend", "enable_hierarchical_cache"),
    known=(
        KnownFault(
            conditions.since("0.5.20"),
            conditions.has_storage,
            "A request continues from 512 tokens with a state of 128",
        ),
        KnownFault(
            conditions.since("0.5.20"),
            conditions.unbuffered(conditions.has_storage),
            _UNBUFFERED,
            severity="warning",
        ),
    ),
    fixes=fixes.without_host,
)
SESSION_STATE = Code(
    "GP603",
    "session-state",
    "a turn of a session goes on from a state that has consumed more tokens than the session keeps, or from the state of "
    "another request",
    why="Every later turn of the session is wrong as well. In a streaming session it takes a turn that is retracted for "
    "want of memory, or speculation under the overlap scheduler (nearly every turn); an aborted turn leaves a wrong state "
    "in the tree of all requests where the page is above one. In any session, also without a flag, a request that waits "
    "for memory while its cached prefix is evicted is given another request's state.",
    remedy="leave out --enable-streaming-session, and session_params in requests (each turn sends its whole prompt, which the "
    "radix cache serves)",
    symptom=_SILENT,
    not_explained=_NO_SIGN,
    afterwards=_CACHED,
    example=_example("0.5.23", f"{_LAZY} --enable-streaming-session", _LAZY),
    producer="sessions",
    about=("enable_streaming_session",),
    known=(
        KnownFault(
            conditions.since("0.5.17"),
            conditions.has_sessions,
            "A turn that should go on from 451 tokens is given a state of 452, or another request's",
        ),
        KnownFault(
            conditions.since("0.5.17"),
            conditions.unbuffered(conditions.has_sessions),
            f"It takes speculation, or a request that waits for memory. {_UNBUFFERED}",
            severity="warning",
        ),
    ),
    fixes=fixes.without_sessions,
)
RETRACTION_STATE = Code(
    "GP604",
    "retraction-state",
    "a request that a decode server retracts resumes with its last token consumed twice",
    severity="warning",
    why="The state that the request keeps has consumed one token more than the tokens it keeps. It takes the overlap "
    "scheduler and a decode server that runs out of memory (read, not run).",
    remedy="give decode servers --disable-overlap-schedule (slower decode steps), or enough memory that no request is "
    "retracted",
    symptom=_SILENT,
    not_explained=_NO_SIGN,
    afterwards=_CACHED,
    example=_example("0.5.23", f"{_SERVE} --disaggregation-mode decode", _SERVE),
    upstream=_pulls(39743),
    producer="transfer",
    about=("disaggregation_mode",),
    known=(
        KnownFault(
            conditions.since("0.5.17"),
            conditions.is_a_decode_server,
            "It takes a server that runs out of memory and retracts a request",
            severity="warning",
        ),
    ),
)

CODES = tuple(value for value in tuple(globals().values()) if isinstance(value, Code))
