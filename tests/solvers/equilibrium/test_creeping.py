"""Systems that creep to rest from guesses with no equilibrium near them."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.closed_systems import slider_crank
from titop.blocks.basics.errors import Finding
from titop.solvers.equilibrium import creeping
from titop.solvers.equilibrium import trim as trimming
from titop.solvers.equilibrium.creeping import crept
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.equilibrium.unknowns import Unknowns


def chain(count: int, joint: type) -> tt.Model:
    """Return a chain of bars from the world, along x at neutral, whose revolute joints turn about changing axes."""
    s, carrier = tt.System("chain", gravity=[0, 0, -9.81]), "world"
    for k in range(count):
        bar = tt.RigidBody(f"bar{k}", mass=1.0 + k % 3, com=[0.2, 0.01 * k, 0], inertia=[0.1] * 3, ports={"end": [0.4, 0, 0]})
        turning = {} if joint is tt.Spherical else {"axis": [[0, 1, 0], [1, 1, 0], [0, 1, 1]][k % 3]}
        s.connect(carrier, bar, joint=joint(f"joint{k}", **turning))
        carrier = bar.port("end")
    return s.resolve()


def accelerations(point: OperatingPoint) -> float:
    """Return the largest acceleration left at rest (rad/s^2)."""
    m = point.model
    return float(np.abs(m.forward_dynamics(point.q, np.zeros(m.nv), np.zeros(m.nv))).max())


@pytest.mark.parametrize(("count", "joint"), [(3, tt.Revolute), (12, tt.Revolute), (12, tt.Spherical)])
def test_chains_come_to_rest_from_any_guess(count: int, joint: type) -> None:
    """Accelerations left are rounding beside the 10 to 100 rad/s^2 of a chain that falls: 1e-6 is a part of 1e-7 of these."""
    m, rng = chain(count, joint), np.random.default_rng(1)
    for _ in range(6):
        assert accelerations(tt.trim(m, q=m.random_configuration(rng))) < 1e-6


def parallel_chain() -> tt.Model:
    """Return three bars about parallel axes, horizontal at neutral."""
    s, carrier = tt.System("chain", gravity=[0, 0, -9.81]), "world"
    for k in range(3):
        bar = tt.RigidBody(f"bar{k}", mass=1.0, com=[0.2, 0, 0], inertia=[0.1] * 3, ports={"end": [0.4, 0, 0]})
        s.connect(carrier, bar, joint=tt.Revolute(f"joint{k}", axis=[0, 1, 0]))
        carrier = bar.port("end")
    return s.resolve()


def test_a_horizontal_chain_hangs() -> None:
    """On a vertical below the first joint, to what Newton's method leaves."""
    m = parallel_chain()
    point = tt.trim(m)
    assert accelerations(point) < 1e-6
    np.testing.assert_allclose(m.pose("bar2.end", point.q)[1][:2], 0.0, atol=1e-8)


def test_what_has_no_matrix_of_closures_does_not_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    m = slider_crank().resolve()
    guess = Unknowns(OperatingPoint(m, m.assemble([0.7, -1.0, 0.3])))
    assert np.isfinite(creeping._growth(guess))
    monkeypatch.setattr(creeping, "efforts_of_motions", lambda point, motions: np.zeros_like(motions))
    assert creeping._growth(guess) == 0.0


def test_singular_configurations_on_the_way_are_no_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is told is what the search itself has found."""

    def meet(searched: Unknowns, _: int) -> OperatingPoint:
        raise tt.ModelError(Finding("singular-closure", "loop", "1 independent constraint", "2", "move away"))

    monkeypatch.setattr(trimming, "crept", meet)
    with pytest.raises(tt.ConvergenceError, match="no equilibrium near the guess"):
        tt.trim(parallel_chain())
    with pytest.raises(tt.ConvergenceError, match="no stable equilibrium is found"):
        tt.trim(parallel_chain(), q=[-np.pi / 2, 0.0, 0.0], prefer="stable")


def test_without_creeping_it_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: Newton's method and scipy's trust region both end where accelerations are least, not zero."""
    monkeypatch.setattr(trimming, "crept", lambda searched, _: searched.guess)
    with pytest.raises(tt.ConvergenceError, match="no equilibrium near the guess"):
        tt.trim(parallel_chain())


def test_what_nowhere_comes_to_rest_is_refused() -> None:
    """A body that falls freely: the error is that of the search from the guess."""
    s = tt.System("stone", gravity=[0, 0, -9.81])
    s.connect("world", tt.RigidBody("stone", mass=1.0), joint=tt.Prismatic("fall", axis=[0, 0, 1]))
    m = s.resolve()
    with pytest.raises(tt.ConvergenceError, match="fall"):
        tt.trim(m)
    assert np.isfinite(crept(Unknowns(OperatingPoint(m, m.neutral())), 20).q).all()
