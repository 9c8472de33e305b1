"""Functions of a model with their derivatives by all arguments, of stacked states: what automatic differentiation asks for.

A configuration is seen as any numbers: quaternions in it are divided by their norms, and derivatives are by its entries as
they are. Forward and inverse dynamics, mass matrices and their derivatives are the model's own. All else is a program: other
functions, parameters and inputs as arguments, and derivatives of derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, reduce
from threading import RLock
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import is_finite
from titop.blocks.programs.differentiation import along, replaced
from titop.blocks.programs.program import Program
from titop.solvers.arguments.reading import overflow
from titop.solvers.mechanism.coordinates import unit_quaternions
from titop.solvers.mechanism.kernel_calls import DONE
from titop.solvers.native import calling
from titop.solvers.native.programs import SystemCode
from titop.solvers.programs.model_program import ProgramFunction, Recording, programmed, recording
from titop.solvers.programs.tracing import FUNCTIONS, OF_PORTS, bounded, check_length, naming_blocks

#: Functions of several results, which have derivatives of their own.
_SEVERAL = (
    "rates",
    "energy",
    "linear_matrices",
    "forward_dynamics_derivatives",
    "inverse_dynamics_derivatives",
    "hybrid_dynamics",
)
#: The extra argument of derivatives along a direction: changes of all others, one after the other.
_ALONG = "along"
#: So many states at a time have their matrices multiplied by weights or changes.
_ROWS = 256


class TensorModel:
    """Functions of a model for a library of tensors: attributes, which are called like the model's.

    Made by `Model.to_torch` and `Model.to_jax`. Arguments are one state or stacks of any shape, ``(..., size)``, broadcast
    against each other. Parameters that are left out have the model's values; all else but q is then zero.

    Attributes
    ----------
    model : Model
    functions : tuple of str
        Names of the functions.
    names : mapping of str to tuple of str
        Names of the numbers of each argument and, under ``"y"``, of the outputs.
    """

    functions = tuple(name for name in FUNCTIONS if name not in {*_SEVERAL, *OF_PORTS})

    def __init__(
        self,
        model: Any,
        parameters: Sequence[str],
        inputs: Sequence[str],
        outputs: Sequence[str] | None,
        wrap: Callable[[Differentiable], Callable[..., Any]],
        make: Callable[..., Any] | None = None,
    ) -> None:
        self.model, self._wrap, self._make, self._options = model, wrap, make, (parameters, inputs, outputs)
        self._recording = _Lazy(lambda: recording(model, *self._options))
        self._is_plain = not (len(parameters) or len(inputs) or model.mechanism.inputs.state_names)
        if parameters or inputs or outputs is not None:
            self._recording()  # refuses wrong names now

    @property
    def names(self) -> dict[str, tuple[str, ...]]:
        """Names of the numbers of each argument and of the outputs."""
        return self._recording().names

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return a function of a name, from the first time on as an attribute."""
        if name.startswith("_") or name not in self.functions:
            raise AttributeError(f"there is no function {name!r}: {did_you_mean(name, self.functions)}")
        own = _OWN.get(name) if self._is_plain else None
        of = ProgrammedFunction if own is None or (own is MassMatrix and self.model._calls.mass_adjoint is None) else own
        self.__dict__[name] = function = self._wrap(of(self.model, name, self._options, self._recording))
        return function

    def __reduce__(self) -> tuple[Any, ...]:
        return self._make, (self.model, *self._options)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model.name!r})"


class _Lazy:
    """What a function returns, which is called once. The `lock` is for the recording: all functions go on with it."""

    def __init__(self, make: Callable[[], Recording]) -> None:
        self._make, self.lock = make, RLock()

    def __call__(self) -> Recording:
        with self.lock:
            return self._made

    @cached_property
    def _made(self) -> Recording:
        return self._make()


