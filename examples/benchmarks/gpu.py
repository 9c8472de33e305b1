"""Functions of an arm and an ensemble of satellites on a graphics processor: values, nanoseconds a state, memory layouts.

Needs a device of NVIDIA and CuPy; elsewhere it says so, and ends. Results are compared with the same programs in NumPy, a few
states also with the reference engine. Times are the least of repeats, with results left on the device. Rows are arrays
(n, 7) as NumPy has them; columns the same arrays with neighbouring states side by side. It should take some
two minutes, most of them compiling.

Run it: ``python examples/benchmarks/gpu.py``; ``--precise`` leaves single precision out.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from models import fixed_arm, system

import titop as tt

sys.path.insert(0, str(Path(__file__).parents[1]))
import on_board
import satellite

#: What is asked for, by its label: the function, its arguments, and states a second that it is to reach in double precision.
FUNCTIONS = {
    "ID": ("inverse_dynamics", "qva", 4e9),
    "FD": ("forward_dynamics", "qvt", 1.5e9),
    "M": ("mass_matrix", "q", None),
    "dFD": ("forward_dynamics_derivatives", "qvt", None),
}
#: Largest errors, in parts of the largest number: sums in another order; of single precision, as the exported C has them.
ALIKE = {"double": 1e-12, "single": 1e-4}
LAYOUTS = {"columns": np.asfortranarray, "rows": np.ascontiguousarray}
#: Seconds of an ensemble, the longest step, and how far members may be from `tt.simulate`: the error of such steps.
DURATION, MAX_STEP, NEAR = 10.0, 0.05, 1e-6


def least(run: Callable[[], Any], wait: Callable[[], None], repeats: int = 5, together: int = 10) -> float:
    """Return the least time (s) of a call that leaves its results on the device, of some calls together."""
    times = []
    for _ in range(repeats + 1):  # the first warms up
        wait()
        begin = time.perf_counter()
        for _ in range(together):
            run()
        wait()
        times.append((time.perf_counter() - begin) / together)
    return min(times[1:])


def functions(cupy: Any, precisions: tuple[str, ...], sizes: tuple[int, ...], wait: Callable[[], None]) -> bool:
    """Compare and time the functions of an arm of seven hinges; return whether all is right."""
    m, is_right = system(fixed_arm()).resolve(engine="reference"), True
    rng = np.random.default_rng(1)
    states = {name: rng.standard_normal((max(sizes), m.nv)) for name in "qvta"}
    for label, (name, arguments, target) in FUNCTIONS.items():
        program, few = m.program(name), {of: states[of][:2000] for of in arguments}
        inputs = {{"t": "tau"}.get(of, of): rows for of, rows in few.items()}
        right = [x for of, x in program.functions[name].evaluate(inputs).items() if of != "health"]
        model = getattr(m, name)(*(rows[0] for rows in few.values()))
        for one, other in zip(right, model if isinstance(model, tuple) else (model,), strict=True):
            assert np.abs(one[0] - other).max() <= 1e-11 * np.abs(other).max()
        for precision in precisions:
            begin = time.perf_counter()
            function, kind = m.on_gpu(name, precision), "f4" if precision == "single" else "f8"
            found = function(*(cupy.asarray(rows, dtype=kind) for rows in few.values()))
            compiled, error = time.perf_counter() - begin, 0.0
            for one, other in zip(found if isinstance(found, tuple) else (found,), right, strict=True):
                error = max(error, float(np.abs(cupy.asnumpy(one) - other).max() / np.abs(other).max()))
            is_right &= error <= ALIKE[precision]
            print(
                f"{label}, {precision}: {function.program.operations} operations, ready in {compiled:.1f} s, error {error:.1e}"
            )
            for n in sizes if label != "dFD" else [size for size in sizes if size <= 10**6]:
                times, status = {}, cupy.zeros(n, dtype=np.int32)
                for layout, laid in LAYOUTS.items():
                    given = [cupy.asarray(laid(states[of][:n].astype(kind)), order="A") for of in arguments]
                    times[layout] = least(partial(function, *given, status=status), wait)
                checked = least(partial(function, *given), wait)
                texts = [
                    f"{layout} {1e9 * seconds / n:.3f}" for layout, seconds in (times | {"rows, checked": checked}).items()
                ]
                said = f"  {n:>9} states, ns a state: {', '.join(texts)}"
                if target and precision == "double" and n == 10**6:
                    rate = n / min(times.values())
                    said += f"; {rate:.2e} a second, {'met' if rate >= target else 'missed'}: {target:.1e}"
                print(said)
    return is_right


def ensemble(cupy: Any, precisions: tuple[str, ...], n: int, wait: Callable[[], None]) -> bool:
    """Simulate satellites under digital control with other inertias, and compare some with `tt.simulate`."""
    m, is_right = satellite.build().resolve(engine="reference"), True
    loop, t, name = on_board.loop(m), np.array([0.0, DURATION / 2, DURATION]), "hub.inertia.xx"
    values = m.parameters()[name][0] * np.random.default_rng(2).uniform(0.75, 1.25, n)
    outputs = [f"star_tracker.theta[{k}]" for k in range(3)]
    tight = {"controller": loop, "rtol": 1e-9, "atol": 1e-11, "progress": False}
    right = [
        tt.simulate(m.with_parameters({name: values[k]}), t, m.neutral(), np.zeros(m.nv), **tight).outputs()[:, -3:]
        for k in range(2)
    ]
    for precision in precisions:
        run = m.on_gpu("simulate", precision, max_step=MAX_STEP, controller=loop, parameters=[name], outputs=outputs)
        few = run(t, parameters={name: values[:2]})
        error = max(float(np.abs(cupy.asnumpy(few.y[k]) - right[k]).max()) for k in range(2))
        is_right &= error <= (NEAR if precision == "double" else 1e-4)
        given = cupy.asarray(values)
        found = run(t, parameters={name: given})
        wait()
        begin = time.perf_counter()
        found = run(t, parameters={name: given})
        wait()
        seconds, failed = time.perf_counter() - begin, int((found.status != 0).sum())
        print(
            f"{n} satellites for {DURATION:.0f} s, {precision}: {seconds:.2f} s, {n * DURATION / seconds:.2e} s a second,"
            f" {failed} failed; two of them differ from tt.simulate by {error:.1e} rad"
        )
    return is_right


def libraries(cupy: Any) -> None:
    """Call a function with arrays of PyTorch and JAX, where they are."""
    m = system(fixed_arm()).resolve(engine="reference")
    function, q = m.on_gpu("mass_matrix", "single"), cupy.random.default_rng(3).standard_normal((1000, 7), dtype=np.float32)
    right = cupy.asnumpy(function(q))
    for name in ("torch", "jax.numpy"):
        try:
            library = __import__(name, fromlist=["from_dlpack"])
            found = function(library.from_dlpack(q))
        except (ImportError, RuntimeError, ValueError, TypeError) as error:
            print(f"{name}: not compared ({error})")
            continue
        same = np.array_equal(cupy.asnumpy(cupy.from_dlpack(found)), right)
        print(f"{name}: {type(found).__name__}, {'the same bits' if same else 'OTHER NUMBERS'}")


def main(argv: list[str] | None = None) -> int:
    """Run all; return 0 if it is right, or there is no device."""
    parser = argparse.ArgumentParser(description="Functions and ensembles on a graphics processor.")
    parser.add_argument("--sizes", type=int, nargs="*", default=[10**4, 10**5, 10**6, 10**7])
    parser.add_argument("--members", type=int, default=10**6)
    parser.add_argument("--precise", action="store_true")
    arguments = parser.parse_args(argv)
    try:
        system(fixed_arm()).resolve(engine="reference").on_gpu("mass_matrix")
    except (ImportError, RuntimeError) as error:
        print(f"no device: {error}")
        return 0
    import cupy

    def wait() -> None:
        cupy.cuda.get_current_stream().synchronize()

    precisions = ("double",) if arguments.precise else ("double", "single")
    right = functions(cupy, precisions, tuple(arguments.sizes), wait)
    right &= ensemble(cupy, precisions, arguments.members, wait)
    libraries(cupy)
    print("all values are right" if right else "VALUES ARE WRONG")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
