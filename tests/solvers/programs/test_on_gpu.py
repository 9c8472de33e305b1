"""Functions on a graphics processor, by kernels that run as C; what a device alone tells is in `examples/benchmarks/gpu.py`."""

from __future__ import annotations

import runpy
import sys
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.c_programs import needs_compiler
from tests.cuda_stand_in import StandIn, cupy  # noqa: F401
from tests.example_scripts import EXAMPLES
from tests.solvers.programs.test_export_programs import FUNCTIONS, free_states, lander

pytestmark = [needs_compiler, pytest.mark.usefixtures("cupy")]


class Foreign:
    """An array of a library that knows DLPack, on a kind of device."""

    def __init__(self, array: Any, device: int = 1) -> None:
        self.array, self.device = array, device

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device, 0

    def __dlpack__(self, **more: Any) -> Any:
        return self.array.__dlpack__(**more)

    def __array_namespace__(self) -> Any:
        return Foreign

    @classmethod
    def from_dlpack(cls, array: Any) -> Foreign:
        """Return an array of another library as one of this."""
        return cls(np.from_dlpack(array))


@pytest.fixture(scope="module")
def model() -> tt.Model:
    return lander().resolve()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_rows_and_columns(model: tt.Model, name: str) -> None:
    """Some hundred roundings; rows, columns, parts of larger arrays and one state have the same bits."""
    given, function = free_states(model, 131), model.on_gpu(name)
    rows = [given[of] for of in FUNCTIONS[name]]
    found = function(*rows)
    every = found if isinstance(found, tuple) else (found,)
    for k in (0, 130):
        single = getattr(model, name)(*(each[k] for each in rows))
        for one, other in zip(every, single if isinstance(single, tuple) else (single,), strict=True):
            np.testing.assert_allclose(one[k], other, rtol=1e-13, atol=1e-13 * np.abs(other).max())
    inside = [np.hstack([each, each])[:, : each.shape[1]] for each in rows]
    for others in ([np.asfortranarray(each) for each in rows], inside):
        again = function(*others)
        assert all(map(np.array_equal, every, again if isinstance(again, tuple) else (again,)))
    alone = function(*(each[7] for each in rows))
    for one, other in zip(every, alone if isinstance(alone, tuple) else (alone,), strict=True):
        np.testing.assert_array_equal(one[7], other)


def test_results_lie_as_arguments(model: tt.Model) -> None:
    given = free_states(model, 6)
    q, v, tau = (given[of] for of in ("q", "v", "tau"))
    function = model.on_gpu("forward_dynamics_derivatives")
    for state, last in (((q, v, tau), 8), ((np.asfortranarray(q), v, tau), 48)):
        assert {each.strides[-1] for each in function(*state)} == {last}


def test_motions_of_ports_and_what_is_prescribed(model: tt.Model) -> None:
    given = free_states(model, 5)
    found = model.on_gpu("jacobian", ports="arm.tip", frame="world")(given["q"])
    np.testing.assert_allclose(found, model.jacobian("arm.tip", given["q"], frame="world"), atol=1e-14)
    state = [given[of] for of in ("q", "v", "tau", "a")]
    hybrid = model.on_gpu("hybrid_dynamics", prescribed=["hinge"])(*state)
    for one, right in zip(hybrid, model.hybrid_dynamics(*state, ["hinge"]), strict=True):
        np.testing.assert_allclose(one, right, rtol=1e-12, atol=1e-12)


def test_single_precision(model: tt.Model) -> None:
    """The arm's inertia is a hundredth of the hub's: as the exported C."""
    given = free_states(model, 6)
    rows = [given[of] for of in ("q", "v", "tau")]
    found, right = model.on_gpu("forward_dynamics", "single")(*rows), model.forward_dynamics(*rows)
    assert found.dtype == np.float32
    assert np.abs(found - right).max() <= 2e-5 * np.abs(right).max()


def test_parameters_and_inputs_by_name(model: tt.Model) -> None:
    """What is not given is shared: numbers of the model, or zero."""
    masses, given = np.array([0.5, 1.0, 2.0]), free_states(model, 3)
    function = model.on_gpu("forward_dynamics", parameters=["arm.mass", "hub.mass"], inputs=["motor"])
    found = function(given["q"], given["v"], parameters={"arm.mass": masses}, u={"motor": 0.3})
    for k, mass in enumerate(masses):
        right = model.with_parameters({"arm.mass": mass}).forward_dynamics(given["q"][k], given["v"][k], np.zeros(7), u=[0.3])
        np.testing.assert_allclose(found[k], right, rtol=1e-12)


def test_arrays_of_other_libraries(model: tt.Model) -> None:
    """Results are of the library of the arguments; nothing is copied that has the precision."""
    given = free_states(model, 5)
    q, v, tau = (Foreign(given[of]) for of in ("q", "v", "tau"))
    found, status = model.on_gpu("forward_dynamics")(q, v, tau), np.full(5, 9, dtype=np.int32)
    assert isinstance(found, Foreign)
    np.testing.assert_array_equal(found.array, model.on_gpu("forward_dynamics")(q.array, v, tau, status=Foreign(status)).array)
    assert not status.any()


