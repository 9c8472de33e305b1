"""Systems with flexible bodies: both engines, invariance, balances, static and dynamic checks."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray

import titop as tt
from tests.flexible import random_body, random_system, unit_beam
from tests.refusals import ENGINES
from titop.blocks.basics.spatial import rigid_inertia
from titop.solvers.kernels.interface import records
from titop.solvers.kernels.interface.stages import Call
from titop.solvers.kernels.laws import modal
from titop.solvers.kernels.spatial.algebra import six

Array = NDArray[np.float64]

EPS = np.finfo(float).eps


def close(found: Any, expected: Any, relative: float) -> bool:
    """Compare in norm, relative to the whole result; absolutely where that is below 1."""
    found, expected = np.asarray(found), np.asarray(expected)
    return bool(np.linalg.norm(found - expected) <= relative * max(1.0, float(np.linalg.norm(expected))))


def state(model: tt.Model, seed: int) -> tuple[Array, Array, Array, Array]:
    """Return a random state with small deformations."""
    rng = np.random.default_rng(seed)
    return model.random_configuration(rng), *rng.normal(size=(3, model.nv))


def conditioned(model: tt.Model, q: Array) -> float:
    """Ten rounding errors, amplified by the condition of the mass matrix, above the rounding of the passes themselves."""
    return 1e-12 + 10 * EPS * float(np.linalg.cond(model.mass_matrix(q)))


# -- the two engines ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_engines_agree(seed: int) -> None:
    system = random_system(np.random.default_rng(seed))
    compiled, reference = (system.resolve(engine) for engine in ENGINES)
    assert compiled.mechanism.engine.is_compiled
    q, v, a, tau = state(compiled, seed)
    rng = np.random.default_rng(seed)
    wrenches = {port: rng.normal(size=6) for port in ("near.C0", "near", "boom.C", "tip")}
    prescribed = ["near", "base.x", "hinge", "boom.C_y"]
    accuracy = conditioned(compiled, q)
    functions: list[Callable[[tt.Model], Any]] = [
        lambda model: model.forward_dynamics(q, v, tau, wrenches),
        lambda model: model.forward_dynamics(q, v, tau),
        lambda model: model.inverse_dynamics(q, v, a, wrenches),
        lambda model: model.inverse_dynamics(q, v, a),
        lambda model: np.concatenate(model.hybrid_dynamics(q, v, tau, a, prescribed, wrenches)),
        lambda model: model.mass_matrix(q),
        lambda model: model.nonlinear_effects(q, v),
        lambda model: model.gravity_effects(q),
        lambda model: model.coriolis_matrix(q, v),
        lambda model: model.passive_efforts(q, v),
        lambda model: model.energy(q, v),
        lambda model: model.momentum(q, v),
        lambda model: model.center_of_mass(q),
    ]
    functions += [lambda model, port=port: model.motion(port, q, v, a) for port in compiled.port_names]
    functions += [lambda model, port=port: model.jacobian(port, q) for port in compiled.port_names]
    functions += [lambda model, joint=joint: model.reaction(joint, q, v, a, wrenches) for joint in compiled.joint_names]
    for function in functions:
        assert close(function(compiled), function(reference), accuracy)


def test_engines_notice_another_mode() -> None:
    system = random_system(np.random.default_rng(0))
    compiled, reference = (system.resolve(engine) for engine in ENGINES)
    q, v, _, tau = state(compiled, 0)
    changed = compiled.with_parameters({"near.mode2.damping": 1e-6})
    found, expected = changed.forward_dynamics(q, v, tau), reference.forward_dynamics(q, v, tau)
    assert not close(found, expected, conditioned(compiled, q))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(3))
def test_forward_undoes_inverse_dynamics(engine: str, seed: int) -> None:
    model = random_system(np.random.default_rng(seed)).resolve(engine)
    q, v, a, _ = state(model, seed)
    assert close(model.forward_dynamics(q, v, model.inverse_dynamics(q, v, a)), a, conditioned(model, q) * 100)
    expected = model.nonlinear_effects(q, v) + model.mass_matrix(q) @ a - model.passive_efforts(q, v)
    loads = np.array([0.3, -0.2, 0.5])  # of `random_system`, fixed in the inertial frame
    port = model.jacobian("near.C0", q)
    turned = model.pose("near.C0", q)[0].T
    push = np.concatenate([turned @ loads, turned @ [0.1, 0.2, 0.3]])
    pull = model.jacobian("boom.C", q).T @ [0, 0.2, 0.1, 0, 0, 0]
    assert close(model.inverse_dynamics(q, v, a), expected - port.T @ push - pull, 1e-11)


def test_stacked_states_and_parameters() -> None:
    model = random_system(np.random.default_rng(1)).resolve()
    q, v, a, tau = (np.array(stack) for stack in zip(*(state(model, k) for k in range(4)), strict=True))
    for changed in (model, model.with_parameters({"side.mass": 9.0, "boom.young": 2e6, "gravity.x": 3.0})):
        rows = [changed.forward_dynamics(*row) for row in zip(q, v, tau, strict=True)]
        # two compilations of the same passes
        assert close(changed.forward_dynamics(q, v, tau), rows, conditioned(changed, q[0]))
        rows = [changed.inverse_dynamics(*row) for row in zip(q, v, a, strict=True)]
        assert close(changed.inverse_dynamics(q, v, a), rows, 1e-12)


def test_changed_parameters_equal_a_system_built_with_them() -> None:
    def build(young: float, frequency: float, damping: float) -> tt.System:
        s = tt.System("two", gravity=[0, 0, -9.81])
        beam = unit_beam(young=young, shear_modulus=1e3, damping_ratio=damping)
        panel = unit_beam("modes", modes=0, torsion_modes=0).in_natural_modes()
        assert panel.frequencies is not None
        frequencies = np.concatenate([[frequency], panel.frequencies[1:]])
        panel = tt.FlexibleBody(
            "panel", panel.mass, panel.com, panel.inertia, frequencies, panel.participation, panel.port_poses, panel.shapes
        )
        s.connect("world", beam, tt.Revolute("hinge", axis=[0, 0, 1]))
        s.connect(beam.port("C"), panel, tt.Weld("weld"))
        return s

    before, after = (1e4, 3.0, 0.0), (2e4, 5.0, 0.02)
    changes = {"beam.young": after[0], "panel.mode1.frequency": after[1], "beam.damping_ratio": after[2]}
    for engine in ENGINES:
        changed, expected = build(*before).resolve(engine).with_parameters(changes), build(*after).resolve(engine)
        q, v, _, tau = state(expected, 0)
        assert np.array_equal(changed.forward_dynamics(q, v, tau), expected.forward_dynamics(q, v, tau))


def test_a_subclass_with_a_law_of_its_own_is_left_to_python() -> None:
    class Stiffening(tt.FlexibleBody):
        """Has a cubic spring beside its modes."""

        def elastic_energy(self, q: Array) -> Any:
            """Return the energy."""
            return super().elastic_energy(q) + 100.0 * q[0] ** 4

        def passive_efforts(self, q: Array, v: Array) -> Array:
            """Return what `Block` derives."""
            return tt.Block.passive_efforts(self, q, v)

    plain = random_body(np.random.default_rng(0), modes=2, ports=1)
    models = []
    for cls in (tt.FlexibleBody, Stiffening):
        body: Any = copy.copy(plain)
        body.__class__ = cls
        s = tt.System("one")
        s.connect("world", body, tt.Revolute("hinge", axis=[1, 0, 0]))
        models += [s.resolve(), s.resolve("reference")]
    assert [model.mechanism.engine.is_compiled for model in models[::2]] == [True, False]
    q, v, _, tau = state(models[0], 0)
    linear, linear_reference, cubic, cubic_reference = (model.forward_dynamics(q, v, tau) for model in models)
    assert close(linear, linear_reference, 1e-12)
    assert close(cubic, cubic_reference, 1e-12)
    assert not close(linear, cubic, 1e-6)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_mode_without_mass_is_named(engine: str) -> None:
    """One rule for joints and own coordinates: what is left of a coordinate's inertia is compared with its own."""

    class Massless(tt.Block):
        """Slides along z without any inertia of its own."""

        coordinates, ports = ("slide",), ("C",)

        def pose(self, port: str, q: Array) -> tuple[Array, Array]:
            """Return the pose of the sliding port."""
            return np.eye(3) + 0 * q[0], np.array([0 * q[0], 0 * q[0], q[0]])

        def mass_matrix(self, q: Array) -> Array:
            """Return an inertia of the whole, and one of the sliding alone."""
            return motion.T @ np.diag([1e4] * 6) @ motion + np.diag([0.0] * 6 + [own]) + 0 * q[0]

    s = tt.System("massless", gravity=[0, 0, 0])
    s.connect("world", Massless("slider"), tt.Free("base"))
    motion, own = np.eye(6, 7), 0.0
    with pytest.raises(tt.ModelError, match="massless-joint"):
        s.resolve(engine)
    motion[:3, 6] = [0.1, 0.3, 0.7]  # as the base moves the whole
    with pytest.raises(tt.ModelError, match="massless-joint"):
        s.resolve(engine)
    motion, own = np.eye(6, 7), 1e-12  # little, and none of it lost
    m = s.resolve(engine)
    np.testing.assert_allclose(m.forward_dynamics(m.neutral(), np.zeros(7), np.eye(7)[6]), 1e12 * np.eye(7)[6], rtol=1e-12)


