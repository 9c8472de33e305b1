"""Regressors and inertial parameters: dynamics as a linear function of ten numbers of each rigid body."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import titop as tt
from tests.closed_systems import four_bar
from tests.flexible import random_system
from tests.systems import random_state, random_tree
from tests.tolerances import ROUNDING_OF_MANY
from titop.solvers.engines.compiled.acted_on import Variants


def tree(seed: int) -> tt.System:
    """Return a tree without springs, armatures and loads: with nothing but the bodies' inertia and weight."""
    return random_tree(np.random.default_rng(seed), 7, passive=False)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_regressor_times_parameters_is_inverse_dynamics(seed: int, engine: str) -> None:
    model = tree(seed).resolve(engine)
    q, v, a, _ = random_state(model, np.random.default_rng(seed))
    product = model.regressor(q, v, a) @ model.inertial_parameters()
    np.testing.assert_allclose(product, model.inverse_dynamics(q, v, a), **ROUNDING_OF_MANY)
    wrong = model.inertial_parameters()
    wrong += 1.0
    assert not np.allclose(model.regressor(q, v, a) @ wrong, model.inverse_dynamics(q, v, a), **ROUNDING_OF_MANY)


@pytest.mark.parametrize("seed", range(3))
def test_engines_agree_beside_flexible_bodies(seed: int) -> None:
    s = random_system(np.random.default_rng(seed))
    models = s.resolve(), s.resolve("reference")
    q, v, a, _ = random_state(models[0], np.random.default_rng(seed))
    compiled, reference = (model.regressor(q, v, a) for model in models)
    assert compiled.shape == (models[0].nv, len(models[0].inertial_parameter_names))
    np.testing.assert_allclose(compiled, reference, **ROUNDING_OF_MANY)


def test_columns_are_slopes_by_the_numbers() -> None:
    """Inverse dynamics are linear in the numbers, so that any step gives the slopes, with springs and loads as without."""
    model = random_tree(np.random.default_rng(3), 7, passive=True, loads=True).resolve()
    q, v, a, _ = random_state(model, np.random.default_rng(3))
    numbers, efforts, regressor = model.inertial_parameters(), model.inverse_dynamics(q, v, a), model.regressor(q, v, a)
    for k in np.flatnonzero(np.arange(len(numbers)) % 10 < 7)[::3]:  # products of inertia have no room of their own
        more = numbers.copy()
        more[k] += (step := 1e-3 * abs(numbers[k]))
        change = model.with_inertial_parameters(more).inverse_dynamics(q, v, a) - efforts
        np.testing.assert_allclose(change / step, regressor[:, k], rtol=1e-7, atol=1e-7)  # rounding of 1e-12 over the step


def test_regressor_against_pinocchio() -> None:
    pin = pytest.importorskip("pinocchio")
    s = tt.System("arm", gravity=[0, 0, -9.81])
    parent, placement = "world", pin.SE3.Identity()
    peer, rng = pin.Model(), np.random.default_rng(4)
    peer.gravity.linear = np.array([0, 0, -9.81])
    for k, joint in enumerate((pin.JointModelRX(), pin.JointModelRY(), pin.JointModelRZ(), pin.JointModelRX())):
        points = rng.normal(size=(4, 3))
        inertia = sum((x @ x) * np.eye(3) - np.outer(x, x) for x in points)
        body = tt.RigidBody(f"link{k}", 1.0 + k, com=rng.normal(size=3), inertia=inertia)
        position = rng.normal(size=3)
        s.connect(parent, body, tt.Revolute(f"joint{k}", axis=np.eye(3)[k % 3]), placement=position)
        peer.addJoint(k, joint, pin.SE3(np.eye(3), position), f"joint{k}")
        peer.appendBodyToJoint(k + 1, pin.Inertia(body.mass, body.com, body.inertia), placement)
        parent = body
    model = s.resolve()
    q, v, a, _ = random_state(model, rng)
    expected = pin.computeJointTorqueRegressor(peer, peer.createData(), q, v, a).reshape(model.nv, -1, 10)
    order = [0, 1, 2, 3, 4, 6, 9, 5, 7, 8]  # Pinocchio's xx, xy, yy, xz, yz, zz
    found = model.regressor(q, v, a).reshape(model.nv, -1, 10)
    np.testing.assert_allclose(found, expected[:, :, order], **ROUNDING_OF_MANY)


