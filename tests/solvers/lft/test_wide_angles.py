"""Wide angles in arcs: full turns, tied panels, each beside `linearize` of the moved point."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.solvers.lft.satellites import INPUTS, OUTPUTS, arm, bent, satellite, still, tied
from titop.solvers.lft.members import frequencies_around, largest_difference
from titop.solvers.linear.matrices import Matrices

#: Beside the response's norm: see `test_lft`.
EXACT = 1e-9

TURN = (-np.pi, np.pi)


def of_angle(parts: tuple[tt.LFTModel, ...], name: str, angle: float) -> tt.LFTModel:
    """Return the model whose arc an angle is in."""
    blocks = [next(block for block in part.blocks if block.name == name) for part in parts]
    return next(part for part, block in zip(parts, blocks, strict=True) if block.lower <= angle <= block.upper)


def difference(found: tt.LFTModel, values: dict[str, float], right: Any) -> float:
    points = 1j * frequencies_around(right)
    both = (Matrices.of(system).responses(points) for system in (found.at(values), right))
    return largest_difference(*both)


@pytest.mark.parametrize("options", [{}, {"arcs": {"sada_left.q": 3}}, {"quarters": ["sada_right.q"]}])
def test_tied_panels_over_a_full_turn(options: dict[str, Any]) -> None:
    """At random angles and masses, in two arcs, in three, and in one by the tangent of a quarter."""
    m = satellite(modes=2)
    names = tied("sada_*.q")
    parts = tt.lft_arcs(m, still(m), {"hub.mass": tt.percent(10), names: TURN}, INPUTS, OUTPUTS, **options)
    assert len(parts) == {"arcs": 3, "quarters": 1}.get(next(iter(options), ""), 2)
    assert {part.blocks[1].repetitions for part in parts} == {16 if "quarters" in options else 8}
    rng = np.random.default_rng(0)
    entries = [m.coordinate_names.index(name.removesuffix(".q")) for name in names]
    for angle, mass in zip(rng.uniform(*TURN, 12), rng.uniform(180, 220, 12), strict=True):
        q, v, _ = still(m)
        changed = m.with_parameters({"hub.mass": mass})
        q[[entry + len(q) - m.nv for entry in entries]] = angle
        right = tt.linearize(changed, (q, v, changed.inverse_dynamics(q, v, v)), INPUTS, OUTPUTS)
        model = of_angle(parts, names[0], angle)
        assert difference(model, {"hub.mass": mass, names[0]: angle}, right) < EXACT
        assert difference(model, {"hub.mass": mass, names[0]: 0.9 * angle}, right) > 1e-6


def test_an_arm_under_gravity() -> None:
    """Each arc about a point in it, held there by efforts of its own, between other uncertain numbers."""
    m = arm()
    parameters = {"j1.q": (-4.0, 4.0), "b2.mass": tt.percent(20)}
    parts = tt.lft_arcs(m, bent(m), parameters, ["mot", "f"], ["j1.q", "b3.E.dv"])
    assert [part.blocks[0].lower for part in parts] == [-4.0, 0.0]
    assert [part.blocks[0].nominal for part in parts] == [-2.0, 0.4]  # the middle, and the point's own
    for angle in np.random.default_rng(1).uniform(-4.0, 4.0, 8):
        q, v, _ = bent(m)
        q[0] = angle
        right = tt.linearize(m, (q, v, m.inverse_dynamics(q, v, v)), ["mot", "f"], ["j1.q", "b3.E.dv"])
        assert difference(of_angle(parts, "j1.q", angle), {"j1.q": angle}, right) < EXACT


def test_arcs_of_two_angles() -> None:
    """All combinations, the last varying fastest; one angle alone is left as it is."""
    m = arm()
    parameters = {"j1.q": (-4.0, 4.0), "j2.q": (-3.5, 3.3), "j3.q": (0.1, 0.2)}
    parts = tt.lft_arcs(m, bent(m), parameters, ["mot"], ["j1.q"], arcs={"j1.q": 4, "j2.q": 3})
    assert len(parts) == 12
    lows = [tuple(round(block.lower, 9) for block in part.blocks[:2]) for part in parts[:4]]
    assert lows == [(-4.0, -3.5), (-4.0, round(-3.5 + 6.8 / 3, 9)), (-4.0, round(-3.5 + 13.6 / 3, 9)), (-2.0, -3.5)]
    assert max(part.check(1, corners=False) for part in parts) < EXACT


def test_what_is_not_wide_is_one_model() -> None:
    m = arm()
    (only,) = tt.lft_arcs(m, bent(m), {"j1.q": (-1.0, 1.0)}, ["mot"], ["j1.q"])
    assert only.blocks[0].nominal == 0.4


def test_an_equilibrium_in_each_arc() -> None:
    """The spring of the second link sags as the first turns."""
    s = tt.System("sprung", gravity=[0, 0, -9.81])
    first = tt.RigidBody("a", 1.0, com=[0.2, 0, 0], inertia=[0.1, 0.1, 0.1], ports={"t": [0.5, 0, 0]})
    s.connect("world", first, joint=tt.Revolute("j1", axis=[0, 1, 0], stiffness=60.0, damping=1.0))
    second = tt.RigidBody("b", 1.0, com=[0.2, 0, 0], inertia=[0.1, 0.1, 0.1])
    s.connect(first.port("t"), second, joint=tt.Revolute("j2", axis=[0, 1, 0], stiffness=20.0, damping=0.5))
    m = s.resolve()

    def trimmed(m: tt.Model, values: dict[str, float]) -> tt.OperatingPoint:
        return tt.trim(m, ["j1.tau", "j2"], q={"j1": values["j1.q"]})

    parts = tt.lft_arcs(
        m, trimmed(m, {"j1.q": 0.3}), {"j1.q": TURN}, ["j1"], ["j1.q"], {"j1.q": 4}, equilibrium=trimmed, tolerance=1e-3
    )
    for part in parts:
        assert [own.name for own in part.moving] == ["j2.q"]
        assert part.check(3) < 1e-3


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"arcs": {"j1.p": 2}}, "unknown-angle"),
        ({"arcs": {"j3.q": 2}}, "unknown-angle"),
        ({"arcs": {"j1.q": 0}}, "bad-count"),
        ({"arcs": {"j1.q": 2.0}}, "bad-count"),
        ({"arcs": {"j1.q": 1}}, r"tt\.lft_arcs.*wide-angle"),
    ],
)
def test_refused(changes: dict[str, Any], message: str) -> None:
    m = arm()
    with pytest.raises(tt.ModelError, match=message):
        tt.lft_arcs(m, bent(m), {"j1.q": (-4.0, 4.0), "j3.q": (0.1, 0.2)}, ["mot"], ["j1.q"], **changes)
