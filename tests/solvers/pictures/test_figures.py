"""Figures of systems in space."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from examples.custom_block import ConstantCurvatureSegment
from tests.closed_systems import closed_four_bar
from tests.solvers.model.identities import Array
from tests.solvers.pictures.animated import drawn_lines, motion
from tests.solvers.simulation.soft_arms import RADIUS, ROUND, L, arm
from titop.solvers.pictures.figures import COLOURS, fit_axes, in_panels, plot_over_time


def test_figures_show_the_deformed_surface() -> None:
    """Points on a circle of the tip are as far from the tip as the radius, whatever bends."""
    model = arm()
    trajectory = motion(model, end=1.0, count=3)
    axes = trajectory.plot_shape(1.0).axes[0]
    outline, q = ROUND.outline, trajectory.q[2]
    assert outline is not None
    drawn = drawn_lines(axes)
    assert [len(line) for line in drawn] == [len(line) for line in outline.lines]
    ring = next(k for k, line in enumerate(outline.lines) if (outline.points[line, 2] == L).all())
    tip = model.pose("body.tip", q)[1]
    np.testing.assert_allclose(np.linalg.norm(drawn[ring] - tip, axis=1), RADIUS, rtol=1e-12)
    assert np.abs(tip - [0, 0, L]).max() > 0.01  # it has moved


def test_points_of_ones_own_are_dots() -> None:
    model = arm(tt.Domain(ROUND.points, ROUND.volumes, tip=[0, 0, L]))
    (dots,) = [line for line in motion(model, end=1.0, count=3).plot_shape(0.0).axes[0].lines if len(line.get_data_3d()[0])]
    assert (dots.get_marker(), dots.get_linestyle(), len(dots.get_data_3d()[0])) == (".", "None", len(ROUND.points))


def test_bars_are_one_line_an_instant() -> None:
    """It is interrupted between bars: to the centre of mass, and to what hangs on the body."""
    s = tt.System("arm")
    upper = tt.RigidBody("upper", 1.0, com=[0, 0, -1], inertia=1.0, ports={"end": [0, 0, -2]})
    s.connect("world", upper, tt.Revolute("shoulder", axis=[1, 0, 0]))
    s.connect(upper.port("end"), tt.RigidBody("lower", 1.0, com=[0, 0, -3], inertia=1.0), tt.Revolute("elbow", axis=[1, 0, 0]))
    trajectory = motion(s.resolve("reference"), end=1.0, count=3)
    lines = [line for line in trajectory.plot_shape([0.0, 1.0]).axes[0].lines if len(line.get_data_3d()[0])]
    gap = [np.nan] * 3
    for line, (shoulder, elbow) in zip(lines, trajectory.q[[0, 2]], strict=True):
        down = np.array([0, np.sin(shoulder), -np.cos(shoulder)])
        beyond = np.array([0, np.sin(shoulder + elbow), -np.cos(shoulder + elbow)])
        expected = [0 * down, down, gap, 0 * down, 2 * down, gap, 2 * down, 2 * down + 3 * beyond]
        np.testing.assert_allclose(np.array(line.get_data_3d()).T, expected, atol=1e-12)
        assert line.get_marker() == "o"


def drawn(axes: Any) -> list[Any]:
    """Return the lines of a figure that show something."""
    return [line for line in axes.lines if len(line.get_data_3d()[0])]


def points(line: Any) -> Array:
    return np.array(line.get_data_3d()).T


def pieces(axes: Any) -> list[Array]:
    """Return the points (k, 3; m) of all lines of a figure, interrupted ones in their parts."""
    lines = [points(line) for line in drawn(axes)]
    parts = (part for line in lines for part in np.split(line, np.flatnonzero(np.isnan(line[:, 0]))))
    return [part[~np.isnan(part[:, 0])] for part in parts]


def test_everything_has_the_colour_that_the_legend_tells() -> None:
    """Bars, beams, other flexible bodies, users' blocks: all of an instant in one colour, as many lines each time."""
    model = every_kind()
    axes = motion(model, end=1.0, count=5).plot_shape([0.0, 0.5, 1.0]).axes[0]
    told = [line.get_color() for line in axes.get_legend().get_lines()]
    assert len({tuple(colour) for colour in told}) == 3
    shown = [[line for line in drawn(axes) if np.array_equal(line.get_color(), colour)] for colour in told]
    assert sum(map(len, shown)) == len(drawn(axes))
    assert len({len(lines) for lines in shown}) == 1


