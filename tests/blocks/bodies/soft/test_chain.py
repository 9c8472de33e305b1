"""Derivatives link by link against those of the same kinematics in one piece."""

from __future__ import annotations

from typing import Any

import casadi
import numpy as np
import pytest
from numpy.typing import NDArray

import titop as tt
from titop.blocks.bodies.soft.chain import Chain, ChainLink, digest, symmetric, work
from titop.blocks.bodies.soft.functions import with_slope
from titop.blocks.bodies.soft.law_programs import LawPrograms
from titop.blocks.bodies.soft.line_programs import LinePrograms
from titop.blocks.bodies.soft.soft_ports import SoftPort
from titop.blocks.programs.differentiation import jacobian
from titop.blocks.programs.graph import Graph
from titop.blocks.programs.program import CONSTANT, INPUT, LOADS, OWN, SHARED, Program

Array = NDArray[np.float64]
K = tt.Kinematics
L = 0.2
SHAPES = [lambda z: 1.0, lambda z: np.exp(-8.0 * (z / L - 0.4) ** 2)]
#: Polynomials, and bells, which have to be integrated numerically.
CHAINED = K.elongation(SHAPES).then(K.planar_bending(SHAPES, "x"), K.planar_bending(lambda z: z / L), K.twist(lambda z: z))
N = len(CHAINED.coordinates)
#: A point, and three.
PORTS = [SoftPort(((0.0, 0.0, L),)), SoftPort(((0.01, 0.0, L), (0.02, 0.0, L), (0.01, 0.01, L)))]
NAMES = ("places", "thirds", "port_poses", *LawPrograms.ORDER)
#: Bells are integrated to 1e-11, and their derivatives by the abscissa no better where they go through the points.
BELLS = 1e-8


def in_one_piece(x: Any, q: Any) -> Any:
    return CHAINED(x, q)


def neo_hookean(F: Any, numbers: Any) -> Any:
    volume = np.log(tt.Material.determinant(F))
    return 100.0 * (np.sum(F * F) - 3.0 - 2.0 * volume) + 70.0 * volume**2


def programs(kinematics: Any) -> LawPrograms:
    return LawPrograms(kinematics, N, ("material.viscosity",), neo_hookean, PORTS)


@pytest.fixture(scope="module")
def both() -> tuple[LawPrograms, LawPrograms]:
    return programs(CHAINED), programs(in_one_piece)


def given(loads: int) -> tuple[Array, Array, Array]:
    """Return what all points share, the points, and loads on them."""
    rng = np.random.default_rng(0)
    q = np.array([0.1, -0.2, 2.0, -3.0, 4.0, 3.0])
    shared = np.concatenate([q, *rng.normal(size=(2, N)), rng.normal(size=12), [3.0]])
    own = np.column_stack([rng.uniform(-0.01, 0.01, (4, 2)), rng.uniform(0, L, 4), rng.uniform(1, 2, (4, 2))])
    return shared, own, rng.normal(size=(4, loads))


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_links_and_one_piece_agree(both: tuple[LawPrograms, LawPrograms], name: str) -> None:
    chained, whole = (getattr(made, name) for made in both)
    arguments = given(chained.inputs[LOADS])
    for found, expected in zip(chained.at_points(*arguments), whole.at_points(*arguments), strict=True):
        scale = np.abs(expected).max() if expected.size else 1.0
        np.testing.assert_allclose(found / scale, expected / scale, rtol=0, atol=BELLS)


def test_another_configuration_is_seen(both: tuple[LawPrograms, LawPrograms]) -> None:
    """Negative control: the comparison above sees a coordinate that is off by a millionth."""
    shared, own, loads = given(3)
    expected = both[1].bends.at_points(shared, own, loads)[1]
    shared[2] += 1e-6
    assert np.abs(both[0].bends.at_points(shared, own, loads)[1] - expected).max() > BELLS * np.abs(expected).max()


