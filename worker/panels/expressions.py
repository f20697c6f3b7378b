"""Expressions over metrics: `d_loss / g_loss`, parsed with Python's `ast` and checked against a
list of what is allowed.

Nothing of an expression is ever run as Python: what is not listed here is refused when it is
parsed. All arithmetic is float64, so that no exponent takes long or much memory.
"""

from __future__ import annotations

import ast
import keyword
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from ganboard.worker.panels.errors import BadPanel

LENGTH = 200  # characters
DEPTH = 12  # of brackets, functions and operators inside each other
NAMES = 8  # metrics in one expression
NEAR = 3  # names that a message offers
OPERATORS: dict[type, str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
    ast.UAdd: "+x",
    ast.USub: "-x",
}
# by name, how many arguments: at least, at most
FUNCTIONS: dict[str, tuple[int, int]] = {
    "log": (1, 1),
    "log10": (1, 1),
    "exp": (1, 1),
    "sqrt": (1, 1),
    "abs": (1, 1),
    "min": (2, 9),
    "max": (2, 9),
}
OVER_TIME: dict[str, tuple[int, int]] = {"cummin": (1, 1), "cummax": (1, 1), "ema": (2, 2)}
# of a metric over a run, in columns; there, `min` and `max` of one metric mean that too
SUMMARIES = ("last", "min", "max")
HELP = """\
`+ - * / **`, brackets, numbers, and these functions:

| Function | Value |
|---|---|
| `log(x)`, `log10(x)`, `exp(x)`, `sqrt(x)`, `abs(x)` | as in NumPy |
| `min(x, y)`, `max(x, y)` | the smaller, the larger of two or more |
| `cummin(x)`, `cummax(x)` | the smallest, the largest so far |
| `ema(x, 0.9)` | exponential moving average with this weight of past values |

Put a name with other characters than letters, digits and `_` in quotes: `"val/loss" / g_loss`.
"""
_WHAT = "Allowed are metrics, numbers, + - * / ** ( ) and the functions {}."


@dataclass(frozen=True)
class Expression:
    """An expression that can be evaluated; `names` are the metrics that it needs, in their order.

    In a column a name is that of a summary, such as `min(fid)`.
    """

    text: str
    tree: ast.expr
    names: tuple[str, ...]

    @property
    def simple(self) -> bool:
        """Whether it is a metric alone."""
        return isinstance(self.tree, ast.Name)


def parse(text: str) -> Expression:
    """An expression over the course of a run. Raises BadPanel."""
    return _Parser(FUNCTIONS | OVER_TIME, summaries=False).parse(text)


def parse_column(text: str) -> Expression:
    """An expression of one number per run: `last(x)`, `min(x)` and `max(x)` are those of a metric
    over the run, and a metric alone means its last value. Raises BadPanel."""
    return _Parser(FUNCTIONS | {"last": (1, 1)}, summaries=True).parse(text)


def summary_of(name: str) -> tuple[str, str]:
    """Which summary of which metric a name in a column is: ("min", "fid") for `min(fid)`."""
    function, _, rest = name.partition("(")
    return function, rest[:-1]


def quoted(name: str) -> str:
    """A metric as it is written in an expression."""
    functions = FUNCTIONS.keys() | OVER_TIME.keys() | {*SUMMARIES}
    if name.isidentifier() and name.isascii() and not keyword.iskeyword(name):
        return name if name not in functions else f'"{name}"'
    return f"'{name}'" if '"' in name else f'"{name}"'


def unknown(name: str, known: Sequence[str]) -> str:
    """The sentence about a metric that is not stored, with those that are spelled alike."""
    by_case = {one.casefold(): one for one in known}
    near = [by_case[one] for one in get_close_matches(name.casefold(), by_case, NEAR, 0.5)]
    if near:
        return f"There is no metric {name!r}. Did you mean {' or '.join(near)}?"
    some = ", ".join(sorted(known)[:12])
    more = f" and {len(known) - 12} more" if len(known) > 12 else ""
    offered = f"Stored are {some}{more}." if known else "Nothing is stored yet."
    return f"There is no metric {name!r}. {offered}"


