"""Numbers written as arithmetic of named parameters, such as ``"2*arm.length + 0.1"``.

The text is parsed by `ast` and its tree walked: only what this module names is ever computed, always with floats, so that no
text can run code, and none (``"9**9**9**9"``) can run long.
"""

from __future__ import annotations

import ast
import keyword
import math
import operator
import warnings
from collections.abc import Callable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any

from titop.blocks.basics.errors import MAX_FINDINGS, Finding, ModelError, did_you_mean

#: Longest expression in characters, deepest nesting of its operations, and most parameters of a file.
MAX_LENGTH = 400
MAX_DEPTH = 60
MAX_PARAMETERS = 100_000

FUNCTIONS: dict[str, Callable[[float], float]] = {
    "sqrt": math.sqrt,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
    "deg": math.radians,
}
CONSTANTS = {"pi": math.pi}

_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}

_SPLIT = "split it over several parameters"
_GRAMMAR = f"numbers, parameters, + - * / **, parentheses, {', '.join(FUNCTIONS)} and pi"


def evaluate(text: str, parameters: Mapping[str, float], where: str) -> float:
    """Return the value of an expression.

    `parameters`: NaN stands for a parameter that could not be evaluated and makes the result NaN; `where`: dotted place of the
    expression, for messages. Raises `ModelError` if the text is no arithmetic, too long or too deep, names unknown parameters,
    or has no finite real value.

    Examples
    --------
    >>> evaluate("2*arm.length + deg(180)/pi", {"arm.length": 0.25}, "hub.mass")
    1.5
    """
    return _Evaluation(text, parameters, where).value(parse(text, where))


def number(value: Any, parameters: Mapping[str, float], where: str, infinite: bool = False) -> float:
    """Return a number that is given as a number or as an expression.

    `parameters`, `where`: see `evaluate`; `infinite`: whether infinity is a number here. Raises `ModelError` if the value is
    neither, or not finite.
    """
    if isinstance(value, str):
        return evaluate(value, parameters, where)
    if isinstance(value, bool) or not isinstance(value, int | float):
        advice = 'write 0.5 or, in quotes, arithmetic such as "2*length"'
        raise ModelError(Finding("wrong-type", where, value, "a number or an expression", advice))
    try:
        result = float(value)
    except OverflowError:
        result = math.nan
    if not (math.isfinite(result) or (infinite and math.isinf(result))):
        raise ModelError(Finding("not-finite", where, result, "a finite number", "check the value"))
    return result


def evaluate_parameters(table: Mapping[str, Any], where: str = "parameters") -> tuple[dict[str, float], list[Finding]]:
    """Return the values of a table of parameters by dotted name, and its errors (the first findings).

    `table`: of names to numbers, expressions of other parameters in any order, or tables of the same; `where`: name of the
    table, for messages. Raises `ModelError` if there are too many.
    """
    findings: list[Finding] = []
    given = dict(_flat(table, where, "", findings))
    if len(given) > MAX_PARAMETERS:
        found, expected = f"{len(given)} parameters", f"at most {MAX_PARAMETERS}"
        raise ModelError([*findings, Finding("too-large", where, found, expected, "write numbers where they are used")])
    values = dict.fromkeys(given, math.nan)
    used = {name: _used_parameters(value, given) for name, value in given.items()}
    try:
        order = list(TopologicalSorter(used).static_order())
    except CycleError as error:
        cycle = error.args[1][::-1]
        expected, advice = "parameters that do not depend on themselves", "give one of them as a number"
        findings.append(Finding("cyclic-parameters", f"{where}.{cycle[0]}", " -> ".join(cycle), expected, advice))
        return values, findings
    for name in order:
        try:
            values[name] = number(given[name], values, f"{where}.{name}")
        except ModelError as error:
            findings += error.findings
        if len(findings) >= MAX_FINDINGS:
            break
    return values, findings


def _used_parameters(value: Any, known: Mapping[str, Any]) -> set[str]:
    """Return the known parameters in an expression; none in what is no expression, which its evaluation will report."""
    if not isinstance(value, str):
        return set()
    try:
        names = {dotted_name(node) for node in ast.walk(parse(value, ""))}
    except ModelError:
        return set()
    return {name for name in names if name is not None and name in known}