class Differentiable:
    """A function of a model at stacked states, whose arguments are arrays (rows, size).

    - `sizes`: sizes of the arguments by name, in order; `shape`: that of a result.
    """

    sizes: dict[str, int]
    shape: tuple[int, ...]

    def __init__(self, model: Any, name: str, options: tuple[Any, ...], recording: _Lazy) -> None:
        self.model, self.name, self._options, self._recording = model, name, options, recording
        self._quaternions = list(model.mechanism.quaternions)

    def values(self, *given: Array) -> Array:
        """Return the results (rows, ...)."""
        raise NotImplementedError

    def slopes(self, *given: Array) -> list[Array]:
        """Return the derivatives (rows, m, size) of the m entries of a result by each argument."""
        return self._call(self._slopes, given)

    def curvatures(self, *both: Array) -> list[Array]:
        """Return the derivatives of `slopes` along changes of all arguments, which are given behind these."""
        n = len(self.sizes)
        return self._call(self._curvatures, [*both[:n], np.concatenate(both[n:], axis=1)])

    def weighted(self, weights: Array, *given: Array) -> list[Array]:
        """Return sums of the slopes by each argument (rows, size), weighted by (rows, m)."""
        return _in_blocks(lambda w, *x: _weighted(w, self.slopes(*x)), weights, *given)

    def weighted_curvatures(self, weights: Array, *both: Array) -> list[Array]:
        """Return the changes of `weighted` along changes of all arguments: products of a Hessian and a vector."""
        return _in_blocks(lambda w, *x: _weighted(w, self.curvatures(*x)), weights, *both)

    def change(self, *both: Array) -> Array:
        """Return the change of the result (rows, m) along changes of all arguments, which are given behind these."""
        n = len(self.sizes)
        return _in_blocks(lambda *x: [_changed(self.slopes(*x[:n]), x[n:])], *both)[0]

    def second_change(self, *three: Array) -> Array:
        """Return the change of `change` along changes of the arguments alone, which are given behind those others."""
        n = len(self.sizes)
        return _in_blocks(lambda *x: [_changed(self.curvatures(*x[:n], *x[2 * n :]), x[n : 2 * n])], *three)[0]

    def given(self, state: Sequence[Any], others: Mapping[str, Any]) -> list[Any]:
        """Return all arguments in order, from those given in order or by name.

        Raises `ModelError` for arguments that the function does not have, wrong sizes, complex numbers, and without q.
        """
        first = dict(zip(FUNCTIONS[self.name].arguments, state, strict=False))
        if len(first) < len(state) or (twice := first.keys() & others.keys()):
            got = f"{len(state)} in order" if len(first) < len(state) else f"{', '.join(twice)} twice"
            raise ModelError(
                Finding(
                    "wrong-arguments", self.name, got, f"at most {', '.join(FUNCTIONS[self.name].arguments)}", "name the others"
                )
            )
        named = first | dict(others)
        if unknown := [name for name in named if name not in self.sizes]:
            without = [name for name, of in zip(("parameters", "u"), self._options, strict=False) if not len(of)]
            advice = "name them when the functions are made" if unknown[0] in without else "leave it out: nothing depends on it"
            raise ModelError(Finding("unknown-argument", self.name, unknown[0], f"one of: {', '.join(self.sizes)}", advice))
        default = {name: np.zeros(size) for name, size in self.sizes.items() if name != "q"}
        if "parameters" in default:
            default["parameters"] = self._recording().nominal["parameters"]
        given = default | named
        for name, size in self.sizes.items():
            shape = np.shape(given[name]) if name in given else "nothing"
            if shape[-1:] != (size,):
                raise ModelError(Finding("wrong-shape", f"{self.name}: {name}", shape, f"(..., {size})", "see `names`"))
            kind = getattr(given[name], "dtype", None) or np.asarray(given[name]).dtype
            if "complex" in str(kind):
                advice = "derivatives are those of automatic differentiation"
                raise ModelError(Finding("wrong-type", f"{self.name}: {name}", "complex numbers", "real ones", advice))
        return [given[name] for name in self.sizes]

    def _unit(self, q: Array) -> Array:
        """Return configurations with unit quaternions. Raises `ModelError` for quaternions without a length."""
        unit = unit_quaternions(q, self._quaternions)
        for start in self._quaternions:
            entries = slice(start, start + 4)
            lost = np.isfinite(q[:, entries]).all(axis=1) & ~np.isfinite(unit[:, entries]).all(axis=1)
            if lost.any():
                where, advice = f"q[{int(lost.argmax())}, {start}:{start + 4}]", "begin with Model.neutral()"
                raise ModelError(Finding("not-unit", where, "no length", "a quaternion (x, y, z, w)", advice))
        return unit

    @cached_property
    def _slopes(self) -> SystemCode:
        return SystemCode(self._derived(False))

    @cached_property
    def _curvatures(self) -> SystemCode:
        return SystemCode(self._derived(True))

    def _derived(self, twice: bool) -> Program:
        with self._recording.lock:
            return self._recorded_derivatives(twice)

    def _recorded_derivatives(self, twice: bool) -> Program:
        recorded = self._recording().recorded
        graph, given = recorded.graph, {name: recorded.given[name] for name in self.sizes}
        with naming_blocks(self.name), bounded(f"derivatives of {self.name}", graph, self.model.mechanism):
            found = {name: slopes for name, slopes in recorded.slopes(self.name).items() if name in given}
            rows = next(iter(found.values())).shape[0]
            found = {name: found.get(name, np.zeros((rows, size), dtype=object)) for name, size in self.sizes.items()}
            lengths = {}
            units = dict[Any, Any]()
            for start in self._quaternions if "q" in found else ():
                x = given["q"][start : start + 4]
                lengths[start] = (x @ x) ** 0.5
                units |= zip(x, x * (1.0 / lengths[start]), strict=True)
            found = {name: replaced(slopes, units) for name, slopes in found.items()}
            for start, length in lengths.items():  # the formulas are followed along unit quaternions
                entries = slice(start, start + 4)
                by, unit = found["q"][:, entries], np.array([units[x] for x in given["q"][entries]])
                found["q"][:, entries] = (by - np.outer(by @ unit, unit)) * (1.0 / length)
            sizes = dict(self.sizes)
            check_length(f"derivatives of {self.name}", program := graph.program(sizes, found), self.model.mechanism)
            if twice:
                variables = [x for numbers in given.values() for x in numbers]
                sizes[_ALONG] = len(variables)
                changes = [*graph.input(_ALONG, len(variables))]
                found = {name: along(slopes, variables, changes) for name, slopes in found.items()}
                program = graph.program(sizes, found)
                check_length(f"second derivatives of {self.name}", program, self.model.mechanism)
        return program

    def _call(self, code: SystemCode, given: Sequence[Array]) -> list[Array]:
        rows, program = len(given[0]), code.program
        if calling.obstacle() is not None:
            results = list(program.evaluate(dict(zip(program.inputs, given, strict=True))).values())
        else:
            results = [np.empty((rows, len(output.values))) for output in program.outputs.values()]
            code.in_lanes.compiled(*given, *results)
        if not all(map(is_finite, results)):
            raise ModelError(overflow())
        return [found.reshape(rows, *output.shape) for found, output in zip(results, program.outputs.values(), strict=True)]


