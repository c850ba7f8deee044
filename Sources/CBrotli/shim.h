#ifndef LARDER_CBROTLI_SHIM_H
#define LARDER_CBROTLI_SHIM_H

#include <brotli/decode.h>

#endif
