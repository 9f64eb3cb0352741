"""Reads a launch command: the configuration it resolves to, and where each value comes from."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from generators.common.errors import BadInput
from generators.launch.commands import launches
from generators.launch.words import Word
from generators.sglang.launch.flag_classes import not_modelled
from generators.sglang.launch.flags import FLAGS, LARGEST, Given, Note, Setting, read_flags
from generators.sglang.launch.models import UNKNOWN, ModelFacts, facts_of_model
from spec.sglang.configuration import RECURRENCES, STRATEGIES, Configuration

# Pages (tokens) that an attention backend accepts, the one first that it sets where another was asked for, and by which
# flags it does.  Source: SGLang 0.5.23, `arg_groups/overrides.py` (`_mla_backend_page_constraints`).
_DECODES = ("attention_backend", "decode_attention_backend")
_PREFILLS = (*_DECODES, "prefill_attention_backend")
_PAGES_OF_BACKEND = {
    "flashmla": ((64,), _DECODES),
    "trtllm_mla": ((64, 32), _DECODES),
    "cutedsl_mla": ((64, 32), _PREFILLS),
    "trtllm_mha": ((64, 16, 32, 128), (*_PREFILLS, "speculative_draft_attention_backend")),
}
# What may be given where a command does not hold it.
SETTABLE = (
    *("page_size", "dcp_size", "mamba_track_interval", "speculative_num_draft_tokens"),
    *("mamba_chunk_size", "recurrence", "strategy", "sessions"),
)
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
class Launch:
    """A launch command as far as checkpoints are concerned.

    `sources`: where each value comes from; `unmodelled`: why no rule fits it, if so; `refused`: why the engine refuses
    its strategy for a reason that stands in the model or in another flag; `beyond`: its flags that reach what is not
    modelled; `sessions`: whether its requests were said to carry session parameters; `words`: the command from the
    word that starts the engine on; `settings`: the flags that were read, by field; `notes`: what there is to say
    about its words; `reading`: how they were read; `convolves`: the model's draft keeps convolution windows;
    `recurrent`: whether the model has recurrent layers, None where it is not known; `nested_chunk`: the model's chunk stands in its text config alone.
    """

    engine: str
    model: str | None
    configuration: Configuration
    sources: dict[str, str]
    context_length: int | None
    radix_cache: bool
    unmodelled: str | None = None
    refused: str | None = None
    beyond: tuple[Beyond, ...] = ()
    sessions: bool = False
    words: tuple[Word, ...] = ()
    settings: Mapping[str, Setting] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    reading: Mapping[str, Any] = field(default_factory=dict)
    convolves: bool = False
    recurrent: bool | None = None
    nested_chunk: bool = False

    def value(self, name: str, default: Any = None) -> Any:
        """The value of a flag that was read, by its field."""
        return self.settings[name].value if name in self.settings else default

    def again(self, words: Sequence[Word]) -> Launch:
        """Other words read in the same way: with the same values told, the same model's config."""
        return read_words(self.engine, words, **self.reading)

    def place(self, *names: str) -> Word | None:
        """The word of the first of these fields that a flag gave, else the first word of the launch."""
        for name in names:
            if name in self.settings:
                return self.settings[name].flag
        return self.words[0] if self.words else None


def _draft_tokens(given: Given) -> tuple[int, str]:
    """Tokens of a verify step, as the engine resolves them from block sizes and steps."""
    if given.value("speculative_algorithm", "").upper() in ("", "NONE"):
        return 0, "default"
    more = {
        "speculative_num_draft_tokens": 0,
        "speculative_dspark_block_size": 1,
        "speculative_dflash_block_size": 0,
        "speculative_num_steps": 1,
    }
    for name, bonus in more.items():
        if (tokens := given.value(name)) is not None:
            return tokens + bonus, "flag"
    return 8, "assumed"