def test_every_kind_of_body_is_drawn() -> None:
    """Each port at which something hangs lies on a line, and so does where each body without ports has its mass."""
    model = every_kind()
    run = motion(model, end=1.0, count=3)
    axes = run.plot_shape(1.0).axes[0]
    shown, q = np.concatenate([points(line) for line in drawn(axes)]), run.q[2]
    for port in ("hub", "boom.C", "panel.A", "panel.B", "segment", "segment.C"):
        distance = np.linalg.norm(shown - model.pose(port, q)[1], axis=1)
        assert np.nanmin(distance) < 1e-12, port
    body, (rotation, position) = model.mechanism.assembly.blocks["sheet"], model.pose("sheet", q)
    assert isinstance(body, tt.FlexibleBody)
    own = q[model.mechanism.assembly.q_slices["sheet"]]
    at = position + rotation @ (body.com + body.participation[:, :3].T @ own / body.mass)
    assert np.nanmin(np.linalg.norm(shown - at, axis=1)) < 1e-12


def test_a_closed_loop_is_drawn_whole() -> None:
    """The last body of a four-bar linkage reaches its closure."""
    m, q, _ = closed_four_bar(closure=tt.RigidClosure("pin", directions=np.eye(6)[:, :2]))
    still = np.zeros((2, 3))
    run = tt.Trajectory(m, np.array([0.0, 1.0]), np.array([q, q]), still, still, still)
    shown = np.concatenate([points(line) for line in drawn(run.plot_shape(0.0).axes[0])])
    assert np.nanmin(np.linalg.norm(shown - m.pose("rocker.end", q)[1], axis=1)) < 1e-12


def test_one_configuration_is_drawn_without_a_simulation() -> None:
    """At an operating point the lines are those of a trajectory that is there; a loop that is open is refused."""
    m, q, _ = closed_four_bar(closure=tt.RigidClosure("pin", directions=np.eye(6)[:, :2]))
    still = np.zeros((2, 3))
    run = tt.Trajectory(m, np.array([0.0, 1.0]), np.array([q, q]), still, still, still)
    expected = [points(line) for line in drawn(run.plot_shape(0.0).axes[0])]
    for point in (q, tt.OperatingPoint(m, q)):
        for shown, line in zip(drawn(tt.plot_shape(m, point).axes[0]), expected, strict=True):
            np.testing.assert_array_equal(points(shown), line)
    with pytest.raises(tt.ModelError, match="open"):
        tt.plot_shape(m, np.add(q, [0.1, 0.0, 0.0]))
    swing = tt.System("swing")
    swing.connect("world", tt.RigidBody("bob", 1.0, com=[0, 0, -1]), tt.Revolute("hinge", axis=[0, 1, 0]))
    (shown,) = [points(line) for line in drawn(tt.plot_shape(swing.resolve("reference")).axes[0])]
    np.testing.assert_array_equal(shown, [[0, 0, 0], [0, 0, -1]])


def test_a_flexible_body_bends_as_its_ports_turn() -> None:
    """The curve to a port leaves P along the straight line, and arrives turned as the port is."""
    model = every_kind()
    q = model.configuration({"panel.mode1": 0.2})
    still = np.zeros((2, model.nv))
    run = tt.Trajectory(model, np.array([0.0, 1.0]), np.array([q, q]), still, still, still)
    near, far = model.pose("panel", q)[1], model.pose("panel.A", q)
    near_one = [piece for piece in pieces(run.plot_shape(0.0).axes[0]) if np.allclose(piece[0], near) and len(piece) > 2]
    curve, _ = near_one  # to A, and to B
    np.testing.assert_allclose(curve[-1], far[1], atol=1e-12)
    arriving = (curve[-1] - curve[-2]) / np.linalg.norm(curve[-1] - curve[-2])
    chord = far[0] @ np.array([1.0, 0.0, 0.0])
    assert arriving @ chord > 0.999  # a sixteenth of the curve before its end
    assert arriving @ (curve[1] - curve[0]) / np.linalg.norm(curve[1] - curve[0]) < 0.99


