"""The codes of what can be wrong with a checkpoint or a launch command, each with all that `explain` tells of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from spec.sglang.fault_frequency import Traffic


@dataclass(frozen=True)
class Code:
    """A finding code: stable identifier, name, what it means, the theorem that excludes it in a right design.

    `severity`: note, warning or error; `why`: what it costs; `example`: a release and a launch that has it,
    `instead`: a launch that has not (of the same release); `accepted`: what would be; `about`: the fields whose flags
    it stands at; `upstream`: SGLang's changes, by number.
    """

    id: str
    name: str
    means: str
    theorem: str | None = None
    severity: str = "error"
    why: str = ""
    example: tuple[str, str] | None = None
    instead: str | None = None
    accepted: str | None = None
    about: tuple[str, ...] = ()
    upstream: tuple[int, ...] = ()

    def __reduce__(self) -> Any:
        return code_named, (self.id,)

    @property
    def links(self) -> list[str]:
        """The pages of the upstream changes."""
        return [f"https://github.com/sgl-project/sglang/pull/{number}" for number in self.upstream]


_SERVE = "sglang serve --model-path some/hybrid-model"
_EAGLE = f"{_SERVE} --page-size 64 --speculative-algorithm EAGLE --speculative-num-draft-tokens"
_DRAFTS = f"{_EAGLE} 4"
_LONG_DRAFTS = f"{_EAGLE} 40 --mamba-track-interval 64"
_WIDE = f"{_SERVE} --tp-size 8 --dcp-size 8 --page-size 64"
_FROM_22_OR_LAZY = (
    "a release from 0.5.22 on; before it --mamba-radix-cache-strategy extra_buffer_lazy keeps the labels right, and no "
    "flags the slots as well while a verify has more than one token (GP401)"
)
_GRID = ("mamba_track_interval", "dcp_size", "page_size")
_TRAFFIC = Traffic(grid=256, mean_steps=600, nothing_ahead=0.15)
_CUTS = ("chunked_prefill_size", "page_size", "dcp_size")


REJECTED = Code(
    "GP001",
    "rejected",
    "the release refuses to start with this configuration",
    why="The server stops at start-up, some of these after the weights were loaded.",
    example=("0.5.23", f"{_SERVE} --page-size 64 --mamba-track-interval 100"),
    instead=f"{_SERVE} --page-size 64 --mamba-track-interval 128",
    accepted="what the start-up guard demands",
    about=("mamba_track_interval", "page_size", "dcp_size", "chunked_prefill_size"),
)
INERT = Code(
    "GP002",
    "inert",
    "the shortest prefix that can ever be reused is longer than the context",
    None,
    severity="warning",
    why="The cache takes memory and time and is never used.",
    example=(
        "0.5.23",
        f"{_SERVE} --tp-size 8 --dcp-size 8 --page-size 8192 --mamba-track-interval 8192 --chunked-prefill-size -1",
    ),
    instead=f"{_SERVE} --tp-size 8 --dcp-size 8 --page-size 64 --chunked-prefill-size -1",
    accepted="a tree page (page_size times dcp_size) within the context",
    about=("page_size", "dcp_size", "context_length"),
)
NOT_MODELLED = Code(
    "GP003",
    "not-modelled",
    "gridproof has no rules for this configuration",
    severity="note",
    why="Nothing is said about this launch; that is no approval.",
    example=("0.5.23", f"{_SERVE} --disable-radix-cache"),
    instead=_SERVE,
    about=(
        "disable_radix_cache",
        "config_file",
        "disaggregation_mode",
        "mamba_radix_cache_strategy",
    ),
)
SPARSER = Code(
    "GP004",
    "sparser",
    "decode checkpoints are further apart than the interval that was asked for",
    "every_track_depth_is_a_multiple_of_all_three_grids",
    severity="note",
    why="More of a prefix is computed again than the interval suggests; nothing is wrong.",
    example=("0.5.23", f"{_SERVE} --mamba-track-interval 16"),
    instead=f"{_SERVE} --mamba-track-interval 64",
    accepted="an interval that is a multiple of the checkpoint grid, the least common multiple of cache chunk and tree page",
    about=_GRID,
    upstream=(35412,),
)
DECODE_GRID = Code(
    "GP101",
    "decode-grid",
    "a decode checkpoint is hung on a node of another depth: the tree cannot name the depths decode snapshots at",
    "decode_checkpoint_lands_on_a_node",
    why="A request that reuses the prefix runs on a state that has seen some of its tokens twice; the output is wrong and nothing reports it.",
    example=("0.5.18", f"{_WIDE} --chunked-prefill-size -1"),
    instead=f"{_WIDE} --mamba-track-interval 512 --chunked-prefill-size -1",
    accepted="an interval that is a multiple of the tree page, or a release from 0.5.19 on",
    about=_GRID,
    upstream=(35412,),
)
VERIFY_GRID = Code(
    "GP102",
    "verify-grid",
    "a verify checkpoint is hung on a node of another depth: the tree cannot name the depths verify saves at",
    "verify_checkpoint_lands_on_a_node",
    why="As for decode: the state saved within a verify step is given to requests of another depth.",
    example=(
        "0.5.18",
        f"{_WIDE} --speculative-algorithm EAGLE --speculative-num-draft-tokens 4 --chunked-prefill-size -1",
    ),
    instead=f"{_WIDE} --speculative-algorithm EAGLE --speculative-num-draft-tokens 4 --mamba-track-interval 512 --chunked-prefill-size -1",
    accepted="an interval that is a multiple of the tree page, or a release from 0.5.19 on",
    about=_GRID,
    upstream=(35412, 37818),
)
VERIFY_STEP = Code(
    "GP103",
    "verify-step",
    "a verify saves the state of another draft step than the depth it records",
    "the_saved_verify_step_has_consumed_exactly_the_recorded_depth",
    why="The state that the next request resumes from is off by some draft tokens; the output of this one is right.",
    accepted="the state after draft step depth - start - 1, as every modelled release saves it",
)
DECODE_STATE = Code(
    "GP104",
    "decode-state",
    "a decode step saves a state that has consumed another number of tokens than the length it records",
    "decode_checkpoint_lands_on_a_node",
    why="The state that the next request resumes from lacks tokens of its prefix, or has seen some twice.",
    accepted="the state after the step's own token, as every modelled release saves it",
)
EXTEND_PREFIX = Code(
    "GP201",
    "extend-prefix",
    "a piece of a prompt that starts off the tree page stores its state under a depth counted from there, which no node has",
    "an_extend_under_dcp_lands_on_a_node",
    why="The state ends on the node of a shallower depth; the next request that hits that node computes some tokens "
    "twice, and nothing reports it. Without DCP the scheduler ends every piece on the page unless decode steps share "
    "its batch (--enable-mixed-chunk) or memory runs short between two pieces; up to 0.5.20 DCP widens the tree's page "
    "and pieces end on the page of one rank.",
    example=("0.5.23", f"{_SERVE} --page-size 64 --enable-mixed-chunk"),
    instead=_SERVE,
    accepted="no --enable-mixed-chunk (decode steps then wait for a piece of a prompt), a page of one token, or under "
    "DCP a release from 0.5.21 on",
    about=("enable_mixed_chunk", *_CUTS),
    upstream=(39115,),
)
EXTEND_GRID = Code(
    "GP202",
    "extend-grid",
    "an extend donates on a grid that the tree page does not divide, so its state hangs on another depth",
    "an_extend_under_dcp_lands_on_a_node",
    why="Every prompt that ends off the tree page can leave a state at a depth that the tree cannot name.",
    example=("0.5.17", _WIDE),
    instead=f"{_SERVE} --page-size 64 --chunked-prefill-size -1",
    accepted="a tree page that divides the cache chunk (no DCP), or a release from 0.5.18 on",
    about=("dcp_size", "page_size"),
    upstream=(34808,),
)
EXTEND_ROW = Code(
    "GP203",
    "extend-row",
    "an extend reads an intermediate state of another depth than the one it records",
    "the_row_read_is_the_row_of_the_recorded_depth",
    why="The state of an earlier row is booked under a later depth: tokens are missing from it.",
    example=("0.5.18", f"{_SERVE} --page-size 128 --chunked-prefill-size -1"),
    instead=f"{_SERVE} --page-size 64 --chunked-prefill-size -1",
    accepted="a page no larger than the model's chunk, or a release from 0.5.19 on",
    about=("page_size",),
)
EXTEND_ASSERTION = Code(
    "GP204",
    "extend-assertion",
    "an engine assertion stops the scheduler when an extend starts off the cache chunk",
    "the_extend_assertion_never_fires",
    why="An assertion for an optional checkpoint takes the scheduler, and with it every request, down.",
    example=("0.5.18", f"{_SERVE} --tp-size 8 --dcp-size 8 --page-size 16"),
    instead=f"{_SERVE} --page-size 64",
    accepted="a page that is a multiple of the model's chunk, without --enable-mixed-chunk, so that every piece of a "
    "prompt ends on the cache chunk; or a release from 0.5.19 on",
    about=_CUTS,
    upstream=(36005,),
)
EXTEND_CHUNK = Code(
    "GP205",
    "extend-chunk",
    "a prompt's states are read from the wrong rows: the engine counts them by the chunk of the model's text config, and "
    "decides which depths to cache by the chunk of the whole config, and the two differ",
    why="A prompt of 330 tokens is cached under 320 tokens with a state that has consumed 256 (chunks of 64 and 128); "
    "the next request that hits the cache skips the tokens between.",
    example=(
        "0.5.23",
        "sglang serve --model-path nvidia/Nemotron-Omni",
    ),
    instead="sglang serve --model-path nvidia/Nemotron-H",
    accepted="a config.json whose top level holds the same mamba_chunk_size as its text config, or "
    "--disable-radix-cache (nothing is reused then)",
    about=("model_path",),
)
EXTEND_MIXED = Code(
    "GP206",
    "extend-mixed",
    "a piece of a prompt that shares its batch with decode steps writes no checkpoint, and its slot is inserted into the "
    "radix tree as if it had",
    why="The next request that hits the cache resumes from memory that nobody wrote for it; nothing reports it. It takes "
    "--enable-mixed-chunk and one request that decodes beside a prompt.",
    example=("0.5.22", f"{_SERVE} --enable-mixed-chunk"),
    instead=_SERVE,
    accepted="no --enable-mixed-chunk (decode steps then wait for a piece of a prompt), or release 0.5.23",
    about=("enable_mixed_chunk",),
)
FLUSH = Code(
    "GP301",
    "flush-nesting",
    "a snapshot is taken at a step that does not flush, so it misses the pending tokens",
    "every_snapshot_step_is_a_flush_step",
    why="The tokens that were pending when the snapshot was taken are missing from it.",
    accepted="a snapshot grid that is a multiple of the interval, as every modelled release has it",
    about=_GRID,
)

SLOT_OVERWRITTEN = Code(
    "GP401",
    "slot-overwritten",
    "a checkpoint was saved rightly, and another state is written into its slot before it is donated",
    "an_eager_finish_donates_the_state_of_its_label",
    why="A request is given a state of another depth under the right label; nothing reports it. With the default flags "
    f"about 1 in {_TRAFFIC.one_in:,.0f} of the requests that pass a boundary in decode leaves such a state (an interval of "
    f"{_TRAFFIC.grid}, {_TRAFFIC.mean_steps:.0f} decode steps on average, {_TRAFFIC.nothing_ahead:.0%} of results processed "
    "with nothing launched ahead; docs/found.md, 1, has what else is assumed).",
    example=("0.5.23", _SERVE),
    instead=f"{_SERVE} --mamba-radix-cache-strategy extra_buffer_lazy",
    accepted="without speculation --mamba-radix-cache-strategy extra_buffer_lazy (from 0.5.22 on; its slots are allocated "
    "while requests run, so that a small --max-mamba-cache-size can run out: 'Can not alloc mamba cache') or "
    "--disable-overlap-schedule; with it a release from 0.5.22 on, the overlap scheduler, and an interval of at least "
    "twice the draft tokens",
    about=("mamba_radix_cache_strategy",),
    upstream=(29792, 33477),
)
SLOT_LABEL = Code(
    "GP402",
    "slot-label",
    "a slot is donated under a depth that no state was saved for in it",
    "a_result_of_an_eager_step_keeps_the_invariant",
    why="The next request resumes from a state of another depth, or from memory that nobody wrote.",
    example=("0.5.21", _DRAFTS),
    instead=f"{_DRAFTS} --mamba-radix-cache-strategy extra_buffer_lazy",
    accepted=_FROM_22_OR_LAZY,
    about=("mamba_radix_cache_strategy", "speculative_num_draft_tokens"),
)
KEY_OVERSHOT = Code(
    "GP403",
    "key-overshot",
    "a state has consumed more tokens than the key that it is donated under, and hangs on the shorter key",
    "a_finish_donates_no_state_beyond_its_key",
    why="The next request computes the tokens between the key's end and the state's once more.",
    example=("0.5.21", f"{_LONG_DRAFTS} --disable-overlap-schedule"),
    instead=f"{_LONG_DRAFTS} --mamba-radix-cache-strategy extra_buffer_lazy",
    accepted=_FROM_22_OR_LAZY,
    about=("mamba_radix_cache_strategy", "speculative_num_draft_tokens"),
)

NODE_DEPTH = Code(
    "GP404",
    "node-depth",
    "a state is hung on a node of another depth than the one it is donated under, which a node could have",
    "with_the_insert_guard_an_extend_is_inserted_at_its_recorded_depth",
    why="The next request is given a state of another depth than the tokens that it matched.",
    accepted="a key cut to the donated depth, as every modelled release cuts it",
)

TREE_STATE = Code(
    "GP405",
    "tree-state",
    "a node of the tree comes to hold, or a prompt to be given, a state of another depth: by a second donation, a split, "
    "an eviction or a match",
    "a_split_leaves_the_state_on_the_node_of_its_depth",
    why="Whoever resumes from that node computes some tokens twice, or never.",
    accepted="the rules of the tree that every modelled release has",
)

HOST_LOAD = Code(
    "GP601",
    "host-load",
    "a load of states from host memory that is turned away leaves the request without the state of its prefix, and what "
    "it computes then is cached",
    why="The request goes on from its device prefix with an empty state, and its checkpoints hold only the tokens since; "
    "later requests that hit them answer as if the prefix were missing. With write_back two requests that load one branch "
    "in the same pass are enough; with other policies it takes a load for which no tokens or state slots can be freed "
    "(read, not run). Up to 0.5.18 an assertion stops the scheduler instead.",
    example=(
        "0.5.23",
        f"{_SERVE} --mamba-radix-cache-strategy extra_buffer_lazy --enable-hierarchical-cache "
        "--hicache-write-policy write_back",
    ),
    instead=f"{_SERVE} --mamba-radix-cache-strategy extra_buffer_lazy",
    accepted="no --enable-hierarchical-cache (evicted prefixes are computed again); with --hicache-write-policy "
    "write_through, which copies every cached state to the host, only loads that find no memory are left",
    about=("hicache_write_policy", "enable_hierarchical_cache"),
)
HOST_MATCH = Code(
    "GP602",
    "host-match",
    "the state of a match that was given up is copied over the state of a later, longer match",
    why="A request that waits for the storage backend goes on from 512 tokens with a state that has consumed 128. It "
    "takes a device prefix that is evicted while the request waits, so that the storage is asked a second time.",
    example=(
        "0.5.23",
        f"{_SERVE} --mamba-radix-cache-strategy extra_buffer_lazy --enable-hierarchical-cache "
        "--hicache-storage-backend file",
    ),
    instead=f"{_SERVE} --mamba-radix-cache-strategy extra_buffer_lazy",
    accepted="no --hicache-storage-backend (prefixes of other servers and earlier runs are computed again)",
    about=("hicache_storage_backend", "enable_hierarchical_cache"),
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
    example=(
        "0.5.23",
        f"{_SERVE} --mamba-radix-cache-strategy extra_buffer_lazy --enable-streaming-session",
    ),
    instead=f"{_SERVE} --mamba-radix-cache-strategy extra_buffer_lazy",
    accepted="no --enable-streaming-session and no session_params in requests (each turn sends its whole prompt, which the "
    "radix cache serves)",
    about=("enable_streaming_session",),
)
RETRACTION_STATE = Code(
    "GP604",
    "retraction-state",
    "a request that a decode server retracts keeps a state that has consumed one token more than it keeps",
    severity="warning",
    why="The request goes on after its retraction with its last token consumed twice. It takes the overlap scheduler and "
    "a decode server that runs out of memory (read, not run).",
    example=("0.5.23", f"{_SERVE} --disaggregation-mode decode"),
    instead=_SERVE,
    accepted="--disable-overlap-schedule on decode servers (slower decode steps), or memory enough that none retracts",
    about=("disaggregation_mode",),
    upstream=(39743,),
)

CANNOT_START = Code(
    "GP005",
    "cannot-start",
    "the strategy for recurrent states and the page, DCP or overlap do not go together: the server does not start",
    why="The server stops, some of these only when the pool is sized, after the weights were loaded.",
    example=("0.5.23", f"{_SERVE} --mamba-radix-cache-strategy no_buffer --tp-size 8 --dcp-size 8"),
    instead=f"{_SERVE} --tp-size 8 --dcp-size 8",
    accepted="the strategy extra_buffer, or no_buffer with a tree page of one token and the overlap scheduler off",
    about=("mamba_radix_cache_strategy", "disable_overlap_schedule", "dcp_size", "page_size"),
    upstream=(34760,),
)
REFUSED_THOUGH_VALID = Code(
    "GP006",
    "refused-though-valid",
    "a start-up guard of the release refuses a configuration in which every checkpoint would be right",
    severity="note",
    why="The guard asks for more than is needed since the grids are combined; only the flag has to be written otherwise.",
    example=(
        "0.5.23",
        f"{_SERVE} --page-size 64 --mamba-track-interval 100 --chunked-prefill-size -1",
    ),
    instead=f"{_SERVE} --page-size 64 --mamba-track-interval 128 --chunked-prefill-size -1",
    about=_GRID,
    upstream=(35412,),
)
PREFILL_BELOW_GRID = Code(
    "GP007",
    "prefill-below-grid",
    "a piece of a chunked prefill is shorter than the checkpoint grid, so a prompt may leave no checkpoint at all",
    severity="note",
    why="Prompts longer than a piece are computed again from the last decode checkpoint of another request, or from the start.",
    example=(
        "0.5.23",
        f"{_SERVE} --page-size 64 --tp-size 8 --dcp-size 8 --chunked-prefill-size 256",
    ),
    instead=f"{_SERVE} --page-size 64 --tp-size 8 --dcp-size 8 --chunked-prefill-size 2048",
    accepted="a prefill chunk of at least the checkpoint grid",
    about=("chunked_prefill_size",),
    upstream=(30938,),
)
MALFORMED = Code(
    "GP010",
    "malformed",
    "a command or the file it stands in cannot be read",
    why="What cannot be read is not judged; the rest of the file is.",
)
HOLE = Code(
    "GP011",
    "hole",
    "a part of the command is only known when it is run or when its template is filled in",
    severity="note",
    why="Environment variables and templates are left alone: what they put in is not judged.",
    example=("0.5.23", f"{_SERVE} --page-size '$PAGE'"),
    instead=f"{_SERVE} --page-size 1",
    accepted="the value itself, or --set FIELD=VALUE beside the command",
)
MISSPELT = Code(
    "GP012",
    "misspelt",
    "the engine has no flag of this name, but one like it",
    severity="warning",
    why="The engine refuses it at start-up, or the setting that was meant is not the one in force.",
    example=("0.5.23", f"{_SERVE} --mamba-track-intervall 64"),
    instead=f"{_SERVE} --mamba-track-interval 64",
    accepted="the flag as the engine spells it",
)
GIVEN_TWICE = Code(
    "GP013",
    "given-twice",
    "a flag is given twice with different values",
    severity="note",
    why="The last one counts; a reader may have the first one in mind.",
    example=("0.5.23", f"{_SERVE} --mamba-track-interval 64 --mamba-track-interval 128"),
    instead=f"{_SERVE} --mamba-track-interval 128",
    accepted="the flag once",
)
STALE_WAIVER = Code(
    "GP014",
    "stale-waiver",
    "a waiver waives nothing: what it excused is not found any more",
    severity="warning",
    why="It would hide the finding if it came back.",
    accepted="no waiver",
)
WINDOW_GRID = Code(
    "GP302",
    "window-grid",
    "the draft's convolution windows are kept on the interval as asked for, the states beside them on another grid",
    severity="note",
    why="It costs accepted drafts, not output: the target verifies every token.",
    example=(
        "0.5.23",
        "sglang serve --model-path thinkingmachines/Inkling-Small-NVFP4 --mamba-track-interval 32 "
        "--speculative-algorithm DSPARK --speculative-num-draft-tokens 8",
    ),
    instead="sglang serve --model-path thinkingmachines/Inkling-Small-NVFP4 --mamba-track-interval 64 "
    "--speculative-algorithm DSPARK --speculative-num-draft-tokens 8",
    accepted="an interval that is a multiple of the checkpoint grid",
    about=_GRID,
)
GUARD_PROTECTS_NOT = Code(
    "GP501",
    "guard-does-not-protect",
    "the start-up guard holds the interval against the page of one rank and passes; DCP widens the tree's page",
    severity="note",
    why="The guard is there to refuse this very fault; its silence is no approval.",
    example=("0.5.18", f"{_WIDE} --chunked-prefill-size -1"),
    instead=f"{_WIDE} --mamba-track-interval 512 --chunked-prefill-size -1",
    accepted="an interval that is a multiple of page_size times dcp_size",
    about=_GRID,
    upstream=(34760, 35412),
)
GUARD_NOT_EVALUATED = Code(
    "GP502",
    "guard-not-evaluated",
    "the interval is no multiple of the resolved page, and the guard was not evaluated as --page-size was left out",
    severity="note",
    why="The guard looks at the flag; a page that the backend sets later is never held against the interval.",
    example=(
        "0.5.18",
        "sglang serve --model-path moonshotai/Kimi-K3 --mamba-track-interval 100 --chunked-prefill-size -1",
    ),
    instead="sglang serve --model-path moonshotai/Kimi-K3 --mamba-track-interval 128 --chunked-prefill-size -1",
    accepted="an interval that is a multiple of the resolved page",
    about=_GRID,
)

SLOTS = (SLOT_OVERWRITTEN, SLOT_LABEL, KEY_OVERSHOT)
CODES = {
    code.id: code
    for code in (
        REJECTED,
        INERT,
        NOT_MODELLED,
        SPARSER,
        CANNOT_START,
        REFUSED_THOUGH_VALID,
        PREFILL_BELOW_GRID,
        MALFORMED,
        HOLE,
        MISSPELT,
        GIVEN_TWICE,
        STALE_WAIVER,
        DECODE_GRID,
        VERIFY_GRID,
        VERIFY_STEP,
        DECODE_STATE,
        EXTEND_PREFIX,
        EXTEND_GRID,
        EXTEND_ROW,
        EXTEND_ASSERTION,
        EXTEND_CHUNK,
        EXTEND_MIXED,
        FLUSH,
        SLOT_OVERWRITTEN,
        SLOT_LABEL,
        KEY_OVERSHOT,
        NODE_DEPTH,
        TREE_STATE,
        HOST_LOAD,
        HOST_MATCH,
        SESSION_STATE,
        RETRACTION_STATE,
        WINDOW_GRID,
        GUARD_PROTECTS_NOT,
        GUARD_NOT_EVALUATED,
    )
}


def code_named(name: str) -> Code:
    """The code with this id."""
    return CODES[name]
