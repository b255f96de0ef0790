/*
 * Replaces the descriptors that a guard inherits.
 *
 * A guard is a clone of the process P. A cloned descriptor refers to the same open file: offset,
 * flags, locks and the other end of a pipe are shared. So P could disturb its checkpoint, and the
 * checkpoint could keep open what P has closed. The guard therefore replaces each descriptor, under
 * the same number:
 *
 * - a regular file or directory by a new open file at the same offset. An flock() lock then
 *   belongs to P alone and ends when P closes the file; a resumed guard takes the lock again
 *   (locks.c).
 * - an unlinked file in the same way. Its content is also copied to memory, so that a resumed guard
 *   can write it back.
 * - the socketpair within an event loop by a new pair. Only the loop's own wake-up byte is lost.
 * - an epoll instance by a new one that watches the same descriptors.
 * - other pipes and sockets by an end of a closed socketpair. Their state is shared with a peer
 *   that waits for the last holder to close, so a guard cannot keep them.
 * - a duplicate of an earlier descriptor by a duplicate of the earlier one's replacement.
 *
 * This happens in two phases. P lists the descriptors before the clone, while it may allocate
 * memory (handoff_make()); the guard executes the list without allocating (handoff_carry_out()).
 * When a guard is resumed, handoff_put_back() opens by name the files that the engine's rollback
 * has replaced on disk in the meantime.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "handoff.h"

#include "anon_file.h"
#include "shared.h"
#include "sockets.h"
#include "sqlite.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 64, LINE_BYTES = 256 };

static const int kept_flags =
	O_ACCMODE | O_APPEND | O_NONBLOCK | O_DIRECT | O_SYNC | O_DSYNC | O_NOATIME | O_DIRECTORY;

/*
 * Make room in @list for one more element of @bytes. Returns: the list, which may have moved, or
 * NULL with errno.
 */
static void *grow(void *list, int n, int *max, int most, size_t bytes)
{
	int wanted = *max ? 2 * *max : 32;
	void *bigger;

	if (n < *max)
		return list;
	if (n >= most) {
		errno = E2BIG;
		return NULL;
	}
	bigger = realloc(list, (size_t)wanted * bytes);
	if (bigger)
		*max = wanted;
	return bigger;
}

static int add_item(struct handoff *handoff, const struct handoff_item *item)
{
	struct handoff_item *items = grow(handoff->items, handoff->n_items, &handoff->max_items,
		HANDOFF_ITEMS_MAX, sizeof(*items));

	if (!items)
		return -errno;
	handoff->items = items;
	items[handoff->n_items++] = *item;
	return 0;
}

static int add_watch(struct handoff *handoff, const struct handoff_watch *watch)
{
	struct handoff_watch *watches = grow(handoff->watches, handoff->n_watches,
		&handoff->max_watches, HANDOFF_WATCHES_MAX, sizeof(*watches));

	if (!watches)
		return -errno;
	handoff->watches = watches;
	watches[handoff->n_watches++] = *watch;
	return 0;
}

/*
 * Return whether both descriptors refer to the same open file description: a flag that is set
 * through one is then visible through the other.
 */
static int is_same(int a, int b, int flags)
{
	int is_seen;

	if (fcntl(a, F_SETFL, flags ^ O_NONBLOCK) < 0)
		return 0;
	is_seen = fcntl(b, F_GETFL) == (flags ^ O_NONBLOCK);
	(void)fcntl(a, F_SETFL, flags);
	return is_seen;
}

/*
 * Return the path by which @fd can be opened again after a rollback; NULL if the file has no name
 * or the engine does not restore it. The caller frees the path.
 */
static char *name_of(int fd, const struct stat *st)
{
	char link[PATH_BYTES], path[PATH_MAX];
	struct stat named;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n < 0 ? 0 : n] = '\0';
	if (!shared_is_put_back(path, &named) || named.st_ino != st->st_ino ||
		named.st_dev != st->st_dev)
		return NULL;
	return strdup(path);
}

