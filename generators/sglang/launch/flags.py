"""Reads the flags of a launch that decide about checkpoints, each with the word it stands in."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from generators.cases import codes
from generators.common.errors import BadInput
from generators.launch.launch import Note, Setting
from generators.launch.words import Word
from generators.sglang.launch import options
from generators.sglang.launch.flag_classes import engine_flags, not_modelled

CONFIG = "--config"
# The flags that decide about checkpoints, by field; the first spelling is the engine's own.
FLAGS: dict[str, tuple[str, ...]] = {
    "page_size": ("--page-size",),
    "dcp_size": ("--dcp-size", "--decode-context-parallel-size", "--dcp"),
    "tp_size": ("--tp-size", "--tensor-parallel-size", "--tp"),
    "mamba_track_interval": ("--mamba-track-interval",),
    "mamba_radix_cache_strategy": ("--mamba-radix-cache-strategy", "--mamba-scheduler-strategy"),
    "chunked_prefill_size": ("--chunked-prefill-size",),
    "context_length": ("--context-length",),
    "attention_backend": ("--attention-backend",),
    "speculative_algorithm": ("--speculative-algorithm", "--speculative-algo"),
    "speculative_num_draft_tokens": ("--speculative-num-draft-tokens",),
    "speculative_num_steps": ("--speculative-num-steps",),
    "speculative_dspark_block_size": ("--speculative-dspark-block-size",),
    "speculative_dflash_block_size": ("--speculative-dflash-block-size",),
    "model_path": ("--model-path", "--model"),
    "config_file": (CONFIG,),
    "pp_size": ("--pp-size", "--pipeline-parallel-size"),
    "linear_attn_backend": ("--linear-attn-backend",),
    "decode_attention_backend": ("--decode-attention-backend",),
    "prefill_attention_backend": ("--prefill-attention-backend",),
    "speculative_draft_attention_backend": ("--speculative-draft-attention-backend",),
    "hicache_write_policy": ("--hicache-write-policy",),
    "speculative_eagle_topk": ("--speculative-eagle-topk",),
    "dp_size": ("--dp-size", "--data-parallel-size"),
    "attn_dp_size": ("--attn-dp-size",),
    "device": ("--device",),
}
SWITCHES: dict[str, tuple[str, ...]] = {
    "disable_radix_cache": ("--disable-radix-cache",),
    "disable_overlap_schedule": ("--disable-overlap-schedule",),
    "enable_mixed_chunk": ("--enable-mixed-chunk",),
    "enable_dp_attention": ("--enable-dp-attention",),
}
_TEXT = [
    *("speculative_algorithm", "model_path", "mamba_radix_cache_strategy", "linear_attn_backend"),
    *("attention_backend", "decode_attention_backend", "prefill_attention_backend"),
    "speculative_draft_attention_backend",
    *("config_file", "hicache_write_policy", "device"),
]
# The flags that reach what is not modelled are read as well.
for _group in not_modelled():
    FLAGS |= _group.spellings(_group.flags)
    SWITCHES |= _group.spellings(_group.switches)
    _TEXT += [_group.field_of(flag) for flag in _group.flags]
_FIELD_OF = {spelling: name for name, spellings in FLAGS.items() for spelling in spellings}
_SWITCH_OF = {spelling: name for name, spellings in SWITCHES.items() for spelling in spellings}
_READ = (*_FIELD_OF, *_SWITCH_OF)
LARGEST = 1 << 31
# What a script was given is handed on; it is judged as if it was given nothing.
_ALL_ARGUMENTS = ("$@", "$*", "${@}", "${*}")
_LONGEST_FLAG = 60
_MOST_LOOKED_UP = 50
# Flags that no other engine has: a list of flags with one of them is meant for SGLang.
_SGLANG_ONLY = (
    *("--page-size", "--dcp-size", "--mamba-track-interval", "--chunked-prefill-size"),
    *("--mamba-radix-cache-strategy", "--mamba-scheduler-strategy", "--disable-radix-cache"),
    *("--disable-overlap-schedule", "--mem-fraction-static", "--speculative-num-draft-tokens"),
)


@dataclass
class Given:
    """What the words of a launch give: settings by field, fields whose value is not known, notes.

    `is_strict`: whether the command refuses flags that the engine does not have; `contested`: flags of such a command,
    with their values, that not every modelled release accepts; `hidden`: words that become flags when the command runs.
    """

    settings: dict[str, Setting] = field(default_factory=dict)
    unresolved: dict[str, Word] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    looked_up: int = 0
    is_strict: bool = False
    contested: dict[tuple[str, tuple[str, ...]], None] = field(default_factory=dict)
    hidden: list[Word] = field(default_factory=list)

    def near(self, spelling: str) -> str | None:
        """The flag that was probably meant by an unknown one; a launch has few of these, so no more are looked up."""
        self.looked_up += 1
        return _nearest(spelling) if self.looked_up <= _MOST_LOOKED_UP else None

    def value(self, name: str, default: Any = None) -> Any:
        return self.settings[name].value if name in self.settings else default


def field_of(flag: str) -> str:
    """The field that a flag sets."""
    return _FIELD_OF.get(flag) or _SWITCH_OF[flag]


def spelling_of(name: str) -> str:
    """The engine's own spelling of the flag that sets a field."""
    return (FLAGS.get(name) or SWITCHES[name])[0]


