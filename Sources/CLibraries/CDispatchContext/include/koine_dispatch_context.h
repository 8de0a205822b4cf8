#ifndef KOINE_DISPATCH_CONTEXT_H
#define KOINE_DISPATCH_CONTEXT_H

/// Lets closures that a program puts on dispatch queues run in the context of the code that put them there.
///
/// libdispatch on Linux carries no context from `dispatch_async` to the closure, and Swift's task-local values end there.
/// The functions of this file stand before libdispatch's own (ELF symbol interposition; weak, so that a program that
/// links libdispatch statically keeps libdispatch's).
///
/// `capture` is called on the submitting thread: a retained context, or NULL for none, which costs nothing more.
/// `run` is called on the queue: it runs `body(block)` in the context and releases the context.
void koine_dispatch_context_install(
    void *(*capture)(void), void (*run)(void *context, void (*body)(void *block), void *block));

#endif
