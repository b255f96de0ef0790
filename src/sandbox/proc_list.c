/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/proc_list.h"

#include "sandbox/cgroup_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { PID_MAX = 4194304, FLAG_EXITING = 0x4 };

bool proc_nspid(const char *status, unsigned *n, uint64_t *last)
{
	const char *at = strstr(status, "\nNSpid:");
	*n = 0;
	if (!at)
		return false;
	at += strlen("\nNSpid:");
	for (at += strspn(at, " \t"); *at >= '0' && *at <= '9'; at += strspn(at, " \t")) {
		if (cgroup_file_number(at, NULL, last) < 0)
			return false;
		(*n)++;
		at += strspn(at, "0123456789");
	}
	return *n > 0;
}

/*
 * Parse the text of /proc/PID/stat: the process's name, then state, ppid, …, rss. The name
 * may contain any characters, even ')', so it ends at the last ')'.
 * Also set out->is_over, which means that all threads of the process have ended or are ending. The
 * file shows the state and flags of the first thread only. The first thread may have ended long
 * before the other threads, and is then shown as a zombie. So is_over is set only if exactly one
 * thread is left. If the kernel cannot count the threads, it reports 0 threads, and is_over is
 * false.
 */
static bool parse_stat(struct proc_entry *out, const char *text)
{
	enum {
		FIELD_STATE,
		FIELD_PPID,
		FIELD_FLAGS = 6,
		FIELD_UTIME = 11,
		FIELD_CSTIME = 14,
		FIELD_THREADS = 17,
		FIELD_START = 19,
		FIELD_RSS = 21
	};
	const char *at = strrchr(text, ')');
	uint64_t value, flags = 0, n_threads = 0;
	const char *name = strchr(text, '(');
	if (!at || !name)
		return false;
	snprintf(out->name, sizeof out->name, "%.*s", (int)(at - name - 1), name + 1);
	at++;
	for (int field = 0; field <= FIELD_RSS; field++) {
		at += strspn(at, " ");
		if (!*at)
			return false;
		if (field == FIELD_STATE)
			out->state = *at;
		if (field == FIELD_PPID && cgroup_file_number(at, NULL, &value) == 0)
			out->ppid = (pid_t)value;
		if (field == FIELD_FLAGS)
			(void)cgroup_file_number(at, NULL, &flags);
		if (field == FIELD_THREADS)
			(void)cgroup_file_number(at, NULL, &n_threads);
		if (field >= FIELD_UTIME && field <= FIELD_CSTIME &&
			cgroup_file_number(at, NULL, &value) == 0)
			out->cpu_ticks += value;
		if (field == FIELD_RSS)
			(void)cgroup_file_number(at, NULL, &out->rss_pages);
		if (field == FIELD_START && cgroup_file_number(at, NULL, &out->start_ticks) < 0)
			return false;
		at += strcspn(at, " ");
	}
	out->is_over = n_threads == 1 && (out->state == 'Z' || (flags & FLAG_EXITING));
	return true;
}

static int read_text(int proc_fd, pid_t pid, const char *file, char text[CGROUP_LINE_BYTES])
{
	char path[64];
	int r = cgroup_file_path(path, sizeof path, "%d/%s", (int)pid, file);
	ssize_t n = r < 0 ? r : cgroup_file_read(proc_fd, path, text, CGROUP_LINE_BYTES);
	return n < 0 ? (int)n : n == 0 ? -ESRCH : 0;
}

int proc_entry_read(struct proc_entry *out, int proc_fd, pid_t pid)
{
	char text[CGROUP_LINE_BYTES];
	struct proc_entry entry = {.pid = pid};
	unsigned n_levels = 0;
	uint64_t last = 0;
	int r = read_text(proc_fd, pid, "stat", text);
	if (r < 0)
		return r;
	if (!parse_stat(&entry, text))
		return -ESRCH;
	r = read_text(proc_fd, pid, "status", text);
	if (r < 0)
		return r;
	if (!proc_nspid(text, &n_levels, &last))
		return -ESRCH;
	entry.is_nested = n_levels > 1;
	entry.is_child_ns = n_levels == 2;
	entry.is_first = last == 1;
	*out = entry;
	return 0;
}

struct listing {
	int proc_fd;
	proc_visit_fn *visit;
	void *arg;
	int error;   /* the first error of reading a process that has not ended, or 0 */
	int n_ended; /* how many had ended when they were read */
};

static bool visit_name(void *arg, const char *name)
{
	struct listing *l = arg;
	struct proc_entry entry;
	uint64_t pid;
	if (!*name || name[strspn(name, "0123456789")] != '\0' ||
		cgroup_file_number(name, NULL, &pid) < 0 || pid <= 1 || pid > PID_MAX)
		return true;
	int r = proc_entry_read(&entry, l->proc_fd, (pid_t)pid);
	if (r < 0) {
		bool has_ended = r == -ESRCH || r == -ENOENT;
		l->n_ended += has_ended;
		if (!has_ended && l->error == 0)
			l->error = r;
		return true;
	}
	l->n_ended += entry.is_over;
	return l->visit(l->arg, &entry);
}

int proc_list(int proc_fd, proc_visit_fn *visit, void *arg)
{
	struct listing l = {.proc_fd = proc_fd, .visit = visit, .arg = arg};
	int r = cgroup_file_each(proc_fd, ".", visit_name, &l);
	return r < 0 ? r : l.error < 0 ? l.error : l.n_ended;
}

bool proc_is_deserted(const struct proc_reading *now, const struct proc_reading *last)
{
	if (now->n > 0 || now->before != now->after)
		return false;
	return !now->has_ended || (last->n == 0 && last->before == now->after);
}