def is_read(flag: str) -> bool:
    """Whether a flag decides about checkpoints."""
    return flag in _READ


def has_flag(flag: str) -> bool:
    """Whether a modelled release has a flag of this name."""
    return flag in _READ or flag in engine_flags()


def is_sglang_only(flag: str) -> bool:
    """Whether only SGLang has a flag of this name."""
    return flag in _SGLANG_ONLY


def only_flags(words: Sequence[Word]) -> bool:
    """Whether these words are flags of SGLang without the word that starts it, each flag with its value."""
    texts = [word.text for word in words]
    if not texts or not texts[0].startswith("--") or any(" --" in text for text in texts):
        return False
    spellings = [text.partition("=")[0] for text in texts]
    return any(map(is_sglang_only, spellings)) and all(
        text not in _FIELD_OF or not following.startswith("--")
        for text, following in zip(texts, [*texts[1:], "--"], strict=True)
    )


def _number(spelling: str, text: str) -> int:
    try:
        read = options.size if spelling == "--context-length" else int
        value = read(text) if len(text) <= 40 else LARGEST + 1
    except ValueError:
        raise BadInput(f"{spelling}: {text[:40]!r} is not a whole number") from None
    least = -1 if spelling == "--chunked-prefill-size" else 1
    if not least <= value <= LARGEST or value == 0:
        wanted = "-1 (off) or at least 1" if least == -1 else "at least 1"
        shown = text if len(text) <= 20 else f"{text[:20]}..."
        raise BadInput(
            f"{spelling}: {shown} is not accepted; it must be {wanted}, at most {LARGEST}"
        )
    return value


def _full(spelling: str) -> str:
    """A flag as the engine reads it: an unambiguous beginning stands for the whole, as argparse has it."""
    if spelling in _READ or not spelling.startswith("--") or len(spelling) < 5:
        return spelling
    dashed = spelling.replace("_", "-")
    if dashed != spelling and dashed in _READ:
        raise BadInput(f"{spelling}: the engine has no such flag; it is spelled {dashed}")
    if spelling in engine_flags():
        return spelling
    longer = {k for k in _READ if k.startswith(spelling)}
    fields = {_FIELD_OF.get(k) or _SWITCH_OF[k] for k in longer}
    return min(longer, key=len) if len(fields) == 1 else spelling


def _is_unknown(spelling: str) -> bool:
    return spelling.startswith("--") and spelling not in engine_flags() and spelling not in _READ


def _nearest(spelling: str) -> str | None:
    """The flag that was probably meant, where the engine has none of this name but one like it decides."""
    if len(spelling) > _LONGEST_FLAG or any(known.startswith(spelling) for known in engine_flags()):
        return None
    near = difflib.get_close_matches(spelling, [*_READ, *engine_flags()], n=1, cutoff=0.84)
    return near[0] if near and near[0] in _READ else None


def _refuses_others(words: Sequence[Word]) -> bool:
    """Whether these words start the server itself, which refuses flags that it does not have, and no wrapper of it.

    `sglang serve` with a type of model may start another server. Source: SGLang 0.5.17 to 0.5.23, `cli/serve.py`.
    """
    texts = [word.text for word in words]
    if texts[:2] == ["sglang", "serve"]:
        return not any(text.partition("=")[0] == "--model-type" for text in texts)
    return texts[:1] == ["sglang.launch_server"]