@pytest.mark.long
def test_kernels_of_flexible_bodies_take_complex_steps() -> None:
    """They compile for complex numbers too, and the derivatives are right: about 0.1 rad and about 3 rad of port rotation."""
    rng = np.random.default_rng(1)
    body = random_body(rng, "body")
    n, numbers = body.nv, body.law_numbers()[None]

    @njit
    def law_of(numbers: Any, q: Any, v: Any, twist: Any, law: Any) -> None:
        x = six(twist, 0, 0)
        modal.write_law(Call(q.size, 2, -1, numbers.size, 1, 0, 0, numbers, q, v, v, x, x, law, 0, law), q, v, x, law)

    for scale in (1.0, 30.0):
        q, v, twist = scale * body.random_configuration(rng), rng.normal(size=n), rng.normal(size=(1, 6))
        steps = rng.normal(size=n), rng.normal(size=n), rng.normal(size=(1, 6))

        def law(step: Any, kind: Any, state: Any = (q, v, twist), steps: Any = steps) -> Any:
            result = np.zeros((1, records.law_size(n, 2)), kind)
            law_of(numbers, *((x + step * dx).astype(kind) for x, dx in zip(state, steps, strict=True)), result)
            return result

        exact = law(1e-30j, complex).imag / 1e-30
        difference = (law(1e-4, float) - law(-1e-4, float)) / 2e-4
        # central differences of the second order; shapes of the port's rotation make phi curved
        np.testing.assert_allclose(exact, difference, atol=1e-6 * np.abs(difference).max())