def parse(text: str, where: str) -> ast.expr:
    """Return the tree of an expression; see `evaluate`."""
    if len(text) > MAX_LENGTH:
        raise _refusal("long-expression", where, text, f"at most {MAX_LENGTH} characters", _SPLIT)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            warnings.simplefilter("ignore", DeprecationWarning)  # what Python 3.11 makes of "1if"
            tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = getattr(error, "msg", error)
        raise _refusal("bad-expression", where, text, f"arithmetic ({reason})", f"write it with {_GRAMMAR}") from None
    return tree


class _Evaluation:
    """The evaluation of one expression."""

    def __init__(self, text: str, parameters: Mapping[str, float], where: str) -> None:
        self.text, self.parameters, self.where = text, parameters, where

    def value(self, node: ast.AST, depth: int = 1) -> float:
        """Return the value of a node of the tree, at a depth below its top."""
        if depth > MAX_DEPTH:
            raise self._refusal("deep-expression", f"at most {MAX_DEPTH} nested operations", _SPLIT)
        name = dotted_name(node)
        if name is not None:
            return self._parameter(name)
        match node:
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                return self._compute(float, number)
            case ast.UnaryOp(op=sign, operand=operand) if type(sign) in _OPERATORS:
                return self._compute(_OPERATORS[type(sign)], self.value(operand, depth + 1))
            case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATORS:
                terms = (self.value(term, depth + 1) for term in (left, right))
                return self._compute(_OPERATORS[type(sign)], *terms)
            case ast.Call(func=ast.Name(id=function), args=[argument], keywords=[]) if function in FUNCTIONS:
                return self._compute(FUNCTIONS[function], self.value(argument, depth + 1))
        raise self._refusal("bad-expression", _GRAMMAR, _advice(node))

    def _parameter(self, name: str) -> float:
        if name in CONSTANTS:
            return CONSTANTS[name]
        if name in self.parameters:
            return self.parameters[name]
        known = [*CONSTANTS, *FUNCTIONS, *self.parameters]
        raise self._refusal("unknown-parameter", f"a parameter where {name!r} stands", did_you_mean(name, known))

    def _compute(self, function: Callable[..., Any], *arguments: Any) -> float:
        try:
            result = function(*arguments)
        except (ArithmeticError, ValueError) as error:
            raise self._refusal("bad-value", "a finite number", f"in one operation: {error}") from None
        if isinstance(result, complex) or math.isinf(result):
            raise self._refusal("bad-value", "a finite real number", f"one operation gives {result}")
        return float(result)

    def _refusal(self, code: str, expected: str, advice: str) -> ModelError:
        return _refusal(code, self.where, self.text, expected, advice)


def dotted_name(node: ast.AST) -> str | None:
    """Return ``"a.b.c"`` for the node of such a name, None for any other node."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else None


def _flat(table: Mapping[str, Any], where: str, prefix: str, findings: list[Finding]) -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        name = prefix + key
        reserved = not prefix and (key in FUNCTIONS or key in CONSTANTS)
        if not (key.isascii() and key.isidentifier()) or keyword.iskeyword(key) or reserved:
            expected = "a name of letters, digits and _ that means nothing else in an expression"
            findings.append(Finding("bad-name", f"{where}.{name}", key, expected, "rename the parameter"))
        elif isinstance(value, Mapping):
            yield from _flat(value, where, f"{name}.", findings)
        else:
            yield name, value


def _advice(node: ast.AST) -> str:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitXor):
        return "write ** for powers, not ^"
    if isinstance(node, ast.Call):
        name = dotted_name(node.func) or "this"
        return "give one argument" if name in FUNCTIONS else f"{name} is no function here: {did_you_mean(name, FUNCTIONS)}"
    if isinstance(node, ast.Tuple):
        return "write a point in numbers, not a comma"
    return f"remove what is not arithmetic ({type(node).__name__})"


def _refusal(code: str, where: str, value: Any, expected: str, advice: str) -> ModelError:
    return ModelError(Finding(code, where, repr(value), expected, advice))
