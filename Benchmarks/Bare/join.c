#include "codec.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// One thread plays both ends, so nothing waits for another thread.

enum { binding = 20 + 8 + 24, header_size = 12, tag_size = 16, chunk = 1100 };

struct bare_join {
  bare_video_settings settings;
  vpx_codec_ctx_t encoder;
  SSL_CTX *server, *client;
  EVP_CIPHER *gcm;
  long frames;
};

static int accept_any(int ok, X509_STORE_CTX *store) {
  (void)ok;
  (void)store;
  return 1;  // as WebRTC does: the fingerprint is compared instead
}

static SSL_CTX *context(const SSL_METHOD *method) {
  SSL_CTX *context = SSL_CTX_new(method);
  EVP_PKEY *key = EVP_EC_gen("P-256");
  X509 *certificate = X509_new();
  if (!context || !key || !certificate) return NULL;
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -86400);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 86400);
  X509_set_pubkey(certificate, key);
  X509_sign(certificate, key, EVP_sha256());
  int fails = SSL_CTX_use_certificate(context, certificate) != 1 || SSL_CTX_use_PrivateKey(context, key) != 1 ||
              SSL_CTX_set_tlsext_use_srtp(context, "SRTP_AEAD_AES_128_GCM") != 0;
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, accept_any);
  X509_free(certificate);
  EVP_PKEY_free(key);
  if (!fails) return context;
  SSL_CTX_free(context);
  return NULL;
}

bare_join *bare_join_open(const bare_video_settings *settings) {
  bare_join *join = calloc(1, sizeof *join);
  if (!join) return NULL;
  join->settings = *settings;
  join->server = context(DTLS_server_method());
  join->client = context(DTLS_client_method());
  join->gcm = EVP_CIPHER_fetch(NULL, "AES-128-GCM", NULL);
  if (!join->server || !join->client || !join->gcm || open_vp8_encoder(&join->encoder, settings)) goto fail;
  return join;
fail:
  bare_join_close(join);
  return NULL;
}

void bare_join_close(bare_join *join) {
  if (join->encoder.iface) vpx_codec_destroy(&join->encoder);
  SSL_CTX_free(join->server);
  SSL_CTX_free(join->client);
  EVP_CIPHER_free(join->gcm);
  free(join);
}

// MARK: Steps

/// Two sockets of 127.0.0.1 that know each other.
static int pair(int ends[2]) {
  uint16_t ports[2];
  for (int index = 0; index < 2; index++)
    if ((ends[index] = bare_socket(1 << 20, &ports[index])) < 0) return -1;
  for (int index = 0; index < 2; index++) {
    struct sockaddr_in other = {.sin_family = AF_INET, .sin_port = htons(ports[1 - index])};
    other.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(ends[index], (struct sockaddr *)&other, sizeof other)) return -1;
  }
  return 0;
}

/// A binding request or its answer, with MESSAGE-INTEGRITY (RFC 8489, 14.5).
static int send_binding(int socket, uint8_t type, const uint8_t *id) {
  static const char password[] = "a password of an ICE agent";
  uint8_t bytes[binding] = {type, 1, 0, binding - 20, 0x21, 0x12, 0xA4, 0x42};
  memcpy(bytes + 8, id, 12);
  memcpy(bytes + 20, (uint8_t[8]){0, 0x24, 0, 4, 1}, 8);  // PRIORITY
  memcpy(bytes + 28, (uint8_t[4]){0, 8, 0, 20}, 4);
  unsigned size = 20;
  HMAC(EVP_sha1(), password, sizeof password - 1, bytes, 28, bytes + 32, &size);
  return send(socket, bytes, sizeof bytes, 0) == sizeof bytes ? 0 : -1;
}

static int check_path(int ends[2]) {
  uint8_t id[12], bytes[binding];
  if (RAND_bytes(id, sizeof id) != 1) return -1;
  if (send_binding(ends[1], 0, id) || recv(ends[0], bytes, sizeof bytes, 0) != binding) return -1;
  if (send_binding(ends[0], 1, bytes + 8) || recv(ends[1], bytes, sizeof bytes, 0) != binding) return -1;
  return memcmp(bytes + 8, id, sizeof id) ? -1 : 0;
}

static SSL *endpoint(SSL_CTX *context, int socket) {
  SSL *ssl = SSL_new(context);
  BIO *bio = BIO_new_dgram(socket, BIO_NOCLOSE);
  BIO_ADDR *peer = BIO_ADDR_new();
  struct sockaddr_in address;
  socklen_t length = sizeof address;
  getpeername(socket, (struct sockaddr *)&address, &length);
  BIO_ADDR_rawmake(peer, AF_INET, &address.sin_addr, sizeof address.sin_addr, address.sin_port);
  BIO_ctrl(bio, BIO_CTRL_DGRAM_SET_CONNECTED, 0, peer);
  BIO_ADDR_free(peer);
  SSL_set_bio(ssl, bio, bio);
  SSL_set_mtu(ssl, 1200);
  SSL_set_options(ssl, SSL_OP_NO_QUERY_MTU);
  return ssl;
}