@dataclass(frozen=True)
class _Parser:
    functions: Mapping[str, tuple[int, int]]
    summaries: bool

    def parse(self, text: str) -> Expression:
        text = text.strip()
        if not text:
            raise BadPanel("The expression is empty. Enter a metric such as g_loss.")
        if len(text) > LENGTH:
            raise BadPanel(f"The expression has {len(text):,} characters; the limit is {LENGTH}.")
        if wrong := next((c for c in text if not c.isprintable() or c == "\\"), None):
            raise BadPanel(f"The expression contains {wrong!r}, which no metric has. Remove it.")
        try:
            tree = ast.parse(text, mode="eval").body
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            raise BadPanel(
                f"The expression {text!r} cannot be read. Write it like d_loss / g_loss, with"
                " closed brackets and names of other characters in quotes."
            ) from None
        found: dict[str, None] = {}
        checked = self._checked(tree, found, DEPTH)
        if not found:
            raise BadPanel(f"The expression {text!r} has no metric. Add one such as g_loss.")
        if len(found) > NAMES:
            raise BadPanel(f"The expression has {len(found)} metrics; the limit is {NAMES}.")
        return Expression(text, checked, tuple(found))

    def _checked(self, node: ast.expr, found: dict[str, None], depth: int) -> ast.expr:
        """The same with what is not allowed refused, and its metrics added to `found`."""
        if depth == 0:
            raise BadPanel(
                f"The expression is nested deeper than {DEPTH} levels. Write it with fewer brackets"
                " and functions."
            )
        match node:
            case ast.Name(id=name) if name in self.functions:
                raise BadPanel(f"{name} is a function. Write {name}(...).")
            case ast.Name(id=name) | ast.Constant(value=str(name)):
                return self._metric(name, "last", found)
            case ast.Constant(value=bool()):
                pass
            case ast.Constant(value=int() | float() as number):
                return ast.Constant(_number(number))
            case ast.UnaryOp(op=ast.UAdd() | ast.USub() as sign, operand=operand):
                return ast.UnaryOp(sign, self._checked(operand, found, depth - 1))
            case ast.BinOp(left=left, op=operator, right=right) if type(operator) in OPERATORS:
                return ast.BinOp(
                    self._checked(left, found, depth - 1),
                    operator,
                    self._checked(right, found, depth - 1),
                )
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return self._call(name, arguments, found, depth)
        raise BadPanel(f"{_shown(node)} is not allowed. {_WHAT.format(', '.join(self.functions))}")

    def _call(
        self, name: str, arguments: list[ast.expr], found: dict[str, None], depth: int
    ) -> ast.expr:
        if self.summaries and name in SUMMARIES and len(arguments) == 1:
            match arguments[0]:
                case ast.Name(id=metric) | ast.Constant(value=str(metric)):
                    return self._metric(metric, name, found)
            raise BadPanel(f"{name}(...) of one value takes a metric alone, such as {name}(fid).")
        if name not in self.functions:
            near = get_close_matches(name, self.functions, 1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise BadPanel(
                f"There is no function {name!r}.{hint} The functions are"
                f" {', '.join(self.functions)}."
            )
        least, most = self.functions[name]
        if not least <= len(arguments) <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            hint = f" Use cum{name}(x) for that of a metric so far." if name in SUMMARIES else ""
            raise BadPanel(
                f"{name} takes {wanted} value{'s' * (most > 1)}, not {len(arguments)}.{hint}"
            )
        if name == "ema":
            _check_weight(arguments[1])
        own = [self._checked(argument, found, depth - 1) for argument in arguments]
        return ast.Call(ast.Name(name), own, [])

    def _metric(self, name: str, summary: str, found: dict[str, None]) -> ast.expr:
        name = name.strip()
        if not name:
            raise BadPanel("A name in the expression is empty. Enter a metric such as g_loss.")
        full = f"{summary}({name})" if self.summaries else name
        found[full] = None
        return ast.Name(full)


def _number(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _shown(node: ast.expr) -> str:
    """What was written there, shortened."""
    try:
        text = ast.unparse(node)
    except (ValueError, RecursionError):
        text = type(node).__name__
    return repr(text if len(text) <= 40 else text[:40] + "...")


def _check_weight(node: ast.expr) -> None:
    match node:
        case ast.Constant(value=int() | float() as weight) if not isinstance(weight, bool):
            if 0 <= weight < 1:
                return
    raise BadPanel(
        f"The weight of ema is {_shown(node)}; it must be a number from 0 to less than 1, such as"
        " ema(g_loss, 0.9)."
    )
