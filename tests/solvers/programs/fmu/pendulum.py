"""A pendulum in C, written by hand, as the model of an FMU: ``q'' = -g sin q + (tau + tau of the controller) / m``."""

from __future__ import annotations

from titop.solvers.programs.fmu.fmu_description import Variable

_MODEL = """
#define NP 2
#define NR {commands}
#define NU 1
#define NC {commands}
#define NX 2
#define NY 1
#define NZ 1
#define NM 1
#define NQUATERNIONS 0
#define HEALTHS 1
#define LEAST_HEALTH 0.0
#define SAMPLE_TIME 0.1
static const int QUATERNIONS[] = {{0}};
static const double START[] = {{{rest} 2.0, 9.81, 0.0, {rest} 0.3, 0.0}};
#define X (NP + NU + NC)
static double torque(const double *u) {{ return NC ? u[0] + u[NU + NC - 1] : u[0]; }}
static void model_rates(const double *x, const double *u, const double *p, double *xdot, double *health)
{{ xdot[0] = x[1], xdot[1] = -p[1] * sin(x[0]) + torque(u) / p[0], health[0] = 100.0 - x[0]; }}
static void model_outputs(const double *x, const double *u, const double *p, double *y)
{{ (void)u, (void)p, y[0] = -cos(x[0]), y[1] = x[0] - 0.1, y[2] = x[0]; }}
static void model_tangent(const double *x, const double *u, const double *p, const double *s, double *o)
{{
    o[0] = s[X + 1];
    o[1] = -p[1] * cos(x[0]) * s[X] - sin(x[0]) * s[1] + s[NP] / p[0] - torque(u) / p[0] / p[0] * s[0];
    o[2] = sin(x[0]) * s[X], o[3] = s[X];
}}
static void model_adjoint(const double *x, const double *u, const double *p, const double *w, double *g)
{{
    g[0] = -torque(u) / p[0] / p[0] * w[1], g[1] = -sin(x[0]) * w[1], g[NP] = w[1] / p[0];
    g[X] = -p[1] * cos(x[0]) * w[1] + sin(x[0]) * w[2] + w[3], g[X + 1] = w[0];
}}
"""

#: The command is proportional to the error, and to the sum of the errors before; it has limits that do not matter.
_LAW = """
#include "law.h"
#define LAW(name) pend_##name
#define LAW_DEFAULTS NO_NUMBERS
#define LAW_NOT_FINITE 1
static const double LIMITS[][2] = {{-100.0, INFINITY}};
"""
_LAW_HEADER = """
typedef double pend_memory;
extern const int NO_NUMBERS;
void pend_reset(pend_memory *memory, const int *numbers);
int pend_step(pend_memory *memory, const int *numbers, const double *given, double *c);
"""
_LAW_SOURCE = """
#include "law.h"
const int NO_NUMBERS = 0;
void pend_reset(pend_memory *memory, const int *numbers) { (void)numbers, *memory = 0.0; }
int pend_step(pend_memory *memory, const int *numbers, const double *given, double *c)
{
    (void)numbers, c[0] = 5.0 * (given[1] - given[0]) + 0.5 * *memory, *memory += given[1] - given[0];
    return 0;
}
"""


def pendulum(controlled: bool = False) -> tuple[list[Variable], dict[str, str]]:
    """Return the variables and the C of the pendulum, which a controller may hold."""
    reference = [Variable("r_hinge.q", "input", "rad", 0.0)] if controlled else []
    command = [Variable("hinge.command", "local", "N m", 0.0, variability="discrete")] if controlled else []
    first = 4 + len(reference) + len(command)
    variables = [
        Variable("time", "independent", "s"),
        *reference,
        Variable("bob.mass", "parameter", "kg", 2.0, variability="tunable"),
        Variable("gravity", "parameter", "m/s^2", 9.81, variability="tunable"),
        Variable("hinge.tau", "input", "N m", 0.0),
        *command,
        Variable("hinge.q", "output", "rad", 0.3),
        Variable("hinge.v", "local", "rad/s", 0.0),
        Variable("der(hinge.q)", "local", "rad/s", state=first),
        Variable("der(hinge.v)", "local", "rad/s^2", state=first + 1),
        Variable("height", "output", "m"),
        Variable("hinge.stop", "local", "rad", is_indicator=True),
    ]
    model = _MODEL.format(commands=int(controlled), rest="0.0," if controlled else "")
    law = {"law.h": _LAW_HEADER, "law.c": _LAW_SOURCE} if controlled else {}
    return variables, {"model.h": model + _LAW * controlled, **law}
