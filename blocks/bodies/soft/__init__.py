"""Deformable bodies defined by kinematics: the positions of points as a user's function.

- `domain`: the material at rest, as points and volumes, with its surface for pictures; `quadrature`: the rules for them;
  `surface`: that for volumes of cavities; `tetrahedra`: meshes of it;
- `material`: its energy and dissipation per volume;
- `functions`: functions of numbers that NumPy's do not give; `shapes`, `integration`: sums of functions of the abscissa, and
  integrals along the axis;
- `deformation`: kinematics that can be composed; `backbones`, `primitives`: predefined ones; `kinematics`: all of them;
- `program`: lists of operations on numbers; `unknown`, `differentiation`: a user's functions as such lists, with derivatives;
  `chain`: derivatives of compositions; `frame_motion`: those of ports' frames;
- `optional`: libraries that may be missing;
- `law_programs`: the law of a body as programs; `line_programs`: lengths of lines and volumes of cavities;
- `soft_fields`, `soft_ports`: reading of users' fields; `soft_data`: a body's fields and parameters; `soft_body`: its law.
"""
