"""The commands; each is thin: it reads its options, calls the work, prints the report, returns the exit code."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
import time
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from generators.cases.domain import DEFAULT_CONTEXT, check_keys, flag
from generators.common.errors import BadInput, Inconclusive, NothingToDo, UserError, Vacuous
from generators.emit.manifest import TIERS
from generators.search.limits import MOST_EVENTS, SearchLimits
from gpu_checks import choices
from gridproof import __version__
from spec.engine import all_fields

EPILOG = """\b
Exit codes, the same for every command:
  0   all proved; no finding of severity warning or above; none exists; files up to date
  1   a theorem refuted; a case found; a finding; a replay that differs from the prediction
  2   bad usage: malformed value, unknown name, unreadable or invalid file
  3   nothing to do: an empty set of values, no file, no theorem or case selected
  4   inconclusive: a solver answered unknown or met its limit
  5   vacuous or stale: the guards exclude everything; emitted files out of date
  70  a fault of gridproof itself
  130 interrupted
--exit-zero turns 1 into 0, and nothing else.
"""

CHECK_EPILOG = """\b
Examples:
  gridproof check -- sglang serve --model-path moonshotai/Kimi-K3 --tp-size 8 --dcp-size 8
  gridproof check deploy/ Dockerfile README.md
  gridproof check --all-releases serve.sh
  gridproof check --set page_size=64 --engine sglang==0.5.18 values.yaml
  gridproof check --fix --write serve.sh
  kubectl get deploy -o yaml | gridproof check -

\b
Read are shell scripts, Dockerfiles, YAML and JSON, Python, Markdown, flags files and start-up logs
(server_args=); in a folder what .gitignore names is left out. A comment before the launch excuses a
finding:  # gridproof: waive GP401: why
"""


class _Place(click.Path):
    """A path on the command line; an empty one is refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("an empty path", param, ctx)
        return super().convert(value, param, ctx)


_COLOURS = click.Choice(["auto", "always", "never"])


def _with_domain(command: Callable[..., Any]) -> Callable[..., Any]:
    for name, field in reversed(all_fields().items()):
        option = click.option(
            flag(name),
            name,
            metavar="VALUES",
            help=f"{field.help}; a value, a list 1,16,64 or a range 1..64, 64..4096:64",
        )
        command = option(command)
    return command


def _table() -> dict[str, Any]:
    """`[tool.gridproof]` of the pyproject.toml in the current folder."""
    path = _SETTINGS
    if not path.is_file():
        return {}
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadInput(f"{path}: cannot be read ({error})") from None
    tool = data.get("tool", {})
    table = tool.get("gridproof", {}) if isinstance(tool, dict) else tool
    if not isinstance(table, dict):
        raise BadInput(f"{path}: [tool.gridproof] must be a table of options")
    return table


def _settings(table: Mapping[str, Any], commands: Mapping[str, click.Command]) -> dict[str, Any]:
    """The options that a table sets, dashes and underscores alike."""
    path = _SETTINGS
    options = {
        opt.lstrip("-").replace("-", "_"): p
        for command in commands.values()
        for p in command.params
        if isinstance(p, click.Option)
        for opt in p.opts
        if opt.startswith("--")
    }
    table = {k.replace("-", "_"): v for k, v in table.items()}
    check_keys(table, f"[tool.gridproof] of {path}", sorted(options))
    return {str(options[k].name): _setting(path, k, v, options[k]) for k, v in table.items()}


_SETTINGS = Path("pyproject.toml")


def _setting(path: Path, key: str, value: Any, option: click.Option) -> Any:
    """A setting as its option takes it: true or false, a list of texts, a text or a whole number."""
    values = value if isinstance(value, list) else [value]
    plain = all(isinstance(v, str | int) and not isinstance(v, bool) for v in values)
    if option.is_flag:
        fits, wanted, taken = isinstance(value, bool), "true or false", value
    elif option.multiple:
        fits, wanted, taken = plain, "a text or a list of texts", [str(v) for v in values]
    elif option.name in all_fields():
        fits = plain or isinstance(value, bool)
        taken = ",".join(str(v).lower() if isinstance(v, bool) else str(v) for v in values)
        wanted = "a text, a whole number or a list of them"
    else:
        fits = plain and not isinstance(value, list)
        wanted, taken = "a text or a whole number", str(value)
    if not fits:
        raise BadInput(f"{path}: [tool.gridproof] {key} must be {wanted}")
    return taken