static int list_file(struct handoff *handoff, struct handoff_item *item, const struct stat *st)
{
	int r;

	item->kind = HANDOFF_REOPEN;
	item->is_unlinked = S_ISREG(st->st_mode) && st->st_nlink == 0;
	item->bytes = st->st_size;
	item->offset = lseek(item->fd, 0, SEEK_CUR);
	item->dev = st->st_dev;
	item->ino = st->st_ino;
	for (int i = 0; i < handoff->n_items; i++) {
		const struct handoff_item *other = &handoff->items[i];

		if (other->kind != HANDOFF_REOPEN || other->ino != item->ino ||
			other->dev != item->dev)
			continue;
		/* An earlier descriptor of the same file already saves the content. */
		item->is_unlinked = false;
		if (other->flags != item->flags || other->offset != item->offset ||
			!is_same(item->fd, other->fd, item->flags))
			continue;
		item->kind = HANDOFF_AGAIN;
		item->same = other->fd;
		break;
	}
	if (item->kind == HANDOFF_REOPEN) {
		locks_find(&handoff->locks, item->fd);
		item->path = st->st_nlink > 0 ? name_of(item->fd, st) : NULL;
	}
	r = add_item(handoff, item);
	if (r < 0)
		free(item->path);
	return r;
}

static int is_epoll(int fd)
{
	static const char name[] = "anon_inode:[eventpoll]";
	char path[PATH_BYTES], target[sizeof(name) + 1];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, target, sizeof(target));
	return n == sizeof(name) - 1 && memcmp(target, name, sizeof(name) - 1) == 0;
}

static int list_epoll(struct handoff *handoff, struct handoff_item *item)
{
	char path[PATH_BYTES], line[LINE_BYTES];
	FILE *info;
	int r;

	item->kind = HANDOFF_EPOLL;
	r = add_item(handoff, item);
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", item->fd);
	info = r < 0 ? NULL : fopen(path, "re");
	if (!info)
		return r < 0 ? r : -errno;
	while (r == 0 && fgets(line, sizeof(line), info)) {
		struct handoff_watch watch = {.epoll_fd = item->fd};
		unsigned int events;
		unsigned long long data;

		if (sscanf(line, "tfd: %d events: %x data: %llx", &watch.fd, &events, &data) != 3)
			continue;
		watch.events = events;
		watch.data = data;
		r = add_watch(handoff, &watch);
	}
	(void)fclose(info);
	return r;
}

/* Return the other end of @fd if it belongs to an event loop's socketpair, otherwise -1. */
static int other_end(const struct handoff_order *order, int fd)
{
	for (int i = 0; i + 1 < order->n_pairs; i += 2) {
		if (order->pairs[i] == fd)
			return order->pairs[i + 1];
		if (order->pairs[i + 1] == fd)
			return order->pairs[i];
	}
	return -1;
}

/* Return whether the file with status @st is the driver's stdout or stderr. */
static int is_stream(const struct handoff_order *order, const struct stat *st)
{
	const int streams[] = {order->out, order->err};

	for (int i = 0; i < 2; i++) {
		struct stat own;

		if (fstat(streams[i], &own) == 0 && own.st_dev == st->st_dev &&
			own.st_ino == st->st_ino)
			return 1;
	}
	return 0;
}

static int list_fd(struct handoff *handoff, const struct handoff_order *order, int fd)
{
	struct handoff_item item = {.fd = fd, .same = -1};
	struct stat st;

	if (fd == 0 || fd == order->channel || fd == order->guard || fd == order->out ||
		fd == order->err)
		return 0;
	item.flags = fcntl(fd, F_GETFL);
	item.fd_flags = fcntl(fd, F_GETFD);
	if (item.flags < 0 || (item.flags & O_PATH) || fstat(fd, &st) < 0)
		return 0;
	if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
		return list_file(handoff, &item, &st);
	if ((S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)) && !is_stream(order, &st)) {
		item.same = other_end(order, fd);
		item.kind = item.same >= 0 && S_ISSOCK(st.st_mode) ? HANDOFF_PAIR : HANDOFF_DEAD;
		if (item.kind == HANDOFF_DEAD && !sockets_is_over(fd, &st))
			*(S_ISSOCK(st.st_mode) ? &handoff->n_sockets : &handoff->n_pipes) += 1;
		return add_item(handoff, &item);
	}
	return (st.st_mode & S_IFMT) == 0 && is_epoll(fd) ? list_epoll(handoff, &item) : 0;
}

