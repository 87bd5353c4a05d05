/* messages.c - what a viewer and an analyst send each other */
#include "live/messages.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

bool hwi_live_send_ask(int to, const struct hwi_live_ask *ask)
{
  return send(to, ask, sizeof *ask, MSG_NOSIGNAL) == (ssize_t)sizeof *ask;
}

bool hwi_live_take_ask(int from, struct hwi_live_ask *ask)
{
  return recv(from, ask, sizeof *ask, 0) == (ssize_t)sizeof *ask;
}

bool hwi_live_send_reply(int to, const struct hwi_live_reply *reply, int document)
{
  union {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr align;
  } control = {.bytes = {0}};
  struct iovec part = {(void *)reply, sizeof *reply};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  if (document >= 0) {
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof document);
    memcpy(CMSG_DATA(header), &document, sizeof document);
  }
  return sendmsg(to, &message, MSG_NOSIGNAL) == (ssize_t)sizeof *reply;
}

bool hwi_live_take_reply(int from, struct hwi_live_reply *reply, int *document)
{
  union {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr align;
  } control;
  struct iovec part = {reply, sizeof *reply};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
  ssize_t got;
  do
    got = recvmsg(from, &message, MSG_CMSG_CLOEXEC | MSG_WAITALL);
  while (got < 0 && errno == EINTR);
  *document = -1;
  if (got != (ssize_t)sizeof *reply)
    return false;
  const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
    memcpy(document, CMSG_DATA(header), sizeof *document);
  return true;
}
