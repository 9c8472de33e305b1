"""General blocks in the compiled resolver: titop's kinds, compiled laws of users', and plain Python, mixed in one system."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import njit

import titop as tt
from examples.compiled_block import Telescope, telescope_energy, telescope_law
from tests.solvers.kernels.laws.mixed_systems import Slider, differences, functions, state, stepped
from titop.blocks.basics.spatial import Array
from titop.solvers.kernels.laws.user_laws import stages_of


def mixed(telescope: type[tt.Block] = Telescope) -> tt.System:
    """Return a tree of a rigid body, a beam, a compiled block and one in Python, with a load and a compliant closure."""
    hub = tt.RigidBody("hub", 6.0, [0.1, 0, 0], [0.6, 0.7, 0.8], ports={"A": [0, 0.5, 0], "B": [0.2, 0, 0.4]})
    beam = tt.Beam("beam", length=1.0, density=1500.0, area=1e-3, young=2e8, iy=1e-7, iz=2e-7)
    boom, slider = telescope("boom"), Slider("slider")
    s = tt.System("mixed", gravity=[0.3, -9.0, 1.0])
    s.connect("world", hub, tt.Free("base"))
    s.connect(hub.port("A"), beam, tt.Revolute("hinge", axis=[1, 2, 3], stiffness=2.0))
    s.connect(beam.port("C"), boom, tt.Spherical("ball"))
    s.connect(boom.port("C"), slider, tt.Weld("weld"))
    s.connect(slider.port("C"), tt.RigidBody("tip", 0.4, inertia=[0.01, 0.02, 0.02]), tt.Prismatic("rail", axis=[0, 1, 0]))
    s.add_load(tt.Load("push", boom.port("C"), force=[1, 2, 3], torque=[0.1, 0.2, 0.3], frame="world"))
    s.close_loop(
        hub.port("B"), boom.port("C"), tt.CompliantClosure("strut", stiffness=np.eye(6) * 3.0, damping=np.eye(6) * 0.1)
    )
    return s


@pytest.fixture(scope="module")
def reference() -> tt.Model:
    return mixed().resolve("reference")


def test_kinds_mix(reference: tt.Model) -> None:
    model = mixed().resolve()
    assert not model.mechanism.engine.is_compiled  # one block answers in Python
    at = state(reference)
    assert not differences(functions(model, *at), functions(reference, *at))


@pytest.mark.parametrize("function", ["inverse_dynamics", "forward_dynamics"])
def test_slopes_of_mixed_kinds(function: str) -> None:
    model = mixed().resolve()
    at = state(model)
    found, expected = np.array(getattr(model, f"{function}_derivatives")(*at)), stepped(model, function, *at)
    # steps of 3e-4 leave errors near 1e-14 of the fifth derivatives, rounding as much over the step
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7 * np.abs(expected).max())


def test_a_term_left_out_is_seen(reference: tt.Model) -> None:
    """The negative control: a law whose gyroscopic terms lack what two of its coordinates do to each other."""

    def without_coriolis(numbers: Any, q: Any, v: Any, twist: Any, terms: Any) -> None:
        telescope_law(numbers, q, 0 * v, twist, terms)

    class Lacking(Telescope):
        compiled_law = tt.Law(without_coriolis, energy=telescope_energy)

    with pytest.warns(tt.ModelWarning, match=r"boom\.compiled_law\.gyroscopic"):
        model = mixed(Lacking).resolve()
    at = state(reference)
    assert {"inverse", "forward"} <= differences(functions(model, *at), functions(reference, *at)).keys()


def test_an_energy_in_python_beside_a_compiled_law(reference: tt.Model) -> None:
    class Stored(Telescope):
        compiled_law = tt.Law(telescope_law)

        def elastic_energy(self, q: Array) -> Any:
            return telescope_energy(self.law_numbers(), q)

    q, v, _ = state(reference)
    for boom in (Stored, Telescope):
        energy = mixed(boom).resolve().energy(q, v)
        np.testing.assert_allclose(energy, reference.energy(q, v), rtol=1e-13)
        assert energy.elastic > 0.0


@pytest.mark.long
def test_with_rigid_closures_and_gears() -> None:
    """Constraints on a compiled block's coordinates and port, against the reference."""

    def build() -> tt.System:
        base = tt.RigidBody("bed", 3.0, inertia=0.3, ports={"A": [0, 0, 0], "B": [1.0, 0, 0]})
        one, two = Telescope("one"), tt.RigidBody("two", 1.0, [0, 0, 0.5], [0.1, 0.1, 0.01], ports={"C": [0, 0, 1.1]})
        s = tt.System("twin", gravity=[0, -9.81, 0])
        s.connect("world", base, tt.Prismatic("rail", axis=[1, 0, 0]))
        s.connect(base.port("A"), one, tt.Revolute("left", axis=[0, 1, 0]))
        s.connect(base.port("B"), two, tt.Revolute("right", axis=[0, 1, 0]))
        s.close_loop(one.port("C"), two.port("C"), tt.RigidClosure("pin", "revolute", axis=[0, 1, 0]))
        return s

    with pytest.warns(tt.ModelWarning):  # redundant constraints
        models = [build().resolve(engine) for engine in ("compiled", "reference")]
    assert models[0].mechanism.engine.is_compiled
    q = models[0].assemble(models[0].configuration({"left": 0.4, "right": -0.4}), fixed=["left"])
    v = models[0].assemble_velocity(q, np.ones(models[0].nv), fixed=["left", "one.slosh"])
    tau = np.linspace(-1, 1, models[0].nv)
    compiled, plain = (model.forward_dynamics(q, v, tau) for model in models)
    np.testing.assert_allclose(compiled, plain, rtol=1e-9, atol=1e-9)
    slopes, plain_slopes = (np.array(model.forward_dynamics_derivatives(q, v, tau)) for model in models)
    np.testing.assert_allclose(slopes, plain_slopes, rtol=0, atol=1e-8 * np.abs(plain_slopes).max())