@pytest.mark.parametrize("volume", [False, True])
@pytest.mark.parametrize("name", LinePrograms.ORDER)
def test_lines_and_cavities_too(name: str, volume: bool) -> None:
    """Bulges before the others: so volumes change."""
    bent = K.bulges(L, 0.01).then(K.elongation(SHAPES), K.planar_bending(SHAPES, "x"))
    chained, whole = (getattr(LinePrograms(f, N, (), volume), name) for f in (bent, lambda x, q: bent(x, q)))
    rng = np.random.default_rng(1)
    shared = np.array([0.002, 0.001, 0.1, -0.2, 2.0, -3.0])
    places = given(0)[1][:, :3]
    own = np.column_stack([places, rng.normal(size=(4, 6 if volume else 3)), *([places[::-1]] if volume else []), np.ones(4)])
    found, expected = (program.at_points(shared, own)[0] for program in (chained, whole))
    np.testing.assert_allclose(found, expected, rtol=0, atol=BELLS * np.abs(expected).max())


@pytest.mark.long
@pytest.mark.parametrize(("name", "part"), [("bends", 0.4), ("resistance_slopes", 0.4), ("port_slopes", 0.7)])
def test_links_are_shorter(both: tuple[LawPrograms, LawPrograms], name: str, part: float) -> None:
    """What they are for: parts of the operations that one piece takes, here some more than were measured."""
    chained, whole = (len(getattr(made, name).values) for made in both)
    assert chained < part * whole


def test_derivatives_are_those_that_were_said() -> None:
    """A value that says nothing of its slope is differentiated by that: to fourth order, here that of a sine."""
    graph = Graph()
    q = graph.input("q", 1)
    link = ChainLink.of(
        graph, lambda state, own: np.array([with_slope(lambda z: 5.0 + 0.0 * z, np.cos, state[0]) + 0.0 * own[0]]), 1, 0, q
    )
    found = [link.at(link.state, q)[0], link.at(link.slopes, q)[0, 0]]
    for order in (2, 3, 4):
        slopes = link.state[0]
        for _ in range(order):
            slopes = jacobian(slopes, link.last)[0]
        found.append(link.at(np.array([slopes]), q)[0])
    x = 0.7
    values = graph.program({"q": 1}, {"y": found}).evaluate({"q": np.array([x])})["y"]
    np.testing.assert_allclose(values, [5.0, np.cos(x), -np.sin(x), -np.cos(x), np.sin(x)], rtol=1e-15)
    assert Chain([link], q, q).state[0] == 5.0


def by_casadi(program: Program, shared: Any, own: Any) -> Any:
    """Return what a program gives at each point as CasADi's expressions."""
    known: list[Any] = []
    given = {SHARED: shared, OWN: own}
    names = {"add": "plus", "subtract": "minus", "multiply": "times", "divide": "rdivide", "less": "lt"}
    for operation, arguments in program.values:
        if operation == CONSTANT:
            known.append(casadi.SX(arguments[0]))
        elif operation == INPUT:
            known.append(given[arguments[0]][arguments[1]])
        elif operation == "negate":
            known.append(-known[arguments[0]])
        else:
            known.append(getattr(casadi, names.get(operation, operation))(*(known[k] for k in arguments)))
    return casadi.vertcat(*(known[k] for k in program.outputs["each"].values))