def _in_blocks(compute: Callable[..., list[Array]], *given: Array) -> list[Array]:
    """Return arrays that are computed from so few rows at a time that matrices in between stay in the cache."""
    blocks = [compute(*(x[k : k + _ROWS] for x in given)) for k in range(0, max(len(given[0]), 1), _ROWS)]
    return blocks[0] if len(blocks) == 1 else [np.concatenate(parts) for parts in zip(*blocks, strict=True)]


def _weighted(weights: Array, matrices: Sequence[Array]) -> list[Array]:
    return [(weights[:, None] @ by)[:, 0] for by in matrices]


def _changed(matrices: Sequence[Array], changes: Sequence[Array]) -> Array:
    parts = ((by @ d[..., None])[..., 0] for by, d in zip(matrices, changes, strict=True))
    return reduce(np.add, parts)


class ProgrammedFunction(Differentiable):
    """A function that is a program, with parameters and inputs as arguments."""

    @cached_property
    def _function(self) -> ProgramFunction:
        with self._recording.lock:
            return ProgramFunction(programmed(self.model, (self.name,), self._recording()), self.name)

    @cached_property
    def sizes(self) -> dict[str, int]:  # type: ignore[override]
        """The arguments' sizes: of all that the function takes, and others on which it depends."""
        taken = {*FUNCTIONS[self.name].arguments, "parameters", *self._function.function.inputs}
        return {name: size for name, size in self._recording().recorded.sizes.items() if name in taken}

    @cached_property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """The result's shape."""
        return next(iter(self._function.function.outputs.values())).shape

    def values(self, *given: Array) -> Array:
        """Return the results (rows, ...)."""
        named = dict(zip(self.sizes, given, strict=True))
        if self._quaternions and "q" in named:
            named["q"] = self._unit(named["q"])
        found: Array = self._function(**{name: named[name] for name in self._function.function.inputs})
        return found


