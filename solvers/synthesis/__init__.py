"""Controllers of full order for one plant, by Riccati equations, or for a family; controllers reduced.

- `general_plant`: plants with disturbances, errors, measurements and controls: read, checked, in balanced units, closed;
- `riccati`: central H-infinity and H2 controllers at a level, in observer form; perturbations that make plants regular;
- `synthesize`: the least level; `hinfsyn` and `h2syn`;
- `loop_shaping`: `mixsyn` and `loopsyn`, the same for plants built of weights;
- `reduce_controller`: controllers of lower order, balanced in their loop and checked in it;
- `musyn`: mu synthesis for families; `structured_levels`: mu of a loop as a function of its controller.
"""