@pytest.mark.long
def test_check_block_compares_the_law_with_what_follows_from_it() -> None:
    tt.check_block(Telescope("boom", damping=0.3, slosh_damping=0.2))

    def wrong(numbers: Any, q: Any, v: Any, twist: Any, terms: Any) -> None:
        telescope_law(numbers, q, v, twist, terms)
        terms.bias[0, 0] *= -1

    class Wrong(Telescope):
        compiled_law = tt.Law(wrong, energy=telescope_energy)

    with pytest.raises(tt.ModelError, match=r"boom\.compiled_law\.bias") as raised:
        tt.check_block(Wrong("boom"))
    assert [finding.code for finding in raised.value.findings] == ["inconsistent-law"]


def real_only(numbers: Any, q: Any, v: Any, twist: Any, terms: Any) -> None:
    """The telescope's law, in which the imaginary parts of coordinates are lost."""
    telescope_law(numbers, q.real + 0 * q, v, twist, terms)


@pytest.mark.long
def test_a_law_that_takes_no_complex_numbers_is_differentiated_otherwise() -> None:
    class Real(Telescope):
        compiled_law = tt.Law(real_only, energy=telescope_energy)

    with pytest.warns(tt.ModelWarning, match="not-complex-safe"):
        model = mixed(Real).resolve()
    expected, at = mixed().resolve(), state(model)
    np.testing.assert_array_equal(model.forward_dynamics(*at), expected.forward_dynamics(*at))
    found, exact = (np.array(m.forward_dynamics_derivatives(*at)) for m in (model, expected))
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-7 * np.abs(exact).max())  # third differences


