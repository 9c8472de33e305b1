"""Write `basilisk_slosh.npz`: a spacecraft under thrust with a pendulum, or a mass on a spring, in its tank, by Basilisk.

Run it in an environment of its own, with the package `bsk` (2.12.1 has made the file). Both runs have no gravity and a constant
force along z of the body, at its origin. The pendulum swings in all directions. The mass on a spring moves along x: the
spacecraft turns about y alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from Basilisk.simulation import extForceTorque, linearSpringMassDamper, spacecraft, sphericalPendulum
from Basilisk.utilities import SimulationBaseClass, macros

#: Of both: the hub's mass (kg), mass centre (m) and inertia (kg m^2); the force (N); steps, samples and end (s).
HUB, CENTRE, INERTIA, FORCE = 500.0, [0.02, -0.01, 0.15], [[300.0, 4, -3], [4, 280, 2], [-3, 2, 90]], 2100.0
STEP, SAMPLE, END = 0.001, 0.5, 10.0
#: Of `titop.Slosh.cylinder(radius=0.6, height=1.5, fill=0.7, density=1141.0, acceleration=3.0)` on a port at z = 0.5 m: what
#: sloshes, its pendulum's length, its height at rest; what moves along, its height and lateral inertia (kg, m, kg m^2).
NUMBERS = (
    *(350.79307929211654, 0.3269151136357531, 0.9482265371128589),
    *(1004.1695490158538, 1.0518197730955832, 33.105818996086384),
)


def run(effector: Any, at_rest: Any, sigma: Any, omega: Any) -> dict[str, Any]:
    """Return times and states of the hub: position and velocity of its origin, MRP and angular velocity."""
    sim = SimulationBaseClass.SimBaseClass()
    process = sim.CreateNewProcess("process")
    process.addTask(sim.CreateNewTask("task", macros.sec2nano(STEP)))
    craft = spacecraft.Spacecraft()
    craft.ModelTag = "craft"
    mass, centre, inertia = at_rest
    craft.hub.mHub, craft.hub.r_BcB_B, craft.hub.IHubPntBc_B = mass, np.reshape(centre, (3, 1)).tolist(), inertia
    craft.hub.r_CN_NInit, craft.hub.v_CN_NInit = [[0.0], [0.0], [0.0]], [[0.0], [0.0], [0.0]]
    craft.hub.sigma_BNInit, craft.hub.omega_BN_BInit = np.reshape(sigma, (3, 1)).tolist(), np.reshape(omega, (3, 1)).tolist()
    craft.addStateEffector(effector)
    push = extForceTorque.ExtForceTorque()
    push.ModelTag, push.extForce_B = "push", [[0.0], [0.0], [FORCE]]
    craft.addDynamicEffector(push)
    sim.AddModelToTask("task", push)
    sim.AddModelToTask("task", craft)
    log = craft.scStateOutMsg.recorder(macros.sec2nano(SAMPLE))
    sim.AddModelToTask("task", log)
    sim.InitializeSimulation()
    sim.ConfigureStopTime(macros.sec2nano(END))
    sim.ExecuteSimulation()
    return {
        "t": log.times() * macros.NANO2SEC,
        **{name: np.array(getattr(log, name)) for name in ("r_BN_N", "v_BN_N", "sigma_BN", "omega_BN_B")},
    }


def rigid(mass: float, centre: Any, inertia: Any, more: float, at: float, lateral: float) -> tuple[Any, ...]:
    """Return mass, centre and inertia of the hub with what of the liquid moves with it, on z at a height."""
    other, whole = np.array([0.0, 0.0, at]), mass + more
    together = (mass * np.array(centre) + more * other) / whole
    total = np.array(inertia) + np.diag([lateral, lateral, 0.0])
    for m, place in ((mass, centre), (more, other)):
        arm = np.array(place) - together
        total += m * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return whole, together.tolist(), total.tolist()


def main() -> None:
    """Simulate both and write their states."""
    bob, length, height, rest, rest_height, lateral = NUMBERS
    stiffness = bob * 3.0 / length
    damping = 2 * 0.02 * np.sqrt(bob * stiffness)
    hub = rigid(HUB, CENTRE, INERTIA, rest, rest_height, lateral)
    pendulum = sphericalPendulum.SphericalPendulum()
    pendulum.ModelTag, pendulum.pendulumRadius, pendulum.massInit = "pendulum", length, bob
    pendulum.d = [[0.0], [0.0], [height + length]]
    pendulum.pHat_01, pendulum.pHat_02, pendulum.pHat_03 = [[0.0], [0.0], [-1.0]], [[1.0], [0.0], [0.0]], [[0.0], [-1.0], [0.0]]
    pendulum.D = [[0.0] * 3] * 3
    pendulum.phiDotInit, pendulum.thetaDotInit = 0.6, -0.8  # from below the hinge, which it has as its initial place
    found = {"numbers": np.array(NUMBERS)}
    found |= {f"pendulum_{k}": x for k, x in run(pendulum, hub, [0.1, -0.2, 0.05], [0.03, -0.02, 0.1]).items()}
    spring = linearSpringMassDamper.LinearSpringMassDamper()
    spring.ModelTag, spring.k, spring.c, spring.massInit = "spring", stiffness, damping, bob
    spring.r_PB_B, spring.pHat_B = [[0.0], [0.0], [height]], [[1.0], [0.0], [0.0]]
    spring.rhoInit, spring.rhoDotInit = 0.08, -0.05
    plain = rigid(HUB, [0.02, 0.0, 0.15], np.diag(np.diag(INERTIA)), rest, rest_height, lateral)
    found |= {f"spring_{k}": x for k, x in run(spring, plain, [0.0, 0.1, 0.0], [0.0, 0.05, 0.0]).items()}
    np.savez_compressed(Path(__file__).with_name("basilisk_slosh.npz"), **found)


if __name__ == "__main__":
    main()