# -- invariance --------------------------------------------------------------------------------------------------------


def satellite(seed: int = 0, body: Callable[[tt.FlexibleBody], tt.Block] = lambda body: body) -> tt.System:
    """Return a free-flying hub with a flexible body on either side, one of them hinged and carrying a mass, no gravity."""
    rng = np.random.default_rng(seed)
    near, far = random_body(rng, "near"), random_body(rng, "far", 2, 1)
    hub = tt.RigidBody("hub", 5.0, [0.1, 0, 0], [0.6, 0.7, 0.8], ports={"A": [0, 0.5, 0], "B": [0, -0.5, 0]})
    s = tt.System("satellite", gravity=[0, 0, 0])
    s.connect("world", hub, tt.Free("base"))
    near_block, far_block = body(near), body(far)
    s.connect(hub.port("A"), near_block, tt.Revolute("hinge", axis=[0, 1, 1]))
    s.connect(hub.port("B"), far_block, tt.Weld("root"))
    s.connect(near_block.port("C0"), tt.RigidBody("tip", 0.3, inertia=0.01), tt.Weld("wrist"))
    return s


class Frozen(tt.FlexibleBody):
    """The negative control: its first moment does not follow the deformation."""

    def mass_matrix(self, q: Array) -> Array:
        """Return the inertia of the undeformed body."""
        return super().mass_matrix(0 * q)

    def gyroscopic(self, q: Array, v: Array, twist: Array) -> Array:
        """Return what `Block` derives from it."""
        return tt.Block.gyroscopic(self, q, v, twist)


