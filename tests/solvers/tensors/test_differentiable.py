"""Functions for tensors, without a library of tensors: derivatives by entries of q as they are, and second ones."""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.every_kind import SYSTEMS, states
from tests.systems import Array, random_tree
from titop.solvers.programs import model_program, tracing
from titop.solvers.tensors import differentiable
from titop.solvers.tensors.differentiable import Differentiable, Dynamics, MassMatrix, ProgrammedFunction, TensorModel

#: Central differences with steps of 1e-5 have errors of their square times third derivatives, and of rounding over them.
DIFFERENCES = 2e-7
#: Two derivations of one number: what both round, times the numbers of operations and the conditioning of mass matrices.
ROUNDING = 1e-9

#: Which systems have functions for tensors by two ways: the model's own, and programs.
KINDS = ("a free base", "springs, friction and stops", "gears")


def _function(model: tt.Model, name: str, of: type[Differentiable], **options: Any) -> Differentiable:
    given = options.get("parameters", ()), options.get("inputs", ()), options.get("outputs")
    made = TensorModel(model, *given, lambda function: function)
    return of(model, name, given, made._recording)


def _arm(**options: Any) -> tt.Model:
    """Return a body that flies, with a hinge and a ball joint."""
    s = tt.System("arm", gravity=[0, 0, -9.81])
    hub = tt.RigidBody("hub", 2.0, [0, 0.1, -0.2], inertia=[1, 2, 2.5], ports={"side": [0.3, 0, 0]})
    upper = tt.RigidBody("upper", 1.0, [0, 0, -0.5], inertia=[0.1, 0.2, 0.15], ports={"tip": [0, 0, -1]})
    s.connect("world", hub, tt.Free("base"))
    s.connect(hub.port("side"), upper, tt.Revolute("hinge", axis=[0, 1, 0], damping=0.1))
    s.connect(upper.port("tip"), tt.RigidBody("lower", 1.0, [0, 0.1, -0.4], inertia=[0.1, 0.2, 0.15]), tt.Spherical("ball"))
    s.add_actuator(tt.Motor("motor", "hinge", gear=3.0))
    return s.resolve(**options)


def _given(function: Differentiable, rows: int = 3) -> list[Array]:
    """Return arguments of a function, with quaternions of any length."""
    rng, model = np.random.default_rng(5), function.model
    state = {name: rng.normal(size=(rows, size)) for name, size in function.sizes.items()}
    if "q" in state:
        state["q"] = np.array([model.random_configuration(rng) for _ in range(rows)])
        for start in model.mechanism.quaternions:
            state["q"][:, start : start + 4] *= rng.uniform(0.5, 2.0, (rows, 1))
    if "parameters" in state:
        state["parameters"] = np.tile(function._recording().nominal["parameters"], (rows, 1)) * rng.uniform(0.9, 1.1, (rows, 1))
    return [state[name] for name in function.sizes]


def _differences(compute: Any, given: list[Array], step: float = 1e-5) -> list[Array]:
    """Return central differences of an array (rows, m) by the entries of each argument."""
    found = []
    for k, x in enumerate(given):
        columns = []
        for j in range(x.shape[1]):
            moved = [[*given[:k], x + sign * step * np.eye(x.shape[1])[j], *given[k + 1 :]] for sign in (1, -1)]
            columns.append((compute(*moved[0]) - compute(*moved[1])) / (2 * step))
        found.append(np.stack(columns, axis=-1))
    return found


def _close(found: list[Array], expected: list[Array], tolerance: float) -> bool:
    size = max(1.0, *(float(np.abs(x).max(initial=0.0)) for x in expected))
    return all(np.abs(x - y).max(initial=0.0) <= tolerance * size for x, y in zip(found, expected, strict=True))


NAMES = ("forward_dynamics", "inverse_dynamics", "mass_matrix", "momentum", "configuration_rate", "center_of_mass")


