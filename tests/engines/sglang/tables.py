"""Measures what each release makes of its flags, and writes it down for `check`.

In an environment that has the engine, `python -m tests.engines.sglang.tables measure DIR` runs the release's own parser and
resolution code and leaves what it found in DIR.  Anywhere, `... write DIR` makes the tables of
`generators/sglang/launch` of what was found of all releases; `... check DIR` compares only.
"""

import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from spec.sglang.releases import RELEASES

LAUNCH = Path(__file__).parents[3] / "generators" / "sglang" / "launch"
OPTIONS, PAGES = LAUNCH / "options.toml", LAUNCH / "pages.toml"
# A page that no backend keeps which changes any, and others (tokens).
_TELLING, _PAGES = 8, (2, 16, 32, 64, 128, 256)
_BACKENDS = (
    *("--attention-backend", "--decode-attention-backend", "--prefill-attention-backend"),
    "--speculative-draft-attention-backend",
)
MLA = ("Kimi", "Bailing", "Glm5Next", "GigaChat")
_LATENT = {
    "kv_lora_rank": 512,
    "q_lora_rank": None,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "use_mla_nope": False,
}
_HEAD = """# Written by tests/engines/sglang/tables.py, not by hand: {}.
# Measured in SGLang 0.5.17 to 0.5.23; first, last: the first and the last release of which an entry is true, where not of all."""
_PAGES_HEAD = """# out: the page where none is given; keeps: pages that stay as they are given; to: what every other page becomes; without
# keeps every given page stays. Not measured yet, but taken from 0.5.23: 0.5.21 and 0.5.22."""
_KINDS = {"int": "int", "float": "float", "human_readable_int": "size"}


def architectures() -> list[str]:
    """The architectures of the release whose layers keep recurrent states."""
    from sglang.srt.arg_groups import overrides

    named = {
        *getattr(overrides, "_MAMBA_RADIX_CACHE_ARCHS", ()),
        *getattr(overrides, "_MAMBA_EXTRA_BUFFER_ARCHS", ()),
    }
    from sglang.srt.configs import linear_attn_model_registry as registry

    for spec in registry._LINEAR_ATTN_MODEL_REGISTRY:
        named |= set(spec.arch_names)
    return sorted(named)


def model(folder: Path, architecture: str) -> Path:
    """A folder with the config of a small model of an architecture."""
    from tests.engines.sglang import resolved

    more: dict[str, Any] = {"num_experts": 4, "mlp_hidden_act": "relu2"}
    if architecture.startswith(MLA):
        more |= _LATENT
    kind = "qwen3_next"
    if architecture.startswith("Granite"):
        kind = "granitemoehybrid"
        more["layer_types"] = ["mamba", "mamba", "mamba", "attention"]
    if architecture.startswith("Inkling"):
        more |= {"local_layer_ids": [0], "mtp_local_layer_ids": [0]}
    return resolved.written(folder / architecture, architecture, kind, **more)


def draft(folder: Path) -> Path:
    """A folder with the config of a small draft model, of blocks of 7 tokens."""
    from tests.engines.sglang import resolved

    return resolved.written(folder / "draft", "Qwen3ForCausalLM", "qwen3", block_size=7)


def speculations(folder: Path) -> dict[str, list[str]]:
    """The flags of each kind of speculation that resolutions tell apart."""
    algorithm = "--speculative-algorithm"
    chain = ["--speculative-num-steps", "3", "--speculative-num-draft-tokens", "4"]
    drafted = ["--speculative-draft-model-path", str(draft(folder))]
    return {
        "none": [],
        "chain": [algorithm, "EAGLE", *chain, "--speculative-eagle-topk", "1"],
        "tree": [algorithm, "EAGLE", *chain, "--speculative-eagle-topk", "2"],
        "unset": [algorithm, "EAGLE"],
        "NGRAM": [algorithm, "NGRAM"],
        "DFLASH": [algorithm, "DFLASH", *drafted],
        "DSPARK": [algorithm, "DSPARK", *drafted],
    }


