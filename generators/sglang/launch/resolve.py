"""What the words behind SGLang resolve to: the configuration, where each value comes from, and what no rule models."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from generators.common.errors import BadInput
from generators.launch.launch import Launch
from generators.launch.words import Word
from generators.sglang.launch import platforms
from generators.sglang.launch.flag_classes import not_modelled
from generators.sglang.launch.flags import FLAGS, LARGEST, Given, read_flags
from generators.sglang.launch.models import UNKNOWN, ModelFacts, facts_of_model
from spec.recurrences import RECURRENCES
from spec.sglang.configuration import STRATEGIES, Configuration
from spec.sglang.releases import RELEASES

# The flags that name attention backends, by field.
_BACKENDS = {
    "attention_backend": "--attention-backend",
    "decode_attention_backend": "--decode-attention-backend",
    "prefill_attention_backend": "--prefill-attention-backend",
    "speculative_draft_attention_backend": "--speculative-draft-attention-backend",
}
_PHASES = ("decode_attention_backend", "prefill_attention_backend")
# Algorithms whose drafts are a chain or a tree of steps; the first choice of the engine is a chain of 4 tokens.
_BY_STEPS = ("EAGLE", "EAGLE3", "NEXTN", "STANDALONE")
_OWN_WAY = ("NGRAM", "DFLASH", "DSPARK")
# What may be given where a command does not hold it.
SETTABLE = (
    *("page_size", "dcp_size", "mamba_track_interval", "speculative_num_draft_tokens"),
    *("mamba_chunk_size", "recurrence", "strategy", "sessions", "gpu"),
)
# Fields and flags that only a model with recurrent layers has.
_OF_HYBRIDS = ("mamba_chunk_size", "recurrence", "mamba_track_interval", "strategy")
_FLAGS_OF_HYBRIDS = ("mamba_track_interval", "mamba_radix_cache_strategy")
_NEEDED = {
    "page_size": "page_size",
    "dcp_size": "dcp_size",
    "mamba_track_interval": "mamba_track_interval",
    "mamba_radix_cache_strategy": "strategy",
    "speculative_algorithm": "speculative_num_draft_tokens",
    "speculative_num_draft_tokens": "speculative_num_draft_tokens",
}


@dataclass(frozen=True)
class Beyond:
    """A flag that reaches what is not modelled: its field, the producers of checkpoints it concerns, and why."""

    field: str
    producers: tuple[str, ...]
    why: str


@dataclass(frozen=True)
class Facts:
    """What a launch of SGLang has beside its configuration.

    `model`: what is known of its model; `hybrid`: whether that has recurrent layers, None where it is not known;
    `assumed`: why it is taken for one that has, where nothing says so; `names_a_model`: whether the launch names one;
    `radix_cache`: whether it has one; `refused`: why the engine refuses its strategy for a reason that stands in the
    model or in another flag; `beyond`: its flags that reach what is not modelled;
    `sessions`: whether its requests were given as ones with session parameters; `contested`: its flags, with their values,
    that not every modelled release accepts; `unknown`: the fields whose values only the running command knows; `gpus`: the
    kinds of GPU that it may run on.
    """

    model: ModelFacts
    hybrid: bool | None
    assumed: str | None
    names_a_model: bool
    radix_cache: bool
    refused: str | None
    beyond: tuple[Beyond, ...]
    sessions: bool
    contested: tuple[tuple[str, tuple[str, ...]], ...] = ()
    unknown: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()


def _draft_tokens(given: Given) -> tuple[int, str]:
    """Tokens of a verify step, as the engine resolves them from block sizes and steps.

    Source: SGLang 0.5.17 to 0.5.23, `arg_groups/speculative_hook.py`.
    """
    algorithm = given.value("speculative_algorithm", "").upper()
    if algorithm in ("", "NONE"):
        return 0, "default"
    if algorithm in _BY_STEPS:
        steps, tokens = (
            given.value("speculative_num_steps"),
            given.value("speculative_num_draft_tokens"),
        )
        if steps is not None and given.value("speculative_eagle_topk", 1) == 1:
            return steps + 1, "flag"
        return (4, "default") if tokens is None else (tokens, "flag")
    more = {
        "speculative_dspark_block_size": 1,
        "speculative_dflash_block_size": 0,
        "speculative_num_draft_tokens": 0,
        "speculative_num_steps": 1,
    }
    for name, bonus in more.items():
        of_another = name.startswith(("speculative_ds", "speculative_df"))
        if of_another and algorithm.lower() not in name:
            continue
        if (tokens := given.value(name)) is not None:
            return tokens + bonus, "flag"
    return (12, "default") if algorithm == "NGRAM" else (8, "assumed")


def _speculation(given: Given) -> str:
    """The kind of speculation, as resolutions tell them apart (`platforms.of_model`)."""
    algorithm = given.value("speculative_algorithm", "").upper()
    if algorithm in ("", "NONE"):
        return "none"
    if algorithm in _OWN_WAY:
        return algorithm
    shape = given.value("speculative_eagle_topk")
    return "unset" if shape is None else "chain" if shape == 1 else "tree"


def _algorithm(flags: Given) -> str:
    """The name of the speculative algorithm."""
    name = flags.value("speculative_algorithm")
    if not re.fullmatch(r"[A-Z0-9_]{1,40}", name.upper()):
        raise BadInput(
            f"--speculative-algorithm: {name[:40]!r} is not the name of an algorithm, such as EAGLE"
        )
    return name.upper()


def _unbuffered(given: Given, facts: ModelFacts, release: str, gpu: str) -> str | None:
    """Why a launch can have no extra buffer, apart from its values: None where it can."""
    if not facts.extra_buffer or platforms.is_unbuffered(release, facts.architecture, gpu):
        return "the engine has no extra_buffer strategy for this model; --mamba-radix-cache-strategy no_buffer starts"
    backend = given.value("linear_attn_backend", "triton")
    if backend != "triton":
        return f"extra_buffer needs --linear-attn-backend triton, not {backend[:40]}"
    return None


def _refused(facts: ModelFacts, release: str, gpu: str) -> str | None:
    """Why a release does not start with an extra buffer on a kind of GPU."""
    if not platforms.is_refused(release, facts.architecture, gpu):
        return None
    return f"{release} has no extra_buffer on this kind of GPU ({gpu})"


def _strategy(given: Given, wants_buffers: bool, can_be_buffered: bool) -> tuple[str, str]:
    named = given.value("mamba_radix_cache_strategy", "auto")
    if named == "auto":
        buffered = can_be_buffered and wants_buffers
        source = "flag" if "mamba_radix_cache_strategy" in given.settings else "default"
        return ("extra_buffer" if buffered else "no_buffer"), source
    if named not in STRATEGIES:
        near = difflib.get_close_matches(named, STRATEGIES, n=1)
        hint = f" (did you mean {near[0]}?)" if near else ""
        raise BadInput(
            f"--mamba-radix-cache-strategy: {named!r} is not known; accepted are auto, "
            + ", ".join(STRATEGIES)
            + hint
        )
    return named, "flag"


@dataclass
class _Values:
    """Values of a configuration with their sources, each field asked of the better source first.

    `early`: the page that the engine has when it chooses a strategy; `is_unnamed`: whether it chooses one.
    """

    given: Given
    facts: ModelFacts
    beside: Mapping[str, Any]
    release: str
    gpu: str
    sources: dict[str, str] = field(default_factory=dict)
    early: int | None = None
    is_unnamed: bool = False

    def pick(self, name: str) -> Any:
        if name in self.beside:
            self.sources[name] = "flag"
            return self.beside[name]
        if name in self.given.settings:
            self.sources[name] = "flag"
            return self.given.settings[name].value
        if name in self.facts.fields:
            self.sources[name] = self.facts.source
            return self.facts.fields[name]
        self.sources[name] = "assumed" if self.is_guessed(name) else "default"
        return getattr(Configuration(), name)

    def is_guessed(self, name: str) -> bool:
        """Whether the engine would take a value of the model, of which nothing is known."""
        return name == "mamba_chunk_size" or (name == "page_size" and self.facts is UNKNOWN)

    def page(self) -> int:
        """The resolved page: the one given, else what the model, the GPU and the attention backends make of it."""
        given = self.pick("page_size")
        if "page_size" in self.beside:
            self.early = given
            return given
        names = {name: self.given.value(name) for name in _BACKENDS}
        if self.sources["page_size"] == "model table" and not any(names.values()):
            # What launches of this very model were seen to take.
            self.early = given
            return given
        page = self.early = given if self.sources["page_size"] == "flag" else None
        is_chosen = names["attention_backend"] is None or self.gpu == "npu"
        if is_chosen and self.facts.architecture is not None:
            phase = "one" if any(names[name] for name in _PHASES) else "none"
            named = self.given.value("mamba_radix_cache_strategy", "auto")
            strategy = "named" if named.startswith("extra_buffer") else "auto"
            rule = platforms.of_model(
                *(self.release, self.gpu, self.facts.architecture),
                *(_speculation(self.given), strategy, phase),
            )
            page = rule.of(page) if rule else page
            # Nemotron-H asks for buffers beside its page where it speculates (`model_overrides/nemotron_h.py`).
            speculates = _speculation(self.given) != "none"
            asks = speculates and self.facts.architecture.startswith("NemotronH")
            if rule is not None and (rule.is_early or self.gpu == "npu" or asks):
                self.early = page
        for name, backend in platforms.in_order({k: v for k, v in names.items() if v}):
            page = self._of_backend(name, backend, page)
        if page is None:
            return given if self.facts.architecture is None else 1
        if page != given:
            self.sources["page_size"] = "flag" if any(names.values()) else "default"
        return page

    def _of_backend(self, name: str, backend: str, page: int | None) -> int | None:
        """What a backend that a flag names makes of the page."""
        if self.gpu == "npu" or (backend == "fa4" and _speculation(self.given) == "tree"):
            return page
        # A draft's backend asks for pages as that of decode does.
        drafts = name == "speculative_draft_attention_backend"
        if drafts and backend != "trtllm_mha":
            return page
        architecture = self.facts.architecture
        flag = _BACKENDS["decode_attention_backend" if drafts else name]
        rule = platforms.of_backend(self.release, self.gpu, architecture, flag, backend)
        return rule.of(page) if rule else page

    def strategy(self, overlap: bool) -> str:
        refused = _unbuffered(self.given, self.facts, self.release, self.gpu)
        named = self.given.value("mamba_radix_cache_strategy", "auto")
        strategy, self.sources["strategy"] = _strategy(
            self.given, overlap or (self.early or 1) > 1, refused is None
        )
        self.is_unnamed = named == "auto" and "strategy" not in self.beside
        if "strategy" in self.beside:
            strategy, self.sources["strategy"] = self.beside["strategy"], "flag"
        return strategy

    def chunk(self) -> int | None:
        """The chunk of a prefill (tokens), of which each rank of attention data parallelism has its share."""
        size = self.pick("chunked_prefill_size")
        if size is None or size < 1 or "chunked_prefill_size" in self.beside:
            return size
        ranks = self.given.value("attn_dp_size", 1)
        if self.given.value("enable_dp_attention", False) and ranks == 1:
            ranks = self.given.value("dp_size", 1)
        return size // ranks or 1

    def draft_tokens(self) -> int:
        draft, source = _draft_tokens(self.given)
        if "speculative_num_draft_tokens" in self.beside:
            draft, source = self.beside["speculative_num_draft_tokens"], "flag"
        self.sources["speculative_num_draft_tokens"] = source
        return draft


def _unmodelled(
    flags: Given, facts: ModelFacts, beside: Mapping[str, Any], hybrid: bool | None
) -> str | None:
    """Why a launch cannot be judged by the rules, apart from its configuration."""
    if hybrid is False:
        known = f", as {facts.read_from} shows" if facts.read_from else ""
        return (
            f"not checked: the model has no recurrent layers{known}: there is no recurrent state, and nothing to "
            "judge"
        )
    if hybrid is None:
        named = flags.value("model_path") or ""
        return (
            f"not checked: whether the model{f' {named[:80]}' if named else ''} has recurrent layers is not known; "
            "--config PATH-to-config.json settles it, and --set mamba_chunk_size=TOKENS or --set recurrence=NAME "
            "says that it has some"
        )
    open_fields = [n for n in flags.unresolved if n in _NEEDED and _NEEDED[n] not in beside]
    if open_fields:
        name = open_fields[0]
        return (
            f"not checked: the value of {FLAGS[name][0]} is only known when the command runs; "
            f"--set {_NEEDED[name]}=VALUE gives it"
        )
    if flags.hidden:
        return (
            f"not checked: flags may stand in {flags.hidden[0].shown}, which is only known when the command runs; "
            "write them out, or give a default in the file"
        )
    if "config_file" in flags.settings or "config_file" in flags.unresolved:
        return "not checked: the file that --config names cannot be read here"
    if facts.unmodelled is not None:
        return facts.unmodelled
    if flags.value("disaggregation_mode", "null") not in ("null", "none"):
        return "not checked: gridproof does not model the transfer of states between servers (--disaggregation-mode) yet"
    if flags.value("enable_linear_replayssm", False):
        return "not checked: gridproof does not model --enable-linear-replayssm yet"
    if flags.value("disable_radix_cache", False):
        return "not checked: the radix cache is off, so no checkpoint is ever reused"
    return None


def _hybrid(
    flags: Given, facts: ModelFacts, beside: Mapping[str, Any], named: bool
) -> tuple[bool | None, str | None]:
    """Whether the model of a launch has recurrent layers, None where that is not known; how it was assumed, if it was.

    What stands beside the launch wins over the tables.  Flags without a model are asked about for hybrid models.
    """
    if any(name in beside for name in _OF_HYBRIDS):
        return True, None
    if facts.recurrent is not None:
        return facts.recurrent, None
    if not named and facts is UNKNOWN:
        return True, "no model is named"
    shown = [n for n in _FLAGS_OF_HYBRIDS if n in flags.settings or n in flags.unresolved]
    if shown:
        return True, f"the model is not known, but {FLAGS[shown[0]][0]} is for hybrid models"
    return None, None


def _model_named(words: Sequence[Word], flags: Given) -> tuple[str | None, str | None, bool]:
    """The model's name or path, the name it is served under, and whether the launch names a model at all.

    `sglang serve MODEL` takes the model without its flag.
    """
    texts = [word.text for word in words]
    path = flags.value("model_path")
    named = path is not None or "model_path" in flags.unresolved
    if not named and "serve" in texts[:2]:
        behind = words[texts.index("serve") + 1 :][:1]
        if behind and not behind[0].text.startswith("-"):
            path, named = None if behind[0].is_unresolved else behind[0].text, True
    served = None
    for word, following in zip(words, [*words[1:], None], strict=True):
        flag, equals, value = word.text.partition("=")
        if flag == "--served-model-name":
            holder = word if equals else following
            if holder is not None and not holder.is_unresolved:
                served = value if equals else holder.text
    return path, served, named or served is not None


def _beyond(given: Given) -> tuple[Beyond, ...]:
    """The flags of a launch that reach what is not modelled; a value that is not known yet may."""
    found = {}
    for group in not_modelled():
        if group.needs and not any(name in given.settings for name in group.needs):
            continue
        for name in dict.fromkeys(group.field_of(f) for f in (*group.switches, *group.flags)):
            is_set = name in given.settings and group.takes_effect(given.settings[name].value)
            if is_set or name in given.unresolved:
                found[name] = Beyond(name, group.producers, group.why)
    return tuple(found.values())


@dataclass(frozen=True, eq=False)
class Read:
    """What the words of a launch give before a release and a GPU make a configuration of it.

    `hybrid`, `assumed` and `names_a_model` are those of `Facts`.
    """

    words: tuple[Word, ...]
    flags: Given
    facts: ModelFacts
    beside: Mapping[str, Any]
    config: Path | None
    resolved: bool
    hybrid: bool | None
    assumed: str | None
    names_a_model: bool

    @property
    def gpus(self) -> tuple[str, ...]:
        """The kinds of GPU that it may run on, the likeliest first."""
        if "gpu" in self.beside:
            return (self.beside["gpu"],)
        if self.resolved or "page_size" in self.beside:
            return (platforms.OTHERS,)
        backends = {name: self.flags.value(name) for name in _BACKENDS}
        return platforms.possible(self.flags.value("device"), backends)


def resolve(
    words: Sequence[Word],
    *,
    given: Mapping[str, Any],
    config: Path | None = None,
    resolved: bool = False,
) -> Launch:
    """The launch that the words behind the engine give, on the newest release and the likeliest GPU.

    The arguments are those of `generators.launch.launch.read_words`.
    """
    flags = read_flags(words)
    path, served, named = _model_named(words, flags)
    facts = facts_of_model(path, config, served)
    # Nothing in a list of flags alone starts the engine: it may be for any model.
    only_flags = any(word.text.startswith("-") for word in words[:1])
    hybrid, assumed = _hybrid(flags, facts, given, named or only_flags)
    read = Read(tuple(words), flags, facts, given, config, resolved, hybrid, assumed, named)
    return _launch(read, RELEASES[-1], read.gpus[0])


def possibilities(launch: Launch, release: str) -> tuple[tuple[Launch, str | None], ...]:
    """What a release makes of a launch on each kind of GPU that it may run on, with the condition; alike ones once.

    A launch whose configuration was changed after it was read stands as it is.
    """
    read = launch.read
    if launch.configuration != _launch(read, RELEASES[-1], read.gpus[0]).configuration:
        return ((launch, None),)
    made = [
        (replace(_launch(read, release, gpu), unmodelled=launch.unmodelled), gpu)
        for gpu in read.gpus
    ]
    alike: dict[Any, tuple[Launch, str]] = {}
    for one, gpu in made:
        alike.setdefault((one.configuration, one.facts), (one, gpu))
    if len(alike) == 1:
        return ((made[0][0], None),)
    return tuple((one, platforms.CONDITIONS[gpu]) for one, gpu in alike.values())


def _launch(read: Read, release: str, gpu: str) -> Launch:
    """What a release makes of a launch on a kind of GPU."""
    flags, facts, given, resolved = read.flags, read.facts, read.beside, read.resolved
    hybrid, assumed, named = read.hybrid, read.assumed, read.names_a_model
    values = _Values(flags, facts, given, release, gpu)
    page = values.page()
    # Pipeline parallelism turns the overlap scheduler off once the strategy is chosen.
    wants_overlap = not flags.value("disable_overlap_schedule", False)
    overlap = wants_overlap and flags.value("pp_size", 1) == 1
    values.sources["overlap"] = "default" if overlap else "flag"
    strategy, draft = values.strategy(wants_overlap), values.draft_tokens()
    speculates = draft > 0 and "speculative_algorithm" in flags.settings
    algorithm = _algorithm(flags) if speculates else None
    values.sources["speculative_algorithm"] = "flag" if algorithm else "default"
    configuration = Configuration(
        page_size=page,
        dcp_size=values.pick("dcp_size"),
        mamba_track_interval=values.pick("mamba_track_interval"),
        speculative_num_draft_tokens=draft,
        speculative_algorithm=algorithm,
        chunked_prefill_size=values.chunk(),
        strategy=strategy,
        overlap=overlap and not (strategy == "no_buffer" and values.is_unnamed),
        mamba_chunk_size=values.pick("mamba_chunk_size"),
        recurrence=values.pick("recurrence"),
        page_size_given="page_size" in flags.settings and not resolved,
        tp_size=flags.value("tp_size"),
    )
    sources = values.sources
    if resolved:
        sources = {name: "log" if at == "flag" else at for name, at in sources.items()}
    return Launch(
        engine="sglang",
        words=read.words,
        configuration=configuration,
        sources=sources,
        context_length=flags.value("context_length"),
        unmodelled=_unmodelled(flags, facts, given, hybrid),
        settings=flags.settings,
        notes=tuple(flags.notes),
        reading={"given": given, "config": read.config, "resolved": resolved},
        read=read,
        facts=Facts(
            model=facts,
            hybrid=hybrid,
            assumed=assumed,
            names_a_model=named,
            radix_cache=not flags.value("disable_radix_cache", False),
            refused=None
            if strategy == "no_buffer"
            else _unbuffered(flags, facts, release, gpu) or _refused(facts, release, gpu),
            beyond=_beyond(flags),
            sessions=given.get("sessions", False),
            contested=tuple(flags.contested),
            unknown=tuple(flags.unresolved),
            gpus=read.gpus,
        ),
    )


def value_of(name: str, text: str) -> Any:
    """The value of a settable field that a text gives; `BadInput` where it gives none."""
    if name == "sessions":
        if text not in ("on", "off"):
            raise BadInput(f"--set {name}: {text[:40]!r} is neither on nor off")
        return text == "on"
    if name == "gpu":
        if (kind := platforms.kind_of(text)) is None:
            known = ", ".join(platforms.KINDS)
            raise BadInput(
                f"--set gpu: {text[:40]!r} is not known; accepted are {known} and names such as h200, b200 or mi355x"
            )
        return kind
    choices = {"recurrence": RECURRENCES, "strategy": STRATEGIES}.get(name)
    if choices is not None:
        if text not in choices:
            raise BadInput(
                f"--set {name}: {text[:40]!r} is not known; accepted are {', '.join(choices)}"
            )
        return text
    least = 0 if name == "speculative_num_draft_tokens" else 1
    if not text.isascii() or not text.isdigit() or not least <= int(text[:12]) <= LARGEST:
        raise BadInput(f"--set {name}: {text[:40]!r} is no whole number from {least} to {LARGEST}")
    return int(text)