def test_stacked_states() -> None:
    model = tree(6).resolve()
    rng = np.random.default_rng(6)
    q, v, a = (np.array(rows) for rows in zip(*(random_state(model, rng)[:3] for _ in range(4)), strict=True))
    stacked = model.regressor(q, v, a)
    for row in range(4):
        np.testing.assert_allclose(stacked[row], model.regressor(q[row].tolist(), v[row], a[row]), **ROUNDING_OF_MANY)


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_numbers_there_and_back(engine: str) -> None:
    model = tree(7).resolve(engine)
    q, v, a, _ = random_state(model, np.random.default_rng(7))
    lighter = model.with_parameters({name: 0.7 * x for name, (x, _) in model.parameters().items() if name.endswith(".mass")})
    again = model.with_inertial_parameters(lighter.inertial_parameters())
    np.testing.assert_allclose(again.inverse_dynamics(q, v, a), lighter.inverse_dynamics(q, v, a), **ROUNDING_OF_MANY)
    np.testing.assert_allclose(again.inertial_parameters(), lighter.inertial_parameters(), **ROUNDING_OF_MANY)
    assert not np.allclose(again.inverse_dynamics(q, v, a), model.inverse_dynamics(q, v, a))


def test_numbers_that_nobody_has() -> None:
    s = tt.System("pendulum")
    s.connect("world", tt.RigidBody("bob", 2.0, com=[0, 0, -1], inertia=0.1), tt.Revolute("hinge", axis=[1, 0, 0]))
    model = s.resolve()
    numbers = model.inertial_parameters()
    for change, code in (([0, -3.0], "negative-mass"), ([4, -3.0], "negative-inertia"), ([0, -2.0], "massless-moment")):
        wrong = numbers.copy()
        wrong[change[0]] += change[1]
        with pytest.raises(tt.ModelError) as caught:
            model.with_inertial_parameters(wrong)
        assert caught.value.code == code
        assert "bob" in caught.value.where
    with pytest.raises(tt.ModelError, match="numbers"):
        model.with_inertial_parameters(numbers[:4])
    with pytest.raises(tt.ModelError, match=r"v\[0\]"):
        model.regressor([0.1], [np.nan], [0.0])


def test_identifying_an_arm() -> None:
    """Least squares on measured efforts find what there is to find of the parameters: efforts along another motion."""
    model = tree(8).resolve()
    rng = np.random.default_rng(8)
    measured = [random_state(model, rng)[:3] for _ in range(60)]
    rows = np.vstack([model.regressor(*state) for state in measured])
    efforts = np.concatenate([model.inverse_dynamics(*state) for state in measured])
    found = np.linalg.lstsq(rows, efforts, rcond=None)[0]
    state = random_state(model, rng)[:3]
    # the base parameters' condition number, some 1e3, times rounding of the efforts
    np.testing.assert_allclose(model.regressor(*state) @ found, model.inverse_dynamics(*state), rtol=1e-9, atol=1e-9)


def test_sensitivities_to_inertia_are_rows_of_one_matrix() -> None:
    model = tree(3).resolve()
    q, v, a, tau = random_state(model, np.random.default_rng(0))
    names = inertial_names(model)[::-1]
    for slopes in (
        model.inverse_dynamics_sensitivities(q, v, a, [*names, names[0]]),
        model.forward_dynamics_sensitivities(q, v, tau, iter(names)),
    ):
        assert list(slopes) == names
        assert len(slopes) == len(names)
        assert slopes.matrix.shape == (len(names), model.nv)
        for row, (name, slope) in zip(slopes.matrix, slopes.items(), strict=True):
            assert np.array_equal(slope, row)
            assert np.array_equal(slope, slopes[name])
        assert "hinge" not in slopes
        with pytest.raises(KeyError):
            slopes["hinge"]
    with pytest.raises(tt.ModelError, match="parameter"):
        model.inverse_dynamics_sensitivities(q, v, a, [*names, "mas"])


