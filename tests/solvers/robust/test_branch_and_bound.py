"""Parts of a box are examined by any number of processes, and go on from a file: the bounds are the same to the last bit."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import control
import numpy as np
import pytest

import titop as tt
from tests.refusals import refusal
from tests.solvers.robust.families import structure_of_modes
from titop.solvers.lft.delta_blocks import Structure
from titop.solvers.linear.matrices import Matrices
from titop.solvers.robust.branch_and_bound import ParameterBox, _Cell, _Examined, cells_spread
from titop.solvers.robust.least_size import NONE

BLOCKS = [tt.DeltaBlock.real("a", 1), tt.DeltaBlock.real("b", 2)]


def stability(**options: Any) -> tt.RobustStability:
    """Bound mu of two parameters, of which scalings leave 1 %."""
    A, B, C, D = structure_of_modes([1, 2], 4, 0.05, 1)
    return tt.robust_stability(control.ss(A, B, 4 * C, D), blocks=BLOCKS, gap=0.005, progress=False, **options)


def gain(**options: Any) -> tt.WorstCaseGain:
    """Bound a gain within most of the proved margin of the same parameters."""
    A, B, C, _ = structure_of_modes([1, 2], 4, 0.05, 1)
    B, C = np.hstack([2300.0 * B, [[0], [1], [0], [1]]]), np.vstack([C, [1, 0, 1, 0]])
    M = control.ss(A, B, C, np.zeros((4, 4)), inputs=["a", "b", "c", "f"], outputs=["p", "q", "r", "x"])
    return tt.worst_case_gain(M, "f", "x", blocks=BLOCKS, gap=0.002, progress=False, **options)


def numbers(result: Any) -> list[Any]:
    return [np.asarray(getattr(result, field.name), dtype=object).tolist() for field in fields(result)]


class Counting:
    """Counts cells, and presses Ctrl-C at one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, stop: float = np.inf) -> None:
        self.calls, self.stop, self.examine = 0, stop, ParameterBox.examine
        monkeypatch.setattr(ParameterBox, "examine", lambda box, cell: self.count(box, cell))

    def count(self, box: ParameterBox, cell: Any) -> Any:
        if self.calls == self.stop:
            raise KeyboardInterrupt
        self.calls += 1
        return self.examine(box, cell)


@pytest.mark.parametrize("analysis", [stability, gain])
def test_any_number_of_processes_gives_the_same_bits(analysis: Any) -> None:
    assert str(numbers(analysis())) == str(numbers(analysis(workers=2)))  # as text: some are no numbers


