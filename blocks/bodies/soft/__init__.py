"""Deformable bodies by their kinematics: bodies whose points move by a function of a user's.

- `domain`: the material at rest, as points and volumes, with `quadrature`, the rules for them, `outline`, its surface for
  pictures, `surface`, that for volumes of cavities, and `tetrahedra`, meshes of it;
- `material`: its energy and dissipation per volume;
- `functions`: functions of numbers that NumPy's do not give; `shapes`, `integration`: sums of functions of the abscissa, and
  integrals along the axis;
- `deformation`: kinematics that can be composed; `backbones`, `primitives`: ready ones; `kinematics`: all of them;
- `program`: lists of operations on numbers; `unknown`, `differentiation`: a user's functions as such lists, with derivatives;
  `chain`: derivatives of what is composed; `frame_motion`: those of ports' frames;
- `optional`: libraries that may be missing;
- `law_programs`: the law of a body as programs; `line_programs`: lengths of lines and volumes of cavities;
- `soft_fields`, `soft_ports`: reading what users give; `soft_data`: a body's fields and parameters; `soft_body`: its law.
"""
