#ifndef LARDER_CTIMEX_SHIM_H
#define LARDER_CTIMEX_SHIM_H

#include <sys/timex.h>

/* Whether a time daemon keeps the kernel's wall clock synchronized; 0 also if the process may not ask. Swift's Glibc
   does not have adjtimex. */
static inline int larder_clock_is_synchronized(void) {
    struct timex state = {.modes = 0};
    int result = adjtimex(&state);
    return result >= 0 && result != TIME_ERROR && (state.status & STA_UNSYNC) == 0;
}

#endif
