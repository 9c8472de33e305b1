"""Next to dead centres of what is prescribed or actuated: the right answer, or a refusal by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import titop as tt
from tests.planar_oracle import DIGITS, Planar, State, expansion, four_bar, hybrid, needed, slider_crank, slope
from tests.systems import Array

#: Angles (rad) off the dead centre.
ANGLES = (1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 1e-3, 0.1, 1.0)
RATE, SECOND = 1.0, 0.5
#: Each mechanism with the coordinate that turns back where the crank stands at zero.
MECHANISMS = {
    "slider": (slider_crank, 2),
    "turned": (partial(slider_crank, 0.5), 2),
    "geared": (partial(slider_crank, 0.2, True), 2),
    "four bar": (four_bar, 2),
}


def allowed(angle: float) -> float:
    """Return which part of the terms rounding leaves: the coordinate moves by as much as the angle a unit of the others."""
    return 1e-13 / angle + 1e-12


def answer(function: Callable[[], Any]) -> Any:
    """Return what a function returns, None where it refuses by name."""
    try:
        return function()
    except tt.ModelError as error:
        if "dead centre" not in str(error) or error.code != "singular-closure":
            raise
        return None


def changes(planar: Planar, angle: float, driven: int, torque: float) -> tuple[State, float, float]:
    """Return how a state changes along the motion (a unit of theta), the effort on the driven coordinate, and its change."""
    with mp.workdps(DIGITS):
        first, second, third = (np.array([float(x) for x in row]) for row in expansion(planar, mp.mpf(angle), 3)[1:])

        def effort(x: Any) -> list[Any]:
            rate = slope(planar.coordinates, x)[driven]
            return [(needed(planar, x, mp.mpf(RATE), mp.mpf(SECOND)) - mp.mpf(torque)) / rate]

        values = float(effort(mp.mpf(angle))[0]), float(slope(effort, mp.mpf(angle))[0])
    return State(first, RATE * second, SECOND * second + RATE**2 * third, np.zeros(len(first))), *values


def along(parts: tuple[Array, Array, Array], change: State) -> tuple[Array, float]:
    """Return a change from derivatives by q, v and a, and the size of its terms."""
    terms = [matrix @ moved for matrix, moved in zip(parts, change[:3], strict=True)]
    size = sum(np.abs(matrix) @ np.abs(moved) for matrix, moved in zip(parts, change[:3], strict=True))
    return sum(terms), float(np.max(size))


@pytest.mark.parametrize("engine", ["compiled", pytest.param("reference", marks=pytest.mark.long)])
@pytest.mark.parametrize("name", MECHANISMS)
def test_next_to_a_dead_centre_answers_are_right_or_refused(name: str, engine: str) -> None:
    """Hybrid and inverse dynamics, stacked too, and their derivatives along the motion, by virtual work in 60 digits."""
    make, driven = MECHANISMS[name]
    planar = make()
    m = planar.system.resolve(engine)
    joint, answered = m.coordinate_names[driven], dict[str, list[float]]()
    for angle in ANGLES:
        torques = [0.3, *[0.0] * (m.nv - 1)]
        state, effort = hybrid(planar, angle, RATE, SECOND, torques, driven)
        change, needed_alone, changed_alone = changes(planar, angle, driven, 0.0)
        q, v, a, tau = state
        loads = np.where(np.arange(m.nv) == driven, 0.0, tau)
        found = {
            "hybrid": answer(partial(m.hybrid_dynamics, q, v, loads, a, [joint])),
            "stacked": answer(partial(m.hybrid_dynamics, *(np.array([x, x]) for x in (q, v, loads, a)), [joint])),
            "inverse": answer(partial(m.inverse_dynamics, q, v, a, actuated=[joint])),
            "inverse by": answer(partial(m.inverse_dynamics_derivatives, q, v, a, actuated=[joint])),
            "hybrid by": answer(partial(m.hybrid_dynamics_derivatives, q, v, loads, a, [joint])),
        }
        for what, value in found.items():
            if value is not None:
                answered.setdefault(what, []).append(angle)
        for what in ("hybrid", "stacked"):
            if found[what] is not None:
                moved, efforts = (np.atleast_2d(part)[-1] for part in found[what])
                assert np.abs(moved - a).max() < allowed(angle) * (1.0 + np.abs(a).max()), (what, angle)
                assert efforts[driven] == pytest.approx(float(effort), rel=allowed(angle)), (what, angle)
        if found["inverse"] is not None:
            assert found["inverse"][driven] == pytest.approx(needed_alone, rel=allowed(angle)), angle
        if found["inverse by"] is not None:
            changed, size = along(found["inverse by"], change)
            assert abs(changed[driven] - changed_alone) < allowed(angle) * size, angle
        if found["hybrid by"] is not None:
            by = found["hybrid by"]
            moved, size = along((by.da_dq, by.da_dv, by.da_da), change)
            assert np.abs(moved - change.a).max() < allowed(angle) * size, angle
            changed, size = along((by.dtau_dq, by.dtau_dv, by.dtau_da), change)
            changed_loaded = changes(planar, angle, driven, 0.3)[2]
            assert abs(changed[driven] - changed_loaded) < allowed(angle) * size, angle
    for what, least in {"hybrid": 1e-8, "stacked": 1e-8, "inverse": 1e-8, "inverse by": 1e-8, "hybrid by": 1e-8}.items():
        assert set(answered[what]) >= {angle for angle in ANGLES if angle >= least}, what
        assert min(answered[what]) > 1e-11, what
