/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/warden/root_op.h"

#include "base/fd.h"
#include "sandbox/cgroup_file.h"
#include "sandbox/syscalls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

enum root_op_kind {
	OP_DIR,	  /* make a directory */
	OP_CPUS,  /* write a file with the numbers of the CPUs */
	OP_FILE,  /* write a file that contains `text` */
	OP_NAMES, /* write the files of root_names */
	OP_LINK,  /* make a symbolic link to `text` */
	/* bind a directory of the host read-only; if it is a symbolic link, make the same link;
	 * skipped if absent */
	OP_SYSTEM,
	OP_SHARE, /* bind a file of the host's /etc read-only; skipped if absent */
	/* as OP_SHARE, for each entry of the directory `path` whose name begins with `text` */
	OP_SHARE_ALL,
	OP_DEVICE,    /* bind a device node */
	OP_PROC,      /* mount a new /proc */
	OP_TERMINALS, /* mount a devpts of the box's own */
	OP_STORE,     /* mount the store */
	OP_WRITABLE   /* bind the directory `text` of the store */
};

struct root_op {
	enum root_op_kind kind;
	const char *path; /* relative to the new root */
	const char *text;
};

static const struct root_op host_ops[] = {
	{OP_SYSTEM, "usr", NULL},
	{OP_SYSTEM, "bin", NULL},
	{OP_SYSTEM, "sbin", NULL},
	{OP_SYSTEM, "lib", NULL},
	{OP_SYSTEM, "lib32", NULL},
	{OP_SYSTEM, "lib64", NULL},
	{OP_SYSTEM, "libx32", NULL},
	{OP_DIR, "etc", NULL},
	{OP_FILE, "etc/passwd", ROOT_PASSWD},
	{OP_FILE, "etc/group", ROOT_GROUP},
	{OP_NAMES, "etc", NULL},
	{OP_FILE, "etc/nsswitch.conf",
		"passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n"},
	{OP_LINK, "etc/os-release", "../usr/lib/os-release"},
	{OP_DIR, "etc/ssl", NULL},
	/* without ld.so.cache, the dynamic loader searches every directory for a library */
	{OP_SHARE, "etc/ld.so.cache", NULL},
	/* contains the targets of libblas.so.3 and other links */
	{OP_SHARE, "etc/alternatives", NULL},
	{OP_SHARE, "etc/ssl/certs", NULL}, /* for the certificate checks of TLS libraries */
	{OP_SHARE, "etc/ssl/openssl.cnf", NULL},
	{OP_SHARE, "etc/fonts", NULL},	      /* for fontconfig */
	{OP_SHARE, "etc/localtime", NULL},    /* the host's time zone */
	{OP_SHARE, "etc/matplotlibrc", NULL}, /* Debian's matplotlib needs this file to start */
	{OP_SHARE, "etc/mime.types", NULL},   /* for mimetypes.guess_type() */
	{OP_SHARE, "etc/services", NULL},     /* for socket.getservbyname() */
	{OP_SHARE, "etc/protocols", NULL},
	/*
	 * Links in /usr lead to these files. Debian regards them as configuration, but the programs
	 * do not start without them. Files that may contain secrets are left out: /etc/environment,
	 * /etc/ssl/private, Maven's settings.xml.
	 */
	{OP_SHARE_ALL, "etc", "java-"},
	{OP_SHARE_ALL, "etc", "python3"},
	{OP_SHARE_ALL, "etc", "ImageMagick-"},
	{OP_SHARE, "etc/R", NULL},
	{OP_SHARE, "etc/groff", NULL},
	{OP_SHARE, "etc/locale.alias", NULL},
	{OP_SHARE, "etc/manpath.config", NULL},
	{OP_SHARE, "etc/maven/m2.conf", NULL},
	{OP_SHARE, "etc/maven/logging", NULL},
	{OP_SHARE, "etc/perl", NULL},
	{OP_SHARE, "etc/texmf", NULL},
	{OP_SHARE, "etc/X11/rgb.txt", NULL},
	{OP_DIR, "var", NULL},
	{OP_LINK, "var/tmp", "/tmp"},
};

