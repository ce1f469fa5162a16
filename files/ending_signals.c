#include "files/ending_signals.h"

const int ending_signals[ENDING_SIGNALS] = {SIGINT, SIGTERM, SIGHUP};

void ending_signals_set(sigset_t *out)
{
    sigemptyset(out);
    for (int i = 0; i < ENDING_SIGNALS; i++)
        sigaddset(out, ending_signals[i]);
}

bool ending_signals_pend(void)
{
    sigset_t pending;
    bool pends = false;
    if (sigpending(&pending) != 0)
        return false;
    for (int i = 0; i < ENDING_SIGNALS; i++)
        pends |= sigismember(&pending, ending_signals[i]) == 1;
    return pends;
}
