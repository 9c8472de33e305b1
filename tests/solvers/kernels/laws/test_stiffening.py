"""Systems of bodies that foreshorten: both engines, derivatives, balances, and the beam that is spun up."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.polynomial import Polynomial
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import titop as tt
from tests.flexible import Cloud, unit_beam
from tests.refusals import ENGINES
from tests.solvers.kernels.interface.flexible_states import error
from titop.solvers.engines.compiled import law_kinds, law_tables
from titop.solvers.kernels.laws import modal, stiffening_stages

Array = NDArray[np.float64]

#: Rounding of some hundred terms; forward dynamics lose the condition of the mass matrix, 1e3.
ACCURACY, SOLVED = 1e-12, 1e-10
STEP = 1e-30


def bent_system(damped: bool = True, gravity: Any = (0.3, 0.4, -9.81)) -> tt.System:
    """Return a free hub with material points hinged to it, which carry a beam with a mass at its tip."""
    rng = np.random.default_rng(0)
    s = tt.System("bent", gravity=gravity)
    hub = tt.RigidBody("hub", 2.0, [0.1, 0, 0], [0.3, 0.4, 0.5], ports={"A": [0, 0.4, 0]})
    cloud = Cloud.random(rng).body(rng, "cloud")
    if not damped:
        cloud.modal_damping = None
        cloud._update()
    beam = tt.Beam("boom", 1.0, 1.0, 1.0, 1e3, 1e-3, 2e-3, modes=1, axial_modes=1, damping_ratio=0.01 if damped else 0.0)
    s.connect("world", hub, tt.Free("base"))
    s.connect(hub.port("A"), cloud, tt.Revolute("hinge", axis=[1, 0, 1]))
    s.connect(cloud.port("C1"), beam, tt.Spherical("ball"))
    s.connect(beam.port("C"), tt.RigidBody("tip", 0.3, [0, 0.1, 0], 0.02), tt.Weld("wrist"))
    return s


def state(model: tt.Model, seed: int = 0, bend: float = 1.0) -> tuple[Array, Array, Array]:
    """Return a random state, with deformations of `bend` times the usual ones, and accelerations."""
    rng = np.random.default_rng(seed)
    q, own = model.random_configuration(rng), [name.startswith(("cloud.", "boom.")) for name in model.configuration_names]
    q[own] *= bend
    return q, *rng.normal(size=(2, model.nv))


WRENCHES = {port: np.random.default_rng(1).normal(size=6) for port in ("cloud.C0", "cloud.C1", "boom.C", "cloud", "tip")}


class TestEngines:
    @pytest.mark.parametrize("bend", [1.0, 10.0])
    def test_agree(self, bend: float) -> None:
        compiled, reference = (bent_system().resolve(engine) for engine in ENGINES)
        assert compiled.mechanism.engine.is_compiled
        q, v, a = state(compiled, bend=bend)
        functions: list[Callable[[tt.Model], Any]] = [
            lambda model: model.inverse_dynamics(q, v, a, WRENCHES),
            lambda model: model.mass_matrix(q),
            lambda model: model.nonlinear_effects(q, v),
            lambda model: model.gravity_effects(q),
            lambda model: model.passive_efforts(q, v),
            lambda model: model.energy(q, v),
            lambda model: model.momentum(q, v),
            lambda model: model.center_of_mass(q),
            lambda model: model.reaction("ball", q, v, a, WRENCHES),
        ]
        ports = [port for port in compiled.port_names if port != "world"]
        functions += [lambda model, port=port: model.motion(port, q, v, a) for port in ports]
        functions += [lambda model, port=port: model.jacobian(port, q) for port in ports]
        for function in functions:
            assert error(function(compiled), function(reference)) < ACCURACY
        for solve in (
            lambda model: model.forward_dynamics(q, v, a, WRENCHES),
            lambda model: np.concatenate(model.hybrid_dynamics(q, v, a, a, ["cloud", "base.x", "boom.C_y"], WRENCHES)),
        ):
            assert error(solve(compiled), solve(reference)) < SOLVED

    def test_they_would_not_with_the_law_of_first_order(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The negative control."""
        monkeypatch.setitem(law_kinds.KINDS, "FlexibleBody", lambda _: modal.LAW)
        compiled, reference = (bent_system().resolve(engine) for engine in ENGINES)
        q, v, a = state(compiled)
        assert error(compiled.inverse_dynamics(q, v, a), reference.inverse_dynamics(q, v, a)) > 1e-3

    @pytest.mark.parametrize("bend", [1.0, 10.0])
    def test_derivatives_are_those_of_the_reference(self, bend: float) -> None:
        compiled, reference = (bent_system().resolve(engine) for engine in ENGINES)
        q, v, a = state(compiled, bend=bend)
        found = compiled.inverse_dynamics_derivatives(q, v, a, WRENCHES)
        steps = 1j * STEP * np.eye(compiled.nv)
        expected = (
            np.array(
                [reference.inverse_dynamics(reference.integrate(q, step), v, a, WRENCHES).imag / STEP for step in steps]
            ).T,
            np.array([reference.inverse_dynamics(q, v + step, a, WRENCHES).imag / STEP for step in steps]).T,
            reference.mass_matrix(q),
        )
        for ours, exact in zip(found, expected, strict=True):
            assert error(ours, exact) < ACCURACY

    def test_forward_undoes_inverse_dynamics(self) -> None:
        model = bent_system().resolve()
        q, v, a = state(model)
        assert error(model.forward_dynamics(q, v, model.inverse_dynamics(q, v, a, WRENCHES), WRENCHES), a) < SOLVED


