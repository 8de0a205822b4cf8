#include "codec.h"

#include <stdlib.h>

// The settings are those of Sources/Codecs/VPXEncoder.swift; change both together.

struct bare_video {
  vpx_codec_ctx_t encoder, decoder;
  bare_video_settings settings;
  long frames;
};

int open_vp8_encoder(vpx_codec_ctx_t *encoder, const bare_video_settings *settings) {
  vpx_codec_enc_cfg_t config;
  if (vpx_codec_enc_config_default(vpx_codec_vp8_cx(), &config, 0)) return -1;
  config.g_w = settings->width;
  config.g_h = settings->height;
  config.g_threads = 1;
  config.g_timebase.num = 1;
  config.g_timebase.den = 90000;
  config.g_pass = VPX_RC_ONE_PASS;
  config.g_lag_in_frames = 0;
  config.g_error_resilient = 0;
  config.kf_mode = VPX_KF_DISABLED;
  config.rc_end_usage = VPX_CBR;
  config.rc_resize_allowed = 0;
  config.rc_dropframe_thresh = 0;
  config.rc_min_quantizer = 2;
  config.rc_max_quantizer = 63;
  config.rc_undershoot_pct = 100;
  config.rc_overshoot_pct = 15;
  config.rc_buf_initial_sz = 500;
  config.rc_buf_optimal_sz = 600;
  config.rc_buf_sz = 1000;
  config.rc_target_bitrate = settings->kilobits;
  config.ts_number_layers = 1;
  config.ts_periodicity = 1;
  config.ts_target_bitrate[0] = settings->kilobits;
  config.ts_rate_decimator[0] = 1;
  if (vpx_codec_enc_init(encoder, vpx_codec_vp8_cx(), &config, 0)) return -1;
  int intra = 600 * settings->frames_per_second / 20;
  vpx_codec_control(encoder, VP8E_SET_CPUUSED, settings->speed);
  vpx_codec_control(encoder, VP8E_SET_STATIC_THRESHOLD, 1);
  vpx_codec_control(encoder, VP8E_SET_MAX_INTRA_BITRATE_PCT, intra < 300 ? 300 : intra);
  vpx_codec_control(encoder, VP8E_SET_TOKEN_PARTITIONS, 0);
  vpx_codec_control(encoder, VP8E_SET_NOISE_SENSITIVITY, 0);
  vpx_codec_control(encoder, VP8E_SET_SCREEN_CONTENT_MODE, 0);
  return 0;
}

int open_vp8_decoder(vpx_codec_ctx_t *decoder) {
  vpx_codec_dec_cfg_t decoding = {.threads = 1};
  return vpx_codec_dec_init(decoder, vpx_codec_vp8_dx(), &decoding, 0) ? -1 : 0;
}

vpx_image_t planes_of(
    const bare_video_settings *settings, const uint8_t *y, const uint8_t *u, const uint8_t *v, int luma_stride,
    int chroma_stride) {
  vpx_image_t image;
  vpx_img_wrap(&image, VPX_IMG_FMT_I420, settings->width, settings->height, 1, (uint8_t *)y);
  image.planes[0] = (uint8_t *)y;
  image.planes[1] = (uint8_t *)u;
  image.planes[2] = (uint8_t *)v;
  image.stride[0] = luma_stride;
  image.stride[1] = image.stride[2] = chroma_stride;
  return image;
}

bare_video *bare_video_open(const bare_video_settings *settings) {
  bare_video *video = calloc(1, sizeof *video);
  if (!video) return NULL;
  video->settings = *settings;
  if (open_vp8_encoder(&video->encoder, settings)) goto fail;
  if (open_vp8_decoder(&video->decoder)) {
    vpx_codec_destroy(&video->encoder);
    goto fail;
  }
  return video;
fail:
  free(video);
  return NULL;
}

long bare_video_pass(
    bare_video *video, const uint8_t *y, const uint8_t *u, const uint8_t *v, int luma_stride, int chroma_stride) {
  vpx_image_t image = planes_of(&video->settings, y, u, v, luma_stride, chroma_stride);
  long step = 90000 / video->settings.frames_per_second;
  int flags = video->frames == 0 ? VPX_EFLAG_FORCE_KF : 0;
  if (vpx_codec_encode(&video->encoder, &image, video->frames++ * step, step, flags, VPX_DL_REALTIME)) return -1;
  long size = 0;
  vpx_codec_iter_t packets = NULL;
  const vpx_codec_cx_pkt_t *packet;
  while ((packet = vpx_codec_get_cx_data(&video->encoder, &packets))) {
    if (packet->kind != VPX_CODEC_CX_FRAME_PKT) continue;
    size += packet->data.frame.sz;
    if (vpx_codec_decode(&video->decoder, packet->data.frame.buf, packet->data.frame.sz, NULL, 0)) return -1;
    vpx_codec_iter_t pictures = NULL;
    if (!vpx_codec_get_frame(&video->decoder, &pictures)) return -1;
  }
  return size;
}

void bare_video_close(bare_video *video) {
  vpx_codec_destroy(&video->encoder);
  vpx_codec_destroy(&video->decoder);
  free(video);
}
