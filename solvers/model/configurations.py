"""Configurations and velocities of a model from values by name, and steps between configurations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean, refuse
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import FieldReader, read_count
from titop.blocks.joints.joint import Joint
from titop.solvers.arguments.reading import check_quaternions, check_stacks, read_mapping, read_state
from titop.solvers.arguments.rowwise import read_states
from titop.solvers.mechanism.kernel_calls import real_only
from titop.solvers.model.calls import between_configurations
from titop.solvers.model.mechanism import Resolved


def neutral(model: Resolved) -> Array:
    """Return the configuration (nq) at which all coordinates are zero."""
    return model.mechanism.neutral()


def random_configuration(model: Resolved, rng: np.random.Generator, count: int | None = None) -> Array:
    """Return a random configuration (nq), or a stack (count, nq) of so many, which other functions take as it is.

    Loops may be open there: see `Model.assemble`. Raises `ModelError` for no generator, and a `count` below 0.
    """
    if not isinstance(rng, np.random.Generator | np.random.RandomState):
        raise ModelError(Finding("wrong-type", "rng", rng, "a random generator", "write np.random.default_rng(0)"))
    if count is None:
        return model.mechanism.random_configuration(rng)
    wrong = Finding("bad-value", "count", count, "a whole number, 0 or more", "leave it out for one configuration")
    rows = [model.mechanism.random_configuration(rng) for _ in range(read_count(wrong, 0))]
    return np.array(rows).reshape(len(rows), model.nq)


def configuration(model: Resolved, values: Mapping[str, Any] | None = None) -> Array:
    """Return a configuration (nq) from values by joint or coordinate name; all other coordinates are neutral.

    Free joints also accept a `Pose`, spherical joints a rotation matrix or a scipy Rotation.

    Raises
    ------
    ModelError
        If a name is unknown or a value does not fit.
    """
    q = neutral(model)
    mechanism = model.mechanism
    for name, value in read_mapping("configuration", {} if values is None else values).items():
        if name in mechanism.assembly.q_slices:
            q[mechanism.assembly.q_slices[name]] = _read_block_value(model, name, value)
        elif name in model.configuration_names:
            q[model.configuration_names.index(name)] = _read_array(f"configuration[{name!r}]", value, ())
        else:
            raise _unknown_coordinate(model, name, model.configuration_names)
    q = read_state("configuration", q, model.configuration_names)
    check_quaternions(q, mechanism.quaternions, model.configuration_names)
    return q


def velocity(model: Resolved, values: Mapping[str, Any] | None = None) -> Array:
    """Return a velocity (nv) from values by joint or coordinate name; all other entries are zero.

    Raises
    ------
    ModelError
        If a name is unknown or a value does not fit.
    """
    v = np.zeros(model.nv)
    mechanism = model.mechanism
    for name, value in read_mapping("velocity", {} if values is None else values).items():
        if name in mechanism.assembly.v_slices:
            where = mechanism.assembly.v_slices[name]
            v[where] = _read_array(f"velocity[{name!r}]", np.atleast_1d(value), (where.stop - where.start,))
        elif name in model.coordinate_names:
            v[model.coordinate_names.index(name)] = _read_array(f"velocity[{name!r}]", value, ())
        else:
            raise _unknown_coordinate(model, name, model.coordinate_names)
    return read_state("velocity", v, model.coordinate_names)


@between_configurations("nq")
def integrate(model: Resolved, q: Any, dq: Any) -> Array:
    """Return the configuration (nq) reached from `q` along the tangent vector `dq` (nv); stacked for stacked arguments."""
    return model.mechanism.integrate_unchecked(*read_states(model.mechanism, {"q": q, "dq": dq}, stacked=True))


@between_configurations("nv", "nv")
def integrate_derivatives(model: Resolved, q: Any, dq: Any) -> tuple[Array, Array]:
    """Return the derivatives of `integrate` with respect to `q` and to the step `dq`.

    Parameters
    ----------
    q : array_like (nq,)
    dq : array_like (nv,)
        Both may be stacked along a leading axis; the results are then stacked too.

    Returns
    -------
    by_q, by_step : (nv, nv) arrays
        Columns are displacements in the tangent space at the result, per unit displacement in the tangent space at `q` and
        per unit change of `dq`. Identities for plain coordinates; closed forms for spherical and free joints.

    Raises
    ------
    ModelError
        For unusable arguments.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("body in space")
    >>> s.connect("world", tt.RigidBody("hub", mass=1.0, inertia=[1, 1, 1]), joint=tt.Spherical("ball"))
    >>> by_q, by_step = s.resolve().integrate_derivatives([0, 0, 0, 1], [0, 0, 0.2])
    >>> by_step.round(3).tolist()
    [[0.993, 0.1, 0.0], [-0.1, 0.993, 0.0], [0.0, 0.0, 1.0]]
    """
    q, dq = read_states(model.mechanism, {"q": q, "dq": dq}, stacked=True)
    return _by_blocks(model, dq, 1.0, lambda block, in_q, in_v, k: block.integrate_derivatives(q[k][in_q], dq[k][in_v]))


@between_configurations("nv")
def difference(model: Resolved, q0: Any, q1: Any) -> Array:
    """Return the tangent vector (nv) that leads from `q0` to `q1`; stacked for stacked arguments."""
    mechanism = model.mechanism
    q0, q1 = mechanism._read_q(q0, "q0", stacked=True), mechanism._read_q(q1, "q1", stacked=True)
    check_stacks({"q0": q0, "q1": q1})
    return mechanism.difference_unchecked(q0, q1)


@between_configurations("nv", "nv")
def difference_derivatives(model: Resolved, q0: Any, q1: Any) -> tuple[Array, Array]:
    """Return the derivatives of `difference` with respect to `q0` and to `q1`.

    Parameters
    ----------
    q0, q1 : array_like (nq,)
        Both may be stacked along a leading axis; the results are then stacked too.

    Returns
    -------
    by_q0, by_q1 : (nv, nv) arrays
        Columns are changes of the tangent vector per unit displacement in the tangent spaces at `q0` and at `q1`.

    Raises
    ------
    ModelError
        For unusable arguments.
    """
    mechanism = model.mechanism
    q0, q1 = mechanism._read_q(q0, "q0", stacked=True), mechanism._read_q(q1, "q1", stacked=True)
    check_stacks({"q0": q0, "q1": q1})
    return _by_blocks(model, q1, -1.0, lambda block, in_q, in_v, k: block.difference_derivatives(q0[k][in_q], q1[k][in_q]))


def configuration_rate(model: Resolved, q: Any, v: Any) -> Array:
    """Return dq/dt (nq): v for plain coordinates, for the others the rates of quaternion and position."""
    return model.mechanism.rates(*read_states(model.mechanism, {"q": q, "v": v}, stacked=True))


def configuration_derivatives(model: Resolved, q: Any) -> Array:
    """Return the derivatives (nq, nv) of the entries of `q` along the tangent directions."""
    mechanism = model.mechanism
    q = mechanism._read_q(q, stacked=True)
    derivatives, plain = np.zeros((*q.shape, model.nv)), mechanism.plain_coordinates
    derivatives[..., plain.in_q, plain.in_v] = 1.0
    if plain.others and model._calls.configuration_derivatives is not None:
        stacks = np.ascontiguousarray(real_only(q, "q").reshape(-1, model.nq)), derivatives.reshape(-1, model.nq, model.nv)
        model._calls.configuration_derivatives(*stacks)
        return derivatives
    for block, in_q, in_v in plain.others:
        for row in np.ndindex(q.shape[:-1]):
            derivatives[row][in_q, in_v] = block.slopes(lambda x: x, q[row][in_q])
    return derivatives


def _by_blocks(model: Resolved, like: Array, first: float, derivatives: Callable[..., Any]) -> tuple[Array, Array]:
    """Return two matrices (nv, nv) for each row of `like`: `first` and 1 times the identity, but for blocks' `derivatives`."""
    by_first, by_second = np.zeros((2, *like.shape[:-1], model.nv, model.nv), like.dtype)
    diagonal = ..., range(model.nv), range(model.nv)
    by_first[diagonal], by_second[diagonal] = first, 1.0
    for block, in_q, in_v in model.mechanism.plain_coordinates.others:
        for row in np.ndindex(like.shape[:-1]):
            by_first[row][in_v, in_v], by_second[row][in_v, in_v] = derivatives(block, in_q, in_v, row)
    return by_first, by_second


def _read_block_value(model: Resolved, name: str, value: Any) -> Array:
    block = model.mechanism.assembly.blocks[name]
    where = f"configuration[{name!r}]"
    if not isinstance(block, Joint):
        return _read_array(where, np.atleast_1d(value), (block.nq,))
    before = len(block.reader.findings)
    numbers = block.read_configuration(value)
    findings = [replace(finding, where=where) for finding in block.reader.findings[before:]]
    del block.reader.findings[before:]
    refuse(findings)
    return numbers


def _unknown_coordinate(model: Resolved, name: str, names: tuple[str, ...]) -> ModelError:
    known = [*model.mechanism.assembly.v_slices, *names]
    return ModelError(
        Finding("unknown-coordinate", name, name, "a joint or coordinate of the model", did_you_mean(name, known))
    )


def _read_array(where: str, value: Any, shape: tuple[int, ...]) -> Array:
    reader = FieldReader(where)
    array = reader.array("", value, shape)
    refuse(replace(finding, where=where) for finding in reader.findings)
    return array
