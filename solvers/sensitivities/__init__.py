"""Derivatives of the dynamics by parameters, inputs and wrenches on ports.

A parameter belongs to one block, and what it changes is there: the block's law, where its ports stand, what acts beside it.
Only that is looked at once more; what follows for the system is known already, from its derivatives by its state.

- `sensitive_model`: what of a model is known here; `state`: a state of it, and what is read there; `stepped`: a system in
  which a parameter has taken a step;
- `effect`: what a parameter does before the system answers;
- `changed_laws`: the parts of that which come from a block's law and ports; `changed_efforts`: from what acts on the system;
  `changed_closures`: from what closes its loops;
- `parameter_changes`: which of these parts a parameter has, and their derivatives;
- `responses`: what moving ports does to the system;
- `sensitivities`: all of that, by name.
"""
