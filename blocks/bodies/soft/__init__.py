"""Deformable bodies defined by kinematics: the positions of points as a user's function.

- `domain`: the material at rest, as points and volumes; `quadrature`: those of sections along z, of surfaces and of meshes;
- `material`: its energy and dissipation per volume;
- `functions`: those of numbers and of the abscissa for kinematics; `deformation`: kinematics that can be composed, and
  primitives; `soft_kinematics`: all of them, and backbones;
- `chain`: derivatives of compositions (by `titop.blocks.programs`);
- `law_programs`: the law of a body as programs; `line_programs`: lengths of lines and volumes of cavities;
- `soft_fields`: reading of users' fields; `soft_ports`: ports, and how their frames move; `soft_data`: a body's fields and
  parameters; `soft_body`: its law.
"""
