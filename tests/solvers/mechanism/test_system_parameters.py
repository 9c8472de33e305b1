"""Changed parameters: a model with them is the model of a system that is built with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from scipy.spatial.transform import Rotation

import titop as tt
from tests.refusals import ENGINES
from tests.solvers.model.identities import FEW, SEEDS, Case, assert_same, control_case, observations


def constructed(system: tt.System, values: dict[str, float]) -> tt.System:
    """Return the system built anew through the public constructors, with the numbers `values` by parameter name."""

    def numbers(stem: str, entries: Sequence[str]) -> list[float]:
        return [values[f"{stem}.{entry}"] for entry in entries]

    def pose(stem: str) -> tt.Pose:
        turn = Rotation.from_rotvec(numbers(f"{stem}.rotation", "xyz"))
        return tt.Pose(numbers(f"{stem}.position", "xyz"), turn)

    def body(block: tt.RigidBody) -> tt.RigidBody:
        xx, yy, zz, xy, xz, yz = numbers(f"{block.name}.inertia", ["xx", "yy", "zz", "xy", "xz", "yz"])
        return tt.RigidBody(
            block.name,
            mass=values[f"{block.name}.mass"],
            com=numbers(f"{block.name}.com", "xyz"),
            inertia=[[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]],
            ports={port: pose(f"{block.name}.{port}") for port in block.ports},
        )

    def joint(block: tt.Joint) -> tt.Joint:
        if not block.nv:
            return type(block)(block.name)
        names, n = block.coordinates, block.nv
        fields: dict[str, Any] = {field: numbers(f"{block.name}.{field}", "xyz") for field in type(block).axis_fields}
        if isinstance(block, tt.Screw):
            fields["pitch"] = values[f"{block.name}.pitch"]
        if n == 1:
            fields |= {field: values[f"{block.name}.{field}"] for field in ("stiffness", "damping", "armature", "rest")}
            return type(block)(block.name, **fields)
        for field in ("stiffness", "damping"):
            fields[field] = [
                [values[f"{block.name}.{field}.{names[min(i, j)]}.{names[max(i, j)]}"] for j in range(n)] for i in range(n)
            ]
        fields["armature"] = numbers(f"{block.name}.armature", names)
        fields["rest"] = numbers(f"{block.name}.rest", block.configuration_names)
        return type(block)(block.name, **fields)

    s = tt.System("constructed", gravity=numbers("gravity", "xyz"))
    for port in system.world.ports:
        world_port = pose(f"world.{port}")
        s.world.add_port(port, world_port.position, world_port.rotation)
    blocks: dict[str, tt.Block] = {"world": s.world}
    for c in system.connections:
        blocks[c.child.block.name] = body(c.child.block)
    for c in system.connections:
        parent, child = (tt.PortRef(blocks[ref.block.name], ref.name) for ref in (c.parent, c.child))
        s.connect(parent, child, joint(c.joint), pose(f"{c.joint.name}.placement"))
    for load in system.loads:
        target = tt.PortRef(blocks[load.target.block.name], load.target.name)
        force, torque = numbers(f"{load.name}.force", "xyz"), numbers(f"{load.name}.torque", "xyz")
        s.add_load(tt.Load(load.name, target, force, torque, load.frame))
    return s


def random_values(c: Case) -> dict[str, float]:
    """Return new values for about half of the blocks: inertias and springs remain positive, quaternions unit."""
    values: dict[str, float] = {}
    factors = {block: c.rng.uniform(0.8, 1.2) if c.rng.random() < 0.5 else 1.0 for block in c.model.mechanism.assembly.blocks}
    for name, (value, _) in c.model.parameters().items():
        factor = factors.get(name.split(".")[0], 1.1)
        if factor != 1.0 and ".rest.q" not in name:
            values[name] = factor * value
    for connection in c.system.connections:
        joint = connection.joint
        if isinstance(joint, tt.Spherical | tt.Free):
            turn = c.rng.normal(size=4)
            values |= {
                f"{joint.name}.rest.{entry}": x
                for entry, x in zip(("qx", "qy", "qz", "qw"), turn / np.linalg.norm(turn), strict=True)
            }
        # springs appear where there were none, and go
        for i, entry in enumerate(joint.coordinates):
            switched = 0.0 if joint.stiffness[i, i] else c.rng.uniform(1.0, 5.0)
            if joint.nv == 1 and c.rng.random() < 0.5:
                values[f"{joint.name}.stiffness"] = switched
            elif joint.nv > 1 and switched:
                values[f"{joint.name}.stiffness.{entry}.{entry}"] = switched
    return values


@pytest.mark.parametrize("engine", ENGINES)
@given(seed=SEEDS)
@FEW
def test_changed_parameters_equal_a_system_built_with_them(engine: str, seed: int) -> None:
    c = Case(seed, engine)
    changes = random_values(c)
    before = {name: value for name, (value, _) in c.model.parameters().items()}
    changed = c.model.with_parameters(changes)
    c.model = constructed(c.system, before | changes).resolve(engine)
    assert_same(observations(c, changed), observations(c, c.model), c.tolerance)
    found = {name: value for name, (value, _) in changed.parameters().items()}
    assert found == before | changes


@pytest.mark.parametrize("engine", ENGINES)
def test_a_changed_model_leaves_its_origin_as_it_was(engine: str) -> None:
    c = control_case(engine)
    before = observations(c, c.model)
    observations(c, c.model.with_parameters(random_values(c)))
    assert_same(observations(c, c.model), before, 0.0)


@pytest.mark.parametrize("engine", ENGINES)
def test_each_parameter_matters_to_the_comparison(engine: str) -> None:
    c = control_case(engine)
    before = {name: value for name, (value, _) in c.model.parameters().items()}
    expected = observations(c, c.model)
    assert_same(observations(c, constructed(c.system, before).resolve(engine)), expected, c.tolerance)
    for name in ("b4.mass", "b4.com.y", "b4.inertia.xz", "j5.placement.rotation.x", "load3.torque.z", "gravity.x"):
        with pytest.raises(AssertionError):
            assert_same(observations(c, c.model.with_parameters({name: before[name] + 1e-6})), expected, c.tolerance)
