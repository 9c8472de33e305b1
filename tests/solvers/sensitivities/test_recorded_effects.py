"""Sensitivities at stacked states, by programs and kernels: against those of each state alone, which look at every block."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

import titop as tt
from tests.every_kind import SYSTEMS, states
from tests.solvers.sensitivities.test_sensitivities import assert_same, one_of_each
from titop.blocks.basics.spatial import Array
from titop.solvers.model import parameters
from titop.solvers.sensitivities.effects import Movable
from titop.solvers.sensitivities.recorded_effects import RecordedEffects
from titop.solvers.sensitivities.sensitivities import Sensitivities

pytestmark = pytest.mark.filterwarnings("ignore::titop.ModelWarning")

ROWS = 4
KINDS = ("a tree", "a free base", "springs, friction and stops", "contacts", "gears", "a planar loop", "states of joints")
#: Words in names of parameters that move ports or turn constraints.
GEOMETRIC = ("position", "rotation", "axis", "ratio", "directions")


def asked(m: tt.Model) -> list[str]:
    """Return parameters of each kind, inputs, and a port."""
    return [*one_of_each(m, 30), *m.input_names, m.port_names[-1]]


def both(m: tt.Model, names: list[str], rows: dict[str, Array]) -> tuple[Any, Any]:
    """Return the sensitivities of inverse and of forward dynamics at stacked states, or at one."""
    q, v, a, tau = (rows[name] for name in ("q", "v", "a", "tau"))
    return m.inverse_dynamics_sensitivities(q, v, a, names), m.forward_dynamics_sensitivities(q, v, tau, names)


def check(name: str) -> None:
    m = SYSTEMS[name]().resolve()
    names, rows = asked(m), states(m, ROWS)
    alone, u = Sensitivities(m, names), m.mechanism.inputs.whole(None)
    found = both(m, names, rows)
    for k in range(ROWS):
        q, v, a, tau = at = tuple(rows[name][k] for name in ("q", "v", "a", "tau"))
        single = both(m, names, dict(zip(("q", "v", "a", "tau"), at, strict=True)))
        expected = alone.of_efforts(q, v, a, {}, u), alone.of_accelerations(q, v, tau, {}, u)
        sizes = np.abs(m.inverse_dynamics(q, v, a)).max(), np.abs(m.forward_dynamics(q, v, tau)).max()
        for together, one, right, size in zip(found, single, expected, sizes, strict=True):
            assert [*together] == [*one] == names
            for each in names:
                assert np.array_equal(together[each][k], one[each]), each
                if each in m.parameters():
                    assert_same(m, each, one[each], right[each], size)
                else:
                    np.testing.assert_allclose(one[each], right[each], rtol=0, atol=1e-11 * max(np.abs(right[each]).max(), 1.0))


@pytest.mark.parametrize("name", KINDS)
def test_stacks_have_the_numbers_of_single_states(name: str) -> None:
    """To the last bit those of single calls, and to rounding (`assert_same`) those from each block at each state."""
    check(name)


@pytest.mark.parametrize("name", KINDS)
def test_what_is_left_to_single_states(name: str) -> None:
    """In loops and gears what moves ports or turns constraints; and functions that look at numbers: whether a ball rolls."""
    m = SYSTEMS[name]().resolve()
    left = {*Sensitivities(m, asked(m)).apart[0][1]}
    if m.is_constrained:
        assert left == {each for each in asked(m)[:-1] if any(word in each for word in GEOMETRIC)}
    else:
        assert left <= {"touch.rolling"}


@pytest.mark.parametrize(
    ("where", "what", "broken"),
    [
        (RecordedEffects, "_followed", lambda movable, moves, q, v, a: np.zeros((len(q), len(moves), v.shape[1]))),
        (Movable, "columns", lambda self, place: self._added[:6]),
    ],
)
def test_each_part_is_seen(where: Any, what: str, broken: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(where, what, staticmethod(broken) if what == "_followed" else broken)
    with pytest.raises(AssertionError):
        check("a tree")


def test_stiffness_beside_a_model_with_another() -> None:
    """Efforts are linear in it: differences of two models over one unit are exact to the rounding of efforts of some tens."""
    m = SYSTEMS["springs, friction and stops"]().resolve()
    rows = states(m, ROWS)
    q, v, a = rows["q"], rows["v"], rows["a"]
    found = m.inverse_dynamics_sensitivities(q, v, a, ["hinge1.stiffness"])["hinge1.stiffness"]
    value = m.parameters()["hinge1.stiffness"][0]
    more = m.with_parameters({"hinge1.stiffness": value + 1.0}).inverse_dynamics(q, v, a)
    np.testing.assert_allclose(found, more - m.inverse_dynamics(q, v, a), rtol=0, atol=1e-13)
    assert np.abs(found).max() > 0.01


def test_no_state_of_a_stack_is_asked_for_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor where inertias come from closed loops and gears; a placement in a loop is, as the negative control."""

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError

    for way in ("_at_state", "_alone"):
        monkeypatch.setattr(parameters, way, refuse)
    for name in ("a tree", "gears", "a planar loop", "gears in a loop"):
        m = SYSTEMS[name]().resolve()
        joints = [each for each in m.parameters() if each.endswith((".damping", ".stiffness"))][:2]
        rows, masses = states(m, ROWS), [each for each in m.parameters() if each.endswith(".mass")]
        both(m, masses, rows)
        both(m, [*masses[:1], *joints, "gravity.x", *m.input_names[:1], m.port_names[-1]], rows)
    place = next(each for each in m.parameters() if ".placement." in each)
    with pytest.raises(AssertionError):
        both(m, [place], rows)


