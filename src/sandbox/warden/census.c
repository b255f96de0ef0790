/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/warden/census.h"

#include "base/fd.h"
#include "sandbox/proc_list.h"

#include <errno.h>
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

struct census {
	int proc_fd;
	unsigned n; /* how many were killed, or found */
	const struct box *boxes;
	size_t n_boxes;
};

static bool kill_own(void *arg, const struct proc_entry *entry)
{
	struct census *k = arg;
	if (!entry->is_nested && !entry->is_over)
		k->n += kill_entry(k->proc_fd, entry->pid);
	return true;
}

/* List and kill in rounds, since a process may have forked just before it was killed. */
void census_kill_own(int proc_fd)
{
	struct timespec pause = {.tv_nsec = PAUSE_NS};
	for (int i = 0; i < ROUNDS_MAX; i++) {
		struct census k = {.proc_fd = proc_fd};
		(void)proc_list(proc_fd, kill_own, &k); /* kills those that it can read */
		if (k.n == 0)
			break;
		(void)nanosleep(&pause, NULL);
	}
}

static bool is_known(const struct census *k, ino_t user_ns)
{
	for (size_t i = 0; i < k->n_boxes; i++)
		if (k->boxes[i].state != BOX_FREE && k->boxes[i].user_ns == user_ns)
			return true;
	return false;
}

/* Return whether @entry is process 1 of a pid namespace directly below, and belongs to no box. If
 * its user namespace cannot be seen, return @if_unseen. */
static bool is_stray(const struct census *k, const struct proc_entry *entry, bool if_unseen)
{
	char path[32];
	struct stat st;
	if (!entry->is_child_ns || !entry->is_first)
		return false;
	snprintf(path, sizeof path, "%d/ns/user", (int)entry->pid);
	if (fstatat(k->proc_fd, path, &st, 0) < 0)
		return errno != ENOENT && errno != ESRCH && if_unseen;
	return !is_known(k, st.st_ino);
}

static bool kill_stray(void *arg, const struct proc_entry *entry)
{
	struct census *k = arg;
	if (is_stray(k, entry, false))
		(void)kill_entry(k->proc_fd, entry->pid);
	return true;
}

static bool count_stray(void *arg, const struct proc_entry *entry)
{
	struct census *k = arg;
	k->n += !entry->is_over && is_stray(k, entry, true);
	return true;
}

void census_kill_strays(const struct box *box, const struct box *boxes, size_t n)
{
	struct census k = {.proc_fd = box->proc_fd, .boxes = boxes, .n_boxes = n};
	(void)proc_list(box->proc_fd, kill_stray, &k);
}

int census_count_strays(const struct box *box, const struct box *boxes, size_t n)
{
	struct census k = {.proc_fd = box->proc_fd, .boxes = boxes, .n_boxes = n};
	int r = proc_list(box->proc_fd, count_stray, &k);
	return r < 0 ? r : (int)k.n;
}
