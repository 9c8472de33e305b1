"""The model description of an FMU: its variables, units and structure as XML, in FMI 2.0 or 3.0."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple
from xml.etree import ElementTree

#: Exponents of kg, m, s, A, K and rad in the units that titop uses.
_BASE = {
    "1": {},
    **{unit: {unit: 1} for unit in ("kg", "m", "s", "A", "K", "rad")},
    "N": {"kg": 1, "m": 1, "s": -2},
    "Pa": {"kg": 1, "m": -1, "s": -2},
    "J": {"kg": 1, "m": 2, "s": -2},
    "W": {"kg": 1, "m": 2, "s": -3},
    "C": {"A": 1, "s": 1},
    "V": {"kg": 1, "m": 2, "s": -3, "A": -1},
    "ohm": {"kg": 1, "m": 2, "s": -3, "A": -2},
    "H": {"kg": 1, "m": 2, "s": -2, "A": -2},
    "T": {"kg": 1, "s": -2, "A": -1},
}
_TOKEN = re.compile(r"[A-Za-z]+|1|\^-?[\d.]+|\S")
#: Names of types, by the units of their quantities.
_TYPES = {
    "m": "Length",
    "rad": "Angle",
    "m/s": "Velocity",
    "rad/s": "AngularVelocity",
    "m/s^2": "Acceleration",
    "rad/s^2": "AngularAcceleration",
    "N": "Force",
    "N m": "Torque",
    "kg": "Mass",
    "kg m^2": "MomentOfInertia",
}
#: What tools integrate with if nobody says otherwise.
_TOLERANCE, _STOP, _STEP = "1e-08", "10", "0.01"


class Variable(NamedTuple):
    """A variable of an FMU. Its value reference is its place among all variables.

    - `causality`: "independent", "parameter", "input", "output" or "local";
    - `start`: of what is set before it begins; None for what is calculated;
    - `state`: for a derivative the place of its state;
    - `variability`: "continuous", "discrete" or "tunable";
    - `is_indicator`: whether a change of its sign is an event.
    """

    name: str
    causality: str
    unit: str
    start: float | None = None
    state: int | None = None
    variability: str = "continuous"
    is_indicator: bool = False


def model_description(
    name: str, title: str, token: str, variables: Sequence[Variable], version: int, kinds: Sequence[str], sources: Sequence[str]
) -> bytes:
    """Return the text of ``modelDescription.xml``.

    - `name`: of the functions' library; `title`: of the model; `token`: which an instance is asked for with;
    - `kinds`: "me" and "cs";
    - `sources`: names of the files to compile, which version 2.0 wants here.
    """
    root = ElementTree.Element("fmiModelDescription", fmiVersion=f"{version}.0", modelName=title, generationTool="titop")
    root.set("variableNamingConvention", "flat")
    root.set("guid" if version == 2 else "instantiationToken", token)
    if version == 2:
        root.set("numberOfEventIndicators", str(sum(variable.is_indicator for variable in variables)))
    state = "FMUstate" if version == 2 else "FMUState"
    for kind in kinds:
        tag = {"me": "ModelExchange", "cs": "CoSimulation"}[kind]
        element = ElementTree.SubElement(root, tag, modelIdentifier=name)
        element.set(f"canGetAndSet{state}", "true")
        element.set(f"canSerialize{state}", "true")
        if kind == "cs":
            element.set("canHandleVariableCommunicationStepSize", "true")
        if version == 2:
            element.set("canNotUseMemoryManagementFunctions", "true")
            element.set("providesDirectionalDerivative", "true")
            if kind == "me":
                element.set("completedIntegratorStepNotNeeded", "true")
            files = ElementTree.SubElement(element, "SourceFiles")
            for source in sources:
                ElementTree.SubElement(files, "File", name=source)
        else:
            element.set("providesDirectionalDerivatives", "true")
            element.set("providesAdjointDerivatives", "true")
    _units(root, sorted({variable.unit for variable in variables}), version)
    times = {"startTime": "0", "stopTime": _STOP, "tolerance": _TOLERANCE, "stepSize": _STEP}
    categories = ElementTree.SubElement(root, "LogCategories")
    ElementTree.SubElement(categories, "Category", name="logStatusError")
    ElementTree.SubElement(root, "DefaultExperiment", times)
    _variables(root, variables, version)
    return bytes(_text(root))


def build_description(name: str, sources: Sequence[str]) -> bytes:
    """Return the text of ``sources/buildDescription.xml`` of FMI 3.0."""
    root = ElementTree.Element("fmiBuildDescription", fmiVersion="3.0")
    files = ElementTree.SubElement(ElementTree.SubElement(root, "BuildConfiguration", modelIdentifier=name), "SourceFileSet")
    files.set("language", "C99")
    for source in sources:
        ElementTree.SubElement(files, "SourceFile", name=source)
    return bytes(_text(root))


def _text(root: ElementTree.Element) -> bytes:
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="UTF-8", xml_declaration=True) + b"\n"


def base_units(unit: str) -> dict[str, int] | None:
    """Return the exponents of SI's base units and of radians in a unit; None if it has others, or roots."""
    tokens = _TOKEN.findall(unit)
    try:
        exponents = _product(tokens)
    except (KeyError, IndexError, ValueError):
        return None
    return None if tokens else {base: power for base, power in exponents.items() if power}