def page_rule(words: Sequence[str], gpu: str) -> dict[str, Any] | None:
    """What becomes of the page on a kind of GPU; None where it stays as it is, {"refused": ...} where nothing starts."""
    from tests.engines.sglang import resolved

    found: dict[int | None, int] = {}
    why = ""
    for page in (None, _TELLING, *_PAGES):
        given = [] if page is None else ["--page-size", str(page)]
        try:
            found[page] = resolved.resolved([*words, *given], gpu)["page_size"]
        except resolved.Refused as error:
            why = str(error)
        if found.get(None) == 1 and found.get(_TELLING) == _TELLING:
            return None
    if not found:
        return {"refused": why}
    changed = {page: to for page, to in found.items() if page not in (None, to)}
    out = found.get(None, 1)
    if not changed:
        return None if out == 1 else {"out": out}
    assert len(set(changed.values())) == 1, (words, gpu, found)
    keeps = [page for page, to in found.items() if page == to]
    return {"out": out, "keeps": keeps, "to": next(iter(changed.values()))}


def measured() -> dict[str, Any]:
    """All that the tables need of the installed release."""
    from tests.engines.sglang import resolved

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        return {
            "options": list(_options()),
            "backends": list(_backends(folder)),
            "gpus": list(_defaults(folder)),
            "buffered": list(_buffered(folder)),
            "release": resolved.engine.release(),
        }


def _options() -> Iterator[dict[str, Any]]:
    from tests.engines.sglang import resolved

    for action in resolved.parser()._actions:
        name = getattr(action.type, "__name__", None)
        yield {
            "flags": [f for f in action.option_strings if f.startswith("--")],
            "kind": "switch" if action.nargs == 0 else _KINDS.get(name or "", "text"),
            "many": action.nargs in ("+", "*"),
            "optional": action.nargs in ("?", "*"),
            "choices": None if action.choices is None else sorted(map(str, action.choices)),
            "dest": action.dest,
            "old": type(action).__name__.startswith("Deprecated"),
        }


def _backends(folder: Path) -> Iterator[dict[str, Any]]:
    """The pages of every attention backend, by the flag that names it, on GPUs with it."""
    from tests.engines.sglang import resolved

    choices = {a.option_strings[0]: a.choices for a in resolved.parser()._actions if a.choices}
    for architecture in ("Qwen3_5MoeForConditionalGeneration", "KimiLinearForCausalLM"):
        start = ["--model-path", str(model(folder, architecture))]
        for flag in _BACKENDS:
            speculates = speculations(folder)["chain"] if "draft" in flag else []
            other = [] if flag == _BACKENDS[0] else [_BACKENDS[0], "flashinfer"]
            for backend in sorted(choices.get(flag) or ()):
                words = [*start, flag, backend, *speculates, *other]
                for gpu in ("sm90", "sm100"):
                    rule = page_rule(words, gpu)
                    if rule is not None and "refused" not in rule:
                        latent = architecture.startswith(MLA)
                        yield {
                            "backend": backend,
                            "flag": flag,
                            "gpu": gpu,
                            "latent": latent,
                        } | rule


def _defaults(folder: Path) -> Iterator[dict[str, Any]]:
    """The pages of every architecture on every kind of GPU where no backend is named for both phases."""
    from tests.engines.sglang import resolved

    named = ["--mamba-radix-cache-strategy", "extra_buffer"]
    for architecture in architectures():
        start = ["--model-path", str(model(folder, architecture))]
        for gpu in resolved.GPUS:
            for kind, flags in speculations(folder).items():
                if gpu != "sm100" and kind != "none":
                    continue
                for strategy in ("auto", "named"):
                    for phase in ("none", "one") if gpu == "sm100" else ("none",):
                        words = [*start, *flags, *(named if strategy == "named" else ())]
                        words += [] if phase == "none" else [_BACKENDS[2], "flashinfer"]
                        try:
                            rule = page_rule(words, gpu)
                        except AttributeError:
                            continue
                        if rule is not None and "refused" not in rule:
                            at = {"architecture": architecture, "gpu": gpu, "speculation": kind}
                            yield at | {"strategy": strategy, "phase": phase} | rule


