"""Controllers of full order for one plant, by Riccati equations, or for a family; and reduced ones.

- `general_plant`: plants with disturbances, errors, measurements and controls: read, checked, in balanced units, closed;
- `riccati`: central H-infinity and H2 controllers at a level, in observer form; perturbations that make plants regular;
- `synthesize`: the least level; `hinfsyn` and `h2syn`;
- `loop_shaping`: `mixsyn` and `loopsyn`, the same for plants built of weights;
- `reduce_controller`: controllers of lower order, balanced in their loop and checked in it.

Gain-scheduled ones follow the parameters of a family, by matrix inequalities:

- `scheduled_plants`: members as plants, in common units; `scheduled_controllers`: a controller from two matrices X and Y at a
  point, and what these prove of its loop;
- `scheduled_search`: X and Y as functions of the parameters, of the least level; `scheduled_synthesis`: `lpvsyn`.
"""
