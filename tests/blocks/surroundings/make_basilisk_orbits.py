"""Orbits and attitudes of Basilisk for `test_orbits_against_basilisk.py`: an oblate planet, and the torque of the gradient.

Run it where Basilisk is installed (``pip install bsk==2.12.1``)::

    python tests/blocks/surroundings/make_basilisk_orbits.py

Integrated by Runge-Kutta-Fehlberg 7(8) with steps so short that halving them changes no position by more than 5e-6 m.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from Basilisk.simulation import GravityGradientEffector, gravityEffector, spacecraft, svIntegrators
from Basilisk.utilities import SimulationBaseClass, macros

#: Of the planet, and of the craft; times (s) at which it is seen, oblate for 13 h, as a point for two turns.
MU, RADIUS, J2 = 3.986004418e14, 6378136.3, 1.0826e-3
MASS, INERTIA, SPIN = 100.0, [2.0, 4.0, 3.0], [0.001, -0.0008, 0.0012]
POSITION, VELOCITY = [6.9e6, 3e5, -1e5], [-300.0, 5200.0, 5400.0]
TIMES = {"oblate": np.linspace(0.0, 46800.0, 53), "point": np.linspace(0.0, 11520.0, 25)}


def planet(oblate: bool) -> Any:
    body = gravityEffector.GravBodyData()
    body.planetName, body.mu, body.radEquator, body.isCentralBody = "planet_planet_data", MU, RADIUS, True
    if oblate:
        harmonics = gravityEffector.SphericalHarmonicsGravityModel()
        harmonics.radEquator, harmonics.muBody, harmonics.maxDeg = RADIUS, MU, 2
        harmonics.cBar = [[1.0], [0.0, 0.0], [-J2 / np.sqrt(5.0), 0.0, 0.0]]
        harmonics.sBar = [[0.0], [0.0, 0.0], [0.0, 0.0, 0.0]]
        body.gravityModel = harmonics
    return body


def trajectory(case: str, step: float) -> dict[str, np.ndarray]:
    """Return position (m), modified Rodrigues parameters and angular velocity (rad/s)."""
    craft, base = spacecraft.Spacecraft(), SimulationBaseClass.SimBaseClass()
    base.CreateNewProcess("process").addTask(base.CreateNewTask("task", macros.sec2nano(step)))
    craft.ModelTag = "craft"
    kept = planet(case == "oblate")
    craft.gravField.gravBodies = spacecraft.GravBodyVector([kept])
    craft.hub.mHub, craft.hub.IHubPntBc_B = MASS, np.diag(INERTIA).tolist()
    craft.hub.r_CN_NInit, craft.hub.v_CN_NInit = np.c_[POSITION].tolist(), np.c_[VELOCITY].tolist()
    craft.hub.sigma_BNInit, craft.hub.omega_BN_BInit = np.zeros((3, 1)).tolist(), np.c_[SPIN].tolist()
    if case == "point":
        gradient = GravityGradientEffector.GravityGradientEffector()
        gradient.ModelTag = "gradient"
        gradient.addPlanetName(kept.planetName)
        craft.addDynamicEffector(gradient)
        base.AddModelToTask("task", gradient)
    base.AddModelToTask("task", craft)
    integrator = svIntegrators.svIntegratorRKF78(craft)
    integrator.setRelativeTolerance(1e-13)
    integrator.setAbsoluteTolerance(1e-13)
    craft.setIntegrator(integrator)
    base.InitializeSimulation()
    names = {"position": "hubPosition"} | ({"attitude": "hubSigma", "spin": "hubOmega"} if case == "point" else {})
    rows: dict[str, list[Any]] = {name: [] for name in names}
    for t in TIMES[case]:
        base.ConfigureStopTime(macros.sec2nano(t))
        base.ExecuteSimulation()
        for name, state in names.items():
            rows[name].append(np.ravel(craft.dynManager.getStateObject(state).getState()))
    return {name: np.array(values) for name, values in rows.items()}


def main(step: float = 10.0) -> None:
    arrays: dict[str, Any] = {"mu": MU, "radius": RADIUS, "j2": J2, "mass": MASS, "inertia": INERTIA, "spin": SPIN}
    arrays |= {"start": POSITION, "velocity": VELOCITY}
    for case, times in TIMES.items():
        once, finer = trajectory(case, step), trajectory(case, step / 2)
        for name, values in finer.items():
            print(case, name, "moved by", np.abs(once[name] - values).max())
            arrays[f"{case}/{name}"] = values
        arrays[f"{case}/t"] = times
    np.savez_compressed(Path(__file__).with_name("basilisk_orbits.npz"), **arrays)


if __name__ == "__main__":
    main()
