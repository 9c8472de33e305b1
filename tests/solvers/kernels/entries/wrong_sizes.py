"""Arguments of entry points: right ones by name, and whether others reach memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from inspect import signature
from typing import Any

import numpy as np

import titop as tt
from tests.closed_systems import four_bar
from tests.solvers.kernels.packed_trees import AXIAL, Packed
from tests.systems import Array, random_state
from titop.solvers.kernels.interface import layout
from titop.solvers.native.kernel import Kernel


def of_a_tree() -> dict[str, Any]:
    """Return what entry points for rigid trees take, by name, at a state."""
    packed = Packed(0, AXIAL, base="fixed")
    return _arguments(packed.model, (packed.q, packed.v, packed.a, packed.tau))


def of_a_linkage() -> dict[str, Any]:
    """Return what entry points for systems with rigid closures take, by name, at a closed state."""
    model = four_bar(tt.RigidClosure("pin", directions=np.eye(6)[:, :2])).resolve()
    q, v, _, tau = random_state(model, np.random.default_rng(0))
    q = model.assemble(q, fixed=["q1"])
    v = model.assemble_velocity(q, v)
    return _arguments(model, (q, v, model.forward_dynamics(q, v, tau), tau))


def _arguments(model: tt.Model, state: tuple[Array, Array, Array, Array]) -> dict[str, Any]:
    system: Any = model.mechanism.engine.system  # type: ignore[attr-defined]
    constrained = model.is_constrained
    tree = system.constraint_tables[1] if constrained else system.tables.tree
    arrays = system.closing() if constrained else system.arrays
    loops = system.loops if constrained else None
    element, port, frame = system.port_place(model.port_names[-1])
    return {
        "ints": arrays[0],
        "floats": arrays[1],
        "tree": tree,
        "paths": system.tables.paths,
        "loops": loops,
        "element": element,
        "port": port,
        "frame": frame,
        "in_world": True,
        "classical": True,
        "nv": model.nv,
        **dict(zip(("q", "v", "a", "tau"), state, strict=True)),
    }


def resized(array: Array) -> Iterator[Array]:
    """Yield the array with one entry less, and one more, along each axis."""
    for axis in range(array.ndim):
        shape = [*array.shape]
        for change in (-1, 1):
            other = [*shape]
            other[axis] += change
            yield np.resize(array, other)


def assert_sizes_matter(kernel: Kernel, given: dict[str, Any], checked: Sequence[str]) -> None:
    """Right arguments are taken; each of the `checked` in another size is refused, and nothing written.

    The compiled function takes the right ones. The refusals are those of the function as it is written: where one is missing
    no foreign memory is touched.
    """
    names = [*signature(kernel.function).parameters]
    arguments = {name: given.get(name) for name in names}
    right = [arguments[name] for name in names if name not in ("numbers", "stages")]
    assert kernel.compiled(*(each.copy() if isinstance(each, np.ndarray) else each for each in right)) == layout.OK
    for name in checked:
        for other in resized(arguments[name]):
            changed = {**arguments, name: other}
            before = {each: array.copy() for each, array in changed.items() if isinstance(array, np.ndarray)}
            assert kernel.function(*changed.values()) == layout.WRONG_SIZE, (name, other.shape)
            assert all(np.array_equal(changed[each], array, equal_nan=True) for each, array in before.items())
