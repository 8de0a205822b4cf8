#pragma once
#include "bare.h"

#include <vpx/vp8cx.h>
#include <vpx/vp8dx.h>
#include <vpx/vpx_decoder.h>
#include <vpx/vpx_encoder.h>

// VP8 as video.c and join.c use it. Each function returns -1 on failure.

int open_vp8_encoder(vpx_codec_ctx_t *encoder, const bare_video_settings *settings);
int open_vp8_decoder(vpx_codec_ctx_t *decoder);
/// An image over planes of the caller's.
vpx_image_t planes_of(
    const bare_video_settings *settings, const uint8_t *y, const uint8_t *u, const uint8_t *v, int luma_stride,
    int chroma_stride);
