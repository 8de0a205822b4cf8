#pragma once
#include <sys/socket.h>
#include <sys/epoll.h>
#include <netinet/in.h>
