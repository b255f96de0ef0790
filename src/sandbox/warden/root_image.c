/*
 * The root of a box with an image: an overlay that can be written.
 *
 * Theory of operation. The current directory is a tmpfs, the kit, which no program will see. The
 * layers are mounted in it, and the store, which has two directories besides the usual: "upper"
 * gets what the box changes, and "work" is the kernel's. The overlay of all these is the new root.
 * The other parts of a root (/dev, /proc, …) are made in the kit by the same tables as for a box
 * with the host's system, and then mounted in the overlay.
 *
 * Whoever made the image chose its names, and may have put a link or a file where a part of the
 * root belongs. So the directories of the parts are made in "upper" before the overlay exists:
 * there is nothing yet that a path could be led by, and in the overlay they come before whatever
 * the image has.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "sandbox/warden/root_image.h"

#include "base/fd.h"
#include "sandbox/syscalls.h"
#include "sandbox/warden/root_op.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#define LAYERS	".layers"
#define OVERLAY ".root"

/* The parts of the root, which are mounted from the kit. Those that are sealed are read-only. */
static const struct {
	const char *path;
	bool is_sealed;
} parts[] = {
	{"dev", true},
	{"proc", false},
	{"sys", true},
	{"retort", true},
	{"home/user", false},
	{"tmp", false},
};

/* Directories that are made in "upper": those of the parts, and those of files that are written. */
static const char *const upper_dirs[] = {
	"dev", "proc", "sys", "retort", "home", "home/user", "tmp", "etc"};

static int attach_layers(const struct root *root, struct err *err)
{
	if (mkdir(LAYERS, 0700) < 0)
		return err_sys(err, ERR_BOX, errno, "mkdir " LAYERS);
	for (unsigned i = 0; i < root->n_image_fds; i++) {
		char path[32];
		snprintf(path, sizeof path, LAYERS "/%u", i);
		if (mkdir(path, 0700) < 0 ||
			move_mount(root->image_fds[i], "", AT_FDCWD, path,
				MOVE_MOUNT_F_EMPTY_PATH) < 0)
			return err_sys(err, ERR_BOX, errno, "mount layer %u of the image", i);
	}
	return 0;
}

/* Make a directory in @upper. In a branch, the parent may have put something else in its place,
 * which is removed. */