class _Group(click.Group):
    """Commands whose options fall back to `[tool.gridproof]`; unknown names get the nearest known one."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            import difflib

            near = difflib.get_close_matches(args[0], self.list_commands(ctx), n=1)
            if not near or error.message.endswith("?"):
                raise
            raise click.UsageError(f"{error.message} Did you mean {near[0]!r}?", ctx) from None


@click.group(cls=_Group, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="gridproof")
@click.option(
    "--color",
    type=_COLOURS,
    default="auto",
    help="colour of text output; NO_COLOR is honoured",
)
@click.pass_context
def main(ctx: click.Context, color: str) -> None:
    """Proves where an engine's recurrent-state checkpoints may hang, finds what breaks that, and emits the tests.

    \b
    gridproof prove
    gridproof check --engine sglang==0.5.18 -- python -m sglang.launch_server --model-path M --dcp-size 8
    gridproof search --engine sglang==0.5.18 --page-size 64 --dcp-size 8 --out cases.json
    gridproof emit cases.json --target sglang --out generated_tests
    gridproof replay cases.json
    """
    table = _table()
    ctx.obj = {"colour": color, "waivers": table.pop("waivers", None)}
    settings = _settings(table, main.commands)
    ctx.default_map = {name: dict(settings) for name in main.list_commands(ctx)}


def _output(ctx: click.Context) -> Any:
    from gridproof.console import Output

    return Output(ctx.obj["colour"])


def _finish(code: int, exit_zero: bool = False) -> None:
    if _interrupted:
        raise KeyboardInterrupt
    sys.exit(0 if exit_zero and code == 1 else code)


_EXIT_ZERO = click.option("--exit-zero", is_flag=True, help="exit 0 instead of 1")


@main.command()
@click.option("--family", multiple=True, help="only this family of theorems; may be repeated")
@click.option("--theorem", "theorems", multiple=True, help="only this theorem; may be repeated")
@click.option("--solver", type=click.Choice(["z3", "cvc5", "both"]), default="z3")
@click.option(
    "--seeds", type=click.IntRange(1, 1000), default=1, help="solver seeds that must agree"
)
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=20_000_000,
    help="z3 resources a query may use",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 64),
    help="processes; default: as many as there are cores, fewer for few theorems",
)
@click.option(
    "--export", type=_Place(path_type=Path), help="write SMT-LIB 2, one file an obligation"
)
@click.option(
    "--proofs",
    type=_Place(path_type=Path),
    help="write cvc5's proofs, to be read by the checker ethos, each with the SMT-LIB 2 file it refers to; "
    "a step on trust exits 4",
)
@click.option("--format", "form", type=click.Choice(["text", "json", "github"]), default="text")
@_EXIT_ZERO
@click.pass_context
def prove(
    ctx: click.Context,
    family: tuple[str, ...],
    theorems: tuple[str, ...],
    solver: str,
    seeds: int,
    limit: int,
    jobs: int | None,
    export: Path | None,
    proofs: Path | None,
    form: str,
    exit_zero: bool,
) -> None:
    """Prove the theorems, for all configurations."""
    from gridproof.commands import prove as command

    code = command.run(
        _output(ctx), family, theorems, solver, seeds, limit, jobs, export, proofs, form
    )
    _finish(code, exit_zero)


_ENGINE = click.option("--engine", help="sglang==0.5.18, or sglang for the newest modelled release")


@main.command()
@_ENGINE
@click.option("--design", help="a named design: sglang-0.5.18, sglang-0.5.18+insert-guard")
@click.option(
    "--design-file",
    type=_Place(path_type=Path),
    help="a Python file of your own rules in place of a release's (docs/search.md)",
)
@click.option("--domain", "domain_file", type=_Place(path_type=Path), help="TOML file of values")
@_with_domain
@click.option(
    "--kind",
    type=click.Choice(["configurations", "traces", "launches"]),
    help="what the grids alone decide, orders of events, or what is refused or useless though right; "
    "default: all",
)
@click.option(
    "--context-length",
    type=click.IntRange(1),
    default=DEFAULT_CONTEXT,
    show_default=True,
    help="tokens of the longest request, for what can be reused at all",
)
@click.option(
    "--max-events",
    type=click.IntRange(1),
    default=MOST_EVENTS,
    show_default=True,
    help="events of a trace",
)
@click.option("--max-cases", type=click.IntRange(1), help="stop when so many were found")
@click.option(
    "--timeout", type=click.FloatRange(0, min_open=True), help="seconds after which orders are left"
)
@click.option(
    "--jobs", type=click.IntRange(1, 64), help="processes that search orders; default: one a core"
)
@click.option(
    "--enable-mixed-chunk",
    "mixes",
    is_flag=True,
    help="also steps that share their batch with a chunk of another prompt",
)
@click.option("--no-guards", is_flag=True, help="also what the engine refuses to start with")
@click.option(
    "--smallest", is_flag=True, help="show the smallest numbers, not what a person would write"
)
@click.option("--out", type=_Place(path_type=Path), help="write the cases to this file as JSON")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@_EXIT_ZERO
@click.pass_context
def search(
    ctx: click.Context,
    engine: str | None,
    design: str | None,
    design_file: Path | None,
    domain_file: Path | None,
    kind: str | None,
    context_length: int,
    max_events: int,
    max_cases: int | None,
    timeout: float | None,
    jobs: int | None,
    mixes: bool,
    no_guards: bool,
    smallest: bool,
    out: Path | None,
    form: str,
    exit_zero: bool,
    **flags: str | None,
) -> None:
    """Find every class of configurations and every order of events that breaks a design, one readable case each."""
    from gridproof.commands import search as command

    until = None if timeout is None else time.monotonic() + timeout
    code = command.run(
        _output(ctx),
        engine,
        design,
        design_file,
        domain_file,
        flags,
        command.Wanted(
            kind, SearchLimits(max_events, until, max_cases, mixes), jobs, context_length
        ),
        not no_guards,
        smallest,
        out,
        form,
    )
    _finish(code, exit_zero)


@main.command()
@click.argument("cases", nargs=-1, type=_Place(path_type=Path))
@click.option("--target", type=click.Choice(["model", "sglang", "replay"]), multiple=True)
@click.option("--out", type=_Place(path_type=Path), default=Path("generated_tests"))
@click.option(
    "--tier",
    type=click.Choice(TIERS),
    help="besides the cases: pairs (tiny), triples (small) or all combinations (standard) of the named "
    "predicates; default: as the out folder was made, else cases",
)
@click.option(
    "--check", "only_check", is_flag=True, help="write nothing; exit 5 where files differ"
)
@click.pass_context
def emit(
    ctx: click.Context,
    cases: tuple[Path, ...],
    target: tuple[str, ...],
    out: Path,
    tier: str | None,
    only_check: bool,
) -> None:
    """Write pytest files for the CASES found by search (default: those kept in the out folder)."""
    from gridproof.commands import emit as command

    _finish(command.run(_output(ctx), cases, target, out, tier, only_check))


class _Check(click.Command):
    """What stands behind `--` is one launch command, whatever its words look like."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            ctx.meta["command"], args = tuple(args[at + 1 :]), args[:at]
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            hint = "a launch command goes behind '--'"
            raise click.UsageError(f"{error.format_message()} ({hint})", ctx) from None


