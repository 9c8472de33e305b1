/* Written by titop: the functions of FMI 2.0 and 3.0 (FMI_VERSION says which), for model exchange and co-simulation, of the model
 * in model.h. No memory is allocated but for instances and their saved states; several instances may run side by side.
 *
 * Values stand in one array, [r; p; u; c; x]: references of the controller, parameters, inputs, commands of the controller, states.
 * Value references: 0 is time, then these values, the NX derivatives of the states, the NY outputs and the NZ event indicators.
 */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "model.h"
#if defined __GNUC__
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif

#define NV (NR + NP + NU + NC + NX)
#define COUNT(n) ((n) > 0 ? (n) : 1)
#ifdef LAW
typedef LAW(memory) Memory;
#else
typedef int Memory;
#endif

enum { OK, WARNING, DISCARD, ERROR, FATAL };
enum { RATES = 1, OUTPUTS = 2 };
typedef unsigned int Reference;
typedef const char *Text;
#if FMI_VERSION == 2
typedef int Bool;
typedef void (*Logger)(void *environment, Text name, int status, Text category, Text message, ...);
#else
typedef bool Bool;
typedef void (*Logger)(void *environment, int status, Text category, Text message);
#endif

typedef struct {
    double time, start, samples; /* s; of the first sample, and how many there were */
    double step;                 /* s, the next one of the integration inside; 0 before the first */
    double v[COUNT(NV)];
    Memory memory; /* of the controller */
} State;

typedef struct {
    State now;
    double tolerance;
    int known; /* which of the following belong to `now` */
    double rates[COUNT(NX)], outputs[COUNT(NY + NZ + NM)];
    Logger logger;
    void *environment;
    char *name;
    int is_logging;
} Instance;

static int fail(const Instance *s, int status, Text message)
{
#if FMI_VERSION == 2
    if (s->is_logging && s->logger) s->logger(s->environment, s->name, status, "logStatusError", "%s", message);
#else
    if (s->is_logging && s->logger) s->logger(s->environment, status, "logStatusError", message);
#endif
    return status;
}

/* -- the model ------------------------------------------------------------------------------------------------------ */

static const double *parameters(const Instance *s) { return s->now.v + NR; }
static const double *inputs(const Instance *s) { return s->now.v + NR + NP; }
static double *states(Instance *s) { return s->now.v + NR + NP + NU + NC; }

static void begin(Instance *s)
{
    memset(&s->now, 0, sizeof s->now);
    memcpy(s->now.v, START, NV * sizeof(double));
#ifdef LAW
    LAW(reset)(&s->now.memory, &LAW_DEFAULTS);
#endif
    s->known = 0;
}

static int are_finite(const double *x, int n)
{
    while (n-- > 0)
        if (!isfinite(x[n])) return 0;
    return 1;
}

/* Whether there are rates at a state: no coordinate has lost its inertia. */
static int rates_at(const Instance *s, const double *x, double *rates)
{
    double health[COUNT(HEALTHS)];
    int k;
    model_rates(x, inputs(s), parameters(s), rates, health);
    for (k = 0; k < HEALTHS; k++)
        if (!(health[k] > LEAST_HEALTH)) return 0;
    return are_finite(x, NX) && are_finite(rates, NX);
}

static int find_rates(Instance *s)
{
    if (!(s->known & RATES) && !rates_at(s, states(s), s->rates)) return fail(s, DISCARD, "there are no accelerations at this state");
    s->known |= RATES;
    return OK;
}

static int find_outputs(Instance *s)
{
    if (s->known & OUTPUTS) return OK;
    model_outputs(states(s), inputs(s), parameters(s), s->outputs);
    if (!are_finite(s->outputs, NY + NZ + NM)) return fail(s, DISCARD, "outputs are no finite numbers at this state");
    s->known |= OUTPUTS;
    return OK;
}

static int get(Instance *s, const Reference *references, size_t n, double *values)
{
    int status = OK;
    for (; n > 0 && status == OK; n--, references++, values++) {
        const Reference r = *references;
        if (r > NV + NX + NY + NZ) return fail(s, ERROR, "there is no variable of this value reference");
        if (r > NV) status = r <= NV + NX ? find_rates(s) : find_outputs(s);
        *values = r == 0 ? s->now.time : r <= NV ? s->now.v[r - 1] : r <= NV + NX ? s->rates[r - 1 - NV] : s->outputs[r - 1 - NV - NX];
    }
    return status;
}

