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
from titop.solvers.robust.branch_and_bound import ParameterBox

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
    assert found.left > 0
    counts.stop = np.inf
    again = analysis(checkpoint=tmp_path / "file")
    assert counts.calls == cells
    assert str(numbers(again)) == str(numbers(whole))


def test_checkpoints_of_other_analyses_are_refused(tmp_path: Path) -> None:
    stability(checkpoint=tmp_path / "file")
    with refusal("other-sweep", "options"):
        stability(checkpoint=tmp_path / "file", tolerance=0.02)
    with refusal("other-sweep", "robust_stability"):
        gain(checkpoint=tmp_path / "file")
