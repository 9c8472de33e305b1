"""Build the documentation as a site: ``python examples/site/build.py``; then open ``build/site/index.html``.

It needs the extra `docs`, and no network. Pages are those of `examples/pages/`, README, CONTRIBUTING, CHANGELOG and the gallery;
from the examples come pages with code and picture, from the docstrings the reference, from the tutorials notebooks, from all
of these `llms.txt`. Warnings are errors.
"""

from __future__ import annotations

import argparse
import inspect
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import jupytext
from sphinx.cmd.build import main as sphinx

import titop

ROOT = Path(__file__).resolve().parents[2]
SITE, PAGES = Path("examples/site"), Path("examples/pages")

#: Pages of the reference, sorted by task: their titles, and the rooms and files of what they describe.
GROUPS = {
    "Systems and files": "graph blocks.basics",
    "Bodies": "blocks.bodies blocks.basics.pose",
    "Joints": "blocks.joints",
    "Closures, gears, rolling": "blocks.constraints",
    "Springs, contact, cables, tendons": "blocks.interactions",
    "Loads, actuators, sensors, devices": "blocks.devices",
    "Around spacecraft": "blocks.surroundings",
    "The model": "solvers.model solvers.signals solvers.arguments",
    "Simulations": "solvers.simulation solvers.motions solvers.pictures",
    "Equilibria": "solvers.equilibrium",
    "Linear models": "solvers.linear solvers.linear_files",
    "Linear fractional models": "solvers.lft",
    "Robustness": "solvers.robust solvers.pointing",
    "Control loops and synthesis": "solvers.control solvers.synthesis",
    "Tuning": "solvers.tuning",
    "Studies": "solvers.studies solvers.support",
    "Programs, C, CUDA, FMU": "solvers.programs",
    "Blocks of your own": "blocks.contract blocks.checking graph.files.block_types",
}


def public() -> dict[str, list[str]]:
    """Return the public names by the title of their page, each with the page of the narrowest room that holds it."""
    rooms = {f"titop.{room}": title for title, listed in GROUPS.items() for room in listed.split()}
    found: dict[str, list[str]] = {title: [] for title in GROUPS}
    for name in titop.__all__:
        value = getattr(titop, name)
        if not inspect.ismodule(value):
            holding = [room for room in rooms if f"{value.__module__}.".startswith(f"{room}.")]
            found[rooms[max(holding, key=len)]].append(name)
    return found


def summary(name: str) -> str:
    """Return the first line of a public name's docstring."""
    return (inspect.getdoc(getattr(titop, name)) or "").splitlines()[0]


def entry(name: str) -> str:
    """Return the section that documents a public name; a class with what it inherits from bases that are not public."""
    value, title = getattr(titop, name), f"{name}\n{'-' * len(name)}\n\n"
    if not inspect.isclass(value):
        return f"{title}.. autofunction:: {name}\n"
    known = [base.__name__ for base in value.__mro__[1:] if base.__name__ in titop.__all__ or base.__module__ == "builtins"]
    return f"{title}.. autoclass:: {name}\n   :members:\n   :show-inheritance:\n   :inherited-members: {', '.join(known)}\n"


def write_reference(stage: Path) -> None:
    """Write a page for each group of public names: a table, then their docstrings."""
    (stage / "api").mkdir()
    for title, names in public().items():
        rows = "".join(f"   * - `{name}`\n     - {summary(name)}\n" for name in names)
        table = f".. list-table::\n   :widths: 25 75\n\n{rows}"
        text = f"{title}\n{'=' * len(title)}\n\n.. currentmodule:: titop\n\n{table}\n" + "\n".join(map(entry, names))
        (stage / "api" / f"{slug(title)}.rst").write_text(text, encoding="utf8")
    pages = "\n".join(f"   {slug(title)}" for title in GROUPS)
    (stage / "api" / "index.rst").write_text(
        f"All public names\n================\n\n.. toctree::\n\n{pages}\n", encoding="utf8"
    )


def slug(title: str) -> str:
    """Return the name of the file of a page of the reference."""
    return re.sub(r"\W+", "_", title.lower())


