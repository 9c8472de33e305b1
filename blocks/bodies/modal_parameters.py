"""The parameters of modes, and numbers from which several of a body's parameters follow at once."""

from __future__ import annotations

from typing import Protocol

from titop.blocks.basics.paths import parts_of
from titop.blocks.basics.spatial import Array
from titop.blocks.bodies.modal_analysis import DIRECTIONS
from titop.blocks.contract.description import CommonParameter, Share

#: Units of participation, and of a port's displacement, a unit of a mode of unit mass.
_PARTICIPATION = ("sqrt(kg)",) * 3 + ("m sqrt(kg)",) * 3
_SHAPE = ("1/sqrt(kg)",) * 3 + ("rad/(m sqrt(kg))",) * 3
#: What of a body goes with the mass, as its inertia does, where all of it becomes heavier.
_HEAVY = ("mass", "inertia.")


class HasModes(Protocol):
    """What is asked of a body with modes."""

    frequencies: Array | None
    damping_ratios: Array
    participation: Array
    shapes: dict[str, Array]

    @property
    def geometric_stiffness(self) -> object: ...

    def parameters(self) -> dict[str, tuple[float, str]]: ...


def mode_parameters(body: HasModes) -> dict[str, tuple[float, str]]:
    """Return participation of modes of unit mass, and what they move of ports: not of bodies known to second order.

    What these are to second order follows from moments and stiffness beside them.
    """
    if body.frequencies is None or body.geometric_stiffness is not None:
        return {}
    result = {}
    for k, row in enumerate(body.participation):
        for direction, x, unit in zip(DIRECTIONS, row, _PARTICIPATION, strict=True):
            result[f"mode{k + 1}.participation.{direction}"] = (float(x), unit)
    for port, shape in body.shapes.items():
        for k, column in enumerate(shape.T):
            for direction, x, unit in zip(DIRECTIONS, column, _SHAPE, strict=True):
                result[f"{port}.mode{k + 1}.{direction}"] = (float(x), unit)
    return result


def entry_of_mode(name: str) -> tuple[str | None, tuple[int, int]] | None:
    """Return where a parameter of `mode_parameters` stands: the port (None for participation), then row and column."""
    owner, *entry = parts_of(name)
    if len(entry) != 2 or entry[1] not in DIRECTIONS:
        return None
    direction = DIRECTIONS.index(entry[1])
    if entry[0] == "participation":
        return None, (int(owner.removeprefix("mode")) - 1, direction)
    if entry[0].startswith("mode"):
        return owner, (direction, int(entry[0].removeprefix("mode")) - 1)
    return None


def common_numbers(body: HasModes) -> dict[str, CommonParameter]:
    """Return the numbers from which several parameters follow, by name.

    ``mode1.stiffness``, the square of the frequency, with the mode's damping coefficient as it is. ``mass_scale``, one as the
    body is: all of the body so many times as heavy, at the same frequencies and ratios; modes then move as much of the mass
    and of the ports a metre, so that those of unit mass participate with its root, and move ports by one over it.
    """
    if body.frequencies is None:
        return {}
    result = {}
    for k, (w, zeta) in enumerate(zip(body.frequencies.tolist(), body.damping_ratios.tolist(), strict=True)):
        ratio = Share(f"mode{k + 1}.damping", zeta * w, -0.5)
        result[f"mode{k + 1}.stiffness"] = CommonParameter(
            w * w, "rad^2/s^2", (Share(f"mode{k + 1}.frequency", 1.0, 0.5), ratio)
        )
    if body.geometric_stiffness is None:
        shares = [Share(name, x, 1.0) for name, (x, _) in body.parameters().items() if name.startswith(_HEAVY)]
        for name, (x, _) in mode_parameters(body).items():
            shares.append(Share(name, x, 0.5 if ".participation." in name else -0.5))
        result["mass_scale"] = CommonParameter(1.0, "1", tuple(share for share in shares if share.factor))
    return result
