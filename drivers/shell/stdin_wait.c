/* SPDX-License-Identifier: Apache-2.0 */
#include "stdin_wait.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum doing { OTHER, READS, WAITS };

/*
 * Return what process @pid is doing: it READS from @pipe, it WAITS for a child, or OTHER. Source:
 * proc_pid_syscall(5).
 */
static enum doing doing_of(const char *pid, const struct stat *pipe)
{
	char path[64], text[64];
	struct stat st;
	unsigned fd;
	snprintf(path, sizeof path, "/proc/%.16s/syscall", pid);
	int at = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = at < 0 ? -1 : read(at, text, sizeof text - 1);
	if (at >= 0)
		(void)close(at);
	text[n > 0 ? n : 0] = '\0';
	if (n <= 0 || !isdigit((unsigned char)text[0])) /* usually "running" */
		return OTHER;
	char *end;
	long number = strtol(text, &end, 10);
	if (number == SYS_wait4)
		return WAITS;
	if (number != SYS_read || sscanf(end, " %x", &fd) != 1)
		return OTHER;
	snprintf(path, sizeof path, "/proc/%.16s/fd/%u", pid, fd);
	bool is_it = stat(path, &st) == 0 && st.st_dev == pipe->st_dev && st.st_ino == pipe->st_ino;
	return is_it ? READS : OTHER;
}

static bool does_any_read(const struct stat *pipe)
{
	DIR *dir = opendir("/proc");
	const struct dirent *entry;
	bool is_found = false;
	while (dir && !is_found && (entry = readdir(dir)))
		is_found = isdigit((unsigned char)entry->d_name[0]) &&
			doing_of(entry->d_name, pipe) == READS;
	if (dir)
		(void)closedir(dir);
	return is_found;
}

bool stdin_is_awaited(pid_t shell, int fd)
{
	char pid[16];
	struct stat pipe;
	int n;
	if (fstat(fd, &pipe) < 0 || !S_ISFIFO(pipe.st_mode) || ioctl(fd, FIONREAD, &n) < 0 || n > 0)
		return false;
	snprintf(pid, sizeof pid, "%d", (int)shell);
	enum doing doing = doing_of(pid, &pipe);
	return doing == READS || (doing == WAITS && does_any_read(&pipe));
}
