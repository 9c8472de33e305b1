"""Gears: two coordinates with a constant ratio."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from titop.blocks.constraints.relation import Relation
from titop.blocks.contract.block import Block, block_name
from titop.blocks.contract.fields import Field, scalar
from titop.blocks.contract.own_coordinates import ratio_unit


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
