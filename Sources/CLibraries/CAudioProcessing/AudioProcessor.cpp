#include "CKoineAudioProcessing.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include <webrtc/modules/audio_processing/include/audio_processing.h>
#include <webrtc/modules/interface/module_common_types.h>

namespace {
constexpr int kRate = 48000;
constexpr int kLength = kRate / 100;

void describe(webrtc::AudioFrame &frame, int channels) {
  frame.sample_rate_hz_ = kRate;
  frame.samples_per_channel_ = kLength;
  frame.num_channels_ = channels;
}
}  // namespace

// The frames are kept because the library takes no plain buffers of 16-bit sound: each block is copied in and out.
struct koine_audio_processor {
  std::unique_ptr<webrtc::AudioProcessing> processing;
  webrtc::AudioFrame captured, rendered;
  int delay_ms = 0;
};

extern "C" koine_audio_processor *koine_audio_processor_create(
    int capture_channels, int render_channels, const koine_audio_processing_settings *settings) {
  std::unique_ptr<koine_audio_processor> processor(new (std::nothrow) koine_audio_processor);
  if (!processor) return nullptr;
  // The long filter (128 ms) with the library's own estimate of the delay: what devices say of theirs is rarely exact.
  webrtc::Config config;
  config.Set<webrtc::ExtendedFilter>(new webrtc::ExtendedFilter(true));
  config.Set<webrtc::DelayAgnostic>(new webrtc::DelayAgnostic(true));
  processor->processing.reset(webrtc::AudioProcessing::Create(config));
  if (!processor->processing) return nullptr;
  describe(processor->captured, capture_channels);
  describe(processor->rendered, render_channels);
  const webrtc::ProcessingConfig streams = {{
      webrtc::StreamConfig(kRate, capture_channels), webrtc::StreamConfig(kRate, capture_channels),
      webrtc::StreamConfig(kRate, render_channels), webrtc::StreamConfig(kRate, render_channels),
  }};
  if (processor->processing->Initialize(streams) != 0) return nullptr;
  if (koine_audio_processor_configure(processor.get(), settings) != 0) return nullptr;
  return processor.release();
}

extern "C" void koine_audio_processor_destroy(koine_audio_processor *processor) { delete processor; }

extern "C" int koine_audio_processor_configure(
    koine_audio_processor *processor, const koine_audio_processing_settings *settings) {
  webrtc::AudioProcessing &apm = *processor->processing;
  processor->delay_ms = settings->echo_delay_ms;
  int status = 0;
  const auto note = [&status](int result) {
    if (status == 0) status = result;
  };
  webrtc::EchoCancellation &echo = *apm.echo_cancellation();
  if (echo.is_enabled() != (settings->echo_cancellation != 0)) {
    note(echo.Enable(settings->echo_cancellation != 0));
    note(echo.enable_metrics(true));
    note(echo.enable_delay_logging(true));
    note(echo.set_suppression_level(webrtc::EchoCancellation::kModerateSuppression));
  }
  webrtc::NoiseSuppression &noise = *apm.noise_suppression();
  const bool suppresses = settings->noise_suppression >= 0;
  if (suppresses) {
    note(noise.set_level(static_cast<webrtc::NoiseSuppression::Level>(std::min(settings->noise_suppression, 3))));
  }
  if (noise.is_enabled() != suppresses) note(noise.Enable(suppresses));
  // Digital: nothing here turns a device's own volume.
  webrtc::GainControl &gain = *apm.gain_control();
  if (gain.is_enabled() != (settings->gain_control != 0)) {
    note(gain.set_mode(webrtc::GainControl::kAdaptiveDigital));
    note(gain.Enable(settings->gain_control != 0));
  }
  if (apm.high_pass_filter()->is_enabled() != (settings->high_pass != 0)) {
    note(apm.high_pass_filter()->Enable(settings->high_pass != 0));
  }
  if (apm.voice_detection()->is_enabled() != (settings->voice_detection != 0)) {
    note(apm.voice_detection()->Enable(settings->voice_detection != 0));
  }
  return status;
}

extern "C" int koine_audio_processor_render(koine_audio_processor *processor, const int16_t *samples) {
  webrtc::AudioFrame &frame = processor->rendered;
  std::memcpy(frame.data_, samples, sizeof(int16_t) * kLength * frame.num_channels_);
  return processor->processing->AnalyzeReverseStream(&frame);
}

extern "C" int koine_audio_processor_capture(koine_audio_processor *processor, int16_t *samples) {
  webrtc::AudioFrame &frame = processor->captured;
  const size_t size = sizeof(int16_t) * kLength * frame.num_channels_;
  std::memcpy(frame.data_, samples, size);
  frame.vad_activity_ = webrtc::AudioFrame::kVadUnknown;
  // The delay counts for one block and must be said for each.
  const int late = processor->processing->set_stream_delay_ms(processor->delay_ms);
  if (late != 0 && late != webrtc::AudioProcessing::kBadStreamParameterWarning) return late;
  const int status = processor->processing->ProcessStream(&frame);
  if (status != 0 && status != webrtc::AudioProcessing::kBadStreamParameterWarning) return status;
  std::memcpy(samples, frame.data_, size);
  return 0;
}

extern "C" void koine_audio_processor_statistics(
    koine_audio_processor *processor, koine_audio_processing_statistics *statistics) {
  webrtc::AudioProcessing &apm = *processor->processing;
  *statistics = {};
  statistics->echo_delay_ms = -1;
  statistics->speech_probability = -1;
  webrtc::EchoCancellation &echo = *apm.echo_cancellation();
  if (echo.is_enabled()) {
    webrtc::EchoCancellation::Metrics metrics = {};
    // The library says -100 of what it has not measured yet.
    if (echo.GetMetrics(&metrics) == 0 && metrics.echo_return_loss_enhancement.average > -100) {
      statistics->has_echo_metrics = 1;
      statistics->echo_return_loss = metrics.echo_return_loss.average;
      statistics->echo_return_loss_enhancement = metrics.echo_return_loss_enhancement.average;
    }
    int median = -1, deviation = 0;
    float poor = 0;
    if (echo.GetDelayMetrics(&median, &deviation, &poor) == 0) statistics->echo_delay_ms = median;
    statistics->may_have_echo = echo.stream_has_echo();
  }
  if (apm.noise_suppression()->is_enabled()) {
    statistics->speech_probability = apm.noise_suppression()->speech_probability();
  }
  if (apm.voice_detection()->is_enabled()) statistics->has_voice = apm.voice_detection()->stream_has_voice();
}
