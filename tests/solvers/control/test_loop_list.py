"""Lists of control loops, and what is refused in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.solvers.control.sliders import gain, slider, state


def run(controller: Any, **more: Any) -> tt.Trajectory:
    return tt.simulate(slider(), np.linspace(0, 1, 5), [0.3], [0.0], controller=controller, **more)


def guide(output: str = "r_rail_v") -> Any:
    """Return a controller whose output is for others after it."""
    return gain(1.0, inputs=["rail_q"], outputs=[output])


def test_one_loop_is_its_controller_with_the_arguments_beside_it() -> None:
    arguments = {"sample_time": 0.1, "delay": 0.05, "reference": {"rail.q": 0.1}, "noise": 0.01}
    expected, K = state(run(gain(2.0, 3.0), **arguments)), gain(2.0, 3.0)
    by_name = {"controller": K, **arguments}
    for loop in (tt.Loop(K, **arguments), [tt.Loop(K, **arguments)], by_name, (by_name,)):
        assert np.array_equal(state(run(loop)), expected)
    assert run(tt.Loop(K, 0.1)).control is not None


@pytest.mark.parametrize(
    ("controller", "more", "code", "where"),
    [
        ([gain(1.0, 1.0)], {"sample_time": 0.1}, "belongs-to-a-loop", "sample_time"),
        (tt.Loop(gain(1.0, 1.0)), {"noise": 0.1}, "belongs-to-a-loop", "noise"),
        ([], {}, "wrong-type", "controller"),
        ([{"sample_time": 0.1}], {}, "no-controller", "controller[0]"),
        ([{"controller": gain(1.0, 1.0), "rate": 0.1}], {}, "unknown-argument", "controller[0]"),
        ([gain(1.0, 1.0, dt=0.1), tt.Loop(gain(1.0, 1.0), delay=0.1)], {}, "no-sample-time", "controller[1]: delay"),
        ([gain(1.0, 1.0, dt=0.1), gain(1.0, inputs=["rule"])], {}, "unknown-signal", "controller[1]: controller.input_labels"),
        ([gain(1.0, 1.0, dt=0.1), 3.0], {}, "wrong-type", "controller[1]: controller"),
        ([guide()], {}, "unknown-signal", "controller.output_labels"),
        ([gain(1.0, 1.0), guide()], {}, "unknown-signal", "controller[1]: controller.output_labels"),
        (
            [gain(1.0, 1.0, inputs=["rail_v", "push"]), guide("push")],
            {},
            "unknown-signal",
            "controller[0]: controller.input_labels",
        ),
        ([guide(), tt.Loop(gain(1.0, 1.0), reference={"rail.v": 1.0})], {}, "driven-reference", "controller[1]: reference"),
        ([tt.Loop(gain(1.0, 1.0, dt=0.1), reference={"rail.v": "fast"})], {}, "wrong-shape", "reference['rail.v']"),
    ],
)
def test_what_is_wrong_is_named(controller: Any, more: dict[str, Any], code: str, where: str) -> None:
    with pytest.raises(tt.ModelError) as caught:
        run(controller, **more)
    assert (caught.value.code, caught.value.where) == (code, where)
