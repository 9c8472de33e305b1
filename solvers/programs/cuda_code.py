"""Programs as CUDA: one thread a state, the text of the C functions with CUDA's qualifiers: `export_cuda`."""

from __future__ import annotations

from pathlib import Path

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.local_files import replaced_file
from titop.blocks.basics.user_input import check_suffix
from titop.solvers.programs.c_code import Dialect, FunctionPrinter, distinct, number_type
from titop.solvers.programs.c_text import comment
from titop.solvers.programs.model_program import Program

#: Operations in a function on the device: registers are many, and calls that share numbers in memory are slow.
_CHUNK = 4000


def cuda_text(program: Program, precision: str = "double") -> str:
    """Return the kernels of a program's functions, named as these, in CUDA.

    Arrays are those of `Program`, one column a state (``array[k * n + i]``: entry k of state i), inputs in their order, then
    outputs, then the number n of states (``size_t``).
    """
    dialect = Dialect(number_type(precision), "static __device__ __noinline__", "static __device__", " * n", _CHUNK)
    real, text, states = dialect.precision, "", {"n": "size_t n"}
    for name, function in program.functions.items():
        function = distinct(function)
        arrays = {of: f"const {real} *{of}" for of in function.inputs} | {of: f"{real} *{of}" for of in function.outputs}
        text += FunctionPrinter(function, f"{name}_values", list(function.outputs), arrays | states, dialect).printed().text
        own = ", ".join(f"{of} + i" for of in arrays)
        text += (
            f'#ifdef __cplusplus\nextern "C"\n#endif\n__global__ void {name}({", ".join((arrays | states).values())})\n{{\n'
            "    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;\n"
            f"    if (i < n) {{ {name}_values({own}, n); }}\n}}\n\n"
        )
    return text


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
    A kernel takes the function's inputs, then its outputs, ``health`` among them, and the number n of states as ``size_t``: one
    thread a state, in blocks of any size. Arrays have a column for each state: entry k of state i is ``array[k * n + i]``, so
    that neighbouring threads read neighbouring numbers; parameters are an array like the others, so that states may differ in
    them. Compiled as C with ``__device__``, ``__global__`` and the places of threads defined, the same text runs on processors.

    Examples
    --------
    >>> import tempfile, titop as tt
    >>> s = tt.System("swing", gravity=[0, 0, -9.81])
    >>> s.connect("world", tt.RigidBody("bob", mass=2.0, com=[0, 0, -1]), joint=tt.Revolute("hinge", axis=[0, 1, 0]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tt.export_cuda(s.resolve().program("forward_dynamics"), f"{folder}/swing.cu")
    ...     "__global__ void forward_dynamics(const double *q, " in Path(folder, "swing.cu").read_text()
    True
    """
    check_suffix(path, ("cu",))
    if not isinstance(program, Program):
        advice = 'make one: m.program("forward_dynamics")'
        raise ModelError(Finding("wrong-type", "program", type(program).__name__, "a tt.Program", advice))
    text = cuda_text(program, precision)
    about = comment("Functions of a model by titop, one thread a state; entry k of state i is array[k * n + i].")
    with replaced_file(path) as file:
        file.write(f"{about}\n#include <math.h>\n#include <stddef.h>\n\n{text}".encode("ascii"))
