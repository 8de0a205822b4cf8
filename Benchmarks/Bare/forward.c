#include "bare.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct bare_forwarder {
  int count, socket;
  uint16_t sequence;
  EVP_CIPHER_CTX **ciphers;
  struct sockaddr_in *addresses;
};

static void fill(struct sockaddr_in *address, uint32_t host, uint16_t port) {
  memset(address, 0, sizeof *address);
  address->sin_family = AF_INET;
  address->sin_addr.s_addr = htonl(host);
  address->sin_port = htons(port);
}

bare_forwarder *bare_forwarder_open(int receivers, const uint16_t *ports, int socket) {
  bare_forwarder *forwarder = calloc(1, sizeof *forwarder);
  EVP_CIPHER *gcm = EVP_CIPHER_fetch(NULL, "AES-128-GCM", NULL);
  if (!forwarder || !gcm) return NULL;
  forwarder->socket = socket;
  forwarder->ciphers = calloc(receivers, sizeof *forwarder->ciphers);
  forwarder->addresses = calloc(receivers, sizeof *forwarder->addresses);
  forwarder->count = receivers;
  for (int index = 0; index < receivers; index++) {
    unsigned char key[16] = {(unsigned char)index, 1, 2, 3}, nonce[12] = {0};
    forwarder->ciphers[index] = EVP_CIPHER_CTX_new();
    EVP_EncryptInit_ex(forwarder->ciphers[index], gcm, NULL, key, nonce);
    fill(&forwarder->addresses[index], INADDR_LOOPBACK, ports[index]);
  }
  EVP_CIPHER_free(gcm);
  return forwarder;
}

static size_t seal(EVP_CIPHER_CTX *cipher, uint8_t *out, size_t header, const uint8_t *payload, size_t length, uint16_t number) {
  unsigned char nonce[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, number >> 8, number & 255};
  int count = 0;
  EVP_EncryptInit_ex(cipher, NULL, NULL, NULL, nonce);
  EVP_EncryptUpdate(cipher, NULL, &count, out, header);
  EVP_EncryptUpdate(cipher, out + header, &count, payload, length);
  EVP_EncryptFinal_ex(cipher, out + header + count, &count);
  EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_GET_TAG, 16, out + header + length);
  return header + length + 16;
}

static ssize_t send_run(int socket, struct sockaddr_in *address, void *bytes, size_t size, size_t segment) {
  struct iovec part = {bytes, size};
  struct msghdr message = {address, sizeof *address, &part, 1, NULL, 0, 0};
  union {
    char bytes[CMSG_SPACE(sizeof(uint16_t))];
    struct cmsghdr align;
  } control = {{0}};
  if (size > segment) {
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_UDP;
    header->cmsg_type = 103;  // UDP_SEGMENT, see udp(7)
    header->cmsg_len = CMSG_LEN(sizeof(uint16_t));
    uint16_t value = segment;
    memcpy(CMSG_DATA(header), &value, sizeof value);
  }
  return sendmsg(socket, &message, 0);
}

long bare_forward(
    bare_forwarder *forwarder, const uint8_t *payload, size_t payload_length, size_t header_length, int run, int encrypts,
    int sends) {
  uint8_t out[16 * 2048];
  size_t length = header_length + payload_length + 16;
  if (header_length < 12 || length > 2048 || run < 1 || run > 16) return 0;
  memset(out, 0, sizeof out / 16 * run);
  long sent = 0;
  for (int index = 0; index < forwarder->count; index++) {
    for (int place = 0; place < run; place++) {
      uint8_t *packet = out + place * length;
      uint16_t number = forwarder->sequence + place;
      packet[0] = 0x90;
      packet[1] = 96;
      packet[2] = number >> 8;
      packet[3] = number & 255;
      packet[8] = index;
      if (encrypts) seal(forwarder->ciphers[index], packet, header_length, payload, payload_length, number);
    }
    if (sends && send_run(forwarder->socket, &forwarder->addresses[index], out, length * run, length) > 0) sent += run;
  }
  forwarder->sequence += run;
  return sent;
}

void bare_forwarder_close(bare_forwarder *forwarder) {
  for (int index = 0; index < forwarder->count; index++) EVP_CIPHER_CTX_free(forwarder->ciphers[index]);
  free(forwarder->ciphers);
  free(forwarder->addresses);
  free(forwarder);
}

int bare_socket(int buffer, uint16_t *port) {
  int result = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (result < 0) return -1;
  setsockopt(result, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
  setsockopt(result, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
  struct sockaddr_in address;
  fill(&address, INADDR_LOOPBACK, 0);
  socklen_t length = sizeof address;
  if (bind(result, (struct sockaddr *)&address, sizeof address) || getsockname(result, (struct sockaddr *)&address, &length)) {
    close(result);
    return -1;
  }
  *port = ntohs(address.sin_port);
  return result;
}

long bare_receive(int socket, void *bytes, size_t capacity) { return recv(socket, bytes, capacity, 0); }
