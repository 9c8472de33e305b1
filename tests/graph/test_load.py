"""Examples of model files load."""

from __future__ import annotations

from tests.graph.files.model_texts import ROOT
from titop.graph.load import load


def test_every_example_loads() -> None:
    paths = list((ROOT / "examples" / "models").glob("*.toml"))
    assert paths
    for path in paths:
        load(path).check()
