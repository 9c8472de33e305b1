"""Derivatives of the dynamics by parameters, inputs and wrenches on ports.

A parameter belongs to one block, and what it changes is there: the block's law, where its ports stand, what acts beside it.
Only that is looked at once more; what follows for the system is known already, from its derivatives by its state.

- `state`: what of a model is known here, a state of it, and a system in which a parameter has taken a step;
- `effects`: what a parameter does before the system answers, and what moving ports does to the system;
- `changed_parts`: what a parameter may change, and what that does;
- `inertial_parameters`: masses, centres of mass and inertias of rigid bodies, all in one pass;
- `parameter_changes`: which of these parts a parameter has, and their derivatives;
- `sensitivities`: all of that, by name.
"""
