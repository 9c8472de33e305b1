"""H-infinity and H2 controllers: closed forms, matrix inequalities, slycot, refusals."""

from __future__ import annotations

from typing import Any

import control
import numpy as np
import pytest

import titop as tt
from titop.solvers.linear.matrices import Matrices
from titop.solvers.linear.peaks import peak_gain


def plant(A: Any, B1: Any, B2: Any, C1: Any, C2: Any, D11: Any = None, D12: Any = None, D21: Any = None, **more: Any) -> Any:
    """Return a plant (w, u) -> (z, y) with zeros where nothing is given."""
    A, B1, B2, C1, C2 = (np.atleast_2d(np.asarray(part, dtype=float)) for part in (A, B1, B2, C1, C2))
    z, w, y, u = len(C1), B1.shape[1], len(C2), B2.shape[1]
    D11, D12, D21 = (
        np.zeros(shape) if D is None else np.reshape(D, shape) for D, shape in ((D11, (z, w)), (D12, (z, u)), (D21, (y, w)))
    )
    D = np.block([[D11, D12], [D21, np.zeros((y, u))]])
    return control.StateSpace(A, np.hstack([B1, B2]), np.vstack([C1, C2]), D, remove_useless_states=False, **more)


def first_order(a: float, **more: Any) -> Any:
    """Return ``dx/dt = a x + w1 + u``, ``y = x + w2``, ``z = (x, u)``."""
    return plant(a, [[1, 0]], [[1]], [[1], [0]], [[1]], D12=[[0], [1]], D21=[[0, 1]], **more)


def random_plant(seed: int, n: int, through: bool = True, regular: bool = True) -> Any:
    """Return a plant with three disturbances, four errors, two measurements and two controls."""
    rng = np.random.default_rng(seed)
    parts = [rng.normal(size=shape) for shape in ((n, n), (n, 3), (n, 2), (4, n), (2, n))]
    D11, D12, D21 = (0.5 * rng.normal(size=shape) for shape in ((4, 3), (4, 2), (2, 3)))
    return plant(*parts, D11=D11 * through, D12=D12 * regular, D21=D21 * regular)


def least_gain(P: Any, y: int, u: int) -> float:
    """Return the infimum by the matrix inequalities of Gahinet and Apkarian (1994), solved by Clarabel."""
    cp = pytest.importorskip("cvxpy")
    pytest.importorskip("clarabel")
    n, w, z = P.nstates, P.ninputs - u, P.noutputs - y
    A, B1, B2, C1, C2 = P.A, P.B[:, :w], P.B[:, w:], P.C[:z], P.C[z:]
    D11, D12, D21 = P.D[:z, :w], P.D[:z, w:], P.D[z:, :w]
    X, Y, level = cp.Variable((n, n), symmetric=True), cp.Variable((n, n), symmetric=True), cp.Variable()

    def null(matrix: np.ndarray) -> np.ndarray:
        _, sizes, right = np.linalg.svd(matrix)
        return right[int((sizes > 1e-12).sum()) :].T

    def outer(inner: np.ndarray, count: int) -> np.ndarray:
        result = np.zeros((len(inner) + count, inner.shape[1] + count))
        result[: len(inner), : inner.shape[1]], result[len(inner) :, inner.shape[1] :] = inner, np.eye(count)
        return result

    first = cp.bmat([[A @ X + X @ A.T, X @ C1.T, B1], [C1 @ X, -level * np.eye(z), D11], [B1.T, D11.T, -level * np.eye(w)]])
    last = cp.bmat([[A.T @ Y + Y @ A, Y @ B1, C1.T], [B1.T @ Y, -level * np.eye(w), D11.T], [C1, D11, -level * np.eye(z)]])
    left, right = outer(null(np.hstack([B2.T, D12.T])), w), outer(null(np.hstack([C2, D21])), z)
    inequalities = [left.T @ first @ left, right.T @ last @ right]
    constraints = [(each + each.T) / 2 << 0 for each in inequalities]
    problem = cp.Problem(cp.Minimize(level), [*constraints, cp.bmat([[X, np.eye(n)], [np.eye(n), Y]]) >> 0])
    problem.solve(solver="CLARABEL")
    return float(level.value)


