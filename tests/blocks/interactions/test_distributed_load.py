"""Loads along soft rods against closed forms, the elastica's equations and the power at the sections; wrenches at ports."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.polynomial.legendre import leggauss
from scipy.integrate import solve_bvp
from scipy.spatial.transform import Rotation

import titop as tt
from tests.blocks.bodies.rods.rod_systems import SECTION, YOUNG, settled
from titop.blocks.basics.spatial import rotation_exp
from titop.blocks.basics.user_input import FieldReader
from titop.blocks.interactions.distributed_load import density_fields, density_kinks, density_values, read_density
from titop.blocks.interactions.interaction import motion_among


def rod(order: int = 3, points: int = 5, **fields: Any) -> tt.Rod:
    """Return a rod of length and stiffness 1 that bends about z alone."""
    given = {"strains": {"bending_z": order}, "points": points} | fields
    return tt.Rod("rod", 1.0, SECTION, young=YOUNG, density=1.0, **given)


def loaded(beam: tt.Rod, *loads: tt.DistributedLoad) -> tt.Model:
    s = tt.System("loaded", gravity=[0, 0, 0])
    s.connect("world", beam, tt.Weld("clamp"))
    for load in loads:
        s.add_interaction(load)
    return s.resolve()


def test_a_small_uniform_load_bends_a_cantilever() -> None:
    """``w L^4 / (8 E I)``; curvature ``w (L - X)^2 / (2 E I)``."""
    beam, w = rod(points=20), 1e-5
    m = loaded(beam, tt.DistributedLoad("wind", beam, force=[0, w, 0], frame="world"))
    q = settled(m)
    # steps from point to point are of order 4, what they average to of order 8; the square of the slope is 1e-12
    assert m.pose("rod.tip", q)[1][1] == pytest.approx(w / 8, rel=1e-9, abs=0)
    X = np.linspace(0, 1, 7)
    np.testing.assert_allclose(beam.strain(q, X)[:, 2], w * (1 - X) ** 2 / 2, rtol=0, atol=(1 / 18) ** 4 * w)


def elastica(w: float, follower: bool) -> Any:
    """Return the tip of an inextensible cantilever along x, ``E I = L = 1``, under a load w across it or along y.

    ``M' = -(t x N)``, ``N' = -w n``, n the load's direction; y = (angle, M, N_x, N_y, x, y).
    """

    def slopes(s: Any, y: Any) -> Any:
        sine, cosine = np.sin(y[0]), np.cos(y[0])
        along, across = (w * sine, -w * cosine) if follower else (0 * s, -w + 0 * s)
        return np.array([y[1], sine * y[2] - cosine * y[3], along, across, cosine, sine])

    def ends(a: Any, b: Any) -> Any:
        return np.array([a[0], b[1], b[2], b[3], a[4], a[5]])

    grid = np.linspace(0, 1, 41)
    found = solve_bvp(slopes, ends, grid, np.vstack([np.zeros((4, 41)), grid, 0 * grid]), tol=1e-10, max_nodes=100000)
    assert found.success
    return found.y[[4, 5, 0], -1]


@pytest.mark.parametrize(("frame", "w"), [("world", 6.0), ("world", 40.0), ("section", 20.0)])
def test_large_loads_bend_as_the_elastica(frame: str, w: float) -> None:
    beam = rod(order=7, points=40)
    m = loaded(beam, tt.DistributedLoad("load", beam, force=[0, w, 0], frame=frame))
    R, r = m.pose("rod.tip", tt.trim(m).q)
    found = np.array([*r[:2], Rotation.from_matrix(R).as_rotvec()[2]])
    expected = elastica(w, frame == "section")
    np.testing.assert_allclose(found, expected, rtol=0, atol=w * (1 / 40) ** 4)  # steps of order 4
    assert np.abs(found - elastica(w, frame == "world")).max() > 0.05  # the control: the other load


@pytest.mark.parametrize("frame", ["section", "world"])
def test_a_moment_along_the_rod_bends_it_less_and_less(frame: str) -> None:
    """``E I k = m (L - X)``, however far."""
    beam, moment = rod(order=1), 4.0
    q = settled(loaded(beam, tt.DistributedLoad("twist", beam, torque=[0, 0, moment], frame=frame)))
    X = np.linspace(0, 1, 7)
    np.testing.assert_allclose(beam.strain(q, X)[:, 2], moment * (1 - X), rtol=0, atol=1e-13)  # rounding


def ramp(X: float) -> list[float]:
    return [1.0, X, X**2]


DENSITIES: list[Any] = [[1.0, -2.0, 0.5], [[1, 0, 0], [0, 2, 1], [3, 1, -1]], ramp]


@pytest.mark.parametrize("frame", ["section", "world"])
@pytest.mark.parametrize("k", range(3))
@pytest.mark.parametrize("ends", [(0.0, None), (0.13, 0.71)])
def test_the_power_is_that_of_the_forces_at_the_sections(frame: str, k: int, ends: Any) -> None:
    """Along any motion, of the base too: the velocities of sections are differences of their poses."""
    beam = rod(strains="timoshenko", basis=1, order=1, points=20)
    force, torque = DENSITIES[k], DENSITIES[k - 1]
    load = tt.DistributedLoad("load", beam, force, torque, frame, *ends, scale=0.7, points=20)
    rng, h = np.random.default_rng(k), 1e-5
    q, v = 0.3 * rng.normal(size=(2, beam.nv))
    base, origin, twist = rotation_exp(rng.normal(size=3)), rng.normal(size=3), rng.normal(size=6)
    motion = motion_among([(np.eye(3), np.zeros(3)), (base, origin)], [np.zeros(6), twist], q, v, np.zeros(0))
    wrenches, efforts = load.act(motion)
    assert not wrenches[0].any()
    first, last = load.start, load.end

    def sections(X: Any, t: float) -> Any:
        R, r = beam.section_poses(q + t * v, X)
        turned = base @ rotation_exp(t * twist[3:])
        return turned @ R, origin + t * base @ twist[:3] + r @ turned.T

    roots, weights = leggauss(40)
    power = 0.0
    for left, right in ((a + 0.0, b + 0.0) for a, b in zip(kinks_of(load)[:-1], kinks_of(load)[1:], strict=True)):
        X = (left + right) / 2 + (right - left) / 2 * roots
        across = (X - first) / (last - first)
        f, t = (density_values("", density, across, X) for density in (load.force, load.torque))
        (R, _), (ahead, r_ahead), (behind, r_behind) = (sections(X, t) for t in (0.0, h, -h))
        velocity = (r_ahead - r_behind) / (2 * h)
        spin = np.array([Rotation.from_matrix(a @ b.T).as_rotvec() for a, b in zip(ahead, behind, strict=True)]) / (2 * h)
        if frame == "section":
            f, t = np.einsum("kij,kj->ki", R, f), np.einsum("kij,kj->ki", R, t)
        power += 0.7 * (right - left) / 2 * weights @ ((f * velocity).sum(1) + (t * spin).sum(1))
    # differences of 1e-5: 1e-10 of truncation and of rounding; a step to a section errs by 1e-7 of the strain's order 4
    assert wrenches[1] @ twist + efforts @ v == pytest.approx(power, rel=1e-7)


def kinks_of(load: tt.DistributedLoad) -> Any:
    """Return where the densities of a load have kinks, and its ends (m)."""
    places = {float(place) for density in (load.force, load.torque) for place in density_kinks(density)}
    return [load.start + place * (load.end - load.start) for place in sorted(places)]


def test_sections_transmit_the_loads_beyond_them() -> None:
    """A force ``-w (L - X)`` and a moment ``-w (L - X)^2 / 2`` hold what lies beyond X of a straight rod."""
    beam, X = rod(strains="timoshenko"), np.array([0.0, 0.3, 0.77])
    m = loaded(beam, tt.DistributedLoad("load", beam, force=[0, 2.0, 0]))
    found = m.section_wrenches("rod", X, *np.zeros((3, m.nv)))
    np.testing.assert_allclose(found[:, 1], -2.0 * (1 - X), rtol=1e-12)  # rounding
    np.testing.assert_allclose(found[:, 5], -2.0 * (1 - X) ** 2 / 2, rtol=1e-12)


@pytest.mark.parametrize("frame", ["world", "port"])
def test_wrenches_at_ports_are_loads_on_short_stretches(frame: str) -> None:
    """A port at any abscissa takes a load or an actuator: the limit of loads on stretches of length 2 h, which errs by h^2."""
    beam = rod(strains="timoshenko", basis=1, order=1, points=8, ports={"grip": 0.37})
    force, torque = np.array([1.0, -2.0, 3.0]), np.array([0.3, 0.1, -0.2])
    s = tt.System("held", gravity=[0, 0, 0])
    s.connect("world", beam, tt.Revolute("hinge"))
    s.add_load(tt.Load("held", beam.port("grip"), force=force, torque=torque, frame=frame))
    m = s.resolve(engine="reference")
    q = 0.3 * np.random.default_rng(1).normal(size=m.nv)
    expected, errors = m.inverse_dynamics(q, *np.zeros((2, m.nv))), []
    for h in (0.04, 0.02):
        spread = tt.System("spread", gravity=[0, 0, 0])
        spread.connect("world", beam, tt.Revolute("hinge"))
        own = {"frame": frame.replace("port", "section"), "start": 0.37 - h, "end": 0.37 + h}
        spread.add_interaction(tt.DistributedLoad("spread", beam, force / (2 * h), torque / (2 * h), **own))
        errors.append(spread.resolve(engine="reference").inverse_dynamics(q, *np.zeros((2, m.nv))) - expected)
    coarse, fine = (np.abs(error).max() for error in errors)
    assert 1e-6 < fine < 2e-2
    assert coarse / fine == pytest.approx(4.0, rel=0.05)  # h^4


def test_a_force_at_a_port_bends_as_in_books() -> None:
    """``P a^2 (3 L - a) / (6 E I)`` at the tip, the curvature with a kink at a; driven by an input."""
    beam = rod(strains={"bending_z": tt.StrainBasis.piecewise_affine(5)}, ports={"grip": 0.25})
    s = tt.System("driven", gravity=[0, 0, 0])
    s.connect("world", beam, tt.Weld("clamp"))
    s.add_actuator(tt.Force("push", beam.port("grip"), direction=[0, 1, 0], frame="world"))
    m = s.resolve()
    q = tt.trim(m, u={"push": 1e-5}).q
    assert m.pose("rod.tip", q)[1][1] == pytest.approx(1e-5 * 0.25**2 * 2.75 / 6, rel=1e-8)  # the square of the slope


def wrong(**fields: Any) -> str:
    beam = fields.pop("rod", None) or rod()
    with pytest.raises(tt.ModelError) as error:
        loaded(beam if isinstance(beam, tt.Rod) else rod(), tt.DistributedLoad("load", beam, **fields))
    return str(error.value)


def test_bad_input_is_named() -> None:
    assert "load.force" in wrong(force=[1, 2])
    assert "load.force: got shape (1, 3); expected at least two rows of three numbers" in wrong(force=[[1, 2, 3]])
    assert "load.force" in wrong(force=[1, np.nan, 2])
    assert "load.torque" in wrong(torque=[[1, 2, 3], [1, np.inf, 3]])
    assert "load.torque" in wrong(torque=lambda X: [X, X])
    assert "ZeroDivisionError" in wrong(force=lambda X: [1 / 0, 0, 0])
    assert "load.frame: got port; expected section or world" in wrong(force=[1, 0, 0], frame="port")
    assert "load.start: got 0.2 to 1.2 m; expected 0 <= start < end <= 1 m" in wrong(force=[1, 0, 0], start=0.2, end=1.2)
    assert "load.start: got 0.6 to 0.2 m" in wrong(force=[1, 0, 0], start=0.6, end=0.2)
    assert "load.start: got -0.1 to 1 m" in wrong(force=[1, 0, 0], start=-0.1)
    assert "load.start: got 0 to 1e-13 m" in wrong(force=[1, 0, 0], end=1e-13)
    assert "load.points" in wrong(force=[1, 0, 0], points=0)
    assert "load.scale" in wrong(force=[1, 0, 0], scale=np.inf)
    assert "load.rod" in wrong(rod="rod", force=[1, 0, 0])
    with pytest.raises(tt.ModelError, match=r"load\.rod: got rod; expected a rod of this system"):
        loaded(rod(), tt.DistributedLoad("load", rod(), force=[1, 0, 0]))


def test_suspicious_loads_warn() -> None:
    beam = rod()
    with pytest.warns(tt.ModelWarning, match="idle-load"):
        loaded(beam, tt.DistributedLoad("load", beam))
    wave = tt.DistributedLoad("load", beam, force=lambda X: [0, np.sin(40 * X), 0])
    with pytest.warns(tt.ModelWarning, match=r"load\.points: got 5; expected \d+ points or more"):
        loaded(beam, wave)
    enough = tt.DistributedLoad("load", beam, force=lambda X: [0, np.sin(40 * X), 0], points=30)
    assert not enough.check()[1]


def test_parameters_are_named_and_changed() -> None:
    beam = rod()
    load = tt.DistributedLoad("load", beam, force=[[1, 2, 3], [4, 5, 6]], torque=[1, 2, 3])
    known = load.parameters()
    assert known["force.1.y"] == (5.0, "N/m")
    assert known["torque.z"] == (3.0, "N m/m")
    assert known["scale"] == (1.0, "1")
    changed: Any = load.with_parameters({"force.1.y": 7.0, "torque.z": 0.0})
    assert changed.force[1, 1] == 7.0
    assert not changed.torque[2]
    assert load.force[1, 1] == 5.0
    assert not [name for name in tt.DistributedLoad("load", beam, force=ramp).parameters() if name.startswith("force")]


# -- loads a unit of length: numbers, rows or functions


PLACES = np.array([0.0, 0.2, 0.5, 0.9, 1.0])
ROWS = np.array([[0.0, 1.0, 2.0], [4.0, 1.0, -2.0], [1.0, 1.0, 0.0]])


def at(density: Any) -> Any:
    return density_values("load.force", density, PLACES, 2.0 * PLACES)


def test_three_numbers_are_the_same_everywhere() -> None:
    density = np.array([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(at(density), np.tile(density, (5, 1)))
    assert density_kinks(density).tolist() == [0.0, 1.0]


def test_between_rows_are_lines() -> None:
    expected = np.column_stack([np.interp(PLACES, [0.0, 0.5, 1.0], column) for column in ROWS.T])
    np.testing.assert_allclose(at(ROWS), expected, rtol=0, atol=1e-14)  # a slope, a product and a sum
    assert density_kinks(ROWS).tolist() == [0.0, 0.5, 1.0]
    stepped = density_values("f", ROWS + 1j * np.eye(3), PLACES, PLACES)  # numbers may be complex
    np.testing.assert_allclose(stepped.imag[1], [0.6, 0.4, 0.0], rtol=0, atol=1e-15)


def test_functions_are_of_the_abscissa() -> None:
    def density(X: float) -> list[float]:
        return [X, X**2, 0.0]

    np.testing.assert_array_equal(at(density), np.column_stack([2 * PLACES, (2 * PLACES) ** 2, 0 * PLACES]))
    assert density_kinks(density).tolist() == [0.0, 1.0]
    assert density_fields("force", density, "N/m") == {}
    with pytest.raises(tt.ModelError, match=r"load\.force: got \[1\]"):
        at(lambda X: [1])


def test_numbers_have_names_by_which_they_are_changed() -> None:
    load = tt.DistributedLoad("load", rod(), force=ROWS, torque=ROWS[0])
    numbers = load.parameters()
    assert {name: x for name, (x, unit) in numbers.items() if unit == "N m/m"} == {
        f"torque.{x}": k for k, x in enumerate("xyz")
    }
    assert sum(unit == "N/m" for _, unit in numbers.values()) == 9
    assert numbers["force.1.z"] == (-2.0, "N/m")
    changed: Any = load.with_parameters({"force.1.z": 7.0, "torque.y": 7.0})
    assert changed.force[1, 2] == 7.0
    assert np.count_nonzero(changed.force != ROWS) == 1
    assert changed.torque.tolist() == [0.0, 7.0, 2.0]


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ([1, 2], "wrong-shape"),
        ([[1, 2, 3]], "wrong-shape"),
        ([[1, 2], [3, 4]], "wrong-shape"),
        ([[1, 2, 3], [1, 2]], "wrong-type"),
        ("down", "wrong-type"),
        ([[1, 2, 3], [1, 2, np.nan]], "not-finite"),
    ],
)
def test_what_is_no_density_is_refused_by_name(given: Any, code: str) -> None:
    reader = FieldReader("load")
    read_density(reader, "force", given, "N/m")
    assert [(finding.code, finding.where) for finding in reader.findings] == [(code, "load.force")]


def test_functions_take_the_abscissa_alone() -> None:
    with pytest.raises(tt.ModelError, match=r"load\.force: .*expected a function f\(X\)"):
        read_density(FieldReader("load"), "force", lambda: 0.0, "N/m")
