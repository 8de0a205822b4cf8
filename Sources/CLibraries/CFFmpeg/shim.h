#pragma once
#include <libavcodec/avcodec.h>
#include <libavdevice/avdevice.h>
#include <libavformat/avformat.h>
#include <libavutil/channel_layout.h>
#include <libavutil/opt.h>
#include <libswresample/swresample.h>
#include <libswscale/swscale.h>

// Macros with casts or negations that Swift does not import.
static inline int64_t koine_no_time(void) { return AV_NOPTS_VALUE; }
static inline int koine_again(void) { return AVERROR(EAGAIN); }
static inline int koine_end_of_file(void) { return AVERROR_EOF; }

// av_err2str makes a compound literal in its caller's frame.
static inline void koine_reason(int code, char *text, size_t size) { av_strerror(code, text, size); }
