"""Documentation kept honest: what is public is documented, with every parameter, and its examples run."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import titop

ROOT = Path(__file__).parent.parent
PUBLIC = {name: getattr(titop, name) for name in titop.__all__}


def modules() -> list[str]:
    """Return the dotted names of all of titop's modules, examples and tests apart."""
    names = [titop.__name__]
    for layer in ("blocks", "graph", "solvers"):
        package = importlib.import_module(f"titop.{layer}")
        names += [package.__name__, *(info.name for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."))]
    return names


def functions() -> Iterator[tuple[str, type | None, Callable[..., Any]]]:
    """Yield dotted name, class and function of every public function and method; each method where it is defined."""
    bases = {base for value in PUBLIC.values() if inspect.isclass(value) for base in value.__mro__}
    for name, value in PUBLIC.items():
        if inspect.isfunction(value):
            yield name, None, value
    for owner in sorted(bases, key=lambda base: base.__qualname__):
        if not owner.__module__.startswith("titop"):
            continue
        for member, attribute in vars(owner).items():
            function = getattr(attribute, "__func__", getattr(attribute, "fget", getattr(attribute, "func", attribute)))
            if not member.startswith("_") and inspect.isfunction(function):
                yield f"{owner.__qualname__}.{member}", owner, function


FUNCTIONS = {name: (owner, function) for name, owner, function in functions()}

#: Classes that users make; an abstract one is made for them.
CLASSES = {name: value for name, value in PUBLIC.items() if inspect.isclass(value) and not inspect.isabstract(value)}


def documentation(name: str) -> list[str]:
    """Return the docstrings of a function: its own, or of a method also those of the methods that it overrides."""
    owner, function = FUNCTIONS[name]
    if owner is None:
        return [function.__doc__ or ""]
    member = name.rpartition(".")[2]
    return [doc for base in owner.__mro__ if member in vars(base) and (doc := vars(base)[member].__doc__)]


def of_classes(value: type | None) -> list[str]:
    """Return the docstrings of a class of titop's and of its bases, where what all methods share is documented once."""
    return [base.__doc__ for base in value.__mro__ if base.__module__.startswith("titop") and base.__doc__] if value else []


def documented(parameter: str, docs: list[str]) -> bool:
    """Tell whether a docstring names a parameter: in a section (``name :`` or ``a, name :``), in backticks or in code."""
    entry = rf"^\s*\**(\w+, )*\**{parameter}(, \**\w+)*( :|$)"
    marked = rf"`[^`\n]*\b{parameter}\b[^`\n]*`"
    return any(re.search(entry, doc, re.MULTILINE) or re.search(marked, doc) for doc in docs)


def parameters(function: Callable[..., Any], owner: type | None = None) -> list[str]:
    """Return the names of a function's parameters, without self and cls, and what stands for self in members of a model."""
    names = [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]
    return names[1:] if owner is titop.Model and names[:1] == ["model"] else names


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_have_a_docstring(name: str) -> None:
    doc = inspect.getdoc(PUBLIC[name]) or ""
    assert doc.splitlines()[0].endswith((".", "`"))
    if inspect.isclass(PUBLIC[name]):
        assert PUBLIC[name].__doc__ != PUBLIC[name].__base__.__doc__, "of its own, not inherited"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_public_functions_have_a_docstring(name: str) -> None:
    docs = documentation(name)
    assert docs
    assert docs[0].splitlines()[0].endswith((".", ":"))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_parameter_of_a_function_is_documented(name: str) -> None:
    owner, function = FUNCTIONS[name]
    docs = documentation(name) + of_classes(owner)
    missing = [parameter for parameter in parameters(function, owner) if not documented(parameter, docs)]
    assert missing == []


@pytest.mark.parametrize("name", CLASSES)
def test_every_parameter_of_a_class_is_documented(name: str) -> None:
    """In its docstring or in a base's."""
    value = CLASSES[name]
    if "__init__" not in {member for base in value.__mro__ if base.__module__.startswith("titop") for member in vars(base)}:
        return
    missing = [parameter for parameter in parameters(value.__init__) if not documented(parameter, of_classes(value))]
    assert missing == []


def test_the_finder_of_parameters_finds() -> None:
    """The negative control."""
    doc = "Do `this` with it.\n\nParameters\n----------\nq, v : array\nname : str\n**passive\n"
    assert all(documented(name, [doc]) for name in ("this", "q", "v", "name", "passive"))
    assert not any(documented(name, [doc]) for name in ("it", "tau", "array", "str", "nam"))


#: Sections of a docstring that say nothing of what a function returns.
APART = ("Parameters", "Raises", "Examples")

#: A shape: ``(nv,)``, ``(6, nv)``, ``(6 + n) x (6 + n)``, ``(2 nv)``, ``(n, rad/s)``, 3x3.
_AXIS = r"(?:\d* ?(?:n[a-z]?|[bkpr]|batch|states|outputs|inputs|ports|samples|\\?\*shape)|\d+)(?: ?\+ ?\w+)?"
SHAPE = re.compile(rf"(?<!\w)\({_AXIS}(?:(?:,|;| x | of )[^()]*)?\)|\d ?x ?(?:\d|nv?\b)|\bn x n\b")

#: A shape along coordinates alone, whose unit a class may tell once for all its methods.
_OWN = r"(?:(?:\d ?)?(?:n|nv|nq|nu|batch)|r \+ \d)"
ALONG_COORDINATES = re.compile(rf"\({_OWN}(?:,|(?:, | x ){_OWN})*(?:, or stacked)?\)|\bn x n\b")

_UNIT = r"(?:rad|m|s|kg|N|J|W|Hz)(?:\^-?[\d.]+)?"
UNIT = re.compile(rf"(?:1/)?{_UNIT}(?:[ /]{_UNIT})*|no units?|SI units")
IN_WORDS = re.compile(r"(?:no|without|SI|own) units?\b|\bunits? of\b|\bWhether\b|\bradians?\b|\bmetres?\b")


def results(doc: str) -> str:
    """Return what a docstring says of the results: all but the sections on arguments, errors and examples."""
    parts = re.split(r"^ *(\w+)\n *-{3,}\n", inspect.cleandoc(doc), flags=re.MULTILINE)
    return parts[0] + "".join(text for title, text in zip(parts[1::2], parts[2::2], strict=True) if title not in APART)


def has_unit(text: str) -> bool:
    """Tell whether a text names a unit: in words, in parentheses such as ``(3, m/s^2)``, or behind ``array,``."""
    pieces = [
        piece
        for inside in re.findall(r"\(([^()]*)\)|arrays?, ([^\n]*)", text)
        for piece in re.split(r"[,;:]| and | or ", ",".join(inside))
    ]
    return bool(IN_WORDS.search(text)) or any(UNIT.fullmatch(piece.strip()) for piece in pieces)


def lacking(docs: list[str], classes: Sequence[str] = ()) -> list[str]:
    """Return what docstrings of a function do not say of the arrays that it returns: their shape, their unit.

    `classes` are docstrings of its class; with "Units: ..." they tell that of all results along coordinates.
    """
    text = "\n".join(map(results, docs))
    shapes = SHAPE.findall(text)
    told = any("Units:" in doc for doc in classes) and all(map(ALONG_COORDINATES.fullmatch, shapes))
    return [*(["shape"] if not shapes else []), *(["unit"] if not (has_unit(text) or told) else [])]


def returned() -> dict[str, list[str]]:
    """Return by name the docstrings of the functions that return arrays, those of named tuples of arrays with the tuple's."""
    tuples = {
        name: value.__doc__ or ""
        for module in map(importlib.import_module, modules())
        for name, value in vars(module).items()
        if inspect.isclass(value) and hasattr(value, "_fields") and "Array" in str(value.__annotations__.values())
    }
    found = {}
    for name, (_, function) in FUNCTIONS.items():
        words = re.findall(r"\w+", re.sub(r"Callable\[.*\]", "", str(function.__annotations__.get("return"))))
        if "Array" in words or tuples.keys() & set(words):
            found[name] = documentation(name) + [tuples[word] for word in words if word in tuples]
    return found


RETURNED = returned()


def for_users(owner: type | None) -> list[str]:
    """Return the docstrings where users of a class's methods read: its own, its bases', what all public subclasses share."""
    subclasses = [value for value in PUBLIC.values() if owner and inspect.isclass(value) and issubclass(value, owner)]
    shared = set.intersection(*(set(of_classes(value)) for value in subclasses)) if subclasses else set()
    return [*of_classes(owner), *shared]


@pytest.mark.parametrize("name", RETURNED)
def test_arrays_have_shape_and_unit(name: str) -> None:
    assert lacking(RETURNED[name], for_users(FUNCTIONS[name][0])) == []


@pytest.mark.parametrize(
    ("doc", "missing"),
    [
        ("Return the motion.", ["shape", "unit"]),
        ("Return the joint's slope ``J v`` (6), J that of SE(3).", ["unit"]),
        ("Return the length (m).", ["shape"]),
        ("Return the motion.\n\nParameters\n----------\nq : (nq,) array, m\n", ["shape", "unit"]),
        ("Return the force (3, N and N m).", []),
        ("Return the force.\n\nReturns\n-------\n(nv, 3) array, N\n", []),
        ("Return the 6x6 matrix, units of the force.", []),
    ],
)
def test_the_finder_of_shapes_and_units_finds(doc: str, missing: list[str]) -> None:
    """The negative control."""
    assert lacking([doc]) == missing


def test_a_class_tells_units_along_coordinates_only() -> None:
    """The negative control: what is no vector of coordinates or efforts has its own unit, which the class cannot know."""
    told = ["Units: coordinates rad or m."]
    assert lacking(["Return the efforts (nv), the matrix (nv, nv)."], told) == []
    assert all(
        lacking([f"Return the momentum {shape}."], told) == ["unit"] for shape in ("(6)", "(6, nv)", "(n, 3)", "3x3", "(k, nv)")
    )
    assert lacking(["Return the efforts (nv)."], ["Coordinates in rad."]) == ["unit"]


@pytest.mark.parametrize("name", modules())
def test_modules_say_what_they_are_for(name: str) -> None:
    assert (importlib.import_module(name).__doc__ or "").strip()


def rooms() -> list[str]:
    """Return the dotted names of all packages below titop."""
    return [name for name in modules() if name != "titop" and hasattr(importlib.import_module(name), "__path__")]


def out_of_step(doc: str, held: set[str]) -> set[str]:
    """Return what a room holds and its docstring does not name in backticks, and what it names so and does not hold.

    Public names may be named as well, and whatever is written with a dot or a capital.
    """
    named = set(re.findall(r"`([a-z_0-9]+)`", doc))
    return (held - named) | (named - held - PUBLIC.keys())


@pytest.mark.parametrize("name", rooms())
def test_rooms_name_what_they_hold(name: str) -> None:
    room = importlib.import_module(name)
    assert out_of_step(room.__doc__ or "", {info.name for info in pkgutil.iter_modules(room.__path__)}) == set()


def test_the_finder_of_what_rooms_hold_finds() -> None:
    """The negative control."""
    doc = "For `simulate` and a `Block`.\n\n- `one`: this; `two`, `titop.two`: that."
    assert out_of_step(doc, {"one", "two"}) == set()
    assert out_of_step(doc, {"one", "two", "three"}) == {"three"}
    assert out_of_step(doc, {"one"}) == {"two"}


def missing_paths(text: str) -> list[str]:
    """Return the paths in backticks of a Markdown text that lead nowhere from titop's root, examples of code apart."""
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    paths = re.findall(r"`([\w.]+/[\w./]*|\w+\.(?:py|pyi|md|toml))`", prose)
    assert paths
    return [path for path in paths if not (ROOT / path).exists() and not (ROOT / "examples" / path).exists()]


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "examples/README.md"])
def test_paths_lead_somewhere(name: str) -> None:
    """From the root, or among the examples."""
    assert missing_paths((ROOT / name).read_text(encoding="utf8")) == []


def test_the_finder_of_paths_finds() -> None:
    """The negative control: files and folders, at the start, in a room and at the end; names and code are none."""
    text = "`graph/`, `grap/`, `graph/load.py`; `graph/loads.py`\n`nothing.md` `m.q[0]` `.npz` `x.y`\n```python\n`a/b`\n```"
    assert missing_paths(text) == ["grap/", "graph/loads.py", "nothing.md"]


def examples() -> dict[str, doctest.DocTest]:
    """Return the doctests of all modules by dotted name."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    found: dict[str, doctest.DocTest] = {}
    for name in modules():
        module: ModuleType = importlib.import_module(name)
        found |= {test.name: test for test in finder.find(module, name) if test.examples}
    return found


EXAMPLES = examples()


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_run(name: str) -> None:
    results = doctest.DocTestRunner().run(EXAMPLES[name])
    assert results.attempted > 0
    assert results.failed == 0


def test_there_are_examples() -> None:
    assert {"titop.graph.system.System", "titop.solvers.simulation.simulate.simulate"} <= set(EXAMPLES)
