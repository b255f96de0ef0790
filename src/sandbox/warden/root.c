/*
 * Making the root of a box: a list of operations, carried out in order.
 *
 * Theory of operation. The process is alone in new namespaces but still sees the host's tree. It
 * mounts a tmpfs as the new root and works in it by relative paths. It binds the host's /usr
 * read-only and writes a small /etc; or it goes on as root_image.c describes. It mounts another
 * tmpfs, the store, whose three directories become /home/user, /tmp and /dev/shm, so that one quota
 * holds for everything that a program can write. Volumes are mounts that the warden has already
 * detached. Then pivot_root() swaps the roots, the host's is unmounted, and the new root becomes
 * read-only. /proc is mounted while the host's is still visible, since the kernel refuses it later.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "sandbox/warden/root.h"

#include "base/fd.h"
#include "sandbox/syscalls.h"
#include "sandbox/warden/layer.h"
#include "sandbox/warden/root_image.h"
#include "sandbox/warden/root_op.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>

/* The file systems of the box itself: those of its root, of the store, and of /retort. */
struct own {
	dev_t v[3];
};

static int find_own(int root_fd, struct own *own, struct err *err)
{
	static const char *const at[] = {".", "tmp", "retort"};
	for (size_t i = 0; i < ARRAY_LEN(own->v); i++) {
		struct stat st;
		if (fstatat(root_fd, at[i], &st, 0) < 0)
			return err_sys(err, ERR_BOX, errno, "stat /%s", at[i]);
		own->v[i] = st.st_dev;
	}
	return 0;
}

static bool is_one_of(const struct own *own, dev_t dev)
{
	for (size_t i = 0; i < ARRAY_LEN(own->v); i++)
		if (own->v[i] == dev)
			return true;
	return false;
}

/*
 * Make the mount point of a volume, and its parents, and open the mount point. New directories are
 * made only on the box's own file systems. Below a volume, or below a workspace on the host, all of
 * them must exist already.
 */