static int is_settable(Reference r) { return r >= 1 && r <= NV && !(r > NR + NP + NU && r <= NR + NP + NU + NC); }

static int set(Instance *s, const Reference *references, size_t n, const double *values)
{
    size_t k;
    for (k = 0; k < n; k++)
        if (!is_settable(references[k]) || !isfinite(values[k]))
            return fail(s, ERROR, "only parameters, inputs and states can be set, to finite numbers");
    for (k = 0; k < n; k++) s->now.v[references[k] - 1] = values[k];
    s->known = 0;
    return OK;
}

/* The derivative of unknowns along changes of knowns; or, backwards, the knowns' gradient of a weighted sum of unknowns. */
static int differentiate(Instance *s, int backwards, const Reference *unknowns, size_t n, const Reference *knowns, size_t m,
                         const double *seed, double *result)
{
    double by[COUNT(NV)] = {0}, of[COUNT(NX + NY + NZ)] = {0};
    size_t k, j;
    for (j = 0; j < m; j++)
        if (knowns[j] != 0 && !is_settable(knowns[j])) return fail(s, ERROR, "derivatives are by parameters, inputs and states");
    for (k = 0; k < n; k++)
        if (unknowns[k] == 0 || unknowns[k] > NV + NX + NY + NZ) /* commands change at samples alone: theirs are zero */
            return fail(s, ERROR, "derivatives are of states, their rates and outputs");
    if (backwards) {
        for (k = 0; k < n; k++)
            if (unknowns[k] > NV) of[unknowns[k] - 1 - NV] += seed[k];
        model_adjoint(states(s), inputs(s), parameters(s), of, by + NR);
        for (k = 0; k < n; k++) /* states that are outputs */
            if (unknowns[k] <= NV) by[unknowns[k] - 1] += seed[k];
        for (j = 0; j < m; j++) result[j] = knowns[j] ? by[knowns[j] - 1] : 0.0; /* of time nothing depends */
    } else {
        for (j = 0; j < m; j++)
            if (knowns[j]) by[knowns[j] - 1] += seed[j];
        model_tangent(states(s), inputs(s), parameters(s), by + NR, of);
        for (k = 0; k < n; k++) result[k] = unknowns[k] <= NV ? by[unknowns[k] - 1] : of[unknowns[k] - 1 - NV];
    }
    if (!are_finite(result, (int)(backwards ? m : n))) return fail(s, DISCARD, "there are no derivatives at this state");
    return OK;
}

/* -- co-simulation, and the clock of a sampled controller ------------------------------------------------------------- */

static void normalise(double *x)
{
    int k, i;
    for (k = 0; k < NQUATERNIONS; k++) {
        double *q = x + QUATERNIONS[k];
        const double size = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
        for (i = 0; i < 4; i++) q[i] /= size;
    }
}

/* Dormand and Prince's method of fifth order with steps that hold the tolerance (J. Comput. Appl. Math. 6, 1980). */
static int integrate(Instance *s, double end)
{
    static const double A[7][6] = {{0.0},
                                   {1.0 / 5},
                                   {3.0 / 40, 9.0 / 40},
                                   {44.0 / 45, -56.0 / 15, 32.0 / 9},
                                   {19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729},
                                   {9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656},
                                   {35.0 / 384, 0.0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84}};
    static const double E[7] = {71.0 / 57600, 0.0, -71.0 / 16695, 71.0 / 1920, -17253.0 / 339200, 22.0 / 525, -1.0 / 40};
    double *x = states(s), y[COUNT(NX)] = {0}, k[7][COUNT(NX)], factor;
    int i, j, c;
    if (find_rates(s) != OK) return ERROR;
    memcpy(k[0], s->rates, NX * sizeof(double));
    if (s->now.step <= 0.0) s->now.step = 1e-3 * (end - s->now.time);
    while (s->now.time < end) {
        const double left = end - s->now.time;
        const int is_last = s->now.step >= left * (1.0 - 1e-12);
        const double h = is_last ? left : s->now.step;
        double error = 0.0;
        int is_possible = 1;
        for (i = 1; i < 7 && is_possible; i++) {
            for (c = 0; c < NX; c++) {
                double sum = 0.0;
                for (j = 0; j < i; j++) sum += A[i][j] * k[j][c];
                y[c] = x[c] + h * sum;
            }
            is_possible = rates_at(s, y, k[i]);
        }
        for (c = 0; c < NX && is_possible; c++) {
            double sum = 0.0;
            for (j = 0; j < 7; j++) sum += E[j] * k[j][c];
            sum *= h / (s->tolerance * (0.01 + fmax(fabs(x[c]), fabs(y[c]))));
            error += sum * sum / NX;
        }
        error = is_possible && isfinite(error) ? sqrt(error) : 1e10;
        if (error <= 1.0) {
#ifdef CLOSED /* back to the constraints, by a step of Newton's method */
            model_closed(y, inputs(s), parameters(s), x);
            normalise(x);
            if (!rates_at(s, x, k[0])) return fail(s, ERROR, "there are no accelerations at this state");
#else
            normalise(y);
            memcpy(x, y, NX * sizeof(double));
            memcpy(k[0], k[6], NX * sizeof(double));
#endif
            s->now.time = is_last ? end : s->now.time + h;
            s->known = 0;
        } else if (h < 1e-14 * fmax(1.0, fabs(s->now.time)))
            return fail(s, ERROR, "the steps became too small: the model is stiff, or has no solution here");
        factor = fmin(error <= 1.0 ? 5.0 : 1.0, fmax(0.2, 0.9 * pow(fmax(error, 1e-10), -0.2)));
        if (!is_last || error > 1.0 || factor < 1.0 || factor * h > s->now.step) s->now.step = factor * h;
    }
    return OK;
}

