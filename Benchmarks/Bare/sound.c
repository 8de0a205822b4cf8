#include "bare.h"

#include <opus.h>
#include <stdlib.h>

// The settings are those of Sources/Codecs/OpusEncoder.swift; change both together.

struct bare_sound {
  OpusEncoder *encoder;
  OpusDecoder *decoder;
};

bare_sound *bare_sound_open(int bitrate, int expected_loss) {
  bare_sound *sound = calloc(1, sizeof *sound);
  if (!sound) return NULL;
  int status = 0;
  sound->encoder = opus_encoder_create(48000, 1, OPUS_APPLICATION_AUDIO, &status);
  sound->decoder = opus_decoder_create(48000, 1, &status);
  if (!sound->encoder || !sound->decoder) {
    bare_sound_close(sound);
    return NULL;
  }
  opus_encoder_ctl(sound->encoder, OPUS_SET_BITRATE(bitrate));
  opus_encoder_ctl(sound->encoder, OPUS_SET_COMPLEXITY(5));
  opus_encoder_ctl(sound->encoder, OPUS_SET_SIGNAL(OPUS_SIGNAL_VOICE));
  opus_encoder_ctl(sound->encoder, OPUS_SET_INBAND_FEC(1));
  opus_encoder_ctl(sound->encoder, OPUS_SET_PACKET_LOSS_PERC(expected_loss));
  return sound;
}

long bare_sound_pass(bare_sound *sound, const int16_t *pcm, int16_t *out) {
  unsigned char packet[1500];
  int size = opus_encode(sound->encoder, pcm, 960, packet, sizeof packet);
  if (size <= 0 || opus_decode(sound->decoder, packet, size, out, 960, 0) != 960) return -1;
  return size;
}

void bare_sound_close(bare_sound *sound) {
  if (sound->encoder) opus_encoder_destroy(sound->encoder);
  if (sound->decoder) opus_decoder_destroy(sound->decoder);
  free(sound);
}
