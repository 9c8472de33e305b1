"""The C text of a controller: its header, its step and its test."""

from __future__ import annotations

from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.tolerances import SAME
from titop.solvers.programs.c_controllers import CController
from titop.solvers.programs.c_text import allowed_error, c_names, c_number, comment, enumeration, fill, stack_bytes, table

_HEADER = """\
#define @P_STATES <states>
#define @P_INPUTS <inputs>
#define @P_OUTPUTS <outputs>
#define @P_SAMPLE_TIME <period>  /* s */
#define @P_DELAY <delay>  /* s, from a sample to when its outputs act */

<places>typedef struct {
<fields>} @p_parameters;

typedef struct {
    @real state[<state_size>];
<held_fields>} @p_memory;

<declared>/* Sets the memory to rest. Returns @P_NOT_FINITE if a parameter is no finite number. */
<on>int @p_initialize(@p_memory *memory, const @p_parameters *parameters);

/* One sample, from in[] to out[]; returns a status. */
<on>int @p_step(@p_memory *memory, const @p_parameters *parameters, const @real in[@P_INPUTS], @real out[@P_OUTPUTS]);

/* Sets the memory to rest, as @p_initialize does. */
<on>void @p_reset(@p_memory *memory, const @p_parameters *parameters);
"""

_DECLARED, _DEFINED = ("extern const @p_parameters @P_DEFAULTS;\n\n", "const @p_parameters @P_DEFAULTS = {\n<defaults>\n};\n\n")

_SOURCE = """\
<defined><on>void @p_reset(@p_memory *memory, const @p_parameters *parameters)
{
    int i;
    (void)parameters;
    for (i = 0; i < <state_size>; i++) { memory->state[i] = <zero>; }
<reset>}

<on>int @p_initialize(@p_memory *memory, const @p_parameters *parameters)
{
    const @real *number = (const @real *)parameters;
    int i;
    @p_reset(memory, parameters);
    for (i = 0; i < (int)(sizeof *parameters / sizeof *number); i++) {
        if (!isfinite(number[i])) { return @P_NOT_FINITE; }
    }
    return @P_OK;
}
<law>
<on>int @p_step(@p_memory *memory, const @p_parameters *parameters, const @real in[@P_INPUTS], @real out[@P_OUTPUTS])
{
    @real z[<columns>], result[<rows>];
    int i, status;
    for (i = 0; i < @P_STATES; i++) { z[i] = memory->state[i]; }
<errors>    status = @p_law(parameters, in, z, result);
<trim>    for (i = 0; i < <rows>; i++) {
        if (!isfinite(result[i])) { return @P_NOT_FINITE; }
    }
    for (i = 0; i < @P_STATES; i++) { memory->state[i] = result[i]; }
    for (i = 0; i < @P_OUTPUTS; i++) {
<send>    }
<turn>    return status;
}
"""

#: Outputs that are held back go round in the memory.
_HELD_FIELDS = "    @real out[<held>][@P_OUTPUTS];  /* outputs that are held back */\n    int next;\n"
_RESET = """\
    memory->next = 0;
    for (i = 0; i < <held> * @P_OUTPUTS; i++) { memory->out[i / @P_OUTPUTS][i % @P_OUTPUTS] = <rest>; }
"""
_SEND_LATE = """\
        out[i] = memory->out[memory->next][i];
        memory->out[memory->next][i] = result[@P_STATES + i];
"""
_TRIM = "    for (i = 0; i < @P_OUTPUTS; i++) { result[@P_STATES + i] += parameters->out_at_rest[i]; }\n"
_TURN = "    memory->next = (memory->next + 1) % <held>;\n"

_FIXED = """
/* From [x; e] in z to [x_next; u] in result. */
static <on>int @p_law(const @p_parameters *parameters, const @real *in, const @real *z, @real *result)
{
    int i, j;
    (void)in;
    for (i = 0; i < <rows>; i++) {
        result[i] = <zero>;
        for (j = 0; j < <columns>; j++) { result[i] += parameters->matrix[i][j] * z[j]; }
    }
    return @P_OK;
}
"""