static double next_sample(const Instance *s) { return s->now.start + s->now.samples * SAMPLE_TIME; }

/* Let the controller read its measurements, and hold its commands until the next sample. */
static int sample(Instance *s)
{
#ifdef LAW
    double given[COUNT(NM + NR)], *commands = s->now.v + NR + NP + NU;
    int k;
    if (find_outputs(s) != OK) return ERROR;
    memcpy(given, s->outputs + NY + NZ, NM * sizeof(double));
    memcpy(given + NM, s->now.v, NR * sizeof(double));
    if (LAW(step)(&s->now.memory, &LAW_DEFAULTS, given, commands) == LAW_NOT_FINITE)
        return fail(s, ERROR, "the controller's commands are no finite numbers");
    for (k = 0; k < NC; k++) commands[k] = fmin(fmax(commands[k], LIMITS[k][0]), LIMITS[k][1]);
#endif
    s->now.samples += 1.0;
    s->known = 0;
    return OK;
}

/* A sample at the end itself waits: the inputs of that time are not known yet. */
static int do_step(Instance *s, double time, double step)
{
    const double end = time + step;
    if (!(step >= 0.0) || !isfinite(end)) return fail(s, ERROR, "a step must have a length, not below zero");
    if (fabs(time - s->now.time) > 1e-6 * step + 1e-9 * fabs(time)) return fail(s, ERROR, "steps must begin where the last one ended");
    while (NC > 0 && next_sample(s) < end - 1e-9 * SAMPLE_TIME)
        if ((next_sample(s) > s->now.time && integrate(s, next_sample(s)) != OK) || sample(s) != OK) return ERROR;
    return integrate(s, end);
}

static int next_event(Instance *s, Bool *is_defined, double *time)
{
    while (NC > 0 && next_sample(s) <= s->now.time + 1e-9 * SAMPLE_TIME)
        if (sample(s) != OK) return ERROR;
    *is_defined = NC > 0;
    *time = next_sample(s);
    return OK;
}

/* -- instances -------------------------------------------------------------------------------------------------------- */

static void *instantiate(Text name, Text token, Logger logger, void *environment, int is_logging)
{
    Instance *s = (Instance *)calloc(1, sizeof(Instance));
    if (!s) return NULL;
    s->logger = logger, s->environment = environment, s->is_logging = is_logging, s->tolerance = 1e-8;
    s->name = (char *)calloc(strlen(name) + 1, 1);
    if (s->name) strcpy(s->name, name);
    if (!s->name || !token || strcmp(token, MODEL_TOKEN) != 0) {
        fail(s, ERROR, "the token of the instance is not the one of the model description");
        free(s->name), free(s);
        return NULL;
    }
    begin(s);
    return s;
}

static int setup(Instance *s, int is_given, double tolerance, double time)
{
    if (is_given) s->tolerance = fmin(fmax(tolerance, 1e-13), 1e-2);
    s->now.time = s->now.start = time;
    return OK;
}