def _product(tokens: list[str]) -> Counter[str]:
    """Take a product of units from the front of a list of tokens; a slash belongs to the unit behind it."""
    total: Counter[str] = Counter()
    while tokens and tokens[0] != ")":
        sign = -1 if tokens[0] == "/" else 1
        if sign < 0:
            tokens.pop(0)
        token = tokens.pop(0)
        part = _product(tokens) if token == "(" else Counter(_BASE[token])
        if token == "(":
            tokens.pop(0)
        power = sign * (int(tokens.pop(0)[1:]) if tokens and tokens[0][0] == "^" else 1)
        for base, exponent in part.items():
            total[base] += power * exponent
    return total


def _units(root: ElementTree.Element, units: Sequence[str], version: int) -> None:
    definitions = ElementTree.SubElement(root, "UnitDefinitions")
    for unit in units:
        element, exponents = ElementTree.SubElement(definitions, "Unit", name=unit), base_units(unit)
        if exponents is not None:
            ElementTree.SubElement(element, "BaseUnit", {base: str(power) for base, power in exponents.items()})
        if unit == "rad":
            ElementTree.SubElement(element, "DisplayUnit", name="deg", factor="57.29577951308232")
    types = ElementTree.SubElement(root, "TypeDefinitions")
    for unit in units:
        if unit in _TYPES:
            what = {"quantity": _TYPES[unit], "unit": unit}
            if version == 2:
                simple = ElementTree.SubElement(types, "SimpleType", name=f"SI.{_TYPES[unit]}")
                ElementTree.SubElement(simple, "Real", what)
            else:
                ElementTree.SubElement(types, "Float64Type", what, name=f"SI.{_TYPES[unit]}")
    if not len(types):
        root.remove(types)


def _attributes(variable: Variable) -> tuple[dict[str, str], dict[str, str]]:
    """Return the attributes of a variable, and those that say what kind of number it is."""
    common = {"name": variable.name, "causality": variable.causality, "variability": variable.variability}
    number = {"unit": variable.unit} | ({"declaredType": f"SI.{_TYPES[variable.unit]}"} if variable.unit in _TYPES else {})
    if variable.causality not in ("input", "independent"):
        common["initial"] = "calculated" if variable.start is None else "exact"
    if variable.start is not None:
        number["start"] = repr(float(variable.start))
    return common, number


def _variables(root: ElementTree.Element, variables: Sequence[Variable], version: int) -> None:
    """Add the variables and the structure; version 2 knows variables there by their places from 1 on."""
    element = ElementTree.SubElement(root, "ModelVariables")
    for k, variable in enumerate(variables):
        common, number = _attributes(variable)
        if variable.state is not None:
            number["derivative"] = str(variable.state + (version == 2))
        if version == 2:
            scalar = ElementTree.SubElement(element, "ScalarVariable", common, valueReference=str(k))
            ElementTree.SubElement(scalar, "Real", number)
        else:
            ElementTree.SubElement(element, "Float64", common | number, valueReference=str(k))
    structure = ElementTree.SubElement(root, "ModelStructure")
    outputs = [k for k, variable in enumerate(variables) if variable.causality == "output"]
    rates = [k for k, variable in enumerate(variables) if variable.state is not None]
    unknown = sorted([*rates, *(k for k in outputs if variables[k].start is None)])
    gaps = [] if version == 2 else [k for k, variable in enumerate(variables) if variable.is_indicator]
    parts = {"Output": outputs, "ContinuousStateDerivative": rates, "InitialUnknown": unknown, "EventIndicator": gaps}
    for tag, places in parts.items():
        if version == 2 and places:
            group = ElementTree.SubElement(structure, f"{tag.removeprefix('ContinuousState')}s")
            for k in places:
                ElementTree.SubElement(group, "Unknown", index=str(k + 1))
        for k in places if version == 3 else ():
            ElementTree.SubElement(structure, tag, valueReference=str(k))
