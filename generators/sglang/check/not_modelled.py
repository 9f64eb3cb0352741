"""The launches of SGLang that a release refuses, and those, or their producers, that no rule models."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from generators.check.findings import Remark
from generators.launch.launch import Launch
from generators.sglang import codes
from generators.sglang.launch import options
from generators.sglang.launch.flag_classes import meant_by
from generators.sglang.launch.flags import spelling_of
from generators.sglang.launch.models import possible_chunks
from generators.sglang.launch.resolve import Beyond
from spec.engine import Guard
from spec.sglang.configuration import Configuration
from spec.sglang.releases import RELEASES, Design


def refused_by(design: Design, c: Configuration) -> list[Guard]:
    """The start-up guards of a release that do not accept the configuration."""
    return [guard for guard in design.guards if not guard.accepts(c)]


# The guard is evaluated before the engine chooses a number of draft tokens by itself.
_ON_GIVEN_DRAFTS = "interval_covers_draft_tokens"


def _names_drafts(launch: Launch) -> bool:
    """Whether the number of draft tokens was given."""
    name = "speculative_num_draft_tokens"
    return name in launch.settings or name in launch.reading.get("given", {})


def refusals(design: Design, launch: Launch) -> Iterator[Remark]:
    """Why the release refuses to start with a launch, if it does."""
    yield from _refused_words(design, launch)
    if launch.unmodelled or not _is_served(design, launch):
        return
    for guard in refused_by(design, launch.configuration):
        if guard.name == _ON_GIVEN_DRAFTS and not _names_drafts(launch):
            continue
        of_strategy = guard.name in codes.CANNOT_START.guards
        code = codes.CANNOT_START if of_strategy else codes.REJECTED
        yield Remark(code, f"the release refuses to start: {guard.demands}")
    if launch.facts.refused:
        yield Remark(codes.CANNOT_START, f"the server does not start: {launch.facts.refused}")


def not_modelled(design: Design, launch: Launch) -> str | None:
    """Why no rule says what the release does with a launch; None where the rules do."""
    model = launch.facts.model
    if launch.unmodelled is None and not _is_served(design, launch):
        return (
            f"not checked: SGLang {design.release} does not serve the model's architecture, {model.architecture}; "
            f"{model.since} is the first modelled release that does"
        )
    if launch.unmodelled is None and launch.configuration.strategy == "no_buffer":
        return "not checked: gridproof does not model the no_buffer strategy yet"
    return launch.unmodelled


def keeps_checkpoints(launch: Launch) -> bool:
    """Whether a launch keeps any checkpoints."""
    return launch.facts.radix_cache and launch.facts.hybrid is True


def assumed(launch: Launch) -> str | None:
    """What a launch is judged by though nothing says so: that its model is hybrid, and its chunk."""
    of_chunk = launch.sources["mamba_chunk_size"] == "assumed"
    chunk = f"a chunk of {launch.configuration.mamba_chunk_size} tokens"
    settles = "--config PATH-to-config.json or --set mamba_chunk_size=TOKENS settles it"
    if launch.facts.assumed is not None:
        with_chunk = f" with {chunk}" if of_chunk else ""
        return f"judged as a hybrid model{with_chunk}: {launch.facts.assumed}; {settles}"
    if of_chunk:
        return f"judged with {chunk}, as that of the model is not known; {settles}"
    return None


def may_be_mended(launch: Launch, *, in_a_file: bool) -> bool:
    """Whether flags may be offered for a launch: its model is known to be hybrid, or it is a question about flags alone."""
    if launch.facts.hybrid is not True:
        return False
    return launch.facts.assumed is None or not (in_a_file or launch.facts.names_a_model)


def alternatives(launch: Launch) -> Iterator[tuple[str, Launch]]:
    """The launch with each other chunk that its model may have, where that is not known."""
    c = launch.configuration
    if launch.sources["mamba_chunk_size"] != "assumed":
        return
    for chunk in possible_chunks():
        if chunk != c.mamba_chunk_size:
            yield (
                f"a chunk of {chunk} tokens",
                replace(launch, configuration=replace(c, mamba_chunk_size=chunk)),
            )


def _is_served(design: Design, launch: Launch) -> bool:
    """Whether the release has the architecture of the launch's model, as far as that is known."""
    first = launch.facts.model.since
    return first is None or RELEASES.index(design.release) >= RELEASES.index(first)


def concerned(launch: Launch, beyond: Beyond) -> list[str]:
    """The producers that a flag takes out of the model in this launch."""
    return [p for p in beyond.producers if p != "verify" or launch.configuration.speculates]


def _refused_words(design: Design, launch: Launch) -> Iterator[Remark]:
    """The flags that the release's parser refuses, by their names or their values."""
    for spelling, values in launch.facts.contested:
        why = options.objection(spelling, values, design.release)
        if why is not None:
            is_known = len(meant_by(spelling, design.release)) == 1
            code = codes.REJECTED if is_known else codes.MISSPELT
            message = f"SGLang {design.release} {why}, and does not start with it"
            yield Remark(code, message, about=(spelling,))


def remarks(design: Design, launch: Launch, broken: Collection[str]) -> Iterator[Remark]:
    """The flags that reach what no rule models, and the producers that they concern."""
    for beyond in () if launch.unmodelled else launch.facts.beyond:
        left = [p for p in concerned(launch, beyond) if p not in broken]
        if left:
            flag, named = spelling_of(beyond.field), " and ".join(left)
            message = (
                f"not checked: {named}, because gridproof does not model {flag} ({beyond.why})"
            )
            yield Remark(codes.NOT_MODELLED, message, about=(beyond.field,))


def producers(launch: Launch) -> tuple[str, ...]:
    """The producers of checkpoints that a launch has though it is not judged."""
    beyond = (p for flag in launch.facts.beyond for p in concerned(launch, flag))
    return tuple(dict.fromkeys(("decode", "extend", "slots", "flush", *beyond)))