@pytest.mark.parametrize("name", NAMES)
def test_slopes_are_those_of_the_values(name: str) -> None:
    function = _function(_arm(), name, ProgrammedFunction)
    given = _given(function)

    def flat(*given: Array) -> Array:
        return function.values(*given).reshape(len(given[0]), -1)

    expected = _differences(flat, given)
    assert _close(function.slopes(*given), expected, DIFFERENCES)
    scaled = [*(by * 1.001 for by in expected)]
    assert not _close(function.slopes(*given), scaled, DIFFERENCES), "the tolerance would not see a part in a thousand"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["forward_dynamics", "inverse_dynamics"])
def test_programs_and_the_models_own_agree(kind: str, name: str) -> None:
    model = SYSTEMS[kind]().resolve()
    at = states(model, 3)
    own, programmed = (_function(model, name, of) for of in (Dynamics, ProgrammedFunction))
    third = "tau" if name == "forward_dynamics" else "a"
    given = [at["q"], at["v"], at[third]]
    assert _close([own.values(*given)], [programmed.values(*given)], ROUNDING)
    if not model.mechanism.is_constrained:  # else derivatives are by other extensions off the constraints
        assert _close(own.slopes(*given), programmed.slopes(*given), ROUNDING)
        weights = np.random.default_rng(1).normal(size=at["v"].shape)
        assert _close(own.weighted(weights, *given), programmed.weighted(weights, *given), ROUNDING)


def test_own_slopes_follow_quaternions_of_any_length() -> None:
    model = _arm()
    for name in ("forward_dynamics", "inverse_dynamics"):
        own, programmed = (_function(model, name, of) for of in (Dynamics, ProgrammedFunction))
        given = _given(own)
        assert _close(own.slopes(*given), programmed.slopes(*given), ROUNDING)
        changes = [np.random.default_rng(k).normal(size=x.shape) for k, x in enumerate(given)]
        assert _close([own.change(*given, *changes)], [programmed.change(*given, *changes)], ROUNDING)
        assert not _close(
            [own.change(*given, *changes)], [programmed.change(*given, *changes[:2], 1.001 * changes[2])], ROUNDING
        )
        weights = np.random.default_rng(1).normal(size=given[1].shape)
        assert _close(own.weighted(weights, *given), programmed.weighted(weights, *given), ROUNDING)


@pytest.mark.filterwarnings("ignore:derivatives of inverse_mass_matrix")  # its program is long
@pytest.mark.parametrize("name", ["mass_matrix", "inverse_mass_matrix"])
def test_mass_matrices_are_the_models_own(name: str) -> None:
    """As programs say, and as differences do in a chain that is too long for these; not at twice a mass."""
    own, programmed = (_function(_arm(), name, of) for of in (MassMatrix, ProgrammedFunction))
    (given,), rng = _given(own), np.random.default_rng(1)
    changes, weights = rng.normal(size=given.shape), rng.normal(size=(len(given), own.model.nv**2))
    (slopes,) = programmed.slopes(given)
    assert _close([*own.slopes(given), own.change(given, changes)], [slopes, programmed.change(given, changes)], ROUNDING)
    assert _close(own.weighted(weights, given), programmed.weighted(weights, given), ROUNDING)
    heavy = _function(_arm().with_parameters({"lower.mass": 2.0}), name, MassMatrix)
    assert not _close(heavy.slopes(given), [slopes], 1e-3)
    long = _function(random_tree(np.random.default_rng(0), 20, kinds=["Revolute"]).resolve(), name, MassMatrix)
    (q,), weights = _given(long, rows=2), rng.normal(size=(2, long.model.nv**2))
    expected = _differences(lambda q: (weights * long.values(q).reshape(2, -1)).sum(axis=1, keepdims=True), [q])[0][:, 0]
    assert _close(long.weighted(weights, q), [expected], DIFFERENCES)


