#ifndef KOINE_DISPATCH_CONTEXT_H
#define KOINE_DISPATCH_CONTEXT_H

/// Lets closures that a program puts on dispatch queues run in the context of the code that put them there. A work item runs
/// in the context of the code that made it.
///
/// libdispatch on Linux carries no context from `dispatch_async` to the closure, and Swift's task-local values end there.
/// The functions of context.c interpose libdispatch's own (ELF symbol interposition; weak, so that a program that links
/// libdispatch statically keeps libdispatch's). `dispatch_apply` and timers are not followed.
///
/// `capture` is called on the submitting thread: a retained context, or NULL for none.
/// `run` is called on the queue, perhaps several times for a work item: it runs `body(block)` in the context.
/// `release` ends the use of the context.
void koine_dispatch_context_install(
    void *(*capture)(void), void (*run)(void *context, void (*body)(void *block), void *block),
    void (*release)(void *context));

#endif
