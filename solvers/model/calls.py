"""How a function of a model calls an engine: reading arguments, calling the kernel, and reporting errors.

A function first calls its kernel without checking the arguments. The kernel refuses types that it does not accept with a
`TypeError`, and returns a status other than `DONE` where something is wrong. The code here then calls it again: with lists,
integers and strided arrays converted, with loads, or for all of several stacked states; at last with arguments that were
checked one by one. If that fails too, Python functions compute the result or raise the error: where there is no kernel, and
where constraints have another rank than in general.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, cast

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import axes_of
from titop.solvers.arguments.reading import are_ready_rows, as_arrays, check_stacks, of_one_state, read_wrenches, store
from titop.solvers.arguments.rowwise import Stack, bound, each_row, read_stack, read_states
from titop.solvers.mechanism.kernel_calls import DONE, driven_by, real_only
from titop.solvers.model.mechanism import Resolved
from titop.solvers.support.threads import call_in_parts

Function = TypeVar("Function", bound=Callable[..., Any])

#: The arguments of a state.
_NAMES = ("q", "v", "a")


class LoadedCall:
    """The call of a function of a state under loads: `wrenches` on ports and inputs `u`.

    - `name`: the kernel's name;
    - `state`: names of the arguments: q and vectors (nv);
    - `results`: the shape of each result; sizes of the model are given by name;
    - `computed`: ``computed(mechanism, *state, pushes, motors, mask)`` returns the results at one checked state, without the
      kernel: under pushes on ports, blocks' own coordinates and interactions, and efforts (nv) of motors' inputs on the
      coordinates; `mask` (nv) are the chosen coordinates, or None;
    - `chosen`: the argument that selects coordinates, and with them a kernel: ``"actuated"`` or ``"prescribed"``; none by
      default;
    - `inputs`: how the efforts of inputs on the coordinates enter. ``"join"``: they are added to the efforts that the function
      takes. ``"leave"``: they are subtracted from the efforts that it returns. ``"both"``: added where motion is free,
      subtracted where it is prescribed. ``"stay"``: neither, since they do not depend on the variables of differentiation;
    - `closing`: whether the kernel's tables also have space for closure forces on ports, as those of derivatives have.
    """

    def __init__(
        self,
        name: str,
        state: tuple[str, ...],
        *results: tuple[str | int, ...],
        computed: Callable[..., Any],
        chosen: str = "",
        inputs: str = "join",
        closing: bool = False,
    ) -> None:
        self.name, self.state, self.results, self.computed = name, state, results, computed
        self.chosen, self.inputs, self.closing = chosen, inputs, closing
        self._joining, self._only = inputs in ("join", "both"), results[0] if len(results) == 1 else None

    def ask(
        self,
        model: Resolved,
        state: tuple[Any, ...],
        wrenches: Mapping[str, Any] | None = None,
        u: Any = None,
        x: Any = None,
        out: Any = None,
        names: Iterable[str] | None = None,
        called: bool = True,
    ) -> tuple[Any, ...]:
        """Return the results, stacked if the state is; written into `out` (one array for each) if that is given.

        `called`: whether the function has called the kernel before, if there are no loads.

        Raises `ModelError` for unusable arguments, and for all that the engine refuses.
        """
        if x is not None:
            u = model.mechanism.inputs.whole(u, x)
        if type(names) is list:
            names = tuple(names)
        calls, was_called = model._calls, called and wrenches is None and u is None
        status, is_checked, is_stack, into = DONE, False, False, out
        while calls.kernels is not None:  # three times at most: with the arguments as they are, as arrays, and checked
            if not was_called:
                try:
                    kernel, joined, driven, acting = calls.kernels[self.name, names], state, None, None
                    if into is not None:
                        results = into
                    elif self._only is not None:
                        results = (np.empty(model._shapes[self._only]),)
                    else:
                        results = tuple([np.empty(model._shapes[shape]) for shape in self.results])
                    if u is not None:
                        acting, driven = calls.read_inputs(u, state[0], self.closing)
                        if driven is not None:
                            if kernel.shares:  # it distributes the efforts that are needed in addition to the inputs
                                kernel, joined, driven = kernel.beside, (driven, *state), None
                            elif self._joining:
                                joined = (*state[:2], driven_by(state[2], driven), *state[3:])
                    if acting is None and wrenches is None:
                        status = kernel.call(*joined, *results)
                    else:
                        status = calls.run(kernel, wrenches, acting, joined + results, self.closing)
                    if status == DONE:
                        if driven is not None:
                            results = self._less_inputs(results, driven, kernel.imposed, state)
                        return self._stored(results, out) if is_checked else results
                    model.mechanism.engine.raise_pending()
                except TypeError:
                    pass
            is_stack = wrenches is None and u is None and all(map(are_ready_rows, state))
            if is_stack:
                break
            if ready := as_arrays(*state, u):
                state, u = ready[:-1], ready[-1]
            elif is_checked or axes_of(state[0]) == 2:
                break
            else:
                state, wrenches, u, names = self._checked(model, state, wrenches, u, names, unit=False)
                is_checked, into = True, None
            was_called = False
        if is_stack or axes_of(state[0]) == 2:
            return self._stored(self._at_all(model, tuple(state), wrenches, u, names, is_stack), out)
        return self._stored(self._without_kernel(model, status, *self._checked(model, state, wrenches, u, names)), out)

    def _less_inputs(self, results: tuple[Any, ...], driven: Any, imposed: Any, state: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the results with the inputs' efforts (`driven`) subtracted, as `inputs` says."""
        if self.inputs == "leave":
            np.subtract(results[0], driven, out=results[0])
        elif self.inputs == "both":
            return results[0], np.where(imposed, results[1] - driven, state[2])
        return results

    def _at_all(
        self, model: Resolved, states: tuple[Any, ...], wrenches: Any, u: Any, names: Any, is_ready: bool
    ) -> tuple[Array, ...]:
        """Return the results at stacked states, each with its own wrenches and inputs.

        `is_ready`: whether there are none, and the states are as kernels take them.
        """
        if is_ready and (together := self._together(model, Stack(states, None, None), names)) is not None:
            return together
        stack = read_stack(model.mechanism, dict(zip(self.state, states, strict=True)), wrenches, u)
        together = self._together(model, stack, names)
        if together is not None:
            return together
        rows = each_row(functools.partial(self.ask, model, names=names, called=False), stack.rows())
        parts = zip(*rows, strict=True) if rows else [[]] * len(self.results)
        shapes = (model._shapes[shape] for shape in self.results)
        return tuple(np.array(part).reshape(len(rows), *shape) for part, shape in zip(parts, shapes, strict=True))

    def _together(self, model: Resolved, stack: Stack, names: Any) -> tuple[Array, ...] | None:
        """Return the results at all states of a stack, by one kernel call or one each; None where each has to be asked for."""
        calls, count = model._calls, len(stack.states[0])
        if calls.kernels is None or not (names is None or isinstance(names, tuple)):
            return None
        if self.closing and stack.u is not None and model.mechanism.inputs.own:  # whose efforts change with q
            return None
        kernel, states, is_driven = calls.kernels[self.name, names], stack.states, stack.u is not None
        driven = calls.driven(stack) if is_driven else 0.0
        if kernel.shares:
            kernel, states, is_driven = kernel.beside, (np.zeros((count, model.nv)) + driven, *states), False
        if is_driven and self._joining:
            states = (*states[:2], np.ascontiguousarray(states[2] + driven), *states[3:])
        results = tuple([np.empty((count, *model._shapes[shape])) for shape in self.results])
        arrays = *states, *results
        try:
            if stack.wrenches is None and stack.u is None:
                status = kernel.at_stack(*arrays, threads=calls.threads)
            else:
                status = calls.run_stacked(kernel, lambda rows: tuple([part[rows] for part in arrays]), stack, self.closing)
            if status == DONE:
                return self._less_inputs(results, driven, kernel.imposed, stack.states) if is_driven else results
        except TypeError:
            pass
        model.mechanism.engine.raise_pending()
        return None

    def _checked(
        self, model: Resolved, state: tuple[Any, ...], wrenches: Any, u: Any, names: Any, unit: bool = True
    ) -> tuple[Any, ...]:
        """Return the arguments of one state as kernels accept them: the state, wrenches, inputs, and names of coordinates.

        `unit`: see `read_states`.
        """
        mechanism = model.mechanism
        mechanism.engine.raise_pending()
        mask = getattr(mechanism, self.chosen)(names) if self.chosen else None
        if names is not None and mask is not None:
            names = tuple(name for name, on in zip(model.coordinate_names, mask, strict=True) if on)
        read = read_states(mechanism, dict(zip(self.state, state, strict=True)), unit=unit)
        if wrenches is not None:
            wrenches = read_wrenches(wrenches, mechanism.ports)
        if model._calls.kernels is not None:
            read = [real_only(part, name) for part, name in zip(read, self.state, strict=True)]
            for port, wrench in (wrenches or {}).items():
                real_only(wrench, f"the wrench on {port}")
        if u is not None:
            of_one_state(u := mechanism.inputs.whole(u))
        return tuple(read), wrenches, u, names

    def _without_kernel(
        self, model: Resolved, status: int, state: tuple[Array, ...], wrenches: Any, u: Any, names: Any
    ) -> tuple[Array, ...]:
        """Return the results of Python functions for checked arguments; or raise the error of a tree's kernel."""
        mechanism = model.mechanism
        mask = getattr(mechanism, self.chosen)(names) if self.chosen else None
        if not (mechanism.is_constrained or (self.chosen == "actuated" and mask is not None)):
            mechanism.engine.raise_for(status)
        results = self.computed(mechanism, *state, mechanism.external_pushes(wrenches, u), mechanism.motor_efforts(u), mask)
        return results if isinstance(results, tuple) else (results,)

    def _stored(self, results: tuple[Array, ...], out: Any) -> tuple[Any, ...]:
        return results if out is None else tuple(store(*pair) for pair in zip(results, out, strict=True))


