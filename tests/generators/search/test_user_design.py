"""A design of the user's own: a fault planted in any of its rules is found, whatever is wrong with the file is told."""

import pickle
import subprocess
import sys

import numpy
import pytest

from generators.cases.domain import Domain, parse_axis
from generators.common.errors import BadInput, Inconclusive, Vacuous
from generators.search.configurations import search
from generators.search.event_orders import search_orders
from generators.search.limits import SearchLimits
from generators.search.user_design.load import own_rules, read_design
from generators.sglang.search.design_rules import Rules
from generators.sglang.search.public_reports import RIGHT, Fault
from generators.sglang.search.refusals import search_launches
from spec.sglang.configuration import Configuration
from spec.sglang.releases import CURRENT, design_named

# Small numbers, whose orders are few: a grid of 8 tokens, pages of one token unless one is given.
SMALL = {"mamba_chunk_size": 4, "mamba_track_interval": 8, "chunked_prefill_size": -1}
CUT = {k: v for k, v in SMALL.items() if k != "chunked_prefill_size"}
PAGES = {"page_size": 4, "dcp_size": 2}
DRAFTS = {"speculative_algorithm": "EAGLE", "speculative_num_draft_tokens": 2}
LONG = {**DRAFTS, "speculative_num_draft_tokens": 4, "mamba_track_interval": 16}
LAZY = {"strategy": "extra_buffer_lazy"}
EAGER = {"overlap": "off"}

