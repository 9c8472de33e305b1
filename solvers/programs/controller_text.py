"""The C text of a controller: its header, its step and its test."""

from __future__ import annotations

from typing import Any

import numpy as np

from titop.blocks.basics.tolerances import EPS, SAME
from titop.solvers.programs.c_text import c_names, c_number, comment, enumeration, fill, stack_bytes, table
from titop.solvers.programs.c_controllers import CController

#: Errors in the test, in roundings, beside what rounding states and signals costs: sums in another order, rounded entries.
_MARGIN = 100

_DEFINES = """\
#define @P_STATES <states>
#define @P_INPUTS <inputs>
#define @P_OUTPUTS <outputs>
#define @P_SAMPLE_TIME <period>  /* s */
#define @P_DELAY <delay>  /* s, from a sample to when its outputs act */
"""

_HEADER = """\
typedef struct {
<parameters>} @p_parameters;

typedef struct {
    @real state[<state_size>];
<held>} @p_memory;

extern const @p_parameters @P_DEFAULTS;

/* Sets the memory to rest. Returns @P_NOT_FINITE if a parameter is no finite number. */
int @p_initialize(@p_memory *memory, const @p_parameters *parameters);

/* One sample, from in[] to out[]; returns a status. */
int @p_step(@p_memory *memory, const @p_parameters *parameters, const @real in[@P_INPUTS], @real out[@P_OUTPUTS]);

/* Sets the memory to rest, as @p_initialize does. */
void @p_reset(@p_memory *memory, const @p_parameters *parameters);
"""

_SOURCE = """\
const @p_parameters @P_DEFAULTS = {
<defaults>
};

void @p_reset(@p_memory *memory, const @p_parameters *parameters)
{
    int i;
    (void)parameters;
    for (i = 0; i < <state_size>; i++) {
        memory->state[i] = <zero>;
    }
<reset>}

int @p_initialize(@p_memory *memory, const @p_parameters *parameters)
{
    const @real *number = (const @real *)parameters;
    int i;
    @p_reset(memory, parameters);
    for (i = 0; i < (int)(sizeof *parameters / sizeof *number); i++) {
        if (!isfinite(number[i])) {
            return @P_NOT_FINITE;
        }
    }
    return @P_OK;
}
<helpers>
int @p_step(@p_memory *memory, const @p_parameters *parameters, const @real in[@P_INPUTS], @real out[@P_OUTPUTS])
{
    @real z[<columns>];
    @real result[<rows>];
<locals>
    /* the states, and the errors that the controller takes */
    for (i = 0; i < @P_STATES; i++) {
        z[i] = memory->state[i];
    }
<errors>
<law>
    /* numbers that are none leave everything as it was */
    for (i = 0; i < <rows>; i++) {
        if (!isfinite(result[i])) {
            return @P_NOT_FINITE;
        }
    }
    for (i = 0; i < @P_STATES; i++) {
        memory->state[i] = result[i];
    }
<outputs>    return status;
}
"""

_HELD = """\
    @real out[<held>][@P_OUTPUTS];  /* outputs that are held back */
    int next;
"""

_RESET = """\
    memory->next = 0;
    for (i = 0; i < <held> * @P_OUTPUTS; i++) {
        memory->out[i / @P_OUTPUTS][i % @P_OUTPUTS] = <rest>;
    }
"""

_AT_ONCE = """\
    for (i = 0; i < @P_OUTPUTS; i++) {
        out[i] = result[@P_STATES + i]<trim>;
    }
"""

_LATE = """\
    for (i = 0; i < @P_OUTPUTS; i++) {
        out[i] = memory->out[memory->next][i];
        memory->out[memory->next][i] = result[@P_STATES + i]<trim>;
    }
    memory->next = (memory->next + 1) % <held>;
"""

_FIXED = """\
    /* x_next = A x + B e, u = C x + D e */
    for (i = 0; i < <rows>; i++) {
        result[i] = <zero>;
        for (j = 0; j < <columns>; j++) {
            result[i] += parameters->matrix[i][j] * z[j];
        }
    }
"""

_PLACE = """
/* Finds the interval around a value and the part of the way through it; outside, the nearest end, and @P_OUTSIDE. */
static int @p_place(const @real *axis, int count, @real value, int *interval, @real *part)
{
    int status = @P_OK, k = 0;
    if (!(value >= axis[0])) {
        value = axis[0];
        status = @P_OUTSIDE;
    }
    if (value > axis[count - 1]) {
        value = axis[count - 1];
        status = @P_OUTSIDE;
    }
    while (k < count - 2 && value > axis[k + 1]) {
        k++;
    }
    *interval = k;
    *part = count > 1 ? (value - axis[k]) / (axis[k + 1] - axis[k]) : <zero>;
    return status;
}
"""