static int make_upper_dir(int upper, const char *path, struct err *err)
{
	struct stat st;
	const char *slash = strrchr(path, '/');
	char parent[32];
	snprintf(
		parent, sizeof parent, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
	const char *name = slash ? slash + 1 : path;
	cleanup_fd int dir = sys_open_beneath(upper, parent, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	if (dir >= 0 && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(st.st_mode))
		(void)unlinkat(dir, name, 0); /* if it fails, mkdirat() reports the error */
	if (dir < 0 || (mkdirat(dir, name, 0755) < 0 && errno != EEXIST))
		return err_sys(err, ERR_BOX, errno, "mkdir /%s", path);
	return 0;
}

/* Make the directories, and in a new box also the files, that come before those of the image. */
static int fill_upper(const struct root *root, struct err *err)
{
	char path[64];
	cleanup_fd int upper =
		open(ROOT_STORE "/" ROOT_UPPER, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int r = upper < 0 ? err_sys(err, ERR_BOX, errno, "open the changes") : 0;
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(upper_dirs); i++)
		r = make_upper_dir(upper, upper_dirs[i], err);
	for (const struct root_file *f = root_names; r == 0 && !root->is_branch && f->path; f++) {
		snprintf(path, sizeof path, ROOT_STORE "/" ROOT_UPPER "/%s", f->path);
		r = root_make_file(path, f->text, err);
	}
	return r;
}

static int mount_overlay(const struct root *root, struct err *err)
{
	char options[4096];
	size_t n = (size_t)snprintf(options, sizeof options,
		"userxattr,volatile,upperdir=" ROOT_STORE "/" ROOT_UPPER ",workdir=" ROOT_STORE
		"/" ROOT_WORK ",lowerdir=");
	for (unsigned i = root->n_image_fds; i > 0 && n < sizeof options; i--)
		n += (size_t)snprintf(options + n, sizeof options - n, "%s" LAYERS "/%u",
			i < root->n_image_fds ? ":" : "", i - 1);
	if (n >= sizeof options)
		return err_set(err, ERR_LIMIT, "the image has too many layers");
	if (mkdir(OVERLAY, 0700) == 0 &&
		mount("overlay", OVERLAY, "overlay", MS_NOSUID | MS_NODEV, options) == 0)
		return 0;
	(void)err_sys(err, ERR_BOX, errno, "make an overlay of the image");
	return err_hint(err,
		       "images need Linux 5.11 or newer, with overlay file systems in user "
		       "namespaces; and a file system on which the kernel makes overlays: not another "
		       "overlay, nor /proc"),
	       -EPERM;
}

/* Mount @tree on a directory of the overlay. */
static int mount_tree(int tree, const char *path, struct err *err)
{
	cleanup_fd int target =
		sys_open_beneath(AT_FDCWD, path, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	if (target < 0 ||
		move_mount(tree, "", target, "",
			MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return err_sys(err, ERR_BOX, errno, "mount /%s", path);
	return 0;
}

/* Mount the kit's @path on the overlay's. */
static int mount_part(int kit_fd, const char *path, struct err *err)
{
	cleanup_fd int tree =
		open_tree(kit_fd, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	if (tree < 0)
		return err_sys(err, ERR_BOX, errno, "clone the mount of /%s", path);
	return mount_tree(tree, path, err);
}

static int seal_part(const char *path, struct err *err)
{
	cleanup_fd int fd = sys_open_beneath(AT_FDCWD, path, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	if (fd < 0)
		return err_sys(err, ERR_BOX, errno, "open /%s", path);
	return root_set_attributes(
		fd, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, false, path, err);
}

/* Mount a directory of the overlay on itself, with what is mounted below it. Then no program of the
 * box can rename it, so that what is mounted stays where it is expected. */
static int pin(const char *path, struct err *err)
{
	cleanup_fd int dir = sys_open_beneath(AT_FDCWD, path, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	cleanup_fd int tree = dir < 0
		? -1
		: open_tree(dir, "",
			  AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	if (tree < 0)
		return err_sys(err, ERR_BOX, errno, "clone the mount of /%s", path);
	return mount_tree(tree, path, err);
}

/* Return whether @path is a directory of the overlay on which nothing is mounted. */
static bool is_unpinned(const char *path)
{
	struct statx root, st;
	return statx(AT_FDCWD, ".", 0, STATX_MNT_ID, &root) == 0 &&
		statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_MNT_ID, &st) == 0 &&
		S_ISDIR(st.stx_mode) && st.stx_mnt_id == root.stx_mnt_id;
}

/* Pin the directories of the overlay below which a volume is mounted, the deepest first. */
static int pin_parents(const struct root *root, struct err *err)
{
	int r = 0;
	for (unsigned i = 0; i < root->n_mounts; i++) {
		char path[WIRE_PATH_BYTES];
		snprintf(path, sizeof path, "%s", root->mounts[i].dst + 1);
		for (char *slash; r == 0 && (slash = strrchr(path, '/'));) {
			*slash = '\0';
			if (is_unpinned(path))
				r = pin(path, err);
		}
	}
	return r;
}

/* Show what the box has changed of the image, read-only. */
static int mount_changes(int kit_fd, struct err *err)
{
	const char *path = &WIRE_CHANGES_DIR[1];
	cleanup_fd int tree =
		open_tree(kit_fd, ROOT_STORE "/" ROOT_UPPER, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (tree < 0)
		return err_sys(err, ERR_BOX, errno, "clone the mount of the changes");
	int r = root_set_attributes(tree,
		MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, false,
		path, err);
	if (r == 0 && mkdir(path, 0755) < 0)
		r = err_sys(err, ERR_BOX, errno, "mkdir /%s", path);
	return r < 0 ? r : mount_tree(tree, path, err);
}

/* Make what an image may lack: the names of users, what package managers need in a box with one
 * user, and the link by which models find the workspace.
 * Errors are ignored: the box works without them. */
static void add_missing(void)
{
	static const struct root_file files[] = {{"etc/passwd", ROOT_PASSWD},
		{"etc/group", ROOT_GROUP},
		/* apt has a user of its own for downloads, and checks that it has become it */
		{"etc/apt/apt.conf.d/90retort", "APT::Sandbox::User \"root\";\n"},
		/* dpkg opens files again to sync them, also those that nobody may write */
		{"etc/dpkg/dpkg.cfg.d/90retort", "force-unsafe-io\n"}};
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		cleanup_fd int fd = sys_open_beneath(
			AT_FDCWD, files[i].path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
		if (fd >= 0)
			(void)fd_write_all(fd, files[i].text, strlen(files[i].text));
	}
	(void)mkdir("mnt", 0755);
	cleanup_fd int mnt = sys_open_beneath(AT_FDCWD, "mnt", O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	if (mnt < 0 || symlinkat("/home/user", mnt, "data") < 0)
		return; /* the image has something there */
}

int root_seal_sysctls(const char *path, struct err *err)
{
	cleanup_fd int tree = open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (tree < 0)
		return err_sys(err, ERR_BOX, errno, "clone the mount of %s", path);
	int r = root_set_attributes(tree,
		MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, false,
		path, err);
	if (r == 0 && move_mount(tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		r = err_sys(err, ERR_BOX, errno, "mount %s", path);
	return r;
}

int root_image_make(struct root *root, struct err *err)
{
	cleanup_fd int kit_fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r = kit_fd < 0 ? err_sys(err, ERR_BOX, errno, "open the kit") : 0;
	if (r == 0)
		r = attach_layers(root, err);
	if (r == 0)
		r = root_op_own(root, err);
	if (r == 0)
		r = fill_upper(root, err);
	if (r == 0)
		r = mount_overlay(root, err);
	if (r < 0)
		return r;
	root->store_fd = open(ROOT_STORE, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root->store_fd < 0 || chdir(OVERLAY) < 0)
		return err_sys(err, ERR_BOX, errno, "enter the new root");
	r = pin("home", err);
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(parts); i++)
		r = mount_part(kit_fd, parts[i].path, err);
	if (r == 0)
		r = mount_changes(kit_fd, err);
	if (r == 0 && !root->is_branch)
		add_missing();
	if (r == 0)
		r = root_mount_volumes(root->mounts, root->n_mounts, err);
	if (r == 0)
		r = pin_parents(root, err);
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(parts); i++)
		if (parts[i].is_sealed)
			r = seal_part(parts[i].path, err);
	return r < 0 || root->is_branch ? r : root_pivot(err);
}