class TestBadLaws:
    """What is wrong with a law is said by the block's name."""

    def resolve(self, law: Any, numbers: Any = None) -> None:
        """Resolve a system with such a law."""
        own = {"compiled_law": law} | ({} if numbers is None else {"law_numbers": lambda self: numbers})
        s = tt.System("one")
        s.connect("world", type("Odd", (Telescope,), own)("boom"), tt.Weld("w"))
        s.resolve()

    def test_no_law(self) -> None:
        with pytest.raises(tt.ModelError, match=r"boom\.compiled_law.*wrong-type"):
            self.resolve(telescope_law)

    @pytest.mark.parametrize("numbers", [np.ones((2, 4)), np.full(8, np.nan), ["a"], 3.0])
    def test_bad_numbers(self, numbers: Any) -> None:
        with pytest.raises(tt.ModelError, match=r"boom\.law_numbers"):
            self.resolve(tt.Law(telescope_law), numbers)

    def test_too_few_numbers(self) -> None:
        with pytest.raises(tt.ModelError, match=r"boom\.mass_matrix.*ValueError"):
            self.resolve(tt.Law(telescope_law), np.ones(3))

    def test_what_numba_does_not_know(self) -> None:
        def unknown(numbers: Any, q: Any, v: Any, twist: Any, terms: Any) -> None:
            telescope_law(numbers, q, v, twist, terms)
            sorted({1: q}.items(), key=str)

        with pytest.raises(tt.ModelError, match=r"boom\.compiled_law.*law-not-compiled"):
            self.resolve(tt.Law(unknown))


class Moody(Slider):
    """Raises an exception where it slides too far."""

    error: BaseException = ValueError("too far")

    def mass_matrix(self, q: Array) -> Array:
        """Return the inertia, up to 1 m."""
        if np.real(q[0]) > 1.0:
            raise self.error
        return super().mass_matrix(q)


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
@pytest.mark.parametrize("error", [ValueError("too far"), KeyboardInterrupt()])
def test_exceptions_of_blocks_reach_their_users(error: BaseException) -> None:
    s = tt.System("one")
    s.connect("world", Moody("slider"), tt.Weld("w"))
    model = s.resolve()
    for general in model.mechanism.engine.system.tables.general:  # type: ignore[attr-defined]
        general.block.error = error
    zero, far = np.zeros(1), np.array([1.5])
    calls: list[Any] = [
        lambda q: model.forward_dynamics(q, zero, zero),
        lambda q: model.inverse_dynamics(q, zero, zero),
        lambda q: model.mass_matrix(q),
        lambda q: model.forward_dynamics_derivatives(q, zero, zero),
        lambda q: model.forward_dynamics(np.stack([q, q]), np.zeros((2, 1)), np.zeros((2, 1))),
    ]
    for call in calls:
        with pytest.raises(type(error)) as raised:
            call(far)
        assert raised.value is error
        call(zero)  # nothing is left of it


FACTOR = 2.0


def scaled(x: float) -> float:
    """Use a constant of the module."""
    return FACTOR * x


def test_machine_code_is_kept_under_all_that_it_depends_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def name(constant: float = 1.0, called: Any = scaled) -> str:
        def law(numbers: Any, q: Any, v: Any, twist: Any, terms: Any) -> None:
            terms.inertia[0, 0] = called(constant)

        return stages_of(tt.Law(law)).terms.name

    first = name()
    assert name() == first
    assert name(constant=3.0) != first
    assert name(called=abs) != first
    assert name(called=njit(scaled)) == first  # the same code
    monkeypatch.setattr(sys.modules[__name__], "FACTOR", 3.0)
    assert name() != first


def test_a_kept_law_needs_no_compiler() -> None:
    script = """
import sys
sys.path.insert(0, "examples")
import numpy as np
from compiled_block import build
m = build().resolve()
print(m.forward_dynamics(m.neutral(), np.ones(m.nv), np.ones(m.nv)).tobytes().hex(), "numba" in sys.modules)
"""
    folder = Path(__file__).parents[4]
    runs = [
        subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=True) for _ in range(2)
    ]
    (first, _), (second, loaded) = (run.stdout.split() for run in runs)
    assert second == first
    assert loaded == "False"


