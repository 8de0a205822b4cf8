// For RTLD_NEXT.
#define _GNU_SOURCE
#include "koine_dispatch_context.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

// libdispatch's own declarations need the compiler's blocks, which a package can switch on only by unsafe flags. These
// are the same functions by their binary interface (clang, Block-ABI-Apple).
typedef void *queue_t, *group_t;
typedef void (*function_t)(void *);

struct block {
  void *isa;
  int32_t flags, reserved;
  void (*invoke)(void *block);
  const struct block_descriptor *descriptor;
};
struct block_descriptor {
  unsigned long reserved, size;
  void (*copy)(void *to, const void *from);
  void (*dispose)(const void *block);
};
enum { BLOCK_HAS_COPY_DISPOSE = 1 << 25 };

extern void *_NSConcreteStackBlock[32];
extern void *_Block_copy(const void *block);
extern void _Block_release(const void *block);
extern void dispatch_async_f(queue_t, void *, function_t);
extern void dispatch_after_f(uint64_t, queue_t, void *, function_t);
extern void dispatch_barrier_async_f(queue_t, void *, function_t);
extern void dispatch_group_async_f(group_t, queue_t, void *, function_t);
extern void dispatch_group_notify_f(group_t, queue_t, void *, function_t);
/// The function of every block that `dispatch_block_create` makes: work items, and closures with flags.
extern void (*const _dispatch_block_special_invoke)(void *);

static void *(*_Atomic capture)(void);
static void (*_Atomic run)(void *, void (*)(void *), void *);
static void (*_Atomic release)(void *);

void koine_dispatch_context_install(
    void *(*newCapture)(void), void (*newRun)(void *, void (*)(void *), void *), void (*newRelease)(void *)) {
  atomic_store(&run, newRun);
  atomic_store(&release, newRelease);
  atomic_store(&capture, newCapture);
}

static void *current_context(void) {
  void *(*current)(void) = atomic_load(&capture);
  return current ? current() : NULL;
}

static void call_block(void *block) { ((struct block *)block)->invoke(block); }

// Closures on their way to a queue

struct hop {
  void *context;
  void *block;
};

static void finish_hop(void *argument) {
  struct hop hop = *(struct hop *)argument;
  free(argument);
  atomic_load(&run)(hop.context, call_block, hop.block);
  _Block_release(hop.block);
  atomic_load(&release)(hop.context);
}

/// NULL where libdispatch's own function takes the block: the submitting code has no context, or the block has flags (a
/// barrier, a quality of service) that only libdispatch can read, and a context since it was made.
static struct hop *begin_hop(void *block) {
  if (((struct block *)block)->invoke == _dispatch_block_special_invoke) return NULL;
  void *context = current_context();
  if (!context) return NULL;
  struct hop *hop = malloc(sizeof *hop);
  if (!hop) abort();
  *hop = (struct hop){context, _Block_copy(block)};
  return hop;
}

// Work items

/// A block around another one, with a context.
struct item {
  struct block block;
  void *context;
  void *inner;
};

static void run_item(void *block) {
  struct item *item = block;
  atomic_load(&run)(item->context, call_block, item->inner);
}

/// The context moves into the copy: a stack block is copied once.
static void copy_item(void *to, const void *from) {
  ((struct item *)to)->context = ((const struct item *)from)->context;
  ((struct item *)to)->inner = _Block_copy(((const struct item *)from)->inner);
}

static void dispose_item(const void *block) {
  const struct item *item = block;
  _Block_release(item->inner);
  atomic_load(&release)(item->context);
}

static const struct block_descriptor item_descriptor = {0, sizeof(struct item), copy_item, dispose_item};

static struct item make_item(void *inner, void *context) {
  return (struct item){
      {_NSConcreteStackBlock, BLOCK_HAS_COPY_DISPOSE, 0, run_item, &item_descriptor}, context, inner};
}

// libdispatch's own function, looked up once; threads that look at the same time find the same.
#define OWN(name)                                                             \
  static _Atomic(__typeof__(&name)) found;                                    \
  __typeof__(&name) own = atomic_load_explicit(&found, memory_order_relaxed); \
  if (!own) {                                                                 \
    own = (__typeof__(&name))dlsym(RTLD_NEXT, #name);                         \
    atomic_store_explicit(&found, own, memory_order_relaxed);                 \
  }

// The thread sanitizer interposes the same functions, to learn which closure runs after which.
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

__attribute__((weak)) void *dispatch_block_create(unsigned long flags, void *block) {
  OWN(dispatch_block_create);
  void *context = current_context();
  if (!context) return own(flags, block);
  struct item item = make_item(block, context);
  void *made = own(flags, &item);
  if (!made) atomic_load(&release)(context);
  return made;
}

__attribute__((weak)) void *dispatch_block_create_with_qos_class(
    unsigned long flags, unsigned int quality, int priority, void *block) {
  OWN(dispatch_block_create_with_qos_class);
  void *context = current_context();
  if (!context) return own(flags, quality, priority, block);
  struct item item = make_item(block, context);
  void *made = own(flags, quality, priority, &item);
  if (!made) atomic_load(&release)(context);
  return made;
}

#endif
