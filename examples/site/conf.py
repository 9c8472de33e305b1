"""Sphinx's settings for the site, equations as MathML, and links from code in texts to the reference. See `build.py`."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.domains.python import PyObject
from sphinx.ext.napoleon import NumpyDocstring
from sphinx.transforms import SphinxTransform

import titop

project, author, release = "titop", "the authors of titop", titop.__version__
extensions = ["myst_parser", "sphinx_design", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
html_theme, html_title, html_math_renderer = "furo", "titop", "mathml"
html_css_files, html_static_path = ["site.css"], ["_static"]
html_show_sphinx, html_copy_source = False, False
myst_enable_extensions, myst_heading_anchors = ["colon_fence", "dollarmath"], 4
default_role = "py:obj"
nitpick_ignore_regex = [("py:.*", ".*")]  # what stands in backticks in docstrings is a link where it names something
autodoc_typehints, autodoc_member_order = "none", "bysource"  # docstrings tell types, with shapes and units
autodoc_preserve_defaults, toc_object_entries = True, False
napoleon_google_docstring, napoleon_use_rtype, napoleon_custom_sections = False, False, [("Attributes", "params_style")]
suppress_warnings = ["myst.xref_ambiguous", "misc.highlighting_failure"]

#: What makes code of a text: quotes, attributes, calls with keywords, paths. And what makes an equation of another.
CODE = re.compile(
    r"[\"\\`@#~]|\*\*|\w\*|\w\.\w*[A-Za-z]|\b(True|lambda \w:|path|tt|name)\b|\w=|=\w|[a-z]{4,}\[|_-/|\.{3}|\w/[a-z]{4,}"
)
EQUATION = re.compile(r" <?= |\w \(\d [-+] |\^|²|\w / | /|\w x \w|^-?\w v$|/\w* [|(a-zA-Z]")
#: Words of equations in docstrings that TeX has a sign or a name for, and those of several letters that it leaves together.
SIGN = re.compile("alpha|beta|gamma|delta|eta|theta|kappa|lambda|mu|nu|omega|pi|rho|sigma|tau|zeta|Phi|Delta|int|sum|sqrt")
FUNCTION = re.compile("[Aa]d|atan2|blkdiag|cof|cosh?|det|diag|difference|exp|integrate|ln|log|sinh?|tanh?|tr")
WORD = re.compile(r"(?<![\\A-Za-z])(?:[a-z]{3,}(?:_[a-z]{3,})+|[A-Za-z]+\d*)|[\u0370-\u03ff]")


def as_tex(text: str) -> str | None:
    """Return an equation of a docstring, such as ``W = D (A - G) + h``, as TeX; None for what is code."""
    if CODE.search(text) or not EQUATION.search(text):
        return None
    for plain, sign in (("<=", r"\le"), ("*", r"\cdot"), ("⁻¹", "^-1"), ("²", "^2")):
        text = text.replace(plain, sign)
    text = WORD.sub(word_as_tex, re.sub(r"(?<=[\w)|]) x (?=[\w(|])", r" \\times ", text))
    argument = (
        r"(?:\\,)?([\^]|(?<!\\)_)(?:\(([^()]*)\)|(-?(?:[\d.]+|(?:\\,)?\\?[A-Za-z]+(?:_?{[^{}]*})*)))"  # of a power or an index
    )
    text = re.sub(argument, lambda found: f"{found[1]}{{{found[2] or found[3]}}}", text)
    for _ in range(2):  # one within another
        text = re.sub(r"\\sqrt\(((?:[^()]|\([^()]*\))*)\)", r"\\sqrt{\1}", text)
    return text


def word_as_tex(found: re.Match[str]) -> str:
    """Return TeX for a word, a letter with a number, or a Greek letter."""
    token = found[0]
    if not token.isascii():
        *_, kind, _, letter = unicodedata.name(token).split()
        return f"\\{letter.lower() if kind == 'SMALL' else letter.title()}"
    word = token.rstrip("0123456789")
    if FUNCTION.fullmatch(token):
        return rf"\operatorname{{{token}}}"
    if SIGN.fullmatch(word):
        word = f"\\{word}"
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


#: What the names that stand before a dot in texts are.
OWNERS = {"tt": ("titop", titop), "m": ("titop.Model", titop.Model), "s": ("titop.System", titop.System)}


class Linked(SphinxTransform):
    """Makes links to the reference of the names in code within texts, such as ``tt.trim`` and ``m.pose, twist``."""

    default_priority = 700

    def apply(self) -> None:
        for literal in list(self.document.findall(nodes.literal)):
            text = literal.astext()
            start = re.search(r"(?<![\w.\"])(tt|m|s)\.[A-Za-z]", text)
            if start is None or isinstance(literal.parent, nodes.reference | pending_xref):
                continue
            path, owner = OWNERS[start[1]]
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

    NumpyDocstring._parse_attribute_docstring = NumpyDocstring._consume_to_end  # what stands before a colon is no type
    for field in PyObject.doc_field_types:
        field.typerolename = ""  # types here are words with shapes and units: as links, each word would be looked for
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    app.connect("autodoc-process-docstring", equations, priority=400)  # before sections are read
    app.connect("autodoc-skip-member", is_left_out)
    app.add_transform(Linked)