@pytest.mark.parametrize("name", ["a tree", "a planar loop", "gears"])
def test_external_loads_of_each_state(name: str) -> None:
    """The bits of single calls, and to rounding what each block says; what moves ports goes row by row."""
    m = SYSTEMS[name]().resolve()
    names, rows, port = asked(m), states(m, ROWS), m.port_names[-1]
    given = [rows[each] for each in ("q", "v", "tau")]
    found = m.forward_dynamics_sensitivities(*given, names, {port: rows["wrenches"]}, rows["u"])
    alone, without = Sensitivities(m, names, [port]), m.forward_dynamics_sensitivities(*given, names)
    assert 0 < len(alone.apart[1][1]) < len(names)
    for k in range(ROWS):
        state, wrenches, u = [each[k] for each in given], {port: rows["wrenches"][k]}, rows["u"][k]
        single = m.forward_dynamics_sensitivities(*state, names, wrenches, u)
        expected, size = alone.of_accelerations(*state, wrenches, u), np.abs(m.forward_dynamics(*state, wrenches, u=u)).max()
        for each in names:
            assert np.array_equal(found[each][k], single[each]), each
            if each in m.parameters():
                assert_same(m, each, single[each], expected[each], size)
    assert any(np.abs(found[each] - without[each]).max() > 1e-3 for each in alone.apart[1][0])
    with pytest.raises(tt.ModelError, match="a port of the model"):
        m.inverse_dynamics_sensitivities(*given, names, {"nowhere": np.zeros(6)})


def test_an_open_loop_is_left_to_its_row() -> None:
    """The other rows keep their bits."""
    m = SYSTEMS["a planar loop"]().resolve()
    rows, names = states(m, ROWS), [each for each in m.parameters() if each.endswith(".mass")]
    closed = both(m, names, rows)[0].matrix
    rows["q"][2] += 1e-3
    opened = m.inverse_dynamics_sensitivities(rows["q"], rows["v"], rows["a"], names)
    for k, name in enumerate(names):
        others = [0, 1, 3]
        assert np.array_equal(opened[name][others], closed[others, k])
        one = m.inverse_dynamics_sensitivities(*(rows[x][2] for x in ("q", "v", "a")), [name])[name]
        np.testing.assert_allclose(opened[name][2], one, rtol=0, atol=1e-12 * np.abs(one).max())