#: Gauss' elimination with the largest pivots of each column; the right side is the last column.
_SOLVE = """
/* Solves a[i][0..n-1] x = a[i][n]; the solution is left in the last column. */
static int @p_solve(@real a[@P_STATES][@P_STATES + 1])
{
    int i, j, k, best;
    @real factor;
    for (k = 0; k < @P_STATES; k++) {
        best = k;
        for (i = k + 1; i < @P_STATES; i++) {
            if (fabs<f>(a[i][k]) > fabs<f>(a[best][k])) {
                best = i;
            }
        }
        if (!(fabs<f>(a[best][k]) > <zero>)) {
            return @P_NOT_FINITE;
        }
        for (j = k; j <= @P_STATES; j++) {
            factor = a[k][j];
            a[k][j] = a[best][j];
            a[best][j] = factor;
        }
        for (i = k + 1; i < @P_STATES; i++) {
            factor = a[i][k] / a[k][k];
            for (j = k + 1; j <= @P_STATES; j++) {
                a[i][j] -= factor * a[k][j];
            }
        }
    }
    for (i = @P_STATES - 1; i >= 0; i--) {
        for (j = i + 1; j < @P_STATES; j++) {
            a[i][@P_STATES] -= a[i][j] * a[j][@P_STATES];
        }
        a[i][@P_STATES] /= a[i][i];
    }
    return @P_OK;
}
"""

_MEMBER = """\
    /* the points around the parameters, and the mean of their matrices [A, B; C, D] in continuous time */
<places>    for (i = 0; i < <rows>; i++) {
        for (j = 0; j < <columns>; j++) {
            mean[i][j] = <zero>;
        }
    }
    for (corner = 0; corner < <corners>; corner++) {
        weight = <one>;
        point = 0;
        for (k = 0; k < <axes>; k++) {
            weight *= (corner >> k) & 1 ? part[k] : <one> - part[k];
            point = point * counts[k] + interval[k] + ((corner >> k) & 1);
        }
        if (weight > <zero>) {
            for (i = 0; i < <rows>; i++) {
                for (j = 0; j < <columns>; j++) {
                    mean[i][j] += weight * parameters->members[point][i][j];
                }
            }
        }
    }
<tustin>    for (i = @P_STATES; i < <rows>; i++) {
        result[i] = <zero>;
        for (j = 0; j < <columns>; j++) {
            result[i] += mean[i][j] * z[j];
        }
    }
"""

_TUSTIN = """\
    /* Tustin's rule: (I - A T / 2) x_middle = x + B e T / 2, x_next = 2 x_middle - x */
    for (i = 0; i < @P_STATES; i++) {
        a[i][@P_STATES] = z[i];
        for (j = 0; j < @P_STATES; j++) {
            a[i][j] = (i == j ? <one> : <zero>) - half * mean[i][j];
        }
        for (j = @P_STATES; j < <columns>; j++) {
            a[i][@P_STATES] += half * mean[i][j] * z[j];
        }
    }
    if (@p_solve(a) != @P_OK) {
        return @P_NOT_FINITE;
    }
    for (i = 0; i < @P_STATES; i++) {
        result[i] = <two> * a[i][@P_STATES] - z[i];
        z[i] = a[i][@P_STATES];
    }
"""


#: A step for each row of inputs; the largest difference of outputs, in parts of the largest of each.
_TEST = """\
#define SAMPLES <samples>
static const @real given[SAMPLES][@P_INPUTS] =
    <given>;
static const @real answers[SAMPLES][@P_OUTPUTS] =
    <answers>;
static const @real sizes[@P_OUTPUTS] = <sizes>;

int main(void)
{
    @p_memory memory;
    @real out[@P_OUTPUTS], error, largest = <zero>;
    int i, k;
    if (@p_initialize(&memory, &@P_DEFAULTS) != @P_OK) {
        printf("@p: initialize has failed\\n");
        return 1;
    }
    for (k = 0; k < SAMPLES; k++) {
        if (@p_step(&memory, &@P_DEFAULTS, given[k], out) != @P_OK) {
            printf("@p: step %d has failed\\n", k);
            return 1;
        }
        for (i = 0; i < @P_OUTPUTS; i++) {
            error = fabs<f>(out[i] - answers[k][i]) / sizes[i];
            if (!(error <= largest)) {
                largest = error;
            }
        }
    }
    printf("@p: %d steps, largest error %.1e, allowed %.1e\\n", SAMPLES, (double)largest, (double)<allowed>);
    return largest <= <allowed> ? 0 : 1;
}
"""


