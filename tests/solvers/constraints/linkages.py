"""Linkages as models that know nothing of trees and multipliers."""

from __future__ import annotations

import numpy as np

from tests.closed_systems import ANDREWS_ORDER, ANDREWS_SPRING, ANDREWS_START, LENGTHS, MASSES, andrews

GRAVITY = 9.81
UPWARDS = np.array([0.0, GRAVITY])
STEP = 1e-30


def along(angle):
    """Return the unit vector at an angle in the plane; accepts complex angles."""
    return np.array([np.cos(angle), np.sin(angle)])


def slope(function, x):
    """Return the derivative of a function of one number, by a complex step."""
    return np.imag(function(x + 1j * STEP)) / STEP


class OneDegree:
    """A planar linkage of one degree of freedom in its crank's angle: ``M a + M' v^2 / 2 + U' = tau``.

    Subclasses give inertias and, as functions of the crank's angle, the bars' angles and their centres of mass.
    """

    masses: tuple[float, ...]
    inertias: tuple[float, ...]

    def angles(self, crank):
        raise NotImplementedError

    def centers(self, crank):
        raise NotImplementedError

    def rates(self, crank):
        """Return the bars' angular rates, and their centres' velocities, a unit of the crank's rate; accepts complex angles."""
        raise NotImplementedError

    def mass(self, crank):
        turning, moving = self.rates(crank)
        parts = zip(self.masses, self.inertias, moving, turning, strict=True)
        return sum(m * (p @ p) + about * k * k for m, about, p, k in parts)

    def potential(self, crank):
        return sum(m * GRAVITY * p[1] for m, p in zip(self.masses, self.centers(crank), strict=True))

    def torque(self, crank, rate, acceleration):
        """Return the torque on the crank."""
        return self.mass(crank) * acceleration + slope(self.mass, crank) * rate**2 / 2 + slope(self.potential, crank)

    def acceleration(self, crank, rate, torque):
        """Return the crank's acceleration."""
        return (torque - self.torque(crank, rate, 0.0)) / self.mass(crank)

    def motion(self, crank, rate, acceleration):
        """Return angular accelerations of the bars and accelerations of their centres."""
        turning, moving = self.rates(crank)
        second = slope(lambda x: self.rates(x)[0], crank), slope(lambda x: self.rates(x)[1], crank)
        return turning * acceleration + second[0] * rate**2, moving * acceleration + second[1] * rate**2


class FourBar(OneDegree):
    """The four-bar linkage of `four_bar`; coupler and rocker by the intersection of two circles."""

    masses = MASSES[1:]
    inertias = tuple(m * length**2 / 12 for m, length in zip(MASSES[1:], LENGTHS[1:], strict=True))

    def angles(self, crank):
        ground, first, second, third = LENGTHS
        reach = np.array([ground, 0.0]) - first * along(crank)
        square = reach @ reach
        apex = (second**2 + square - third**2) / (2 * second * np.sqrt(square))
        # arccos without branch cuts: through the sine
        rising = np.arctan(reach[1] / reach[0]) + np.arctan(np.sqrt(1 - apex * apex) / apex)
        last = reach - second * along(rising)
        return np.array([crank, rising, np.arctan(last[1] / last[0]) - (np.pi if np.real(last[0]) < 0 else 0.0)])

    def centers(self, crank):
        corners, joint = [], np.zeros(2)
        for angle, length in zip(self.angles(crank), LENGTHS[1:], strict=True):
            corners.append(joint + length / 2 * along(angle))
            joint = joint + length * along(angle)
        return np.array(corners)

    def rates(self, crank):
        angles = self.angles(crank)
        arms = [length * np.array([-np.sin(x), np.cos(x)]) for x, length in zip(angles, LENGTHS[1:], strict=True)]
        turning = np.concatenate([[1.0], np.linalg.solve(np.column_stack(arms[1:]), -arms[0])])
        moving, joint = [], 0 * arms[0]
        for k, arm in zip(turning, arms, strict=True):
            moving.append(joint + k * arm / 2)
            joint = joint + k * arm
        return turning, np.array(moving)

    def closure_force(self, crank, rate, acceleration):
        """Return the force of the ground on the rocker, by Newton's and Euler's laws of coupler and rocker."""
        turning, moving = self.motion(crank, rate, acceleration)
        matrix, right = np.zeros((6, 6)), np.zeros(6)  # unknown: crank on coupler, coupler on rocker, ground on rocker
        for row, body in ((0, 1), (3, 2)):
            arm = LENGTHS[body + 1] / 2 * along(self.angles(crank)[body])
            entering, leaving = (slice(0, 2), slice(2, 4)) if body == 1 else (slice(2, 4), slice(4, 6))
            sign = -1.0 if body == 1 else 1.0  # what the coupler does to the rocker, the rocker does back
            matrix[row : row + 2, entering], matrix[row : row + 2, leaving] = np.eye(2), sign * np.eye(2)
            matrix[row + 2, entering] = [arm[1], -arm[0]]  # at -arm from the centre
            matrix[row + 2, leaving] = [-sign * arm[1], sign * arm[0]]
            right[row : row + 2] = self.masses[body] * (moving[body] + UPWARDS)
            right[row + 2] = self.inertias[body] * turning[body]
        return np.linalg.solve(matrix, right)[4:]


class SliderCrank(OneDegree):
    """The slider-crank of `slider_crank`."""

    lengths, masses = (0.3, 0.9), (1.0, 2.0, 1.5)
    inertias = (1.0 * 0.3**2 / 12, 2.0 * 0.9**2 / 12, 0.01)

    def angles(self, crank):
        crank_length, rod = self.lengths
        return np.array([crank, -np.arcsin(crank_length / rod * np.sin(crank)), 0 * crank])

    def centers(self, crank):
        first, second, _ = self.angles(crank)
        joint = self.lengths[0] * along(first)
        rod = self.lengths[1] * along(second)
        return np.array([joint / 2, joint + rod / 2, joint + rod])

    def rates(self, crank):
        first, second, _ = self.angles(crank)
        arms = [length * np.array([-np.sin(x), np.cos(x)]) for x, length in zip((first, second), self.lengths, strict=True)]
        swing = -arms[0][1] / arms[1][1]
        return np.array([1.0, swing, 0.0]), np.array([arms[0] / 2, arms[0] + swing * arms[1] / 2, arms[0] + swing * arms[1]])

    def slide_force(self, crank, rate, acceleration):
        """Return the force of the slide on the piston, across it: moments about the joint of crank and rod."""
        turning, moving = self.motion(crank, rate, acceleration)
        arm = self.lengths[1] * along(self.angles(crank)[1])
        inertial = [m * (p + UPWARDS) for m, p in zip(self.masses, moving, strict=True)]
        moments = self.inertias[1] * turning[1]
        moments += (arm[0] * inertial[1][1] - arm[1] * inertial[1][0]) / 2 + arm[0] * inertial[2][1] - arm[1] * inertial[2][0]
        return moments / arm[0]


def andrews_start():
    """Return model and start values of Andrews' mechanism, its angles by name."""
    model = andrews().resolve()
    return model, model.configuration(dict(zip(ANDREWS_ORDER, ANDREWS_START, strict=True)))


def spring(model, q):
    """Return the spring's wrench on ``k3.D``, in its frame."""
    stiffness, length, hung = ANDREWS_SPRING
    turn, at = model.pose("k3.D", q)
    reach = at - hung
    distance = np.linalg.norm(reach)
    return np.concatenate([turn.T @ reach * (-stiffness * (distance - length) / distance), np.zeros(3)])
