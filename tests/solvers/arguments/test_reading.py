"""Arguments of a model's functions: what they take, and what they say of the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.refusals import ENGINES, body, hinged
from titop.solvers.arguments.reading import all_finite


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return request.param


def two_bodies() -> tt.System:
    """Return a body on a hinge, a second on a ball joint: coordinates hinge, ball.rx, ball.ry, ball.rz."""
    s = tt.System("rig")
    arm = body("arm")
    s.connect("world", arm, tt.Revolute("hinge", axis=[1, 0, 0]))
    s.connect(arm.port("tip"), body("hand"), tt.Spherical("ball"))
    return s


@pytest.fixture
def model(engine: str) -> tt.Model:
    return two_bodies().resolve(engine)


CALLS: dict[str, Callable[..., Any]] = {
    "forward_dynamics": lambda m, q, v, x: m.forward_dynamics(q, v, x),
    "inverse_dynamics": lambda m, q, v, x: m.inverse_dynamics(q, v, x),
    "hybrid_dynamics": lambda m, q, v, x: m.hybrid_dynamics(q, v, x, x, ["hinge"]),
    "nonlinear_effects": lambda m, q, v, x: m.nonlinear_effects(q, v),
    "coriolis_matrix": lambda m, q, v, x: m.coriolis_matrix(q, v),
    "passive_efforts": lambda m, q, v, x: m.passive_efforts(q, v),
    "mass_matrix": lambda m, q, v, x: m.mass_matrix(q),
    "gravity_effects": lambda m, q, v, x: m.gravity_effects(q),
    "energy": lambda m, q, v, x: m.energy(q, v),
    "momentum": lambda m, q, v, x: m.momentum(q, v),
    "center_of_mass": lambda m, q, v, x: m.center_of_mass(q),
    "pose": lambda m, q, v, x: m.pose("hand", q),
    "jacobian": lambda m, q, v, x: m.jacobian("hand", q),
    "motion": lambda m, q, v, x: m.motion("hand", q, v, x),
    "accelerometer": lambda m, q, v, x: m.accelerometer("hand", q, v, x),
    "reaction": lambda m, q, v, x: m.reaction("ball", q, v, x),
    "integrate": lambda m, q, v, x: m.integrate(q, v),
    "difference": lambda m, q, v, x: m.difference(q, q),
    "configuration_rate": lambda m, q, v, x: m.configuration_rate(q, v),
}
OF_Q_ALONE = ("mass_matrix", "gravity_effects", "center_of_mass", "pose", "jacobian", "difference")
OF_THREE = ("forward_dynamics", "inverse_dynamics", "hybrid_dynamics", "motion", "accelerometer", "reaction")
STACKING = tuple(CALLS)

#: The calls that read each of the three states q, v and x.
READERS = (list(CALLS), [name for name in CALLS if name not in OF_Q_ALONE], list(OF_THREE))


def assert_refused(model: tt.Model, calls: list[str], states: tuple[Any, Any, Any], code: str, *words: str) -> None:
    """Assert that all calls raise a ModelError of a code, with some words in its message; list those that do not."""
    wrong = {}
    for name in calls:
        try:
            wrong[name] = repr(CALLS[name](model, *states))[:80]
        except tt.ModelError as error:
            if error.code != code or not all(word in str(error) for word in words):
                wrong[name] = str(error)
        except Exception as error:  # whatever else it is, it is not what users should see
            wrong[name] = repr(error)[:80]
    assert wrong == {}


Z = np.zeros(4)
UNIT = np.array([0.0, 0.0, 0.0, 0.0, 1.0])


class TestStates:
    """Every function of a state refuses what it cannot use, and says which argument, and which entry of which joint."""

    def test_wrong_lengths(self, model: tt.Model) -> None:
        got, names = "got shape (4,)", "hinge, ball.qx, ball.qy, ball.qz, ball.qw"
        assert_refused(model, READERS[0], (Z, Z, Z), "wrong-length", got, "expected shape (5,)", names)
        assert_refused(
            model, READERS[1], (UNIT, np.zeros(5), Z), "wrong-length", "got shape (5,)", "expected shape (4,)", "ball.rx"
        )
        assert_refused(
            model, READERS[2], (UNIT, Z, np.zeros(3)), "wrong-length", "got shape (3,)", "expected shape (4,)", "ball.rx"
        )

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_entries_that_are_not_finite(self, model: tt.Model, bad: float) -> None:
        q, x = UNIT.copy(), Z.copy()
        q[0], x[2] = bad, bad
        assert_refused(model, READERS[0], (q, Z, Z), "not-finite", "[0]: got", "it is the entry of hinge")
        assert_refused(model, READERS[1], (UNIT, x, Z), "not-finite", "[2]: got", "it is the entry of ball.ry")
        assert_refused(model, READERS[2], (UNIT, Z, x), "not-finite", "[2]: got", "it is the entry of ball.ry")

    def test_the_argument_is_named(self, model: tt.Model) -> None:
        with pytest.raises(tt.ModelError) as caught:
            model.forward_dynamics(UNIT, Z, [0, 0, 0, np.inf])
        assert (caught.value.code, caught.value.where) == ("not-finite", "tau[3]")

    def test_entries_of_a_stack_that_are_not_finite(self, model: tt.Model) -> None:
        q, v, tau = np.tile(UNIT, (3, 1)), np.zeros((3, 4)), np.zeros((3, 4))
        v[1, 0] = np.nan
        with pytest.raises(tt.ModelError) as caught:
            model.forward_dynamics(q, v, tau)
        assert (caught.value.code, caught.value.where) == ("not-finite", "v[1, 0]")

    def test_stacks_of_uneven_height(self, model: tt.Model) -> None:
        stacked = (np.tile(UNIT, (3, 1)), np.zeros((2, 4)), np.zeros((3, 4)))
        several = [name for name in STACKING if name not in OF_Q_ALONE]
        assert_refused(model, several, stacked, "wrong-length")
        assert_refused(model, several, (stacked[0], Z, Z), "wrong-length")

    @pytest.mark.parametrize("name", STACKING)
    def test_stacks_are_taken_row_by_row(self, model: tt.Model, name: str) -> None:
        rng = np.random.default_rng(0)
        q, v, x = np.array([model.random_configuration(rng) for _ in range(3)]), *rng.normal(size=(2, 3, 4))
        found, rows = CALLS[name](model, q, v, x), [CALLS[name](model, *row) for row in zip(q, v, x, strict=True)]
        for part, parts in zip(found, zip(*rows, strict=True), strict=True) if isinstance(found, tuple) else [(found, rows)]:
            np.testing.assert_allclose(part, parts, rtol=1e-12, atol=1e-12)  # rounding, in another order

    def test_stacks_where_none_are_taken(self, model: tt.Model) -> None:
        stacked = (np.tile(UNIT, (3, 1)), np.zeros((3, 4)), np.zeros((3, 4)))
        assert_refused(model, [name for name in CALLS if name not in STACKING], stacked, "wrong-length")

    def test_quaternions_that_are_not_unit(self, model: tt.Model) -> None:
        words = ("[1:5]: got norm 1.001", "normalise the quaternion of ball")
        assert_refused(model, READERS[0], (1.001 * UNIT, Z, Z), "not-unit", *words)

    def test_quaternions_within_tolerance_are_normalised(self, model: tt.Model) -> None:
        rng = np.random.default_rng(0)
        q, v, tau = model.random_configuration(rng), rng.normal(size=4), rng.normal(size=4)
        nearly = q.copy()
        nearly[1:] *= 1 + 5e-7
        np.testing.assert_allclose(model.forward_dynamics(nearly, v, tau), model.forward_dynamics(q, v, tau), rtol=1e-12)
        np.testing.assert_allclose(model.pose("hand", nearly)[0], model.pose("hand", q)[0], atol=1e-13)

    @pytest.mark.parametrize("text", ["abc", ["a"] * 5], ids=str)
    def test_text(self, model: tt.Model, text: Any) -> None:
        assert_refused(model, READERS[0], (text, Z, Z), "wrong-type")

    def test_complex_numbers_in_the_compiled_engine(self) -> None:
        """It computes with real numbers: an imaginary part is refused, never dropped."""
        model, words = two_bodies().resolve("compiled"), ("complex numbers", "engine='reference'")
        calls = [[name for name in names if name not in ("integrate", "difference")] for names in READERS]
        assert_refused(model, calls[0], (UNIT + 1e-20j, Z, Z), "wrong-type", *words)
        assert_refused(model, calls[1], (UNIT, Z + 1e-20j, Z), "wrong-type", *words)
        assert_refused(model, calls[2], (UNIT, Z, Z + 1e-20j), "wrong-type", *words)


def strided(x: np.ndarray) -> np.ndarray:
    """Return the array as every second entry of another."""
    return np.repeat(x, 2)[::2]


def read_only(x: np.ndarray) -> np.ndarray:
    """Return a copy that cannot be written."""
    x = x.copy()
    x.flags.writeable = False
    return x


#: Ways to give a state. Its numbers have few binary digits, so that none is lost in single precision.
FORMS: dict[str, Callable[[np.ndarray], Any]] = {
    "list": np.ndarray.tolist,
    "tuple": tuple,
    "float32": lambda x: x.astype(np.float32),
    "longdouble": lambda x: x.astype(np.longdouble),
    "big endian": lambda x: x.astype(">f8"),
    "objects": lambda x: x.astype(object),
    "strided": strided,
    "read-only": read_only,
    "backwards": lambda x: x[::-1].copy()[::-1],
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_in_which_a_state_may_be_given(model: tt.Model, form: str) -> None:
    states = np.array([0.5, 0, 0, 1, 0]), np.array([1, -0.5, 2, 0.25]), np.array([0.5, 1, 1.5, 2])
    wrong = {}
    for name, call in CALLS.items():
        expected = np.concatenate([np.ravel(part) for part in call(model, *states)])
        try:
            found = np.concatenate([np.ravel(part) for part in call(model, *(FORMS[form](state) for state in states))])
        except Exception as error:
            wrong[name] = repr(error)[:80]
        else:
            if found.dtype != np.float64 or not np.array_equal(found, expected):
                wrong[name] = f"{found} instead of {expected}"
    assert wrong == {}


@pytest.mark.parametrize("call", ["forward_dynamics", "inverse_dynamics"])
class TestOut:
    def test_result_is_written_there(self, model: tt.Model, call: str) -> None:
        out = np.empty(4)
        assert getattr(model, call)(UNIT, np.ones(4), np.ones(4), out=out) is out
        np.testing.assert_array_equal(out, getattr(model, call)(UNIT, np.ones(4), np.ones(4)))

    @pytest.mark.parametrize("which", range(3))
    def test_it_may_be_one_of_the_arguments(self, engine: str, call: str, which: int) -> None:
        m = hinged(joint=tt.Cylindrical("hinge", axis=[1, 2, 3], stiffness=[1, 2], damping=0.5)).resolve(engine)
        states = np.random.default_rng(0).normal(size=(3, 2))
        expected = getattr(m, call)(*states)
        np.testing.assert_allclose(getattr(m, call)(*states, out=states[which]), expected, rtol=1e-12)

    @pytest.mark.parametrize(
        "out",
        [
            np.empty(3),
            np.empty((1, 4)),
            np.empty(4, dtype=int),
            np.empty(4, dtype=np.float32),
            read_only(np.empty(4)),
            [0.0] * 4,
        ],
        ids=["short", "two axes", "int", "float32", "read-only", "list"],
    )
    def test_what_cannot_hold_the_result_is_refused(self, model: tt.Model, call: str, out: Any) -> None:
        with pytest.raises(tt.ModelError) as caught:
            getattr(model, call)(UNIT, np.ones(4), np.ones(4), out=out)
        assert caught.value.where == "out"


HAND_INERTIA = ("hand.inertia.xx", "hand.inertia.yy", "hand.inertia.zz")


class TestNamesOfArguments:
    def test_prescribing_twice(self, model: tt.Model) -> None:
        z = np.zeros(4)
        pairs = ((["hinge", "hinge"], "hinge"), (["ball", "ball.ry"], "ball.ry"), (["ball.rx", "ball"], "ball.rx"))
        for prescribed, twice in pairs:
            with pytest.raises(tt.ModelError) as caught:
                model.hybrid_dynamics(model.neutral(), z, z, z, prescribed)
            assert (caught.value.code, caught.value.where) == ("prescribed-twice", "prescribed")
            assert "expected each coordinate once" in str(caught.value)
            assert f"{twice} is there already" in str(caught.value)

    @pytest.mark.parametrize(
        ("code", "call", "advice"),
        [
            ("unknown-coordinate", lambda m, q, z: m.hybrid_dynamics(q, z, z, z, ["hing"]), "did you mean 'hinge'?"),
            ("unknown-coordinate", lambda m, q, z: m.configuration({"hinje": 1.0}), "did you mean 'hinge'?"),
            ("unknown-coordinate", lambda m, q, z: m.velocity({"bal": [1, 2, 3]}), "did you mean 'ball'"),
            ("unknown-port", lambda m, q, z: m.pose("arm.tipp", q), "did you mean 'arm.tip'"),
            ("unknown-port", lambda m, q, z: m.forward_dynamics(q, z, z, wrenches={"hnd": np.zeros(6)}), "did you mean 'hand'"),
            ("unknown-joint", lambda m, q, z: m.reaction("bal", q, z, z), "did you mean 'ball'?"),
            ("unknown-parameter", lambda m, q, z: m.with_parameters({"arm.mas": 1.0}), "did you mean 'arm.mass'"),
        ],
    )
    def test_unknown_names(self, model: tt.Model, code: str, call: Callable[..., Any], advice: str) -> None:
        with pytest.raises(tt.ModelError) as caught:
            call(model, model.neutral(), np.zeros(4))
        assert caught.value.code == code
        assert advice in str(caught.value)

    @pytest.mark.parametrize("wrench", [[1, 2, 3], np.full(6, np.nan), "push", None, [[1, 2, 3, 4, 5, 6]]], ids=str)
    def test_unusable_wrenches(self, model: tt.Model, wrench: Any) -> None:
        with pytest.raises(tt.ModelError) as caught:
            model.forward_dynamics(model.neutral(), np.zeros(4), np.zeros(4), wrenches={"hand": wrench})
        assert caught.value.where == "wrenches['hand']"
        assert "six finite numbers [F; T]" in str(caught.value)

    @pytest.mark.parametrize(
        ("values", "code", "where"),
        [
            ({"arm.mass": -1.0}, "negative-mass", "arm.mass"),
            ({"arm.mass": np.nan}, "not-finite", "arm.mass"),
            ({"arm.mass": "heavy"}, "wrong-type", "arm.mass"),
            ({"arm.mass": None}, "wrong-type", "arm.mass"),
            ({"hand.inertia.xy": 7.0}, "negative-inertia", "hand.inertia"),
            ({"hinge.axis.x": 0.0}, "zero-axis", "hinge.axis"),
            ({"hinge.armature": -1.0}, "negative-armature", "hinge.armature"),
            ({"gravity.x": np.inf}, "not-finite", "gravity.x"),
            ({"arm.tip.position.x": np.nan}, "not-finite", "arm.tip.position.x"),
            ({"hand.com.z": 0.0, **dict.fromkeys(HAND_INERTIA, 0.0)}, "massless-joint", "ball"),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_unusable_parameters(self, model: tt.Model, values: dict[str, Any], code: str, where: str) -> None:
        with pytest.raises(tt.ModelError) as caught:
            model.with_parameters(values)
        assert (caught.value.code, caught.value.where) == (code, where)


@pytest.mark.parametrize("engine", ENGINES)
def test_velocity_and_configuration_need_no_argument(engine: str) -> None:
    m = hinged().resolve(engine)
    assert m.velocity().tolist() == [0.0]
    assert m.configuration().tolist() == m.neutral().tolist()


@pytest.mark.parametrize(("entry", "finite"), [(1.0, True), (1e200, True), (np.nan, False), (-np.inf, False)])
def test_vectors_are_looked_at_whole(entry: float, finite: bool) -> None:
    assert all_finite(np.array([1.0, entry, 0.0])) is finite
