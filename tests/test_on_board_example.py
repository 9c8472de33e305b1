"""A controller and its plant in C, in two processes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.c_programs import COMPILER
from tests.example_scripts import EXAMPLES, script


def test_on_board(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)
    example = script("on_board")
    folder = tmp_path / "c"
    simulated, found = example["main"](["--output", str(tmp_path / "figure.png"), "--folder", str(folder)])
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert {path.name for path in folder.rglob("*.h")} == {"control.h", "plant.h"}
    assert np.abs(simulated[-1, :3] - example["pointing_control"].STEP).max() < 1e-4  # it has turned
    if COMPILER is None:
        assert "no C compiler" in capsys.readouterr().out
        return
    assert "two processes and tt.simulate differ by at most" in capsys.readouterr().out
    # steps of 20 ms at rates below 0.02 rad/s leave rounding alone; the simulation's tolerance is 1e-12
    assert np.abs(found - simulated).max() < 1e-12
    # a gain that differs by a millionth is seen
    source = folder / "control" / "control.c"
    source.write_text(source.read_text().replace("result[i] += ", "result[i] += 1.000001 * "))
    with pytest.raises(Exception, match="exit status 1"):
        example["build"](folder)
