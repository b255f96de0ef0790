/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/warden/census.h"

#include "base/fd.h"
#include "sandbox/proc_list.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS_MAX = 64, PAUSE_NS = 200000 };

ino_t census_user_ns(pid_t pid)
{
	char path[64];
	struct stat st;
	snprintf(path, sizeof path, "/proc/%d/ns/user", (int)pid);
	return stat(path, &st) < 0 ? 0 : st.st_ino;
}

/* Kill the process @pid of the /proc at @proc_fd. The pid belongs to another pid namespace than
 * ours, but pidfd_send_signal() takes a directory of /proc in place of a pidfd. */
static bool kill_entry(int proc_fd, pid_t pid)
{
	char name[16];
	snprintf(name, sizeof name, "%d", (int)pid);
	cleanup_fd int fd = openat(proc_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd >= 0 && syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) == 0;
}

struct killing {
	int proc_fd;
	unsigned n;
	const struct box *boxes;
	size_t n_boxes;
};

static bool kill_own(void *arg, const struct proc_entry *entry)
{
	struct killing *k = arg;
	if (!entry->is_nested && !entry->is_over)
		k->n += kill_entry(k->proc_fd, entry->pid);
	return true;
}

/* List and kill in rounds, since a process may have forked just before it was killed. */
void census_kill_own(int proc_fd)
{
	struct timespec pause = {.tv_nsec = PAUSE_NS};
	for (int i = 0; i < ROUNDS_MAX; i++) {
		struct killing k = {.proc_fd = proc_fd};
		if (proc_list(proc_fd, kill_own, &k) < 0 || k.n == 0)
			break;
		(void)nanosleep(&pause, NULL);
	}
}

static bool is_known(const struct killing *k, ino_t user_ns)
{
	for (size_t i = 0; i < k->n_boxes; i++)
		if (k->boxes[i].state != BOX_FREE && k->boxes[i].user_ns == user_ns)
			return true;
	return false;
}

static bool kill_stray(void *arg, const struct proc_entry *entry)
{
	struct killing *k = arg;
	char path[32];
	struct stat st;
	if (!entry->is_child_ns || !entry->is_first)
		return true;
	snprintf(path, sizeof path, "%d/ns/user", (int)entry->pid);
	if (fstatat(k->proc_fd, path, &st, 0) == 0 && !is_known(k, st.st_ino))
		(void)kill_entry(k->proc_fd, entry->pid);
	return true;
}

void census_kill_strays(const struct box *box, const struct box *boxes, size_t n)
{
	struct killing k = {.proc_fd = box->proc_fd, .boxes = boxes, .n_boxes = n};
	(void)proc_list(box->proc_fd, kill_stray, &k);
}