static const struct root_op own_ops[] = {
	{OP_DIR, "dev", NULL},
	{OP_DEVICE, "dev/null", NULL},
	{OP_DEVICE, "dev/zero", NULL},
	{OP_DEVICE, "dev/full", NULL},
	{OP_DEVICE, "dev/random", NULL},
	{OP_DEVICE, "dev/urandom", NULL},
	/* opening it opens the caller's controlling terminal, or fails with ENXIO if there is
	 * none */
	{OP_DEVICE, "dev/tty", NULL},
	{OP_DIR, "dev/pts", NULL},
	{OP_TERMINALS, "dev/pts", NULL},
	{OP_LINK, "dev/ptmx", "pts/ptmx"},
	{OP_LINK, "dev/fd", "/proc/self/fd"},
	{OP_LINK, "dev/stdin", "/proc/self/fd/0"},
	{OP_LINK, "dev/stdout", "/proc/self/fd/1"},
	{OP_LINK, "dev/stderr", "/proc/self/fd/2"},
	{OP_DIR, "proc", NULL},
	{OP_PROC, "proc", NULL},
	/* libc reads the number of CPUs from these files. They list as many CPUs as the CPU limit
	 * allows. */
	{OP_DIR, "sys", NULL},
	{OP_DIR, "sys/devices", NULL},
	{OP_DIR, "sys/devices/system", NULL},
	{OP_DIR, "sys/devices/system/cpu", NULL},
	{OP_CPUS, "sys/devices/system/cpu/online", NULL},
	{OP_CPUS, "sys/devices/system/cpu/possible", NULL},
	{OP_CPUS, "sys/devices/system/cpu/present", NULL},
	{OP_DIR, "retort", NULL},
	{OP_DIR, "home", NULL},
	{OP_STORE, ROOT_STORE, NULL},
	{OP_WRITABLE, "home/user", ROOT_STORE "/user"},
	{OP_WRITABLE, "tmp", ROOT_STORE "/tmp"},
	{OP_WRITABLE, "dev/shm", ROOT_STORE "/shm"},
};

const struct root_file root_names[] = {
	{"etc/hosts", "127.0.0.1 localhost retort\n::1 localhost\n"},
	{"etc/hostname", "retort\n"},
	{"etc/resolv.conf", "nameserver 198.18.0.1\noptions timeout:1 attempts:2\n"},
	{NULL, NULL},
};

int root_set_attributes(
	int tree_fd, uint64_t attributes, bool is_all, const char *what, struct err *err)
{
	struct mount_attr attr = {.attr_set = attributes};
	unsigned flags = AT_EMPTY_PATH | (is_all ? AT_RECURSIVE : 0);
	if (mount_setattr(tree_fd, "", flags, &attr, sizeof attr) < 0)
		return err_sys(err, ERR_BOX, errno, "mount attributes of %s", what);
	return 0;
}

int root_make_file(const char *path, const char *text, struct err *err)
{
	cleanup_fd int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
	if (fd < 0)
		return err_sys(err, ERR_BOX, errno, "create /%s", path);
	int r = fd_write_all(fd, text, strlen(text));
	return r < 0 ? err_sys(err, ERR_BOX, -r, "write /%s", path) : 0;
}

static int op_cpus(const struct root *root, const struct root_op *op, struct err *err)
{
	uint64_t n = (root->limits->value[LIMIT_cpu_milli] + 999) / 1000;
	cpu_set_t may;
	char text[32] = "0\n";
	if (sched_getaffinity(0, sizeof may, &may) == 0)
		n = MIN(n, (uint64_t)CPU_COUNT(&may));
	if (n > 1)
		snprintf(text, sizeof text, "0-%u\n", (unsigned)n - 1);
	return root_make_file(op->path, text, err);
}

static int op_names(struct err *err)
{
	int r = 0;
	for (const struct root_file *f = root_names; r == 0 && f->path; f++)
		r = root_make_file(f->path, f->text, err);
	return r;
}

static int make_target(const char *path, bool is_dir, struct err *err)
{
	if (!is_dir)
		return root_make_file(path, "", err);
	if (mkdir(path, 0755) < 0)
		return err_sys(err, ERR_BOX, errno, "mkdir /%s", path);
	return 0;
}

/* Bind the file or directory that the O_PATH descriptor @from_fd names onto @path, with
 * @attributes. */