@pytest.mark.parametrize("a", [-1.0, 1.0])
def test_a_plant_of_first_order_in_closed_form(a: float) -> None:
    result = tt.hinfsyn(first_order(a), 1, 1)
    # X = Y and X Y = g^2 at the least level: g^2 - 2 a g - 2 = 0
    least = a + np.sqrt(a**2 + 2)
    assert result.optimum == pytest.approx(least, rel=2.1e-3), "to the bracket, 0.2 %"
    assert least <= result.gain <= 1.01 * least * (1 + 1e-6)


def test_the_h2_norm_in_closed_form() -> None:
    result = tt.h2syn(first_order(1.0), 1, 1)
    X = 1 + np.sqrt(2)  # of both Riccati equations; the cost is X + X X^2
    assert result.gain == pytest.approx(np.sqrt(X + X**3), rel=1e-12), "rounding"
    assert result.optimum == result.gain
    assert result.controller.A[0, 0] == pytest.approx(1 - 2 * X), "a - F - L"


@pytest.mark.parametrize("seed", [0, 2, 3, 4])
def test_regular_plants_as_slycot_has_them(seed: int) -> None:
    pytest.importorskip("slycot")
    P = random_plant(seed, 5)
    _, _, theirs, _ = control.hinfsyn(P, 2, 2)
    result = tt.hinfsyn(P, 2, 2)
    assert result.optimum == pytest.approx(theirs, rel=3e-3), "their level is known to 1e-3, ours to 2e-3"
    assert result.gain == pytest.approx(control.linfnorm(result.loop)[0], rel=1e-8), "another norm"
    assert result.optimum <= result.gain <= 1.01 * theirs


def test_a_plant_whose_level_slycot_tells_too_low() -> None:
    P = random_plant(1, 5)  # it tells 3.478 for a controller that reaches 3.677
    result = tt.hinfsyn(P, 2, 2)
    assert result.optimum == pytest.approx(least_gain(P, 2, 2), rel=2.1e-3), "the bracket"


@pytest.mark.parametrize("seed", range(4))
def test_h2_controllers_as_slycot_has_them(seed: int) -> None:
    pytest.importorskip("slycot")
    P = random_plant(seed, 5, through=False)
    result = tt.h2syn(P, 2, 2)
    theirs = P.lft(control.h2syn(P, 2, 2))
    assert result.gain == pytest.approx(control.system_norm(theirs, 2), rel=1e-9), "rounding"
    assert result.gain == pytest.approx(control.system_norm(result.loop, 2), rel=1e-9)


SINGULAR = {
    "no noise": lambda: plant([[0, 1], [-1, 0.1]], [[0], [1]], [[0], [1]], [[1, 0], [0, 0]], [[1, 0]], D12=[[0], [1]]),
    "free controls": lambda: plant([[0, 1], [2, 0]], [[0, 0], [1, 0]], [[1], [1]], [[1, 0]], [[1, 0]], D21=[[0, 1]]),
    "a zero on the axis": lambda: plant(
        [[0, 1], [-1, 0]], [[0, 0.5], [1, 0.2]], [[0], [1]], [[1, 0], [0, 0]], [[1, 0]], D12=[[1], [0.5]]
    ),
    "neither": lambda: random_plant(1, 3, regular=False),
    "neither, with feedthrough": lambda: random_plant(2, 4, regular=False),
}


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")  # the last digits, says cvxpy
@pytest.mark.parametrize("name", SINGULAR)
def test_singular_plants_by_matrix_inequalities(name: str) -> None:
    P = SINGULAR[name]()
    y = u = 2 if "neither" in name else 1
    result = tt.hinfsyn(P, y, u)
    infimum = least_gain(P, y, u)
    assert result.optimum == pytest.approx(infimum, rel=5e-3), "0.2 % of the bracket, and what the solver leaves"
    assert infimum * (1 - 1e-4) <= result.gain <= 1.01 * infimum * (1 + 1e-3), "never better than the infimum"
    assert result.gain == pytest.approx(peak_gain(Matrices.of(result.loop))[0])
    fastest = np.abs(result.controller.poles()).max()
    assert fastest < 1e5, "perturbed as much as a hundredth allows, not as little as rounding"


