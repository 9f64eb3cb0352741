"""The command line: each command reads its options, calls the work, prints the report and returns the exit code."""

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
from spec.engine import DEFAULT, PACKAGES, Field, engine

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

_SHOWN = engine(DEFAULT)  # the engine that examples are of
_RELEASE = _SHOWN.requirement(_SHOWN.releases[1])
_FIELDS = {field.name: field for name in PACKAGES for field in engine(name).fields}
_PLACE_FIELDS = {field.name: field for name in PACKAGES for field in engine(name).place_fields}
_ENGINES = " or ".join(PACKAGES)

CHECK_EPILOG = f"""\b
Examples:
  gridproof check -- {_SHOWN.examples["launch"]}
  gridproof check deploy/ Dockerfile README.md
  gridproof check --all-releases serve.sh
  gridproof check --set {_SHOWN.examples["setting"]} --engine {_RELEASE} values.yaml
  gridproof check --fix --write serve.sh
  kubectl get deploy -o yaml | gridproof check -

\b
Launch commands are found in shell scripts, Dockerfiles, YAML and JSON, Python, Markdown, flags files and
start-up logs. In a folder, files that .gitignore excludes are skipped. A comment above the launch
suppresses a finding:  # gridproof: waive CODE: why
"""


class _Place(click.Path):
    """A path on the command line; an empty one is refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("the path is empty", param, ctx)
        return super().convert(value, param, ctx)


_COLORS = click.Choice(["auto", "always", "never"])


def _with_domain(command: Callable[..., Any]) -> Callable[..., Any]:
    for field in reversed(_FIELDS.values()):
        option = click.option(flag(field.name), field.name, metavar="VALUES", help=_help_of(field))
        command = option(command)
    return command


def _with_places(command: Callable[..., Any]) -> Callable[..., Any]:
    """The flags that only the search over many places reads; a yes or no without a value means yes."""
    for field in reversed(_PLACE_FIELDS.values()):
        alone: dict[str, Any] = {"is_flag": False, "flag_value": "on"} if field.kind is bool else {}
        name, help_text = field.name, f"--kind places: {_help_of(field)}"
        command = click.option(flag(name), name, metavar="VALUES", help=help_text, **alone)(command)
    return command


def _help_of(field: Field) -> str:
    """What a field of a configuration is, in which unit, and which values it takes."""
    text = field.help if field.unit in field.help else f"{field.help} ({field.unit})"
    if field.kind is bool:
        return f"{text}: on, off or both as on,off"
    if field.kind is int:
        return f"{text}; one value, a list 1,16,64 or a range 1..64, 64..4096:64"
    return f"{text}: {', '.join(field.choices)}" if field.choices else text


def _table() -> dict[str, Any]:
    """The table `[tool.gridproof]` of the pyproject.toml in the current folder; empty where there is none."""
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
    """The options that a table sets; names may have dashes or underscores."""
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
    elif option.name in _FIELDS:
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


_HELP = f"""Finds out whether a serving engine resumes requests from the right recurrent state.

It checks launch commands, proves the rules of a release for all configurations, searches for what breaks them, and
writes pytest files that show it on the real engine.