class OwnFunction(Differentiable):
    """A function whose derivatives the model has itself."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        nv = self.model.nv
        self.sizes = {"q": self.model.nq, **dict.fromkeys(FUNCTIONS[self.name].arguments[1:], nv)}
        self.shape = (nv, nv) if len(self.sizes) == 1 else (nv,)
        at, others = self.model.mechanism.probes[1][None], self.model.mechanism.plain_coordinates.others
        known = all((in_q.stop - in_q.start, in_v.stop - in_v.start) in ((4, 3), (7, 6)) for _, in_q, in_v in others)
        along = self.model.configuration_derivatives(at[0])
        if not (known and np.allclose(self._by_entries(np.eye(nv)[None], at, at)[0] @ along, np.eye(nv))):
            got, advice = [block.name for block, *_ in others], "use numbers and quaternions"
            raise ModelError(Finding("no-tensors", self.name, got, "coordinates whose steps titop's joints define", advice))

    def _asked(self, what: str, *arguments: Array) -> Any:
        """Return what the model's function of this name, or one whose name goes on, returns."""
        return getattr(self.model, self.name + what)(*arguments)

    def values(self, *given: Array) -> Array:
        """Return the results (rows, ...)."""
        found: Array = self._asked("", self._unit(given[0]), *given[1:])
        return found

    def _steps(self, q: Array, given: Array, dq: Array) -> Array:
        """Return the small steps (rows, nv) that go with changes of the entries of q as given."""
        plain, found = self.model.mechanism.plain_coordinates, np.empty((len(q), self.model.nv))
        found[:, plain.in_v] = dq[:, plain.in_q]
        for in_q, in_v, back in self._backs(q, given):
            found[:, in_v] = (back @ dq[:, in_q, None])[..., 0]
        return found

    def _by_entries(self, by_q: Array, q: Array, given: Array) -> Array:
        """Return derivatives (rows, m, nq) by the entries of q as given, from those along small steps (rows, m, nv)."""
        plain = self.model.mechanism.plain_coordinates
        if not plain.others:
            return by_q
        found = np.empty((*by_q.shape[:2], self.model.nq))
        found[..., plain.in_q] = by_q[..., plain.in_v]
        for in_q, in_v, back in self._backs(q, given):
            found[..., in_q] = by_q[..., in_v] @ back
        return found

    def _backs(self, q: Array, given: Array) -> Iterator[tuple[slice, slice, Array]]:
        """Yield where joints with quaternions stand, and the derivatives of small steps by the entries of q as given."""
        for _, in_q, in_v in self.model.mechanism.plain_coordinates.others:
            back, at = np.zeros((len(q), in_v.stop - in_v.start, in_q.stop - in_q.start)), in_q.stop - 4
            x, y, z, w = q[:, at : in_q.stop].T
            rows = np.array([[w, z, -y, -x], [-z, w, x, -y], [y, -x, w, -z]])  # vector part of conj(q) times dq
            scale = 2.0 / np.linalg.norm(given[:, at : in_q.stop], axis=1)
            back[:, -3:, -4:] = np.moveaxis(rows * scale, -1, 0)
            if in_q.start < at and len(q):  # older SciPy has no rotations of no rows
                back[:, :3, :3] = Rotation.from_quat(q[:, at : in_q.stop]).as_matrix().swapaxes(1, 2)
            yield in_q, in_v, back


