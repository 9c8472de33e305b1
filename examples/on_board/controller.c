/* A process for the controller: reads the outputs of the plant, one sample a line, and writes commands. Its arguments are the
   references, in their order. */
#include <stdio.h>
#include <stdlib.h>
#include "control.h"

int main(int count, char **words)
{
    double in[CONTROL_INPUTS], out[CONTROL_OUTPUTS];
    control_memory memory;
    const int measured = CONTROL_INPUTS - (count - 1);
    int i;
    for (i = 1; i < count; i++) {
        in[measured + i - 1] = atof(words[i]);
    }
    if (measured < 0 || control_initialize(&memory, &CONTROL_DEFAULTS) != CONTROL_OK) {
        return 1;
    }
    for (;;) {
        for (i = 0; i < measured; i++) {
            if (scanf("%lf", &in[i]) != 1) {
                return 0;
            }
        }
        if (control_step(&memory, &CONTROL_DEFAULTS, in, out) != CONTROL_OK) {
            return 1;
        }
        for (i = 0; i < CONTROL_OUTPUTS; i++) {
            printf("%.17g ", out[i]);
        }
        printf("\n");
        fflush(stdout);
    }
}