def of_state(*sizes: str | int, still: int = 0) -> Callable[[Function], Function]:
    """Let a function of a state (q; q and v; q, v and a) call the kernel of its name first, and take stacked states.

    `sizes`: shape of the result; sizes of the model are given by name. `still`: number of zero vectors that the kernel takes
    after the state.

    Notes
    -----
    The decorated function computes the result at one checked state, for engines without such a kernel.
    """

    def decorate(function: Function) -> Function:
        name, signature = function.__name__, inspect.signature(function)
        names = tuple(signature.parameters)[1:]

        @functools.wraps(function)
        def call(model: Any, q: Any, *more: Any, **named: Any) -> Any:
            try:
                kernel, shape, zeros = model._ready[name]
            except KeyError:
                ready = getattr(model._calls, name), model._shapes[sizes], model._stills[still]
                kernel, shape, zeros = model._ready[name] = ready
            try:
                if named:
                    more, named = (*more, *in_order(names[1 + len(more) :], named)), {}
                result = np.empty(shape)
                if (kernel(q, *more, *zeros, result) if more or zeros else kernel(q, result)) == DONE:
                    return result
            except TypeError:
                pass
            return again(model, q, more, named, kernel, shape, zeros)

        def again(model: Any, q: Any, more: Any, named: Any, kernel: Any, shape: Any, zeros: Any) -> Any:
            """Do so for other arguments than the kernel takes at once."""
            state = q, *more
            if named or len(state) != len(names):
                state = bound(function, signature, (model, *state), named).args[1:]
            one, of_stacks = functools.partial(function, model), None if kernel is None else model._calls.stacked[name]
            return with_care(model.mechanism, kernel, of_stacks, one, state, shape, zeros)

        if len(names) > 1 or still:
            return cast(Function, call)

        @functools.wraps(function)
        def called_at(model: Any, q: Any, *more: Any) -> Any:
            """Do so for a configuration alone, in less time."""
            try:
                kernel, shape, zeros = model._ready[name]
            except KeyError:
                return call(model, q, *more)
            try:
                result = np.empty(shape)
                if not more and kernel(q, result) == DONE:
                    return result
            except TypeError:
                pass
            return again(model, q, more, {}, kernel, shape, zeros)

        return cast(Function, called_at)

    return decorate