def test_bars_reach_where_joints_are_placed() -> None:
    """At a placement, not only at a port: links of robots from files hang together."""
    s = tt.System("arm")
    s.connect("world", tt.RigidBody("upper", 1.0, com=[0, 0, -1], inertia=1.0), tt.Revolute("shoulder", axis=[1, 0, 0]))
    elbow = tt.Revolute("elbow", axis=[1, 0, 0])
    s.connect(s["upper"], tt.RigidBody("lower", 1.0, com=[0, 0, -1], inertia=1.0), elbow, placement=tt.Pose([0, 0.5, -2]))
    m = s.resolve("reference")
    shown = np.concatenate([points(line) for line in drawn(tt.plot_shape(m, [0.3, 0.2]).axes[0])])
    assert np.nanmin(np.linalg.norm(shown[:5] - m.pose("lower", [0.3, 0.2])[1], axis=1)) < 1e-12  # on the upper one


class TestAxesInSpace:
    """Numbers and names of axes."""

    @staticmethod
    def overlaps(axes: Any) -> tuple[int, bool]:
        """Return how many pairs of numbers and names overlap, and whether all lie within the figure."""
        axes.figure.canvas.draw()
        texts = []
        for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
            low, high = axis.get_view_interval()
            texts += [axis.label, *(tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high)]
        boxes = [text.get_window_extent() for text in texts if text.get_text()]
        pairs = sum(
            bool(min(a.x1, b.x1) - max(a.x0, b.x0) > 1 and min(a.y1, b.y1) - max(a.y0, b.y0) > 1)  # a pixel of hinting
            for k, a in enumerate(boxes)
            for b in boxes[:k]
        )
        return pairs, all(axes.figure.bbox.contains(x, y) for box in boxes for x, y in (box.min, box.max))

    @pytest.mark.parametrize("room", [(1, 1, 1), (5, 1, 1), (1, 5, 1), (1, 1, 5), (3, 3, 1), (0.01, 0.01, 0.003)])
    def test_they_do_not_overlap(self, room: tuple[float, float, float]) -> None:
        """Whatever the shape; as matplotlib does it, they do where it is long."""
        fitted, plain = self.axes(room), self.axes(room)
        fit_axes(fitted)
        assert self.overlaps(fitted) == (0, True)
        if max(room) > 4 * min(room):
            plain.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]", aspect="equal")
            assert self.overlaps(plain)[0] > 0

    @staticmethod
    def axes(room: tuple[float, float, float]) -> Any:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6.4, 5.6), layout="constrained")
        FigureCanvasAgg(figure)
        axes: Any = figure.add_subplot(projection="3d")
        axes.plot(*np.outer(room, [0, 1]))
        return axes


