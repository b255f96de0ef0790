/*
 * Merging a layer into a root.
 *
 * The layer is a tree whose root is the root of the box. Its directories are compared with those of
 * the box, from the top:
 *
 * - What the box does not have becomes a bind mount of the layer's.
 * - Where the box has a directory of its own, such as /etc, the entries of the two are compared.
 * - Where the box has a read-only mount, such as /usr or the installation of an interpreter, an
 *   overlay of the two is mounted, the layer above the other. It has no writable layer.
 * - The kernel makes no overlay of a directory below which something else is mounted, since it
 *   would show what is under that. There the entries of the two are compared, too, so that the
 *   overlays are further down. Then the layer can add nothing to the directory itself.
 * - All else stays as it is in the box: files, links, what is writable, and /dev, /proc and /sys.
 *
 * A hostile program has written the layer. It chooses names and kinds, but reaches nothing else:
 * the comparison follows no link, and what is mounted is read-only, without set-id bits and
 * devices.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "sandbox/warden/layer.h"

#include "base/attr.h"
#include "base/fd.h"
#include "sandbox/cgroup_file.h"
#include "sandbox/syscalls.h"
#include "sandbox/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define PLACE ".layer"

enum { ATTRIBUTES = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV };

struct merge {
	dev_t own;		      /* the file system of the box's own directories */
	unsigned n_places, n_refused; /* LAYER_PLACES_MAX of each */
	struct err *err;
	int result;
};

/* Two directories that are compared. */
struct level {
	struct merge *merge;
	int box, layer;
	bool is_top;
	bool is_fixed; /* the box's directory is the host's, and has no overlay */
};

static int fail(struct merge *m, const char *what, const char *name)
{
	return err_sys(m->err, ERR_BOX, errno, "%s %.100s of the template", what, name);
}

/* Entries of the root that are never the layer's. */
static bool is_kept(const char *name)
{
	static const char *const kept[] = {"dev", "proc", "sys", "tmp", "run", "retort"};
	for (size_t i = 0; i < ARRAY_LEN(kept); i++)
		if (strcmp(name, kept[i]) == 0)
			return true;
	return name[0] == '.';
}

static int cannot_add(struct merge *m, const char *name)
{
	return err_fail(m->err, ERR_BOX,
		"the kernel makes no overlay of that directory: something is mounted below it, or "
		"its file system is an overlay of overlays",
		"the template has %.100s, which cannot be added to a directory of the host", name);
}

static int count_place(struct merge *m)
{
	if (m->n_places++ < LAYER_PLACES_MAX)
		return 0;
	return err_fail(m->err, ERR_LIMIT, "install fewer packages with files outside of /usr",
		"the template has files in more than %d places", LAYER_PLACES_MAX);
}

/* Bind the layer's file or directory @from to the name @name, which the box does not have. */
static int add_bind(const struct level *at, const char *name, int from, bool is_dir)
{
	struct merge *m = at->merge;
	struct mount_attr attr = {.attr_set = ATTRIBUTES};
	int r = count_place(m);
	if (r < 0)
		return r;
	cleanup_fd int tree =
		open_tree(from, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (tree < 0 || mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof attr) < 0)
		return fail(m, "clone the mount of", name);
	if (is_dir && mkdirat(at->box, name, 0755) < 0)
		return fail(m, "make the directory", name);
	cleanup_fd int file = is_dir
		? -1
		: openat(at->box, name, O_CREAT | O_EXCL | O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (!is_dir && file < 0)
		return fail(m, "make the file", name);
	return move_mount(tree, "", at->box, name, MOVE_MOUNT_F_EMPTY_PATH) < 0
		? fail(m, "mount", name)
		: 0;
}

static int add_link(const struct level *at, const char *name)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(at->layer, name, target, sizeof target - 1);
	int r = count_place(at->merge);
	if (r < 0)
		return r;
	if (n < 0)
		return fail(at->merge, "read the link", name);
	target[n] = '\0';
	return symlinkat(target, at->box, name) < 0 ? fail(at->merge, "make the link", name) : 0;
}

/* Mount an overlay of the layer's directory @above and the box's directory @below over the latter.
 * Returns: 0; 1: the kernel makes none of these directories; or negative errno. */
