"""Filters of actuators and sensors in the model, against python-control's series connections."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import titop as tt
from titop.blocks.basics.errors import ModelError

control = pytest.importorskip("control")

#: Rounding of responses of a dozen states; filters with poles in the same place lose some digits.
SERIES = 1e-9


def arm(path: Any = None, sensed: Any = None) -> tt.System:
    """Return an arm with actuators and sensors of every kind of filter."""
    s = tt.System("arm", gravity=[0, 0, -9.81])
    tip = tt.Pose([0, 0.3, -1.0], [[0, 0, 1], [1, 0, 0], [0, 1, 0]])
    body = tt.RigidBody("arm", mass=1.0, inertia=[0.2, 0.3, 0.4], com=[0, 0, -0.5], ports={"tip": tip})
    cart = tt.RigidBody("cart", mass=2.0)
    s.connect("world", cart, tt.Prismatic("rail", axis=[1, 0, 0], stiffness=5.0))
    s.connect(cart, body, tt.Revolute("hinge", axis=[0, 1, 0], damping=0.1))
    s.add_actuator(tt.Motor("motor", "hinge", gear=2.0, path=path))
    s.add_actuator(tt.Thruster("jet", body, [1, 0, 0], path=path))
    s.add_actuator(tt.Force("push", body.port("tip"), frame="world", path=path))
    s.add_sensor(tt.Encoder("angle", "hinge", path=sensed))
    s.add_sensor(tt.Tachometer("rate", "hinge", path=sensed))
    s.add_sensor(tt.Gyro("gyro", body.port("tip"), path=sensed))
    s.add_sensor(tt.Accelerometer("acc", body.port("tip"), path=sensed))
    return s


INPUTS, OUTPUTS = ["motor", "jet", "push"], ["angle", "rate", "gyro", "acc"]
KINDS = {
    "lag": tt.SignalPath.lag(0.1),
    "second": tt.SignalPath.second_order(20.0, 0.7),
    "proper": tt.SignalPath(control.tf([0.2, 1.0], [0.1, 1.0])),
}


def in_series(plain: Any, path: tt.SignalPath, s: complex) -> Any:
    """Return the response of a plain model behind and before filters, by python-control."""
    before, behind = (control.ss(*path.law(count)) for count in (plain.ninputs, plain.noutputs))
    return behind(s) @ plain(s) @ before(s)


@pytest.mark.parametrize("kind", KINDS)
def test_linear_models_are_in_series_with_filters(kind: str) -> None:
    bent = {"hinge": 0.4}
    m, plain = arm(KINDS[kind], KINDS[kind]).resolve(engine="reference"), arm().resolve(engine="reference")
    point = tt.trim(m, ["rail", "motor"], q=bent)
    system = tt.linearize(m, point, INPUTS, OUTPUTS)
    expected = tt.linearize(plain, tt.trim(plain, ["rail", "motor"], q=bent), INPUTS, OUTPUTS)
    for s in (0.3j, 3.0j, 30.0j, 1.0 + 1.0j):
        right = in_series(expected, KINDS[kind], s)
        assert np.abs(system(s) - right).max() < SERIES * np.abs(right).max()
        assert np.abs(expected(s) - right).max() > 1e-3 * np.abs(right).max()  # the filters matter


def test_a_filter_at_rest_passes_what_it_receives() -> None:
    m, plain = arm(KINDS["proper"], KINDS["second"]).resolve(engine="reference"), arm().resolve(engine="reference")
    points = [tt.trim(each, ["rail", "motor"], q={"hinge": 0.4}) for each in (m, plain)]
    still = np.zeros(m.nv)
    read = [each.model.outputs(each.q, each.v, still, u=each.u, x=each.x) for each in points]
    assert np.allclose(read[0], read[1], atol=1e-9)  # of equilibria
    inputs = [dict(zip(each.model.input_names, each.u, strict=True)) for each in points]
    assert inputs[0] == pytest.approx(inputs[1], abs=1e-9)


def test_names_and_units() -> None:
    m = arm(KINDS["lag"], KINDS["second"]).resolve(engine="reference")
    names = dict(zip(m.state_names, m.mechanism.inputs.state_units, strict=True))
    assert (names["motor.lag[0]"], names["push.lag[2]"]) == ("N m", "N")
    assert (names["angle.second_order[0]"], names["rate.second_order[1]"]) == ("rad", "rad/s/s")
    assert (names["gyro.second_order[5]"], names["acc.second_order[0]"]) == ("rad/s/s", "m/s^2")
    plain = arm().resolve(engine="reference")
    assert set(m.input_names) == set(plain.input_names)
    assert m.output_names == plain.output_names
    assert m.output_units == plain.output_units


def test_engines_agree() -> None:
    path, rng = tt.SignalPath.lag(0.1), np.random.default_rng(0)
    models = [arm(path, path).resolve(engine=engine) for engine in ("reference", "compiled")]
    m = models[0]
    q, v, x, u = (rng.normal(size=size) for size in (m.nq, m.nv, m.nx, m.nu))
    for ask in (
        lambda m: m.forward_dynamics(q, v, u=u, x=x),
        lambda m: m.state_rates(q, v, x, u),
        lambda m: np.hstack(m.state_rates_derivatives(q, v, x, u)),
        lambda m: m.outputs(q, v, v, u=u, x=x),
        lambda m: m.state_efforts(q, v, x, u),
    ):
        first, second = map(ask, models)
        assert np.allclose(first, second, rtol=1e-12, atol=1e-12)  # rounding


def test_an_input_acts_by_its_feedthrough() -> None:
    """Of ``(0.2 s + 1) / (0.1 s + 1)`` a step passes twice at once, and once in the end."""
    m, plain = arm(KINDS["proper"]).resolve(engine="reference"), arm().resolve(engine="reference")
    q, v = np.zeros(2), np.zeros(2)
    apart = m.forward_dynamics(q, v, u={"motor": 1.0}) - m.forward_dynamics(q, v)
    whole = plain.forward_dynamics(q, v, u={"motor": 1.0}) - plain.forward_dynamics(q, v)
    assert np.allclose(apart, 2.0 * whole, rtol=1e-12)  # rounding
    assert np.allclose(m.actuation_matrix(q)[:, m.input_names.index("motor")], [0.0, 4.0], atol=1e-12)


def test_parameters_change_filters_and_gravity_what_accelerometers_receive() -> None:
    m = arm(KINDS["lag"], KINDS["lag"]).resolve(engine="reference")
    q, v, x = np.array([0.1, 0.3]), np.array([0.2, -0.4]), np.linspace(1.0, 2.0, m.nx)
    slower = m.with_parameters({"motor.path.time_constant": 0.5, "gravity.x": 3.0})
    before, after = (dict(zip(m.state_names, each.state_rates(q, v, x), strict=True)) for each in (m, slower))
    assert after["motor.lag[0]"] == pytest.approx(0.2 * before["motor.lag[0]"], rel=1e-12)  # rounding
    back = m.pose("arm.tip", q)[0].T
    expected = -back @ [3.0, 0.0, 0.0] / 0.1
    changes = [after[f"acc.lag[{k}]"] - before[f"acc.lag[{k}]"] for k in range(3)]
    assert np.allclose(changes, expected, atol=1e-10)  # rounding of rates of about 100
    direct = dict(zip(m.output_names, slower.outputs(q, v, v, x=0.0 * x), strict=True))
    moved = m.motion("arm.tip", q, v, v)[6:9] / 0.1  # of an accelerometer's filter with zero states: C B V
    assert np.allclose([direct[f"acc.{axis}"] for axis in "xyz"], moved, atol=1e-12)
    faster = m.with_parameters({"acc.path.time_constant": 0.05})
    direct = dict(zip(m.output_names, faster.outputs(q, v, v, x=0.0 * x), strict=True))
    assert np.allclose([direct[f"acc.{axis}"] for axis in "xyz"], 2.0 * moved, atol=1e-12)
    points = [tt.trim(each, ["rail", "motor"], q={"hinge": 0.4}) for each in (m, faster)]
    before, after = (tt.linearize(each.model, each, ["motor"], ["acc"])(1j, squeeze=False) for each in points)
    assert np.allclose(after * (1 + 0.05j), before * (1 + 0.1j), rtol=1e-9, atol=1e-9)  # rounding
    assert m.parameters()["angle.path.time_constant"] == (0.1, "s")


def whip(path: Any = None, damping: float = 0.3) -> tt.System:
    """Return a rod on a ball joint, pulled by a tendon, with sensors of its tip's pose, its strain and the tendon's length."""
    s = tt.System("whip", gravity=[0, 0, -9.81])
    hub = tt.RigidBody("hub", mass=1.0, inertia=0.01, ports={"clamp": [0.1, 0, 0]})
    section = tt.Section.circle(radius=0.008)
    rod = tt.Rod("rod", length=0.3, section=section, young=5e6, density=1000.0, damping=1e4)
    s.connect("world", hub, tt.Spherical("hinge", stiffness=5.0, damping=damping))
    s.connect(hub.port("clamp"), rod, tt.Weld("weld"))
    s.add_interaction(tt.Tendon("cable", rod, y=0.005, z=0.002))
    s.add_actuator(tt.Torque("push", hub))
    s.add_sensor(tt.PoseSensor("pose", rod.port("tip"), "ZYX", path=path))
    s.add_sensor(tt.StrainGauge("gauge", rod, path=path))
    s.add_sensor(tt.TendonSensor("length", "cable", path=path))
    return s


OBSERVED = ["pose", "gauge", "length"]


@pytest.mark.parametrize("kind", ["lag", "proper"])
def test_poses_strains_and_lengths_pass_filters(kind: str) -> None:
    m, plain = whip(KINDS[kind]).resolve(), whip().resolve()
    systems = [tt.linearize(each, tt.trim(each), ["push", "cable"], OBSERVED) for each in (m, plain)]
    for s in (0.3j, 30.0j, 1.0 + 1.0j):
        behind = control.ss(*KINDS[kind].law(14))(s) @ systems[1](s)
        assert np.abs(systems[0](s) - behind).max() < SERIES * np.abs(behind).max()
        assert np.abs(systems[1](s) - behind).max() > 1e-3 * np.abs(behind).max()  # the filters matter
    units = dict(zip(m.state_names, m.mechanism.inputs.state_units, strict=True))
    names = ["pose.lag[0]", "pose.lag[5]", "gauge.lag[0]", "length.lag[1]"]
    if kind == "lag":
        assert [units[name] for name in names] == ["m", "rad", "rad/m", "m/s"]


def test_filters_of_what_sensors_say_go_to_other_processes() -> None:
    m = whip(KINDS["lag"]).resolve("reference")
    q, v, x = np.array([*m.neutral()[:4], *np.linspace(-0.2, 0.3, m.nq - 4)]), np.linspace(-1, 1, m.nv), np.ones(m.nx)
    sent = pickle.loads(pickle.dumps(m))
    assert (sent.state_rates(q, v, x=x) == m.state_rates(q, v, x=x)).all()
    assert m.state_rates(q, v, x=x).any()


def test_what_they_receive_is_what_is_measured() -> None:
    """Of a swing, as python-control filters measurements that are linear between three hundred instants."""
    m, plain, t = whip(KINDS["lag"]).resolve(), whip().resolve(), np.linspace(0, 0.03, 301)
    q = m.integrate(m.neutral(), np.concatenate([[0.3, 0.2, -0.1], np.zeros(m.nv - 3)]))
    run = tt.simulate(m, t, q, np.zeros(m.nv), x0=np.ones(m.nx))
    read = np.array([plain.outputs(*state) for state in zip(run.q, run.v, run.a, strict=True)]).T
    lag = control.ss([[-10.0]], [[10.0]], [[1.0]], [[0.0]])
    expected = np.array([control.forced_response(lag, t, row, 1.0).outputs for row in read]).T
    # the polygon is off by h^2 / 8 of second derivatives, which are up to 1e5 of rates of lengths (m/s), less of the others
    assert np.abs(run.x - expected).max() < 1e-5
    behind = [
        m.outputs(*state[:3], x=state[3]) for state in zip(run.q[::150], run.v[::150], run.a[::150], run.x[::150], strict=True)
    ]
    assert np.allclose(behind, run.x[::150], rtol=0, atol=1e-12)


def test_engines_agree_on_what_they_receive() -> None:
    models = [whip(KINDS["proper"]).resolve(engine=engine) for engine in ("reference", "compiled")]
    rng, m = np.random.default_rng(1), models[0]
    q, v, x = m.integrate(m.neutral(), rng.normal(size=m.nv)), rng.normal(size=m.nv), rng.normal(size=m.nx)
    first, second = (np.concatenate([each.state_rates(q, v, x), each.outputs(q, v, v, x=x)]) for each in models)
    assert np.allclose(first, second, rtol=1e-10, atol=1e-10)  # rounding of rods' integrals


def test_families_have_them_in_series() -> None:
    m = whip(KINDS["second"]).resolve()
    damping = {"hinge.damping.ry.ry": tt.percent(20)}
    family = tt.lft(m, tt.trim(m), damping, inputs=["push"], outputs=OBSERVED)
    assert family.check(3) < 1e-8  # rounding of responses of two dozen states
    slower = m.with_parameters({"pose.path.frequency": 2.0})
    names = [name for name in m.state_names if name.startswith("pose")]
    q, v = m.neutral(), np.zeros(m.nv)
    rates = [dict(zip(m.state_names, each.state_rates(q, v), strict=True)) for each in (m, slower)]
    assert rates[1][names[1]] == pytest.approx(0.01 * rates[0][names[1]], rel=1e-12)  # by the square of the frequency


def test_what_has_no_filter_is_refused_by_name() -> None:
    s = arm()
    s.add_sensor(tt.ReactionSensor("load", "hinge", path=tt.SignalPath.lag(0.1)))
    with pytest.raises(ModelError) as refused:
        s.resolve()
    codes = {(finding.code, finding.where) for finding in refused.value.findings}
    assert codes == {("no-filter", "load.path.filter")}


def test_files_keep_paths(tmp_path: Any) -> None:
    full = tt.SignalPath(
        KINDS["proper"], 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, [1.0, np.inf, 2.0], ([-1.0, -np.inf, 0.0], [1.0, 2.0, 3.0])
    )
    s = arm(KINDS["second"], KINDS["lag"])
    body = s.graph.nodes["arm"]["block"]
    s.add_sensor(tt.Gyro("errs", body, path=full))
    s.add_actuator(tt.Torque("wrench", body, path=tt.SignalPath([tt.SignalPath.lag(0.1 * k) for k in (1, 2, 3)])))
    s.save(tmp_path / "arm.toml")
    again = tt.load(tmp_path / "arm.toml")
    known = {block.name: block for _, block in s.graph.nodes(data="block")}
    for _, block in again.graph.nodes(data="block"):
        assert getattr(block, "path", None) == getattr(known[block.name], "path", None), block.name
    m, other = s.resolve(engine="reference"), again.resolve(engine="reference")
    assert m.state_names == other.state_names
    q, v, x = np.array([0.1, 0.3]), np.array([0.2, -0.4]), np.linspace(1.0, 2.0, m.nx)
    assert (m.state_rates(q, v, x) == other.state_rates(q, v, x)).all()


def test_wheels_and_free_bodies_take_paths() -> None:
    s = tt.System("craft", gravity=[0, 0, 0])
    hub = tt.RigidBody("hub", mass=10.0, inertia=[1.0, 2.0, 3.0])
    s.connect("world", hub, tt.Free("base"))
    s.add_actuator(tt.Motor("turn", "base.rx", path=tt.SignalPath.lag(0.1)))
    s.add_actuator(tt.ReactionWheel("wheel", hub, [0, 0, 1], 0.1, 1.0, path=tt.SignalPath.lag(0.2)))
    m = s.resolve(engine="reference")
    assert m.state_names == ("turn.lag[0]", "wheel/motor.lag[0]")
    response = tt.linearize(m, m.neutral(), ["turn", "wheel/motor"], ["base.rx.v", "wheel.v"])(2j)
    around_x = 1.05  # kg m^2, of hub and wheel
    assert response[0, 0] == pytest.approx(1 / (2j * around_x * (1 + 0.2j)), rel=1e-12)
    assert response[1, 1] == pytest.approx((1 / 0.1 + 1 / 3.0) / (2j * (1 + 0.4j)), rel=1e-12)