class TestBalances:
    def tumbling(self, model: tt.Model, seconds: float = 1.0) -> tt.Trajectory:
        """Return some tumbling, the deformations moving."""
        v = model.velocity(
            {"base": [0.3, -0.2, 0.1, 0.8, -1.4, 1.6], "hinge": 1.5, "ball": [0.5, -1.0, 0.7], "cloud": [0.3, 0.2, 0]}
        )
        q = model.configuration({"boom.C_y": 0.05, "boom.C_rz": 0.1, "cloud": [0.05, 0.1, -0.1]})
        return tt.simulate(model, np.linspace(0, seconds, 11), q, v, rtol=1e-10, atol=1e-12)

    def test_energy_and_momentum_are_conserved(self) -> None:
        model = bent_system(damped=False, gravity=(0, 0, 0)).resolve()
        trajectory = self.tumbling(model)
        energy = trajectory.energy()
        momentum = np.array([model.momentum(q, v) for q, v in zip(trajectory.q, trajectory.v, strict=True)])
        # some thousand steps, each with a relative error of 1e-10 or less, most of which go either way
        assert np.ptp(energy.sum(axis=1)) < 1e-8 * energy.sum(axis=1)[0]
        assert np.ptp(momentum, axis=0).max() < 1e-8 * np.abs(momentum).max()
        assert np.ptp(energy[:, 2]) > 1e-2 * energy.sum(axis=1)[0]  # elastic energy took part

    def test_they_are_not_if_ports_forget_to_foreshorten(self) -> None:
        """The negative control: reactions at the ports of another energy than the motion."""

        class Forgetful(tt.FlexibleBody):
            """Moves its ports as if to first order alone."""

            def motion_subspace(self, port: str, q: Array) -> Array:
                """Return the subspace of the undeformed body's shape, at the deformed body's pose."""
                shape, (rotation, _) = self.shapes[port], self.pose(port, q)
                return np.vstack([rotation.T @ shape[:3], rotation.T @ shape[3:]])

        system = bent_system(damped=False, gravity=(0, 0, 0))
        cloud: Any = system["cloud"]
        cloud.__class__ = Forgetful
        energy = self.tumbling(system.resolve(), 0.1).energy().sum(axis=1)
        assert np.ptp(energy) > 1e-5 * energy[0]