def frozen(body: tt.FlexibleBody) -> tt.FlexibleBody:
    """Return a body as a `Frozen` one."""
    body.__class__ = Frozen
    return body


def boosted(model: tt.Model, q: Array, v: Array, velocity: Array) -> Array:
    """Return v with a constant inertial velocity added to the base."""
    v = v.copy()
    v[:3] += model.pose("hub", q)[0].T @ velocity
    return v


def boost_defect(model: tt.Model, seed: int) -> float:
    """Return by how much accelerations change for an observer in uniform motion, relative to their size."""
    q, v, _, tau = state(model, seed)
    velocity = np.array([3.0, -5.0, 7.0])
    a, moving = (model.forward_dynamics(q, x, tau) for x in (v, boosted(model, q, v, velocity)))
    # the base's dv is the derivative in body axes: the boost adds -w x (R^T velocity)
    moving = moving.copy()
    moving[:3] += np.cross(v[3:6], model.pose("hub", q)[0].T @ velocity)
    return float(np.linalg.norm(moving - a) / np.linalg.norm(a))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(3))
def test_uniform_motion_changes_nothing(engine: str, seed: int) -> None:
    model = satellite(seed).resolve(engine)
    # velocities of ten cancel in terms of a hundred
    assert boost_defect(model, seed) < 100 * conditioned(model, model.neutral())


@pytest.mark.parametrize("engine", ENGINES)
def test_it_would_with_a_constant_first_moment(engine: str) -> None:
    assert boost_defect(satellite(0, frozen).resolve(engine), 0) > 1e-2


def test_gravity_has_a_potential() -> None:
    model = random_system(np.random.default_rng(2)).resolve()
    q = model.random_configuration(np.random.default_rng(3))
    rest = np.zeros(model.nv)
    step = 1e-4
    slopes = [
        (model.energy(model.integrate(q, step * e), rest).gravity - model.energy(model.integrate(q, -step * e), rest).gravity)
        / (2 * step)
        for e in np.eye(model.nv)
    ]
    # central differences of the second order with a step of 1e-4
    np.testing.assert_allclose(model.gravity_effects(q), slopes, atol=1e-6)


# -- balances ----------------------------------------------------------------------------------------------------------


def test_energy_and_momentum_of_a_flexible_satellite() -> None:
    """Three seconds of tumbling; some vibrations of each mode."""
    system = satellite(1, undamped)
    model = system.resolve()
    rng = np.random.default_rng(4)
    q = model.configuration({"near": 0.05 * rng.normal(size=3), "far": 0.05 * rng.normal(size=2), "hinge": 0.3})
    v = model.velocity({"base": [0.3, -0.2, 0.1, 0.5, -0.4, 0.6], "near": 0.2 * rng.normal(size=3), "hinge": 0.5})
    trajectory = tt.simulate(model, np.linspace(0, 3, 31), q, v, rtol=1e-10, atol=1e-12)
    energy = trajectory.energy()
    momentum = np.array([model.momentum(q, v) for q, v in zip(trajectory.q, trajectory.v, strict=True)])
    # a few hundred steps, each with a relative error of 1e-10 or less
    assert np.ptp(energy.sum(axis=1)) < 1e-8 * energy.sum(axis=1)[0]
    assert np.ptp(momentum, axis=0).max() < 1e-8 * np.abs(momentum).max()
    assert np.ptp(energy[:, 2]) > 1e-2 * energy.sum(axis=1)[0]  # elastic energy took part
    # the centre of mass moves straight
    centers = np.array([model.center_of_mass(q) for q in trajectory.q])
    assert np.abs(np.diff(centers, n=2, axis=0)).max() < 1e-9