class Dynamics(OwnFunction):
    """Forward or inverse dynamics."""

    def weighted(self, weights: Array, *given: Array) -> list[Array]:
        """Return sums of the slopes by each argument."""
        q = self._unit(given[0])
        by_q, *others = self._asked("_adjoint", q, *given[1:], weights)
        return [self._by_entries(by_q[:, None], q, given[0])[:, 0], *others]

    def change(self, *both: Array) -> Array:
        """Return the change of the result along changes of all arguments."""
        q = self._unit(both[0])
        found: Array = self._asked("_tangent", q, *both[1:3], self._steps(q, both[0], both[3]), *both[4:])
        return found

    def slopes(self, *given: Array) -> list[Array]:
        """Return the derivatives by each argument."""
        q = self._unit(given[0])
        by_q, *others = self._asked("_derivatives", q, *given[1:])
        return [self._by_entries(by_q, q, given[0]), *others]


class MassMatrix(OwnFunction):
    """The mass matrix or its inverse: columns of M are efforts of unit accelerations at rest, ``d(M^-1) = -M^-1 dM M^-1``."""

    def weighted(self, weights: Array, *given: Array) -> list[Array]:
        """Return sums of the slopes."""
        return _in_blocks(self._weighted, weights, *given)

    def change(self, *both: Array) -> Array:
        """Return the change of the result along changes of q."""
        return _in_blocks(self._changed, *both)[0]

    def slopes(self, *given: Array) -> list[Array]:
        """Return the derivatives by q."""
        q, n = self._unit(given[0]), self.model.nv
        (found,) = self._at_rest("mass_derivatives", q, (3, n, n))
        by_q = np.moveaxis(found[:, 0].reshape(-1, n, n, n), -1, 1)  # changes of M, for each coordinate
        return [self._by_entries(np.moveaxis(self._turned(q, by_q), 1, -1).reshape(-1, n * n, n), q, given[0])]

    def _weighted(self, weights: Array, given: Array) -> list[Array]:
        q, n = self._unit(given), self.model.nv
        columns = self._turned(q, weights.reshape(-1, 1, n, n)).swapaxes(2, 3).reshape(-1, 1, n)
        by_q, *_ = self._at_rest("mass_adjoint", q, *[(1, n)] * 3, given=(columns,))
        return [self._by_entries(by_q.reshape(-1, n, n).sum(axis=1)[:, None], q, given)[:, 0]]

    def _changed(self, given: Array, change: Array) -> list[Array]:
        q, n = self._unit(given), self.model.nv
        step, still = np.repeat(self._steps(q, given, change), n, axis=0)[:, None], np.zeros((len(q) * n, 1, n))
        (found,) = self._at_rest("mass_tangent", q, (1, n), given=(step, still, still))
        return [self._turned(q, found.reshape(-1, 1, n, n)).reshape(-1, n * n)]

    def _turned(self, q: Array, changes: Array) -> Array:
        """Return changes (rows, m, nv, nv) of M as those of the result; weights of the result likewise as those of M."""
        if self.name == "mass_matrix":
            return changes
        inverse = self.values(q)[:, None]
        return -(inverse @ changes @ inverse)

    def _at_rest(self, kernel: str, q: Array, *shapes: tuple[int, ...], given: tuple[Array, ...] = ()) -> list[Array]:
        """Return what a kernel writes at unit accelerations, a row for each coordinate of each state."""
        rows, n = len(q), self.model.nv
        at = np.repeat(q, n, axis=0), np.zeros((rows * n, n)), np.tile(np.eye(n), (rows, 1))
        results = [np.empty((rows * n, *shape)) for shape in shapes]
        if self.model._calls.stacked[kernel](*at, *map(np.ascontiguousarray, given), *results) != DONE:
            raise ModelError(overflow())
        return results


#: Functions whose derivatives the model has itself.
_OWN: dict[str, type[OwnFunction]] = {
    "forward_dynamics": Dynamics,
    "inverse_dynamics": Dynamics,
    "mass_matrix": MassMatrix,
    "inverse_mass_matrix": MassMatrix,
}
