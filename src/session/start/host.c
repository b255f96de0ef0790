/* SPDX-License-Identifier: Apache-2.0 */
#include "session/start/host.h"

#include "base/fd.h"
#include "sandbox/syscalls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <sys/wait.h>

/* mount_setattr(2) is older; base/netns.c needs 5.14. */
enum { KERNEL_MAJOR = 5, KERNEL_MINOR = 14 };

static void say(char out[HOST_TEXT_BYTES], const char *fmt, ...) attr_printf(2, 3);

static void say(char out[HOST_TEXT_BYTES], const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(out, HOST_TEXT_BYTES, fmt, ap);
	va_end(ap);
}

/* Read a number from a file of /proc. Returns: -1 if the file does not exist. */
static long read_number(const char *path)
{
	char text[32];
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : fd_read_all(fd, text, sizeof text - 1);
	if (n < 0)
		return -1;
	text[n] = '\0';
	return strtol(text, NULL, 10);
}

static bool is_container(void)
{
	return access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0 ||
		getenv("container");
}

/*
 * Call @attempt in a child process, because it would change the calling process.
 * Returns: 0, or the errno of its failure (at most 254).
 */
static int try_in_child(int (*attempt)(void))
{
	int status;
	pid_t pid = fork();
	if (pid < 0)
		return errno;
	if (pid == 0)
		_exit(attempt() < 0 ? MIN(errno, 254) : 0);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EPERM;
}

static void check_kernel(struct host_check *c)
{
	struct utsname name;
	int major = 0, minor = 0;
	(void)uname(&name);
	(void)sscanf(name.release, "%d.%d", &major, &minor);
	say(c->what, "Linux %s", name.release);
	if (major > KERNEL_MAJOR || (major == KERNEL_MAJOR && minor >= KERNEL_MINOR))
		return;
	c->state = HOST_MISSING;
	say(c->hint, "retort needs Linux %d.%d: upgrade the kernel, e.g. from backports",
		KERNEL_MAJOR, KERNEL_MINOR);
}

static int attempt_userns(void)
{
	return unshare(CLONE_NEWUSER);
}

static int attempt_userns_mount(void)
{
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return -1;
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

/* Find out which setting forbids user namespaces, and tell how to change it. The settings are
 * those that common distributions use. */
static void explain_userns(struct host_check *c)
{
	if (read_number("/proc/sys/user/max_user_namespaces") == 0)
		say(c->hint,
			"sysctl -w user.max_user_namespaces=15000, and the same in /etc/sysctl.d");
	else if (read_number("/proc/sys/kernel/unprivileged_userns_clone") == 0)
		say(c->hint,
			"sysctl -w kernel.unprivileged_userns_clone=1, and the same in /etc/sysctl.d");
	else if (read_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") > 0)
		say(c->hint,
			"Ubuntu lets only programs with a profile use them: cp "
			"PREFIX/share/retort/apparmor/retort-warden /etc/apparmor.d, then "
			"apparmor_parser -r /etc/apparmor.d/retort-warden");
	else if (is_container())
		say(c->hint,
			"this container forbids them: start it with --security-opt seccomp=unconfined "
			"--security-opt systempaths=unconfined");
	else
		say(c->hint,
			"a kernel with CONFIG_USER_NS is needed, and no seccomp filter that denies "
			"unshare(2)");
}

static void check_userns(struct host_check *c)
{
	int r = try_in_child(attempt_userns);
	int with_mount = r == 0 ? try_in_child(attempt_userns_mount) : r;
	if (with_mount == 0) {
		say(c->what, "available");
		return;
	}
	c->state = HOST_MISSING;
	say(c->what, r == 0 ? "can be made, but give no rights: %s" : "cannot be made: %s",
		strerror(with_mount));
	explain_userns(c);
}

static int attempt_proc(void)
{
	int status;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID) < 0)
		return -1;
	pid_t pid = fork();
	if (pid == 0)
		_exit(mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0
				? MIN(errno, 254)
				: 0);
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return -1;
	errno = WIFEXITED(status) ? WEXITSTATUS(status) : EPERM;
	return errno ? -1 : 0;
}

static void check_proc(struct host_check *c)
{
	int r = try_in_child(attempt_proc);
	say(c->what, r == 0 ? "a box can have its own" : "a box cannot have its own: %s",
		strerror(r));
	if (r == 0)
		return;
	c->state = HOST_MISSING;
	say(c->hint,
		is_container() ? "start the container with --security-opt systempaths=unconfined "
				 "(docker) or --security-opt unmask=ALL (podman)"
			       : "something is mounted over parts of /proc: see findmnt -R /proc");
}

