// For RTLD_NEXT.
#define _GNU_SOURCE
#include "koine_dispatch_context.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

// libdispatch's own declarations need the compiler's blocks, which a package can switch on only by unsafe flags. These
// are the same functions by their binary interface; a block is an object whose function is its third word
// (clang, Block-ABI-Apple).
typedef void *queue_t, *group_t;
typedef void (*function_t)(void *);
struct block {
  void *isa;
  int32_t flags, reserved;
  void (*invoke)(void *block);
};

extern void *_Block_copy(const void *block);
extern void _Block_release(const void *block);
extern void dispatch_async_f(queue_t, void *, function_t);
extern void dispatch_after_f(uint64_t, queue_t, void *, function_t);
extern void dispatch_barrier_async_f(queue_t, void *, function_t);
extern void dispatch_group_async_f(group_t, queue_t, void *, function_t);
extern void dispatch_group_notify_f(group_t, queue_t, void *, function_t);

static void *(*_Atomic capture)(void);
static void (*_Atomic run)(void *, void (*)(void *), void *);

void koine_dispatch_context_install(
    void *(*newCapture)(void), void (*newRun)(void *, void (*)(void *), void *)) {
  atomic_store(&run, newRun);
  atomic_store(&capture, newCapture);
}

struct hop {
  void *context;
  void *block;
};

static void call_block(void *block) { ((struct block *)block)->invoke(block); }

static void finish_hop(void *argument) {
  struct hop hop = *(struct hop *)argument;
  free(argument);
  atomic_load(&run)(hop.context, call_block, hop.block);
  _Block_release(hop.block);
}

/// NULL where the submitting code has no context: then libdispatch's own function takes the block.
static struct hop *begin_hop(void *block) {
  void *(*current)(void) = atomic_load(&capture);
  void *context = current ? current() : NULL;
  if (!context) return NULL;
  struct hop *hop = malloc(sizeof *hop);
  if (!hop) abort();
  *hop = (struct hop){context, _Block_copy(block)};
  return hop;
}

// libdispatch's own function, looked up once; threads that look at the same time find the same.
#define OWN(name)                                                            \
  static _Atomic(__typeof__(&name)) found;                                   \
  __typeof__(&name) own = atomic_load_explicit(&found, memory_order_relaxed); \
  if (!own) {                                                                \
    own = (__typeof__(&name))dlsym(RTLD_NEXT, #name);                        \
    atomic_store_explicit(&found, own, memory_order_relaxed);                \
  }

// The thread sanitizer stands in the same place, to learn which closure runs after which.
#if !__has_feature(thread_sanitizer)

__attribute__((weak)) void dispatch_async(queue_t queue, void *block) {
  struct hop *hop = begin_hop(block);
  if (hop) return dispatch_async_f(queue, hop, finish_hop);
  OWN(dispatch_async);
  own(queue, block);
}

__attribute__((weak)) void dispatch_after(uint64_t when, queue_t queue, void *block) {
  struct hop *hop = begin_hop(block);
  if (hop) return dispatch_after_f(when, queue, hop, finish_hop);
  OWN(dispatch_after);
  own(when, queue, block);
}

__attribute__((weak)) void dispatch_barrier_async(queue_t queue, void *block) {
  struct hop *hop = begin_hop(block);
  if (hop) return dispatch_barrier_async_f(queue, hop, finish_hop);
  OWN(dispatch_barrier_async);
  own(queue, block);
}

__attribute__((weak)) void dispatch_group_async(group_t group, queue_t queue, void *block) {
  struct hop *hop = begin_hop(block);
  if (hop) return dispatch_group_async_f(group, queue, hop, finish_hop);
  OWN(dispatch_group_async);
  own(group, queue, block);
}

__attribute__((weak)) void dispatch_group_notify(group_t group, queue_t queue, void *block) {
  struct hop *hop = begin_hop(block);
  if (hop) return dispatch_group_notify_f(group, queue, hop, finish_hop);
  OWN(dispatch_group_notify);
  own(group, queue, block);
}

#endif
