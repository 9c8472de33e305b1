"""The C text of a model's programs: header, functions and test."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CANCELLED
from titop.solvers.programs.c_code import CFunction, Dialect, FunctionPrinter, distinct
from titop.solvers.programs.c_text import allowed_error, c_names, c_number, comment, enumeration, fill, stack_bytes, table
from titop.solvers.programs.model_program import Program
from titop.solvers.programs.trusted_program import HEALTH

#: Samples of each function in the test, the seed of their states, and how far these are from the nominal one.
_SAMPLES, _SEED, _SPREAD = 8, 1, 0.3
#: Arrays whose places are named, and the input that is a structure.
_NAMED, _PARAMETERS = ("q", "v", "u", "x", "states", "r", "y", "commands", "A", "ports"), "parameters"

_FINITE = """\
/* Tells whether numbers are finite. */
static int @p_finite(const @real *x, int count)
{
    int i;
    for (i = 0; i < count; i++) {
        if (!isfinite(x[i])) { return 0; }
    }
    return 1;
}

"""
_CHECK = """\
static int check_<name>(void)
{
<tables>    @real <declared>;
    int k, status = 0;
    largest = <zero>;
    for (k = 0; k < <samples> && status == 0; k++) {
        status = @p_<name>(<arguments>);
<compare>    }
    printf("@p_<name>: status %d, %d states, largest error %.1e,", status, k, (double)largest);
    printf(" allowed %.1e\\n", (double)<allowed>);
    return status == 0 && largest <= <allowed> ? 0 : 1;
}

