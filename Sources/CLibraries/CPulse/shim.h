#pragma once
#include <pulse/pulseaudio.h>
#include <pulse/simple.h>
#include <stdint.h>

// A macro with a cast.
static inline uint32_t koine_pulse_no_index(void) { return PA_INVALID_INDEX; }
// Left to the server.
static inline uint32_t koine_pulse_default(void) { return (uint32_t)-1; }
