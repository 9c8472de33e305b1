"""Signals: the quantities that names stand for, with their units, values and derivatives.

- `grammar`: parses a name into a `Quantity`, depending on the argument in which it is given; `forms`: the forms of names.
  Names are parsed nowhere else;
- `quantities`: the kinds of quantities. Tables with one entry for each kind: `units`, `values`, `derivatives`
  (`line_readings`, `contact_readings`, `reaction_derivatives` with `section_opening`);
- `sensors`: the quantities that sensors measure, one entry for each class;
- `snapshot`: the state at which signals are read, and its derivatives; `system_inputs`: the inputs of linear and nonlinear
  systems; `named_model`: the interface of a model that all of these use;
- `exported`: paths, units and exported names; `signal_tables`: the signals that a controller exchanges with a model, in all
  spellings.
"""
