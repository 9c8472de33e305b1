"""What changed parameters make suspicious is said, as the constructor says it, and once of many."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from scipy.spatial.transform import Rotation

import titop as tt
from tests.refusals import ENGINES, body
from tests.solvers.model.identities import FEW, SEEDS, Case, assert_same, control_case, observations


def pendulum(engine: str = "compiled") -> tt.Model:
    """Return a body with a sprung, damped hinge, and a compliant closure to the world."""
    s = tt.System("pendulum", gravity=[0, 0, -9.81])
    arm = body(com=[0, 0, -1], inertia=[0.1, 0.2, 0.2])
    s.connect("world", arm, tt.Revolute("hinge", axis=[1, 0, 0], damping=0.1, stiffness=1.0))
    s.close_loop(s.world, arm.port("tip"), tt.CompliantClosure("rope", stiffness=0.1, damping=0.1))
    return s.resolve(engine)


def said(function: Callable[[], Any]) -> list[str]:
    """Return the titop warnings of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function()
    return [str(warning.message) for warning in caught if issubclass(warning.category, tt.ModelWarning)]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"hinge.damping": -0.1}, "negative-damping"),
        ({"hinge.stiffness": -0.1}, "negative-stiffness"),
        ({"rope.damping.x.x": -0.1}, "negative-damping"),
        ({"arm.inertia.zz": 0.9}, "triangle-inequality"),
        ({"arm.mass": 0.0}, "massless-inertia"),
        ({"hinge.damping": 0.2, "arm.inertia.zz": 0.25, "arm.mass": 2.0, "gravity.z": 1.0}, None),
    ],
)
def test_with_parameters_warns_as_the_constructor_does(engine: str, values: dict[str, float], code: str | None) -> None:
    model = pendulum(engine)
    found = said(lambda: model.with_parameters(values))
    assert [code in message for message in found] == ([True] if code else [])
    changed = model.with_parameters({"arm.com.z": -1.0}) if code is None else None
    assert changed is None or not said(lambda: changed.with_parameters({"arm.mass": 1.5}))


@pytest.mark.parametrize("engine", ENGINES)
def test_what_was_said_before_is_not_said_again(engine: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        odd = pendulum(engine).with_parameters({"arm.inertia.zz": 0.9})
    assert len(said(lambda: odd.with_parameters({"arm.inertia.yy": 0.1}))) == 1  # another triangle
    s = tt.System("odd")
    s.connect("world", body(inertia=[1, 1, 3]), tt.Revolute("hinge", axis=[1, 0, 0]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = s.resolve(engine)
    assert not said(lambda: model.with_parameters({"arm.com.x": 0.1}))


@pytest.mark.parametrize("engine", ENGINES)
def test_bad_conditioning_is_said(engine: str) -> None:
    s = tt.System("whip")
    handle, lash = body("handle"), body("lash")
    s.connect("world", handle, tt.Revolute("first", axis=[1, 0.2, 0.1]))
    s.connect(handle.port("tip"), lash, tt.Revolute("second", axis=[1, 0.2, 0.1]))
    model = s.resolve(engine)
    (message,) = said(lambda: model.with_parameters({"lash.mass": 1e12}))
    assert "ill-conditioned" in message
    assert message.startswith("first: ")


def test_monte_carlo_warns_once() -> None:
    def run(model: tt.Model) -> dict[str, float]:
        return {"weight": float(model.gravity_effects([0.3])[0])}

    (message,) = said(lambda: tt.monte_carlo(pendulum(), {"hinge.damping": (-1.0, 1.0)}, run, n=40, seed=1))
    assert "negative-damping" in message
    assert "times in 40" in message
    assert not said(lambda: tt.monte_carlo(pendulum(), {"hinge.damping": (0.1, 1.0)}, run, n=10))


def test_lpv_warns_once() -> None:
    grid = {"hinge.damping": np.linspace(-0.2, 0.2, 5), "arm.mass": [1.0, 2.0]}
    (message,) = said(lambda: tt.lpv(pendulum(), grid, unknowns=["hinge"], inputs=["hinge"]))
    assert "negative-damping" in message
    assert "4 times in 10" in message


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
    factors = {block: c.rng.uniform(0.8, 1.2) if c.rng.random() < 0.5 else 1.0 for block in c.model.assembly.blocks}
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
