"""The documentation site: it builds without warnings, holds every public name, and needs no network."""

from __future__ import annotations

import re
import runpy
import zlib
from pathlib import Path
from typing import Any

import pytest

import titop

for package in ("sphinx", "myst_parser", "furo", "sphinx_design", "jupytext"):
    pytest.importorskip(package)

SITE = Path(__file__).parents[1] / "examples" / "site"
DOCUMENTED = {name for name in titop.__all__ if name not in ("blocks", "graph", "solvers")}


@pytest.fixture(scope="module")
def build() -> dict[str, Any]:
    return runpy.run_path(str(SITE / "build.py"))


def test_every_public_name_has_one_page(build: dict[str, Any]) -> None:
    listed = [name for names in build["public"]().values() for name in names]
    assert sorted(listed) == sorted(DOCUMENTED)


def test_every_public_name_stands_in_the_list_by_task() -> None:
    text = (SITE.parent / "pages" / "reference.md").read_text(encoding="utf8")
    named = {word for code in re.findall(r"`([^`\n]+)`", text) for word in re.findall(r"\w+", code)}
    assert named >= DOCUMENTED
    assert "Nothing" not in named  # the negative control


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("W = D (A - G) + h", "W = D (A - G) + h"),
        ("-ad(V)^T D V", r"-\operatorname{ad}(V)^{T} D V"),
        ("sqrt(m . m^2)", r"\sqrt{m . m^{2}}"),
        ("v + w x d", r"v + w \times d"),
        ("dx/dt = A x + B u", "dx/dt = A x + B u"),
        ("tangential_stiffness s / 2", r"\,\mathrm{tangential\_stiffness}\, s / 2"),
        ("2 lambda^2 = mu0", r"2 \lambda^{2} = \mu_{0}"),
        ("hub.C", None),
        ("compiled_law = tt.Law(law)", None),
        ('u={"motor": 2}', None),
        ("name/rotor", None),
    ],
)
def test_equations_of_docstrings(text: str, expected: str | None) -> None:
    assert runpy.run_path(str(SITE / "conf.py"))["as_tex"](text) == expected


@pytest.mark.long
def test_site(build: dict[str, Any], tmp_path: Path) -> None:
    """Builds in some 50 s; warnings are errors, so links and equations are right."""
    site = tmp_path / "site"
    assert build["main"](site) == 0
    inventory = zlib.decompress((site / "objects.inv").read_bytes().split(b"\n", 4)[4]).decode()
    found = {line.split()[0].removeprefix("titop.") for line in inventory.splitlines() if " py:" in line}
    assert found >= DOCUMENTED | {"Model.forward_dynamics", "Trajectory.plot", "System.connect", "LFTModel.close"}
    pages = {page: page.read_text(encoding="utf8") for page in site.rglob("*.html")}
    loaded = [
        link for text in pages.values() for link in re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="(http[^"]*)', text)
    ]
    assert loaded == []
    assert 'href="../../api/bodies.html#titop.RigidBody"' in pages[site / "examples" / "pages" / "reference.html"]
    assert (
        "Singular values (k, N m s/rad) of the Jacobian, at most three: along one of zero"
        in pages[site / "api" / "the_model.html"]
    )
    assert "<mi>W</mi>" in pages[site / "api" / "bodies.html"]
    assert pages[site / "examples" / "pages" / "theory_blocks.html"].count("<math") > 50
    for script in SITE.parent.glob("*.py"):
        assert f'alt="{script.stem}"' in pages[site / "examples" / f"{script.stem}.html"]
    texts = (site / "llms.txt").read_text(encoding="utf8")
    assert all(f"`tt.{name}`: " in texts for name in DOCUMENTED)
    for page in re.findall(r"\]\(([^)]*)\)", texts):
        assert (site / page).exists()

    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebooks = {path.name: path for path in site.rglob("*.ipynb")}
    assert len(notebooks) == 3
    notebook = nbformat.read(notebooks["tutorial_robots.ipynb"], as_version=4)
    nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert notebook.metadata["kernelspec"]["name"] == "python3"
    assert sum("image/png" in output.get("data", {}) for output in outputs) == 2  # where the page saves figures
    printed = "".join(output.get("text", "") for output in outputs)
    assert "('shoulder', 'elbow')" in printed
