/*
 * The first process of a box, from its clone to init.
 *
 * Theory of operation. The child goes through the table `steps`; the first step waits until the id
 * maps are written. If a step fails, the child sends the error to the warden and exits.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "sandbox/warden/inside.h"

#include "base/fd.h"
#include "sandbox/cgroup_file.h"
#include "sandbox/init/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

static int step_wait(struct making *m, struct err *err)
{
	char go;
	(void)prctl(PR_SET_NAME, "retort-box");
	ssize_t n = read(m->sync, &go, 1);
	return n == 1 ? 0 : err_set(err, ERR_GONE, "the warden is gone");
}

static int step_cgroup(struct making *m, struct err *err)
{
	for (int i = 0; m->is_v1 && i < m->n_join_fds; i++)
		if (write(m->join_fds[i], "0", 1) < 0)
			return err_sys(err, ERR_BOX, errno, "enter the cgroup");
	if (unshare(CLONE_NEWCGROUP) < 0)
		return err_sys(err, ERR_BOX, errno, "cgroup namespace");
	return 0;
}

int child_become_user(const struct box_ids *ids, struct err *err)
{
	/* The change of ids must not clear the capabilities, which later steps need. */
	if (prctl(PR_SET_KEEPCAPS, 1) < 0 || setresgid(ids->gid, ids->gid, ids->gid) < 0 ||
		setresuid(ids->uid, ids->uid, ids->uid) < 0 || prctl(PR_SET_KEEPCAPS, 0) < 0)
		return err_sys(err, ERR_BOX, errno, "become the box's user");
	/* Let the kernel kill this process, and so the box, when the warden dies.
	 * PR_SET_PDEATHSIG must be set after the change of ids, because a change of ids clears
	 * the setting. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return err_sys(err, ERR_BOX, errno, "tie the box to the warden");
	return 0;
}

static int step_ids(struct making *m, struct err *err)
{
	return child_become_user(&m->ids, err);
}

static int step_root(struct making *m, struct err *err)
{
	(void)umask(022);
	return root_make(&m->root, err);
}

/*
 * EVENT_BYTES is the memory that one inotify event takes if its name has 255 bytes; an instance may
 * queue many events. WATCH_BYTES is the memory that one watch pins in a file system. Source:
 * inotify(7), max_queued_events; measured as the growth of SUnreclaim.
 */
enum { EVENT_BYTES = 512, WATCH_BYTES = 2048 };

static uint64_t queued_events(int proc_fd)
{
	char text[CGROUP_FILE_BYTES];
	uint64_t n = 16384;
	if (cgroup_file_read(proc_fd, "sys/fs/inotify/max_queued_events", text, sizeof text) > 0)
		(void)cgroup_file_number(text, NULL, &n);
	return MAX(n, UINT64_C(1));
}

/* Write to a file of /proc. Some kernels do not have the file, or
 * not for each namespace: then nothing is limited. */
