"""Bounds of the structured singular value, against closed forms, another library, and each other."""

from __future__ import annotations

import importlib
import warnings
from pathlib import Path
from typing import Any

import control
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import titop as tt
from tests.refusals import refusal
from tests.solvers.robust.families import matrix, oscillator
from tests.solvers.robust.test_lower_bound import STRAIGHT, of_a_real_block_and_another, of_two_real
from tests.solvers.support.test_spread import Stubborn
from titop.solvers.lft.delta_blocks import Structure
from titop.solvers.robust.least_size import NONE
from titop.solvers.robust.lower_bound import lower_bound
from titop.solvers.robust.scalings import Centres
from titop.solvers.robust.upper_bound import upper_bound

REAL, COMPLEX, FULL = tt.DeltaBlock.real, tt.DeltaBlock.complex, tt.DeltaBlock.full

#: What the method of centres leaves above the optimum at its default tolerance.
ABOVE = 1e-3

#: Bounds add errors of rounding, or meet to some of them.
ROUNDING = 1e-9

MIXES = {
    "full": [FULL("a", 2), FULL("b", 2, 1), FULL("c")],
    "complex": [COMPLEX("a", 3), COMPLEX("b", 2)],
    "real": [REAL("a", 2), REAL("b"), REAL("c", 2)],
    "mixed": [REAL("a", 2), COMPLEX("b", 2), FULL("c", 2, 3)],
}


#: A programme's tolerance: slack below it is none.
SOLVED = 1e-6


