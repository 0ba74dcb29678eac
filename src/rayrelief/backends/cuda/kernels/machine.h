// What the kernels need of a machine. On a GPU they are compiled by NVRTC. Elsewhere g++ (-DHOST)
// compiles the same source: a block is one thread that runs all of its loops, a warp is one lane.
typedef unsigned char u8;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

#ifdef HOST
#include <cmath>
using std::fmaxf;
using std::fminf;
static int BLOCK, BLOCKS;
#define KERNEL(name, threads) extern "C" void name(const Grid& g, int a, int b)
#define CROWDED_KERNEL(name, threads, blocks) KERNEL(name, threads)
#define DEVICE static inline
#define SHARED static
#define DEVICE_MEMBER inline
#define UNROLL
#define THREAD 0
#define THREADS 1
#define LANE 0
#define LANES 1
#define GROUP 1  // lanes that add up a short list
#define PAIR 1   // lanes that add up one entry of a row
#define WARP 0
#define WARPS 1
#define WARPS_OF(threads) 1
#define SYNC()
// What each thread of a block keeps from one phase to the next.
#define KEPT(Type, name, threads) static Type name##_of[threads]
#define PHASE(Type, name, threads) \
  for (int thread = 0; thread < threads; thread++) { \
    Type& name = name##_of[thread];
#define SYNC_WARP()
#define FRESH(address) (*(address))
DEVICE bool warp_any(bool flag) { return flag; }
DEVICE float warp_sum(float v) { return v; }
DEVICE float group_sum(float v) { return v; }
DEVICE float pair_sum(float v) { return v; }
DEVICE float warp_max(float v) { return v; }
DEVICE int warp_max(int v) { return v; }
DEVICE double warp_sum(double v) { return v; }
DEVICE double warp_max(double v) { return v; }
DEVICE int place(bool flag, int& count) { return flag ? count++ : count; }
DEVICE int take_one(int* counter) { return (*counter)++; }
DEVICE void add_to(int* counter, int value) { *counter += value; }
DEVICE void count_one(int* counters, int which) { counters[which]++; }
DEVICE int lower(int* value, int other) {
  int old = *value;
  if (other < old) *value = other;
  return old;
}
#else
#define KERNEL(name, threads) \
  extern "C" __global__ void __launch_bounds__(threads) \
  name(const __grid_constant__ Grid g, const int a, const int b)
// With so few registers that so many blocks run on a multiprocessor at once.
#define CROWDED_KERNEL(name, threads, blocks) \
  extern "C" __global__ void __launch_bounds__(threads, blocks) \
  name(const __grid_constant__ Grid g, const int a, const int b)
#define DEVICE __device__ __forceinline__
#define SHARED __shared__
#define DEVICE_MEMBER __device__ __forceinline__
#define UNROLL _Pragma("unroll")
#define THREAD ((int)threadIdx.x)
#define THREADS ((int)blockDim.x)
#define BLOCK ((int)blockIdx.x)
#define BLOCKS ((int)gridDim.x)
#define LANE ((int)(threadIdx.x & 31))
#define LANES 32
#define GROUP 8  // lanes that add up a short list
#define PAIR 2   // lanes that add up one entry of a row
#define WARP ((int)(threadIdx.x >> 5))
#define WARPS ((int)(blockDim.x >> 5))
#define WARPS_OF(threads) ((threads) / 32)
#define SYNC() __syncthreads()
#define KEPT(Type, name, threads) Type name
#define PHASE(Type, name, threads) \
  { \
    const int thread = THREAD;
#define SYNC_WARP() __syncwarp()
// Not from the cache of a multiprocessor: another block, or this one, has just written it.
#define FRESH(address) __ldcg(address)
#define NAN __longlong_as_double(0x7ff8000000000000LL)
#define ALL_LANES 0xffffffffu
DEVICE bool warp_any(bool flag) { return __any_sync(ALL_LANES, flag); }
template <class T> DEVICE T warp_sum(T v) {
  for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(ALL_LANES, v, o);
  return v;
}
DEVICE float group_sum(float v) {
  for (int o = GROUP / 2; o; o >>= 1) v += __shfl_xor_sync(ALL_LANES, v, o);
  return v;
}
DEVICE float pair_sum(float v) { return v + __shfl_xor_sync(ALL_LANES, v, 1); }
template <class T> DEVICE T warp_max(T v) {
  for (int o = 16; o; o >>= 1) {
    T other = __shfl_xor_sync(ALL_LANES, v, o);
    v = other > v ? other : v;
  }
  return v;
}
// Place of each flagged lane after those before it; counts them.
DEVICE int place(bool flag, int& count) {
  unsigned flags = __ballot_sync(ALL_LANES, flag);
  int at = count + __popc(flags & ((1u << LANE) - 1u));
  count += __popc(flags);
  return at;
}
DEVICE int take_one(int* counter) { return atomicAdd(counter, 1); }
DEVICE void add_to(int* counter, int value) { atomicAdd(counter, value); }
DEVICE int lower(int* value, int other) { return atomicMin(value, other); }
// Lanes that count the same add it up first.
DEVICE void count_one(int* counters, int which) {
  unsigned same = __match_any_sync(__activemask(), which);
  if (LANE == __ffs(same) - 1) atomicAdd(&counters[which], __popc(same));
}
#endif

#define END_PHASE \
  } \
  SYNC();

// The threads of a block share the work of a loop; so do the lanes of a warp, and all threads.
#define EACH(i, n) for (int i = THREAD; i < (n); i += THREADS)
#define EACH_LANE(i, n) for (int i = LANE; i < (n); i += LANES)
#define EVERYWHERE(i, n) for (i64 i = (i64)BLOCK * THREADS + THREAD; i < (n); i += (i64)BLOCKS * THREADS)