class TestSpinUp:
    """Kane, Ryan and Banerjee, Journal of Guidance, Control, and Dynamics 10(2), 1987: a cantilever on a spun-up hub."""

    LENGTH, LINE, BENDING, SPIN, TIME = 10.0, 1.2, 1.4e4, 6.0, 15.0

    def turned(self, t: float) -> tuple[float, float, float]:
        """Return angle, spin and its rate."""
        late, p = max(t - self.TIME, 0.0), 2 * np.pi / self.TIME
        t = min(t, self.TIME)
        factor = self.SPIN / self.TIME
        angle = factor * (t * t / 2 + (np.cos(p * t) - 1) / p**2) + self.SPIN * late
        return angle, factor * (t - np.sin(p * t) / p), factor * (1 - np.cos(p * t))

    def beam(self) -> tt.Beam:
        """Return the beam: first frequency 3.80 rad/s, which is less than the spin."""
        return tt.Beam("arm", self.LENGTH, 3000.0, 4e-4, 7e10, 2e-7, 2e-7, modes=1, torsion_modes=0)

    def lag(self, body: tt.FlexibleBody, times: Array) -> Array:
        """Return the tip's deflection (m) in the plane."""
        s = tt.System("spin-up", gravity=[0, 0, 0])
        s.connect("world", body, tt.Revolute("hub", axis=[0, 0, 1]))
        model = s.resolve()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tt.ModelWarning)  # of spin without geometric stiffness
            q, v = model.neutral(), np.zeros(model.nv)
            found = tt.simulate(model, times, q, v, prescribed={"hub": self.turned}, rtol=1e-5, atol=1e-7)
        return np.array([model.pose("arm.C", q)[1] @ [-np.sin(q[0]), np.cos(q[0]), 0] for q in found.q])

    def exact(self, times: Array) -> Array:
        """Return that of the linear equation of an inextensible beam, by Galerkin's method."""
        x, weights = (1 + leggauss(30)[0]) / 2, leggauss(30)[1] / 2
        basis = [Polynomial([0, 0, 1]) * Polynomial([-1, 2]) ** k for k in range(4)]
        w, slope, bend = (np.array([b.deriv(k)(x) if k else b(x) for b in basis]) for k in range(3))
        M, K = (w * weights) @ w.T, self.BENDING / (self.LINE * self.LENGTH**4) * (bend * weights) @ bend.T
        stiffening, pull = (slope * weights * (1 - x**2) / 2) @ slope.T - M, w @ (weights * x) * self.LENGTH

        K, stiffening, pull = (np.linalg.solve(M, part) for part in (K, stiffening, pull))

        def motion(t: float, y: Array) -> Array:
            _, spin, rate = self.turned(t)
            return np.concatenate([y[4:], -(K + spin**2 * stiffening) @ y[:4] - rate * pull])

        found = solve_ivp(motion, times[[0, -1]], np.zeros(8), t_eval=times, rtol=1e-6, atol=1e-8, method="DOP853").y
        return np.asarray([b(1.0) for b in basis] @ found[:4])

    def test_the_lag_stays_bounded_and_goes(self) -> None:
        times = np.linspace(0, 20, 201)
        found, exact = self.lag(self.beam(), times), self.exact(times)
        # deflections of 6 % of the length: their square is left out by the linear equation
        np.testing.assert_allclose(found, exact, atol=4e-3 * np.abs(exact).max())
        assert found.min() == pytest.approx(-0.57, abs=0.02)  # as published, in the first half of the spin-up
        assert 5.0 < times[found.argmin()] < 9.0
        assert np.abs(found[times > 15.5]).max() < 0.03

    def test_without_second_order_it_grows(self) -> None:
        """The negative control, and what the paper found others' programs to do."""
        modes = self.beam().in_natural_modes()
        assert modes.frequencies is not None
        own = np.flatnonzero(np.abs(modes.participation[:, 1]) > 1e-9)
        plain = tt.FlexibleBody(
            "arm",
            modes.mass,
            modes.com,
            modes.inertia,
            modes.frequencies[own],
            modes.participation[own],
            modes.port_poses,
            {"C": modes.shapes["C"][:, own]},
        )
        times = np.linspace(0, 12, 25)
        assert np.abs(self.lag(plain, times)).max() > 2.0


def test_bodies_of_first_order_keep_their_law() -> None:
    """Which law a body follows is its own matter: the same modes with and without second order stand beside each other."""
    with_second, modes = unit_beam("with"), unit_beam("without").in_natural_modes()
    modes.second_order = None
    assert law_tables.compiled_law(with_second) is stiffening_stages.LAW
    assert law_tables.compiled_law(modes) is modal.LAW
