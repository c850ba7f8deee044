// libFuzzer's own entry (compiler-rt, FuzzerInterface.h), for programs with a main of their own.
#include <stddef.h>
#include <stdint.h>

typedef int (*LarderFuzzTarget)(const uint8_t *data, size_t size);

int LLVMFuzzerRunDriver(int *argc, char ***argv, LarderFuzzTarget callback);