def test_casadi_derives_the_same() -> None:
    """Another library's derivatives of the same places, on polynomials: there integrals are exact."""
    linear = [lambda z: 1.0, lambda z: z / L]
    made = LawPrograms(K.elongation(linear).then(K.planar_bending(linear, "x"), K.twist(lambda z: z), K.shear(linear)), 7, ())
    rng = np.random.default_rng(2)
    numbers = np.concatenate([[0.1, -0.2, 2.0, -3.0, 3.0, 0.01, 0.02], *rng.normal(size=(2, 7)), np.zeros(12)])
    shared, own, load = casadi.SX.sym("s", len(numbers)), casadi.SX.sym("x", 5), rng.normal(size=3)
    q, v, a = (shared[7 * k : 7 * k + 7] for k in range(3))
    place = by_casadi(made.places, shared, own)[:3]
    rate = casadi.jtimes(place, q, v)
    acceleration = casadi.jtimes(place, q, a) + casadi.jtimes(rate, q, v)
    expected = [place, rate, acceleration, *(casadi.vec(casadi.jacobian(x, q).T) for x in (place, rate, acceleration))]
    of_load = casadi.hessian(casadi.dot(place, load), q)[0]
    point = np.concatenate([given(0)[1][0, :3], [1.0, 1.0]])
    evaluate = casadi.Function("f", [shared, own], [casadi.vertcat(*expected), casadi.vec(of_load)])
    totals, each = made.bends.at_points(numbers, point[None], load[None])
    for found, derived in zip((each[0], totals), evaluate(numbers, point), strict=True):
        # products of some ten sines, cosines and powers, whose sums cancel by a digit or two
        np.testing.assert_allclose(found, derived.full()[:, 0], rtol=0, atol=1e-13 * np.abs(found).max())


def test_symmetric_matrices_are_taken_from_the_upper_half() -> None:
    np.testing.assert_array_equal(symmetric(np.array([[1.0, 2.0], [9.0, 3.0]])), [[1.0, 2.0], [2.0, 3.0]])


def test_work_counts_operations_where_they_are_done() -> None:
    """Once nothing, of a section a tenth, of a point one."""
    graph = Graph()
    once, section, point = graph.input("x", 3)
    for number, expected in ((np.sin(once) * once, 0.0), (np.sin(section) * once, 0.2), (np.sin(section) * point, 1.1)):
        assert work(graph, np.array([number]), np.array([point]), np.array([section])) == pytest.approx(expected)


def test_hashes_depend_on_what_is_computed_alone() -> None:
    """Not on the names of symbols, nor on what was recorded before."""

    def hashed(before: int, function: Any) -> str:
        graph = Graph()
        x, y = graph.fresh(2 + before)[before:]
        if before:
            x, y = y, x
        return digest(graph, function(x, y), np.array([x, y]))

    def function(x: Any, y: Any) -> Any:
        return np.array([x * y - np.sin(y), 2.0 * x + y])

    assert hashed(0, function) == hashed(3, function)
    assert hashed(0, function) != hashed(0, lambda x, y: function(y, x))
    assert hashed(0, function) != hashed(0, lambda x, y: function((1.0 + 1e-15) * x, y))


def test_programs_are_told_by_what_they_are_derived_from() -> None:
    def bend(curvature: float) -> tt.Kinematics:
        return K.elongation(lambda z: 1.0).then(K.planar_bending(lambda z: curvature * z))

    def identity(kinematics: Any, **other: Any) -> str:
        return LawPrograms(kinematics, 2, ("material.viscosity",), **other).identity

    first = identity(bend(1.0))
    assert identity(bend(1.0)) == first
    others = [
        identity(bend(1.0 + 1e-15)),
        identity(bend(1.0), material_energy=neo_hookean),
        identity(bend(1.0), ports=PORTS[:1]),
        identity(bend(1.0), own_energy=lambda q: q[0] ** 2),
        identity(bend(1.0), own_dissipation=lambda q, v: v[0] ** 2),
        identity(lambda x, q: bend(1.0)(x, q)),
    ]
    assert len({first, *others}) == len(others) + 1


def test_programs_are_told_by_where_viscosity_stands() -> None:
    """A parameter of which nothing makes use moves it."""

    def programs(*names: str) -> LawPrograms:
        return LawPrograms(lambda x, q: x + q[0] * x**2, 1, names, lambda F, _: np.sum(F * F))

    first, other = programs("material.viscosity"), programs("spare", "material.viscosity")
    assert first.resistance.identity != other.resistance.identity
    assert first.identity != other.identity
