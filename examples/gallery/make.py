"""Make the gallery anew: run every example, and keep the pictures small.

Each example draws its own picture, 700 to 960 pixels wide; here its lines get colours that the colour-blind tell apart
(`matplotlibrc`), and all colours are cut to a palette, which takes a third of the bytes. `animation.png` is a still from a
browser, kept as it is.

Run it: ``python examples/gallery/make.py``, with the names of examples, or of pages such as ``tutorial_soft``, to make only
theirs.
"""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

GALLERY = Path(__file__).parent
COLOURS = 128
ENVIRONMENT = {**os.environ, "MPLBACKEND": "agg", "MATPLOTLIBRC": str(GALLERY)}


def shrink(picture: Path, name: str) -> None:
    """Keep a picture in the gallery, with a palette whose colours are means, so that those of lines stay what they were."""
    drawn = Image.open(picture).convert("RGB")
    drawn.quantize(COLOURS, kmeans=3, dither=Image.Dither.NONE).save(GALLERY / f"{name}.png", optimize=True)


def draw_diagram(picture: Path) -> None:
    """Draw the balloon's block diagram."""
    balloon = runpy.run_path(str(GALLERY.parent / "balloon.py"))
    balloon["build"]().draw(picture)


def draw_tutorial(name: str, folder: str) -> None:
    """Run the code of a tutorial's page, and keep the pictures that it saves."""
    text = (GALLERY.parent / "pages" / f"{name}.md").read_text(encoding="utf8")
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    subprocess.run([sys.executable, "-c", code], check=True, cwd=folder, env=ENVIRONMENT)
    for picture in re.findall(r"gallery/tutorial_(\w+)\.png", text):
        shrink(Path(folder) / f"{picture}.png", f"tutorial_{picture}")


def main() -> None:
    """Run the examples one after the other."""
    scripts = sorted(GALLERY.parent.glob("*.py"))
    tutorials = sorted((GALLERY.parent / "pages").glob("tutorial_*.md"))
    wanted = sys.argv[1:] or [*(path.stem for path in [*scripts, *tutorials]), "diagram"]
    with tempfile.TemporaryDirectory() as folder:
        for name in wanted:
            picture = Path(folder) / f"{name}.png"
            if name.startswith("tutorial_"):
                draw_tutorial(name, folder)
                continue
            if name == "diagram":
                draw_diagram(picture)
            else:
                command = [sys.executable, GALLERY.parent / f"{name}.py", "--output", picture]
                subprocess.run(command, check=True, env=ENVIRONMENT)
            shrink(picture, name)


if __name__ == "__main__":
    main()