def write_examples(stage: Path) -> None:
    """Write a page for each example: what it is for, its picture, its code."""
    scripts = sorted((ROOT / "examples").glob("*.py"))
    for script in scripts:
        purpose, _, _ = script.read_text(encoding="utf8").removeprefix('"""').partition('"""')
        title, _, rest = purpose.partition("\n")
        rest = re.sub(r"(?<!`)`?``?([^`]+)``?`?(?!`)", r"`\1`", rest)
        text = f"# {script.stem}\n\n{title}\n{rest}\n\n![{script.stem}](gallery/{script.stem}.png)\n\n"
        text += f"```{{literalinclude}} {script.name}\n:language: python\n```\n"
        (stage / "examples" / f"{script.stem}.md").write_text(text, encoding="utf8")
        shutil.copy(script, stage / "examples")
    listed = "\n".join(script.stem for script in scripts)
    with (stage / "examples" / "README.md").open("a", encoding="utf8") as gallery:
        gallery.write(f"\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n")


def write_notebooks(stage: Path) -> None:
    """Write each tutorial as a notebook too, without pictures and printed results, which running it shows; link it."""
    for page in sorted((stage / PAGES).glob("tutorial_*.md")):
        text = page.read_text(encoding="utf8")
        cells = re.sub(r"```text\n.*?```\n|^!\[.*?\]\(.*?\)\n", "", text, flags=re.DOTALL | re.MULTILINE)
        jupytext.write(jupytext.reads(cells, "md"), page.with_suffix(".ipynb"))
        page.write_text(f"{text}\n[This page as a notebook]({page.stem}.ipynb)\n", encoding="utf8")


def stage_sources(stage: Path) -> None:
    """Lay all sources of the site out below one folder, as they lie in the repository."""
    shutil.copytree(ROOT / SITE, stage, ignore=shutil.ignore_patterns("*.pyc", "build.py", "__pycache__"))
    for folder in ("pages", "gallery", "models"):
        shutil.copytree(ROOT / "examples" / folder, stage / "examples" / folder)
    for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "examples/README.md"):
        shutil.copy(ROOT / name, stage / name)
    write_examples(stage)
    for page in stage.rglob("*.md"):
        text = page.read_text(encoding="utf8")
        page.write_text(re.sub(r"(\]\((?:examples/|\.\./)?\w+)\.py\)", r"\1.md)", text), encoding="utf8")
    write_notebooks(stage)
    write_reference(stage)


def first_paragraph(text: str) -> tuple[str, str]:
    """Return the title of a page and its first paragraph, in one line, without links."""
    title, _, rest = text.strip().partition("\n")
    line = " ".join(rest.strip().split("\n\n")[0].split())
    return title.lstrip("# "), re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", line)


def write_llms(stage: Path, site: Path) -> None:
    """Write `llms.txt`: what titop is, its pages and its public names, each in one line."""
    about = " ".join((ROOT / "README.md").read_text(encoding="utf8").split("\n\n")[1].split())
    lines = ["# titop", "", f"> {about}", "", "## Pages", ""]
    for page in sorted((stage / PAGES).glob("*.md")):
        title, purpose = first_paragraph(page.read_text(encoding="utf8"))
        lines.append(f"- [{title}]({PAGES / page.stem}.html): {purpose}")
    for title, names in public().items():
        lines += [
            "",
            f"## Reference: [{title}](api/{slug(title)}.html)",
            "",
            *(f"- `tt.{name}`: {summary(name)}" for name in names),
        ]
    (site / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf8")


def main(argv: Sequence[str] | None = None) -> int:
    """Build the site, and return Sphinx's exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("build/site"))
    site = parser.parse_args(argv).output
    stage = site.with_name(f"{site.name}_sources")
    for folder in (stage, site):
        shutil.rmtree(folder, ignore_errors=True)
    stage_sources(stage)
    code = sphinx(["-b", "html", "-n", "-q", "-W", "--keep-going", "-d", str(stage / ".doctrees"), str(stage), str(site)])
    if code == 0:
        write_llms(stage, site)
        print(f"written to {site / 'index.html'}")
    return code


if __name__ == "__main__":
    sys.exit(main())