@pytest.mark.parametrize("analysis", [stability, gain])
def test_goes_on_from_its_checkpoint(analysis: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = Counting(monkeypatch)
    whole, cells = analysis(), counts.calls
    assert cells > 0
    counts.calls, counts.stop = 0, cells - 1
    with pytest.raises(tt.SweepInterrupt, match="bounds known") as stopped:
        analysis(checkpoint=tmp_path / "file")
    found = stopped.value.found
    assert found.lower <= whole.lower
    assert found.upper >= whole.upper * (1 - 1e-12)  # a bound that holds, if not as close
    assert 0 < found.left <= 1
    counts.stop = np.inf
    again = analysis(checkpoint=tmp_path / "file")
    assert counts.calls == cells
    assert str(numbers(again)) == str(numbers(whole))


def test_six_parameters_between_whose_bounds_is_a_factor_of_two() -> None:
    """Branching closes it: the member found is at the limit of stability, corners and random ones within the bound stable."""
    A, B, C, D = structure_of_modes([1] * 6, 6, 0.05, 4)
    blocks = [tt.DeltaBlock.real(f"p{k}") for k in range(6)]
    M = control.ss(A, B, C, D)
    loose = tt.robust_stability(M, blocks=blocks, margin=True, progress=False)
    assert loose.upper > 1.9 * loose.lower
    found = tt.robust_stability(M, blocks=blocks, gap=0.1, progress=False)
    assert found.left == 0
    assert found.upper <= found.lower * (1.1 + 1e-6)  # the bounds are known to rounding

    def abscissa(deltas: Any) -> float:
        return float(np.linalg.eigvals(A + B @ np.diag(deltas) @ C).real.max())

    # poles of single multiplicity: errors of rounding alone
    assert abscissa(np.array([found.member[f"p{k}"] for k in range(6)])) == pytest.approx(0.0, abs=1e-6)
    signs = np.array(np.meshgrid(*[[-1, 1]] * 6)).reshape(6, -1).T
    inside = np.vstack([signs, np.random.default_rng(0).uniform(-1, 1, (2000, 6))]) / found.upper
    assert max(abscissa(deltas) for deltas in inside) < 0
    assert max(abscissa(deltas) for deltas in 1.2 * found.upper / found.lower * inside) > 0, "a negative control"


class Half:
    """Examines cells of which those with a positive first parameter are proved, the others never; stops at one of them."""

    def __init__(self, stop: float = np.inf) -> None:
        self.calls, self.stop = 0, stop

    def __call__(self, box: ParameterBox, cell: _Cell) -> _Examined:
        self.calls += 1
        if self.calls == self.stop:
            raise KeyboardInterrupt
        half, step = cell.half * [0.5, 1], cell.half * [0.5, 0]
        proved = bool(cell.middle[0] > 0)
        halves = [] if proved else [_Cell(cell.middle + sign * step, half, []) for sign in (-1, 1)]
        return _Examined(NONE, None, proved, NONE, halves)


def test_the_part_proved_is_kept_when_cells_run_out_and_at_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the whole, its halves, and the quarters of the negative half only the positive half is proved."""
    box = ParameterBox(Matrices(*structure_of_modes([1, 2], 4, 0.05, 1)), Structure.of(BLOCKS), 1.0)
    for most, left in ((1, 1.0), (3, 0.5), (5, 0.5)):
        examined = Half()
        monkeypatch.setattr(ParameterBox, "examine", lambda box, cell, examined=examined: examined(box, cell))
        with cells_spread(1, None) as spread:
            proved, _, result = box.prove(most, False, spread, 0)
        assert not proved
        assert result == left
    stopped = Half(stop=5)
    monkeypatch.setattr(ParameterBox, "examine", lambda box, cell: stopped(box, cell))
    with pytest.raises(KeyboardInterrupt), cells_spread(1, None) as spread:
        box.prove(100, False, spread, 0)
    assert box.left == 0.5


def test_performance_is_branched_over_processes_and_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    A, B, C, _ = structure_of_modes([1, 2], 4, 0.05, 1)
    B, C = np.hstack([2300.0 * B, [[0], [1], [0], [1]]]), np.vstack([C, [1, 0, 1, 0]])
    M = control.ss(A, B, C, np.zeros((4, 4)), inputs=["a", "b", "c", "f"], outputs=["p", "q", "r", "x"])
    options: dict[str, Any] = {"blocks": BLOCKS, "gap": 0.002, "progress": False}
    whole = tt.robust_gain(M, "f", "x", **options)
    assert str(numbers(tt.robust_gain(M, "f", "x", workers=2, **options))) == str(numbers(whole))
    Counting(monkeypatch, stop=0)
    with pytest.raises(tt.SweepInterrupt, match="bounds known") as stopped:
        tt.robust_gain(M, "f", "x", **options)
    assert isinstance(stopped.value.found, tt.RobustGain)
    assert stopped.value.found.left == 1.0


def test_checkpoints_of_other_analyses_are_refused(tmp_path: Path) -> None:
    stability(checkpoint=tmp_path / "file")
    with refusal("other-sweep", "options"):
        stability(checkpoint=tmp_path / "file", tolerance=0.02)
    with refusal("other-sweep", "robust_stability"):
        gain(checkpoint=tmp_path / "file")
