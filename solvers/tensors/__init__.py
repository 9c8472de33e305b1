"""A model's functions for PyTorch and JAX: of tensors, with derivatives.

- `differentiable`: values, derivatives, and derivatives of these along directions, of stacked states, in NumPy;
- `torch_model`: `Model.to_torch`; `jax_model`: `Model.to_jax`.
"""
