"""Reads a proof of cvc5 and the file it refers to, to hold both together and each step against z3."""

import re
from collections import ChainMap
from dataclasses import dataclass, field

import z3

Expression = str | tuple
_TOKEN = re.compile(r';[^\n]*|"[^"]*"|[()]|[^\s()";]+')


def expressions(text):
    """All expressions of a script: symbols, and tuples of expressions."""
    stack = [[]]
    for token in _TOKEN.findall(text):
        if token == "(":
            stack.append([])
        elif token == ")":
            done = tuple(stack.pop())
            stack[-1].append(done)
        elif not token.startswith(";"):
            stack[-1].append(token)
    (found,) = stack
    return found


def expanded(expression, names):
    """The expression with names replaced by what they stand for, and its lets opened."""
    if isinstance(expression, str):
        return names.get(expression, expression)
    if expression[:1] == ("let",):
        _, bindings, body = expression
        bound = {name: expanded(value, names) for name, value in bindings}
        return expanded(body, {**names, **bound})
    return tuple(expanded(part, names) for part in expression)


@dataclass
class Step:
    """One inference: its rule, the conclusions it rests on, and its own."""

    rule: str
    premises: list
    conclusion: Expression


@dataclass
class Proof:
    """`reference`: the file it is about; `assumptions`: what it takes from there; its steps in order."""

    reference: str
    assumptions: list = field(default_factory=list)
    steps: list = field(default_factory=list)


def proof(text):
    """A proof as cvc5 prints it; what is concluded under an assumption of its own is not known outside."""
    (keyword, reference), *commands = expressions(text)
    assert keyword == "reference"
    found, names, known, assumed = Proof(reference.strip('"')), {}, ChainMap(), []
    for kind, name, *rest in commands:
        if kind == "define":
            names[name] = expanded(rest[1], names)
        elif kind == "assume":
            known[name] = expanded(rest[0], names)
            found.assumptions.append(known[name])
        elif kind == "assume-push":
            assumed.append(expanded(rest[0], names))
            known = known.new_child({name: assumed[-1]})
        elif kind == "step":
            conclusion, *options = rest
            step = Step(options[1], _premises(options, known), expanded(conclusion, names))
            found.steps.append(step)
            known[name] = step.conclusion
        else:
            assert kind == "step-pop" and rest[:2] == [":rule", "scope"]
            (concluded,) = _premises(rest, known)
            known = known.parents
            known[name] = ("=>", assumed.pop(), concluded)
    assert not assumed
    return found


def _premises(options, known):
    given = dict(zip(options[::2], options[1::2], strict=True))
    return [known[name] for name in given.get(":premises", ())]


def assertions(text):
    """What an SMT-LIB script asserts."""
    return [expanded(command[1], {}) for command in expressions(text) if command[0] == "assert"]


class Semantics:
    """Expressions as z3 formulas over integers."""

    def __init__(self):
        self._known = {"true": z3.BoolVal(True), "false": z3.BoolVal(False)}
        self._operators = {
            "not": z3.Not,
            "and": z3.And,
            "or": z3.Or,
            "=>": z3.Implies,
            "xor": z3.Xor,
            "ite": z3.If,
            "=": lambda a, b: a == b,
            "distinct": z3.Distinct,
            "<": lambda a, b: a < b,
            "<=": lambda a, b: a <= b,
            ">": lambda a, b: a > b,
            ">=": lambda a, b: a >= b,
            "+": lambda *parts: z3.Sum(parts),
            "*": lambda *parts: z3.Product(parts),
            "-": lambda a, *rest: a - z3.Sum(rest) if rest else -a,
            "abs": z3.Abs,
            "to_real": z3.ToReal,
            "to_int": z3.ToInt,
        }

    def __call__(self, expression):
        if expression not in self._known:
            self._known[expression] = self._built(expression)
        return self._known[expression]

    def _built(self, expression):
        if isinstance(expression, tuple):
            operator, *parts = expression
            return self._operators[operator](*map(self, parts))
        if re.fullmatch(r"-?\d+", expression):
            return z3.IntVal(int(expression))
        if re.fullmatch(r"-?\d+/\d+", expression):
            return z3.RealVal(expression)
        return z3.Int(expression)

    def follows(self, step):
        """Whether z3 shows that a step's conclusion follows from its premises."""
        solver = z3.Solver()
        solver.set("timeout", 10_000)
        solver.add(*map(self, step.premises), z3.Not(self(step.conclusion)))
        return solver.check() == z3.unsat
