"""Derivatives of the dynamics by parameters, inputs and wrenches on ports.

A parameter belongs to one block and changes it only locally: the block's law, the places of its ports, or the loads that it
applies. Only these are differentiated by the parameter; the effect on the system follows from its derivatives by the state.

- `effects`: a state, and a system with one parameter changed by a step; the direct effect of a parameter, and the effect on the
  system when ports move;
- `changed_parts`: the parts of a system that a parameter may change, and their effects;
- `inertial_parameters`: masses, centres of mass and inertias of rigid bodies, all in one pass;
- `recorded_effects`: the direct effects as programs, for stacked states;
- `sensitivities`: the parts that one parameter changes, with their derivatives, and the derivatives of the dynamics, by name.
"""
