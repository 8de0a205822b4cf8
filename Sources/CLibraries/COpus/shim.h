#pragma once
#include <opus.h>

// `opus_encoder_ctl` takes its argument as a variadic, which Swift cannot call: one function for every request that
// takes an `opus_int32`, one for the only request that takes nothing.
static inline int koine_opus_encoder_set(OpusEncoder *encoder, int request, opus_int32 value) {
  return opus_encoder_ctl(encoder, request, value);
}
static inline int koine_opus_encoder_reset(OpusEncoder *encoder) {
  return opus_encoder_ctl(encoder, OPUS_RESET_STATE);
}
static inline int koine_opus_decoder_reset(OpusDecoder *decoder) {
  return opus_decoder_ctl(decoder, OPUS_RESET_STATE);
}