def test_what_has_mass_matrices_of_its_own() -> None:
    def kind(model: tt.Model, *given: Any) -> type[Any]:
        return type(TensorModel(model, *(given or ((), (), None)), lambda function: function).inverse_mass_matrix)

    assert kind(_arm()) is MassMatrix
    others = [_arm(engine="reference"), SYSTEMS["beams in water"]().resolve()]  # the second moves water along
    assert [*map(kind, others), kind(_arm(), ["lower.mass"], (), None)] == [ProgrammedFunction] * 3


def test_a_model_is_recorded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: Any = TensorModel(_arm(), (), (), None, lambda function: function)
    times, record = [], differentiable.recording
    monkeypatch.setattr(differentiable, "recording", lambda *given: times.append(1) or record(*given))
    monkeypatch.setattr(model_program, "recording", lambda *given: pytest.fail("once more"))
    for function in (made.momentum, made.nonlinear_effects):
        given = _given(function)
        function.weighted(np.ones((3, function.shape[0])), *given)
        expected = getattr(function.model, function.name)(function._unit(given[0]), *given[1:])
        assert _close([function.values(*given)], [expected], ROUNDING)
    assert len(times) == 1


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_second_derivatives_are_those_of_the_first(name: str) -> None:
    function = _function(_arm(), name, ProgrammedFunction)
    given = _given(function, rows=2)
    changes = [np.random.default_rng(7).normal(size=x.shape) for x in given]
    step = 1e-5
    ahead, behind = (function.slopes(*(x + sign * step * d for x, d in zip(given, changes, strict=True))) for sign in (1, -1))
    expected = [(x - y) / (2 * step) for x, y in zip(ahead, behind, strict=True)]
    assert _close(function.curvatures(*given, *changes), expected, DIFFERENCES)
    others = [np.random.default_rng(8).normal(size=x.shape) for x in given]
    assert _close(
        [function.second_change(*given, *changes, *others)], [function.second_change(*given, *others, *changes)], ROUNDING
    )


def test_parameters_and_inputs_are_arguments() -> None:
    model = _arm()
    names = ["lower.mass", "hinge.damping"]
    function = _function(model, "forward_dynamics", ProgrammedFunction, parameters=names, inputs=["motor"])
    assert list(function.sizes) == ["q", "v", "tau", "u", "parameters"]
    rng = np.random.default_rng(2)
    q = np.array([model.random_configuration(rng) for _ in range(3)])
    v, tau, u = rng.normal(size=(3, model.nv)), rng.normal(size=(3, model.nv)), rng.normal(size=(3, 1))
    nominal = np.tile(function._recording().nominal["parameters"], (3, 1))
    given = [q, v, tau, u, nominal]
    assert _close([function.values(*given)], [model.forward_dynamics(q, v, tau, u=u)], ROUNDING)
    by_names = model.forward_dynamics_sensitivities(q, v, tau, [*names, "motor"], u=u)
    by_u, by_parameters = function.slopes(*given)[3:]
    assert _close([by_parameters], [np.stack([by_names[name] for name in names], axis=2)], ROUNDING)
    assert _close([by_u[:, :, 0]], [by_names["motor"]], ROUNDING)


def test_the_reference_engine_computes_the_same() -> None:
    model = _arm(engine="reference")
    function, compiled = (_function(m, "momentum", ProgrammedFunction) for m in (model, _arm()))
    given = _given(function)
    assert _close(function.slopes(*given), compiled.slopes(*given), ROUNDING)


def test_many_rows_are_those_of_few() -> None:
    function = _function(_arm(), "forward_dynamics", Dynamics)
    given = _given(function, rows=1300)
    changes = [np.ones_like(x) for x in given]
    whole = function.change(*given, *changes)
    assert whole.shape == (1300, function.model.nv)
    assert np.array_equal(whole[1200:], function.change(*(x[1200:] for x in (*given, *changes))))


