#ifndef LARDER_CSCHEMA_H
#define LARDER_CSCHEMA_H

#include <stddef.h>

/* Bytes of the program's read-only data, valid for its whole life. */
struct larder_embedded {
    const void *bytes;
    size_t count;
};

/* The SQL of each numbered file of schema/, in order; a NUL ends each text. */
struct larder_embedded larder_cache_steps(void);
struct larder_embedded larder_state_steps(void);

/* schema/openapi.json. */
struct larder_embedded larder_api_document(void);

#endif
