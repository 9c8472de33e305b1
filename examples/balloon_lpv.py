"""The balloon of paper A as a family of linear models over its payload's mass.

The payload is the lower pendulum; the buoyancy that carries it is trimmed with it. A torque at the lower joint turns the
payload: how, changes with its mass. What does not matter, the balloon's position and its turn about the vertical, is left out.

Run it: ``python examples/balloon_lpv.py`` draws ``balloon_lpv.png`` and ``balloon_lpv_poles.png``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from balloon import build, resolve

import titop as tt

#: Payload masses (kg).
MASSES = np.linspace(1.0, 15.0, 15)


def family(model: tt.Model) -> tt.LPVModel:
    """Return the family from the torque at the lower joint to the payload's inclination, its rate, and the slider."""
    return tt.lpv(
        model,
        {"pendulum2.mass": MASSES},
        unknowns=["base.rx", "base.rz", "rail", "joint1", "joint2", "buoyancy.force.y"],
        inputs=["joint2", "rail"],
        outputs=["pendulum2.theta[2]", "pendulum2.w[2]", "rail.q"],
        omit=["base.x.q", "base.y.q", "base.z.q", "base.ry.q"],
    )


def main(argv: list[str] | None = None) -> tt.LPVModel:
    """Make the family, compare a member in between with an exact one, and draw."""
    parser = argparse.ArgumentParser(description="The balloon's linear models over its payload's mass.")
    parser.add_argument("--output", default="balloon_lpv.png", help="the Bode diagram; the poles are drawn beside it")
    arguments = parser.parse_args(argv)
    model = resolve(build())
    members = family(model)
    print(members)
    for k in (0, len(MASSES) - 1):
        swinging = members.eigenvalues[k][members.eigenvalues[k].imag > 1e-3]
        modes = ", ".join(f"{abs(p):.3f} rad/s (damping {-p.real / abs(p):.3f})" for p in sorted(swinging, key=abs))
        print(f"payload {MASSES[k]:4.1f} kg: {modes}")
    between = float(0.5 * (MASSES[4] + MASSES[5]))
    names = {"pendulum2.mass": between}
    exact = tt.linearize(model, tt.trim(model, ["buoyancy.force.y"], parameters=names))
    found, expected = (np.sort(np.abs(poles[poles.imag > 1e-3])) for poles in (members.at(names).poles(), exact.poles()))
    error = np.abs(found / expected - 1).max()
    print(f"between two points ({between:.1f} kg) the modes' frequencies are at most {100 * error:.2f} % from the exact ones")
    output = Path(arguments.output)
    poles = output.with_name(f"{output.stem}_poles{output.suffix}")
    members.bode("joint2", "pendulum2.theta[2]", np.geomspace(0.2, 50, 500)).savefig(output)
    members.poles().savefig(poles)
    print(f"figures in {output} and {poles}")
    return members


if __name__ == "__main__":
    main()
