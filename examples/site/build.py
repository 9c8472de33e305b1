"""Build the documentation as a site: ``python examples/site/build.py [folder]``.

Then open `index.html` in the folder, by default `build/site`. It needs the extra `docs`, and no network. Pages are those of
`examples/pages/`, README, CONTRIBUTING, CHANGELOG and the gallery; from the examples come pages with code and picture, from the
docstrings the reference, from the tutorials notebooks, from all of these `llms.txt`. Warnings are errors.
"""

from __future__ import annotations

import inspect
import re
import shutil
import sys
import tomllib
from pathlib import Path

import jupytext
from sphinx.cmd.build import main as sphinx

import titop

ROOT = Path(__file__).resolve().parents[2]
SITE, PAGES = Path("examples/site"), Path("examples/pages")

#: Pages of the reference by title: the rooms and files of what they describe.
GROUPS = tomllib.loads((ROOT / SITE / "groups.toml").read_text(encoding="utf8"))


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
    """Return the section of a public name: of a class with what it inherits, up to the first base that is public.

    Plain values by which it answers a base's questions are left out.
    """
    value, title = getattr(titop, name), f"{name}\n{'-' * len(name)}\n\n"
    if not inspect.isclass(value):
        return f"{title}.. autofunction:: {name}\n"
    order = value.__mro__[1:]
    known = next(k for k, base in enumerate(order) if base.__name__ in titop.__all__ or base.__module__ == "builtins")
    bases = order[known:]  # documented elsewhere
    plain = [key for key, held in vars(value).items() if not callable(held) and any(hasattr(base, key) for base in bases)]
    options = {"members": "", "show-inheritance": "", "inherited-members": ", ".join(base.__name__ for base in bases)}
    options["exclude-members"] = ", ".join(plain)
    return f"{title}.. autoclass:: {name}\n" + "".join(f"   :{key}: {text}\n" for key, text in options.items())


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
    """Write a page for each example: what it is for, its picture, its code; and list them below the gallery."""
    scripts = sorted((ROOT / "examples").glob("*.py"))
    for script in scripts:
        purpose, _, code = script.read_text(encoding="utf8").removeprefix('"""').partition('"""\n\n')
        shown = f"![{script.stem}](gallery/{script.stem}.png)\n\n```python\n{code}```\n"
        text = f"# {script.stem}\n\n{purpose.replace('``', '`')}\n{shown}"
        (stage / "examples" / f"{script.stem}.md").write_text(text, encoding="utf8")
    listed = "\n".join(script.stem for script in scripts)
    with (stage / "examples" / "README.md").open("a", encoding="utf8") as gallery:
        gallery.write(f"\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n")


def write_notebooks(stage: Path) -> None:
    """Write each tutorial as a notebook too, without pictures and printed results, which running it shows; link it."""
    left_out = re.compile(r"```text\n.*?```\n|^!\[.*?\]\(.*?\)\n|\.savefig\([^)]*\)(?=\n)", re.DOTALL | re.MULTILINE)
    for page in sorted((stage / PAGES).glob("tutorial_*.md")):
        text = page.read_text(encoding="utf8")
        notebook = jupytext.reads(left_out.sub("", text), "md")
        notebook.cells = [cell for cell in notebook.cells if cell.source.strip()]
        notebook.metadata["kernelspec"] = {
            "name": "python3",
            "display_name": "Python 3",
            "language": "python",
        }  # or Jupyter asks
        jupytext.write(notebook, page.with_suffix(".ipynb"))
        page.write_text(text.replace("as a notebook", f"as a [notebook]({page.stem}.ipynb)", 1), encoding="utf8")


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


def write_llms(stage: Path, site: Path) -> None:
    """Write `llms.txt`: what titop is, its pages and its public names, each in one line."""
    about = " ".join((ROOT / "README.md").read_text(encoding="utf8").split("\n\n")[1].split())
    lines = ["# titop", "", f"> {about}", "", "## Pages", ""]
    for page in sorted((stage / PAGES).glob("*.md")):
        title, purpose = page.read_text(encoding="utf8").split("\n\n")[:2]
        purpose = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(purpose.split()))
        lines.append(f"- [{title.lstrip('# ')}]({PAGES / page.stem}.html): {purpose}")
    for title, names in public().items():
        rows = [f"- `tt.{name}`: {summary(name)}" for name in names]
        lines += ["", f"## Reference: [{title}](api/{slug(title)}.html)", "", *rows]
    (site / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf8")


def main(site: Path) -> int:
    """Build the site into a folder, and return Sphinx's exit code; its sources are laid out beside it."""
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
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "build/site")))