static int overlay(struct merge *m, const char *name, int above, int below)
{
	char lower[80];
	snprintf(lower, sizeof lower, "/proc/self/fd/%d:/proc/self/fd/%d", above, below);
	cleanup_fd int fs = fsopen("overlay", FSOPEN_CLOEXEC);
	bool is_known = fs >= 0 && fsconfig(fs, FSCONFIG_SET_FLAG, "userxattr", NULL, 0) == 0;
	bool is_made = is_known && fsconfig(fs, FSCONFIG_SET_STRING, "lowerdir", lower, 0) == 0 &&
		fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0;
	if (is_known && !is_made && errno == EINVAL)
		return m->n_refused++ < LAYER_PLACES_MAX ? 1 : cannot_add(m, name);
	cleanup_fd int tree = is_made ? fsmount(fs, FSMOUNT_CLOEXEC, ATTRIBUTES) : -1;
	if (tree < 0) {
		(void)fail(m, "make an overlay for", name);
		return err_hint(m->err,
			       "templates with packages need Linux 5.11 or newer, with overlay file "
			       "systems in user namespaces"),
		       -EPERM;
	}
	int r = count_place(m);
	if (r < 0)
		return r;
	return move_mount(tree, "", below, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) <
			0
		? fail(m, "mount the overlay for", name)
		: 0;
}

static int merge_level(const struct level *at);

static int merge_entry(const struct level *at, const char *name)
{
	struct merge *m = at->merge;
	struct stat of_layer, of_box;
	struct statvfs fs;
	cleanup_fd int from = openat(at->layer, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (from < 0 || fstat(from, &of_layer) < 0)
		return fail(m, "open", name);
	bool is_dir = S_ISDIR(of_layer.st_mode);
	cleanup_fd int to = openat(at->box, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	bool is_new = to < 0 && errno == ENOENT;
	if (at->is_fixed && (is_new || !is_dir))
		return cannot_add(m, name);
	if (is_new) {
		if (S_ISLNK(of_layer.st_mode))
			return add_link(at, name);
		return is_dir || S_ISREG(of_layer.st_mode) ? add_bind(at, name, from, is_dir) : 0;
	}
	if (to < 0 || fstat(to, &of_box) < 0)
		return fail(m, "look for", name);
	if (!is_dir || !S_ISDIR(of_box.st_mode))
		return 0;
	struct level below = {.merge = m, .box = to, .layer = from};
	if (of_box.st_dev == m->own)
		return merge_level(&below);
	if (fstatvfs(to, &fs) < 0)
		return fail(m, "look at", name);
	int r = fs.f_flag & ST_RDONLY ? overlay(m, name, from, to) : 0;
	below.is_fixed = true;
	return r > 0 ? merge_level(&below) : r;
}

static bool on_entry(void *arg, const char *name)
{
	const struct level *at = arg;
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || (at->is_top && is_kept(name)))
		return true;
	at->merge->result = merge_entry(at, name);
	return at->merge->result == 0;
}

/* Neither the box's own directories nor those of the host are deep, and the layer cannot make them
 * deeper: it is mounted where they end. */
static int merge_level(const struct level *at)
{
	int r = cgroup_file_each(at->layer, ".", on_entry, (void *)(uintptr_t)at);
	if (r < 0)
		return err_sys(at->merge->err, ERR_BOX, -r, "read a directory of the template");
	return at->merge->result;
}

int layer_merge(int tree_fd, struct err *err)
{
	struct merge m = {.err = err};
	struct stat st;
	cleanup_fd int root = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0 || fstat(root, &st) < 0)
		return err_sys(err, ERR_BOX, errno, "open the new root");
	m.own = st.st_dev;
	/* An overlay can be made only of mounts that are attached somewhere. */
	if (mkdirat(root, PLACE, 0700) < 0 ||
		move_mount(tree_fd, "", root, PLACE, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return err_sys(err, ERR_BOX, errno, "mount the template");
	cleanup_fd int layer = openat(root, PLACE, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (layer < 0)
		return err_sys(err, ERR_BOX, errno, "open the template");
	int r = merge_level(
		&(struct level){.merge = &m, .box = root, .layer = layer, .is_top = true});
	if (r == 0 && (umount2(PLACE, MNT_DETACH) < 0 || unlinkat(root, PLACE, AT_REMOVEDIR) < 0))
		return err_sys(err, ERR_BOX, errno, "unmount the template");
	return r;
}
