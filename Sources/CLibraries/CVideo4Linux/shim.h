#pragma once
#include <fcntl.h>
#include <linux/videodev2.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

// ioctl is variadic, and its requests are macros. A camera has one node for pictures and others that give none.
// Returns 1 if the node captures pictures, and writes the name that people see.
static inline int koine_v4l2_describe(const char *path, char *name, size_t size) {
  int node = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (node < 0) return 0;
  struct v4l2_capability found;
  memset(&found, 0, sizeof found);
  int status = ioctl(node, VIDIOC_QUERYCAP, &found);
  close(node);
  if (status != 0) return 0;
  unsigned int abilities = found.capabilities & V4L2_CAP_DEVICE_CAPS ? found.device_caps : found.capabilities;
  if (!(abilities & V4L2_CAP_VIDEO_CAPTURE)) return 0;
  strncpy(name, (const char *)found.card, size - 1);
  name[size - 1] = 0;
  return 1;
}