\b
gridproof prove
gridproof check --engine {_RELEASE} -- {_SHOWN.examples["launch"]}
gridproof search --engine {_RELEASE} {_SHOWN.examples["domain"]} --out cases.json
gridproof emit cases.json --target {DEFAULT} --out generated_tests
gridproof replay cases.json
"""


@click.group(
    cls=_Group, help=_HELP, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, prog_name="gridproof")
@click.option(
    "--color",
    type=_COLORS,
    default="auto",
    help="when to print with terminal colors; NO_COLOR is honoured",
)
@click.pass_context
def main(ctx: click.Context, color: str) -> None:
    """Settings of `[tool.gridproof]` become the defaults of every command."""
    table = _table()
    ctx.obj = {"color": color, "waivers": table.pop("waivers", None)}
    settings = _settings(table, main.commands)
    ctx.default_map = {name: dict(settings) for name in main.list_commands(ctx)}


def _output(ctx: click.Context) -> Any:
    from gridproof.console import Output

    return Output(ctx.obj["color"])


def _finish(code: int, exit_zero: bool = False) -> None:
    if _interrupted:
        raise KeyboardInterrupt
    sys.exit(0 if exit_zero and code == 1 else code)


_ONE_ENGINE = click.option("--engine", help=f"only this engine, such as {DEFAULT}; default: all")
_EXIT_ZERO = click.option("--exit-zero", is_flag=True, help="exit 0 instead of 1")


@main.command()
@_ONE_ENGINE
@click.option("--family", multiple=True, help="prove only this family of theorems; may be repeated")
@click.option(
    "--theorem", "theorems", multiple=True, help="prove only this theorem; may be repeated"
)
@click.option("--solver", type=click.Choice(["z3", "cvc5", "both"]), default="z3")
@click.option(
    "--seeds",
    type=click.IntRange(1, 1000),
    default=1,
    help="number of solver seeds, all of which must agree",
)
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=20_000_000,
    help="resources that z3 may use for one query",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 64),
    help="number of processes; by default one for each core, fewer for few theorems",
)
@click.option(
    "--export",
    type=_Place(path_type=Path),
    help="write each proof obligation as an SMT-LIB 2 file into this folder",
)
@click.option(
    "--proofs",
    type=_Place(path_type=Path),
    help="write cvc5's proofs for the checker ethos into this folder, each with the SMT-LIB 2 file that it refers to; "
    "a proof with a step on trust makes the exit code 4",
)
@click.option("--format", "form", type=click.Choice(["text", "json", "github"]), default="text")
@_EXIT_ZERO
@click.pass_context
def prove(
    ctx: click.Context,
    engine: str | None,
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
    """Prove the theorems about the newest modelled release, for all configurations."""
    from gridproof.commands import prove as command

    code = command.run(
        _output(ctx), engine, family, theorems, solver, seeds, limit, jobs, export, proofs, form
    )
    _finish(code, exit_zero)


_ENGINE = click.option(
    "--engine", help=f"a release such as {_RELEASE}; {_ENGINES} alone is the newest modelled one"
)


@main.command()
@_ENGINE
@click.option(
    "--design",
    help=f"a named design, such as {_RELEASE.replace('==', '-')}; `gridproof designs` lists them",
)
@click.option(
    "--design-file",
    type=_Place(path_type=Path),
    help="a Python file with rules in place of a release's; the file is executed (docs/search.md)",
)
@click.option(
    "--domain",
    "domain_file",
    type=_Place(path_type=Path),
    help="a TOML file with the values of the fields",
)
@_with_domain
@_with_places
@click.option(
    "--kind",
    type=click.Choice(["configurations", "traces", "launches", "places"]),
    help="configurations: what the grid rules alone decide; traces: orders of events; launches: guards that are too "
    "strict and caches that are never used; places: orders of events over many requests, host tier and sessions; "
    "default: the first three",
)
@click.option(
    "--context-length",
    type=click.IntRange(1),
    default=DEFAULT_CONTEXT,
    show_default=True,
    help="longest request in tokens; a checkpoint beyond it is never reused",
)
@click.option(
    "--max-events",
    type=click.IntRange(1),
    default=MOST_EVENTS,
    show_default=True,
    help="most events of an order",
)
@click.option(
    "--max-cases",
    type=click.IntRange(1),
    help="stop the search of orders after this number of cases",
)
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    help="stop the search of orders after this number of seconds",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 64),
    help="number of processes that search orders; by default one for each core",
)
@click.option(
    "--enable-mixed-chunk",
    "mixes",
    is_flag=True,
    help="also try steps that share their batch with a chunk of another prompt",
)
@click.option(
    "--no-guards",
    is_flag=True,
    help="also search configurations that the engine refuses to start with",
)
@click.option(
    "--smallest",
    is_flag=True,
    help="show the smallest failing numbers instead of those that a person would write",
)
@click.option(
    "--out", type=_Place(path_type=Path), help="also write the cases to this file, as JSON"
)
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
    """Search for configurations and orders of events that break a design.

    Each class of failures is shown by one readable case, the shortest first.
    """
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
            kind,
            SearchLimits(max_events, until, max_cases, mixes),
            jobs,
            context_length,
            {name: flags.pop(name) for name in _PLACE_FIELDS},
            ctx.get_parameter_source("max_events") is not click.core.ParameterSource.DEFAULT,
        ),
        not no_guards,
        smallest,
        out,
        form,
    )
    _finish(code, exit_zero)


@main.command()
@click.argument("cases", nargs=-1, type=_Place(path_type=Path))
@click.option("--target", type=click.Choice(["model", *PACKAGES, "replay"]), multiple=True)
@click.option("--out", type=_Place(path_type=Path), default=Path("generated_tests"))
@click.option(
    "--tier",
    type=click.Choice(TIERS),
    help="tests to write besides the cases: pairs (tiny), triples (small) or all combinations (standard) of the "
    "named predicates; default: as in the --out folder, else cases only",
)
@click.option(
    "--check", "only_check", is_flag=True, help="write nothing; exit 5 if a file would change"
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
    """Write pytest files for the CASES that search found.

    Without CASES, those kept in the --out folder are written again.
    """
    from gridproof.commands import emit as command

    _finish(command.run(_output(ctx), cases, target, out, tier, only_check))


class _Check(click.Command):
    """A command whose words behind `--` are one launch command, whatever they look like."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            ctx.meta["command"], args = tuple(args[at + 1 :]), args[:at]
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            hint = "write the launch command behind '--'"
            raise click.UsageError(f"{error.format_message()} ({hint})", ctx) from None