static int shake_hands(SSL *server, SSL *client) {
  SSL_set_accept_state(server);
  SSL_set_connect_state(client);
  for (int turn = 0; turn < 50; turn++) {
    int (*const step)(SSL *) = SSL_do_handshake;
    int is_done = (step(client) == 1) & (step(server) == 1);
    if (is_done) return 0;
  }
  return -1;
}

static EVP_CIPHER_CTX *cipher(SSL *ssl, const EVP_CIPHER *gcm, int encrypts) {
  uint8_t keys[2 * (16 + 12)];
  if (SSL_export_keying_material(ssl, keys, sizeof keys, "EXTRACTOR-dtls_srtp", 19, NULL, 0, 0) != 1) return NULL;
  EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
  EVP_CipherInit_ex(cipher, gcm, NULL, keys + 16, keys + 44, encrypts);
  return cipher;
}

/// Encrypts or decrypts the bytes behind the header, in place.
static int protect(EVP_CIPHER_CTX *cipher, uint8_t *packet, int length, int encrypts) {
  uint8_t nonce[12] = {packet[2], packet[3]};
  uint8_t *body = packet + header_size;
  int count = 0;
  if (EVP_CipherInit_ex(cipher, NULL, NULL, NULL, nonce, encrypts) != 1) return -1;
  if (!encrypts) EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_SET_TAG, tag_size, body + length);
  EVP_CipherUpdate(cipher, NULL, &count, packet, header_size);
  EVP_CipherUpdate(cipher, body, &count, body, length);
  if (EVP_CipherFinal_ex(cipher, body + count, &count) != 1) return -1;
  if (encrypts) EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_GET_TAG, tag_size, body + length);
  return 0;
}

/// Sends a frame in packets from one end, and puts it together at the other.
static long transfer(int ends[2], EVP_CIPHER_CTX *out, EVP_CIPHER_CTX *in, const uint8_t *frame, long size, uint8_t *copy) {
  uint8_t packet[header_size + chunk + tag_size];
  long sent = 0, received = 0;
  for (uint16_t number = 0; sent < size; number++) {
    int length = size - sent < chunk ? (int)(size - sent) : chunk;
    memset(packet, 0, header_size);
    packet[2] = number >> 8;
    packet[3] = number & 255;
    memcpy(packet + header_size, frame + sent, length);
    if (protect(out, packet, length, 1)) return -1;
    if (send(ends[0], packet, header_size + length + tag_size, 0) < 0) return -1;
    sent += length;
    long got = recv(ends[1], packet, sizeof packet, 0) - header_size - tag_size;
    if (got <= 0 || protect(in, packet, (int)got, 0)) return -1;
    memcpy(copy + received, packet + header_size, got);
    received += got;
  }
  return received;
}

static int decode(const uint8_t *frame, long size) {
  vpx_codec_ctx_t decoder;
  if (open_vp8_decoder(&decoder)) return -1;
  vpx_codec_iter_t pictures = NULL;
  int fails = vpx_codec_decode(&decoder, frame, size, NULL, 0) || !vpx_codec_get_frame(&decoder, &pictures);
  vpx_codec_destroy(&decoder);
  return fails ? -1 : 0;
}

static const vpx_codec_cx_pkt_t *encode_key(bare_join *join, vpx_image_t image) {
  long step = 90000 / join->settings.frames_per_second;
  if (vpx_codec_encode(&join->encoder, &image, join->frames++ * step, step, VPX_EFLAG_FORCE_KF, VPX_DL_REALTIME)) return NULL;
  vpx_codec_iter_t packets = NULL;
  const vpx_codec_cx_pkt_t *packet;
  while ((packet = vpx_codec_get_cx_data(&join->encoder, &packets)))
    if (packet->kind == VPX_CODEC_CX_FRAME_PKT) return packet;
  return NULL;
}

long bare_join_once(
    bare_join *join, const uint8_t *y, const uint8_t *u, const uint8_t *v, int luma_stride, int chroma_stride) {
  int ends[2] = {-1, -1};
  SSL *server = NULL, *client = NULL;
  EVP_CIPHER_CTX *out = NULL, *in = NULL;
  uint8_t *copy = NULL;
  long size = -1;
  if (pair(ends) || check_path(ends)) goto end;
  server = endpoint(join->server, ends[0]);
  client = endpoint(join->client, ends[1]);
  if (shake_hands(server, client)) goto end;
  out = cipher(server, join->gcm, 1);
  in = cipher(client, join->gcm, 0);
  const vpx_codec_cx_pkt_t *frame = encode_key(join, planes_of(&join->settings, y, u, v, luma_stride, chroma_stride));
  if (!out || !in || !frame) goto end;
  copy = malloc(frame->data.frame.sz);
  long received = transfer(ends, out, in, frame->data.frame.buf, frame->data.frame.sz, copy);
  if (received == (long)frame->data.frame.sz && !decode(copy, received)) size = received;
end:
  free(copy);
  EVP_CIPHER_CTX_free(out);
  EVP_CIPHER_CTX_free(in);
  SSL_free(server);
  SSL_free(client);
  for (int index = 0; index < 2; index++)
    if (ends[index] >= 0) close(ends[index]);
  return size;
}
