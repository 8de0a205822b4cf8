#pragma once
#include <vpx/vpx_encoder.h>
#include <vpx/vpx_decoder.h>
#include <vpx/vp8cx.h>
#include <vpx/vp8dx.h>

// `vpx_codec_enc_init` and `vpx_codec_dec_init` are macros around an ABI number.
static inline vpx_codec_err_t koine_vpx_encoder_open(
    vpx_codec_ctx_t *codec, vpx_codec_iface_t *interface, const vpx_codec_enc_cfg_t *settings) {
  return vpx_codec_enc_init(codec, interface, settings, 0);
}
static inline vpx_codec_err_t koine_vpx_decoder_open(
    vpx_codec_ctx_t *codec, vpx_codec_iface_t *interface, const vpx_codec_dec_cfg_t *settings) {
  return vpx_codec_dec_init(codec, interface, settings, 0);
}

// `vpx_codec_control_` takes its argument as a variadic. `int` serves the controls that read an `unsigned int` too.
static inline vpx_codec_err_t koine_vpx_set(vpx_codec_ctx_t *codec, int control, int value) {
  return vpx_codec_control_(codec, control, value);
}
static inline vpx_codec_err_t koine_vpx_get(vpx_codec_ctx_t *codec, int control, int *value) {
  return vpx_codec_control_(codec, control, value);
}
static inline vpx_codec_err_t koine_vp9_temporal_layer(vpx_codec_ctx_t *codec, int *layer) {
  vpx_svc_layer_id_t id = {0};
  vpx_codec_err_t status = vpx_codec_control_(codec, VP9E_GET_SVC_LAYER_ID, &id);
  *layer = id.temporal_layer_id;
  return status;
}

// Arrays inside structs are tuples in Swift, and tuples have no index.
static inline void koine_vpx_set_layer(vpx_codec_enc_cfg_t *settings, int layer, unsigned kilobits, unsigned decimator) {
  settings->ts_target_bitrate[layer] = kilobits;
  settings->layer_target_bitrate[layer] = kilobits;
  settings->ts_rate_decimator[layer] = decimator;
}
static inline void koine_vpx_set_layer_pattern(vpx_codec_enc_cfg_t *settings, int position, unsigned layer) {
  settings->ts_layer_id[position] = layer;
}
// One spatial layer, unscaled, over the quantizers given: what `VP9E_SET_SVC` wants to be told about every layer.
static inline vpx_codec_err_t koine_vp9_set_svc(vpx_codec_ctx_t *codec, int layers, int min_quantizer, int max_quantizer) {
  vpx_svc_extra_cfg_t extra = {0};
  for (int layer = 0; layer < layers; layer++) {
    extra.min_quantizers[layer] = min_quantizer;
    extra.max_quantizers[layer] = max_quantizer;
  }
  extra.scaling_factor_num[0] = 1;
  extra.scaling_factor_den[0] = 1;
  vpx_codec_err_t status = vpx_codec_control_(codec, VP9E_SET_SVC, 1);
  return status ? status : vpx_codec_control_(codec, VP9E_SET_SVC_PARAMETERS, &extra);
}