def read_flags(words: Sequence[Word]) -> Given:
    """The settings in the words behind an engine; everything that does not decide is passed over."""
    given = Given(is_strict=_refuses_others(words))
    if given.is_strict:
        _enter_contested(words, given)
    position = 0
    while position < len(words):
        position += _read_one(words, position, given)
    return given


def _enter_contested(words: Sequence[Word], given: Given) -> None:
    """Enter the flags that some modelled release refuses with the values that they have here."""
    texts = [None if word.is_unresolved else word.text for word in words]
    for position, word in enumerate(words):
        spelling = word.text.partition("=")[0]
        if not spelling.startswith("--") or not options.is_a_flag(spelling):
            continue
        values = tuple(options.given(texts, position))
        if options.is_contested(spelling, values):
            given.contested[spelling, values] = None
        if len(given.contested) >= _MOST_LOOKED_UP:
            return


def _read_one(words: Sequence[Word], position: int, given: Given) -> int:
    """Read the word at a position; how many words it took."""
    word = words[position]
    spelling, has_value, text = word.text.partition("=")
    spelling = _full(spelling)
    if spelling == CONFIG and has_value:
        message = f"the engine reads a configuration file only as {CONFIG} FILE, not as {CONFIG}={text[:40]}"
        given.notes.append(Note(codes.MISSPELT, message, word, "warning"))
        return 1
    if spelling in _SWITCH_OF:
        name = _SWITCH_OF[spelling]
        given.settings[name] = Setting(True, word, word, given.settings.get(name))
        return 1
    if spelling in _FIELD_OF:
        return _read_value(words, position, spelling, text if has_value else None, given)
    if _is_unknown(spelling) and (near := given.near(spelling)) is not None:
        message = f"SGLang has no flag {spelling}; did you mean {near}?"
        given.notes.append(Note(codes.MISSPELT, message, word, "warning"))
    elif word.is_unresolved and not spelling.startswith("--") and not _is_a_value(words, position):
        _note_what_it_adds(word, given)
    return 1


def _note_what_it_adds(word: Word, given: Given) -> None:
    """Enter a word that becomes flags when the command runs, unless each of its choices decides nothing."""
    if word.options and not any(_decides(other) for option in word.options for other in option):
        return
    message = f"{word.shown} is only known when the command runs; what it adds is not checked"
    given.notes.append(Note(codes.UNRESOLVED, message, word))
    if word.text not in _ALL_ARGUMENTS:
        given.hidden.append(word)


def _decides(word: Word) -> bool:
    """Whether a word may be a flag that something depends on."""
    if word.is_unresolved or word.text == CONFIG:
        return True
    spelling = word.text.partition("=")[0]
    return spelling.startswith("--") and is_read(_full(spelling))


def _is_a_value(words: Sequence[Word], position: int) -> bool:
    """Whether the word at a position belongs to the flag before it."""
    before = words[position - 1].text if position else ""
    takes_one = before.startswith("-") and "=" not in before
    return takes_one and not engine_flags().get(before, False)


def _read_value(
    words: Sequence[Word], position: int, spelling: str, text: str | None, given: Given
) -> int:
    name, word, taken = _FIELD_OF[spelling], words[position], 1
    holder = word
    if text is None:
        if position + 1 >= len(words):
            raise BadInput(f"{spelling}: its value is missing")
        holder, taken = words[position + 1], 2
        text = holder.text
        if text.startswith("--"):
            raise BadInput(f"{spelling}: its value is missing")
    if not text:
        raise BadInput(f"{spelling}: its value is missing")
    if holder.is_unresolved:
        given.settings.pop(name, None)
        given.unresolved[name] = word
        message = f"the value of {spelling}, {holder.shown}, is only known when the command runs"
        given.notes.append(Note(codes.UNRESOLVED, message, word))
        return taken
    given.notes += _repeated(given, name, spelling, text, word)
    value = text if name in _TEXT else _number(spelling, text)
    given.settings[name] = Setting(value, word, holder, given.settings.get(name))
    given.unresolved.pop(name, None)
    return taken


def _repeated(given: Given, name: str, spelling: str, text: str, word: Word) -> Iterator[Note]:
    before = given.settings.get(name)
    if before is not None and str(before.value) != text:
        message = f"{spelling} is given twice, {before.value} and then {text}; the engine uses the last value"
        yield Note(codes.GIVEN_TWICE, message, word)
