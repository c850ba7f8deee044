#include "CSchema.h"

/* The compiler records the files of schema/ as dependencies, so an edit of one of them rebuilds this file. SwiftPM's
   `.embedInCode` writes an array literal instead, and a module with openapi.json in it compiles for 40 seconds.
   A new step needs one line here; SchemaTests compares both lists with the folder. */

static const unsigned char cache_steps[] = {
#embed "../../schema/cache-001.sql" suffix(, 0, )
#embed "../../schema/cache-002.sql" suffix(, 0, )
#embed "../../schema/cache-003.sql" suffix(, 0, )
#embed "../../schema/cache-004.sql" suffix(, 0, )
#embed "../../schema/cache-005.sql" suffix(, 0, )
#embed "../../schema/cache-006.sql" suffix(, 0, )
#embed "../../schema/cache-007.sql" suffix(, 0, )
#embed "../../schema/cache-008.sql" suffix(, 0, )
};

static const unsigned char state_steps[] = {
#embed "../../schema/state-001.sql" suffix(, 0, )
#embed "../../schema/state-002.sql" suffix(, 0, )
#embed "../../schema/state-003.sql" suffix(, 0, )
#embed "../../schema/state-004.sql" suffix(, 0, )
#embed "../../schema/state-005.sql" suffix(, 0, )
#embed "../../schema/state-006.sql" suffix(, 0, )
#embed "../../schema/state-007.sql" suffix(, 0, )
#embed "../../schema/state-008.sql" suffix(, 0, )
#embed "../../schema/state-009.sql" suffix(, 0, )
#embed "../../schema/state-010.sql" suffix(, 0, )
#embed "../../schema/state-011.sql" suffix(, 0, )
#embed "../../schema/state-012.sql" suffix(, 0, )
#embed "../../schema/state-013.sql" suffix(, 0, )
#embed "../../schema/state-014.sql" suffix(, 0, )
#embed "../../schema/state-015.sql" suffix(, 0, )
#embed "../../schema/state-016.sql" suffix(, 0, )
#embed "../../schema/state-017.sql" suffix(, 0, )
#embed "../../schema/state-018.sql" suffix(, 0, )
#embed "../../schema/state-019.sql" suffix(, 0, )
#embed "../../schema/state-020.sql" suffix(, 0, )
#embed "../../schema/state-021.sql" suffix(, 0, )
#embed "../../schema/state-022.sql" suffix(, 0, )
#embed "../../schema/state-023.sql" suffix(, 0, )
#embed "../../schema/state-024.sql" suffix(, 0, )
#embed "../../schema/state-025.sql" suffix(, 0, )
#embed "../../schema/state-026.sql" suffix(, 0, )
};

static const unsigned char api_document[] = {
#embed "../../schema/openapi.json"
};

struct larder_embedded larder_cache_steps(void) {
    return (struct larder_embedded){cache_steps, sizeof cache_steps};
}

struct larder_embedded larder_state_steps(void) {
    return (struct larder_embedded){state_steps, sizeof state_steps};
}

struct larder_embedded larder_api_document(void) {
    return (struct larder_embedded){api_document, sizeof api_document};
}
