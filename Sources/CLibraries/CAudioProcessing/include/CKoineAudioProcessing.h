#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Debian's webrtc-audio-processing is C++: behind this header, 10 ms of interleaved 16-bit sound at 48 kHz at a time.
// Functions give 0, or the library's own error, which is negative.

typedef struct koine_audio_processor koine_audio_processor;

typedef struct {
  /// Each 0 or 1.
  int echo_cancellation, gain_control, high_pass, voice_detection;
  /// -1 off, 0 (low) to 3 (very high).
  int noise_suppression;
  /// From when a block is given as rendered to when its echo is captured.
  int echo_delay_ms;
} koine_audio_processing_settings;

typedef struct {
  /// In dB; has_echo_metrics is 0 until they have been measured.
  int has_echo_metrics, echo_return_loss, echo_return_loss_enhancement;
  /// As estimated within the last second; -1 if unknown.
  int echo_delay_ms;
  /// 0 to 1; negative if unknown.
  float speech_probability;
  int has_voice, may_have_echo;
} koine_audio_processing_statistics;

/// - Returns: NULL without memory, or if the library takes none of the settings.
koine_audio_processor *koine_audio_processor_create(
    int capture_channels, int render_channels, const koine_audio_processing_settings *settings);
void koine_audio_processor_destroy(koine_audio_processor *processor);
int koine_audio_processor_configure(
    koine_audio_processor *processor, const koine_audio_processing_settings *settings);
/// `samples`: 480 for each channel.
int koine_audio_processor_render(koine_audio_processor *processor, const int16_t *samples);
/// In place.
int koine_audio_processor_capture(koine_audio_processor *processor, int16_t *samples);
void koine_audio_processor_statistics(
    koine_audio_processor *processor, koine_audio_processing_statistics *statistics);

#ifdef __cplusplus
}
#endif