# By rule (or switch): the text, further values of the domain, the kind of search and the code that it gives.
PLANTED = {
    "extend_grid": ("def extend_grid(c): return max(c.mamba_chunk_size, c.page_size)", {**SMALL, **PAGES}, "configurations", "GP202"),
    "extend_depth": ("def extend_depth(grid, prefix, end): return prefix + (end - prefix) // grid * grid", {**CUT, **PAGES}, "configurations", "GP201"),
    "extend_donates": ("def extend_donates(grid, chunk, prefix, end): return True", {**CUT, **PAGES}, "configurations", "GP204"),
    "extend_state": ("def extend_state(stride, chunk, prefix, end, tracked): return end", {**SMALL, **PAGES}, "configurations", "GP203"),
    "extend_row_stride": ("def extend_row_stride(c): return max(c.mamba_chunk_size, c.page_size)", {**SMALL, "page_size": 8}, "configurations", "GP203"),
    "extend_assertion": ('BASE = "sglang-0.5.20+completed-swap"\ndef extend_assertion(chunk, prefix, depth): return depth % chunk == 0', {**CUT, **PAGES}, "traces", "GP204"),
    "branching_point": ("def branching_point(grid, hit): return hit\ndef branching_kept(chunk, prefix, tracked, point): return prefix < point < tracked", {**SMALL, "page_size": 2}, "traces", "GP204"),
    "branching_kept": ("def branching_point(grid, hit): return hit\ndef branching_kept(chunk, prefix, tracked, point): return point > prefix", {**SMALL, "page_size": 2}, "traces", "GP204"),
    "decode_grid": ("def decode_grid(c): return c.mamba_track_interval", {**SMALL, "page_size": 4, "dcp_size": 3}, "traces", "GP101"),
    "decode_snapshots": ("def decode_snapshots(grid, seq_len): return seq_len % grid == 1", SMALL, "traces", "GP402"),
    "decode_state": ("def decode_state(seq_len): return seq_len - 1", SMALL, "traces", "GP104"),
    "verify_grid": ("def verify_grid(c): return c.mamba_track_interval", {**SMALL, **DRAFTS, **EAGER, "page_size": 4, "dcp_size": 3}, "traces", "GP102"),
    "verify_crosses": ("def verify_crosses(grid, pre, accepted): return True", {**SMALL, **DRAFTS, **EAGER}, "configurations", "GP103"),
    "verify_point": ("def verify_point(grid, pre, accepted): return (pre + accepted) // grid * grid + grid", {**SMALL, **DRAFTS, **EAGER}, "configurations", "GP103"),
    "verify_saved_step": ("def verify_saved_step(grid, pre, accepted): return accepted - 1", {**SMALL, **DRAFTS, **EAGER}, "traces", "GP103"),
    "verify_plans": ("def verify_plans(grid, committed, draft_tokens): return committed // grid != (committed + draft_tokens) // grid", {**SMALL, **DRAFTS, **LAZY}, "traces", "GP401"),
    "flush_grid": ("def flush_grid(c): return 3 * c.mamba_track_interval", SMALL, "configurations", "GP301"),
    "flush_state": ("def flush_state(interval, seq_len): return (seq_len - 1) // interval * interval", SMALL, "configurations", "GP301"),
    "insert_guard": ("def insert_guard(tree_page, depth): return depth % (64 * 1024) == 0", SMALL, "launches", "GP002"),
    "node_depth": ("def node_depth(tree_page, key_length, donated): return key_length // tree_page * tree_page", SMALL, "traces", "GP404"),
    "swap": ("def swap(grid, seq_len, lookahead): return (seq_len + lookahead) % grid == 0", SMALL, "traces", "GP401"),
    "label": ("def label(grid, seq_len, lookahead): return seq_len + lookahead if (seq_len + lookahead) % grid == 0 else 0", SMALL, "traces", "GP401"),
    "verify_label_start": ("def verify_label_start(pre, accepted, retained): return pre + retained - accepted", {**SMALL, **DRAFTS, **EAGER}, "traces", "GP402"),
    "finish_depth": ("def finish_depth(key_length, label, previous): return label", {**SMALL, **LONG, **EAGER}, "traces", "GP403"),
    "stores_the_kept_entry": ("stores_the_kept_entry = False", {**SMALL, **LAZY}, "traces", "GP401"),
    "failure_forgets_the_label": ("failure_forgets_the_label = False", {**SMALL, **LAZY}, "traces", "GP401"),
    "node_keeps": ("def node_keeps(held, state): return held + state", SMALL, "traces", "GP405"),
    "split_above": ("def split_above(depth, state, at): return state", {**SMALL, "page_size": 2}, "traces", "GP405"),
    "split_below": ("def split_below(depth, state, at): return state - at if state else 0", {**SMALL, "page_size": 2}, "traces", "GP405"),
    "eviction_leaves": ("def eviction_leaves(state): return state - 1", SMALL, "traces", "GP405"),
    "longest_given": ("def longest_given(tree_page, prompt): return prompt // tree_page * tree_page", SMALL, "traces", "GP405"),
    "guard_interval_is_whole_pages": ("def guard_interval_is_whole_pages(c): return c.mamba_track_interval % 16 == 0", SMALL, "launches", "GP006"),
}  # fmt: skip

HARMLESS = {
    "fallback_slot": "without the label before, a finish past its label donates nothing",
    "key_ends_at_the_stop": "a longer key reaches the same label",
    "skips_rows_of_the_finished": "no order of a search launches a verify behind the end of its request",
    "writes_mixed_prompts": "a batch is mixed with --enable-mixed-chunk alone: tests/generators/search/test_event_orders.py",
    "undoes_mixed_allocations": "as above, and a second slot that is held is written at the next boundary",
}


def planted(name, tmp_path):
    text, domain, kind, code = PLANTED[name]
    base = "" if "BASE" in text else f'BASE = "{RIGHT}"\n'
    path = tmp_path / "mine.py"
    path.write_text(f"{base}{text}\n", encoding="utf-8")
    return read_design(path), Fault(name, (), "", domain, kind, code)


def design(tmp_path, text):
    path = tmp_path / "mine.py"
    path.write_text(text, encoding="utf-8")
    return read_design(path)


@pytest.mark.parametrize("name", PLANTED)
def test_a_fault_planted_in_any_rule_is_found_and_its_base_has_it_not(name, tmp_path):
    faulty, fault = planted(name, tmp_path)
    case = fault.found_in(faulty)
    assert case is not None and case.trace
    assert fault.found_in(design_named(faulty.name.removesuffix("+mine"))) is None