/* Copy bytes of a state to a saved one, which is made if there is none. */
static int save(const void *from, size_t n, void **state)
{
    if (n != sizeof(State)) return ERROR;
    if (!*state) *state = malloc(sizeof(State));
    if (!*state) return ERROR;
    memcpy(*state, from, n);
    return OK;
}

static int derivatives(Instance *s, double *rates, size_t n)
{
    const int status = n == NX ? find_rates(s) : ERROR;
    if (status == OK) memcpy(rates, s->rates, n * sizeof *rates);
    return status;
}

/* -- FMI -------------------------------------------------------------------------------------------------------------- */

#if defined _WIN32 || defined __CYGWIN__
#define EXPORT __declspec(dllexport)
#elif defined __GNUC__
#define EXPORT __attribute__((visibility("default")))
#else
#define EXPORT
#endif
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
/* Models that are linked statically have a prefix each. */
#if FMI_VERSION == 2 && defined FMI2_FUNCTION_PREFIX
#define NAME(name) JOIN(FMI2_FUNCTION_PREFIX, fmi2##name)
#elif FMI_VERSION == 2
#define NAME(name) fmi2##name
#elif defined FMI3_FUNCTION_PREFIX
#define NAME(name) JOIN(FMI3_FUNCTION_PREFIX, fmi3##name)
#else
#define NAME(name) fmi3##name
#endif
#define FMI(name) EXPORT int NAME(name)
#define I ((Instance *)i)

FMI(SetDebugLogging)(void *i, Bool on, size_t n, const Text categories[]) { I->is_logging = on; return OK; }
EXPORT void NAME(FreeInstance)(void *i) { if (i) free(I->name), free(i); }
FMI(ExitInitializationMode)(void *i) { return OK; }
FMI(EnterEventMode)(void *i) { return OK; }
FMI(EnterContinuousTimeMode)(void *i) { return OK; }
FMI(Terminate)(void *i) { return OK; }
FMI(Reset)(void *i) { begin(I); return OK; }
FMI(SetTime)(void *i, double time) { I->now.time = time; return OK; }
FMI(SetContinuousStates)(void *i, const double x[], size_t n)
{
    if (n != NX) return ERROR;
    memcpy(states(I), x, n * sizeof *x);
    I->known = 0;
    return OK;
}
FMI(GetContinuousStates)(void *i, double x[], size_t n)
{
    if (n != NX) return ERROR;
    memcpy(x, states(I), n * sizeof *x);
    return OK;
}
FMI(GetNominalsOfContinuousStates)(void *i, double x[], size_t n) { while (n > 0) x[--n] = 1.0; return OK; }
FMI(GetEventIndicators)(void *i, double z[], size_t n)
{
    const int status = n == NZ ? find_outputs(I) : ERROR;
    if (status == OK) memcpy(z, I->outputs + NY, n * sizeof *z);
    return status;
}
FMI(CompletedIntegratorStep)(void *i, Bool is_final, Bool *is_event, Bool *is_end) { *is_event = *is_end = 0; return OK; }

#if FMI_VERSION == 2

typedef struct {
    Logger logger;
    void *(*allocate)(size_t, size_t);
    void (*release)(void *);
    void (*finished)(void *, int);
    void *environment;
} Callbacks;
typedef struct {
    Bool again, is_end, nominals_changed, values_changed, is_next_defined;
    double next;
} EventInfo;