def _buffered(folder: Path) -> Iterator[dict[str, Any]]:
    """Whether the engine's own choice of a strategy buffers, by architecture, kind of GPU and kernel backend."""
    from tests.engines.sglang import resolved

    choices = {a.option_strings[0]: a.choices for a in resolved.parser()._actions if a.choices}
    kernels = choices["--linear-attn-backend"]
    for architecture in architectures():
        start = ["--model-path", str(model(folder, architecture))]
        for gpu in resolved.GPUS:
            for kernel in sorted(kernels) if gpu == "sm90" else ["triton"]:
                try:
                    made = resolved.resolved([*start, "--linear-attn-backend", kernel], gpu)
                except (resolved.Refused, AttributeError) as error:
                    strategy = f"refused: {error}"
                else:
                    strategy = made["mamba_radix_cache_strategy"]
                yield {"architecture": architecture, "gpu": gpu, "kernel": kernel, "is": strategy}


def spans(found: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """The first and the last release of every run of releases that have the same, by release."""
    run: list[str] = []
    for release in RELEASES:
        here = found.get(release)
        if run and here != found[run[-1]]:
            yield run[0], run[-1], found[run[-1]]
            run = []
        if here is not None:
            run.append(release)
    if run:
        yield run[0], run[-1], found[run[-1]]


def options_table(measured: Mapping[str, Any]) -> str:
    """The text of options.toml."""
    asked: dict[str, dict[str, Any]] = {}
    for release, found in measured.items():
        for one in found["options"]:
            if one["kind"] in ("int", "float", "size") or one["choices"] or one["many"]:
                what = (one["kind"], one["many"], tuple(one["choices"] or ()))
                for flag in one["flags"]:
                    asked.setdefault(flag, {})[release] = what
    grouped: dict[Any, list[str]] = {}
    for flag, by_release in asked.items():
        for first, last, what in spans(by_release):
            grouped.setdefault((what, first, last), []).append(flag)
    lines = [_HEAD.format("the flags whose values a release's parser looks at"), ""]
    for (what, first, last), flags in sorted(grouped.items(), key=str):
        kind, many, choices = what
        entry = {"kind": kind} | ({"many": True} if many else {})
        entry |= {} if first == RELEASES[0] else {"first": first}
        entry |= {} if last == RELEASES[-1] else {"last": last}
        entry |= {"choices": list(choices)} if choices else {}
        lines += ["[[option]]", *_entry(entry | {"flags": sorted(flags)}), ""]
    for flag, to in sorted(_renamed(measured).items()):
        lines += ["[[renamed]]", *_entry({"flag": flag, "to": to}), ""]
    return "\n".join(lines)


def _renamed(measured: Mapping[str, Any]) -> dict[str, str]:
    """Flags that are gone in a later release, with the one that sets there what they set."""
    newest = measured[RELEASES[-1]]["options"]
    now = {flag for one in newest for flag in one["flags"]}
    found = {}
    for release in RELEASES:
        for one in measured[release]["options"]:
            for flag in set(one["flags"]) - now:
                same = [n for n in newest if n["dest"] == one["dest"] and not n["old"]]
                if same and same[0]["kind"] == one["kind"]:
                    found[flag] = same[0]["flags"][0]
    return found


def pages_table(measured: Mapping[str, Any]) -> str:
    """The text of pages.toml."""
    lines = [_HEAD.format("the pages (tokens) that backends, models and GPUs set"), _PAGES_HEAD, ""]
    lines += _grouped(measured, "backends", "backend", ("backend", "flag", "gpu", "latent"))
    keys = ("architecture", "gpu", "speculation", "strategy", "phase")
    lines += _grouped(measured, "gpus", "default", keys)
    for title, begins in (("unbuffered", "no_buffer"), ("refused", "refused: extra_buffer needs")):
        lines += _strategies(measured, title, begins)
    return "\n".join(lines)


def _strategies(measured: Mapping[str, Any], title: str, begins: str) -> Iterator[str]:
    """Entries of the architectures whose strategy, left to the engine, ends in one way; on SM90 and on XPUs."""
    ends: dict[tuple[str, str], dict[str, Any]] = {}
    for release, found in measured.items():
        for one in found["buffered"]:
            at = one["kernel"] == "triton" and one["gpu"] in ("sm90", "xpu")
            if at and one["is"].startswith(begins):
                ends.setdefault((one["gpu"], one["architecture"]), {})[release] = True
    grouped: dict[Any, list[str]] = {}
    for (gpu, architecture), found in ends.items():
        for first, last, _ in spans(found):
            grouped.setdefault((gpu, first, last), []).append(architecture)
    for (gpu, first, last), architectures in sorted(grouped.items()):
        span = {} if first == RELEASES[0] else {"first": first}
        span |= {} if last == RELEASES[-1] else {"last": last}
        entry = {"gpu": [gpu]} | span | {"architecture": sorted(architectures)}
        yield from (f"[[{title}]]", *_entry(entry), "")


def _grouped(
    measured: Mapping[str, Any], part: str, title: str, keys: Sequence[str]
) -> Iterator[str]:
    """Entries of one part, those that differ in one key alone joined, key by key."""
    rules: dict[tuple[Any, ...], dict[str, Any]] = {}
    for release, found in measured.items():
        for one in found[part]:
            key = tuple((one[name],) for name in keys)
            rule = (one["out"], tuple(one.get("keeps", ("any",))), one.get("to"))
            rules.setdefault(key, {})[release] = rule
    rows = {(k, s[:2], s[2]) for k, found in rules.items() for s in spans(found)}
    for i in range(len(keys)):
        joined: dict[Any, set[Any]] = {}
        for key, span, rule in rows:
            joined.setdefault((key[:i], key[i + 1 :], span, rule), set()).update(key[i])
        rows = {
            ((*before, tuple(sorted(values)), *after), span, rule)
            for (before, after, span, rule), values in joined.items()
        }
    for key, (first, last), (out, keeps, to) in sorted(rows, key=str):
        entry: dict[str, Any] = {name: list(values) for name, values in zip(keys, key, strict=True)}
        entry |= {} if first == RELEASES[0] else {"first": first}
        entry |= {} if last == RELEASES[-1] else {"last": last}
        entry["out"] = out
        if to is not None:
            entry |= {"keeps": list(keeps), "to": to}
        yield from (f"[[{title}]]", *_entry(entry), "")


def _entry(entry: Mapping[str, Any]) -> Iterator[str]:
    for name, value in entry.items():
        text = json.dumps(value)
        if len(text) > 100 and isinstance(value, list):
            inner = "".join(f"    {json.dumps(one)},\n" for one in value)
            text = f"[\n{inner}]"
        yield f"{name} = {text}"


def main(arguments: Sequence[str]) -> int:
    job, folder = arguments[0], Path(arguments[1])
    if job == "measure":
        found = measured()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{found['release']}.json").write_text(json.dumps(found, indent=1))
        return 0
    read = {r: json.loads((folder / f"{r}.json").read_text()) for r in RELEASES}
    tables = {OPTIONS: options_table(read), PAGES: pages_table(read)}
    if job == "check":
        stale = [path for path, text in tables.items() if path.read_text() != text]
        for path in stale:
            print(f"{path.name} is not what was measured", file=sys.stderr)
        return 5 if stale else 0
    for path, text in tables.items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
