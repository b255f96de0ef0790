/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/warden/idmap.h"

#include "base/fd.h"
#include "sandbox/syscalls.h"
#include "sandbox/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

/*
 * A warden locks its block of ids by binding an abstract socket to a name: only one process can
 * have the name, and the kernel frees the name when the process ends.
 * Wardens in different network namespaces do not see each other's names. So each warden first tries
 * the block that its pid determines; two wardens rarely have pids that determine the same block.
 */
void idmap_claim(struct idmap *map)
{
	enum { TRIES = 256 };
	map->lock_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	for (unsigned i = 0; i < TRIES; i++) {
		struct sockaddr_un name = {.sun_family = AF_UNIX};
		map->block = ((unsigned)getpid() + i) % IDMAP_BLOCKS;
		int n = snprintf(
			name.sun_path + 1, sizeof name.sun_path - 1, "retort-ids-%u", map->block);
		socklen_t bytes =
			(socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1) + (socklen_t)n;
		if (bind(map->lock_fd, (struct sockaddr *)&name, bytes) == 0)
			return;
	}
}

uid_t idmap_uid(const struct idmap *map, unsigned slot)
{
	return map->is_root ? IDMAP_BASE + map->block * WIRE_BOXES_MAX + slot : map->uid;
}

gid_t idmap_gid(const struct idmap *map, unsigned slot)
{
	return map->is_root ? IDMAP_BASE + map->block * WIRE_BOXES_MAX + slot : map->gid;
}

static int write_proc(pid_t pid, const char *name, const char *text, struct err *err)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
	cleanup_fd int fd = open(path, O_WRONLY | O_CLOEXEC);
	int r = fd < 0 ? -errno : fd_write_all(fd, text, strlen(text));
	if (r == 0)
		return 0;
	r = err_sys(err, ERR_BOX, -r, "map ids (%s)", name);
	return err_hint(err,
		       "unprivileged user namespaces may be off: `retort doctor` tells how to "
		       "turn them on"),
	       r;
}

static int write_maps(
	pid_t pid, const struct box_ids *inside, uid_t uid, gid_t gid, struct err *err)
{
	char uid_line[48], gid_line[48];
	snprintf(uid_line, sizeof uid_line, "%u %u 1\n", inside->uid, uid);
	snprintf(gid_line, sizeof gid_line, "%u %u 1\n", inside->gid, gid);
	int r = write_proc(pid, "uid_map", uid_line, err);
	return r < 0 ? r : write_proc(pid, "gid_map", gid_line, err);
}

int idmap_write_same(pid_t pid, const struct box_ids *ids, struct err *err)
{
	return write_maps(pid, ids, ids->uid, ids->gid, err);
}

int idmap_write(pid_t pid, const struct box_ids *inside, uid_t uid, gid_t gid, struct err *err)
{
	int r = write_proc(pid, "setgroups", "deny", err);
	return r < 0 ? r : write_maps(pid, inside, uid, gid, err);
}

/* Make a user namespace that maps ids on disk to those of the box. Returns: its descriptor, which
 * alone keeps the namespace alive, or negative errno. */
static int mapped_namespace(uid_t disk_uid, gid_t disk_gid, uid_t uid, gid_t gid, struct err *err)
{
	struct clone_args args = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};
	char path[64];
	pid_t warden = getpid();
	int pid = sys_clone3(&args);
	if (pid < 0)
		return err_sys(err, ERR_BOX, errno, "user namespace of a volume");
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (getppid() == warden) /* ends the loop if the warden died before prctl() */
			(void)pause();
		_exit(0);
	}
	int r = write_maps(pid, &(struct box_ids){disk_uid, disk_gid}, uid, gid, err);
	if (r == 0) {
		snprintf(path, sizeof path, "/proc/%d/ns/user", pid);
		r = open(path, O_RDONLY | O_CLOEXEC);
		if (r < 0)
			r = err_sys(err, ERR_BOX, errno, "open %s", path);
	}
	(void)kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return r;
}

/* The namespace that was made last. The layers of an image need the same one, one after the other;
 * so do the boxes of a session. */
static struct {
	uid_t disk_uid, uid;
	gid_t disk_gid, gid;
	int fd; /* -1: none */
} last = {.fd = -1};

static int get_namespace(uid_t disk_uid, gid_t disk_gid, uid_t uid, gid_t gid, struct err *err)
{
	bool is_last = last.fd >= 0 && last.disk_uid == disk_uid && last.disk_gid == disk_gid &&
		last.uid == uid && last.gid == gid;
	if (is_last)
		return last.fd;
	int ns = mapped_namespace(disk_uid, disk_gid, uid, gid, err);
	if (ns < 0)
		return ns;
	fd_close(&last.fd);
	last.disk_uid = disk_uid;
	last.disk_gid = disk_gid;
	last.uid = uid;
	last.gid = gid;
	return last.fd = ns;
}

int idmap_mount(const struct idmap *map, unsigned slot, int tree_fd, struct err *err)
{
	struct stat st;
	if (!map->is_root)
		return 0;
	if (fstat(tree_fd, &st) < 0)
		return err_sys(err, ERR_BOX, errno, "stat a volume");
	int ns = get_namespace(
		st.st_uid, st.st_gid, idmap_uid(map, slot), idmap_gid(map, slot), err);
	if (ns < 0)
		return ns;
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (uint64_t)ns};
	int r = mount_setattr(tree_fd, "", AT_EMPTY_PATH, &attr, sizeof attr);
	return r < 0 ? 0 : 1;
}