class ControllerText:
    """The text of a controller in C.

    - `about`: what it is, line by line; `header`, `source`, `test`: without what all files have in common;
    - `names`: the enumerators of inputs and outputs, by path.
    """

    def __init__(self, controller: CController, prefix: str, precision: str) -> None:
        self._controller, self._prefix, self._precision = controller, prefix, precision
        self._nx, self._inputs = controller.linear.K.nstates, controller.inputs
        outputs, family = controller.law.outputs, controller.family
        self._rows, self._columns = self._nx + len(outputs), self._nx + len(controller.errors)
        names = c_names(self._inputs), c_names(outputs)
        places = [(list(own), list(own.values()), units) for own, units in zip(names, controller.units, strict=True)]
        statuses = {
            "OK": "all is well",
            "NOT_FINITE": "an input or a result is no finite number: nothing has changed, out[] included",
        }
        if family is not None:
            statuses["OUTSIDE"] = "a scheduling parameter is outside its range: the nearest member acts"
        self.names = {
            path: f"{prefix}_{kind}_{name}".upper()
            for kind, (paths, own, _) in zip(("IN", "OUT"), places, strict=True)
            for path, name in zip(paths, own, strict=True)
        }
        self.about = self._about()
        enumerations = [
            "/* what functions return */\n" + enumeration(prefix, list(statuses), list(statuses.values())),
            *(
                f"/* places in {array}[] */\n"
                + enumeration(
                    prefix,
                    [f"{array}_{name}" for name in own],
                    [f"{path} ({unit})" if unit else path for path, unit in zip(paths, units, strict=True)],
                )
                for array, (paths, own, units) in zip(("in", "out"), places, strict=True)
            ),
        ]
        fields = self._fields()
        declared = "".join(f"    {comment(note)}\n    @real {name};\n" for name, note, _ in fields)
        held = (
            "    @real out[<held>][@P_OUTPUTS];  /* outputs that are held back */\n    int next;\n" if controller.held else ""
        )
        self.header = self._fill(
            _DEFINES + "\n" + "\n".join(enumerations) + "\n" + _HEADER.replace("<parameters>", declared).replace("<held>", held)
        )
        defaults = ",\n".join("    " + table(values, precision) for _, _, values in fields)
        parts = {
            "<defaults>": defaults,
            "<reset>": _RESET if controller.held else "",
            "<helpers>": "" if family is None else _PLACE + (_SOLVE if self._nx else ""),
            "<locals>": self._locals(),
            "<errors>": self._errors(),
            "<law>": _FIXED if family is None else self._member(),
            "<outputs>": _LATE if controller.held else _AT_ONCE,
        }
        source = _SOURCE
        for mark, text in parts.items():
            source = source.replace(mark, text)
        self.source = self._fill(source)
        self.test = self._test()

    def _number(self, value: float) -> str:
        return c_number(value, self._precision)

    def _fill(self, template: str, **values: Any) -> str:
        one = self._controller
        numbers = {"zero": self._number(0.0), "one": self._number(1.0), "two": self._number(2.0)}
        numbers |= {"period": self._number(one.law.sample_time), "half": self._number(one.law.sample_time / 2)}
        has_point = one.has_point
        numbers |= {"trim": " + parameters->out_at_rest[i]" if has_point else ""}
        numbers |= {"rest": f"parameters->out_at_rest[i % {self._prefix.upper()}_OUTPUTS]" if has_point else numbers["zero"]}
        numbers |= {"delay": self._number(one.delay), "f": "f" if self._precision == "float" else ""}
        counts = {"states": self._nx, "state_size": max(self._nx, 1), "rows": self._rows, "columns": self._columns}
        counts |= {"inputs": len(self._inputs), "outputs": len(one.law.outputs), "held": one.held}
        if one.family is not None:
            axes = one.family.axes
            counts |= {"axes": len(axes), "corners": 2 ** len(axes)}
        return fill(template, self._prefix, self._precision, **numbers, **counts, **values)

    def _about(self) -> list[str]:
        one, n = self._controller, self._nx
        period, corners = one.law.sample_time, 1 if one.family is None else 2 ** len(one.family.axes)
        rest = one.delay - one.held * period
        acting = f"{rest:.9g} s after the sample" if rest > SAME * period else "at once"
        entries = self._rows * self._columns
        operations = 2 * entries * (corners if one.family is None else corners + 1) + 2 * one.errors.size
        arrays = self._rows + self._columns
        if one.family is not None:
            operations += 2 * n**3 // 3 + 4 * n * self._columns
            arrays += entries + n * (n + 1) + 3 * len(one.family.axes)
        lines = [
            f"{self._prefix}: the controller {one.name!r}: {n} states, {len(self._inputs)} inputs,"
            f" {len(one.law.outputs)} outputs.",
            f"Call {self._prefix}_step every {period!r} s."
            + (f" It gives the outputs of {one.held} samples before." if one.held else "")
            + f" Outputs act {acting}.",
            f"A step takes about {operations} multiplications and additions, and at most "
            f"{stack_bytes(arrays, self._precision, 2)} bytes of stack. No heap, no recursion.",
        ]
        if one.has_point:
            lines.append("Inputs and outputs are those of the model, not deviations: parameters hold the operating point.")
        return lines

    def _fields(self) -> list[tuple[str, str, Any]]:
        """Return the parameters: declaration, what it is, defaults."""
        one, K = self._controller, self._controller.linear.K
        fields: list[tuple[str, str, Any]] = []
        if one.family is None:
            fields.append(
                ("matrix[<rows>][<columns>]", "[A, B; C, D] from sample to sample", np.block([[K.A, K.B], [K.C, K.D]]))
            )
        else:
            for k, (name, axis) in enumerate(zip(one.family.names, one.family.axes, strict=True)):
                fields.append((f"axis_{k}[{len(axis)}]", f"values of {name}, rising", axis))
                if not isinstance(one.family.sources[k], int):
                    fields.append((f"value_{k}[1]", f"the value of {name}", [one.family.sources[k]]))
            count = len(one.family.members)
            note = "[A, B; C, D] in continuous time at all points, the last parameter changes first"
            fields.append((f"members[{count}][<rows>][<columns>]", note, one.family.members))
        if one.has_point:
            fields.append(("in_at_rest[<inputs>]", "inputs at the operating point", one.trims[0]))
            fields.append(("out_at_rest[<outputs>]", "outputs at the operating point", one.trims[1]))
        return fields

    def _locals(self) -> str:
        family = self._controller.family
        if family is None:
            return "    int i, j, status = @P_OK;\n"
        counts = ", ".join(str(len(axis)) for axis in family.axes)
        own = f"    static const int counts[<axes>] = {{{counts}}};\n    @real mean[<rows>][<columns>];\n"
        own += "    @real a[<states>][<states> + 1];\n    const @real half = <half>;\n" if self._nx else ""
        return own + "    @real part[<axes>], weight;\n    int interval[<axes>], i, j, k, corner, point, status = @P_OK;\n"

    def _errors(self) -> str:
        lines = []
        for row, factors in enumerate(self._controller.errors):
            terms = []
            for name, factor, place in zip(self._inputs, factors.tolist(), range(len(factors)), strict=True):
                if factor:
                    value = f"in[{self.names[name]}]"
                    value = f"({value} - parameters->in_at_rest[{place}])" if self._controller.has_point else value
                    terms.append(f"{'-' if factor < 0 else '+'} {value}")
            lines.append(f"    z[@P_STATES + {row}] = {' '.join(terms).removeprefix('+ ') or '<zero>'};\n")
        return "".join(lines)

    def _member(self) -> str:
        family, lines = self._controller.family, list[str]()
        assert family is not None
        for k, source in enumerate(family.sources):
            value = f"in[{self.names[self._inputs[source]]}]" if isinstance(source, int) else f"parameters->value_{k}[0]"
            lines += [
                f"    if (@p_place(parameters->axis_{k}, counts[{k}], {value}, &interval[{k}], &part[{k}]) != @P_OK) {{\n"
                "        status = @P_OUTSIDE;\n    }\n"
            ]
        return _MEMBER.replace("<places>", "".join(lines)).replace("<tustin>", _TUSTIN if self._nx else "")

    def _test(self) -> str:
        given, answers, cost = self._controller.test_case()
        sizes = np.abs(answers).max(axis=0, initial=0.0)
        eps = EPS if self._precision == "double" else float(np.finfo(np.float32).eps)
        allowed = _MARGIN * eps * max(1.0, cost / float(np.finfo(np.float32).eps))
        tables = {"given": given, "answers": answers, "sizes": np.where(sizes > 0, sizes, 1.0)}
        texts = {name: table(values, self._precision) for name, values in tables.items()}
        return self._fill(_TEST, samples=len(given), allowed=self._number(float(f"{allowed:.1e}")), **texts)
