/* What docs/c-api.md uses of the CUDA runtime, for the emulated device, whose memory is that of the CPU. */
#include <stdlib.h>
#include <string.h>

typedef int cudaError_t;
typedef void *cudaStream_t;
enum { cudaSuccess, cudaErrorMemoryAllocation, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };

static cudaError_t cudaMalloc(void **memory, size_t bytes) {
    *memory = malloc(bytes);
    return *memory ? cudaSuccess : cudaErrorMemoryAllocation;
}

static cudaError_t cudaFree(void *memory) {
    free(memory);
    return cudaSuccess;
}

static cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, int direction) {
    (void)direction;
    memcpy(to, from, bytes);
    return cudaSuccess;
}

static cudaError_t cudaStreamCreate(cudaStream_t *stream) {
    *stream = NULL;
    return cudaSuccess;
}

static cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    (void)stream;
    return cudaSuccess;
}

static const char *cudaGetErrorString(cudaError_t error) { return error == cudaSuccess ? "no error" : "out of memory"; }
