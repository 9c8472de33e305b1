"""The README's Python examples run as printed."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import titop as tt
from titop.blocks.basics.spatial import twist_transport

README = Path(__file__).parent.parent / "README.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda text: text.strip().splitlines()[0])
def test_example_runs(example, tmp_path, monkeypatch, capsys):
    (tmp_path / "examples").symlink_to(README.parent / "examples")
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "README.md", "exec"), {"np": np, "tt": tt, "twist_transport": twist_transport})


def test_telescope_oscillates_at_its_natural_frequency():
    namespace = {"np": np, "tt": tt, "twist_transport": twist_transport}
    exec(next(text for text in EXAMPLES if "class Telescope" in text), namespace)
    s = tt.System("telescope", gravity=[0, 0, 0])
    s.connect("world", namespace["Telescope"]("tube"), joint=tt.Weld("foot"))
    m = s.resolve()
    half_period = np.pi * np.sqrt(3.0 / 40.0)
    q = tt.simulate(m, [0, half_period], [0.1], [0.0]).q[-1]
    assert q == pytest.approx(-0.1, abs=1e-8)  # the integrator's default tolerance
