"""Two spring-hinged arms on a spinning shaft: an equilibrium that depends on a parameter, and the linear models along it.

The faster the shaft spins, the wider the arms open (a governor). With point masses m at the ends of arms of length l, springs
k and gravity g the angle x obeys ``m l^2 w^2 sin(x) cos(x) = m g l sin(x) + k x``. Below a spin rate w with
``w^2 = g / l + k / (m l^2)`` the only equilibrium is closed; above it the closed one is unstable, and an open one leaves it:
the parameter-dependent equilibria that key A (section 5) names as what linear models should be made about.

Run it: ``python examples/spinning_arms.py`` draws ``spinning_arms.png``.
"""

from __future__ import annotations

import argparse

import numpy as np

import titop as tt

MASS, LENGTH, STIFFNESS, DAMPING, GRAVITY = 1.0, 0.5, 1.0, 0.05, 9.81
HINGES = ["right_hinge", "left_hinge"]

#: Spin rate (rad/s) above which the arms open.
CRITICAL = float(np.sqrt(GRAVITY / LENGTH + STIFFNESS / (MASS * LENGTH**2)))


def build() -> tt.System:
    """Return the shaft with its two arms, which hang down when closed."""
    s = tt.System("spinning arms", gravity=[0, 0, -GRAVITY])
    hub = tt.RigidBody("hub", mass=1.0, inertia=[0.02, 0.02, 0.02])
    s.connect("world", hub, joint=tt.Revolute("shaft", axis=[0, 0, 1]))
    for name, sign in (("right", -1), ("left", 1)):
        arm = tt.RigidBody(name, mass=MASS, com=[0, 0, -LENGTH])
        s.connect(hub, arm, joint=tt.Revolute(f"{name}_hinge", axis=[0, sign, 0], stiffness=STIFFNESS, damping=DAMPING))
    return s


def opening(spin: float) -> float:
    """Return the closed form's angle (rad) of the open arms."""
    from scipy.optimize import brentq

    def moment(x: float) -> float:
        return MASS * LENGTH**2 * spin**2 * np.sin(x) * np.cos(x) - MASS * GRAVITY * LENGTH * np.sin(x) - STIFFNESS * x

    return float(brentq(moment, 1e-6, np.pi / 2))


def families(model: tt.Model, count: int = 120) -> tuple[tt.LPVModel, tt.LPVModel]:
    """Return the families about open arms, from fast to slow, and about closed ones; the shaft's torque as input."""
    options = {"unknowns": HINGES, "inputs": ["shaft"], "outputs": ["shaft.v", "left_hinge.q"], "omit": ["shaft.q"]}
    open_spins, closed_spins = np.linspace(12.0, CRITICAL + 0.02, count), np.linspace(0.0, 12.0, count)
    guess = dict.fromkeys(HINGES, 1.2)
    return (
        tt.lpv(model, {"shaft.v": open_spins}, q=guess, v={"shaft": 12.0}, **options),
        tt.lpv(model, {"shaft.v": closed_spins}, **options),
    )


def draw(opened: tt.LPVModel, closed: tt.LPVModel) -> object:
    """Return the equilibria over the spin rate, beside the poles of both branches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    angle, growth, frequency = figure.subplots(1, 3, sharex=True)
    for family, name, colour in ((opened, "open", "tab:blue"), (closed, "closed", "tab:orange")):
        spins, poles = family.parameters["shaft.v"], family.eigenvalues
        stable = poles.real.max(axis=-1) < 1e-6
        degrees = np.rad2deg(family.q[..., 2])
        angle.plot(spins, np.where(stable, degrees, np.nan), color=colour, label=f"{name}, stable")
        angle.plot(spins, np.where(stable, np.nan, degrees), color=colour, linestyle=":", label=f"{name}, unstable")
        growth.plot(spins, poles.real, ".", color=colour, markersize=2.5)
        frequency.plot(spins, np.where(poles.imag > 1e-6, poles.imag, np.nan), ".", color=colour, markersize=2.5)
    exact = np.linspace(CRITICAL + 0.02, 12.0, 15)
    angle.plot(exact, np.rad2deg([opening(spin) for spin in exact]), "k+", label="closed form")
    handles, labels = angle.get_legend_handles_labels()
    shown = [k for k, handle in enumerate(handles) if np.isfinite(np.asarray(handle.get_ydata(), dtype=float)).any()]
    angle.legend([handles[k] for k in shown], [labels[k] for k in shown], fontsize=8, loc="upper left")
    angle.set_ylim(top=125)
    growth.set_ylim(-3, 3)
    titles = {angle: "arm angle [deg]", growth: "poles: real part [1/s]", frequency: "poles: imaginary part [rad/s]"}
    for axis, title in titles.items():
        axis.axvline(CRITICAL, color="0.6", linewidth=0.8)
        axis.set_title(title, fontsize=10)
        axis.set_xlabel("spin rate [rad/s]")
        axis.grid(alpha=0.3)
    return figure


def main(argv: list[str] | None = None) -> tuple[tt.LPVModel, tt.LPVModel]:
    """Follow both branches and draw them."""
    parser = argparse.ArgumentParser(description="Spring-hinged arms on a spinning shaft.")
    parser.add_argument("--output", default="spinning_arms.png")
    arguments = parser.parse_args(argv)
    opened, closed = families(build().resolve())
    spins = opened.parameters["shaft.v"]
    error = max(abs(q[2] - opening(spin)) for q, spin in zip(opened.q, spins, strict=True))
    print(f"arms open above {CRITICAL:.3f} rad/s; {len(spins)} equilibria, at most {error:.1e} rad from the closed form")
    angle, poles = np.rad2deg(opened.q[0, 2]), np.array2string(opened.eigenvalues[0], precision=3)
    print(f"at {spins[0]:.0f} rad/s: {angle:.2f} deg, poles {poles}")
    draw(opened, closed).savefig(arguments.output)  # type: ignore[attr-defined]
    print(f"figure in {arguments.output}")
    return opened, closed


if __name__ == "__main__":
    main()
