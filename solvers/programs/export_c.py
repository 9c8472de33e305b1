"""Models and controllers as folders of C: `export_c`."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.local_files import new_folder
from titop.solvers.programs.c_code import Dialect, number_type
from titop.solvers.programs.c_controllers import read_controller
from titop.solvers.programs.c_text import c_names, comment
from titop.solvers.programs.closed_loop import CLOSED_LOOP, is_continuous
from titop.solvers.programs.controller_text import ControllerText
from titop.solvers.programs.model_program import Program
from titop.solvers.programs.program_text import ProgramText

_OPEN = '#ifdef __cplusplus\nextern "C" {\n#endif\n'
_APART = """\
/* compilers that can shall not make one large function of small ones */
#if defined(__GNUC__)
#define {0}_APART static __attribute__((noinline))
#else
#define {0}_APART static
#endif
"""
#: Of tests: the largest error so far, in parts of the size of what is compared; once NaN, it stays so.
_COMPARE = """\
static {0} largest = 0;

static void compare(const {0} *found, const {0} *right, int count, {0} size)
{{
    int i;
    for (i = 0; i < count; i++) {{
        const {0} error = fabs{1}(found[i] - right[i]) / size;
        if (largest == largest && !(error <= largest)) {{ largest = error; }}
    }}
}}

"""
_CLOSE = "#ifdef __cplusplus\n}\n#endif\n"


def export_c(
    what: Any, folder: str | Path, prefix: str | None = None, precision: str = "double", sample_time: float | None = None
) -> dict[str, str]:
    """Write a controller, or functions of a model, as C99 to a new folder: ``prefix.h``, ``prefix.c`` and ``test_prefix.c``.

    The C needs no library but the standard's mathematics, no heap and no recursion. What can be tuned is in a structure
    ``prefix_parameters``, with defaults; functions return a status, 0 when all is well. The header says what every entry of the
    arrays is, with units where they are known, how many operations functions take and how much stack. The test is a program
    that compares with titop's numbers, on the target too: it prints the largest errors, and returns 0 if rounding explains
    them.

    Of controllers, ``prefix_initialize`` and ``prefix_reset`` set the memory to rest, ``prefix_step`` computes a sample. With a
    `Loop` its whole samples of delay are in the step; the header says how long after a sample the outputs act. With its
    operating point (of `trim`) a step takes the model's outputs and references and gives its inputs; without one it takes what
    the state space takes. Families are interpolated, and sampled by Tustin's rule, at every sample, as `ScheduledController`
    does. Noise and limits of actuators belong to the plant: they are not in the C.

    Of a `Loop` with a controller in continuous time and the operating point of a model, ``prefix_closed_loop`` gives the rates
    of both together: ``m.program("closed_loop", controller=loop)``, which takes parameters too. With a sample time there is
    the controller alone.

    Of a `Program`, there is a function ``prefix_name`` for each of its functions, which takes their inputs and gives their
    outputs; where accelerations are solved for, its status is the place, from 1, of a coordinate that moves no inertia.

    Parameters
    ----------
    what : control.StateSpace, control.TransferFunction, LPVModel, ScheduledController of an LPVModel, Loop of these, or Program
    folder : str or Path
        A new one; it is written whole or not at all.
    prefix : str, optional
        Of all names in C; the controller's name by default, or ``model``.
    precision : str
        ``"double"`` or ``"single"``.
    sample_time : float, s, optional
        Samples a continuous controller by Tustin's rule.

    Returns
    -------
    dict of str to str
        The names in C of entries and parameters, by those in titop (of a program's arrays as in ``q:hinge``): what C forbids
        has become an underscore.

    Raises
    ------
    ModelError
        For what has no program, such as functions in Python; a sample time that is missing or differs from the controller's;
        prefixes that C forbids; and folders that exist.

    Examples
    --------
    >>> import tempfile, control, titop as tt
    >>> K = control.ss([[0.9]], [[1.0]], [[0.1]], [[0.0]], 0.01, inputs=["hinge_q"], outputs=["hinge"], name="lag")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     names = tt.export_c(K, f"{folder}/lag")
    ...     sorted(path.name for path in Path(folder, "lag").iterdir()), names["hinge_q"]
    (['lag.c', 'lag.h', 'test_lag.c'], 'LAG_IN_HINGE_Q')
    """
    kind = number_type(precision)
    if is_continuous(what, sample_time):
        what = what.operating_point.model.program(CLOSED_LOOP, controller=what)
    text: ControllerText | ProgramText
    if isinstance(what, Program):
        if sample_time is not None:
            raise ModelError(Finding("no-controller", "sample_time", sample_time, "a controller beside it", "leave it out"))
        name = _prefix(prefix, "model")
        text = ProgramText(what, name, Dialect(kind, apart=f"{name.upper()}_APART"))
    else:
        controller = read_controller(what, sample_time)
        name = _prefix(prefix, controller.name)
        text = ControllerText(controller, name, kind)
    head = comment("\n   ".join([*text.about, f"Written by titop {sys.modules['titop'].__version__}. ISO C99."]))
    apart = _APART.format(name.upper()) if isinstance(text, ProgramText) else ""
    compare = _COMPARE.format(kind, "f" if kind == "float" else "")
    guard = f"{name.upper()}_H"
    files = {
        f"{name}.h": f"{head}\n#ifndef {guard}\n#define {guard}\n\n{_OPEN}\n{text.header}\n{_CLOSE}\n#endif\n",
        f"{name}.c": f'{head}\n#include <math.h>\n#include "{name}.h"\n\n{apart}{text.source}',
        f"test_{name}.c": f'{head}\n#include <math.h>\n#include <stdio.h>\n#include "{name}.h"\n\n{compare}{text.test}',
    }
    with new_folder(folder) as path:
        for file, content in files.items():
            (path / file).write_text(content, encoding="ascii", newline="\n")
    return text.names


def _prefix(given: Any, name: str) -> str:
    """Return the prefix of all names: as given, or made of a name."""
    if given is None:
        return c_names([name.split("[")[0]])[name.split("[")[0]]
    taken = str(given).lower() in ("math", "stdio")  # the header would stand in for the library's
    if taken or not isinstance(given, str) or not re.fullmatch("[A-Za-z][A-Za-z0-9_]*", given):
        advice = f"write prefix={next(iter(c_names([str(given)]).values()))!r}, or leave it out"
        raise ModelError(Finding("bad-name", "prefix", given, "a name that C allows: letters, digits, underscores", advice))
    return given
