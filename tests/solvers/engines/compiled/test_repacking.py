"""Parameters that are written into tables anew, and masses and inertias that change by much."""

from __future__ import annotations

import pickle
import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.own_kinds import Disc, Slide
from tests.systems import Array, random_state, random_tree
from titop.solvers.engines.compiled.repacking import NEAR, Repacking, move_constraints
from titop.solvers.kernels.entries.dynamics_entries import forward_dynamics


@pytest.fixture(scope="module")
def system() -> tt.System:
    s = random_tree(np.random.default_rng(4), 6, passive=True, loads=True)
    s.connect("world", tt.RigidBody("puck", mass=1.0), tt.Prismatic("slide"))
    s.add_actuator(tt.Motor("drive", "slide"))
    return s


def test_packing_with_a_parameter_is_flattening_a_system_that_has_it(system: tt.System) -> None:
    """Forward dynamics of tables written anew, and of the reference engine with the changed blocks."""
    model, reference = system.resolve(), system.resolve("reference")
    packed = model.mechanism.engine.system  # type: ignore[attr-defined]
    positions = Repacking(packed.structure, packed.tables, model.mechanism.inputs).positions
    q, v, _, tau = random_state(model, np.random.default_rng(0))
    for name in np.random.default_rng(1).permutation(list(positions))[:12]:
        value = model.parameters()[name][0]
        params = packed.params.copy()
        params[positions[name]] = value + 0.01
        changed = packed.variant(
            params=params, floats=packed.floats.copy(), frames=packed.frames.copy(), ports=packed.ports.copy()
        )
        assert changed.pack()
        a = np.empty(model.nv)
        assert changed.kernel(forward_dynamics)(*changed.arrays, q, v, tau, a) == 0
        expected = reference.with_parameters({name: value + 0.01}).forward_dynamics(q, v, tau)
        np.testing.assert_allclose(a, expected, rtol=1e-9, atol=1e-9)  # rounding times the condition of the mass matrix


def test_what_asks_for_other_tables_is_not_listed(system: tt.System) -> None:
    """A spring where none is, a quaternion that has to be unit, what actuators are."""
    model = system.resolve()
    packed = model.mechanism.engine.system  # type: ignore[attr-defined]
    positions = Repacking(packed.structure, packed.tables, model.mechanism.inputs).positions
    left_out = set(model.parameters()) - set(positions)
    assert {"slide.stiffness", "slide.damping", "drive.gear"} <= left_out
    assert {name for name in left_out if ".rest." in name} == {name for name in model.parameters() if ".rest.q" in name}
    assert {"puck.mass", "b0.com.x", "slide.axis.x"} <= set(positions)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["arm.mass"], False),
        (["pin.axis.x"], True),
        (["arm.mass", "arm.E.position.x"], True),
        (["axis.mass"], True),
        ([], False),
    ],
)
def test_geometry_moves_constraints(names: list[str], expected: bool) -> None:
    assert move_constraints(names) == expected


ENTRIES = ("xx", "yy", "zz", "xy", "xz", "yz")


def changes(name: str, mass: float, inertia: Array) -> dict[str, float]:
    """Return a body's mass and inertia (3x3) as parameters."""
    entries = (*np.diag(inertia), inertia[0, 1], inertia[0, 2], inertia[1, 2])
    return {f"{name}.mass": float(mass)} | {f"{name}.inertia.{e}": float(x) for e, x in zip(ENTRIES, entries, strict=True)}


def rigid_bodies(m: tt.Model) -> list[tt.RigidBody]:
    return [c.child.block for c in m.mechanism.assembly.connections if isinstance(c.child.block, tt.RigidBody)]


def scaled_at_random(rng: np.random.Generator, m: tt.Model, factor: float) -> dict[str, float]:
    """Return all masses and inertias times numbers between 1 / factor and factor, the latter along three directions each."""
    values: dict[str, float] = {}
    for body in rigid_bodies(m):
        root = np.linalg.cholesky(body.inertia) @ np.linalg.qr(rng.normal(size=(3, 3)))[0]
        mass, *along = factor ** rng.choice([-1.0, 1.0], 4)
        values |= changes(body.name, body.mass * mass, root @ np.diag(along) @ root.T)
    return values


@pytest.mark.parametrize("seed", range(6))
def test_coordinates_keep_a_square_of_the_factor(seed: int) -> None:
    """Where every mass and principal value changes by all that is near; the bound is not idle: some shares do fall by half."""
    rng = np.random.default_rng(seed)
    m, fallen = random_tree(rng, 5).resolve(), []
    for _ in range(5):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # inertias that break the triangle inequality
            changed = m.with_parameters(scaled_at_random(rng, m, NEAR))
        for q in (m.neutral(), m.random_configuration(rng)):
            before, after = m.mechanism.engine.dynamics.pivots(q).shares, changed.mechanism.engine.dynamics.pivots(q).shares
            assert (after >= before / NEAR**2 * (1 - 1e-9)).all()  # rounding of well-conditioned pivots
            fallen.append((after / before).min())
    assert min(fallen) < 0.5