_FAMILY = """
/* Finds the interval around a value and the part of the way through it; outside, the nearest end, and @P_OUTSIDE. */
static <on>int @p_place(const @real *axis, int count, @real value, int *interval, @real *part)
{
    int k = 0, status = value >= axis[0] && value <= axis[count - 1] ? @P_OK : @P_OUTSIDE;
    if (!(value >= axis[0])) { value = axis[0]; }
    if (value > axis[count - 1]) { value = axis[count - 1]; }
    while (k < count - 2 && value > axis[k + 1]) { k++; }
    *interval = k;
    *part = count > 1 ? (value - axis[k]) / (axis[k + 1] - axis[k]) : <zero>;
    return status;
}
<solver>
/* From [x; e] in z to [x_next; u] in result: the member at the parameters, by Tustin's rule. */
static <on>int @p_law(const @p_parameters *parameters, const @real *in, const @real *z, @real *result)
{
    static const int counts[<axes>] = {<counts>};
    @real mean[<rows>][<columns>], part[<axes>], weight;
    int interval[<axes>], i, j, k, corner, point, status = @P_OK;
<tustin_locals>    (void)in;
<find>    for (i = 0; i < <rows>; i++) {
        for (j = 0; j < <columns>; j++) { mean[i][j] = <zero>; }
    }
    for (corner = 0; corner < <corners>; corner++) {
        weight = <one>;
        point = 0;
        for (k = 0; k < <axes>; k++) {
            weight *= (corner >> k) & 1 ? part[k] : <one> - part[k];
            point = point * counts[k] + interval[k] + ((corner >> k) & 1);
        }
        for (i = 0; weight > <zero> && i < <rows>; i++) {
            for (j = 0; j < <columns>; j++) { mean[i][j] += weight * parameters->members[point][i][j]; }
        }
    }
<tustin>    for (i = @P_STATES; i < <rows>; i++) {
        result[i] = <zero>;
        for (j = 0; j < @P_STATES; j++) { result[i] += mean[i][j] * <middle>; }
        for (j = @P_STATES; j < <columns>; j++) { result[i] += mean[i][j] * z[j]; }
    }
    return status;
}
"""

_SOLVER = """
/* Solves a[i][0..n-1] x = a[i][n] with the largest pivot of each column; x is left in the last column, NaN without one. */
static <on>void @p_solve(@real a[@P_STATES][@P_STATES + 1])
{
    int i, j, k, best;
    @real factor;
    for (k = 0; k < @P_STATES; k++) {
        best = k;
        for (i = k + 1; i < @P_STATES; i++) {
            if (fabs<f>(a[i][k]) > fabs<f>(a[best][k])) { best = i; }
        }
        for (j = k; j <= @P_STATES; j++) {
            factor = a[k][j];
            a[k][j] = a[best][j];
            a[best][j] = factor;
        }
        for (i = k + 1; i < @P_STATES; i++) {
            factor = a[i][k] / a[k][k];
            for (j = k + 1; j <= @P_STATES; j++) { a[i][j] -= factor * a[k][j]; }
        }
    }
    for (i = @P_STATES - 1; i >= 0; i--) {
        for (j = i + 1; j < @P_STATES; j++) { a[i][@P_STATES] -= a[i][j] * a[j][@P_STATES]; }
        a[i][@P_STATES] /= a[i][i];
    }
}
"""

_TUSTIN = """\
    /* (I - A T / 2) middle = x + B e T / 2, x_next = 2 middle - x, u = C middle + D e */
    for (i = 0; i < @P_STATES; i++) {
        a[i][@P_STATES] = z[i];
        for (j = 0; j < @P_STATES; j++) { a[i][j] = (i == j ? <one> : <zero>) - half * mean[i][j]; }
        for (j = @P_STATES; j < <columns>; j++) { a[i][@P_STATES] += half * mean[i][j] * z[j]; }
    }
    @p_solve(a);
    for (i = 0; i < @P_STATES; i++) { result[i] = <two> * a[i][@P_STATES] - z[i]; }
"""

