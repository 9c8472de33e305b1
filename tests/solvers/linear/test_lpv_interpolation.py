"""Interpolation between points of families: weights, attitudes in any order, arrays of their own."""

from __future__ import annotations

import dataclasses
from itertools import product

import numpy as np
import pytest
from scipy.interpolate import LinearNDInterpolator, RegularGridInterpolator
from scipy.spatial.transform import Rotation

import titop as tt
from tests.systems import Array
from titop.solvers.linear.lpv_interpolation import GridInterpolation, ListInterpolation

RNG_SEED = 4
STIFFNESS = 50.0
#: Turns (rad) of the points, 0.48 apart.
TURNS = np.linspace(-2.9, 2.9, 13)
#: Between quaternions an angle w apart, half of that here, attitudes are wrong by w^3 / 31 at most: 5e-4.
ERROR = 1e-3


class TestWeights:
    def test_on_grids_are_those_of_scipy(self) -> None:
        rng = np.random.default_rng(RNG_SEED)
        axes = [np.cumsum(rng.uniform(0.1, 1.0, 4)), -np.cumsum(rng.uniform(0.1, 1.0, 3)), np.cumsum(rng.uniform(0.1, 1.0, 2))]
        table = rng.normal(size=(4, 3, 2, 5))
        between, known = GridInterpolation(axes), RegularGridInterpolator(axes, table)
        for _ in range(30):
            place = np.array([rng.uniform(min(axis), max(axis)) for axis in axes])
            around = between(place)
            assert around is not None
            assert around.value(table.reshape(-1, 5)) == pytest.approx(known(place[None])[0], abs=1e-13)
        assert between(np.array([axes[0][0] - 1e-6, axes[1][0], axes[2][0]])) is None
        assert between(np.array([np.nan, axes[1][0], axes[2][0]])) is None

    def test_in_lists(self) -> None:
        """Points in a plane in space, in units that differ much, one of them unknown: as far as scipy's, exact for a plane."""
        rng = np.random.default_rng(RNG_SEED)
        plane = rng.normal(size=(20, 2))
        points = np.column_stack([plane[:, 0], 1e6 * plane[:, 1], plane.sum(axis=1)])
        between, known = ListInterpolation(points, np.arange(1, 20)), LinearNDInterpolator(plane[1:], plane[1:], rescale=True)
        within = 0
        for place in rng.normal(size=(60, 2)):
            around, expected = between(np.array([place[0], 1e6 * place[1], place.sum()])), known(place)[0]
            assert (around is None) == np.isnan(expected).all()
            if around is not None:
                within += 1
                assert 0 not in around.points
                assert around.value(plane) == pytest.approx(place, abs=1e-9)
        assert within > 20
        assert between(np.array([plane[1, 0], 1e6 * plane[1, 1], plane[1].sum() + 1e-3])) is None

    def test_of_points_beside_which_there_is_no_equilibrium(self) -> None:
        """The point itself is known."""
        between, table = GridInterpolation([np.arange(3.0)]), np.array([1.0, 2.0, np.nan])
        values = [around.value(table) for x in (1.0, 1.5) if (around := between(np.array([x]))) is not None]
        assert values[0] == 2.0
        assert np.isnan(values[1])


def ball() -> tt.Model:
    """A body on a ball joint with a spring: a torque turns it about itself, by its size over the stiffness."""
    s, body = tt.System("ball", gravity=[0, 0, 0]), tt.RigidBody("body", 5.0, inertia=[0.5, 0.5, 0.5])
    s.connect("world", body, tt.Spherical("ball", stiffness=STIFFNESS))
    s.add_load(tt.Load("push", body, force=[0, 0, 0], torque=[0, 0, 0]))
    return s.resolve()


def family(turns: Array, grid: bool, names: tuple[str, ...] = ("z",)) -> tt.LPVModel:
    """Return the family over turns (n, names), each quaternion of a sign of its own."""
    columns = [np.unique(column) if grid else column for column in turns.T]
    parameters = {f"push.torque.{name}": STIFFNESS * column for name, column in zip(names, columns, strict=True)}
    found = tt.lpv(ball(), parameters, grid=grid, inputs=["ball"])
    signs = np.random.default_rng(RNG_SEED).choice([-1.0, 1.0], size=found.shape)
    return dataclasses.replace(found, q=found.q * signs[..., None])


def error(found: tt.LPVModel, turn: Array, names: tuple[str, ...] = ("z",)) -> float:
    """Return by what angle (rad) the interpolated attitude is wrong."""
    q = found.trim_at({f"push.torque.{name}": STIFFNESS * x for name, x in zip(names, turn, strict=True)})["q"]
    assert np.linalg.norm(q) == pytest.approx(1.0, abs=1e-14)  # four squares, a root and a quotient, here and there
    vector = dict(zip(names, turn, strict=True))
    exact = Rotation.from_rotvec([vector.get(name, 0.0) for name in "xyz"])
    return float((exact.inv() * Rotation.from_quat(q)).magnitude())


class TestAttitudes:
    @pytest.mark.parametrize("grid", [True, False])
    def test_along_a_line(self, grid: bool) -> None:
        """In a grid, and in a list in any order: turns of nearly half a turn to either side."""
        order = np.arange(13) if grid else np.random.default_rng(1).permutation(13)
        found = family(TURNS[order, None], grid)
        assert max(error(found, np.array([x])) for x in np.linspace(-2.8, 2.8, 49)) < ERROR

    @pytest.mark.parametrize("grid", [True, False])
    def test_of_two_parameters(self, grid: bool) -> None:
        """Turns about x and z at once, mixed up: over grids, and over lists in triangles."""
        turns = np.array(list(product(np.linspace(-1.2, 1.2, 7), TURNS[2:-2])))
        if not grid:
            turns = np.random.default_rng(1).permutation(turns)
        found = family(turns, grid, ("x", "z"))
        places = np.random.default_rng(2).uniform([-1.2, -1.9], [1.2, 1.9], size=(60, 2))
        # quaternions bend between points 0.48 and 0.4 apart: half of 0.12^2 along each
        assert max(error(found, place, ("x", "z")) for place in places) < 2e-2


@pytest.mark.parametrize("grid", [True, False])
def test_trims_are_arrays_of_their_own(grid: bool) -> None:
    """Of families of one point, that give out what they hold: it may be written into."""
    found = family(np.array([[1.0]]), grid)
    first = found.trim_at(push_torque_z=STIFFNESS)
    kept = {name: array.copy() for name, array in first.items()}
    for array in first.values():
        array += 1.0
    again = found.trim_at(push_torque_z=STIFFNESS)
    for name, array in kept.items():
        assert again[name].tolist() == array.tolist()