static int bind_fd(int from_fd, const char *path, bool is_dir, uint64_t attributes, struct err *err)
{
	cleanup_fd int tree = open_tree(
		from_fd, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	if (tree < 0)
		return err_sys(err, ERR_BOX, errno, "clone mount for /%s", path);
	int r = root_set_attributes(tree, attributes, true, path, err);
	if (r < 0)
		return r;
	r = make_target(path, is_dir, err);
	if (r < 0)
		return r;
	if (move_mount(tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return err_sys(err, ERR_BOX, errno, "mount /%s", path);
	return 0;
}

static int op_system(int host_fd, const struct root_op *op, struct err *err)
{
	const uint64_t attributes = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	char target[WIRE_PATH_BYTES];
	struct stat st;
	ssize_t n = readlinkat(host_fd, op->path, target, sizeof target - 1);
	if (n > 0) {
		target[n] = '\0';
		return symlink(target, op->path) < 0
			? err_sys(err, ERR_BOX, errno, "symlink /%s", op->path)
			: 0;
	}
	cleanup_fd int fd = sys_open_in_root(host_fd, op->path, O_PATH | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, ERR_BOX, errno, "open the host's /%s", op->path);
	return bind_fd(fd, op->path, S_ISDIR(st.st_mode), attributes, err);
}

static int share(int host_fd, const char *path, struct err *err)
{
	const uint64_t attributes =
		MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
	char parent[WIRE_PATH_BYTES];
	struct stat st;
	cleanup_fd int fd = sys_open_in_root(host_fd, path, O_PATH | O_CLOEXEC);
	/* If the host's file cannot be bound, skip it and make the box without it: a program
	 * needs only some of the files in the table, and often none of them. */
	if (fd < 0 || fstat(fd, &st) < 0 || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
		return 0;
	snprintf(parent, sizeof parent, "%s", path);
	*strrchr(parent, '/') = '\0';
	(void)mkdir(parent, 0755); /* if mkdir() fails, bind_fd() reports the error */
	return bind_fd(fd, path, S_ISDIR(st.st_mode), attributes, err);
}

struct sharing {
	int host_fd;
	const struct root_op *op;
	struct err *err;
	int result;
};

static bool share_alike(void *arg, const char *name)
{
	struct sharing *s = arg;
	char path[WIRE_PATH_BYTES];
	if (strncmp(name, s->op->text, strlen(s->op->text)) != 0)
		return true;
	snprintf(path, sizeof path, "%s/%s", s->op->path, name);
	s->result = share(s->host_fd, path, s->err);
	return s->result == 0;
}

static int op_share_all(int host_fd, const struct root_op *op, struct err *err)
{
	struct sharing s = {.host_fd = host_fd, .op = op, .err = err};
	cleanup_fd int dir =
		sys_open_in_root(host_fd, op->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir >= 0)
		(void)cgroup_file_each(dir, ".", share_alike, &s);
	return s.result;
}

static int op_device(const struct root_op *op, struct err *err)
{
	char path[64];
	struct stat st;
	snprintf(path, sizeof path, "/%s", op->path);
	cleanup_fd int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, ERR_BOX, errno, "open the host's %s", path);
	if (!S_ISCHR(st.st_mode))
		return err_set(err, ERR_BOX, "the host's %s is not a character device", path);
	return bind_fd(fd, op->path, false, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, err);
}

static int op_proc(const struct root *root, const struct root_op *op, struct err *err)
{
	if (root->is_branch)
		return move_mount(root->proc_tree, "", AT_FDCWD, op->path,
			       MOVE_MOUNT_F_EMPTY_PATH) == 0
			? 0
			: err_sys(err, ERR_BOX, errno, "mount /proc");
	if (mount("proc", op->path, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0)
		return 0;
	int r = err_sys(err, ERR_BOX, errno, "mount /proc");
	if (r == -EPERM)
		return err_hint(err,
			"part of /proc is hidden here, as in most containers: start the "
			"container with an unmasked /proc, or run on the host");
	return r;
}

int root_mount_terminals(const char *path, struct err *err)
{
	char options[64];
	snprintf(options, sizeof options, "newinstance,ptmxmode=0666,mode=0620,max=%d",
		ROOT_TERMINALS_MAX);
	if (mount("devpts", path, "devpts", MS_NOSUID | MS_NOEXEC, options) < 0)
		return err_sys(err, ERR_BOX, errno, "mount /dev/pts");
	return 0;
}

static int op_store(const struct root *root, const struct root_op *op, struct err *err)
{
	static const struct {
		const char *name;
		mode_t mode;
	} dirs[] = {{"user", 0755}, {"tmp", 01777}, {"shm", 01777}, {ROOT_UPPER, 0755},
		{ROOT_WORK, 0755}};
	if (root->store_tree >= 0)
		return mkdir(op->path, 0700) == 0 &&
				move_mount(root->store_tree, "", AT_FDCWD, op->path,
					MOVE_MOUNT_F_EMPTY_PATH) == 0
			? 0
			: err_sys(err, ERR_BOX, errno, "mount the store");
	size_t n = root->n_image_fds > 0 ? ARRAY_LEN(dirs) : ROOT_STORE_DIRS;
	char options[128];
	bool has_image = root->n_image_fds > 0;
	uint64_t bytes = root->limits->value[LIMIT_disk_bytes] + (has_image ? ROOT_IMAGE_BYTES : 0);
	uint64_t files = root->limits->value[LIMIT_disk_inodes] + 1 +
		(has_image ? ROOT_IMAGE_FILES : ROOT_STORE_DIRS);
	snprintf(options, sizeof options, "mode=755,size=%llu,nr_inodes=%llu",
		(unsigned long long)bytes, (unsigned long long)files);
	if (mkdir(op->path, 0700) < 0 ||
		mount("tmpfs", op->path, "tmpfs", MS_NOSUID | MS_NODEV, options) < 0)
		return err_sys(err, ERR_BOX, errno, "mount the store (%s)", options);
	for (size_t i = 0; i < n; i++) {
		char path[64];
		snprintf(path, sizeof path, "%s/%s", op->path, dirs[i].name);
		if (mkdir(path, 0700) < 0 || chmod(path, dirs[i].mode) < 0)
			return err_sys(err, ERR_BOX, errno, "mkdir /%s", path);
	}
	return 0;
}

static int op_writable(const struct root *root, const struct root_op *op, struct err *err)
{
	if (root->workspace_fd >= 0 && strcmp(op->path, "home/user") == 0) {
		int r = make_target(op->path, true, err);
		if (r < 0)
			return r;
		if (move_mount(root->workspace_fd, "", AT_FDCWD, op->path,
			    MOVE_MOUNT_F_EMPTY_PATH) < 0)
			return err_sys(err, ERR_BOX, errno, "mount the workspace");
		return 0;
	}
	cleanup_fd int fd = open(op->text, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(err, ERR_BOX, errno, "open /%s", op->text);
	return bind_fd(fd, op->path, true, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, err);
}

static int root_op_do(
	const struct root *root, int host_fd, const struct root_op *op, struct err *err)
{
	switch (op->kind) {
	case OP_DIR:
		return make_target(op->path, true, err);
	case OP_CPUS:
		return op_cpus(root, op, err);
	case OP_FILE:
		return root_make_file(op->path, op->text, err);
	case OP_NAMES:
		return op_names(err);
	case OP_LINK:
		return symlink(op->text, op->path) < 0
			? err_sys(err, ERR_BOX, errno, "symlink /%s", op->path)
			: 0;
	case OP_SYSTEM:
		return op_system(host_fd, op, err);
	case OP_SHARE:
		return share(host_fd, op->path, err);
	case OP_SHARE_ALL:
		return op_share_all(host_fd, op, err);
	case OP_DEVICE:
		return op_device(op, err);
	case OP_PROC:
		return op_proc(root, op, err);
	case OP_TERMINALS:
		return root_mount_terminals(op->path, err);
	case OP_STORE:
		return op_store(root, op, err);
	case OP_WRITABLE:
		return op_writable(root, op, err);
	}
	return err_set(err, ERR_INTERNAL, "unknown operation for /%s", op->path);
}

int root_op_host(const struct root *root, int host_fd, struct err *err)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(host_ops); i++)
		r = root_op_do(root, host_fd, &host_ops[i], err);
	return r;
}

int root_op_own(const struct root *root, struct err *err)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(own_ops); i++)
		r = root_op_do(root, -1, &own_ops[i], err);
	return r;
}
