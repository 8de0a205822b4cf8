#pragma once
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <errno.h>

// recvmmsg is hidden without _GNU_SOURCE, which in a shim clashes with Glibc's own module: own names, bound by label.
struct koine_mmsghdr {
  struct msghdr header;
  unsigned int length;
};
int koine_recvmmsg(int, struct koine_mmsghdr *, unsigned int, int, struct timespec *) __asm__("recvmmsg");

enum { koine_batch = 32 };

// Receives up to koine_batch datagrams into blocks of `capacity` bytes. Swift cannot build the arrays of C structs that
// point into each other without unsafe gymnastics of its own. Returns how many came, or -errno.
static inline int koine_receive(int fd, void *const *blocks, size_t capacity, struct sockaddr_storage *addresses,
                                int *lengths, int count) {
  struct koine_mmsghdr messages[koine_batch];
  struct iovec vectors[koine_batch];
  if (count > koine_batch) count = koine_batch;
  for (int i = 0; i < count; i++) {
    vectors[i].iov_base = blocks[i];
    vectors[i].iov_len = capacity;
    memset(&messages[i], 0, sizeof messages[i]);
    messages[i].header.msg_iov = &vectors[i];
    messages[i].header.msg_iovlen = 1;
    messages[i].header.msg_name = &addresses[i];
    messages[i].header.msg_namelen = sizeof addresses[i];
  }
  int received = koine_recvmmsg(fd, messages, (unsigned)count, MSG_DONTWAIT, NULL);
  if (received < 0) return -errno;
  for (int i = 0; i < received; i++) {
    // What did not fit is not ours: nothing we speak is larger than a block.
    lengths[i] = messages[i].header.msg_flags & MSG_TRUNC ? 0 : (int)messages[i].length;
  }
  return received;
}

// Sends `size` bytes as datagrams of `segment` bytes each (the last may be shorter) in one call: UDP_SEGMENT, see udp(7).
// The CMSG macros cannot be imported. Returns 0 or -errno.
static inline int koine_send(int fd, const struct sockaddr *address, socklen_t address_length, const void *bytes,
                             size_t size, size_t segment) {
  struct iovec vector = {.iov_base = (void *)bytes, .iov_len = size};
  union {
    char bytes[CMSG_SPACE(sizeof(uint16_t))];
    struct cmsghdr align;
  } control;
  struct msghdr message;
  memset(&message, 0, sizeof message);
  message.msg_name = (void *)address;
  message.msg_namelen = address_length;
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  if (segment < size) {
    memset(&control, 0, sizeof control);
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = 17;  // SOL_UDP
    header->cmsg_type = 103;  // UDP_SEGMENT
    header->cmsg_len = CMSG_LEN(sizeof(uint16_t));
    uint16_t value = (uint16_t)segment;
    memcpy(CMSG_DATA(header), &value, sizeof value);
  }
  return sendmsg(fd, &message, MSG_DONTWAIT) < 0 ? -errno : 0;
}

// sockaddr_storage as the members of the family it is of: Swift cannot view one struct as another without rebinding memory.
static inline int koine_family(const struct sockaddr_storage *a) { return a->ss_family; }
static inline const struct sockaddr_in *koine_in(const struct sockaddr_storage *a) { return (const struct sockaddr_in *)a; }
static inline const struct sockaddr_in6 *koine_in6(const struct sockaddr_storage *a) {
  return (const struct sockaddr_in6 *)a;
}
static inline socklen_t koine_fill4(struct sockaddr_storage *a, uint32_t address, uint16_t port) {
  struct sockaddr_in *in = (struct sockaddr_in *)a;
  memset(a, 0, sizeof *a);
  in->sin_family = AF_INET;
  in->sin_port = htons(port);
  in->sin_addr.s_addr = htonl(address);
  return sizeof *in;
}
static inline socklen_t koine_fill6(struct sockaddr_storage *a, uint64_t high, uint64_t low, uint16_t port) {
  struct sockaddr_in6 *in = (struct sockaddr_in6 *)a;
  memset(a, 0, sizeof *a);
  in->sin6_family = AF_INET6;
  in->sin6_port = htons(port);
  for (int i = 0; i < 8; i++) {
    in->sin6_addr.s6_addr[i] = (uint8_t)(high >> (56 - 8 * i));
    in->sin6_addr.s6_addr[8 + i] = (uint8_t)(low >> (56 - 8 * i));
  }
  return sizeof *in;
}