"""


class ProgramText:
    """The text of a `Program` in C.

    - `about`: what it is, line by line; `header`, `source`, `test`: without what all files have in common;
    - `names`: the enumerators and fields, by path.
    """

    def __init__(self, program: Program, prefix: str, dialect: Dialect) -> None:
        self._program, self._prefix, self._dialect, self._real = program, prefix, dialect, dialect.precision
        self._functions = {name: distinct(function) for name, function in program.functions.items()}
        if empty := next((name for name in self._functions if not any(self._results(name).values())), None):
            raise ModelError(Finding("empty", empty, "no outputs", "one at least", "C has no arrays of nothing: leave it out"))
        self._fields = c_names(program.names.get(_PARAMETERS, ()))
        self.names: dict[str, str] = dict(self._fields)
        places = ""
        used = {"ports", *(of for function in self._functions.values() for of in (*function.inputs, *function.outputs))}
        for kind in (kind for kind in _NAMED if kind in used and program.names.get(kind)):
            own, arrays = c_names(program.names[kind]), ("v", "a", "tau") if kind == "v" else (kind,)
            units = zip(*(program.units[array] for array in arrays), strict=True)
            notes = [f"{path} ({', '.join(unit)})" for path, unit in zip(own, units, strict=True)]
            of = "the first axis" if kind == "ports" else ", ".join(f"{array}[]" for array in arrays)
            places += f"#define {prefix.upper()}_N{kind.upper()} {len(own)}\n\n"
            places += enumeration(f"places in {of}", f"{prefix}_{kind}", dict(zip(own.values(), notes, strict=True)))
            self.names |= {f"{kind}:{path}": f"{prefix}_{kind}_{name}".upper() for path, name in own.items()}
        printed = {name: self._printed(name) for name in self._functions}
        self.about = [
            f"{prefix}: functions of a model. Arrays may not overlap; matrices are row by row. No heap, no recursion."
        ]
        for name, function in printed.items():
            frames = 8 if self._functions[name].loops else 5  # of loops: what runs the turns, a turn, and its chunk
            stack = stack_bytes(function.numbers + len(program.names["v"]), self._real, frames)
            self.about.append(
                f"{prefix}_{name}: {function.operations} operations, at most {stack} bytes of stack if optimised."
            )
        heads = "".join(f"\n{comment(self._note(name))}\n{self._head(name)};\n" for name in self._functions)
        status = f"#define {prefix.upper()}_NOT_FINITE (-1)  /* status: an argument or a result is no finite number */\n\n"
        self.header = status + places + self._structure() + heads.lstrip("\n")
        self.source = self._defaults() + fill(_FINITE, prefix, self._real, {})
        self.source += "".join(function.text for function in printed.values())
        self.test = "".join(map(self._check, self._functions)) + self._main()

    def _arguments(self, name: str) -> dict[str, str]:
        """Return the declarations of a function's inputs, by name."""
        inputs, real = self._functions[name].inputs, self._real
        return {
            of: f"const {self._prefix}_{_PARAMETERS} *{_PARAMETERS}" if of == _PARAMETERS else f"const {real} {of}[{size}]"
            for of, size in inputs.items()
        }

    def _results(self, name: str) -> dict[str, int]:
        """Return the sizes of a function's outputs but its health."""
        return {of: len(output.values) for of, output in self._functions[name].outputs.items() if of != HEALTH}

    def _head(self, name: str) -> str:
        arguments = [*self._arguments(name).values(), *(f"{self._real} {of}[{n}]" for of, n in self._results(name).items())]
        return f"int {self._prefix}_{name}({', '.join(arguments)})"

    def _note(self, name: str) -> str:
        outputs = self._functions[name].outputs
        shapes = ", ".join(f"{of} {list(outputs[of].shape)}" for of in self._results(name))
        lost = "the place, from 1, of a coordinate without inertia, " if HEALTH in outputs else ""
        return f"Gives {shapes}. Returns 0, {lost}or {self._prefix.upper()}_NOT_FINITE."

    def _place(self, name: str, k: int) -> str:
        if name != _PARAMETERS:
            return self._dialect.entry(name, k)
        return f"{_PARAMETERS}->{self._fields[self._program.names[_PARAMETERS][k]]}"

    def _printed(self, name: str) -> CFunction:
        """Return a public function, and the static ones that it calls."""
        function, inner = self._functions[name], f"{self._prefix}_{name}_values"
        arguments = self._arguments(name) | {of: f"{self._real} *{of}" for of in function.outputs}
        found = FunctionPrinter(function, inner, list(function.outputs), arguments, self._dialect, self._place).printed()
        call, given, declared = f"{inner}({', '.join(arguments)});\n", self._finite(function.inputs), ""
        if HEALTH in function.outputs:
            count = len(function.outputs[HEALTH].values)
            least = self._dialect.least_health
            declared = f"    {self._real} {HEALTH}[{count}];\n    int i;\n"
            call += f"    for (i = 0; i < {count}; i++) {{\n        if (!({HEALTH}[i] > {least})) {{ return i + 1; }}\n    }}\n"
        body = f"{declared}{given}    {call}{self._finite(self._results(name))}    return 0;\n"
        return CFunction(f"{found.text}{self._head(name)}\n{{\n{body}}}\n\n", found.numbers, found.operations)

    def _finite(self, arrays: Mapping[str, int]) -> str:
        """Return the lines that return where a number of some arrays is not finite."""
        texts = {of: f"(const {self._real} *){of}" if of == _PARAMETERS else of for of in arrays}
        return "".join(
            f"    if (!{self._prefix}_finite({texts[of]}, {size})) {{ return {self._prefix.upper()}_NOT_FINITE; }}\n"
            for of, size in arrays.items()
        )

    def _structure(self) -> str:
        if not self._fields:
            return ""
        units = self._program.units[_PARAMETERS]
        rows = (
            f"    {self._real} {name};  {comment(f'{path} ({unit})')}\n"
            for (path, name), unit in zip(self._fields.items(), units, strict=True)
        )
        name = f"{self._prefix}_{_PARAMETERS}"
        return f"typedef struct {{\n{''.join(rows)}}} {name};\n\nextern const {name} {self._prefix.upper()}_DEFAULTS;\n\n"

    def _defaults(self) -> str:
        if not self._fields:
            return ""
        values = table(self._program.at[_PARAMETERS], self._real)
        return f"const {self._prefix}_{_PARAMETERS} {self._prefix.upper()}_DEFAULTS = {values};\n\n"

    # -- test --------------------------------------------------------------------------------------------------------------

    def _cases(self, name: str) -> tuple[dict[str, Array], dict[str, Array], float]:
        """Return inputs of a function, its outputs (samples, size), and what single precision costs."""
        rng, function, at = np.random.default_rng(_SEED), self._functions[name], self._program.at
        given = {of: at[of] for of in function.inputs}
        for of, size in function.inputs.items():
            if of != _PARAMETERS:
                given[of] = at[of] + _SPREAD * rng.standard_normal((_SAMPLES, size)) * (np.arange(_SAMPLES) > 0)[:, None]
        found = function.evaluate(given)
        usable = np.ones(_SAMPLES, dtype=bool)
        for of, output in function.outputs.items():
            found[of] = np.broadcast_to(found[of], (_SAMPLES, *output.shape)).reshape(_SAMPLES, -1)
            usable &= (np.isfinite(found[of]) if of != HEALTH else found[of] > math.sqrt(CANCELLED)).all(axis=-1)
        answers = {of: found[of][usable] for of in self._results(name)}
        given = {of: rows if of == _PARAMETERS else rows[usable] for of, rows in given.items()}
        rounded = function.evaluate({of: rows.astype(np.float32).astype(float) for of, rows in given.items()})
        errors = [np.abs(rounded[of].reshape(-1, rows.shape[1]) - rows).max() / _size(rows) for of, rows in answers.items()]
        return given, answers, float(max(errors))

    def _check(self, name: str) -> str:
        """Return a function that compares one function with titop."""
        given, answers, cost = self._cases(name)
        real, allowed = self._real, allowed_error(cost, self._real)
        tables = {of: rows for of, rows in given.items() if of != _PARAMETERS} | {
            f"{of}_answer": rows for of, rows in answers.items()
        }
        written = "".join(
            f"    static const {real} {of}[{len(rows)}][{rows.shape[1]}] =\n    {table(rows, real)};\n"
            for of, rows in tables.items()
        )
        arguments = [f"&{self._prefix.upper()}_DEFAULTS" if of == _PARAMETERS else f"{of}[k]" for of in given]
        compare = "".join(
            f"        compare({of}, {of}_answer[k], {rows.shape[1]}, {self._dialect.number(_size(rows))});\n"
            for of, rows in answers.items()
        )
        values = {
            "name": name,
            "tables": written,
            "declared": ", ".join(f"{of}[{rows.shape[1]}]" for of, rows in answers.items()),
            "zero": c_number(0.0, real),
            "samples": str(len(next(iter(answers.values())))),
            "arguments": ", ".join([*arguments, *answers]),
            "compare": compare,
            "allowed": c_number(allowed, real),
        }
        return fill(_CHECK, self._prefix, real, values)

    def _main(self) -> str:
        calls = "".join(f"    failed += check_{name}();\n" for name in self._functions)
        return f"int main(void)\n{{\n    int failed = 0;\n{calls}    return failed == 0 ? 0 : 1;\n}}\n"


def _size(rows: Array) -> float:
    return float(np.abs(rows).max()) or 1.0