def test_wrong_arguments_are_told() -> None:
    model = _arm()
    made: Any = TensorModel(model, (), (), None, lambda function: function)
    with pytest.raises(AttributeError, match="forward_dynamics"):
        _ = made.forward_dynamic
    function = made.forward_dynamics
    q, v = np.zeros((1, model.nq)), np.zeros((1, model.nv))
    cases: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
        ((), {}, "wrong-shape"),
        ((q[:, :3],), {}, "wrong-shape"),
        ((q, v, v, v), {}, "wrong-arguments"),
        ((q,), {"q": q}, "wrong-arguments"),
        ((q,), {"parameters": v}, "unknown-argument"),
    ]
    for state, others, code in cases:
        with pytest.raises(tt.ModelError) as raised:
            function.given(state, others)
        assert raised.value.findings[0].code == code
    driven: Any = TensorModel(model, (), ["motor"], None, lambda function: function)
    for of, words in ((made, "name them when"), (driven, "nothing depends on it")):
        with pytest.raises(tt.ModelError, match=words):
            of.mass_matrix.given((q,), {"u": np.zeros(1)})
    with pytest.raises(tt.ModelError, match=r"lower\.mas"):
        TensorModel(model, ["lower.mas"], (), None, lambda function: function)
    assert repr(made) == "TensorModel('arm')"
    assert [x.shape for x in function.given((q,), {})] == [(1, model.nq), (model.nv,), (model.nv,)]


def test_no_rows_have_derivatives_of_no_rows() -> None:
    model = _arm()
    for name, of in (("forward_dynamics", Dynamics), ("momentum", ProgrammedFunction)):
        function = _function(model, name, of)
        given = [np.zeros((0, size)) for size in function.sizes.values()]
        m = int(np.prod(function.shape))
        assert function.change(*given, *given).shape == (0, m)
        assert [by.shape for by in function.weighted(np.zeros((0, m)), *given)] == [x.shape for x in given]


def test_quaternions_of_zeros_and_complex_numbers_are_told() -> None:
    model = _arm()
    q, v = np.array([model.neutral(), np.zeros(model.nq)]), np.zeros((2, model.nv))
    for name, of in (("forward_dynamics", Dynamics), ("mass_matrix", ProgrammedFunction)):
        function = _function(model, name, of)
        given = [q, v, v][: len(function.sizes)]
        with pytest.raises(tt.ModelError, match=r"q\[1, 3:7\]: got no length"):
            function.values(*given)
        with pytest.raises(tt.ModelError, match="complex numbers"):
            function.given([q + 0j], {})


def test_long_derivatives_are_told_and_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The functions have some tens of operations; their derivatives more than any limit that is set here."""
    model = _arm()
    function = _function(model, "center_of_mass", ProgrammedFunction)
    (q,) = _given(function)
    function.values(q)
    monkeypatch.setattr(tracing, "LONG", 10)
    with pytest.warns(tt.ModelWarning, match=r"derivatives of center_of_mass.*long-program"):
        function.slopes(q)
    monkeypatch.setattr(tracing, "LONGEST", 20)
    with pytest.raises(tt.ModelError, match=r"derivatives of center_of_mass.*long-program"):
        function.curvatures(q, q)


def test_threads_record_one_after_the_other() -> None:
    """All functions go on with one recording: in turns of some operations they would take each other's numbers."""
    model, names = _arm(), ("momentum", "mass_matrix", "nonlinear_effects")
    together: Any = TensorModel(model, (), (), None, lambda function: function)
    functions = {name: getattr(together, name) for name in names}
    given, found = {name: _given(function) for name, function in functions.items()}, dict[str, Any]()

    def derive(name: str) -> None:
        found[name] = functions[name]._derived(False)

    threads = [threading.Thread(target=derive, args=(name,)) for name in names]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    finally:
        sys.setswitchinterval(before)
    for name in names:
        alone, named = _function(model, name, ProgrammedFunction), dict(zip(functions[name].sizes, given[name], strict=True))
        expected, right = found[name].evaluate(named), alone._derived(False).evaluate(named)
        assert all(np.allclose(expected[of], right[of], rtol=0, atol=ROUNDING) for of in right)
