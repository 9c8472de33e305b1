/* A process for the plant: writes its outputs at the samples, and reads commands, which act some time later. In between it
   integrates by the rule of Runge and Kutta of fourth order. Arguments: samples, sample time (s), delay (s), longest step (s). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "plant.h"

typedef struct {
    double q[PLANT_NQ], v[PLANT_NV];
} plant_state;

static const double none[PLANT_NV] = {0.0}; /* no efforts but those of the inputs */

/* Goes some time (s) on, under constant inputs. */
static int go_on(plant_state *state, const double *u, double time, double longest)
{
    const double reach[4] = {0.0, 0.5, 0.5, 1.0}, weights[4] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
    double dq[PLANT_NQ] = {0.0}, dv[PLANT_NV] = {0.0}, y[PLANT_NY], h;
    const int steps = (int)ceil(time / longest - 1e-9);
    int i, k, n;
    h = steps > 0 ? time / steps : 0.0;
    for (n = 0; n < steps; n++) {
        plant_state at = *state, next = *state;
        for (k = 0; k < 4; k++) {
            for (i = 0; i < PLANT_NQ; i++) { at.q[i] = state->q[i] + reach[k] * h * dq[i]; }
            for (i = 0; i < PLANT_NV; i++) { at.v[i] = state->v[i] + reach[k] * h * dv[i]; }
            if (plant_rates(at.q, at.v, none, u, dq, dv, y) != 0) { return 1; }
            for (i = 0; i < PLANT_NQ; i++) { next.q[i] += weights[k] * h * dq[i]; }
            for (i = 0; i < PLANT_NV; i++) { next.v[i] += weights[k] * h * dv[i]; }
        }
        *state = next;
    }
    return 0;
}

int main(int count, char **words)
{
    plant_state state = {{0.0}, {0.0}};
    double u[PLANT_NU] = {0.0}, dq[PLANT_NQ], dv[PLANT_NV], y[PLANT_NY], sample_time, delay, longest;
    int samples, i, k;
    if (count != 5) { return 1; }
    samples = atoi(words[1]);
    sample_time = atof(words[2]);
    delay = atof(words[3]);
    longest = atof(words[4]);
    state.q[PLANT_Q_ORBIT_QW] = 1.0;
    for (k = 0; k < samples; k++) {
        if (plant_rates(state.q, state.v, none, u, dq, dv, y) != 0) { return 1; }
        for (i = 0; i < PLANT_NY; i++) {
            printf("%.17g ", y[i]);
            fprintf(stderr, "%.17g ", y[i]);
        }
        printf("\n");
        fprintf(stderr, "\n");
        fflush(stdout);
        if (go_on(&state, u, delay, longest) != 0) { return 1; }
        for (i = 0; i < PLANT_NU; i++) {
            if (scanf("%lf", &u[i]) != 1) { return 1; }
        }
        if (go_on(&state, u, sample_time - delay, longest) != 0) { return 1; }
    }
    return 0;
}