#: A step for each row of inputs; the largest difference of outputs, in parts of the largest of each.
_TEST = """\
static const @real given[<samples>][@P_INPUTS] =
    <given>;
static const @real answers[<samples>][@P_OUTPUTS] =
    <answers>;
static const @real sizes[@P_OUTPUTS] = <sizes>;

int main(void)
{
    @p_memory memory;
    @real out[@P_OUTPUTS];
    int i, k, status = @p_initialize(&memory, &@P_DEFAULTS);
    for (k = 0; k < <samples> && status == @P_OK; k++) {
        status = @p_step(&memory, &@P_DEFAULTS, given[k], out);
        for (i = 0; i < @P_OUTPUTS; i++) { compare(&out[i], &answers[k][i], 1, sizes[i]); }
    }
    printf("@p: status %d, %d steps, largest error %.1e, allowed %.1e\\n", status, k, (double)largest, (double)<allowed>);
    return status == @P_OK && largest <= <allowed> ? 0 : 1;
}
"""


class ControllerText:
    """The text of a controller in C.

    - `about`: what it is, line by line; `header`, `source`, `test`: without what all files have in common;
    - `names`: the enumerators of inputs and outputs, by path;
    - `defaults`: of the parameters, in their order. On a CUDA device (`on_device`) they are not in the text.
    """

    def __init__(self, controller: CController, prefix: str, precision: str, on_device: bool = False) -> None:
        self._one, self._prefix, self._precision = controller, prefix, precision
        self._on_device = on_device
        self._states = controller.linear.K.nstates
        law, family, held = controller.law, controller.family, controller.held
        self._size = self._states + len(law.outputs), self._states + len(controller.errors)
        self.names: dict[str, str] = {}
        statuses = {
            "OK": "all is well",
            "NOT_FINITE": "an input or a result is no finite number: out[] and the memory are as before",
        }
        if family is not None:
            statuses["OUTSIDE"] = "a scheduling parameter is outside its range: the nearest member acts"
        places = enumeration("what functions return", prefix, statuses)
        for kind, paths, units in zip(("in", "out"), (controller.inputs, law.outputs), controller.units, strict=True):
            own = c_names(paths)
            notes = [f"{path} ({unit})" if unit else path for path, unit in zip(paths, units, strict=True)]
            places += enumeration(f"places in {kind}[]", f"{prefix}_{kind}", dict(zip(own.values(), notes, strict=True)))
            self.names |= {path: f"{prefix}_{kind}_{name}".upper() for path, name in own.items()}
        self.about = self._about()
        fields = self._fields()
        self.defaults = np.concatenate([np.ravel(values) for _, _, values in fields])
        declared = "".join(f"    {comment(note)}\n    @real {name};\n" for name, note, _ in fields)
        self.header = self._fill(_HEADER, places=places, fields=declared, held_fields=_HELD_FIELDS if held else "")
        self.source = self._fill(
            _SOURCE,
            defaults=",\n".join("    " + table(values, precision) for _, _, values in fields),
            reset=_RESET if held else "",
            law=_FIXED if family is None else _FAMILY,
            errors=self._errors(),
            send=_SEND_LATE if held else "        out[i] = result[@P_STATES + i];\n",
            turn=_TURN if held else "",
        )
        self.test = self._test()

    def _fill(self, template: str, **values: str) -> str:
        one, has_point, n = self._one, self._one.has_point, self._states
        numbers = {"zero": 0.0, "one": 1.0, "two": 2.0, "period": one.law.sample_time, "delay": one.delay}
        known = values | {name: c_number(value, self._precision) for name, value in numbers.items()}
        known |= {"f": "f" if self._precision == "float" else "", "rows": str(self._size[0]), "columns": str(self._size[1])}
        known |= {"trim": _TRIM if has_point else "", "held": str(one.held)}
        known["rest"] = "parameters->out_at_rest[i % @P_OUTPUTS]" if has_point else known["zero"]
        known |= {"states": str(n), "inputs": str(len(one.inputs)), "outputs": str(len(one.law.outputs))}
        on, declared, defined = ("__device__ ", "", "") if self._on_device else ("", _DECLARED, _DEFINED)
        known |= {"on": on, "declared": declared, "defined": defined}
        known["state_size"] = str(max(n, 1))
        if one.family is not None:
            counts = [str(len(axis)) for axis in one.family.axes]
            known |= {"axes": str(len(counts)), "corners": str(2 ** len(counts)), "counts": ", ".join(counts)}
            half = c_number(one.law.sample_time / 2, self._precision)
            declared = f"    @real a[@P_STATES][@P_STATES + 1];\n    const @real half = {half};\n"
            known |= {"solver": _SOLVER if n else "", "tustin": _TUSTIN if n else "", "tustin_locals": declared if n else ""}
            known |= {"middle": "a[j][@P_STATES]" if n else "z[j]", "find": self._find()}
        return fill(template, self._prefix, self._precision, known)

    def _about(self) -> list[str]:
        one, n, (rows, columns) = self._one, self._states, self._size
        rest = one.delay - one.held * one.law.sample_time
        acting = f"{rest:.9g} s after the sample" if rest > SAME * one.law.sample_time else "at once"
        operations, numbers = 2 * (rows * columns + one.errors.size), rows + columns
        if one.family is not None:
            operations += 2 * rows * columns * 2 ** len(one.family.axes) + 2 * n**3 // 3 + 4 * n * columns
            numbers += rows * columns + n * (n + 1) + 3 * len(one.family.axes)
        late = f" It gives the outputs of {one.held} samples before." if one.held else ""
        lines = [
            f"{self._prefix}: the controller {one.name!r}. Call {self._prefix}_step every {one.law.sample_time!r} s.{late}",
            f"Outputs act {acting}. A step takes about {operations} multiplications and additions,",
            f"and at most {stack_bytes(numbers, self._precision, 3)} bytes of stack. No heap, no recursion.",
        ]
        point = "Inputs and outputs are those of the model, not deviations: parameters hold the operating point."
        return [*lines, point] if one.has_point else lines

    def _fields(self) -> list[tuple[str, str, Any]]:
        """Return the parameters: declaration, what it is, defaults."""
        one, K, fields = self._one, self._one.linear.K, list[tuple[str, str, Any]]()
        if one.family is None:
            matrix = np.block([[K.A, K.B], [K.C, K.D]])
            fields.append(("matrix[<rows>][<columns>]", "[A, B; C, D] from sample to sample", matrix))
        else:
            for k, (name, axis, source) in enumerate(zip(one.family.names, one.family.axes, one.family.sources, strict=True)):
                if not np.all(np.diff(axis.astype(np.float32 if self._precision == "float" else float)) > 0.0):
                    expected, advice = f"values of {name} that differ in single precision", 'give precision="double"'
                    raise ModelError(Finding("out-of-range", "precision", "single", expected, advice))
                fields.append((f"axis_{k}[{len(axis)}]", f"values of {name}, rising", axis))
                if not isinstance(source, int):
                    fields.append((f"value_{k}[1]", f"the value of {name}", [source]))
            note = "[A, B; C, D] in continuous time at all points, the last parameter changes first"
            fields.append((f"members[{len(one.family.members)}][<rows>][<columns>]", note, one.family.members))
        if one.has_point:
            fields.append(("in_at_rest[<inputs>]", "inputs at the operating point", one.trims[0]))
            fields.append(("out_at_rest[<outputs>]", "outputs at the operating point", one.trims[1]))
        return fields

    def _errors(self) -> str:
        lines, trim = "", " - parameters->in_at_rest[{0}]" if self._one.has_point else ""
        for row, factors in enumerate(self._one.errors):
            terms = [
                f"{'-' if factors[k] < 0 else '+'} (in[{self.names[self._one.inputs[k]]}]{trim.format(k)})"
                for k in np.flatnonzero(factors).tolist()
            ]
            lines += f"    z[@P_STATES + {row}] = {' '.join(terms).removeprefix('+ ')};\n"
        return lines

    def _find(self) -> str:
        lines = ""
        for k, source in enumerate(self._one.family.sources if self._one.family else ()):
            value = f"in[{self.names[self._one.inputs[source]]}]" if isinstance(source, int) else f"parameters->value_{k}[0]"
            found = f"@p_place(parameters->axis_{k}, counts[{k}], {value}, &interval[{k}], &part[{k}])"
            lines += f"    if ({found} != @P_OK) {{ status = @P_OUTSIDE; }}\n"
        return lines

    def _test(self) -> str:
        given, answers, cost = self._one.test_case()
        sizes = np.abs(answers).max(axis=0, initial=0.0)
        tables = {"given": given, "answers": answers, "sizes": np.where(sizes > 0, sizes, 1.0)}
        texts = {name: table(values, self._precision) for name, values in tables.items()}
        texts["allowed"] = c_number(allowed_error(cost, self._precision), self._precision)
        return self._fill(_TEST, samples=str(len(given)), **texts)