static void list_streams(struct handoff *handoff, const struct handoff_order *order)
{
	const int fds[HANDOFF_STREAMS] = {0, 1, 2, order->out, order->err};

	for (int i = 0; i < HANDOFF_STREAMS; i++)
		handoff->streams[i] =
			(struct handoff_stream){.fd = fds[i], .flags = fcntl(fds[i], F_GETFL)};
}

int handoff_make(struct handoff *handoff, const struct handoff_order *order)
{
	char path[PATH_MAX];
	DIR *dir = opendir("/proc/self/fd");
	int r = dir ? 0 : -errno;

	list_streams(handoff, order);
	handoff->directory = getcwd(path, sizeof(path)) && path[0] == '/' ? strdup(path) : NULL;
	while (r == 0) {
		const struct dirent *entry = readdir(dir);

		if (!entry)
			break;
		if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(dir))
			r = list_fd(handoff, order, atoi(entry->d_name));
	}
	if (dir)
		(void)closedir(dir);
	return r;
}

void handoff_done(struct handoff *handoff)
{
	for (int i = 0; i < handoff->n_items; i++)
		free(handoff->items[i].path);
	free(handoff->items);
	free(handoff->watches);
	free(handoff->directory);
	locks_done(&handoff->locks);
	*handoff = (struct handoff){0};
}

/* Replace the item's descriptor by a duplicate of @fd. Returns: 0, or 1 on failure. */
static int put(const struct handoff_item *item, int fd)
{
	return dup3(fd, item->fd, item->fd_flags & FD_CLOEXEC ? O_CLOEXEC : 0) < 0;
}

static int reopen(const struct handoff_item *item, const char *path)
{
	int flags = (item->flags & kept_flags) | O_CLOEXEC | O_NOCTTY;
	int fd, r;

	if ((flags & O_ACCMODE) != O_RDONLY)
		/* A file from O_TMPFILE reports O_DIRECTORY too, with which open() would fail. */
		flags &= ~O_DIRECTORY;
	fd = open(path, flags);
	if (fd < 0)
		return 1;
	r = item->offset > 0 && lseek(fd, item->offset, SEEK_SET) < 0;
	r |= put(item, fd);
	(void)close(fd);
	return r;
}

/*
 * Create a new socketpair for @item and for its other end. If the other end comes first in the
 * list, do nothing: both ends were created then.
 */
static int renew_pair(const struct handoff *handoff, const struct handoff_item *item)
{
	const struct handoff_item *other = NULL;
	int fds[2], r;

	for (int i = 0; i < handoff->n_items; i++)
		if (handoff->items[i].fd == item->same)
			other = &handoff->items[i];
	if (!other || other->kind != HANDOFF_PAIR)
		return 1;
	if (other < item)
		return 0;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return 1;
	(void)fcntl(fds[0], F_SETFL, item->flags);
	(void)fcntl(fds[1], F_SETFL, other->flags);
	r = put(item, fds[0]) | put(other, fds[1]);
	(void)close(fds[0]);
	(void)close(fds[1]);
	return r;
}

static int renew_epoll(const struct handoff *handoff, const struct handoff_item *item)
{
	int fd = epoll_create1(EPOLL_CLOEXEC);
	int r = fd < 0 || put(item, fd);

	if (fd >= 0)
		(void)close(fd);
	for (int i = 0; i < handoff->n_watches && r == 0; i++) {
		const struct handoff_watch *watch = &handoff->watches[i];
		struct epoll_event event = {.events = watch->events, .data.u64 = watch->data};

		if (watch->epoll_fd == item->fd)
			(void)epoll_ctl(item->fd, EPOLL_CTL_ADD, watch->fd, &event);
	}
	return r;
}

/*
 * Create an end of a socketpair whose other end is closed: reading from it gives end-of-file, and
 * writing gives EPIPE. Returns: a file descriptor, or -1.
 */
static int dead_socket(void)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return -1;
	(void)close(fds[1]);
	return fds[0];
}

static void keep_file(struct handoff_item *item)
{
	item->kept = item->bytes > 0 ? anon_file_save(item->fd, item->bytes) : NULL;
	item->is_kept = item->kept || item->bytes == 0;
	if (!item->is_kept)
		shared_leave_out((uint64_t)item->bytes);
}