def hard_plant(seed: int) -> tuple[Any, int, int]:
    """Return a plant with undamped and other modes, one hardly moved, hardly seen, not excited or in no error; y and u."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(2, 11)), 0
    rng.normal(size=(n, n))
    A = np.zeros((n, n))
    while k < n:
        kind = rng.integers(4)
        if kind < 2 and k + 2 <= n:
            omega = 10 ** rng.uniform(-1, 1)
            damping = rng.choice([1e-6, 1e-3, -1e-2]) if kind else 0.0
            A[k : k + 2, k : k + 2] = [[0, omega], [-omega, -2 * damping * omega]]
            k += 2
        else:
            A[k, k] = rng.normal() * 10 ** rng.uniform(-1, 1)
            k += 1
    w, u, z, y = (int(rng.integers(*ends)) for ends in ((2, 4), (1, 3), (2, 4), (1, 3)))
    T = np.linalg.qr(rng.normal(size=(n, n)))[0]
    B1, B2, C1, C2 = (rng.normal(size=shape) for shape in ((n, w), (n, u), (z, n), (y, n)))
    mode, which, hardly = rng.integers(n), rng.integers(5), 10 ** rng.uniform(-5, -1)
    B2[mode] *= hardly if which == 0 else 1
    C2[:, mode] *= hardly if which == 1 else 1
    B1[mode] *= which != 2
    C1[:, mode] *= which != 3
    regular = rng.integers(2)
    D11 = 0.3 * rng.normal(size=(z, w)) * rng.integers(2)
    D12, D21 = rng.normal(size=(z, u)) * regular, rng.normal(size=(y, w)) * regular
    if not regular and rng.integers(2):
        D12 = np.zeros((z, u))
        D12[:, 0] = rng.normal(size=z)
    return plant(T.T @ A @ T, T.T @ B1, T.T @ B2, C1 @ T, C2 @ T, D11, D12, D21), y, u


#: Infima by Riccati equations in arithmetic of 60 digits, perturbed by 1e-14; in the same units.
HARD = {27: 0.751609, 43: 302.777, 61: 52.2316, 291: 8.36959, 372: 30811.2}


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.parametrize("seed", HARD)
def test_a_level_counts_if_a_loop_has_it(seed: int) -> None:
    """With rounding, Riccati equations of small perturbations tell levels that no loop has: up to a quarter was lost."""
    P, y, u = hard_plant(seed)
    result = tt.hinfsyn(P, y, u)
    assert result.optimum == pytest.approx(HARD[seed], rel=5e-3), "0.2 % of the bracket, and the perturbation"
    assert HARD[seed] * (1 - 1e-4) <= result.gain <= 1.01 * HARD[seed] * (1 + 1e-3)
    if seed != 372:  # too badly scaled for Clarabel
        assert HARD[seed] == pytest.approx(least_gain(P, y, u), rel=2e-3), "what the solver leaves of hidden modes"


def test_a_plant_with_a_nearly_hidden_mode_has_a_controller() -> None:
    """Half a million of its own gains; before it was refused."""
    P, y, u = hard_plant(280)
    with pytest.warns(tt.ModelWarning, match="unknown-optimum"):
        result = tt.hinfsyn(P, y, u)
    assert 495755 * (1 - 1e-4) <= result.gain <= 1.1 * 495755, "in arithmetic of 60 digits; rounding tells nearer to it"
    assert np.isnan(result.optimum)


def test_a_singular_h2_plant_needs_no_more_than_a_hundredth() -> None:
    P = SINGULAR["no noise"]()
    result = tt.h2syn(P, 1, 1)
    # without noise the state is known: the norm is that of full information, B1' X B1
    X = control.care(P.A, P.B[:, 1:], np.diag([1.0, 0.0]), np.eye(1))[0]
    infimum = np.sqrt(P.B[:, 0] @ X @ P.B[:, 0])
    assert result.optimum == pytest.approx(infimum, rel=2e-3), "of a perturbation by a millionth of a plant of second order"
    assert infimum <= result.gain <= 1.011 * infimum


def test_the_certified_norm_sees_a_peak_between_frequencies_of_a_grid() -> None:
    light = control.tf([1], [1, 2e-7, 1]) + control.tf([1], [1, 0.3, 7])
    gain, omega = peak_gain(Matrices.of(control.ss(light)))
    assert gain == pytest.approx(5e6, rel=1e-6), "one over twice the damping, but for the other part"
    assert omega == pytest.approx(1.0)
    # below the feedthrough at all frequencies that one would look at, and above it in between
    light = control.tf([1e-6], [1, 2e-7, 1]) + control.tf([1], [1, 0.3, 7]) + control.tf([3], [1])
    near = np.abs(light(1j * (1 + np.linspace(-1e-6, 1e-6, 20_001)))).max()
    assert peak_gain(Matrices.of(control.ss(light)))[0] == pytest.approx(near, rel=1e-6), "that grid"
    assert peak_gain(Matrices.of(control.ss([[1.0]], [[1.0]], [[1.0]], [[0.0]])))[0] == np.inf


def test_states_estimate_those_of_the_plant() -> None:
    P = first_order(1.0, inputs=["force", "noise", "u"], outputs=["error", "effort", "y"], states=["speed"])
    K, loop, gain = tt.hinfsyn(P, "y", "u")
    assert (K.state_labels, K.input_labels, K.output_labels) == (["speed_estimate"], ["y"], ["u"])
    assert (loop.state_labels, loop.input_labels, loop.output_labels) == (
        ["speed", "speed_estimate"],
        ["force", "noise"],
        ["error", "effort"],
    )
    assert gain == tt.hinfsyn(P, nmeas=1, ncon=1).gain == tt.hinfsyn(P, ["y"], ["u"]).gain
    # of H2, the estimation error does not depend on the estimate
    S = tt.h2syn(P, "y", "u")
    turned = np.array([[1, 0], [1, -1.0]])
    assert abs((turned @ S.loop.A @ np.linalg.inv(turned))[1, 0]) < 1e-12
    assert S.plant.output_labels == ["error", "effort", "y"]


def test_units_of_states_and_time_do_not_matter() -> None:
    P = random_plant(3, 4)
    T = np.diag([1e4, 1e-3, 1.0, 1e-6])
    other = control.StateSpace(1e5 * T @ P.A @ np.linalg.inv(T), 1e5 * T @ P.B, P.C @ np.linalg.inv(T), P.D)
    one, two = tt.hinfsyn(P, 2, 2), tt.hinfsyn(other, 2, 2)
    assert two.gain == pytest.approx(one.gain, rel=5e-3), "both within the bracket"
    assert two.optimum == pytest.approx(one.optimum, rel=4e-3), "the brackets"


@pytest.mark.parametrize("period", [0.0, 0.1])
def test_units_of_all_signals_do_not_matter_to_h2(period: float) -> None:
    """Powers of two: the numbers are the same but for the order in which they are rounded."""
    P = random_plant(3, 4, through=False)
    P = control.StateSpace(P.A / 2, P.B, P.C, P.D + np.pad(np.eye(2), ((4, 0), (3, 0))), period)
    x, u, y = (2.0 ** np.array(powers) for powers in ([20, -18, 3, -20], [20, -17], [-20, 19]))
    rows, columns = np.r_[np.full(4, 2.0**-9), y], np.r_[np.full(3, 2.0**15), u]
    speed = 1.0 if period else 2.0**20
    D = rows[:, None] * P.D * columns
    A, B, C = P.A / x * x[:, None], P.B * columns * x[:, None], rows[:, None] * P.C / x
    one, two = tt.h2syn(P, 2, 2), tt.h2syn(control.StateSpace(speed * A, speed * B, C, D, period), 2, 2)
    assert two.gain == pytest.approx(one.gain * 2.0**6 * np.sqrt(speed), rel=1e-9), "rounding times the condition"


# -- sampled -----------------------------------------------------------------------------------------------------------------


def sampled_plant(seed: int) -> Any:
    P = random_plant(seed, 4)
    return control.StateSpace(P.A / 2, P.B, P.C, P.D, 0.1)


@pytest.mark.parametrize("seed", range(3))
def test_a_sampled_plant_at_the_level_that_slycot_admits(seed: int) -> None:
    slycot = pytest.importorskip("slycot")
    P = sampled_plant(seed)
    result = tt.hinfsyn(P, 2, 2)
    assert result.controller.dt == 0.1
    assert result.gain == pytest.approx(control.linfnorm(result.loop)[0], rel=1e-8)
    numbers = 4, P.ninputs, P.noutputs, 2, 2
    slycot.sb10dd(*numbers, 1.005 * result.optimum, P.A, P.B, P.C, P.D)
    with pytest.raises(Exception, match="not admissible"):
        slycot.sb10dd(*numbers, 0.997 * result.optimum, P.A, P.B, P.C, P.D)


@pytest.mark.parametrize("seed", range(3))
def test_no_change_of_a_sampled_h2_controller_is_better(seed: int) -> None:
    P = sampled_plant(seed)
    result = tt.h2syn(P, 2, 2)
    assert result.gain == pytest.approx(control.system_norm(result.loop, 2), rel=1e-9)
    rng, K = np.random.default_rng(seed), result.controller
    for _ in range(10):
        step = [1e-4 * rng.normal(size=part.shape) for part in (K.A, K.B, K.C, K.D)]
        norms = []
        for sign in (-1, 1):
            parts = (part + sign * change for part, change in zip((K.A, K.B, K.C, K.D), step, strict=True))
            norms.append(control.system_norm(P.lft(control.StateSpace(*parts, 0.1)), 2))
        assert min(norms) > result.gain * (1 - 1e-12), "a minimum"
        assert abs(norms[1] - norms[0]) < 1e-2 * (sum(norms) - 2 * result.gain) + 1e-9, "smooth there: even but for third order"


def test_the_norm_of_a_sampled_loop_with_large_transients() -> None:
    """The energy of its pulse responses, plant and controller stepped apart; Gramians of this loop are all rounding."""
    rng = np.random.default_rng(5)
    A, B, C = (rng.normal(size=shape) for shape in ((8, 8), (8, 2), (2, 8)))
    D = np.array([[0.0, 1.0], [1.0, 0.0]])
    P = control.StateSpace(A, B, C, D, 0.1)
    K, _, gain = tt.h2syn(P, 1, 1)
    x, state, energy = np.zeros((8, 1)), np.zeros((8, 1)), 0.0
    w = 1.0
    for _ in range(1000):
        y = C[1:] @ x + D[1, 0] * w
        u = K.C @ state + K.D @ y
        energy += float(((C[:1] @ x + D[0, 1] * u) ** 2).sum())
        x, state = A @ x + B[:, :1] * w + B[:, 1:] @ u, K.A @ state + K.B @ y
        w = 0.0
    assert gain > 1e4, "large transients"
    assert gain == pytest.approx(np.sqrt(energy), rel=1e-6), "rounding times such transients"


def test_a_measurement_that_is_not_used_at_once_is_worse() -> None:
    """The negative control of the sampled controller: its strictly proper version."""
    P = sampled_plant(0)
    best = tt.h2syn(P, 2, 2)
    late = np.zeros((2, 2))
    K = best.controller
    assert np.abs(K.D).max() > 1e-3
    without = P.lft(control.StateSpace(K.A, K.B, K.C, late, 0.1))
    assert np.abs(without.poles()).max() >= 1 or control.system_norm(without, 2) > 1.001 * best.gain


# -- refusals ----------------------------------------------------------------------------------------------------------------


def test_hidden_modes_are_named() -> None:
    states = {"states": ["drift", "speed", "lag"], "inputs": ["w", "u"], "outputs": ["z", "y"]}
    A = [[0, 1, 0], [0, 0, 0], [0, 0, -1]]
    unseen = plant(A, [[0], [1], [1]], [[0], [1], [1]], [[1, 0, 1]], [[0, 1, 1]], **states)
    with pytest.raises(tt.ModelError, match="drift") as caught:
        tt.hinfsyn(unseen, "y", "u")
    assert [f.code for f in caught.value.findings] == ["undetectable-mode"]
    unmoved = plant(A, [[0], [1], [1]], [[0], [0], [1]], [[1, 0, 1]], [[1, 1, 1]], **states)
    with pytest.raises(tt.ModelError, match="speed") as caught:
        tt.h2syn(unmoved, "y", "u")
    assert [f.code for f in caught.value.findings] == ["unstabilizable-mode"]
    stable = plant(np.array(A) - 0.01 * np.eye(3), [[0], [1], [1]], [[0], [0], [1]], [[1, 0, 1]], [[1, 1, 1]], **states)
    assert tt.hinfsyn(stable, "y", "u").gain > 0, "hidden modes that decay do not matter"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ((), "wrong-type"),
        (("speed", 1), "unknown-signal"),
        ((["y[2]", "y[2]"], 1), "given-twice"),
        ((3, 1), "no-channel"),
        ((1, 3), "no-channel"),
        ((4, 1), "bad-value"),
        ((0, 1), "bad-value"),
        ((True, 1), "wrong-type"),
    ],
)
def test_wrong_signals(arguments: tuple[Any, ...], code: str) -> None:
    for synthesis in (tt.hinfsyn, tt.h2syn):
        with pytest.raises(tt.ModelError) as caught:
            synthesis(first_order(1.0), *arguments)
        assert caught.value.code == code


def test_channels_by_name_and_by_number_at_once() -> None:
    for more, where in (({"nmeas": 1}, "nmeas"), ({"ncon": 2}, "ncon")):
        with pytest.raises(tt.ModelError) as caught:
            tt.hinfsyn(first_order(1.0), 1, 1, **more)
        assert (caught.value.code, caught.value.where) == ("given-twice", where)


def test_other_refusals() -> None:
    with pytest.raises(tt.ModelError) as caught:
        tt.hinfsyn(np.eye(2), 1, 1)
    assert caught.value.code == "wrong-type"
    passing = plant(-1, [[1, 0]], [[1]], [[1], [0]], [[1]], D11=[[1, 0], [0, 0]], D12=[[0], [1]], D21=[[0, 1]])
    with pytest.raises(tt.ModelError, match=r"u\[0\] reaches y\[0\] at once") as caught:
        tt.h2syn(passing, 1, 1)
    assert caught.value.code == "infinite-norm"
    ringing = plant([[-1, 0], [0, 0.5]], [[1], [1]], [[1], [1]], [[1, 1]], [[1, 1]], dt=0.1)
    with pytest.raises(tt.ModelError) as caught:
        tt.hinfsyn(ringing, 1, 1)
    assert (caught.value.code, caught.value.where) == ("bad-pole", "plant")


def test_an_optimum_that_is_not_known_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Levels at which rounding hides that controllers exist; here it is a bracket that was made too high."""
    from titop.solvers.synthesis import synthesize

    monkeypatch.setattr(synthesize, "_least_level", lambda design, epsilon, known: min(known, 50.0))
    with pytest.warns(tt.ModelWarning, match="unknown-optimum"):
        result = tt.hinfsyn(first_order(1.0), 1, 1)
    assert np.isnan(result.optimum)
    assert np.isfinite(result.gain)


def test_feedthrough_from_disturbances_that_controls_take_back() -> None:
    P = plant(-1, [[1, 0]], [[1]], [[1]], [[1]], D11=[[0, 0.5]], D12=[[1]], D21=[[0, 1]])
    result = tt.h2syn(P, 1, 1)
    assert result.controller.D[0, 0] == pytest.approx(-0.5)
    assert result.gain == pytest.approx(control.system_norm(result.loop, 2), rel=1e-9)


def test_a_plant_without_states() -> None:
    P = control.ss([], [], [], [[0.5, 2.0], [1.0, 0.0]])
    assert tt.hinfsyn(P, 1, 1).gain < 1e-5, "u = -y / 4 but for the back-off"
    assert tt.hinfsyn(P, 1, 1).controller.nstates == 0