static void check_seccomp(struct host_check *c)
{
	char text[256];
	cleanup_fd int fd = open("/proc/sys/kernel/seccomp/actions_avail", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : fd_read_all(fd, text, sizeof text - 1);
	text[MAX(n, 0)] = '\0';
	if (n > 0 && strstr(text, "errno")) {
		say(c->what, "available%s",
			strstr(text, "user_notif") ? ", with user notification" : "");
		return;
	}
	c->state = HOST_MISSING;
	say(c->what, "the kernel has no syscall filter");
	say(c->hint, "a kernel with CONFIG_SECCOMP_FILTER is needed");
}

static void check_landlock(struct host_check *c)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	if (abi >= 6) {
		say(c->what, "ABI %ld: devices, abstract sockets and signals", abi);
		return;
	}
	c->state = HOST_WEAK;
	if (abi > 0)
		say(c->what, "ABI %ld%s", abi, abi >= 5 ? ": devices" : "");
	else
		say(c->what, "not available: %s", strerror(errno));
	say(c->instead, "namespaces and the syscall filter do the same by other means");
	say(c->hint, "Linux 6.12 with lsm=landlock,… gives one more layer");
}

static int attempt_overlay(void)
{
	if (attempt_userns_mount() < 0)
		return -1;
	return mount("overlay", "/tmp", "overlay", MS_RDONLY | MS_NOSUID | MS_NODEV,
		"userxattr,lowerdir=/usr/share:/usr/bin");
}

static void check_images(struct host_check *c)
{
	int r = try_in_child(attempt_overlay);
	if (r == 0) {
		say(c->what, "overlay file systems can be made in a user namespace");
		return;
	}
	c->state = HOST_WEAK;
	say(c->what, "no overlay file system in a user namespace: %s", strerror(r));
	say(c->instead, "boxes have the host's system; images and templates with packages fail");
	say(c->hint, "Linux 5.11 or newer with CONFIG_OVERLAY_FS is needed (modprobe overlay)");
}

static void check_idmap(struct host_check *c)
{
	if (geteuid() != 0) {
		say(c->what, "not needed: boxes run as you");
		return;
	}
	say(c->what,
		"boxes run as unprivileged ids from 0x70000000; files of volumes are mapped where the "
		"file system can");
}

static void check_cgroup(struct host_check *c)
{
	bool is_v2 = access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0;
	bool is_v1 = access("/sys/fs/cgroup/memory", F_OK) == 0;
	say(c->what, "%s",
		is_v2		? "cgroup v2 is mounted"
			: is_v1 ? "cgroup v1 is mounted"
				: "no cgroup file system is mounted");
	if (is_v2 || is_v1)
		return;
	c->state = HOST_WEAK;
	say(c->instead, "the engine measures memory and CPU time itself; rlimit limits processes");
	say(c->hint,
		"mount /sys/fs/cgroup; in a container: --cgroupns=private with a writable mount");
}

static void check_python(struct host_check *c)
{
	static const char *const usual[] = {"/usr/bin/python3", "/usr/local/bin/python3"};
	for (size_t i = 0; i < ARRAY_LEN(usual); i++)
		if (access(usual[i], X_OK) == 0) {
			say(c->what, "%s", usual[i]);
			return;
		}
	c->state = HOST_MISSING;
	say(c->what, "no /usr/bin/python3");
	say(c->hint, "apt install python3, or name one with --python PATH");
}

static const struct {
	const char *name;
	void (*check)(struct host_check *c);
} checks[] = {
	{"kernel", check_kernel},
	{"user namespaces", check_userns},
	{"/proc", check_proc},
	{"syscall filter", check_seccomp},
	{"Landlock", check_landlock},
	{"images", check_images},
	{"ids", check_idmap},
	{"cgroups", check_cgroup},
	{"Python", check_python},
};

size_t host_n_checks(void)
{
	return ARRAY_LEN(checks);
}

void host_check(size_t i, struct host_check *out)
{
	*out = (struct host_check){.name = checks[i].name, .state = HOST_OK};
	checks[i].check(out);
}

const char *host_cgroup_hint(void)
{
	if (access("/sys/fs/cgroup/cgroup.controllers", F_OK) < 0)
		return "a cgroup does it better: on cgroup v1 only root may make one, so start "
		       "retort as root, or boot with systemd.unified_cgroup_hierarchy=1";
	if (is_container())
		return "a writable cgroup does it better: start the container with a cgroup "
		       "namespace and a writable /sys/fs/cgroup";
	if (access("/run/systemd/system", F_OK) < 0)
		return "a writable cgroup does it better: start retort in one that its user owns";
	return "a writable cgroup does it better: systemd-run --user --scope -p Delegate=yes retort …";
}