def _unbuffered(given: Given, facts: ModelFacts) -> str | None:
    """Why a launch can have no extra buffer, apart from its values: None where it can."""
    if not facts.extra_buffer:
        return "the engine has no extra_buffer strategy for this model; --mamba-radix-cache-strategy no_buffer starts"
    backend = given.value("linear_attn_backend", "triton")
    if backend != "triton":
        return f"extra_buffer needs --linear-attn-backend triton, not {backend[:40]}"
    return None


def _strategy(
    given: Given, overlap: bool, page: int, can_be_buffered: bool = True
) -> tuple[str, str]:
    named = given.value("mamba_radix_cache_strategy", "auto")
    if named == "auto":
        buffered = can_be_buffered and (overlap or ("page_size" in given.settings and page > 1))
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
    """Values of a configuration with their sources, each field asked of the better source first."""

    given: Given
    facts: ModelFacts
    told: Mapping[str, Any]
    sources: dict[str, str] = field(default_factory=dict)

    def pick(self, name: str) -> Any:
        if name in self.told:
            self.sources[name] = "flag"
            return self.told[name]
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
        """The resolved page: what was told, else what the attention backends make of it."""
        page = self.pick("page_size")
        if "page_size" in self.told:
            return page
        for backend, (accepted, flags) in _PAGES_OF_BACKEND.items():
            if page not in accepted and backend in map(self.given.value, flags):
                self.sources["page_size"] = "flag"
                page = accepted[0]
        return page

    def strategy(self, overlap: bool, page: int) -> str:
        can_be_buffered = _unbuffered(self.given, self.facts) is None
        strategy, self.sources["strategy"] = _strategy(self.given, overlap, page, can_be_buffered)
        if "strategy" in self.told:
            strategy, self.sources["strategy"] = self.told["strategy"], "flag"
        return strategy

    def draft_tokens(self) -> int:
        draft, source = _draft_tokens(self.given)
        if "speculative_num_draft_tokens" in self.told:
            draft, source = self.told["speculative_num_draft_tokens"], "flag"
        self.sources["speculative_num_draft_tokens"] = source
        return draft


def _unmodelled(
    engine: str, given: Given, facts: ModelFacts, told: Mapping[str, Any]
) -> str | None:
    """Why a launch cannot be judged by the rules, apart from its configuration."""
    if engine != "sglang":
        return f"the engine {engine} is not modelled yet"
    open_fields = [n for n in given.holes if n in _NEEDED and _NEEDED[n] not in told]
    if open_fields:
        name = open_fields[0]
        return (
            f"the value of {FLAGS[name][0]} is only known when the command is run; "
            f"--set {_NEEDED[name]}=VALUE gives it"
        )
    if "config_file" in given.settings or "config_file" in given.holes:
        return "--config hands settings to a file that is not there to be read"
    if facts.recurrent is False:
        return "the model has no recurrent layers, so it keeps no such checkpoints"
    if facts.unmodelled is not None:
        return facts.unmodelled
    if given.value("disaggregation_mode", "null") not in ("null", "none"):
        return (
            "PD disaggregation (--disaggregation-mode) moves states by rules that are not modelled"
        )
    if given.value("enable_linear_replayssm", False):
        return "--enable-linear-replayssm keeps its states by rules that are not modelled yet"
    return None


def _beyond(given: Given) -> tuple[Beyond, ...]:
    """The flags of a launch that reach what is not modelled; a value that is not known yet may."""
    found = {}
    for group in not_modelled():
        if group.needs and not any(name in given.settings for name in group.needs):
            continue
        for name in dict.fromkeys(group.field_of(f) for f in (*group.switches, *group.flags)):
            told = name in given.settings and group.takes_effect(given.settings[name].value)
            if told or name in given.holes:
                found[name] = Beyond(name, group.producers, group.why)
    return tuple(found.values())


