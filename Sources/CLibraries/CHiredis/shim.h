#pragma once
// The parser and the formatter only: no function here opens a socket.
#include <hiredis/hiredis.h>

// The kind of the value that the parser is in the middle of; -1: none has begun. `rstack` would reach Swift as a tuple.
static inline int koine_redis_current_kind(const redisReader *reader) {
  return reader->ridx >= 0 ? reader->rstack[reader->ridx].type : -1;
}