class Tabled(tt.Interaction):
    """A pull in proportion to the distance, of a rate from a table that only numbers find their place in."""

    parameter_units: ClassVar = {"rate": "N/m"}

    def __init__(self, name: str, rate: float, error: type[Exception]) -> None:
        super().__init__(name)
        self.rate, self._error = self.reader.scalar("rate", rate), error

    def wrenches(self, R: Array, r: Array, V1: Array, V2: Array) -> tuple[Array, Array]:
        """Return the wrenches on both ports."""
        if not isinstance(np.real(r[0]), float):
            raise self._error("no number")
        pull = (1.0 if np.real(r[0]) > 0 else 3.0) * self.rate * r
        return np.concatenate([pull, np.zeros(3)]), np.concatenate([-R.T @ pull, np.zeros(3)])


@pytest.mark.parametrize("error", [KeyError, AssertionError])
def test_functions_that_raise_anything_where_numbers_are_not_known(error: type[Exception]) -> None:
    """They are asked at each state: efforts linear in the rate, to rounding of a few newtons."""
    s = tt.System("tabled", gravity=[0, 1, -9.81])
    link = tt.RigidBody("link", 1.0, [0.1, 0, 0], 0.1, ports={"tip": [0.4, 0, 0.1]})
    s.connect("world", link, tt.Revolute("hinge", axis=[0, 1, 0], damping=0.1))
    s.close_loop(s.world.add_port("post", [0.5, 0, 0]), link.port("tip"), Tabled("spring", 2.0, error))
    m = s.resolve()
    q, v, names = np.array([[0.3], [2.8]]), np.ones((2, 1)), ["spring.rate", "hinge.damping", "link.mass"]
    found = m.inverse_dynamics_sensitivities(q, v, v, names)
    more = m.with_parameters({"spring.rate": 3.0}).inverse_dynamics(q, v, v)
    np.testing.assert_allclose(found["spring.rate"], more - m.inverse_dynamics(q, v, v), rtol=0, atol=1e-13)
    assert np.abs(found["spring.rate"]).max() > 0.01
    np.testing.assert_allclose(found["hinge.damping"], v, rtol=0, atol=1e-15)


def test_far_from_the_world_beside_its_placement() -> None:
    """A hinge's placement asked for beside that of a base seven million metres away, which has that lever: as if alone."""
    m = SYSTEMS["a planet"]().resolve()
    rows, name = states(m, 2), "hingeL.placement.rotation.z"
    q, v, a = rows["q"], rows["v"], rows["a"]
    alone, both_asked = ([name], [name, "base.placement.rotation.z"])
    right = m.inverse_dynamics_sensitivities(q, v, a, alone)[name]
    assert np.abs(m.inverse_dynamics_sensitivities(q, v, a, both_asked)[name] - right).max() <= 1e-11 * np.abs(right).max()
    each = Sensitivities(m, both_asked).of_efforts(q[0], v[0], a[0], {}, m.mechanism.inputs.whole(None))[name]
    assert np.abs(each - right[0]).max() <= 1e-11 * np.abs(right).max()


@pytest.mark.parametrize("entry", ["mass", "damping"])
def test_what_is_wrong_in_a_row_says_in_which(entry: str) -> None:
    m = SYSTEMS["a tree"]().resolve()
    rows, names = states(m, ROWS), [next(each for each in m.parameters() if each.endswith(f".{entry}"))]
    rows["v"][3, 0] = np.nan
    with pytest.raises(tt.ModelError, match=r"v\[3"):
        m.inverse_dynamics_sensitivities(rows["q"], rows["v"], rows["a"], names)