@pytest.mark.parametrize("closed", [False, True])
def test_sensitivities_are_those_of_the_reference_engine(closed, monkeypatch: pytest.MonkeyPatch) -> None:
    """The regressor's slopes beside complex steps of the reference resolver, which know nothing of it."""
    s = four_bar() if closed else tree(9)
    model = s.resolve()
    rng = np.random.default_rng(9)
    q, v, a, tau = random_state(model, rng)
    if closed:
        q = model.assemble(q)
        v = model.assemble_velocity(q, v)
        a = model.forward_dynamics(q, v, tau)
    names = inertial_names(model)
    found = model.inverse_dynamics_sensitivities(q, v, a, names), model.forward_dynamics_sensitivities(q, v, tau, names)
    monkeypatch.setattr(model.mechanism.inertial, "places", {})
    monkeypatch.setattr(model.mechanism.inertial, "met", {})
    chosen = names[::3]
    by_steps = model.inverse_dynamics_sensitivities(q, v, a, chosen), model.forward_dynamics_sensitivities(q, v, tau, chosen)
    for some, others in zip(found, by_steps, strict=True):
        size = max(np.abs(other).max() for other in others.values())
        for name in chosen:
            np.testing.assert_allclose(some[name], others[name], rtol=0, atol=1e-10 * size, err_msg=name)


def stacked_states(model, count, seed=0):
    """Return random configurations, velocities, accelerations and efforts, row by row."""
    rng = np.random.default_rng(seed)
    return tuple(np.array(rows) for rows in zip(*(random_state(model, rng) for _ in range(count)), strict=True))


def inertial_names(model):
    """Return the names of the parameters that the regressor differentiates by."""
    return [name for name in model.parameters() if name.split(".")[1] in ("mass", "com", "inertia")]


@pytest.mark.parametrize("count", [0, 1, 4])
@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_stacked_sensitivities_to_inertia(engine: str, count) -> None:
    model = tree(3).resolve(engine)
    q, v, a, tau = (rows[:count] for rows in stacked_states(model, 4))
    names = inertial_names(model)[::-1]
    for function, x in ((model.inverse_dynamics_sensitivities, a), (model.forward_dynamics_sensitivities, tau)):
        stacked = function(q, v, x, iter(names))
        assert list(stacked) == names
        assert stacked.matrix.shape == (count, len(names), model.nv)
        for row in range(count):
            single = function(q[row], v[row], x[row], names)
            np.testing.assert_allclose(stacked.matrix[row], single.matrix, **ROUNDING_OF_MANY)
        for place, name in enumerate(names):
            assert np.array_equal(stacked[name], stacked.matrix[:, place])


def asked_for(model, monkeypatch):
    """Return a list that is going to hold the bodies of each call of the kernel of efforts a unit of their numbers."""
    inertial, kernels, bodies = model.mechanism.inertial, model.mechanism.engine.calls.regressors, []
    ways = ("call", "at_stack")

    def counting(key, way):
        of = tuple(dict.fromkeys(body for body, _ in inertial.asked(*key)))
        return lambda *arguments, **more: bodies.append(of) or getattr(kernels[key], way)(*arguments, **more)

    counted = Variants(lambda key: SimpleNamespace(**{way: counting(key, way) for way in ways}))
    monkeypatch.setitem(vars(model.mechanism.engine.calls), "regressors", counted)
    return bodies


def test_sensitivities_to_one_body_ask_for_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """And are those that come with all others; in loops too."""
    for s in (tree(3), four_bar()):
        model = s.resolve()
        q, v, a, tau = random_state(model, np.random.default_rng(3))
        if model.is_constrained:
            q = model.assemble(q)
            v = model.assemble_velocity(q, v)
        names, asked = inertial_names(model), asked_for(model, monkeypatch)
        for function, x in ((model.inverse_dynamics_sensitivities, a), (model.forward_dynamics_sensitivities, tau)):
            every = function(q, v, x, names)
            for body in (model.mechanism.inertial_bodies[0], model.mechanism.inertial_bodies[-1]):
                asked.clear()
                own = [f"{body}.com.y", f"{body}.mass"]
                found = function(q, v, x, own)
                assert list(found) == own
                assert asked == [(body,)]
                size = max(np.abs(every[name]).max() for name in names)
                for name in own:
                    np.testing.assert_allclose(found[name], every[name], rtol=0, atol=1e-12 * size)