def test_every_rule_that_a_file_can_give_has_a_planted_fault():
    guards = {name for name in PLANTED if name.startswith("guard_")}
    assert {*PLANTED, *HARMLESS} - guards == {*Rules.rules, *Rules.switches}


def test_a_right_rule_of_ones_own_is_shown_right_for_all_lengths(tmp_path):
    text = "from spec.numbers import choose\n\ndef decode_state(seq_len):\n    return choose(seq_len > 0, seq_len, 0)\n"
    found = search(design(tmp_path, text), Domain({"page_size": (64,), "dcp_size": (8,)}))
    assert found.complete and not found.cases


@pytest.mark.parametrize("base", ["sglang-0.5.20", "sglang-0.5.23"])
@pytest.mark.parametrize("dcp", [1, 2])
def test_a_depth_of_ones_own_is_looked_at_with_and_without_dcp(base, dcp, tmp_path):
    text = "def extend_depth(grid, prefix, end): return end\ndef extend_donates(grid, chunk, prefix, end): return end > prefix\n"
    own = design(tmp_path, f"BASE = {base!r}\n{text}")
    found = search(own, Domain({"page_size": (2,), "dcp_size": (dcp,)}))
    assert {"GP201", "GP204"} <= {case.code for case in found.cases}


def test_a_rule_that_branches_is_searched_but_not_shown(tmp_path):
    text = "def decode_state(seq_len):\n    return seq_len if seq_len > 0 else 0\n"
    with pytest.raises(
        Inconclusive, match=r"mine.py:2: decode_state: TypeError: a rule branched on a formula"
    ):
        search(design(tmp_path, text), Domain({"page_size": (64,), "dcp_size": (8,)}))


def test_a_rule_gives_the_same_for_arrays_and_for_each_of_their_values(tmp_path):
    lengths = numpy.arange(1, 50)
    for text in (
        "return seq_len - seq_len % 2",
        "return seq_len if seq_len % 2 else 0",
        "return 7",
    ):
        own = design(tmp_path, f"def decode_state(seq_len):\n    {text}\n").decode_state
        assert own(lengths).tolist() == [own(int(n)) for n in lengths]


def test_a_rule_survives_the_way_into_another_process(tmp_path):
    own = design(tmp_path, "def decode_state(seq_len):\n    return seq_len - 1\n")
    again = pickle.loads(pickle.dumps(own))
    assert (
        again.name == own.name
        and again.decode_state(8) == 7
        and own_rules(again) == ("decode_state",)
    )


def test_what_is_edited_after_it_was_read_changes_nothing_in_another_process(tmp_path):
    """The file itself, a module beside it and one of a package beside it: their texts are sent."""
    package = tmp_path / "parts_of_mine"
    package.mkdir()
    (package / "__init__.py").write_text("from .less import LESS\n")
    (package / "less.py").write_text("LESS = 1\n")
    (tmp_path / "near_mine.py").write_text("from parts_of_mine import LESS as TOKENS\n")
    text = "from near_mine import TOKENS as _LESS\n\n\n"
    text += "def decode_state(seq_len):\n    return seq_len - _LESS\n"
    file = tmp_path / "mine.py"
    file.write_text(text)
    sent = pickle.dumps(read_design(file))
    file.write_text(text.replace("- _LESS", "- _LESS - 10"))
    (tmp_path / "near_mine.py").write_text("TOKENS = 20\n")
    (package / "less.py").write_text("LESS = 30\n")
    code = (
        "import pickle, sys; design = pickle.loads(sys.stdin.buffer.read());"
        "print(design.decode_state(100))"
    )
    done = subprocess.run([sys.executable, "-c", code], input=sent, capture_output=True, check=True)
    assert done.stdout.split() == [b"99"]


def test_a_file_is_run_once_in_another_process_however_many_rules_it_gives(tmp_path):
    text = "print('run')\n\n\ndef decode_state(seq_len):\n    return seq_len\n\n\n"
    text += "def flush_state(interval, seq_len):\n    return seq_len\n"
    sent = pickle.dumps(design(tmp_path, text))
    code = "import pickle, sys; pickle.loads(sys.stdin.buffer.read())"
    done = subprocess.run([sys.executable, "-c", code], input=sent, capture_output=True, check=True)
    assert done.stderr.split() == [b"run"]