def slack(M: np.ndarray, blocks: list[tt.DeltaBlock], level: float) -> float:
    """Return the largest t with ``level² D - M^H D M - j (G M - M^H G) >= t 1`` for any scalings of trace one, by cvxpy."""
    cp = pytest.importorskip("cvxpy")
    structure = Structure.of(blocks)
    w, z = structure.shape
    D_w, D_z, G, bounds, traces = np.zeros((w, w)), np.zeros((z, z)), np.zeros((w, z)), [], []
    for block, rows, columns in zip(blocks, structure.w, structure.z, strict=True):
        r, full = block.repetitions, block.kind == "full"
        D = cp.Variable((1, 1) if full else (r, r), hermitian=not full and r > 1, nonneg=full or r == 1)
        bounds.append(D >> 0)
        traces.append(cp.real(cp.trace(D)))
        E, T = np.eye(w)[rows], np.eye(z)[columns]
        D_w = D_w + (D[0, 0] * (E.T @ E) if full else E.T @ D @ E)
        D_z = D_z + (D[0, 0] * (T.T @ T) if full else T.T @ D @ T)
        if block.kind == "real":
            own = cp.Variable((r, r), hermitian=True) if r > 1 else cp.Variable((1, 1))
            G = G + E.T @ own @ T
    skew = cp.Constant(1j) * (cp.Constant(G) if isinstance(G, np.ndarray) else G) @ M
    F = level**2 * D_w - M.conj().T @ D_z @ M - skew - skew.H
    t = cp.Variable()
    programme = cp.Problem(cp.Maximize(t), [*bounds, (F + F.H) / 2 >> t * np.eye(w), sum(traces) == 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # where no slack is left it is known to fewer digits than the solver's own
        programme.solve(solver="CLARABEL")
    return float(t.value)


def test_one_full_block_is_the_gain() -> None:
    blocks = [FULL("a", 3, 2)]
    M = matrix(blocks, 0)
    bounds = tt.mu(M, blocks=blocks)
    gain = np.linalg.norm(M, 2)
    assert gain * (1 - 1e-6) <= bounds.lower[0] <= bounds.upper[0] * (1 + ROUNDING) <= gain * (1 + ABOVE)


def test_one_complex_number_is_the_spectral_radius() -> None:
    blocks = [COMPLEX("a", 4)]
    M = matrix(blocks, 1)
    bounds = tt.mu(M, blocks=blocks)
    radius = np.abs(np.linalg.eigvals(M)).max()
    np.testing.assert_allclose([bounds.lower[0], bounds.upper[0]], radius, rtol=ABOVE)


def test_one_real_number_is_the_largest_real_eigenvalue() -> None:
    blocks = [REAL("a", 4)]
    rng = np.random.default_rng(2)
    T = rng.normal(size=(4, 4))
    M = T @ np.array([[-3.0, 0, 0, 0], [0, 2, 0, 0], [0, 0, 0, 5], [0, 0, -5, 0]]) @ np.linalg.inv(T)
    bounds = tt.mu(M, blocks=blocks)
    np.testing.assert_allclose([bounds.lower[0], bounds.upper[0]], 3.0, rtol=ABOVE)
    free = tt.mu(M, blocks=[COMPLEX("a", 4)])
    np.testing.assert_allclose(free.upper[0], 5.0, rtol=ABOVE, err_msg="complex, the pair of eigenvalues counts too")


def test_a_rank_one_matrix_is_a_sum() -> None:
    """Of full blocks of size 1: mu of ``x y^H`` is the sum of ``|x y|``."""
    x, y = matrix([FULL("a", 1, 4)], 3).ravel(), matrix([FULL("a", 1, 4)], 4).ravel()
    bounds = tt.mu(np.outer(x, y.conj()), blocks=[FULL(name) for name in "abcd"])
    np.testing.assert_allclose([bounds.lower[0], bounds.upper[0]], np.abs(x * y).sum(), rtol=ABOVE)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("real", [0, 2, 4])
def test_blocks_of_size_one_agree_with_slycot(seed: int, real: int) -> None:
    slycot = pytest.importorskip("slycot")
    blocks = [REAL(f"r{k}") for k in range(real)] + [FULL("b", 2), FULL("c")]
    M = matrix(blocks, seed)
    kinds = np.array([1] * real + [2, 2])
    expected = slycot.ab13md(M, np.array([1] * real + [2, 1]), kinds)[0]
    found = tt.mu(M, blocks=blocks).upper[0]
    assert expected * (1 - 1e-5) <= found <= expected * (1 + ABOVE), "its own tolerance below, ours above"


@pytest.mark.parametrize(("mix", "seed"), [("real", 0), ("real", 5), ("mixed", 1), ("complex", 2)])
def test_repeated_blocks_agree_with_a_semidefinite_programme(mix: str, seed: int) -> None:
    """Below our bound no scaling proves anything, one per cent above it one does."""
    blocks = MIXES[mix]
    M = matrix(blocks, seed)
    found = tt.mu(M, blocks=blocks)
    assert slack(M, blocks, 0.99 * found.upper[0]) < SOLVED
    assert slack(M, blocks, 1.01 * found.upper[0]) > SOLVED
    assert found.lower[0] <= found.upper[0] * (1 + ROUNDING)


@settings(max_examples=16, deadline=None)
@given(mix=st.sampled_from(sorted(MIXES)), seed=st.integers(0, 10_000))
def test_the_lower_bound_is_never_higher(mix: str, seed: int) -> None:
    blocks = MIXES[mix]
    structure, M = Structure.of(blocks), matrix(blocks, seed)
    upper, lower = upper_bound(Centres(structure), M).level, lower_bound(M, structure)
    assert lower.value <= upper * (1 + ROUNDING) + ROUNDING
    if lower.value:
        singular = np.linalg.svd(np.eye(len(M)) - M @ structure.matrix(lower.deltas) / lower.value, compute_uv=False)[-1]
        assert singular < 1e-6, "what was found does make the loop singular"


def test_the_property_finds_what_is_wrong() -> None:
    """The negative control: bounds of real numbers are too low for complex ones."""
    found = 0
    for seed in range(10):
        M = matrix(MIXES["real"], seed)
        free = Structure.of([COMPLEX(b.name, b.repetitions) for b in MIXES["real"]])
        found += lower_bound(M, free).value > upper_bound(Centres(Structure.of(MIXES["real"])), M).level
    assert found


def test_two_real_parameters_agree_with_a_grid() -> None:
    """Of an undamped oscillator at its frequency: singular where k is ``m w²``, c zero; along the grid nothing nearer is."""
    matrices, blocks = oscillator((1.0, 3.0), (0.1, 0.5), (0.9, 1.1))
    (A, B, C, D) = (m[..., :2] if m is not matrices[0] else m for m in matrices)
    omega = 1.3
    M = (C @ np.linalg.solve(1j * omega * np.eye(2) - A, B) + D)[:2]
    bounds = tt.mu(M, blocks=blocks[:2])
    steps = np.linspace(-4, 4, 161)
    k, c = np.meshgrid(2 + steps, 0.3 + 0.2 * steps, indexing="ij")
    gap = np.abs(k - omega**2 + 1j * omega * c)
    at = np.unravel_index(np.argmin(gap), gap.shape)
    expected = 1 / np.abs([steps[at[0]], steps[at[1]]]).max()
    np.testing.assert_allclose([bounds.lower[0], bounds.upper[0]], 1 / 1.5, rtol=ABOVE)
    np.testing.assert_allclose(expected, 1 / 1.5, rtol=0.05 / 1.5, err_msg="the grid's own step")


def test_branching_closes_the_gap_at_a_frequency() -> None:
    """Of two real blocks, between whose bounds scalings leave a quarter; what is found is singular, and as large as said."""
    blocks = [REAL("a", 2, 1.0, 3.0), REAL("b", 2)]
    M = matrix(blocks, 4)
    whole, cells = tt.mu(M, blocks=blocks), tt.mu(M, blocks=blocks, gap=0.05)
    np.testing.assert_allclose(whole.lower, of_two_real(M, 2), rtol=STRAIGHT)
    assert whole.upper[0] > 1.2 * whole.lower[0]
    assert cells.lower[0] <= cells.upper[0] <= 1.05 * cells.lower[0] * (1 + ROUNDING)
    assert (whole.left[0], cells.left[0]) == (0, 0)
    delta = cells.deltas[0]
    assert np.linalg.svd(np.eye(4) - M @ delta, compute_uv=False)[-1] < ROUNDING
    np.testing.assert_allclose(np.linalg.norm(delta, 2), 1 / cells.lower[0], rtol=ROUNDING)
    np.testing.assert_allclose([cells.members[0]["a"], cells.members[0]["b"]], [2 + delta[0, 0], delta[3, 3]], rtol=ROUNDING)


@pytest.mark.parametrize("searched", [True, False])
def test_branching_closes_the_gap_with_complex_blocks(searched: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it finds on the way is kept: also where nothing was found before."""
    if not searched:
        monkeypatch.setattr("titop.solvers.robust.mu.lower_bound", lambda *_: NONE)
    blocks = [REAL("a"), COMPLEX("b", 2)]
    M = matrix(blocks, 3)
    bounds = tt.mu(M, blocks=blocks, gap=0.05)
    truth = of_a_real_block_and_another(M, 1, False)
    assert truth / 1.05 <= bounds.lower[0] <= truth * (1 + 1e-6), "of the scan"
    assert truth * (1 - 1e-6) <= bounds.upper[0] <= 1.05 * bounds.lower[0] * (1 + ROUNDING)
    assert bounds.left[0] == 0
    assert np.linalg.svd(np.eye(3) - M @ bounds.deltas[0], compute_uv=False)[-1] < ROUNDING


def test_without_a_singular_member_the_bound_falls() -> None:
    """No real numbers make this loop singular: there is nothing to be near to, and the bound falls to the part asked for."""
    blocks = [REAL("a", 2), REAL("b", 2)]
    M = matrix(blocks, 5)
    whole, cells = tt.mu(M, blocks=blocks), tt.mu(M, blocks=blocks, gap=0.3)
    assert of_two_real(M, 2) == whole.lower[0] == 0.0
    assert cells.upper[0] <= 0.3 * whole.upper[0] * (1 + ROUNDING)
    assert cells.members == ({},)
    assert not cells.deltas.any()


def test_channels_far_apart_do_not_spoil_the_bound() -> None:
    """Rows over six decades: 50 times too high from coordinates in which centres creep."""
    rng = np.random.default_rng(1)
    units = 10.0 ** rng.uniform(-3, 3, 4)
    blocks = [REAL("a", 2), REAL("b", 2)]
    bounds = tt.mu(units[:, None] * (rng.normal(size=(4, 4)) + 1j * rng.normal(size=(4, 4))), blocks=blocks)
    assert bounds.upper[0] <= 2 * bounds.lower[0], "scalings leave as much open in good units, see above"


def test_the_driver_is_the_block_with_the_range() -> None:
    M = np.diag([1.0, 5.0, 0.5])
    bounds = tt.mu(M, blocks=[REAL("small"), REAL("large"), COMPLEX("tiny")])
    assert bounds.driver == "large"
    assert bounds.shares[0].max() > 0.9


def test_bounds_of_a_state_space_can_be_drawn() -> None:
    matrices, blocks = oscillator((1.0, 3.0), (0.1, 0.5), (0.9, 1.1))
    bounds = tt.mu(control.ss(*matrices), np.array([0.0, 0.5, 1.4, np.inf]), blocks=blocks)
    assert (bounds.lower <= bounds.upper * (1 + ROUNDING)).all()
    np.testing.assert_allclose(bounds.upper[0], 0.5, rtol=ABOVE, err_msg="at zero the stiffness alone counts: 2 -+ 1")
    np.testing.assert_allclose(bounds.upper[-1], 0.1, rtol=ABOVE, err_msg="at infinity the mass alone: 1 -+ 0.1")
    assert len(bounds.plot().axes) == 2


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"lft": [[1.0, np.nan]]}, "wrong-type"),
        ({"lft": [[1.0]], "blocks": [REAL("a", 2)]}, "wrong-shape"),
        ({"lft": [[1.0]], "blocks": None}, "wrong-type"),
        ({"lft": [[1.0]], "blocks": [REAL("a", lower=1.0, upper=2.0, nominal=3.0)]}, "bad-range"),
        ({"lft": [[1.0]], "blocks": ["a"]}, "wrong-type"),
        ({"lft": control.ss([[-1.0]], [[1.0]], [[1.0]], [[0.0]]), "blocks": [REAL("a")]}, "wrong-type"),
        ({"lft": control.ss([[1.0]], [[1.0]], [[1.0]], [[0.0]]), "blocks": [REAL("a")], "omega": [1.0]}, "unstable-nominal"),
    ],
)
def test_wrong_arguments_are_told(arguments: dict[str, object], code: str) -> None:
    with pytest.raises(tt.ModelError) as caught:
        tt.mu(**arguments)
    assert caught.value.code == code


class TestSweeps:
    """Frequencies of a system with two blocks."""

    def bounds(self, **options: Any) -> tt.MuBounds:
        rng = np.random.default_rng(1)
        A = rng.normal(size=(4, 4))
        A -= (1 + np.linalg.eigvals(A).real.max()) * np.eye(4)
        system = control.ss(A, rng.normal(size=(4, 2)), rng.normal(size=(2, 4)), 0)
        return tt.mu(system, [0.1, 1.0, np.inf], [REAL("a"), COMPLEX("b")], progress=False, **options)

    def same(self, one: tt.MuBounds, other: tt.MuBounds, n: int = 3) -> bool:
        names = ("omega", "upper", "lower", "shares", "deltas", "left")
        return one.members[:n] == other.members and all(
            np.array_equal(getattr(one, name)[:n], getattr(other, name)) for name in names
        )

    def test_go_on_from_their_checkpoints(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        whole, module, calls = self.bounds(), importlib.import_module("titop.solvers.robust.mu"), list[int]()
        bound = module._bound

        def stopping(*arguments: Any) -> Any:
            if len(calls) == 2:
                raise KeyboardInterrupt
            calls.append(1)
            return bound(*arguments)

        monkeypatch.setattr(module, "_bound", stopping)
        with pytest.raises(tt.SweepInterrupt, match="2 of 3 frequencies") as stopped:
            self.bounds(checkpoint=tmp_path / "file")
        assert self.same(whole, stopped.value.found, 2)
        monkeypatch.setattr(module, "_bound", bound)
        assert self.same(whole, self.bounds(checkpoint=tmp_path / "file", workers=2))
        with refusal("other-sweep", "options"):
            self.bounds(checkpoint=tmp_path / "file", tolerance=1e-3)

    def test_stopped_with_a_frequency_missing(self) -> None:
        whole = self.bounds()
        with pytest.raises(tt.SweepInterrupt) as stopped:
            self.bounds(workers=Stubborn(1))
        found = stopped.value.found
        assert found.omega.tolist() == [0.1, np.inf]
        assert found.upper.tolist() == whole.upper[[0, 2]].tolist()
