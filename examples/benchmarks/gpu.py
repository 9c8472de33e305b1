"""Functions of an arm and an ensemble of satellites on a graphics processor: values, nanoseconds a state, memory layouts.

Needs a device of NVIDIA and CuPy; elsewhere it says so, and ends. Results are compared with the same programs in NumPy, a few
states also with the reference engine. Times are the least of repeats, with results left on the device. Rows are arrays
(n, 7) as NumPy has them; columns the same arrays with neighbouring states side by side. It should take some minutes, most of
them compiling: what has a target comes first, double precision before single, and what fails stops nothing else.

Run it: ``python examples/benchmarks/gpu.py``; ``--precise`` leaves single precision out. ``--dry`` needs no device: the same
text runs as C on few states, from a checkout with its tests.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
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
#: States a second over what is asked for, by label, of the size that counts.
RATIOS: dict[str, float] = {}


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


def functions(
    cupy: Any, precisions: tuple[str, ...], sizes: tuple[int, ...], wait: Callable[[], None], labels: tuple[str, ...]
) -> bool:
    """Compare and time functions of an arm of seven hinges; return whether all is right."""
    m, is_right = system(fixed_arm()).resolve(engine="reference"), True
    rng = np.random.default_rng(1)
    states = {name: rng.standard_normal((max(sizes), m.nv)) for name in "qvta"}
    for label, (name, arguments, target) in ((label, FUNCTIONS[label]) for label in labels if label in FUNCTIONS):
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
                if target and precision == "double" and n == min(10**6, max(sizes)):
                    RATIOS[label] = n / min(times.values()) / target
                    said += f"; {RATIOS[label] * target:.2e} a second, {RATIOS[label]:.2g} of the target {target:.1e}"
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


def linkages(cupy: Any, precisions: tuple[str, ...], n: int, wait: Callable[[], None]) -> bool:
    """Simulate four-bar linkages with other couplers for a second, and compare one with `tt.simulate`."""
    s = tt.System("four-bar", gravity=[0, -9.81, 0])
    s.world.add_port("ground", [1.0, 0, 0])
    at: Any = "world"
    for name, length in (("crank", 0.3), ("coupler", 0.9), ("rocker", 0.7)):
        bar = tt.RigidBody(name, 1.0, [length / 2, 0, 0], length**2 / 12, ports={"end": [length, 0, 0]})
        s.connect(at, bar, tt.Revolute(f"{name}-hinge"))
        at = bar.port("end")
    s.close_loop(s.world.port("ground"), at, tt.RigidClosure("pin", kind="planar_revolute", axis=[0, 0, 1]))
    m, t, is_right = s.resolve(engine="reference"), np.array([0.0, 0.5, 1.0]), True
    q0, name = m.assemble([1.0, -1.0, -0.5]), "coupler.mass"
    masses = np.random.default_rng(4).uniform(0.5, 2.0, n)
    changed = m.with_parameters({name: masses[0]})
    right = tt.simulate(changed, t, q0, np.zeros(3), rtol=1e-9, atol=1e-11, progress=False)
    for precision in precisions:
        run = m.on_gpu("simulate", precision, max_step=0.005, parameters=[name], at=q0)
        given = cupy.asarray(masses)
        found = run(t, q0, parameters={name: given})
        error = float(np.abs(cupy.asnumpy(found.q[0]) - right.q).max())
        drift = float(np.abs(changed.closure_error(cupy.asnumpy(found.q[0, -1]).astype(float))).max())
        is_right &= error <= (NEAR if precision == "double" else 1e-4)
        wait()
        begin = time.perf_counter()
        found = run(t, q0, parameters={name: given})
        wait()
        seconds, failed = time.perf_counter() - begin, int((found.status != 0).sum())
        print(
            f"{n} four-bar linkages for a second, {precision}: {seconds:.2f} s, {failed} failed; one differs from tt.simulate"
            f" by {error:.1e} rad, and is open by {drift:.1e}"
        )
    return is_right


def libraries(cupy: Any) -> bool:
    """Call a function with arrays of PyTorch and JAX, where they are."""
    m = system(fixed_arm()).resolve(engine="reference")
    function, q = m.on_gpu("mass_matrix", "single"), cupy.random.default_rng(3).standard_normal((1000, 7), dtype=np.float32)
    right, is_right = cupy.asnumpy(function(q)), True
    for name in ("torch", "jax.numpy"):
        try:
            library = __import__(name, fromlist=["from_dlpack"])
            found = function(library.from_dlpack(q))
        except (ImportError, RuntimeError, ValueError, TypeError) as error:
            print(f"{name}: not compared ({error})")
            continue
        same = np.array_equal(cupy.asnumpy(cupy.from_dlpack(found)), right)
        is_right &= same
        print(f"{name}: {type(found).__name__}, {'the same bits' if same else 'OTHER NUMBERS'}")
    return is_right


def main(argv: list[str] | None = None) -> int:
    """Run all; return 0 if it is right, or there is no device."""
    parser = argparse.ArgumentParser(description="Functions and ensembles on a graphics processor.")
    parser.add_argument("--sizes", type=int, nargs="*", default=[10**4, 10**5, 10**6, 10**7])
    parser.add_argument("--members", type=int, default=10**6)
    parser.add_argument("--precise", action="store_true")
    parser.add_argument("--dry", action="store_true")
    arguments = parser.parse_args(argv)
    if arguments.dry:
        sys.path.insert(0, str(Path(__file__).parents[2]))
        from tests.cuda_stand_in import StandIn

        sys.modules["cupy"] = StandIn()
        arguments.sizes, arguments.members = [100], 3
    try:
        system(fixed_arm()).resolve(engine="reference").on_gpu("mass_matrix")
    except (ImportError, RuntimeError) as error:
        print(f"no device: {error}")
        return 0
    import cupy

    def wait() -> None:
        cupy.cuda.get_current_stream().synchronize()

    sizes, members, right = tuple(arguments.sizes), arguments.members, True
    for precision in ("double",) if arguments.precise else ("double", "single"):
        parts: dict[str, Callable[[], bool]] = {
            "functions": partial(functions, cupy, (precision,), sizes, wait, ("ID", "FD", "M")),
            "satellites": partial(ensemble, cupy, (precision,), members, wait),
            "linkages": partial(linkages, cupy, (precision,), members, wait),
            "derivatives": partial(functions, cupy, (precision,), sizes, wait, ("dFD",)),
        }
        for name, part in (parts | ({"libraries": partial(libraries, cupy)} if precision == "single" else {})).items():
            begin = time.perf_counter()
            try:
                right &= part()
            except Exception:  # what is lent for minutes goes on with what is left
                traceback.print_exc(file=sys.stdout)
                right = False
            print(f"-- {name}, {precision}: {time.perf_counter() - begin:.0f} s", flush=True)
    print("of the targets in double precision:", ", ".join(f"{label} {ratio:.2g}" for label, ratio in RATIOS.items()))
    print("all values are right" if right else "VALUES ARE WRONG")
    return 0 if right else 1


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    sys.exit(main())