def undamped(body: tt.FlexibleBody) -> tt.FlexibleBody:
    """Return a body without damping."""
    assert body.modal_damping is not None
    body.modal_damping[:] = 0.0
    changed: Any = body.with_parameters({})
    return changed


def test_damping_takes_energy() -> None:
    model = satellite(1).resolve()
    v = model.velocity({"near": [0.2, 0.1, -0.2]})
    trajectory = tt.simulate(model, np.linspace(0, 2, 11), model.neutral(), v)
    assert (np.diff(trajectory.energy().sum(axis=1)) < 0).all()


def test_simulation_runs_in_one_kernel() -> None:
    """The compiled right-hand side and the model's functions are the same equations."""
    model = satellite(2).resolve()
    q, v, _, _ = state(model, 5)
    derivative, arguments = model.mechanism.engine.state_derivative([], np.zeros(model.nv))  # type: ignore[attr-defined]
    dy = np.empty(model.nq + model.nv)
    assert derivative(dy, 0.0, np.concatenate([q, v]), *arguments) == 0
    assert np.array_equal(dy[model.nq :], model.forward_dynamics(q, v))
    np.testing.assert_allclose(dy[: model.nq], model.configuration_rate(q, v), atol=1e-14)


def test_a_stiff_panel_moves_like_a_rigid_one() -> None:
    """A body whose modes are out of reach accelerates as the rigid body with its total data."""
    rng = np.random.default_rng(0)
    flexible = random_body(rng, modes=2, ports=1)
    # at rest against the load: the deformation that makes the modes' accelerations vanish is small
    rigid = tt.RigidBody("panel", flexible.mass, flexible.com, flexible.inertia)
    assert np.array_equal(flexible.rigid_inertia, rigid_inertia(rigid.mass, rigid.com, rigid.inertia))
    models = []
    for block in (flexible, rigid):
        s = tt.System("one", gravity=[1, 2, 3])
        s.connect("world", block, tt.Free("base"))
        models.append(s.resolve())
    twist = rng.normal(size=6)
    q, v = models[1].random_configuration(rng), twist
    prescribed = {"prescribed": ["panel"]}
    a, _ = models[0].hybrid_dynamics(
        np.concatenate([q, [0, 0]]), np.concatenate([v, [0, 0]]), np.zeros(8), np.zeros(8), **prescribed
    )
    np.testing.assert_allclose(a[:6], models[1].forward_dynamics(q, v), atol=1e-12)


# -- files -------------------------------------------------------------------------------------------------------------


def test_files_hold_flexible_bodies(tmp_path: Any) -> None:
    system = random_system(np.random.default_rng(3))
    hub = system.connections[0].child.block
    modes = unit_beam("modes", modes=0).in_natural_modes()
    modes.name = "panel"
    system.connect(hub, modes, tt.Weld("panel_root"))
    single = random_body(np.random.default_rng(4), "single", 1, 1)
    system.connect(hub, single, tt.Weld("single_root"))
    system.save(tmp_path / "a.toml")
    loaded = tt.load(tmp_path / "a.toml")
    loaded.save(tmp_path / "b.toml")
    assert (tmp_path / "a.toml").read_text() == (tmp_path / "b.toml").read_text()
    before, after = system.resolve(), loaded.resolve()
    q, v, _, tau = state(before, 0)
    assert np.array_equal(before.forward_dynamics(q, v, tau), after.forward_dynamics(q, v, tau))
    assert before.coordinate_names == after.coordinate_names
    assert 'type = "beam"' in (tmp_path / "a.toml").read_text()


def test_pictures_show_flexible_bodies(tmp_path: Any) -> None:
    system = satellite()
    assert "near: " in str(system) or "near (FlexibleBody" in str(system)
    system.draw(tmp_path / "x.png")
    assert "near" in system.to_mermaid()
    assert "near" in system.to_dot()
    model = system.resolve()
    trajectory = tt.simulate(model, [0, 0.1], model.neutral(), model.velocity({"hinge": 1.0}))
    trajectory.animate(tmp_path / "x.html")
    assert "near.C1" in (tmp_path / "x.html").read_text()