def between_configurations(*sizes: str) -> Callable[[Function], Function]:
    """Let a function of two configurations, or of one and a step, call the kernel of its name first; both may be stacked.

    `sizes`: the size of its one result, by name; or two sizes, for two results that are matrices.

    Notes
    -----
    The decorated function checks its arguments and computes without a kernel.
    """

    def decorate(function: Function) -> Function:
        name, names, matrices = function.__name__, tuple(inspect.signature(function).parameters)[1:], len(sizes) == 2
        one = (1, *sizes)

        @functools.wraps(function)
        def call(model: Any, *arguments: Any, **named: Any) -> Any:
            kernel = getattr(model._calls, name)
            if named and named.keys() == set(names[len(arguments) :]):
                arguments, named = (*arguments, *in_order(names[len(arguments) :], named)), {}
            if kernel is not None and len(arguments) == 2 and not named:
                first, second = arguments
                try:
                    if is_single := type(first) is np.ndarray and first.ndim == 1:
                        first, second, shape = first[None], second[None], model._shapes[one]
                    else:
                        shape = len(first), *model._shapes[sizes]
                    results: tuple[Array, ...] = (np.empty(shape), np.empty(shape)) if matrices else (np.empty(shape),)
                    if not is_single:
                        if call_in_parts(model._calls.threads, kernel, first, second, *results) == DONE:
                            return results if matrices else results[0]
                    elif kernel(first, second, *results) == DONE:
                        return (results[0][0], results[1][0]) if matrices else results[0][0]
                except TypeError:
                    pass
            if ready := as_arrays(*arguments):
                return call(model, *ready, **named)
            return function(model, *arguments, **named)

        return cast(Function, call)

    return decorate