def test_stacked_sensitivities_cost_one_call_of_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tree(3).resolve()
    q, v, a, _ = stacked_states(model, 5)
    calls = asked_for(model, monkeypatch)
    model.inverse_dynamics_sensitivities(q, v, a, inertial_names(model))
    assert len(calls) == 1
    model.inverse_dynamics_sensitivities(q[0], v[0], a[0], inertial_names(model))
    assert len(calls) == 2


def loaded_pair():
    """Return an actuated arm of two bodies on a spring: with parameters, inputs and ports of every kind."""
    s = tt.System("arm", gravity=[0, 0, -9.81])
    for k, parent in enumerate(("world", "link0")):
        body = tt.RigidBody(f"link{k}", 1.0 + k, com=[0.2, 0, 0.1], inertia=0.1, ports={"tip": [0.5, 0, 0]})
        start = parent if parent == "world" else s[parent].port("tip")
        s.connect(start, body, tt.Revolute(f"hinge{k}", axis=[0, 1, 0.3], stiffness=2.0))
    s.add_actuator(tt.Thruster("jet", s["link1"].port("tip"), direction=[0, 0, 1]))
    return s


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
@pytest.mark.parametrize("closed", [False, True])
def test_stacked_sensitivities_to_anything(closed) -> None:
    """Springs, inputs and wrenches on ports, with and without loops; wrenches and inputs one a state or one for all."""
    model = (four_bar() if closed else loaded_pair()).resolve()
    q, v, a, tau = stacked_states(model, 3)
    if closed:
        q = np.array([model.assemble([0.5 + 0.1 * row, 0.2, -2.2]) for row in range(3)])
        v = np.array([model.assemble_velocity(*at) for at in zip(q, v, strict=True)])
        a = model.forward_dynamics(q, v, tau)
        port, names, u, own = "rocker.end", ["crank.mass", "gravity.y", "rocker.end"], None, [None] * 3
    else:
        port, names = "link1.tip", ["link0.mass", "hinge0.stiffness", "jet", "link1.tip"]
        u = own = np.array([[1.0], [2.0], [-1.0]])
    loads = np.random.default_rng(1).normal(size=(3, 6))
    for function, x in ((model.inverse_dynamics_sensitivities, a), (model.forward_dynamics_sensitivities, tau)):
        stacked = function(q, v, x, iter(names), {port: loads}, u)
        assert list(stacked) == names
        assert stacked[port].shape == (3, model.nv, 6)
        for row in range(3):
            single = function(q[row], v[row], x[row], names, {port: loads[row]}, own[row])
            for name in names:
                assert np.array_equal(stacked[name][row], single[name])
        nothing = function(q[:0], v[:0], x[:0], names)
        assert {name: (3, *each.shape[1:]) for name, each in nothing.items()} == {name: x.shape for name, x in stacked.items()}


@pytest.mark.parametrize("names", [["link0.mass"], ["hinge0.stiffness"]])
def test_unequal_stacks_are_refused(names) -> None:
    model = loaded_pair().resolve()
    q, v, a, tau = stacked_states(model, 3)
    for function, x, last in (
        (model.inverse_dynamics_sensitivities, a, "a"),
        (model.forward_dynamics_sensitivities, tau, "tau"),
    ):
        for state in ((q, v[:2], x), (q, v, x[:1])):
            with pytest.raises(tt.ModelError, match=f"q, v, {last}.*equally stacked"):
                function(*state, names)
        with pytest.raises(tt.ModelError, match="v"):
            function(q[0], v, x[0], names)
        with pytest.raises(tt.ModelError, match=r"q.*shape \(2,\)"):
            function(q[:, :1], v, x, names)
        with pytest.raises(tt.ModelError, match=r"v\[1, 0\]"):
            function(q, np.where(np.arange(6).reshape(3, 2) == 2, np.nan, v), x, names)
        with pytest.raises(tt.ModelError, match=r"wrenches\['link1.tip'\].*equally stacked"):
            function(q, v, x, ["hinge0.stiffness"], {"link1.tip": np.zeros((2, 6))})
