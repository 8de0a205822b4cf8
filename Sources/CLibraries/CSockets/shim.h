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
#include <linux/filter.h>

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

// Lets the kernel drop what can be nobody's before it takes room in the socket's queue (classic BPF: needs no privilege): what
// is neither STUN, DTLS nor RTP by its first bytes (RFC 7983), and, but for STUN, what comes from none of `keys`.
// A key is koine_filter_key of a source; `keys` ascend. At most koine_filter_limit; with -1 every source may be one.
// Returns 0 or -errno.
enum { koine_filter_limit = 800 };

static inline uint32_t koine_filter_key(uint32_t address, uint16_t port) { return address ^ port * 0x9E3779B1u; }

static inline int koine_filter_tree(struct sock_filter *out, int at, const uint32_t *keys, int count) {
  if (count == 0) {
    out[at] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
    return at + 1;
  }
  int middle = count / 2, node = at;
  out[node] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, keys[middle], 0, 1);
  out[node + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0xFFFF);
  out[node + 2] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, keys[middle], 0, 1);
  at = koine_filter_tree(out, node + 4, keys, middle);
  out[node + 3] = (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, (uint32_t)(at - node - 4));
  return koine_filter_tree(out, at, keys + middle + 1, count - middle - 1);
}

static inline int koine_filter(int fd, int is_ipv6, const uint32_t *keys, int count) {
  // Offsets are from the UDP header: its source port at 0, what it carries at 8. Jumps count from the next instruction.
  struct sock_filter program[koine_filter_limit * 5 + 32] = {
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 8),
      BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 191, 7, 0),  // to 9
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 128, 10, 0),  // to 13
      BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 63, 5, 0),  // to 9
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 20, 5, 0),  // to 10
      BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 3, 3, 0),  // to 9
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 8 + 4),  // 6: STUN's magic cookie
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x2112A442, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, 0xFFFF),
      BPF_STMT(BPF_RET | BPF_K, 0),  // 9
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 8 + 1),  // 10: DTLS' version
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0xFE, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, 0),
      BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 0),  // 13: whose it is
      BPF_STMT(BPF_ALU | BPF_MUL | BPF_K, 0x9E3779B1),
      BPF_STMT(BPF_MISC | BPF_TAX, 0),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)SKF_NET_OFF + (is_ipv6 ? 20 : 12)),
      BPF_STMT(BPF_ALU | BPF_XOR | BPF_X, 0),
  };
  int length = 18;
  if (count > koine_filter_limit) count = -1;
  if (count < 0) {
    program[13] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0xFFFF);
    length = 14;
  } else {
    length = koine_filter_tree(program, length, keys, count);
  }
  struct sock_fprog whole = {.len = (unsigned short)length, .filter = program};
  if (!setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &whole, sizeof whole)) return 0;
  // So long a program may be more than a socket is allowed (net.core.optmem_max): then the first bytes alone.
  return count < 0 ? -errno : koine_filter(fd, is_ipv6, keys, -1);
}

// sockaddr_storage as the members of the family it is of: Swift cannot view one struct as another without rebinding memory.
static inline int koine_family(const struct sockaddr_storage *a) { return a->ss_family; }
// By value: a pointer into the caller's variable would outlive the call.
static inline struct sockaddr_in koine_in(const struct sockaddr_storage *a) {
  struct sockaddr_in in;
  memcpy(&in, a, sizeof in);
  return in;
}
static inline struct sockaddr_in6 koine_in6(const struct sockaddr_storage *a) {
  struct sockaddr_in6 in;
  memcpy(&in, a, sizeof in);
  return in;
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