static int write_sysctl(int proc_fd, const char *path, const char *text)
{
	cleanup_fd int fd = openat(proc_fd, path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || errno == EACCES ? 0 : -errno;
	return fd_write_all(fd, text, strlen(text));
}

/*
 * Limit the inotify instances and watches of a box; `quotas` has a row for each of the two. The
 * kernel counts both for each user, across all namespaces. Without these limits, one box could use
 * up all that its user may have.
 * - If the box can be branched (@is_family), the limits are higher, since what a branch uses also
 *   counts for its parent.
 * - If no cgroup counts the box's memory, the instances may take at most a quarter of the box's
 *   memory limit, and so may the watches.
 * - If the file of a limit does not exist, this kernel has no inotify, and the limit is skipped.
 */
int child_quotas(const struct making *m, bool is_family, int proc_fd, struct err *err)
{
	uint64_t quarter = m->root.limits->value[LIMIT_memory_bytes] / 4;
	const struct {
		const char *path;
		uint64_t box, family, bytes;
	} quotas[] = {
		{"sys/user/max_inotify_instances", 16, 1024, queued_events(proc_fd) * EVENT_BYTES},
		{"sys/user/max_inotify_watches", 4096, 65536, WATCH_BYTES},
	};
	for (size_t i = 0; i < ARRAY_LEN(quotas); i++) {
		char text[32];
		uint64_t n = is_family ? quotas[i].family : quotas[i].box;
		if (m->is_uncounted)
			n = MIN(n, MAX(quarter / quotas[i].bytes, UINT64_C(1)));
		snprintf(text, sizeof text, "%llu", (unsigned long long)n);
		int r = write_sysctl(proc_fd, quotas[i].path, text);
		if (r < 0)
			return err_sys(err, ERR_BOX, -r, "write /proc/%s", quotas[i].path);
	}
	return 0;
}

static int open_proc(struct err *err)
{
	int fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? err_sys(err, ERR_BOX, errno, "open /proc") : fd;
}

static int step_quotas(struct making *m, struct err *err)
{
	cleanup_fd int proc = open_proc(err);
	return proc < 0 ? proc : child_quotas(m, m->is_branchable, proc, err);
}

static int bring_up_loopback(struct err *err)
{
	struct ifreq request = {.ifr_flags = IFF_UP | IFF_RUNNING};
	strcpy(request.ifr_name, "lo");
	cleanup_fd int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (sock < 0 || ioctl(sock, SIOCSIFFLAGS, &request) < 0)
		return err_sys(err, ERR_BOX, errno, "bring up the loopback");
	return 0;
}

/* Bound the memory of TCP buffers, unless cgroup v2 counts it. cgroup v1 has a separate counter for
 * it, which may be missing. */
static int bound_tcp(const struct making *m, int proc_fd, struct err *err)
{
	static const char *const paths[] = {"sys/net/ipv4/tcp_rmem", "sys/net/ipv4/tcp_wmem"};
	static const char sizes[] = "4096 65536 262144";
	for (size_t i = 0; i < ARRAY_LEN(paths) && (m->is_v1 || m->is_uncounted); i++) {
		int r = write_sysctl(proc_fd, paths[i], sizes);
		if (r < 0)
			return err_sys(err, ERR_BOX, -r, "write /proc/%s", paths[i]);
	}
	return 0;
}

/* As root, programs of images expect to have the ports below 1024. */
static int open_ports(const struct making *m, int proc_fd, struct err *err)
{
	const char *path = "sys/net/ipv4/ip_unprivileged_port_start";
	int r = m->root.n_image_fds > 0 && m->ids.uid == 0 ? write_sysctl(proc_fd, path, "0") : 0;
	return r < 0 ? err_sys(err, ERR_BOX, -r, "write /proc/%s", path) : 0;
}

int child_network(const struct making *m, int proc_fd, struct err *err)
{
	int r = bound_tcp(m, proc_fd, err);
	if (r == 0)
		r = open_ports(m, proc_fd, err);
	return r < 0 ? r : bring_up_loopback(err);
}

static int step_network(struct making *m, struct err *err)
{
	cleanup_fd int proc = open_proc(err);
	return proc < 0 ? proc : child_network(m, proc, err);
}

static int step_sysctls(struct making *m, struct err *err)
{
	return m->root.n_image_fds > 0 ? root_seal_sysctls("/proc/sys", err) : 0;
}

static int step_host_name(struct making *m attr_unused, struct err *err)
{
	if (sethostname("retort", 6) < 0)
		return err_sys(err, ERR_BOX, errno, "set the host name");
	return 0;
}

/* Pin a process to neighbouring CPUs among those that it may use. */
int child_pin(pid_t pid, unsigned n_cpus, unsigned slot, struct err *err)
{
	cpu_set_t may, pin;
	unsigned n_may, taken = 0, skipped = 0;
	if (n_cpus == 0)
		return 0;
	if (sched_getaffinity(pid, sizeof may, &may) < 0)
		return err_sys(err, ERR_BOX, errno, "read the CPU affinity");
	n_may = (unsigned)CPU_COUNT(&may);
	CPU_ZERO(&pin);
	for (unsigned cpu = 0; taken < MIN(n_cpus, n_may); cpu = (cpu + 1) % CPU_SETSIZE) {
		if (!CPU_ISSET(cpu, &may) || skipped++ < slot % n_may)
			continue;
		CPU_SET(cpu, &pin);
		taken++;
	}
	if (sched_setaffinity(pid, sizeof pin, &pin) < 0)
		return err_sys(err, ERR_BOX, errno, "pin the box to %u CPUs", n_cpus);
	return 0;
}

static int step_cpus(struct making *m, struct err *err)
{
	return child_pin(0, m->n_cpus, m->slot, err);
}

/*
 * Load the syscall filter of a box that can be branched. Init loads the filter of other boxes.
 *
 * The filter is loaded here because loading it creates the filter's listener. The warden must get
 * the listener, and the box must never have it.
 *
 * The filter forbids changing some resource limits. So init could not set these limits later, and
 * lock_process() sets them here, too. The filter allows what the remaining steps do: handing out
 * descriptors and executing init.
 */
static int step_filter(struct making *m, struct err *err)
{
	if (!m->is_branchable)
		return 0;
	enum filter_variant variant = m->is_uncounted ? FILTER_UNCOUNTED
		: m->n_cpus			      ? FILTER_PINNED
						      : FILTER_DEFAULT;
	struct lock lock = {.filter = variant + filter_user_offset(m->ids.uid, m->has_own_files) +
			FILTER_NOTIFY_OFFSET,
		.listener_fd = &m->listener_fd};
	return lock_process(&lock, err);
}

static int step_hand_out(struct making *m, struct err *err)
{
	/* Only this process can open its user namespace: it does not let other processes look into
	 * it, because its memory is still a copy of the warden's. */
	cleanup_fd int user_ns =
		m->is_branchable ? open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC) : -1;
	if (m->is_branchable && user_ns < 0)
		return err_sys(err, ERR_BOX, errno, "open /proc/self/ns/user");
	const int more[] = {m->listener_fd, user_ns};
	cleanup_fd int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_fd int home = open("/home/user", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_fd int tmp = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct root_seen seen = {.proc = proc,
		.home = home,
		.store = m->root.store_fd >= 0 ? m->root.store_fd : tmp};
	return root_hand_out(m->sync, &seen, more, m->is_branchable ? ARRAY_LEN(more) : 0, err);
}

/* Give up all capabilities. This happens here, since emptying the bounding set needs a capability
 * and init has none after the exec. */
static int step_capabilities(struct making *m attr_unused, struct err *err)
{
	return lock_drop_caps(err);
}

/* Execute init. Does not return on success. */
static int step_init(struct making *m, struct err *err)
{
	static char name[] = "retort-init", pinned[] = "pinned", uncounted[] = "uncounted",
		    branchable[] = "branchable", plain[] = "plain", image[] = "image",
		    own[] = "own";
	bool has_image = m->root.n_image_fds > 0;
	char *const word = m->is_branchable ? branchable
		: m->is_uncounted	    ? uncounted
		: m->n_cpus		    ? pinned
		: has_image		    ? plain
					    : NULL;
	char *const argv[] = {name, word, !has_image ? NULL : m->has_own_files ? own : image, NULL};
	static char *const envp[] = {NULL};
	if (dup3(m->init_sock, WIRE_SOCK_FD, 0) < 0 && m->init_sock != WIRE_SOCK_FD)
		return err_sys(err, ERR_BOX, errno, "hand init its socket");
	if (m->init_sock == WIRE_SOCK_FD)
		(void)fcntl(WIRE_SOCK_FD, F_SETFD, 0);
	(void)execveat(m->host->init_fd, "", argv, envp, AT_EMPTY_PATH);
	return err_sys(err, ERR_BOX, errno, "start init");
}

static const struct {
	const char *name;
	int (*step)(struct making *m, struct err *err);
} steps[] = {
	{"wait for the id maps", step_wait},
	{"cgroup", step_cgroup},
	{"ids", step_ids},
	{"cpus", step_cpus},
	{"root", step_root},
	{"quotas", step_quotas},
	{"network", step_network},
	{"sysctls", step_sysctls},
	{"host name", step_host_name},
	{"capabilities", step_capabilities},
	{"filter", step_filter},
	{"hand out", step_hand_out},
	{"init", step_init},
};

/*
 * Run as the first process of a box.
 * Until it executes init, this process has copies of all descriptors of the warden. First it
 * closes some of the copies: that of the socket to the engine, and those of the warden's
 * ends of the sockets to this process. The processes at the other ends of these sockets must learn
 * when the warden dies. They learn it only if no copy is left open.
 */
attr_noreturn void child_main(struct making *m, struct ends *wardens)
{
	struct err err = {0};
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)close(WIRE_SOCK_FD);
	ends_done(wardens);
	for (size_t i = 0; i < ARRAY_LEN(steps); i++)
		if (steps[i].step(m, &err) < 0)
			break;
	(void)fd_send(m->sync, &err, sizeof err, NULL, 0);
	_exit(1);
}
