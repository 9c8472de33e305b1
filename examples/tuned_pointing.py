"""One law for the three axes of the observatory of `robust_satellite`: tuned in three lines, proved, simulated, exported.

A second-order filter of angles and rates has three numbers: bandwidth, damping and roll-off. How fast the panels swing and how
much fuel is left is uncertain. Tuned on the nominal satellite alone the margins of others are too small; tuned on the family
the worst members are found and fed back, until every member has the margins that are asked for: this is proved. The worst
member is put back into the nonlinear system, and turned by both laws.

Run it: ``python examples/tuned_pointing.py`` draws ``tuned_pointing.png``, and writes the controller beside it for MATLAB.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import control
import numpy as np
import robust_satellite as observatory
from matplotlib.figure import Figure

import titop as tt
from titop.blocks.basics.spatial import Array

AXES = ["x", "y", "z"]
MOTORS, TRACKER = observatory.MOTORS, observatory.TRACKER
FREQUENCY = observatory.both("panel.mode1.frequency")
SPREAD = 0.25  # of the panels' frequency, relatively
RANGES = {FREQUENCY: tt.percent(100 * SPREAD), "fuel.mass": (20.0, 60.0)}
POINTING, TORQUE = 0.14, 560.0  # rad/N m of disturbance, N m/rad of noise
STEP = np.deg2rad([0.03, -0.02, 0.025])  # Euler angles, so small that the wheels do not reach their limits
NOMINAL, FAMILY = "tuned on the nominal satellite", "tuned on the family"


def held(model: tt.Model) -> list[str]:
    """Return the coordinates that are far above the bandwidth: the boom, and the panels in their planes."""
    return [name for name in model.coordinate_names if name.startswith("boom") or name.endswith("panel.mode2")]


def law(theta: Any) -> tuple[Any, Any, Any, Any]:
    """Return the same filter for each axis: ``(w² + 2 d w s) r² / (s² + 1.4 r s + r²)``, for accelerations from angles."""
    w, d, r = theta
    parts = [[0, r], [-r, -1.4 * r]], [[0], [r]], [[w * w, 2 * d * w * r]], [[0]]
    return tuple(np.kron(np.eye(3), part) for part in parts)  # type: ignore[return-value]


def allocation(model: tt.Model) -> control.StateSpace:
    """Return the torques of the wheels for accelerations about the axes, of the rigid satellite."""
    stiff = [name for name in model.coordinate_names if name.split(".")[0] in observatory.APPENDAGES]
    rigid = tt.linearize(model, model.neutral(), MOTORS, TRACKER, omit=observatory.PLACE, hold=stiff)
    return control.ss([], [], [], np.linalg.pinv(rigid.B[3:]), inputs=AXES, outputs=MOTORS, name="allocation")


def tune(plants: Any, wheels: control.StateSpace) -> tt.Tuned:
    """Return what is tuned: least disturbance and noise, with 6 dB and 45 degrees at all sensors at once."""
    limits = {"lower": [0, 0.3, 0.1], "upper": [1, 2, 10], "names": ["bandwidth", "damping", "roll_off"]}
    filters = tt.Tunable.function("law", law, [0.15, 0.7, 1.0], TRACKER, AXES, **limits)
    quiet = [tt.Goal.gain("hub.cooler.T", "star_tracker.theta", POINTING), tt.Goal.gain("star_tracker.theta", MOTORS, TORQUE)]
    safe = tt.Goal.margins("star_tracker.theta", gain=6.0, phase=45.0, hard=True)
    return tt.tune(plants, [filters, wheels], [*quiet, safe], starts=1)


def slew(family: tt.LFTModel, K: control.StateSpace, member: dict[str, float]) -> tt.Trajectory:
    """Simulate a small turn of a member, nonlinear; what is above the bandwidth is held, as in the family."""
    point = family.operating_point(member)
    still = dict.fromkeys(held(point.model), lambda t: (0.0, 0.0, 0.0))
    how = {"controller": K, "reference": dict(zip(TRACKER, STEP, strict=True)), "prescribed": still}
    return tt.simulate(point.model, np.linspace(0, 150, 601), point.q, point.v, point.tau, rtol=1e-8, atol=1e-11, **how)


def errors(run: tt.Trajectory) -> Array:
    """Return the pointing error (n; urad)."""
    return 1e6 * np.linalg.norm(run.outputs()[:, [run.model.output_names.index(name) for name in TRACKER]] - STEP, axis=1)


def margins(members: Sequence[control.StateSpace], K: control.StateSpace) -> tt.Margins:
    """Return the margins of members at all sensors: each alone, and all at once."""
    return tt.margins(members, TRACKER, controller=K, sign=-1)


def draw(curves: dict[str, tt.Margins], frequencies: Array, runs: dict[str, tt.Trajectory]) -> Figure:
    """Draw margins over the panels' frequency, and the errors of each law's worst member."""
    figure = Figure(figsize=(9, 3.5), layout="constrained")
    disk, error = figure.subplots(1, 2)
    for (label, found), run in zip(curves.items(), runs.values(), strict=True):
        disk.plot(100 * (frequencies - 1), found.disk[:, -1], label=label)
        error.semilogy(run.t, errors(run), linewidth=1, label=label)
    disk.axhline(tt.Goal.margins(TRACKER).numbers["disk"], color="black", linestyle="--", linewidth=1, label="required")
    disk.set(
        title="disk margin of all axes at once",
        xlabel="panels' frequency [% off the nominal one]",
        ylabel="disk margin",
        ylim=(0, 1.3),
    )
    error.set(title="the worst member turns, nonlinear", xlabel="t [s]", ylabel="error [urad]", ylim=(1, 1e4))
    for axis in (disk, error):
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8, loc="upper right")
    return figure


def main(argv: list[str] | None = None) -> dict[str, Any]:
    """Tune, prove, simulate, export and draw."""
    parser = argparse.ArgumentParser(description="A satellite's pointing law, tuned on an uncertain family and proved.")
    parser.add_argument("--output", default="tuned_pointing.png")
    output = Path(parser.parse_args(argv).output)
    model = observatory.build().resolve()
    place = {"omit": observatory.PLACE, "hold": held(model)}
    family = tt.lft(model, model.neutral(), RANGES, [*MOTORS, "hub.cooler.T"], TRACKER, **place)
    results = {label: tune(plants, allocation(model)) for label, plants in ((NOMINAL, family.nominal), (FAMILY, family))}
    tuned = results[FAMILY]
    print(f"{family}\n{tuned}")
    frequencies, extremes = np.linspace(1 - SPREAD, 1 + SPREAD, 11), [*family.corners(), tuned.proof[-1].member]
    curves, runs = {}, {}
    for label, one in results.items():
        nominal = family.operating_point({}).model.parameters()[FREQUENCY[0]][0]
        curves[label] = margins([family.at({FREQUENCY[0]: nominal * f}) for f in frequencies], one.controller)
        worst = int(margins([family.at(member) for member in extremes], one.controller).member["model"])
        runs[label] = slew(family, one.controller, extremes[worst])
        print(f"{label}: worst with {extremes[worst]}")
    tt.save_linear(tuned.controller, output.with_suffix(".mat"))
    draw(curves, frequencies, runs).savefig(output)
    return {"family": family, "results": results, "margins": curves, "runs": runs}


if __name__ == "__main__":
    main()