@main.command(cls=_Check, epilog=CHECK_EPILOG)
@click.option(
    "--engine",
    help="sglang==0.5.18, or sglang for the newest modelled release; else the release that a container image, "
    "a lock or a requirements file beside the command pins, else the newest",
)
@click.option("--all-releases", is_flag=True, help="judge for every modelled release: a row each")
@click.option(
    "--context-length", type=click.IntRange(1), help="tokens; else of the command, else 32768"
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="FIELD=VALUE",
    help="what the command does not hold: page_size=64 (resolved), mamba_chunk_size=128, recurrence=mamba2, ...",
)
@click.option(
    "--config",
    type=_Place(path_type=Path),
    help="config.json of the model; else read from the folder that the model path names",
)
@click.option(
    "--min-severity",
    type=click.Choice(["note", "warning", "error"]),
    default="note",
    help="show from; the exit code stays",
)
@click.option("--fix", is_flag=True, help="print the corrected command; only what theorems cover")
@click.option("--write", is_flag=True, help="with --fix: change the files in place")
@click.option("--unsafe-fixes", is_flag=True, help="with --fix: also what no theorem covers")
@click.option(
    "--allow-none",
    is_flag=True,
    help="exit 0, not 3, where no launch command is found in the files",
)
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "sarif", "github"]), default="text"
)
@_EXIT_ZERO
@click.argument("paths", nargs=-1, metavar="[FILE...] [-- COMMAND...]", type=_Place(path_type=Path))
@click.pass_context
def check(ctx: click.Context, paths: tuple[Path, ...], exit_zero: bool, **options: Any) -> None:
    """Judge launch commands in files and folders (- is standard input), or the one behind '--'."""
    from gridproof.commands import check as work

    given = work.Options(**options, waivers=ctx.obj.get("waivers"))
    code = work.run(_output(ctx), given, paths, ctx.meta.get("command"))
    _finish(code, exit_zero)


