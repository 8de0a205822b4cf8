// Sockets for a load generator: what comes is stamped by the kernel, so that the generator's own turns do not count.

#define _GNU_SOURCE
#include "bare.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

int bare_own_address(char *text) {
  struct ifaddrs *all, *one;
  int result = -1;
  if (getifaddrs(&all)) return -1;
  for (one = all; one && result; one = one->ifa_next) {
    if (!one->ifa_addr || one->ifa_addr->sa_family != AF_INET) continue;
    if (one->ifa_flags & IFF_LOOPBACK || !(one->ifa_flags & IFF_UP)) continue;
    if (inet_ntop(AF_INET, &((struct sockaddr_in *)one->ifa_addr)->sin_addr, text, 16)) result = 0;
  }
  freeifaddrs(all);
  return result;
}

int bare_stamped_socket(const char *text, int buffer, uint16_t *port) {
  int result = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (result < 0) return -1;
  int on = 1;
  setsockopt(result, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
  setsockopt(result, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
  struct sockaddr_in address = {.sin_family = AF_INET};
  socklen_t length = sizeof address;
  if (inet_pton(AF_INET, text, &address.sin_addr) != 1 || bind(result, (struct sockaddr *)&address, sizeof address)
      || getsockname(result, (struct sockaddr *)&address, &length)) {
    close(result);
    return -1;
  }
  *port = ntohs(address.sin_port);
  return result;
}

int bare_receive_stamped(int socket, void *const *blocks, size_t capacity, bare_arrival *arrivals) {
  struct sockaddr_in names[bare_batch];
  struct mmsghdr messages[bare_batch];
  struct iovec parts[bare_batch];
  union {
    char bytes[CMSG_SPACE(sizeof(struct timespec))];
    struct cmsghdr align;
  } controls[bare_batch];
  for (int i = 0; i < bare_batch; i++) {
    parts[i] = (struct iovec){blocks[i], capacity};
    messages[i].msg_hdr = (struct msghdr){
        .msg_name = &names[i], .msg_namelen = sizeof names[i], .msg_iov = &parts[i], .msg_iovlen = 1, .msg_control = &controls[i], .msg_controllen = sizeof controls[i]};
  }
  int count = recvmmsg(socket, messages, bare_batch, MSG_DONTWAIT, NULL);
  for (int i = 0; i < count; i++) {
    arrivals[i] = (bare_arrival){
        (int)messages[i].msg_len, ntohs(names[i].sin_port), ntohl(names[i].sin_addr.s_addr), 0};
    struct msghdr *header = &messages[i].msg_hdr;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(header); part; part = CMSG_NXTHDR(header, part)) {
      if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_TIMESTAMPNS) continue;
      struct timespec time;
      memcpy(&time, CMSG_DATA(part), sizeof time);
      arrivals[i].stamp = time.tv_sec * 1000000000LL + time.tv_nsec;
    }
  }
  return count;
}

int64_t bare_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

int64_t bare_send_stamped(int socket, uint32_t address, uint16_t port, const void *bytes, size_t count) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(address)};
  int64_t time = bare_now();
  sendto(socket, bytes, count, MSG_DONTWAIT, (struct sockaddr *)&to, sizeof to);
  return time;
}