@main.command(cls=_Check, epilog=CHECK_EPILOG)
@click.option(
    "--engine",
    help=f"a release such as {_RELEASE}; {_ENGINES} alone is the newest modelled one; default: the release that a "
    "container image, a lock file or a requirements file beside the command pins, else the newest",
)
@click.option("--all-releases", is_flag=True, help="check for every modelled release, one row each")
@click.option(
    "--context-length",
    type=click.IntRange(1),
    help="longest request in tokens; default: what the command gives, else 32768",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="FIELD=VALUE",
    help=f"a value that the command does not contain, such as {_SHOWN.examples['setting']}; may be repeated",
)
@click.option(
    "--config",
    type=_Place(path_type=Path),
    help="config.json of the model; default: the one in the folder that the model path names",
)
@click.option(
    "--min-severity",
    type=click.Choice(["note", "warning", "error"]),
    default="note",
    help="least severity to show; the exit code does not change",
)
@click.option(
    "--fix", is_flag=True, help="print the corrected command; only changes that theorems cover"
)
@click.option("--write", is_flag=True, help="with --fix: change the files in place")
@click.option(
    "--unsafe-fixes", is_flag=True, help="with --fix: also changes that no theorem covers"
)
@click.option(
    "--allow-none",
    is_flag=True,
    help="exit 0 instead of 3 if the files contain no launch command",
)
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "sarif", "github"]), default="text"
)
@_EXIT_ZERO
@click.argument("paths", nargs=-1, metavar="[FILE...] [-- COMMAND...]", type=_Place(path_type=Path))
@click.pass_context
def check(ctx: click.Context, paths: tuple[Path, ...], exit_zero: bool, **options: Any) -> None:
    """Check launch commands in files and folders (- is standard input), or the one behind '--'.

    Each gets a verdict, its findings, and a fix where there is one.
    """
    from gridproof.commands import check as work

    given = work.Options(**options, waivers=ctx.obj.get("waivers"))
    code = work.run(_output(ctx), given, paths, ctx.meta.get("command"))
    _finish(code, exit_zero)


EXPLAIN_EPILOG = f"""\b
Examples:
  gridproof explain {_SHOWN.examples["code"]}
  gridproof search --engine {_RELEASE} {_SHOWN.examples["domain"]} --out cases.json
  gridproof explain cases.json --html timeline.html
"""


@main.command(epilog=EXPLAIN_EPILOG)
@click.argument("what", metavar="CODE|CASES")
@click.option("--case", help="walk through the case of this id only")
@click.option(
    "--html",
    type=_Place(path_type=Path),
    help="also write the timelines as one self-contained page",
)
@click.pass_context
def explain(ctx: click.Context, what: str, case: str | None, html: Path | None) -> None:
    """Explain what a finding code means, or walk through the CASES that search found."""
    from gridproof.commands import explain as command

    _finish(command.run(_output(ctx), what, case, html))


@main.command()
@click.argument("cases", nargs=-1, type=_Place(path_type=Path))
@click.option(
    "--device",
    type=click.Choice(choices.DEVICES),
    help="default: cuda if there is a GPU, else cpu; the report names it",
)
@click.option("--dtype", type=click.Choice(choices.DTYPES), default="float64")
@click.option(
    "--recurrence",
    metavar="VALUES",
    help=f"{', '.join(choices.RECURRENCES)}; default: the one that a case names, else all",
)
@click.option("--require-gpu", is_flag=True, help="fail if there is no GPU")
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
    """Replay the CASES that search found on real recurrences.

    A warm run from the cached state is compared with a cold run from the first token. Needs torch.
    """
    from gridproof.commands import replay as command

    code = command.run(_output(ctx), cases, device, dtype, recurrence, form, require_gpu)
    _finish(code, exit_zero)


@main.command()
@_ONE_ENGINE
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@click.pass_context
def designs(ctx: click.Context, engine: str | None, form: str) -> None:
    """List the named designs and the rule that each producer of checkpoints uses."""
    from gridproof.commands import designs as command

    _finish(command.run(_output(ctx), engine, form))


def _choose_color(ctx: click.Context, option: click.Parameter, value: str | None) -> None:
    if value is not None:
        ctx.obj["color"] = value


for _command in main.commands.values():
    _command.params.append(
        click.Option(
            ["--color"],
            type=_COLORS,
            callback=_choose_color,
            expose_value=False,
            help="as before the command",
        )
    )


def _on_interrupt(number: int, frame: Any) -> None:
    """Remember an interrupt, which would be lost if it arrived while a solver object is being freed."""
    global _interrupted
    _interrupted = True
    raise KeyboardInterrupt


_interrupted = False


def run() -> None:
    """Run the command line; whatever happens, it ends with one of the exit codes that `--help` lists."""
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