def test_results_without_numbers() -> None:
    """Rates of first-order states that the model has not, and outputs that nobody asked for, are there."""
    s = tt.System("swing", gravity=[0, 0, -9.81])
    s.connect("world", tt.RigidBody("bob", mass=2.0, com=[0, 0, -1]), joint=tt.Revolute("hinge", axis=[0, 1, 0]))
    m = s.resolve()
    found = m.on_gpu("rates")([[0.1], [0.2]], [0.0])
    assert [each.shape for each in found] == [(2, 1), (2, 1), (2, 0), (2, 0)]
    np.testing.assert_allclose(found[1], m.forward_dynamics([[0.1], [0.2]], [[0.0], [0.0]], [[0.0], [0.0]]), rtol=1e-13)


def test_states_without_health(model: tt.Model) -> None:
    """A mass of zero has no acceleration; others are right. Of statuses that are asked for nothing is raised."""
    s = tt.System("rail", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("cart", mass=2.0), joint=tt.Prismatic("rail", axis=[1, 0, 0]))
    function = s.resolve().on_gpu("forward_dynamics", parameters=["cart.mass"])
    status, given = np.zeros(3, dtype=np.int32), ([0.0], [0.0], [[1.0], [2.0], [np.nan]])
    masses = np.array([[0.5], [0.0], [1.0]])
    found = function(*given, parameters=masses, status=status)
    assert found[0, 0] == 2.0
    assert status.tolist() == [0, 1, -1]
    for rows, code in ((slice(0, 2), "no-health"), (slice(2, 3), "not-finite")):
        with pytest.raises(tt.ModelError) as error:
            function([0.0], [0.0], given[2][rows], parameters=masses[rows])
        assert [each.code for each in error.value.findings] == [code]


def test_quaternions(model: tt.Model) -> None:
    """They are divided by their norms, which have to be ones."""
    given, function = free_states(model, 3), model.on_gpu("mass_matrix")
    typed, status = given["q"].copy(), np.zeros(3, dtype=np.int32)
    typed[:, 3:7] *= 1 + 5e-7
    np.testing.assert_allclose(function(typed), function(given["q"]), rtol=1e-14, atol=1e-14)
    typed[1, 3:7] *= 1.001
    function(typed, status=status)
    assert status.tolist() == [0, -2, 0]
    with pytest.raises(tt.ModelError, match="mass_matrix, state 1"):
        function(typed)


def test_no_states(model: tt.Model) -> None:
    assert model.on_gpu("mass_matrix")(np.zeros((0, 8))).shape == (0, 7, 7)


def test_wrong_arguments(model: tt.Model) -> None:
    function, q = model.on_gpu("nonlinear_effects", parameters=["arm.mass"]), model.neutral()
    wrong: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
        ("wrong-shape", (q[:3], np.zeros(7)), {}),
        ("wrong-shape", (np.tile(q, (2, 1)), np.zeros((3, 7))), {}),
        ("wrong-shape", (q,), {"status": np.zeros(2, dtype=np.int32)}),
        ("wrong-type", (q * 1j,), {}),
        ("wrong-device", (Foreign(q, device=2),), {}),
        ("unknown-name", (q,), {"parameters": {"leg.mass": 1.0}}),
    ]
    for code, state, others in wrong:
        with pytest.raises(tt.ModelError) as error:
            function(*state, **others)
        assert [each.code for each in error.value.findings] == [code]
    for state, others in (((q, q, q), {}), ((q,), {"q": q}), ((q,), {"w": q})):
        with pytest.raises(TypeError, match="nonlinear_effects takes q, v"):
            function(*state, **others)
    for arguments, code in ((("speed",), "unknown-function"), (("mass_matrix", "half"), "bad-precision")):
        with pytest.raises(tt.ModelError) as error:
            model.on_gpu(*arguments)
        assert [each.code for each in error.value.findings] == [code]


def test_outputs_of_nothing() -> None:
    s = tt.System("slider")
    s.connect("world", tt.RigidBody("slider", mass=2.0), tt.Prismatic("rail", axis=[0, 0, 1]))
    assert s.resolve().on_gpu("outputs")(np.zeros((3, 1))).shape == (3, 0)


def test_without_cupy_or_a_device(model: tt.Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", StandIn(devices=0))
    with pytest.raises(RuntimeError, match="found no graphics processor of NVIDIA: see whether nvidia-smi"):
        model.on_gpu("mass_matrix")
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(ImportError, match=r"Model.on_gpu needs CuPy: pip install titop\[gpu\]"):
        model.on_gpu("mass_matrix")


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the names of the script that checks a device."""
    for folder in (EXAMPLES, EXAMPLES / "benchmarks"):
        monkeypatch.syspath_prepend(folder)
    return runpy.run_path(str(EXAMPLES / "benchmarks" / "gpu.py"))


def test_the_check_of_a_device_says_where_there_is_none(
    benchmark: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "cupy", StandIn(devices=0))
    assert benchmark["main"]([]) == 0
    assert capsys.readouterr().out.startswith("no device: ")


@pytest.mark.long
def test_the_check_of_a_device(benchmark: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    del benchmark["FUNCTIONS"]["dFD"]  # a minute of compiling
    assert benchmark["main"](["--dry", "--precise"]) == 0
    said = capsys.readouterr().out
    assert "0 failed; two of them differ from tt.simulate by" in said
    assert "0 failed; one differs from tt.simulate by" in said
    assert "of the targets in double precision: ID " in said