def test_processes_find_the_same_as_one(tmp_path):
    own = design(tmp_path, PLANTED["swap"][0])
    domain = Domain(
        {name: parse_axis(name, value) for name, value in {**SMALL, "page_size": "1,2"}.items()}
    )
    one, two = (search_orders(own, domain, jobs=jobs).document() for jobs in (1, 2))
    assert one == two and one["cases"]


def test_a_design_that_no_configuration_satisfies_is_vacuous(tmp_path):
    own = design(tmp_path, 'def guard_never(c):\n    """nothing may start"""\n    return False\n')
    with pytest.raises(Vacuous, match="nothing may start"):
        search(own, Domain())


BAD = (
    ("", "gives no rule"),
    ("def swap(", r"mine.py:1: not valid Python"),
    ("x = 1\ny = x / 0", r"mine.py:2: ZeroDivisionError"),
    ("import no_such_module", r"mine.py:1: ModuleNotFoundError"),
    ("raise SystemExit(0)", r"mine.py:1: SystemExit"),
    ("\n\ndef decode_gird(c): return 1", r"mine.py:3: 'decode_gird' is no rule; did you mean 'decode_grid'"),
    ("\ndef swap(grid): return True", r"mine.py:2: swap must take grid, seq_len, lookahead"),
    ("decode_grid = 256", "decode_grid must be a function of c"),
    ("fallback_slot = 1", "must be True or False, not 1"),
    ("BASE = 'sglang-0.4'\nfallback_slot = False", "BASE: unknown design"),
    ("\ndef decode_grid(c): return 0", r"mine.py:2: decode_grid\(.*\) gives 0; .* at least 1"),
    ("def decode_grid(c): return 0.5", "gives 0.5"),
    ("def decode_grid(c):\n    return c.page", r"mine.py:2: decode_grid\(c=page_size 1.*AttributeError"),
    ("def swap(grid, seq_len, lookahead): return 1", "gives 1; it must give True or False"),
    ("def swap(grid, seq_len, lookahead): raise SystemExit(0)", r"mine.py:1: swap\(.*SystemExit"),
    ("def decode_grid(c): return 10**5000", "gives something of type int; .* at most 100 digits"),
    ("def decode_state(seq_len): return seq_len + 10**5000", "at most 100 digits"),
    ("def decode_state(seq_len): raise ValueError('a\\nb')", "ValueError: a b"),
    ("def decode_state(seq_len): return 'x' * 1000", r"x\.\.\.; it must give"),
    ("def decode_grid(c):\n    c.page_size *= 3\n    return 8", r"mine.py:2: .*must not change the configuration \(page_size\)"),
    ("_n = []\ndef decode_state(seq_len):\n    _n.append(0)\n    return len(_n)", "gives 1, and then 2; it must give the same"),
    ("class _Odd:\n    def __repr__(self): raise ValueError\ndef decode_state(seq_len): return _Odd()", "something of type _Odd"),
    ("x = 1\0", "mine.py:1: not valid Python|null bytes"),
    ("def guard_x(c):\n    return 1 // (c.page_size - 1) > 0", r"mine.py:2: guard_x\(.*ZeroDivisionError"),
)  # fmt: skip


@pytest.mark.parametrize(("text", "said"), BAD)
def test_what_is_wrong_with_a_file_is_told_with_its_line(tmp_path, text, said):
    with pytest.raises(BadInput, match=said):
        search_orders(design(tmp_path, text), Domain(), jobs=1)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(BadInput, match=r"^[^:]*none.py: cannot be read"):
        read_design(tmp_path / "none.py")


def test_a_rule_that_adds_in_place_is_what_it_is_for_plain_integers(tmp_path):
    text = "def decode_state(seq_len):\n    seq_len += 1\n    return seq_len - 1\n"
    own, lengths = design(tmp_path, text).decode_state, numpy.arange(1, 50)
    assert own(lengths).tolist() == lengths.tolist() == list(range(1, 50))