def braked_law(numbers: Any, q: Any, v: Any, twist: Any, terms: Any) -> None:
    """That of a telescope with a brake on one side, decided by an ``if``."""
    telescope_law(numbers, q, v, twist, terms)
    if q[0].real > 0.0:
        terms.passive[0] -= 0.3 * v[0]


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
@pytest.mark.parametrize("law", [telescope_law, braked_law])
def test_stacked_states_are_single_states(law: Any) -> None:
    """Lanes have the bits of single calls; so has a law that cannot be computed in lanes, which is asked one by one."""

    class Own(Telescope):
        compiled_law = tt.Law(law, energy=telescope_energy)

    s = tt.System("telescopes", gravity=[0, 1, -9.81])
    s.connect("world", Own("boom"), tt.Universal("base"))
    model, rng = s.resolve(), np.random.default_rng(6)
    q, v, tau = rng.normal(size=(3, 11, model.nv))
    for name in ("forward_dynamics", "inverse_dynamics"):
        function = getattr(model, name)
        np.testing.assert_array_equal(function(q, v, tau), [function(*row) for row in zip(q, v, tau, strict=True)])
    stages = stages_of(Own.compiled_law)
    assert stages.terms.in_lanes.is_for_lanes == (law is telescope_law)


def ending_law(numbers: Any, q: Any, v: Any, twist: Any, terms: Any) -> None:
    """That of a telescope that refuses to leave its tube."""
    telescope_law(numbers, q, v, twist, terms)
    if q[0].real > 1.0:
        raise ValueError("beyond its end")
    if q[0].real < -1.0:
        raise OverflowError("too deep", q[0].real)


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
def test_what_a_compiled_law_raises_reaches_its_users() -> None:
    class Own(Telescope):
        compiled_law = tt.Law(ending_law, energy=telescope_energy)

    s = tt.System("telescope")
    s.connect("world", Own("boom"), tt.Weld("base"))
    m, still = s.resolve(), np.zeros(2)
    for place, kind, told in (1.5, ValueError, ("beyond its end",)), (-1.5, OverflowError, ("too deep",)):
        q = np.array([place, 0.0])
        for arguments in (q, still, still), np.stack([[still, q], [still, still], [still, still]]):
            with pytest.raises(kind) as raised:
                m.forward_dynamics(*arguments)
            assert raised.value.args == told  # without numbers that only the machine code knew
            assert re.search(rf"in \S*ending_law, .*{Path(__file__).name}, line \d+", raised.value.__notes__[0])
            m.forward_dynamics(still, still, still)  # nothing is left of it
    with pytest.raises(ValueError, match="beyond its end"):
        tt.simulate(m, np.linspace(0.0, 1.0, 3), still, np.array([30.0, 0.0]))


def spun_law(numbers, q, v, twist, terms):  # type: ignore[no-untyped-def]
    """Fill in the law of a ball with a sprung rotor about x in it, which has a fourth of its inertia."""
    mass, inertia, spring = numbers
    for k in range(3):
        terms.inertia[k, k] += mass
        terms.inertia[3 + k, 3 + k] += inertia
        i, j = (k + 1) % 3, (k + 2) % 3
        terms.gyroscopic[k] += mass * (twist[3 + i] * twist[j] - twist[3 + j] * twist[i])
    rotor = 0.25 * inertia
    terms.inertia[3, 6] += rotor
    terms.inertia[6, 3] += rotor
    terms.inertia[6, 6] += rotor
    terms.gyroscopic[4] += rotor * v[0] * twist[5]
    terms.gyroscopic[5] -= rotor * v[0] * twist[4]
    terms.passive[0] = -spring * q[0]


def spun_energy(numbers, q):  # type: ignore[no-untyped-def]
    """Return what the spring stores."""
    return 0.5 * numbers[2] * q[0] * q[0]


class Spun(tt.Block):
    """A block at the end of a tree: no port hangs on it."""

    coordinates = ("angle",)
    compiled_law = tt.Law(spun_law, energy=spun_energy)

    def law_numbers(self) -> Array:
        """Return mass, inertia and spring."""
        return np.array([2.0, 0.4, 3.0])


def test_blocks_without_child_ports_compile() -> None:
    s = tt.System("spun")
    s.connect("world", Spun("ball"), tt.Revolute("hinge", axis=[1, 0, 0]))
    q, v, tau = np.array([0.2, 0.3]), np.array([0.5, -0.7]), np.array([0.1, 0.6])
    expected = np.linalg.solve([[0.4, 0.1], [0.1, 0.1]], tau - [0.0, 3.0 * q[1]])
    for engine in ("compiled", "reference"):
        np.testing.assert_allclose(s.resolve(engine).forward_dynamics(q, v, tau), expected, rtol=1e-14)  # of two by two