def told(m: tt.Model, values: dict[str, float]) -> list[str]:
    """Return what is said of a change: the warnings, or the codes of the error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            m.with_parameters(values)
        except tt.ModelError as error:
            return sorted(finding.code for finding in error.findings)
    return sorted(str(each.message).split(":")[0] + str(each.message)[-30:] for each in caught)


@pytest.mark.parametrize("seed", range(3))
def test_both_engines_say_the_same_of_changed_inertias(seed: int) -> None:
    """The reference engine looks at every block anew. Values near and far, sound, suspicious and impossible."""
    rng = np.random.default_rng(seed)
    system = random_tree(rng, 3, kinds=("Revolute", "Universal", "Spherical"))
    compiled, reference = system.resolve(), system.resolve("reference")
    body, said = rigid_bodies(compiled)[1], set()
    own = changes(body.name, body.mass, body.inertia)
    for _ in range(40):
        names = rng.choice(list(own), rng.integers(1, 4), replace=False)
        values = {name: float(own[name] * rng.choice([1.1, 0.9, 1.5, 0.0, 3.0, -1.0, 30.0, 1e-12])) for name in names}
        found = told(compiled, values)
        assert found == told(reference, values)
        said |= set(found) or {"nothing"}
    assert {"nothing", "negative-inertia"} < said
    assert any("triangle" in each for each in said)


def test_changes_of_changes_are_measured_from_what_was_looked_at() -> None:
    """An inner mass that falls tenfold, again and again, ends in the same warnings as one great fall."""
    s = tt.System("pair")
    inner = tt.RigidBody("inner", 1.0, [0.5, 0, 0], 0.1, ports={"tip": [1, 0, 0]})
    s.connect("world", inner, tt.Revolute("shoulder"))
    s.connect(inner.port("tip"), tt.RigidBody("outer", 1.0, [0.5, 0, 0]), tt.Revolute("elbow"))
    m, said = s.resolve(), []
    for k in range(1, 13):
        values = changes("inner", 10.0**-k, 0.1 * 10.0**-k * np.eye(3))
        found = told(m, values)
        assert found == told(s.resolve(), values)
        said.append(bool(found))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            m = m.with_parameters(values)
    assert said == sorted(said)
    assert 2 < sum(said) < 10


WATER = tt.Fluid(density=1000.0, current=[0.1, 0.2, 0.3])
PANEL = {
    "mass": 3.0,
    "com": [0.5, 0.1, 0.0],
    "inertia": [0.2, 0.3, 0.4],
    "ports": {"C": [1.0, 0.0, 0.0]},
    "shapes": {"C": np.arange(12.0).reshape(6, 2) / 40},
    "damping_ratios": 0.01,
}


def panel(name: str, frequency: float = 5.0, along: float = 0.3, **given: Any) -> tt.FlexibleBody:
    return tt.FlexibleBody(
        name,
        frequencies=[frequency, 9.0],
        participation=[[0.1, 0, along, 0, 0.2, 0], [0, 0.4, 0, 0, 0, 0.1]],
        **(PANEL | given),
    )


def beam(name: str, **given: Any) -> tt.Beam:
    dimensions = {"length": 1.2, "density": 900.0, "area": 4e-3, "young": 3e7, "iy": 2e-6, "iz": 3e-6, "shear_modulus": 1e7}
    return tt.Beam(name, **(dimensions | {"torsion_constant": 4e-6, "damping_ratio": 0.02, "modes": (2, 1)} | given))


#: Bodies, some of their parameters, and the arguments of the constructor to the same effect.
REWRITTEN = {
    "frequency": (panel, {"mode1.frequency": 7.0}, {"frequency": 7.0}),
    "participation, mass": (panel, {"mode1.participation.z": 0.2, "mass": 4.0}, {"along": 0.2, "mass": 4.0}),
    "port": (panel, {"C.position.x": 0.7}, {"ports": {"C": [0.7, 0.0, 0.0]}}),
    "beam": (beam, {"young": 4e7, "area": 5e-3}, {"young": 4e7, "area": 5e-3}),
    "length": (beam, {"length": 1.5, "damping_ratio": 0.0}, {"length": 1.5, "damping_ratio": 0.0}),
    "Slide": (Slide, {"spring": 30.0, "length": 1.3}, {"spring": 30.0, "length": 1.3}),
    "shear": (partial(beam, shear_factors=0.8), {"iy": 3e-6}, {"iy": 3e-6}),
    "in water": (partial(beam, fluid=WATER), {"young": 4e7, "length": 1.1}, {"young": 4e7, "length": 1.1}),
}


def carrying(part: tt.Block) -> tt.System:
    """Return a system in which a body hangs, and carries another on a spring to the world."""
    s = tt.System("carrying", gravity=[0.5, 0.0, -9.81])
    hub = tt.RigidBody("hub", 20.0, inertia=[3, 4, 5], ports={"A": [0.2, 0, 0]})
    s.connect("world", hub, tt.Free("base"))
    s.connect(hub.port("A"), part, tt.Revolute("hinge", axis=[0, 1, 0]))
    tip = tt.RigidBody("tip", 0.5, inertia=[0.1, 0.1, 0.1], ports={"E": [0.1, 0, 0]})
    s.connect(part.port("C"), tip, tt.Universal("joint"))
    s.close_loop(s.world, tip.port("E"), tt.SpringDamper("spring", stiffness=3.0, damping=0.1))
    return s


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")  # of sections with little rotary inertia, of spins
@pytest.mark.parametrize(("make", "values", "given"), REWRITTEN.values(), ids=REWRITTEN)
def test_laws_numbers_written_anew_are_those_of_a_body_made_so(make: Any, values: dict[str, float], given: Any) -> None:
    """Beside the system of the body that the constructor makes; to its rounding times the condition of the mass matrix."""
    m = carrying(make("part")).resolve()
    changed = m.with_parameters({"hub.mass": 21.0}).with_parameters({f"part.{name}": value for name, value in values.items()})
    built = carrying(make("part", **given)).resolve().with_parameters({"hub.mass": 21.0})
    q, v, _, tau = random_state(built, np.random.default_rng(0))
    expected = built.forward_dynamics(q, v, tau)
    np.testing.assert_allclose(changed.forward_dynamics(q, v, tau), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    assert changed.parameters() == built.parameters()
    assert not np.allclose(m.forward_dynamics(q, v, tau), expected, rtol=1e-4)
    for name in ("energy", "passive_efforts", "nonlinear_effects"):
        np.testing.assert_allclose(getattr(changed, name)(q, v), getattr(built, name)(q, v), rtol=1e-8, atol=1e-9)
    one, two = (tt.linearize(model, (q, 0.0 * v, tau), ["hinge"], ["tip.E.w"]) for model in (changed, built))
    np.testing.assert_allclose(one.A, two.A, rtol=1e-7, atol=1e-7 * np.abs(two.A).max())
    again = pickle.loads(pickle.dumps(changed))
    assert np.array_equal(again.forward_dynamics(q, v, tau), changed.forward_dynamics(q, v, tau))


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
@pytest.mark.parametrize(("make", "values", "_"), REWRITTEN.values(), ids=REWRITTEN)
def test_laws_numbers_are_written_anew_without_another_system(make: Any, values: dict[str, float], _: Any) -> None:
    m = carrying(make("part")).resolve()
    changed = m.with_parameters({f"part.{name}": value for name, value in values.items()})
    assert changed.mechanism.engine.system.laws is m.mechanism.engine.system.laws  # type: ignore[attr-defined]


def test_blocks_that_answer_in_python_are_built_again() -> None:
    """The negative control."""
    s = tt.System("disc")
    s.connect("world", Disc("disc", 0.1, 0.01), tt.Revolute("hinge"))
    m = s.resolve()
    changed = m.with_parameters({"disc.radius": 0.2})
    assert changed.mechanism.engine.system.laws is not m.mechanism.engine.system.laws  # type: ignore[attr-defined]
    assert changed.mass_matrix([0.0])[0, 0] == pytest.approx(16 * m.mass_matrix([0.0])[0, 0], rel=1e-12)


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
@pytest.mark.parametrize(
    ("make", "name", "value", "code"),
    [
        (panel, "mode1.frequency", -1.0, "bad-frequency"),
        (panel, "mass", -1.0, "negative-mass"),
        (panel, "mode1.participation.z", 9.0, "too-much-participation"),
        (beam, "young", 0.0, "bad-young"),
        (beam, "length", -1.0, "bad-length"),
    ],
)
def test_blocks_object_to_numbers_that_are_wrong(make: Any, name: str, value: float, code: str) -> None:
    m = carrying(make("part")).resolve()
    with pytest.raises(tt.ModelError) as refused:
        m.with_parameters({f"part.{name}": value})
    assert code in [finding.code for finding in refused.value.findings]