class TestPanels:
    """Signals over time in panels."""

    def test_a_few_have_a_panel_each(self) -> None:
        signals = {(f"joint{k}", "rad"): np.zeros(3) for k in range(12)}
        assert list(in_panels(signals)) == [f"joint{k} [rad]" for k in range(12)]
        shared = in_panels(signals | {("rail", "m"): np.ones(3)})
        assert list(shared) == ["joint0 … joint5 [rad]", "joint6 … joint11 [rad]", "rail [m]"]

    @pytest.mark.parametrize("seed", range(8))
    def test_many_fit_on_a_page(self, seed: int) -> None:
        """Each signal is in one panel, with others of its unit; there are twelve panels at most, all with their own titles."""
        rng = np.random.default_rng(seed)
        blocks = [f"{rng.choice(['wheel', 'panel', 'leg/knee', 'rod'])}{rng.integers(30)}" for _ in range(rng.integers(5, 90))]
        entries = {f"{name}{'.' * bool(k)}{f'mode{k}' * bool(k)}" for name in blocks for k in range(rng.integers(1, 6))}
        signals = {(name, str(rng.choice(["rad", "m", "N m"]))): np.full(2, k) for k, name in enumerate(sorted(entries))}
        panels = in_panels(signals)
        assert len(panels) <= 12 < len(signals) or len(panels) == len(signals) <= 12
        seen = []
        for title, panel in panels.items():
            lines = panel if isinstance(panel, dict) else {"": panel}
            known = {float(values[0]): name for name, values in signals.items()}
            for short, values in lines.items():
                name, unit = known[float(values[0])]
                seen.append(name)
                assert title.endswith(f"[{unit}]")
                assert name.endswith(short)
        assert sorted(seen) == sorted(name for name, _ in signals)

    def test_blocks_of_one_kind_share_panels(self) -> None:
        names = [f"base.{axis}" for axis in "xyz"] + [f"wheel{k}" for k in range(4)] + [f"panel.mode{k}" for k in range(1, 8)]
        panels = in_panels({(name, "m" if "base" in name else "rad"): np.zeros(2) for name in names})
        assert {title: [*panel] for title, panel in panels.items()} == {
            "base [m]": ["x", "y", "z"],
            "wheel0 … wheel3 [rad]": ["wheel0", "wheel1", "wheel2", "wheel3"],
            "panel [rad]": [f"mode{k}" for k in range(1, 8)],
        }

    def test_legends_lie_above_the_lines(self) -> None:
        """No point of a line is under the legend; without the room that is made for it some are."""
        t = np.linspace(0, 1, 200)
        lines = {f"a_long_name{k}": np.sin(6 * t + k) for k in range(len(COLOURS))}
        figure = plot_over_time(t, {"all [rad]": lines, "one [m]": t})
        axis = figure.axes[0]
        assert [line.get_color() for line in axis.lines] == list(COLOURS)
        assert self.hidden(axis) == 0
        axis.autoscale(axis="y")
        assert self.hidden(axis) > 0

    @staticmethod
    def hidden(axis: Any) -> int:
        axis.figure.draw_without_rendering()
        legend = axis.get_legend().get_window_extent()
        places = np.concatenate([axis.transData.transform(line.get_xydata()) for line in axis.lines])
        return sum(bool(legend.contains(x, y)) for x, y in places)


def every_kind() -> tt.Model:
    """Return a system of a rigid body, a beam, flexible bodies with and without ports, and a user's block."""
    s = tt.System("all", gravity=[0, 0, 0])
    ports = {name: [0.2, y, 0] for name, y in (("a", -1), ("b", 0), ("c", 1), ("d", 2))}
    hub = tt.RigidBody("hub", 10.0, inertia=1.0, ports=ports)
    s.connect("world", hub, tt.Free("base"))
    s.connect(hub.port("a"), tt.Beam("boom", 2.0, 1600.0, 3e-4, 6e9, 4e-8, 4e-8), tt.Weld("w1"))
    s.connect(s["boom"].port("C"), tt.RigidBody("dish", 5.0, inertia=1.0), tt.Weld("w2"))
    turning = np.zeros((6, 1))
    turning[[2, 4], 0] = 0.5, -1.0
    fields: dict[str, Any] = {"mass": 2.0, "com": [0.5, 0, 0], "inertia": 0.3, "frequencies": [3.0]}
    fields["participation"] = [0, 0, 0.4, 0, 0, 0]
    places = {"A": [1.0, 0, 0], "B": [0.5, 0.5, 0]}
    panel = tt.FlexibleBody("panel", **fields, ports=places, shapes={"A": turning, "B": 0.5 * turning})
    s.connect(hub.port("b"), panel, tt.Weld("w3"))
    s.connect(hub.port("c"), tt.FlexibleBody("sheet", **fields), tt.Weld("w4"))
    s.connect(hub.port("d"), ConstantCurvatureSegment("segment", 0.6, 0.05, 120.0), tt.Weld("w5"))
    return s.resolve("reference")


def test_titles_of_long_names_fit_their_panels() -> None:
    names = [f"joint_{k}_of_the_left_arm_of_the_first_robot" for k in range(13)]
    figure = plot_over_time(np.arange(2.0), in_panels({(name, "rad"): np.ones(2) for name in names}))
    figure.draw_without_rendering()
    first, second = (axis.title.get_window_extent() for axis in figure.axes)
    assert first.x1 < second.x0
    assert second.x1 < figure.bbox.x1