EXPORT Text NAME(GetTypesPlatform)(void) { return "default"; }
EXPORT Text NAME(GetVersion)(void) { return "2.0"; }
EXPORT void *NAME(Instantiate)(Text name, int kind, Text token, Text path, const Callbacks *calls, Bool visible, Bool logging)
{ return instantiate(name, token, calls ? calls->logger : NULL, calls ? calls->environment : NULL, logging); }
FMI(SetupExperiment)(void *i, Bool is_given, double tolerance, double start, Bool ends, double end)
{ return setup(I, is_given, tolerance, start); }
FMI(EnterInitializationMode)(void *i) { return OK; }
FMI(GetReal)(void *i, const Reference r[], size_t n, double v[]) { return get(I, r, n, v); }
FMI(SetReal)(void *i, const Reference r[], size_t n, const double v[]) { return set(I, r, n, v); }
#define NONE_OF(T, t) \
    FMI(Get##T)(void *i, const Reference r[], size_t n, t v[]) { return n ? ERROR : OK; } \
    FMI(Set##T)(void *i, const Reference r[], size_t n, const t v[]) { return n ? ERROR : OK; }
NONE_OF(Integer, int) NONE_OF(Boolean, int) NONE_OF(String, Text)
FMI(GetFMUstate)(void *i, void **state) { return save(&I->now, sizeof(State), state); }
FMI(SetFMUstate)(void *i, void *state) { memcpy(&I->now, state, sizeof(State)), I->known = 0; return OK; }
FMI(FreeFMUstate)(void *i, void **state) { free(*state), *state = NULL; return OK; }
FMI(SerializedFMUstateSize)(void *i, void *state, size_t *n) { *n = sizeof(State); return OK; }
FMI(SerializeFMUstate)(void *i, void *state, char bytes[], size_t n)
{ return n == sizeof(State) ? memcpy(bytes, state, n), OK : ERROR; }
FMI(DeSerializeFMUstate)(void *i, const char bytes[], size_t n, void **state) { return save(bytes, n, state); }
FMI(GetDirectionalDerivative)(void *i, const Reference of[], size_t n, const Reference by[], size_t m, const double seed[],
                              double v[])
{ return differentiate(I, 0, of, n, by, m, seed, v); }
FMI(NewDiscreteStates)(void *i, EventInfo *info)
{ memset(info, 0, sizeof *info); return next_event(I, &info->is_next_defined, &info->next); }
FMI(GetDerivatives)(void *i, double rates[], size_t n) { return derivatives(I, rates, n); }
FMI(SetRealInputDerivatives)(void *i, const Reference r[], size_t n, const int order[], const double v[]) { return n ? ERROR : OK; }
FMI(GetRealOutputDerivatives)(void *i, const Reference r[], size_t n, const int order[], double v[]) { return n ? ERROR : OK; }
FMI(DoStep)(void *i, double time, double step, Bool is_final) { return do_step(I, time, step); }
FMI(CancelStep)(void *i) { return ERROR; }
FMI(GetRealStatus)(void *i, int kind, double *v) { *v = I->now.time; return kind == 2 ? OK : DISCARD; }
FMI(GetBooleanStatus)(void *i, int kind, int *v) { *v = 0; return kind == 3 ? OK : DISCARD; }
FMI(GetStatus)(void *i, int kind, int *v) { return DISCARD; }
FMI(GetIntegerStatus)(void *i, int kind, int *v) { return DISCARD; }
FMI(GetStringStatus)(void *i, int kind, Text *v) { return DISCARD; }

#else

EXPORT Text NAME(GetVersion)(void) { return "3.0"; }
EXPORT void *NAME(InstantiateModelExchange)(Text name, Text token, Text path, Bool visible, Bool logging, void *environment,
                                            Logger logger)
{ return instantiate(name, token, logger, environment, logging); }
EXPORT void *NAME(InstantiateCoSimulation)(Text name, Text token, Text path, Bool visible, Bool logging, Bool events, Bool early,
                                           const Reference r[], size_t n, void *environment, Logger logger, void (*update)(void))
{ return instantiate(name, token, logger, environment, logging); }
EXPORT void *NAME(InstantiateScheduledExecution)(Text name, Text token, Text path, Bool visible, Bool logging, void *environment,
                                                 Logger logger, void (*clock)(void), void (*lock)(void), void (*unlock)(void))
{ return NULL; }
FMI(EnterInitializationMode)(void *i, Bool is_given, double tolerance, double start, Bool ends, double end)
{ return setup(I, is_given, tolerance, start); }
FMI(GetFloat64)(void *i, const Reference r[], size_t n, double v[], size_t m) { return n == m ? get(I, r, n, v) : ERROR; }
FMI(SetFloat64)(void *i, const Reference r[], size_t n, const double v[], size_t m) { return n == m ? set(I, r, n, v) : ERROR; }
#define NONE_OF(T, t) \
    FMI(Get##T)(void *i, const Reference r[], size_t n, t v[], size_t m) { return n ? ERROR : OK; } \
    FMI(Set##T)(void *i, const Reference r[], size_t n, const t v[], size_t m) { return n ? ERROR : OK; }
NONE_OF(Float32, float) NONE_OF(Boolean, bool) NONE_OF(String, Text)
NONE_OF(Int8, int8_t) NONE_OF(Int16, int16_t) NONE_OF(Int32, int32_t) NONE_OF(Int64, int64_t)
NONE_OF(UInt8, uint8_t) NONE_OF(UInt16, uint16_t) NONE_OF(UInt32, uint32_t) NONE_OF(UInt64, uint64_t)
typedef const uint8_t *Bytes;
#define REFUSED(name, ...) FMI(name)(void *i, const Reference r[], size_t n, __VA_ARGS__) { return n ? ERROR : OK; }
REFUSED(GetBinary, size_t sizes[], Bytes v[], size_t m)
REFUSED(SetBinary, const size_t sizes[], const Bytes v[], size_t m)
REFUSED(GetClock, bool v[])
REFUSED(SetClock, const bool v[])
REFUSED(GetIntervalDecimal, double v[], int kinds[])
REFUSED(GetIntervalFraction, uint64_t a[], uint64_t b[], int kinds[])
REFUSED(GetShiftDecimal, double v[])
REFUSED(GetShiftFraction, uint64_t a[], uint64_t b[])
REFUSED(SetIntervalDecimal, const double v[])
REFUSED(SetIntervalFraction, const uint64_t a[], const uint64_t b[])
REFUSED(SetShiftDecimal, const double v[])
REFUSED(SetShiftFraction, const uint64_t a[], const uint64_t b[])
REFUSED(GetOutputDerivatives, const int32_t orders[], double v[], size_t m)
FMI(GetNumberOfVariableDependencies)(void *i, Reference r, size_t *n) { return ERROR; }
FMI(GetVariableDependencies)(void *i, Reference r, size_t a[], Reference b[], size_t c[], int kinds[], size_t n) { return ERROR; }
FMI(GetFMUState)(void *i, void **state) { return save(&I->now, sizeof(State), state); }
FMI(SetFMUState)(void *i, void *state) { memcpy(&I->now, state, sizeof(State)), I->known = 0; return OK; }
FMI(FreeFMUState)(void *i, void **state) { free(*state), *state = NULL; return OK; }
FMI(SerializedFMUStateSize)(void *i, void *state, size_t *n) { *n = sizeof(State); return OK; }
FMI(SerializeFMUState)(void *i, void *state, uint8_t bytes[], size_t n)
{ return n == sizeof(State) ? memcpy(bytes, state, n), OK : ERROR; }
FMI(DeserializeFMUState)(void *i, const uint8_t bytes[], size_t n, void **state) { return save(bytes, n, state); }
FMI(GetDirectionalDerivative)(void *i, const Reference of[], size_t n, const Reference by[], size_t m, const double seed[],
                              size_t n_seed, double v[], size_t n_v)
{ return n_seed == m && n_v == n ? differentiate(I, 0, of, n, by, m, seed, v) : ERROR; }
FMI(GetAdjointDerivative)(void *i, const Reference of[], size_t n, const Reference by[], size_t m, const double seed[],
                          size_t n_seed, double v[], size_t n_v)
{ return n_seed == n && n_v == m ? differentiate(I, 1, of, n, by, m, seed, v) : ERROR; }
FMI(EnterConfigurationMode)(void *i) { return ERROR; }
FMI(ExitConfigurationMode)(void *i) { return ERROR; }
FMI(EvaluateDiscreteStates)(void *i) { return OK; }
FMI(UpdateDiscreteStates)(void *i, Bool *again, Bool *is_end, Bool *nominals_changed, Bool *values_changed, Bool *is_next,
                          double *next)
{ *again = *is_end = *nominals_changed = *values_changed = 0; return next_event(I, is_next, next); }
FMI(GetContinuousStateDerivatives)(void *i, double rates[], size_t n) { return derivatives(I, rates, n); }
FMI(GetNumberOfEventIndicators)(void *i, size_t *n) { *n = NZ; return OK; }
FMI(GetNumberOfContinuousStates)(void *i, size_t *n) { *n = NX; return OK; }
FMI(EnterStepMode)(void *i) { return OK; }
FMI(DoStep)(void *i, double time, double step, Bool is_final, Bool *is_event, Bool *is_end, Bool *is_early, double *last)
{
    const int status = do_step(I, time, step);
    *is_event = *is_end = *is_early = 0, *last = I->now.time;
    return status;
}
FMI(ActivateModelPartition)(void *i, Reference clock, double time) { return ERROR; }

#endif
