"""Programs as CUDA: one thread a state, the text of the C functions with CUDA's qualifiers: `export_cuda`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.local_files import replaced_file
from titop.blocks.basics.tolerances import TYPED
from titop.blocks.basics.user_input import check_suffix
from titop.solvers.programs.c_code import Dialect, FunctionPrinter, distinct, number_type
from titop.solvers.programs.c_text import comment
from titop.solvers.programs.model_program import Program
from titop.solvers.programs.trusted_program import HEALTH

#: Operations in a function on the device: registers are many, and calls that share numbers in memory are slow.
_CHUNK = 4000
#: What the status of a state says, if it is no place of a coordinate.
NOT_FINITE, NOT_UNIT, NOT_CLOSED = -1, -2, -3
#: Begins a kernel's body, for the member or state i.
THREAD = """\
{
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) { return; }
"""
_KERNEL = '#ifdef __cplusplus\nextern "C"\n#endif\n__global__ void '
_NORMALISE = """\
/* Divides a quaternion by its norm; returns whether that was one. */
static __device__ int unit(@real *q)
{
    const @real size = sqrt@f(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    int k;
    for (k = 0; k < 4; k++) { q[k] /= size; }
    return fabs@f(size - @one) <= @typed;
}

"""


def cuda_dialect(precision: str) -> Dialect:
    """Return how CUDA is written. Raises `ModelError` for an unknown precision."""
    return Dialect(number_type(precision), "static __device__ __noinline__", "static __device__", chunk=_CHUNK)


def kernel(name: str, arguments: Iterable[str], body: str) -> str:
    """Return a kernel with some arguments, and the number n of its threads; its body is one thread's, the i-th."""
    return f"{_KERNEL}{name}({', '.join([*arguments, 'size_t n'])})\n{THREAD}{body}}}\n\n"


def normalising(dialect: Dialect) -> str:
    """Return the function that divides a quaternion by its norm."""
    f = "f" if dialect.precision == "float" else ""
    marks = {"@real": dialect.precision, "@f": f, "@one": dialect.number(1.0), "@typed": dialect.number(TYPED)}
    text = _NORMALISE
    for mark, value in marks.items():
        text = text.replace(mark, value)
    return text


def health_check(dialect: Dialect, count: int) -> str:
    """Return lines that set ``found`` to the place, from 1, of the first of some coordinates that has lost its inertia."""
    least = dialect.least_health
    return "".join(f"    if (!({HEALTH}_[{k}] > {least})) {{ found = {k + 1}; }}\n" for k in reversed(range(count)))


def _finite_check(dialect: Dialect, sizes: Mapping[str, int], unless: str = "") -> str:
    """Return a line that sets ``found`` where a number of some arrays is not finite: zero times that is not zero."""
    zero = dialect.number(0.0)
    terms = " + ".join(f"{zero} * {of}_[{k}]" for of, size in sizes.items() for k in range(size))
    return f"    if ({unless}!({terms} == {zero})) {{ found = {NOT_FINITE}; }}\n" if terms else ""


def cuda_text(program: Program, precision: str = "double") -> str:
    """Return the kernels of a program's functions, named as these, in CUDA; see `export_cuda`."""
    dialect = cuda_dialect(precision)
    real, text = dialect.precision, normalising(dialect) if program.quaternions else ""
    for name, function in program.functions.items():
        function = distinct(function)
        sizes = {of: len(output.values) for of, output in function.outputs.items()}
        inner = {of: f"const {real} *{of}" for of in function.inputs} | {of: f"{real} *{of}" for of in sizes}
        text += FunctionPrinter(function, f"{name}_values", list(sizes), inner, dialect).printed().text
        results = {of: size for of, size in sizes.items() if of != HEALTH}
        arguments = [strided(f"const {real}", of) for of in function.inputs] + [strided(real, of) for of in results]
        body = "".join(f"    {real} {of}_[{size}];\n" for of, size in (*function.inputs.items(), *sizes.items()))
        body += "    int found = 0;\n"
        body += "".join(
            f"    {of}_[{k}] = {of}[(long long)i * {of}_i + {k} * {of}_k];\n"
            for of, size in function.inputs.items()
            for k in range(size)
        )
        starts = program.quaternions if "q" in function.inputs else ()
        body += "".join(f"    if (!unit(q_ + {start})) {{ found = {NOT_UNIT}; }}\n" for start in starts)
        body += f"    {name}_values({', '.join(f'{of}_' for of in inner)});\n"
        body += _finite_check(dialect, results, "!found && ")
        body += health_check(dialect, sizes.get(HEALTH, 0))
        body += _finite_check(dialect, function.inputs)
        body += "".join(
            f"    {of}[(long long)i * {of}_i + {k} * {of}_k] = {of}_[{k}];\n"
            for of, size in results.items()
            for k in range(size)
        )
        text += kernel(name, [*arguments, "int *status"], f"{body}    status[i] = found;\n")
    return text


def strided(kind: str, of: str) -> str:
    """Return the declaration of an array with its two steps."""
    return f"{kind} *__restrict__ {of}, long long {of}_i, long long {of}_k"


def export_cuda(program: Program, path: str | Path, precision: str = "double") -> None:
    """Write a program as a file of CUDA C, whole or not at all: a kernel for each function, with its name.

    Parameters
    ----------
    program : Program
        Of `Model.program`.
    path : str or Path
        Ends in ``.cu``. Of an existing file the contents are replaced.
    precision : str
        ``"double"`` or ``"single"``.

    Raises
    ------
    ModelError
        For what is no program, and other suffixes.

    Notes
    -----
    A kernel takes the function's inputs, then its outputs, each with its two steps, then ``int *status`` and the number n of
    states as ``size_t``: one thread a state, in blocks of any size. Entry k of state i is ``q[i * q_i + k * q_k]``: with the
    steps ``1, n`` neighbouring threads read neighbouring numbers, with ``7, 1`` arrays have a row of 7 for each state, with
    ``0, 1`` all states share one. Parameters are an array like the others. The status of a state is 0 where all is well, the
    place, from 1, of a coordinate that has lost its inertia, -1 for arguments or results that are not finite, -2 for a
    quaternion that is no unit one. Compiled as C with ``__device__``, ``__global__`` and the places of threads defined, the
    same text runs on processors. `Model.on_gpu` compiles and calls it from Python.

    Examples
    --------
    >>> import tempfile, titop as tt
    >>> s = tt.System("swing", gravity=[0, 0, -9.81])
    >>> s.connect("world", tt.RigidBody("bob", mass=2.0, com=[0, 0, -1]), joint=tt.Revolute("hinge", axis=[0, 1, 0]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tt.export_cuda(s.resolve().program("forward_dynamics"), f"{folder}/swing.cu")
    ...     "__global__ void forward_dynamics(const double *" in Path(folder, "swing.cu").read_text()
    True
    """
    check_suffix(path, ("cu",))
    if not isinstance(program, Program):
        advice = 'make one: m.program("forward_dynamics")'
        raise ModelError(Finding("wrong-type", "program", type(program).__name__, "a tt.Program", advice))
    text = cuda_text(program, precision)
    about = comment(
        "Functions of a model by titop, one thread a state; entry k of state i is array[i * array_i + k * array_k]."
    )
    with replaced_file(path) as file:
        file.write(f"{about}\n#include <math.h>\n#include <stddef.h>\n\n{text}".encode("ascii"))