EXPLAIN_EPILOG = """\b
Examples:
  gridproof explain GP101
  gridproof search --engine sglang==0.5.18 --page-size 64 --dcp-size 8 --out cases.json
  gridproof explain cases.json --html timeline.html
"""


@main.command(epilog=EXPLAIN_EPILOG)
@click.argument("what", metavar="CODE|CASES")
@click.option("--case", help="only the case of this id")
@click.option(
    "--html", type=_Place(path_type=Path), help="write the timelines as one self-contained page"
)
@click.pass_context
def explain(ctx: click.Context, what: str, case: str | None, html: Path | None) -> None:
    """Tell what a finding code means, or walk through the cases that search found."""
    from gridproof.commands import explain as command

    _finish(command.run(_output(ctx), what, case, html))


@main.command()
@click.argument("cases", nargs=-1, type=_Place(path_type=Path))
@click.option(
    "--device",
    type=click.Choice(choices.DEVICES),
    help="default: cuda where there is a GPU, else cpu; the report says which",
)
@click.option("--dtype", type=click.Choice(choices.DTYPES), default="float64")
@click.option(
    "--recurrence",
    metavar="VALUES",
    help=f"{', '.join(choices.RECURRENCES)}; default: a case's own, or all",
)
@click.option("--require-gpu", is_flag=True, help="fail where there is no GPU")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@_EXIT_ZERO
@click.pass_context
def replay(
    ctx: click.Context,
    cases: tuple[Path, ...],
    device: str | None,
    dtype: str,
    recurrence: str | None,
    require_gpu: bool,
    form: str,
    exit_zero: bool,
) -> None:
    """Run the CASES found by search on the recurrences, cold against warm; needs torch."""
    from gridproof.commands import replay as command

    code = command.run(_output(ctx), cases, device, dtype, recurrence, form, require_gpu)
    _finish(code, exit_zero)


@main.command()
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@click.pass_context
def designs(ctx: click.Context, form: str) -> None:
    """List the named designs and what each reader uses."""
    from gridproof.commands import designs as command

    _finish(command.run(_output(ctx), form))


def _choose_colour(ctx: click.Context, option: click.Parameter, value: str | None) -> None:
    if value is not None:
        ctx.obj["colour"] = value


for _command in main.commands.values():
    _command.params.append(
        click.Option(
            ["--color"],
            type=_COLOURS,
            callback=_choose_colour,
            expose_value=False,
            help="as before the command",
        )
    )


def _on_interrupt(number: int, frame: Any) -> None:
    """Remember the interrupt: one that arrives while a solver object is being freed is lost otherwise."""
    global _interrupted
    _interrupted = True
    raise KeyboardInterrupt


_interrupted = False


def run() -> None:
    """The console script: every way out is one of the exit codes of the contract."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, _on_interrupt)
    sys.unraisablehook = lambda lost: None
    try:
        main.main(prog_name="gridproof", standalone_mode=False)
        if _interrupted:
            raise KeyboardInterrupt
    except (BadInput, NothingToDo, Inconclusive, Vacuous, UserError) as error:
        click.echo(f"gridproof: {error}", err=True)
        sys.exit(error.exit_code)
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        sys.exit(2)
    except click.ClickException as error:
        click.echo(f"gridproof: {error.format_message()}", err=True)
        sys.exit(2)
    except (KeyboardInterrupt, click.Abort):
        click.echo("gridproof: interrupted", err=True)
        sys.exit(130)
    except Exception as error:
        if _interrupted:
            click.echo("gridproof: interrupted", err=True)
            sys.exit(130)
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EIO, errno.EPIPE):
            click.echo(f"gridproof: results cannot be written ({error.strerror})", err=True)
            sys.exit(2)
        if os.environ.get("GRIDPROOF_TRACEBACK"):
            raise
        click.echo(
            f"gridproof: a fault of gridproof itself: {type(error).__name__}: {error} "
            "(GRIDPROOF_TRACEBACK=1 shows where)",
            err=True,
        )
        sys.exit(70)