static int carry_out(const struct handoff *handoff, struct handoff_item *item, int dead)
{
	char path[PATH_BYTES];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", item->fd);
	switch (item->kind) {
	case HANDOFF_REOPEN:
		if (item->is_unlinked && shared_take_room((uint64_t)item->bytes))
			keep_file(item);
		return reopen(item, path);
	case HANDOFF_AGAIN:
		return put(item, item->same);
	case HANDOFF_PAIR:
		return renew_pair(handoff, item);
	case HANDOFF_DEAD:
		if (put(item, dead))
			(void)close(item->fd);
		return 1;
	case HANDOFF_EPOLL:
		return 0;
	}
	return 0;
}

/*
 * Map the new inode numbers of files to the old ones for SQLite. It identifies an open database by
 * its inode number, and would otherwise believe that the database was deleted.
 */
static void tell_sqlite(const struct handoff *handoff)
{
	for (int i = 0; i < handoff->n_items; i++) {
		const struct handoff_item *item = &handoff->items[i];
		struct stat was = {.st_dev = item->dev, .st_ino = item->ino}, now;

		if (item->path && fstat(item->fd, &now) == 0)
			sqlite_renumber(&was, &now);
	}
	sqlite_settle();
}

/*
 * If the item's name now belongs to another file, open that file under the same descriptor.
 * Returns: 1 if the descriptor stays open on a file that has lost its name, otherwise 0.
 */
static unsigned is_astray(struct handoff_item *item, mode_t kind)
{
	struct stat st;

	if (lstat(item->path, &st) < 0)
		return errno == ENOENT || errno == ENOTDIR;
	if (st.st_dev == item->dev && st.st_ino == item->ino)
		return 0;
	item->is_renewed = (st.st_mode & S_IFMT) == kind && reopen(item, item->path) == 0;
	return !item->is_renewed;
}

static unsigned go_home(const struct handoff *handoff)
{
	struct stat st;

	if (!handoff->directory || chdir(handoff->directory) == 0)
		return 0;
	return stat(".", &st) == 0 && st.st_nlink == 0;
}

static unsigned renew_all(struct handoff *handoff)
{
	unsigned n_astray = go_home(handoff);
	int n_renewed = 0;

	for (int i = 0; i < handoff->n_items; i++) {
		struct handoff_item *item = &handoff->items[i];
		struct stat st;

		if (item->path && fstat(item->fd, &st) == 0)
			n_astray += is_astray(item, st.st_mode & S_IFMT);
		n_renewed += item->is_renewed;
	}
	for (int i = 0; i < handoff->n_items && n_renewed > 0; i++)
		if (handoff->items[i].kind == HANDOFF_AGAIN)
			(void)put(&handoff->items[i], handoff->items[i].same);
	if (n_renewed > 0 && sqlite_is_loaded())
		tell_sqlite(handoff);
	return n_astray;
}

void handoff_put_back(struct handoff *handoff)
{
	for (int i = 0; i < HANDOFF_STREAMS; i++)
		if (handoff->streams[i].flags >= 0)
			(void)fcntl(handoff->streams[i].fd, F_SETFL, handoff->streams[i].flags);
	for (int i = 0; i < handoff->n_items; i++) {
		const struct handoff_item *item = &handoff->items[i];

		if (!item->is_kept)
			continue;
		(void)anon_file_restore(item->fd, item->kept, item->bytes);
		if (item->kept)
			(void)munmap(item->kept, (size_t)item->bytes);
	}
	handoff->n_astray = renew_all(handoff);
	handoff->n_locks = locks_take(&handoff->locks);
}

int handoff_carry_out(struct handoff *handoff)
{
	int dead = handoff->n_items > 0 ? dead_socket() : -1;
	int lost = 0;

	for (int i = 0; i < handoff->n_items; i++)
		lost += carry_out(handoff, &handoff->items[i], dead);
	for (int i = 0; i < handoff->n_items; i++)
		if (handoff->items[i].kind == HANDOFF_EPOLL)
			lost += renew_epoll(handoff, &handoff->items[i]);
	if (dead >= 0)
		(void)close(dead);
	return lost;
}
