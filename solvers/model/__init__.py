"""What users compute with.

- `model`: `Model`, made of coordinates and constraints, an engine, and the functions of the files below;
- `resolved`: what all of these rest on;
- `kinematics`, `dynamics`, `equation_terms`, `readings`, `contacts`, `sections`: how ports move, dynamics in any causality,
  terms of the equations of motion, what is read of a state, of contacts, of the sections of rods; `mass_dynamics`: inverse
  dynamics with the mass matrix; `overlaps`: where bodies run through themselves;
- `outputs`: what sensors read, of all that;
- `series`: time derivatives of any order;
- `derivatives`: by states; `parameter_derivatives`: by all else; `identification`: by inertial parameters, in which dynamics
  are linear;
- `own_states`: states of the first order, how they change and what they do;
- `changes`: models with other parameters;
- `prepared`: dynamics for integrators; `reduction`: from all coordinates to independent ones.
"""
