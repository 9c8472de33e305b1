"""Signals: what their names stand for, in which unit, with which value and which derivative.

- `grammar`: from a name to a `Quantity`, by the argument in which it stands, and `forms` of names: nothing else takes
  names apart;
- `quantities`: what a name can stand for: the kinds. Tables with one entry a kind: `units`, `values`, `derivatives`
  (`line_readings`, `contact_readings`, `reaction_derivatives` with `section_opening`);
- `sensors`: what each class of sensors reads, one entry a class;
- `snapshot`: the state at which signals are read, and its derivatives; `system_inputs`: what drives linear and nonlinear ones;
  `named_model`: what all of these know of a model;
- `exported`: paths, units and names as they leave titop; `signal_tables`: what controllers exchange with a model, in all
  spellings.
"""