static int volume_target(int root_fd, const struct root_mount *m, struct err *err)
{
	char part[WIRE_PATH_BYTES];
	struct stat at;
	struct own own = {{0}};
	const char *path = m->dst + 1;
	int r = find_own(root_fd, &own, err);
	if (r < 0)
		return r;
	cleanup_fd int dir = sys_open_beneath(root_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	while (dir >= 0 && *path) {
		size_t n = strcspn(path, "/");
		bool last = path[n] == '\0';
		memcpy(part, path, n);
		part[n] = '\0';
		path += n + !last;
		if (fstat(dir, &at) < 0)
			break;
		bool is_own = is_one_of(&own, at.st_dev);
		if (is_own && last && !m->is_dir) {
			cleanup_fd int fd = sys_open_beneath(dir, part,
				O_CREAT | O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
				0644);
			(void)fd;
		} else if (is_own) {
			/* if mkdirat() fails, the sys_open_beneath() below reports the error */
			(void)mkdirat(dir, part, 0755);
		}
		int next = sys_open_beneath(dir, part, O_PATH | O_CLOEXEC, 0);
		fd_close(&dir);
		dir = next;
	}
	if (dir >= 0)
		return take_fd(dir);
	(void)err_sys(err, ERR_USAGE, errno, "volume destination %s", m->dst);
	return err_hint(err,
		       "make it there first, or choose a path that is not in a workspace or volume, such as /data"),
	       -EINVAL;
}

static int mount_volume(int root_fd, const struct root_mount *m, struct err *err)
{
	cleanup_fd int target = volume_target(root_fd, m, err);
	if (target < 0)
		return target;
	if (move_mount(m->tree_fd, "", target, "",
		    MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) == 0)
		return 0;
	int r = err_sys(err, ERR_USAGE, errno, "volume destination %s", m->dst);
	err_hint(err, "a directory goes onto a directory and a file onto a file");
	return r;
}

int root_mount_volumes(const struct root_mount *mounts, unsigned n_mounts, struct err *err)
{
	cleanup_fd int root_fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r = root_fd < 0 ? err_sys(err, ERR_BOX, errno, "open the new root") : 0;
	for (unsigned i = 0; r == 0 && i < n_mounts; i++)
		r = mount_volume(root_fd, &mounts[i], err);
	return r;
}

/*
 * Mount all, and merge the layer. It is part of the root, as installations are, and volumes cover
 * the root. So they are mounted last; but their mount points are made before, since nothing can be
 * made in what is the layer's. (Installations in the workspace or in /tmp come after volumes. A
 * layer has nothing there.)
 */
static int mount_all(const struct root *root, struct err *err)
{
	const struct root_mount *volumes = root->mounts;
	const struct root_mount *end = root->mounts + root->n_mounts;
	struct err later; /* root_mount_volumes() reports what is still missing then */
	while (volumes < end && !volumes->is_volume)
		volumes++;
	cleanup_fd int root_fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r = root_mount_volumes(root->mounts, (unsigned)(volumes - root->mounts), err);
	for (const struct root_mount *m = volumes; root->layer_fd >= 0 && m < end; m++) {
		cleanup_fd int target = volume_target(root_fd, m, &later);
		(void)target;
	}
	if (r == 0 && root->layer_fd >= 0)
		r = layer_merge(root->layer_fd, err);
	return r < 0 ? r : root_mount_volumes(volumes, (unsigned)(end - volumes), err);
}

/* Models look for files in /mnt/data. A volume or a layer that is in /mnt has it for itself. */
static int make_link(struct err *err)
{
	if (mkdir("mnt", 0755) == 0 && symlink("/home/user", "mnt/data") == 0)
		return 0;
	return errno == EEXIST ? 0 : err_sys(err, ERR_BOX, errno, "symlink /mnt/data");
}

int root_pivot(struct err *err)
{
	if (syscall(SYS_pivot_root, ".", ".") < 0)
		return err_sys(err, ERR_BOX, errno, "pivot_root");
	/* The old root is now mounted over the new one at ".". Unmount it, so that only the new one
	 * is left. */
	if (umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		return err_sys(err, ERR_BOX, errno, "unmount the old root");
	return 0;
}

static int swap_roots(struct err *err)
{
	int r = root_pivot(err);
	if (r == 0 &&
		mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV,
			NULL) < 0)
		r = err_sys(err, ERR_BOX, errno, "make the root read-only");
	return r;
}

static int unmount_helper(const char *path, struct err *err)
{
	if (umount2(path, MNT_DETACH) < 0 || rmdir(path) < 0)
		return err_sys(err, ERR_BOX, errno, "unmount %s", path);
	return 0;
}

static int make_of_host(const struct root *root, struct err *err)
{
	/* Its mount must be in this mount namespace, because mounts of another namespace cannot be
	 * cloned. */
	cleanup_fd int host_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r = host_fd < 0 ? err_sys(err, ERR_BOX, errno, "open /") : 0;
	if (r == 0)
		r = root_op_host(root, host_fd, err);
	if (r == 0)
		r = root_op_own(root, err);
	if (r == 0)
		r = mount_all(root, err);
	if (r == 0)
		r = make_link(err);
	if (r == 0)
		r = unmount_helper(ROOT_STORE, err);
	return r < 0 ? r : swap_roots(err);
}

int root_make(struct root *root, struct err *err)
{
	const char *at = "/tmp";
	if (!root->is_branch && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return err_sys(err, ERR_BOX, errno, "make mounts private");
	if (mount("tmpfs", at, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=1m,nr_inodes=512") < 0)
		return err_sys(err, ERR_BOX, errno, "mount the root");
	if (chdir(at) < 0)
		return err_sys(err, ERR_BOX, errno, "enter the root");
	return root->n_image_fds > 0 ? root_image_make(root, err) : make_of_host(root, err);
}

static bool is_taken(const char *dst)
{
	/* An entry that ends in "/" also stands for everything below it. */
	static const char *const taken[] = {"/", "/proc/", "/dev/", "/sys/", "/etc", "/usr", "/bin",
		"/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/home", "/home/user", "/tmp",
		"/var", "/retort/"};
	for (size_t i = 0; i < ARRAY_LEN(taken); i++) {
		size_t n = strlen(taken[i]);
		bool below = n > 1 && taken[i][n - 1] == '/';
		if (strcmp(dst, taken[i]) == 0)
			return true;
		if (below && strncmp(dst, taken[i], n - 1) == 0 &&
			(!dst[n - 1] || dst[n - 1] == '/'))
			return true;
	}
	return false;
}

static int check_plain(const char *dst, struct err *err)
{
	if (dst[0] != '/')
		return err_set(err, ERR_USAGE, "volume destination %s is not absolute", dst);
	for (const char *p = dst; *p;) {
		size_t n = strcspn(++p, "/"); /* ++p skips a slash */
		bool dots = n > 0 && n <= 2 && strspn(p, ".") >= n;
		if (n == 0 || n > 255 || dots)
			return err_set(
				err, ERR_USAGE, "volume destination %s is not a plain path", dst);
		p += n;
	}
	return 0;
}

int root_check_dst(const char *dst, struct err *err)
{
	int r = check_plain(dst, err);
	if (r == 0 && is_taken(dst))
		r = err_set(err, ERR_USAGE, "volume destination %s belongs to the box", dst);
	if (r < 0)
		err_hint(err, "choose a new path such as /data or /home/user/data");
	return r;
}

int root_check_driver_dst(const char *dst, struct err *err)
{
	int r = check_plain(dst, err);
	if (r == 0 && strncmp(dst, "/retort/", 8) != 0)
		r = err_set(err, ERR_PROTOCOL, "driver destination %s is not below /retort", dst);
	return r;
}

int root_check_proc(int fd, struct err *err)
{
	struct statfs fs;
	if (fstatfs(fd, &fs) < 0)
		return err_sys(err, ERR_BOX, errno, "look at the box's /proc");
	return fs.f_type == PROC_SUPER_MAGIC ? 0
					     : err_set(err, ERR_BOX, "the box's /proc is not one");
}

int root_hand_out(
	int sock, const struct root_seen *seen, const int *more, size_t n_more, struct err *err)
{
	struct err none = {0};
	if (seen->proc < 0 || seen->home < 0 || seen->store < 0)
		return err_sys(err, ERR_BOX, errno, "open /proc, the workspace or /tmp");
	if (faccessat(seen->home, ".", W_OK, 0) < 0) {
		int r = err_sys(err, ERR_ACCESS, errno, "workspace not writable for the box");
		err_hint(err, "choose a directory that you own, on a local file system");
		return r;
	}
	int fds[3 + ROOT_MORE_FDS] = {seen->proc, seen->home, seen->store};
	if (n_more > 0)
		memcpy(fds + 3, more, n_more * sizeof *more);
	ssize_t n = fd_send(sock, &none, sizeof none, fds, 3 + n_more);
	return n < 0 ? err_sys(err, ERR_GONE, (int)-n, "the warden is gone") : 0;
}
