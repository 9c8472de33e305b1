"""What users read first: the Python examples of README and pages run as printed, links and pictures are there."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import numpy as np
import pytest

import titop as tt
from titop.blocks.basics.spatial import twist_transport

ROOT = Path(__file__).parent.parent
README, PAGES, GALLERY = ROOT / "README.md", ROOT / "examples" / "pages", ROOT / "examples" / "gallery"
TEXTS = [README, ROOT / "examples" / "README.md", *sorted(PAGES.glob("*.md"))]
SCRIPTS = sorted(path.stem for path in (ROOT / "examples").glob("*.py"))


def snippets(text: str) -> list[str]:
    """Return the Python examples of a Markdown text."""
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


#: Pages whose code blocks build on each other, with what they print below them.
TUTORIALS = sorted(PAGES.glob("tutorial_*.md"))
EXAMPLES = [
    pytest.param(example, id=f"{path.stem}-{example.strip().splitlines()[0]}")
    for path in TEXTS
    if path not in TUTORIALS
    for example in snippets(path.read_text())
]
NAMES = {"np": np, "tt": tt, "twist_transport": twist_transport}


@pytest.mark.parametrize("example", EXAMPLES)
def test_example_runs(example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "examples").symlink_to(README.parent / "examples")
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "example", "exec"), dict(NAMES))


def unlike(printed: str, expected: str) -> str:
    """Return what differs: words, or numbers by more than two units of the last digit that is expected."""
    number = r"-?\d+\.?\d*(?:e[-+]\d+)?"
    if re.sub(r"[-\s]", "", re.sub(number, "#", printed)) != re.sub(r"[-\s]", "", re.sub(number, "#", expected)):
        return printed
    for got, wanted in zip(re.findall(number, printed), re.findall(number, expected), strict=True):
        if abs(float(got) - float(wanted)) > 2 * 10.0 ** -len(wanted.partition(".")[2].partition("e")[0]) * ("." in wanted):
            return f"{got} is not {wanted}"
    return ""


@pytest.mark.long
@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_tutorial_prints_what_its_page_says(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    blocks = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", path.read_text(encoding="utf8"), re.DOTALL)
    assert len(blocks) > 6
    for code, expected in blocks:
        exec(compile(code, path.name, "exec"), namespace)
        assert unlike(capsys.readouterr().out, expected) == ""


def test_the_comparison_of_prints_compares() -> None:
    """The negative control."""
    assert unlike("[ 0.1931 -0.   ]", "[0.193 0.   ]") == ""
    assert unlike("x 0.196", "x 0.193") == "0.196 is not 0.193"
    assert unlike("3 states", "4 states") == "3 is not 4"
    assert unlike("True 1", "False 1") == "True 1"


def test_telescope_oscillates_at_its_natural_frequency() -> None:
    namespace = dict(NAMES)
    exec(next(text for text in snippets((PAGES / "own_block.md").read_text()) if "class Telescope" in text), namespace)
    s = tt.System("telescope", gravity=[0, 0, 0])
    s.connect("world", namespace["Telescope"]("tube"), joint=tt.Weld("foot"))
    m = s.resolve()
    half_period = np.pi * np.sqrt(3.0 / 40.0)
    q = tt.simulate(m, [0, half_period], [0.1], [0.0]).q[-1]
    assert q == pytest.approx(-0.1, abs=1e-8)  # the integrator's default tolerance


def broken_links(path: Path, text: str) -> list[str]:
    """Return the links of a Markdown text that lead to no file, or to no heading of one."""
    broken = []
    for target in re.findall(r"\]\(([^)]+)\)", re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
        name, _, anchor = target.partition("#")
        file = path.parent / name if name else path
        if not file.exists() or (anchor and anchor not in anchors(file.read_text())):
            broken.append(target)
    return broken


def anchors(text: str) -> set[str]:
    """Return the anchors of a Markdown text's headings."""
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    assert broken_links(path, path.read_text("utf-8")) == []


def test_the_finder_of_broken_links_finds() -> None:
    """The negative control."""
    text = "# Two words, here\n[a](README.md) [b](#two-words-here) [c](#others) [d](nothing.md) [e](README.md#speed)"
    path = ROOT / "x.md"
    assert "two-words-here" in anchors(text)
    path_free = text.replace("[b](#two-words-here) [c](#others) ", "[c](README.md#others) ")
    assert broken_links(path, path_free) == ["README.md#others", "nothing.md"]


@pytest.mark.parametrize("path", [*PAGES.glob("*.md")], ids=lambda path: path.stem)
def test_every_page_is_linked_from_another(path: Path) -> None:
    assert any(path.name in other.read_text() for other in TEXTS if other != path)


@pytest.mark.parametrize("path", [*PAGES.glob("*.md")], ids=lambda path: path.stem)
def test_every_page_starts_with_what_it_is_for(path: Path) -> None:
    title, purpose = path.read_text(encoding="utf8").split("\n\n")[:2]
    assert title.startswith("# ")
    assert purpose.startswith(("This page ", "This tutorial ", "The words "))


def pixels(picture: Path) -> tuple[int, int]:
    """Return width and height of a PNG file, from its header."""
    return struct.unpack(">II", picture.read_bytes()[16:24])


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_example_has_a_picture_in_the_gallery(name: str) -> None:
    picture = GALLERY / f"{name}.png"
    assert f"gallery/{name}.png" in (ROOT / "examples" / "README.md").read_text()
    assert picture.stat().st_size < 120_000
    assert 500 < pixels(picture)[0] < 1000  # as wide as a page's text, 736 to 896 pixels, or a little more


def test_the_first_screen_is_short() -> None:
    before, _, _ = README.read_text().partition("\n## ")
    assert len(before.splitlines()) <= 45  # a screen
    assert len(re.findall(r"^!\[", before, re.MULTILINE)) == 1
    assert len(re.findall(r"```sh\n", before)) == 2
    assert max(len(example.strip().splitlines()) for example in snippets(before)) <= 12  # two imports, ten lines