def read_words(
    engine: str,
    words: Sequence[Word],
    *,
    told: Mapping[str, Any] | None = None,
    config: Path | None = None,
    resolved: bool = False,
) -> Launch:
    """The configuration that the words behind an engine resolve to.

    `told`: values given apart from the command (`SETTABLE`), `config`: the model's config.json,
    `resolved`: the values are what a running engine printed. `BadInput` for a value no engine would take.
    """
    given = read_flags(words) if engine == "sglang" else Given()
    facts = facts_of_model(given.value("model_path"), config)
    values = _Values(given, facts, told or {})
    page = values.page()
    # Pipeline parallelism turns the overlap scheduler off once the strategy is chosen.
    wants_overlap = not given.value("disable_overlap_schedule", False)
    overlap = wants_overlap and given.value("pp_size", 1) == 1
    values.sources["overlap"] = "default" if overlap else "flag"
    strategy, draft = values.strategy(wants_overlap, page), values.draft_tokens()
    speculates = draft > 0 and "speculative_algorithm" in given.settings
    algorithm = given.value("speculative_algorithm", "").upper() if speculates else None
    values.sources["speculative_algorithm"] = "flag" if algorithm else "default"
    configuration = Configuration(
        page_size=page,
        dcp_size=values.pick("dcp_size"),
        mamba_track_interval=values.pick("mamba_track_interval"),
        speculative_num_draft_tokens=draft,
        speculative_algorithm=algorithm,
        chunked_prefill_size=values.pick("chunked_prefill_size"),
        strategy=strategy,
        overlap=overlap and strategy != "no_buffer",
        mamba_chunk_size=values.pick("mamba_chunk_size"),
        recurrence=values.pick("recurrence"),
        page_size_given="page_size" in given.settings and not resolved,
        tp_size=given.value("tp_size"),
    )
    sources = values.sources
    if resolved:
        sources = {name: "log" if at == "flag" else at for name, at in sources.items()}
    return Launch(
        engine=engine,
        model=given.value("model_path"),
        configuration=configuration,
        sources=sources,
        context_length=given.value("context_length"),
        radix_cache=not given.value("disable_radix_cache", False),
        unmodelled=_unmodelled(engine, given, facts, values.told),
        refused=None if strategy == "no_buffer" else _unbuffered(given, facts),
        beyond=_beyond(given),
        sessions=values.told.get("sessions", False),
        words=tuple(words),
        settings=given.settings,
        notes=tuple(given.notes),
        reading={"told": told, "config": config, "resolved": resolved},
        convolves=facts.convolves,
        recurrent=facts.recurrent,
        nested_chunk=facts.nested_chunk,
    )


def only_launched(words: Sequence[Word]) -> tuple[str, list[Word]]:
    """The one engine that a command starts and its words; `BadInput` where there is none, or more than one."""
    found = launches(words)
    if len(found) > 1:
        raise BadInput("this command starts more than one engine; give one launch at a time")
    if not found:
        raise BadInput(
            "no engine is started by this command; accepted are 'python -m sglang.launch_server ...' "
            "and 'sglang serve ...', alone or inside another command"
        )
    return found[0]


def read_launch(command: Sequence[str], told: Mapping[str, Any] | None = None) -> Launch:
    """The configuration that one launch command resolves to; `BadInput` for a value no engine would take."""
    return read_words(*only_launched([Word(text) for text in command]), told=told)


def told_from(pairs: Sequence[str]) -> dict[str, Any]:
    """The values of `FIELD=VALUE` texts; `BadInput` for an unknown field or a value it cannot have."""
    told: dict[str, Any] = {}
    for pair in pairs:
        name, separator, text = pair.partition("=")
        name = name.strip().lstrip("-").replace("-", "_")
        if not separator or name not in SETTABLE:
            raise BadInput(f"--set {pair!r}: accepted is FIELD=VALUE with {', '.join(SETTABLE)}")
        told[name] = _told(name, text.strip())
    return told


def _told(name: str, text: str) -> Any:
    if name == "sessions":
        if text not in ("on", "off"):
            raise BadInput(f"--set {name}: {text[:40]!r} is neither on nor off")
        return text == "on"
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
