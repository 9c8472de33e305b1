"""Linear relations of coordinates, ``sum factor q = offset``; gears are those of two."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from titop.blocks.basics.errors import Finding
from titop.blocks.contract.block import Block, ParameterFields, block_name
from titop.blocks.contract.fields import Field, put, scalar
from titop.blocks.contract.own_coordinates import ratio_unit


class Relation(Block):
    """Common part of the relations of coordinates, which `System.add_relation` adds.

    All coordinates stay in the model; a Lagrange multiplier relates them, as in rigid closures. Where coordinates have no other
    values the first one follows the others.
    """

    #: The constraint's name within the relation, and what texts call it.
    constraint: ClassVar[str] = "sum"
    word: ClassVar[str] = "relation"
    file_tables = ("gears",)
    offset = Field(scalar)

    @property
    def terms(self) -> dict[str, float]:
        """The factor of each coordinate, by its name."""
        raise NotImplementedError

    @property
    def factor_parameters(self) -> tuple[str, ...]:
        """The parameter that is the factor of each coordinate, up to its sign; empty where there is none."""
        raise NotImplementedError

    @property
    def rational_parameters(self) -> tuple[str, ...]:  # type: ignore[override]
        """The factors."""
        return tuple(filter(None, self.factor_parameters))

    @property
    def driven(self) -> str:
        """The coordinate that follows the others: the first one."""
        return next(iter(self.terms), "")

    @property
    def relation(self) -> str:
        """The right-hand side for the coordinate that follows, such as ``"-1.5 x left + 0.2"``."""
        (_, own), *others = self.terms.items()
        text = ""
        for name, factor in others:
            share = -factor / own
            sign = ("- " if share < 0 else "+ ") if text else ("-" if share < 0 else "")
            text += f"{' ' if text else ''}{sign}{abs(share):.4g} x {name}"
        offset = self.offset / own
        if offset or not text:
            text += f" {'-' if offset < 0 else '+'} {abs(offset):.4g}" if text else f"{offset:.4g}"
        return text


def _read_factors(relation: Block, field: str, factors: Any) -> dict[str, float]:
    example = '{"left": 1.0, "right": -2.0}'
    read = relation.reader.mapping(field, factors, "coordinates to numbers", example)
    if not read:
        relation.reader.report("no-coordinates", field, factors, "a factor of each coordinate", f"write {example}")
    return {block_name(relation, field, key): relation.reader.scalar(f"{field}.{key}", value) for key, value in read.items()}


class LinearRelation(Relation):
    """A relation that coordinates keep: ``sum factor q = offset``, as in differentials and planetary gears.

    The multiplier of the constraint is ``m.gear_effort``; it acts on each coordinate times its factor. With two coordinates it
    is a `Gear`, and may be a rack and pinion or a screw: a factor then has a unit.

    Parameters
    ----------
    name : str
    factors : mapping of str or Block to float
        Factor of each coordinate, in the unit of the first coordinate over its own: ``"joint"``, or ``"joint.coordinate"`` and
        ``"boom.mode1"`` for one of several. No coordinate may be spherical or free. That of the first one is not zero.
    offset : float
        The sum, in the first coordinate's unit.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("differential")
    >>> for name in ("ring", "left", "right"):
    ...     s.connect("world", tt.RigidBody(f"{name}_shaft", mass=1.0, inertia=2.0), tt.Revolute(name))
    >>> s.add_relation(tt.LinearRelation("differential", {"ring": 2.0, "left": -1.0, "right": -1.0}))
    >>> s.resolve().forward_dynamics([0, 0, 0], [0, 0, 0], [4.0, 0, 0]).round(12).tolist()
    [0.666666666667, 0.666666666667, 0.666666666667]
    """

    factors = Field(_read_factors)

    def __init__(self, name: str, factors: Mapping[Any, float], offset: float = 0.0) -> None:
        super().__init__(name)
        self.factors, self.offset = factors, offset

    @property
    def terms(self) -> dict[str, float]:
        return self.factors

    @property
    def factor_parameters(self) -> tuple[str, ...]:
        return tuple(f"factor.{name}" for name in self.factors)

    @property
    def named_coordinates(self) -> dict[str, str]:
        return dict(zip(self.factor_parameters, self.factors, strict=True))

    def rename_coordinates(self, renamed: Callable[[str], str]) -> None:
        put(self, "factors", {renamed(name): factor for name, factor in self.factors.items()})

    def parameter_fields(self) -> ParameterFields:
        fields: ParameterFields = {f"factor.{name}": ("factors", (name,), "1") for name in self.factors}
        return fields | {"offset": ("offset", (), "rad or m")}

    def parameters_along(self, units: Sequence[str]) -> dict[str, tuple[float, str]]:
        known = (ratio_unit(units[0], unit) for unit in units)
        values = {
            name: (float(value), unit) for (name, (value, _)), unit in zip(self.parameters().items(), known, strict=False)
        }
        return values | {"offset": (float(self.offset), units[0])}

    def check(self) -> tuple[list[Finding], list[Finding]]:
        errors, warnings = super().check()
        if not errors and self.factors and not next(iter(self.factors.values())):
            where, advice = f"{self.name}.factor.{self.driven}", "name a coordinate first that the others determine"
            errors.append(Finding("zero-factor", where, 0.0, "a factor of the first coordinate other than zero", advice))
        return errors, warnings


class Gear(Relation):
    """A rigid transmission between two coordinates: ``driven = ratio * driver + offset``.

    Both coordinates stay in the model; a Lagrange multiplier couples them, as in rigid closures. URDF calls the driven joint a
    mimic joint, the ratio its multiplier. (The ``gear`` of a `Motor` is the inverse: rotor motion per unit of joint motion.)

    Parameters
    ----------
    name : str
    driver, driven : str or Block
        The joints, or blocks with own coordinates, or their names; ``"joint.coordinate"`` or ``"boom.mode1"`` for one of
        several coordinates. Neither may be spherical or free; `System.resolve` refuses those, unknown ones, and the same
        coordinate twice.
    ratio : float, 1, m/rad or rad/m
        Motion of the driven coordinate per unit of the driver's.
    offset : float, rad or m
        Value of the driven coordinate where the driver's is zero.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("flywheels")
    >>> for name, inertia in (("slow", 2.0), ("fast", 0.5)):
    ...     s.connect("world", tt.RigidBody(f"{name}_wheel", mass=1.0, inertia=inertia), tt.Revolute(name))
    >>> s.add_gear(tt.Gear("pair", driver="slow", driven="fast", ratio=-3.0))
    >>> s.resolve().forward_dynamics([0, 0], [0, 0], [6.5, 0]).round(12).tolist()  # inertia 2 + 9 * 0.5
    [1.0, -3.0]
    """

    constraint = "mesh"
    word = "gear"
    joint_fields: ClassVar[tuple[str, ...]] = ("driver", "driven")
    parameter_units: ClassVar = {"ratio": "1, m/rad or rad/m", "offset": "rad or m"}
    driver = Field(block_name)
    driven = Field(block_name)  # type: ignore[assignment]
    ratio = Field(scalar)

    def __init__(self, name: str, driver: str | Block, driven: str | Block, ratio: float = 1.0, offset: float = 0.0) -> None:
        super().__init__(name)
        self.driver, self.driven, self.ratio, self.offset = driver, driven, ratio, offset

    def parameters_along(self, units: Sequence[str]) -> dict[str, tuple[float, str]]:
        return {"ratio": (float(self.ratio), ratio_unit(units[1], units[0])), "offset": (float(self.offset), units[1])}

    @property
    def terms(self) -> dict[str, float]:
        return {self.driven: 1.0, self.driver: -self.ratio}

    @property
    def factor_parameters(self) -> tuple[str, ...]:
        return "", "ratio"
