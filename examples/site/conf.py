"""Sphinx's settings for the site, equations as MathML, and links from code in texts to the reference. See `build.py`."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.domains.python import PyObject
from sphinx.transforms import SphinxTransform

import titop

project, author, release = "titop", "the authors of titop", titop.__version__
extensions = ["myst_parser", "sphinx_design", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme, html_title, html_math_renderer = "furo", "titop", "mathml"
html_css_files, html_static_path = ["site.css"], ["_static"]
html_show_sphinx, html_copy_source = False, False
myst_enable_extensions, myst_heading_anchors = ["colon_fence", "dollarmath"], 4
default_role = "py:obj"
nitpick_ignore_regex = [("py:.*", ".*")]  # what stands in backticks in docstrings is a link where it names something
autodoc_typehints, autodoc_member_order = "none", "bysource"  # docstrings tell types, with shapes and units
autodoc_preserve_defaults, toc_object_entries = True, False
napoleon_google_docstring, napoleon_use_ivar, napoleon_use_rtype = False, True, False
suppress_warnings = ["myst.xref_ambiguous", "misc.highlighting_failure"]

#: Words of equations in docstrings that TeX has a sign or a name for.
GREEK = set("alpha beta gamma delta eta theta kappa lambda mu nu omega pi rho sigma tau zeta Phi Delta int sum".split())
FUNCTIONS = set("Ad ad atan2 blkdiag cof cos cosh det diag difference exp integrate ln log sin sinh tan tanh tr".split())
SIGNS = {"*": r"\cdot", "<=": r"\le", "⁻¹": "^{-1}", "²": "^{2}", "Δ": r"\Delta", "δ": r"\delta", "ζ": r"\zeta", "σ": r"\sigma"}
SIGNS |= {"τ": r"\tau", "φ": r"\varphi", "β": r"\beta"}
TOKEN = re.compile(r"\s*(\d+(?:\.\d+)?(?:e-?\d+)?|[a-z]{3,}(?:_[a-z]{3,})+|[A-Za-z]+\d*|⁻¹|<=|'+|.)")
#: What makes code of an equation: texts, attributes, calls with keywords, paths. And what makes an equation of words.
CODE = re.compile(
    r"[\"\\`@#~]|\*\*|\w\*|\w\.\w*[A-Za-z]|\b(?:True|lambda \w:|path|tt|name)\b|\w=|=\w|[a-z]{4,}\[|_-/|\.\.\.|\w/[a-z]{4,}"
)
EQUATION = re.compile(r" <?= |\^|²|\w / | /|\w x \w|^-?\w v$|/\w* [|(a-zA-Z]")


def as_tex(text: str) -> str | None:
    """Return an equation of a docstring, such as ``W = D (A - G) + h``, as TeX; None for what is code."""
    if CODE.search(text) or not EQUATION.search(text):
        return None
    tokens = TOKEN.findall(text.strip())[::-1]

    def argument() -> str:
        """Read what a power, an index or a root applies to."""
        first = tokens.pop()
        return expression() if first in "({" else first + argument() if first == "-" else sign(first)

    def expression() -> str:
        """Read until the bracket that closes, or the end."""
        parts: list[str] = []
        while tokens and (token := tokens.pop()) not in (")", "}"):
            if token in ("^", "_"):
                parts[-1:] = [part.removesuffix(r"\,") for part in parts[-1:]]
                parts.append(f"{token}{{{argument()}}}")
            elif token == "sqrt":
                parts.append(rf"\sqrt{{{argument()}}}")
            elif token == "(":
                parts.append(f"({expression()})")
            elif token == "x" and parts and tokens and re.match(r"[\w(|]", tokens[-1]) and parts[-1][-1] not in "=+-":
                parts.append(r"\times")
            else:
                parts.append(sign(token))
        return " ".join(parts)

    return expression()


def sign(token: str) -> str:
    """Return TeX for a number, a sign or a name."""
    if token in SIGNS or not (word := re.match("[A-Za-z_]*", token)[0]):
        return SIGNS.get(token, token)
    if word in GREEK:
        word = f"\\{word}"
    elif token in FUNCTIONS:
        return rf"\operatorname{{{token}}}"
    elif len(word) > 2 or word in ("kp", "ki", "kd"):
        return rf"\,\mathrm{{{token}}}\,".replace("_", r"\_")
    return f"{word}_{{{digits}}}" if (digits := token[len(word.lstrip("\\")) :]) else word


def equations(app: Sphinx, what: str, name: str, found: object, options: Any, lines: list[str]) -> None:
    """Typeset the equations of a docstring."""
    text = re.sub(r"(?<!`)``([^`]+)``(?!`)", lambda m: f":math:`{tex}`" if (tex := as_tex(m[1])) else m[0], "\n".join(lines))
    lines[:] = text.split("\n")


def is_left_out(app: Sphinx, what: str, name: str, found: Any, skip: bool, options: Any) -> bool | None:
    """Leave out the fields of named tuples, which the docstring of the tuple tells."""
    return True if str(getattr(found, "__doc__", "")).startswith("Alias for field") else None


class Linked(SphinxTransform):
    """Makes links to the reference of the names in code within texts, such as ``tt.trim`` and ``m.pose, twist``."""

    default_priority = 700
    owners = {"tt": ("titop", titop), "m": ("titop.Model", titop.Model), "s": ("titop.System", titop.System)}

    def apply(self) -> None:
        for literal in list(self.document.findall(nodes.literal)):
            text = literal.astext()
            start = re.search(r"(?<![\w.\"])(tt|m|s)\.[A-Za-z]", text)
            if start is None or isinstance(literal.parent, nodes.reference | pending_xref):
                continue
            path, owner = self.owners[start[1]]
            known = titop.__all__ if owner is titop else dir(owner)
            pieces, last = [], 0
            for word in re.finditer(rf"(?:(?<![\w.\"]){start[1]}\.|(?<=, ))([A-Za-z]\w*)", text):
                if word[1] in known and not word[1].startswith("_"):
                    to = pending_xref("", refdomain="py", reftype="obj", reftarget=f"{path}.{word[1]}", refexplicit=True)
                    pieces += [nodes.Text(text[last : word.start()]), to]
                    to += nodes.inline("", word[0])
                    last = word.end()
            literal.children = []
            literal.extend([*pieces, nodes.Text(text[last:])])


def setup(app: Sphinx) -> None:
    """Add what stands here."""

    def inline(translator: Any, node: nodes.math) -> None:
        translator.body.append(tex2mathml(node.astext()))
        raise nodes.SkipNode

    def block(translator: Any, node: nodes.math_block) -> None:
        translator.body.append(f'<div class="math">{tex2mathml(node.astext(), as_block=True)}</div>')
        raise nodes.SkipNode

    for field in PyObject.doc_field_types:
        field.typerolename = ""  # types here are words with shapes and units: as links, each word would be looked for
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    app.connect("autodoc-process-docstring", equations, priority=400)  # before sections are read
    app.connect("autodoc-skip-member", is_left_out)
    app.add_transform(Linked)
