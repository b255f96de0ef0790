/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/warden/listener.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/ioctl.h>

/* A newer kernel may write a larger struct than our headers define, so there is room for more. */
union question {
	struct seccomp_notif notif;
	char room[512];
};

union answer {
	struct seccomp_notif_resp resp;
	char room[128];
};

int listener_take(int fd, struct listener_question *out)
{
	union question q;
	memset(&q, 0, sizeof q); /* the kernel requires zeros */
	if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &q.notif) < 0)
		return errno == ENOENT || errno == EINTR ? 0 : -errno;
	*out = (struct listener_question){.id = q.notif.id, .tid = (pid_t)q.notif.pid};
	return 1;
}

void listener_refuse(int fd, const struct listener_question *question)
{
	union answer a;
	memset(&a, 0, sizeof a);
	a.resp.id = question->id;
	a.resp.error = -EPERM;
	(void)ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &a.resp);
}

int listener_allow(int fd, const struct listener_question *question)
{
	union answer a;
	uint64_t id = question->id;
	memset(&a, 0, sizeof a);
	/* If the thread still waits, its tid was not reused meanwhile. */
	if (ioctl(fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) < 0)
		return -errno;
	a.resp.id = question->id;
	a.resp.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	return ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &a.resp) < 0 ? -errno : 0;
}
