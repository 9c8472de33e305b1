"""Reference orbits, about which systems are modelled: Hill's frame as the world."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from titop.blocks.basics.choices import everywhere
from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.pose import Pose
from titop.blocks.basics.spatial import Array, cross, matrix_quaternion, quaternion_matrix, rotation_exp
from titop.blocks.basics.tolerances import EXACT, TYPED
from titop.blocks.basics.user_input import real_array
from titop.blocks.contract.fields import Consumed, Field, Fixed, scalar
from titop.blocks.surroundings.gravity_field import CentralGravity, GravityField

_X, _Z = np.eye(3)[0], np.eye(3)[2]
_ELEMENTS = ("semi_major_axis", "eccentricity", "inclination", "node", "perigee", "anomaly")


def _central(orbit: Orbit, field: str, value: Any) -> CentralGravity:
    """Read the planet's gravity."""
    if type(value) is CentralGravity:
        return value
    advice = "write tt.Orbit(tt.CentralGravity(mu, radius), ...)"
    raise ModelError(Finding("wrong-type", f"{orbit.name}.{field}", value, "a tt.CentralGravity", advice))


class Orbit(CentralGravity):
    """A Kepler orbit about a planet, ``System(gravity=tt.Orbit(...))``: the world is Hill's frame of this orbit.

    The world's origin falls freely along the orbit; x points outwards, z along the orbit's normal, y completes them: along the
    track where the orbit is circular. Positions in it stay small, v = 0 is a satellite that points to the earth, and linear
    models about circular orbits do not depend on time.

    Parameters
    ----------
    gravity : CentralGravity
    semi_major_axis : float, m
    altitude : float, m
        In its place: the semi-major axis less the planet's radius, the height of a circular orbit.
    eccentricity : float
    inclination, node, perigee : float, rad
        Inclination of the orbit to the x-y plane of inertial axes, right ascension of the ascending node from x, argument of
        perigee.
    anomaly : float, rad
        The true anomaly at which the system is modelled.

    Raises
    ------
    ModelError
        Without a `CentralGravity`, and without one of the two lengths, or with both. Wrong values are reported when the system
        is resolved: those that give no ellipse, and orbits that meet the ground.

    Notes
    -----
    Rates in Hill's frame are those of a turning frame: `energy` is the kinetic energy of inertial twists, with the potential of
    what gravity differs by from that at the origin. About a circular orbit what is conserved is Jacobi's integral: the total
    energy less the mean motion times the angular `momentum` about z. A port's twist in `motion` is inertial too; its position,
    and its Euler angles, are those in Hill's frame. Loads and wrenches in the world's axes turn with Hill's frame.

    About an elliptic orbit the frame, and gravity, are those at the `anomaly`: `lpv` along ``gravity.anomaly`` is the exact
    model that is periodic in time. Simulations and time derivatives are those of circular orbits; simulate others with
    ``gravity=orbit.gravity``, from `state`, where positions are from the planet's centre and every orbit is right.

    The orbit is Kepler's also with J2. The origin then falls freely with J2, but Hill's frame turns as if that were not: models
    are those at the anomaly, of a satellite on the orbit that osculates there.

    The parameters of the model are those of the gravity, and ``gravity.semi_major_axis``, ``gravity.eccentricity``,
    ``gravity.inclination``, ``gravity.node``, ``gravity.perigee``, ``gravity.anomaly`` (Vallado, Fundamentals of Astrodynamics
    and Applications, chapter 2; Hughes, Spacecraft Attitude Dynamics, chapter 9).

    Examples
    --------
    >>> import numpy as np, titop as tt
    >>> orbit = tt.Orbit(tt.CentralGravity(3.986004418e14, 6378136.3), altitude=700e3)
    >>> round(float(orbit.period) / 60, 2)
    98.77
    >>> s = tt.System("satellite", gravity=orbit)
    >>> s.connect("world", tt.RigidBody("hub", mass=100.0, inertia=[10, 25, 30]), tt.Free("base"))
    >>> m = s.resolve()
    >>> poles = tt.linearize(m, (m.neutral(), m.velocity({}))).poles() / orbit.mean_motion
    >>> pitch = np.sqrt(3 * (25 - 10) / 30)
    >>> bool(abs(poles - 1j * pitch).min() < 1e-12)
    True
    """

    parameter_units: ClassVar[dict[str, str]] = CentralGravity.parameter_units | {
        "semi_major_axis": "m",
        "eccentricity": "1",
        "inclination": "rad",
        "node": "rad",
        "perigee": "rad",
        "anomaly": "rad",
    }
    semi_major_axis, eccentricity = Field(scalar), Field(scalar)
    inclination, node, perigee, anomaly = Field(scalar), Field(scalar), Field(scalar), Field(scalar)
    rational_parameters = ("j2",)
    altitude = Consumed()
    given = Fixed(_central, argument="gravity", shown=lambda orbit: orbit._gravity)
    gravity: CentralGravity  #: The planet's, with the parameters' current values.

    def __init__(
        self,
        gravity: CentralGravity,
        semi_major_axis: float | None = None,
        altitude: float | None = None,
        eccentricity: float = 0.0,
        inclination: float = 0.0,
        node: float = 0.0,
        perigee: float = 0.0,
        anomaly: float = 0.0,
    ) -> None:
        GravityField.__init__(self)
        self.given = gravity
        self.mu, self.radius, self.j2, self.axis = gravity.mu, gravity.radius, gravity.j2, gravity.axis
        if (semi_major_axis is None) == (altitude is None):
            got, expected = f"semi_major_axis={semi_major_axis}, altitude={altitude}", "one of them"
            raise ModelError(Finding("orbit-size", "gravity", got, expected, "give either in metres"))
        if semi_major_axis is None:
            height = self.reader.scalar("altitude", altitude)
            semi_major_axis = self.radius + height
        self.semi_major_axis, self.eccentricity = semi_major_axis, eccentricity
        self.inclination, self.node, self.perigee, self.anomaly = inclination, node, perigee, anomaly

    @classmethod
    def from_state(cls, gravity: CentralGravity, position: Any, velocity: Any) -> Orbit:
        """Return the orbit through a `position` (3, m) from the planet's centre with a `velocity` (3, m/s), in inertial axes.

        Raises `ModelError` for a state that is on no ellipse. The perigee of a circular orbit is at its node; the node of one
        in the x-y plane at x.
        """
        r, v = (_read_vector(name, given, 3) for name, given in (("position", position), ("velocity", velocity)))
        size, h = np.sqrt(r @ r), cross(r, v)
        energy, momentum = v @ v / 2 - gravity.mu / size if size else -np.inf, np.sqrt(h @ h)
        if not energy < 0 or not momentum > 0:
            got, expected = f"energy {energy:g} J/kg, angular momentum {momentum:g} m^2/s", "an ellipse"
            raise ModelError(Finding("no-ellipse", "velocity", got, expected, "check units, and that it is from the centre"))
        z = h / momentum
        towards = cross(v, h) / gravity.mu - r / size
        e = np.sqrt(towards @ towards)
        nodal = cross(_Z, z)
        tilt = np.sqrt(nodal @ nodal)
        n = nodal / tilt if tilt > EXACT else _X
        apse = towards / e if e > EXACT else n

        def angle(a: Array, b: Array) -> float:
            return float(np.arctan2(cross(a, b) @ z, a @ b))

        elements = {"node": float(np.arctan2(n[1], n[0])), "inclination": float(np.arctan2(tilt, z[2]))}
        elements |= {"perigee": angle(n, apse), "anomaly": angle(apse, r), "eccentricity": float(e) if e > EXACT else 0.0}
        return cls(gravity, float(-gravity.mu / (2 * energy)), **elements)

    def __repr__(self) -> str:
        elements = (f"{name}={getattr(self, name)}" for name in _ELEMENTS if getattr(self, name))
        return f"Orbit({self._gravity!r}, {', '.join(elements)})"

    @property
    def words(self) -> str:
        low, high = (f"{height / 1e3:.5g}" for height in self.heights)
        kind, height = ("an elliptic", f"{low} to {high}") if self.eccentricity else ("a circular", low)
        return f"Hill's frame of {kind} orbit, {height} km high"

    # -- the orbit -----------------------------------------------------------------------------------------------------

    @property
    def _gravity(self) -> CentralGravity:
        return CentralGravity(self.mu, self.radius, self.j2, self.axis)

    @property
    def mean_motion(self) -> Any:
        """The mean motion (rad/s)."""
        return np.sqrt(self.mu / self.semi_major_axis) / self.semi_major_axis

    @property
    def period(self) -> Any:
        """The period (s)."""
        return 2 * np.pi / self.mean_motion

    @property
    def distance(self) -> Any:
        """The distance (m) from the planet's centre."""
        return self._parameter / (1 + self.eccentricity * np.cos(self.anomaly))

    @property
    def heights(self) -> tuple[Any, Any]:
        """Heights (m) of perigee and apogee above the planet's radius."""
        a, e = self.semi_major_axis, self.eccentricity
        return a * (1 - e) - self.radius, a * (1 + e) - self.radius

    @property
    def _parameter(self) -> Any:
        return self.semi_major_axis * (1 - self.eccentricity * self.eccentricity)

    @property
    def _rates(self) -> tuple[Any, Any, Any]:
        """How fast it moves outwards (m/s), turns (rad/s), and turns ever faster (rad/s^2)."""
        r, e = self.distance, self.eccentricity
        turn = self.mean_motion if everywhere(e == 0) else np.sqrt(self.mu * self._parameter) / (r * r)
        outwards = np.sqrt(self.mu / self._parameter) * e * np.sin(self.anomaly)
        return outwards, turn, -2 * outwards * turn / r

    @property
    def place(self) -> tuple[Array, Array]:
        turn = rotation_exp(self.node * _Z) @ rotation_exp(self.inclination * _X)
        axes = turn @ rotation_exp((self.perigee + self.anomaly) * _Z)
        return axes, axes[:, 0] * self.distance

    @property
    def velocity(self) -> Array:
        outwards, turn, _ = self._rates
        axes = self.place[0]
        return np.asarray(axes[:, 0] * outwards + axes[:, 1] * (turn * self.distance))

    @property
    def turning(self) -> Array:
        _, turn, faster = self._rates
        return np.array([0.0, 0.0, turn, 0.0, 0.0, faster])

    def after(self, time: float) -> Orbit:
        """Return the orbit with the anomaly a `time` (s) later, by Kepler's equation."""
        e = self.eccentricity
        root = np.sqrt((1 - e) / (1 + e))
        half = self.anomaly / 2
        turns = 2 * np.pi * np.round(half / np.pi)
        eccentric = 2 * np.arctan2(root * np.sin(half - turns / 2), np.cos(half - turns / 2))
        mean = eccentric - e * np.sin(eccentric) + self.mean_motion * time
        whole = 2 * np.pi * np.round(mean / (2 * np.pi))
        mean, x = mean - whole, np.pi * np.sign(mean - whole)
        for _ in range(60):  # Newton's method from pi comes from one side
            step = (x - e * np.sin(x) - mean) / (1 - e * np.cos(x))
            x -= step
            if abs(step) <= EXACT * EXACT:
                break
        now: Any = self.with_parameters({"anomaly": 2 * np.arctan2(np.sin(x / 2), root * np.cos(x / 2)) + whole + turns})
        return now  # type: ignore[no-any-return]

    # -- states --------------------------------------------------------------------------------------------------------

    def state(self, base: Any = None, v: Any = None) -> tuple[Array, Array]:
        """Return q (7; m) and v (6; m/s, rad/s) of a free base on the inertial world, whose origin is the planet's centre.

        Parameters
        ----------
        base : Pose or array_like (7,), optional
            Pose of the base in Hill's frame: a `tt.Pose`, or position and quaternion as of `tt.Free`. At the origin, along the
            axes, by default.
        v : array_like (6,), optional
            Its velocity against Hill's frame, in its own axes, as of `tt.Free` (m/s and rad/s); zero by default.

        Returns
        -------
        q, v : arrays (7,), (6,); m, m/s and rad/s
            For ``m.configuration({"base": q})`` and ``m.velocity({"base": v})`` of a system with ``gravity=orbit.gravity``.
        """
        R, x, rates = _read_state(base, v)
        axes, origin = self.place
        return np.concatenate([origin + axes @ x, matrix_quaternion(axes @ R)]), rates + self._carried(R, x)

    def relative(self, q: Any, v: Any) -> tuple[Array, Array]:
        """Return q (7; m) and v (6; m/s, rad/s) of a free base in Hill's frame from those on the inertial world."""
        R, x, rates = _read_state(q, v)
        axes, origin = self.place
        R, x = axes.T @ R, axes.T @ (x - origin)
        return np.concatenate([x, matrix_quaternion(R)]), rates - self._carried(R, x)

    def _carried(self, R: Array, x: Array) -> Array:
        """Return the inertial twist (6) of a body at rest in Hill's frame, in its axes."""
        outwards, turn, _ = self._rates
        velocity = np.array([outwards, turn * self.distance, 0.0]) + cross(turn * _Z, x)
        return np.concatenate([R.T @ velocity, R.T @ (turn * _Z)])

    # -- the field -----------------------------------------------------------------------------------------------------

    def field_numbers(self) -> Array:
        numbers = super().field_numbers()
        return np.concatenate([numbers[:2], self.place[0].T @ numbers[2:5], [self.distance, 0.0, 0.0], numbers[8:]])

    def over_ground(self, position: Array) -> Any:
        return super().over_ground(position + self.distance * _X)

    def along_time(self) -> tuple[list[Finding], list[Finding]]:
        advice = "take gravity=orbit.gravity, and orbit.state(...) for the start: there every orbit is right"
        if self.eccentricity:
            where, expected = (f"{self.name}.eccentricity", "a circular orbit: of others Hill's frame is known at one place")
            return [Finding("elliptic-orbit", where, self.eccentricity, expected, advice)], []
        if self.j2:
            got, expected = (
                f"{self.j2:g}, under which Hill's frame would not stay Kepler's",
                "motions of small parts of an orbit",
            )
            return [], [Finding("oblate-orbit", f"{self.name}.j2", got, expected, advice)]
        return [], []

    def check(self) -> tuple[list[Finding], list[Finding]]:
        errors, warnings = super().check()
        if errors:
            return errors, warnings
        where, e = f"{self.name}.eccentricity", self.eccentricity
        if not 0 <= e < 1:
            errors.append(Finding("no-ellipse", where, e, "0 <= eccentricity < 1", "only bound orbits have a period"))
        elif not self.heights[0] > 0:
            low, high = (f"{height / 1e3:.6g} km" for height in self.heights)
            got, advice = (f"perigee {low} and apogee {high} above the ground", "semi_major_axis is in metres from the centre")
            errors.append(Finding("orbit-meets-ground", self.name, got, "a perigee above the planet's radius", advice))
        return errors, warnings


def _read_vector(name: str, given: Any, size: int) -> Array:
    vector = real_array(given)
    if vector is None or vector.shape != (size,) or not np.isfinite(vector).all():
        raise ModelError(Finding("wrong-shape", name, given, f"{size} finite numbers", "in m and rad, and these per s"))
    return vector


def _read_state(base: Any, v: Any) -> tuple[Array, Array, Array]:
    """Return rotation, position and rates of a free base."""
    rates = np.zeros(6) if v is None else _read_vector("v", v, 6)
    if base is None or isinstance(base, Pose):
        pose = Pose() if base is None else base
        return pose.rotation, pose.position, rates
    q = _read_vector("base", base, 7)
    size = np.sqrt(q[3:] @ q[3:])
    if not abs(size - 1) < TYPED:
        advice = "give a tt.Pose, or divide the quaternion by its norm"
        raise ModelError(Finding("not-unit", "base", q[3:], "a unit quaternion (x, y, z, w)", advice))
    return quaternion_matrix(q[3:] / size), q[:3], rates
