"""Ranges in which a mass matrix is singular, or not definite, are refused, with the values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.solvers.lft.satellites import INPUTS, OUTPUTS, satellite, still, tied
from titop.solvers.lft import refusals
from titop.solvers.lft.fractions import singular_at


class Odd(tt.Block):
    """A body whose inertia goes with the square of a number, less another."""

    def __init__(self, name: str, root: float, less: float = 0.0) -> None:
        super().__init__(name)
        self.root, self.less = root, less

    def parameters(self) -> dict[str, tuple[float, str]]:
        return {"root": (self.root, "1"), "less": (self.less, "1")}

    def mass_matrix(self, q: np.ndarray) -> Any:
        return (self.root**2 - self.less) * np.eye(6)


def on_a_hinge(block: tt.Block) -> tt.Model:
    s = tt.System("odd", gravity=[0, 0, 0])
    s.connect("world", block, joint=tt.Revolute("hinge", axis=[0, 1, 0], stiffness=1.0))
    return s.resolve()


def of(m: tt.Model, parameters: Any) -> tt.LFTModel:
    return tt.lft(m, m.neutral(), parameters, ["hinge"], ["hinge.q"])


def test_singular_inside_the_box() -> None:
    """At zero, where neither end is singular nor any block refuses its values; not in a range beside it."""
    m = on_a_hinge(Odd("odd", 1.0))
    with pytest.raises(tt.ModelError, match=r"odd\.root = -?[0-9.e-]+; expected a mass matrix.*indefinite-mass") as refused:
        of(m, {"odd.root": (-1.0, 1.5)})
    assert float(str(refused.value).split("odd.root = ")[1].split(";")[0]) == pytest.approx(0.0, abs=1e-6)
    assert of(m, {"odd.root": (0.1, 1.5)}).check(3) < 1e-9


def test_indefinite_inside_the_box() -> None:
    """Both ends are definite, what lies between is not: found at random values of the block's own parameters."""
    m = on_a_hinge(Odd("odd", 1.0, 0.25))
    with pytest.raises(tt.ModelError, match=r"odd\.root = .*indefinite-inertia.*bad-range"):
        of(m, {"odd.root": (-1.0, 1.5)})
    assert of(m, {"odd.root": (0.6, 1.5)}).check(3) < 1e-9


def test_nothing_that_moves() -> None:
    """A point mass that vanishes at the end of its range; the message names it."""
    s = tt.System("swing", gravity=[0, 0, -9.81])
    s.connect("world", tt.RigidBody("bob", mass=2.0, com=[0, 0, -1]), joint=tt.Revolute("hinge", axis=[0, 1, 0]))
    m = s.resolve()
    with pytest.raises(tt.ModelError, match=r"bob\.mass = 0.*indefinite-mass"):
        of(m, {"bob.mass": (0.0, 4.0)})
    assert of(m, {"bob.mass": (0.01, 4.0)}).check(3) < 1e-9


def test_corners_of_a_panel_say_all_of_it() -> None:
    """What is claimed of flexible bodies: definite at all corners of mass and centre, they are so at random values within."""
    rng, counted = np.random.default_rng(0), 0
    for _ in range(300):
        lower, upper = np.sort(rng.uniform([[1.0, -3.0], [1.0, -3.0]], [[30.0, 3.0], [30.0, 3.0]]), axis=0)
        corners = [(mass, x) for mass in (lower[0], upper[0]) for x in (lower[1], upper[1])]
        if all(_lowest(*corner) > 0 for corner in corners):
            counted += 1
            assert min(_lowest(*rng.uniform(lower, upper)) for _ in range(20)) > 0
    assert 10 < counted < 250  # both happen


def _lowest(mass: float, x: float) -> float:
    body = tt.FlexibleBody(
        "panel",
        mass=mass,
        com=[x, 0.0, 0.0],
        inertia=[9.0, 10.0, 12.0],
        frequencies=[2.0],
        participation=[[0.0, 0.0, 2.0, 0.0, 1.5, 0.0]],
        damping_ratios=0.0,
    )
    return float(np.linalg.eigvalsh(body.mass_matrix(np.zeros(1)))[0])


def test_singular_at_known_numbers() -> None:
    """A loop with eigenvalues 2, -4 and a pair that is not real."""
    loop = np.diag([2.0, -4.0, 0.0, 0.0])
    loop[2:, 2:] = [[5.0, 6.0], [-6.0, 5.0]]
    assert singular_at(loop) == pytest.approx((-0.25, 0.5))
    assert singular_at(np.zeros((2, 2))) == (-np.inf, np.inf)


@pytest.mark.parametrize(("count", "looked_at"), [(1, 1), (3, 4 + 16), (5, 16 + 16)])
def test_few_directions_are_looked_at(monkeypatch: pytest.MonkeyPatch, count: int, looked_at: int) -> None:
    """One of each pair of opposite corners, sixteen at most, and sixteen directions inside: an eigenvalue problem each."""
    loops = []

    def counting(loop: np.ndarray) -> tuple[float, float]:
        loops.append(loop)
        return singular_at(loop)

    monkeypatch.setattr(refusals, "singular_at", counting)
    m = satellite()
    parameters = {
        "hub.mass": (150.0, 230.0),
        tied("panel_*.mode1.frequency"): tt.percent(-10, 30),
        tied("sada_*.stiffness"): tt.percent(30),
        tied("sada_*.q"): (-1.0, 1.5),
        "panel_left.mass": tt.percent(10),
    }
    tt.lft(m, still(m), dict([*parameters.items()][:count]), INPUTS, OUTPUTS)
    assert len(loops) == looked_at
