#pragma once
#include <stddef.h>
#include <stdint.h>

// What the benchmarks compare Koine with: the same libraries, called from C with nothing around them. Compiled C, because
// a floor that ran through Swift would be measured with what it is to measure.

// MARK: Allocations

/// How many blocks the calling thread has asked of the heap (malloc, calloc, realloc, aligned ones) since it began.
/// -1 where they cannot be counted: under a sanitizer.
int64_t bare_allocations(void);

// MARK: Video

typedef struct {
  int width, height, frames_per_second, kilobits, speed;
} bare_video_settings;

typedef struct bare_video bare_video;

/// An encoder and a decoder of VP8 in real-time settings; NULL if libvpx refuses.
bare_video *bare_video_open(const bare_video_settings *settings);
/// Encodes one frame of I420 planes and decodes it again. Returns the coded size in bytes, or -1.
long bare_video_pass(
    bare_video *video, const uint8_t *y, const uint8_t *u, const uint8_t *v, int luma_stride, int chroma_stride);
void bare_video_close(bare_video *video);

// MARK: Sound

typedef struct bare_sound bare_sound;

/// An Opus encoder and decoder for mono speech with in-band FEC at the encoder's usual complexity of calls (5).
/// expected_loss: in percent.
bare_sound *bare_sound_open(int bitrate, int expected_loss);
/// Encodes and decodes 20 ms (960 samples). Returns the coded size in bytes, or -1.
long bare_sound_pass(bare_sound *sound, const int16_t *pcm, int16_t *out);
void bare_sound_close(bare_sound *sound);

// MARK: Forwarding

typedef struct bare_forwarder bare_forwarder;

/// For each receiver a key and an address on 127.0.0.1; `socket` is a bound UDP socket, in no one's ownership here.
bare_forwarder *bare_forwarder_open(int receivers, const uint16_t *ports, int socket);
/// For every receiver: writes `run` headers, encrypts the payload behind each (AES-128-GCM, 16 bytes of tag), sends them in
/// one system call. Returns the number of datagrams sent. Each of the two parts can be left out, to tell what it costs.
long bare_forward(
    bare_forwarder *forwarder, const uint8_t *payload, size_t payload_length, size_t header_length, int run, int encrypts,
    int sends);
void bare_forwarder_close(bare_forwarder *forwarder);

/// Makes a UDP socket bound to any port of 127.0.0.1, with room for `buffer` bytes, and tells the port. -1 on failure.
int bare_socket(int buffer, uint16_t *port);
/// The next datagram that waits, or -1.
long bare_receive(int socket, void *bytes, size_t capacity);

// MARK: Joining

typedef struct bare_join bare_join;

/// Certificates (P-256) of both ends, and an encoder of VP8; NULL on failure.
bare_join *bare_join_open(const bare_video_settings *settings);
/// What a participant's join cannot do without, between two sockets of 127.0.0.1: a binding request and its answer, a DTLS handshake with
/// certificates of both ends, and a key frame that is encoded, encrypted, sent in packets, and decoded by a new decoder. Returns the
/// frame's size in bytes, or -1.
long bare_join_once(
    bare_join *join, const uint8_t *y, const uint8_t *u, const uint8_t *v, int luma_stride, int chroma_stride);
void bare_join_close(bare_join *join);

// MARK: Load

/// The machine's first address that is not its own loopback (IPv4, text of at most 16 bytes): some servers take no media
/// over that. Returns -1 if there is none.
int bare_own_address(char *text);
/// Makes a UDP socket bound to any port of `address`, with room for `buffer` bytes, whose datagrams the kernel stamps as
/// they come, and tells the port. -1 on failure.
int bare_stamped_socket(const char *address, int buffer, uint16_t *port);
enum { bare_batch = 32 };
/// What is known of a datagram: its length, where it came from (IPv4, in host order), and when the kernel got it, in ns
/// since 1970.
typedef struct {
  int length;
  uint16_t port;
  uint32_t address;
  int64_t stamp;
} bare_arrival;
/// The datagrams that wait, at most `bare_batch`, each of at most `capacity` bytes. Returns how many, or -1.
int bare_receive_stamped(int socket, void *const *blocks, size_t capacity, bare_arrival *arrivals);
/// In ns since 1970.
int64_t bare_now(void);
/// Sends to an IPv4 address in host order, and tells when, in ns since 1970.
int64_t bare_send_stamped(int socket, uint32_t address, uint16_t port, const void *bytes, size_t count);
