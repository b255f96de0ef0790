/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/warden/box_host.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

static int enter_namespaces(struct box_host *host, struct err *err)
{
	struct idmap *ids = &host->ids;
	*ids = (struct idmap){
		.is_root = geteuid() == 0, .uid = geteuid(), .gid = getegid(), .lock_fd = -1};
	if (ids->is_root && setgroups(0, NULL) < 0)
		ids->is_root = false; /* uid 0 without capabilities is an ordinary user */
	if (ids->is_root)
		idmap_claim(ids);
	int flags = CLONE_NEWNS | (ids->is_root ? 0 : CLONE_NEWUSER);
	if (unshare(flags) < 0) {
		int r = err_sys(err, ERR_BOX, errno, "new user namespace");
		return err_hint(err,
			       "this host does not let you make user namespaces: `retort doctor` "
			       "tells how to turn them on"),
		       r;
	}
	if (!ids->is_root) {
		const struct box_ids same = {.uid = ids->uid, .gid = ids->gid};
		int r = idmap_write(getpid(), &same, ids->uid, ids->gid, err);
		if (r < 0)
			return r;
	}
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
		int r = err_sys(err, ERR_BOX, errno, "make mounts private");
		return err_hint(err,
			       "user namespaces have no rights here (AppArmor on Ubuntu 24.04, for "
			       "example): `retort doctor` tells how to turn them on"),
		       r;
	}
	return 0;
}

/* Open the executable of init: the file retort-init beside the warden's own executable. */
static int open_init(struct err *err)
{
	char path[WIRE_PATH_BYTES + 16];
	ssize_t n = readlink("/proc/self/exe", path, WIRE_PATH_BYTES - 1);
	if (n < 0)
		return err_sys(err, ERR_BOX, errno, "read /proc/self/exe");
	path[n] = '\0';
	char *slash = strrchr(path, '/');
	strcpy(slash ? slash + 1 : path, "retort-init");
	int fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0) {
		int r = err_sys(err, ERR_BOX, errno, "open %s", path);
		return err_hint(err, "install retort again: its parts must stay together"), r;
	}
	return fd;
}

static int cgroup_forced(void)
{
	static const char *const names[] = {
		[CGROUP_NONE] = "none", [CGROUP_V1] = "v1", [CGROUP_V2] = "v2"};
	const char *want = getenv("RETORT_CGROUP");
	for (size_t i = 0; want && i < ARRAY_LEN(names); i++)
		if (strcmp(want, names[i]) == 0)
			return (int)i;
	return -1;
}

/* Raise the limit of open files, since each box takes several descriptors here. */
static void raise_open_files(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

int box_host_open(struct box_host *host, struct err *err)
{
	raise_open_files();
	/* Do this first: the new namespaces change which cgroups can be seen and written. */
	cgroup_host_open(&host->cgroup, "", cgroup_forced());
	int r = open_init(err);
	if (r < 0)
		return r;
	host->init_fd = r;
	return enter_namespaces(host, err);
}

void box_host_detach(void)
{
	cleanup_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; fd <= 2 && null >= 0; fd++)
		(void)dup2(null, fd);
	(void)setsid();
	/* The warden must end when its socket closes, not by a signal to the process group. */
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
	for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
		(void)signal(ignored[i], SIG_IGN);
}