def test_a_file_may_have_dataclasses_and_import_from_its_folder_and_read_its_base(tmp_path):
    (tmp_path / "beside_mine.py").write_text("def up(grid, n): return -(-n // grid) * grid\n")
    text = (
        "from __future__ import annotations\nfrom dataclasses import dataclass\n"
        "from beside_mine import up\nBASE = 'sglang-0.5.20'\n\n\n"
        "@dataclass\nclass Page:\n    size: int\n\n\n"
        "def decode_grid(c):\n    return up(Page(c.page_size).size, 9) + len(BASE)\n"
    )
    own = design(tmp_path, text)
    assert own_rules(own) == ("decode_grid",)
    assert own.decode_grid(Configuration()) == 9 + len("sglang-0.5.20")


def test_what_a_file_prints_is_not_among_the_results(tmp_path, capsys):
    text = "print('one')\ndef decode_state(seq_len):\n    print('two')\n    return seq_len\n"
    assert design(tmp_path, text).decode_state(8) == 8
    assert capsys.readouterr() == ("", "one\ntwo\ntwo\n")


def test_a_search_that_ends_at_the_most_cases_is_not_complete():
    domain = Domain({"page_size": (64,), "dcp_size": (8,)})
    found = search_orders(
        design_named("sglang-0.5.18"), domain, limits=SearchLimits(cases=1), jobs=1
    )
    assert len(found.cases) == 1 and not found.complete and "until 1" in found.notes[-1]


def test_a_tree_that_is_too_large_to_be_searched_is_not_called_searched(tmp_path):
    own = design(tmp_path, PLANTED["split_below"][0])
    domain = Domain({**{name: (n,) for name, n in SMALL.items()}, "page_size": (1 << 14,)})
    domain = Domain({**domain.axes, "mamba_track_interval": (1 << 14,)})
    found = search_orders(own, domain, limits=SearchLimits(events=2), jobs=1)
    assert not found.complete and "the tree is not searched" in found.notes[0]
    assert "1 of 1" in found.notes[0]


def test_a_strategy_without_a_model_is_not_called_looked_at():
    found = search_launches(CURRENT, Domain({"strategy": ("no_buffer", "extra_buffer")}), 4096)
    assert not found.complete and "not modelled" in found.notes[0]


def test_launches_of_which_the_guards_leave_nothing_are_vacuous():
    with pytest.raises(Vacuous, match="exclude every configuration"):
        search_launches(CURRENT, Domain({"page_size": (3,)}), 4096)


def test_all_else_is_the_bases_own(tmp_path):
    own = design(tmp_path, "def decode_grid(c):\n    return c.mamba_track_interval\n")
    assert (
        own.release == CURRENT.release
        and own.swap is CURRENT.swap
        and own_rules(own) == ("decode_grid",)
    )


def test_a_state_on_a_node_of_another_depth_is_reused_too():
    axes = {"dcp_size": (2,), "mamba_chunk_size": (8,), "mamba_track_interval": (3,)}
    found = search_launches(design_named("sglang-0.5.18"), Domain(axes), 5)
    assert not found.cases, (
        "the state of 3 tokens hangs on the node of 2, which a prompt of 5 is given"
    )
    assert search_launches(design_named("sglang-0.5.18"), Domain(axes), 2).cases


def test_that_a_refused_launch_breaks_nothing_is_not_called_shown_for_own_rules(tmp_path):
    domain = Domain({"page_size": (64,), "dcp_size": (8,), "mamba_track_interval": (96,)})
    released = search_launches(CURRENT, domain, 32768)
    own = design(tmp_path, "def decode_state(seq_len):\n    return seq_len if seq_len > 0 else 0\n")
    found = search_launches(own, domain, 32768)
    assert (
        [case.code for case in found.cases] == [case.code for case in released.cases] == ["GP006"]
    )
    assert released.complete and not found.complete and "not shown" in found.notes[0]