def in_order(names: tuple[str, ...], named: dict[str, Any]) -> tuple[Any, ...]:
    """Return keyword arguments in the order of `names`. Raises `TypeError` if their names are not exactly `names`."""
    if named.keys() != set(names):
        raise TypeError
    return tuple(map(named.get, names))


def with_care(
    mechanism: Any,
    kernel: Any,
    of_stacks: Any,
    one: Callable[..., Array],
    state: tuple[Any, ...],
    shape: tuple[int, ...],
    still: tuple[Array, ...] = (),
) -> Array:
    """Check a state (q; q and v; q, v and a) and return a function's result there; stacked if the state is.

    Raises `ModelError` for unusable states, for complex ones if there is a kernel, and for all that the function refuses.
    `kernel`: takes a state, `still` and an array for the result, and returns a status; `of_stacks`: the same for stacked
    states. `one`: the function of one state, used where there is no kernel. `shape`: of the function's result.
    """
    is_stack = all(map(are_ready_rows, state))
    ready = state if is_stack else as_arrays(*state) or state
    try:
        if of_stacks is not None and (is_stack or all(map(are_ready_rows, ready))):
            result = np.empty((len(ready[0]), *shape))
            if of_stacks(*ready, *[np.zeros((len(result), *each.shape)) for each in still], result) == DONE:
                return result
        elif kernel is not None and ready is not state:
            result = np.empty(shape)
            if kernel(*ready, *still, result) == DONE:
                return result
    except TypeError:
        pass
    states = read_states(mechanism, dict(zip(_NAMES, state, strict=False)), stacked=True, unit=kernel is None)
    check_stacks(dict(zip(_NAMES, states, strict=False)))
    if kernel is None:
        if states[0].ndim == 1:
            return one(*states)
        return np.array(each_row(one, zip(*states, strict=True))).reshape(len(states[0]), *shape)
    mechanism.engine.raise_pending()
    states = [np.ascontiguousarray(real_only(x, name), float) for x, name in zip(states, _NAMES, strict=False)]
    if states[0].ndim == 1:
        result = np.empty(shape)
        mechanism.engine.raise_for(kernel(*states, *still, result))
        return result
    arrays = *states, *(np.zeros((len(states[0]), *each.shape)) for each in still), np.empty((len(states[0]), *shape))
    if of_stacks(*arrays) != DONE:
        each_row(lambda *row: mechanism.engine.raise_for(kernel(*row)), zip(*arrays, strict=True))
    return arrays[-1]
