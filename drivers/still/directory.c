/*
 * Replacements for readdir() and its relatives that return entries sorted by name, byte by byte.
 * The kernel's own order varies between runs: it depends on hashes, on the disk, or on the order of
 * creation. Our DIR has a layout of its own, so every libc function that takes a DIR is replaced
 * here.
 *
 * A directory is sorted in windows of at most WINDOW_BYTES. If it does not fit in one window, it is
 * read once for each window. On each reading, the window keeps the smallest names that are greater
 * than the last name returned (@floor). A full window drops its greater half to make room. So
 * memory is bounded, and the time grows with the number of entries times the number of windows.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "still.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WINDOW_BYTES = 4 << 20, READ_BYTES = 32 << 10 };

_Static_assert(sizeof(struct dirent) == sizeof(struct dirent64), "one form of entries");

struct directory {
	int fd;
	pthread_mutex_t lock;
	bool is_read, has_more; /* has_more: there are names greater than those in this window */
	long first; /* index, in the whole sorted directory, of this window's first entry */
	/* @n is the number of entries in the window, @at the index of the entry to return next */
	size_t n, at;
	/* the window holds only names greater than this one; "" in the first window */
	char floor[256];
	char *records; /* the window's entries, as struct dirent64 */
	size_t bytes, room_bytes;
	uint32_t *order; /* offsets into @records, sorted by name */
	size_t n_room;
	struct dirent64 shown;
};

static struct dirent64 *entry_at(const struct directory *d, size_t i)
{
	return (struct dirent64 *)(void *)(d->records + d->order[i]);
}

static int compare(const void *a, const void *b, void *records)
{
	const struct dirent64 *x = (void *)((char *)records + *(const uint32_t *)a);
	const struct dirent64 *y = (void *)((char *)records + *(const uint32_t *)b);
	return strcmp(x->d_name, y->d_name);
}

static void sort(struct directory *d)
{
	if (d->n > 1)
		qsort_r(d->order, d->n, sizeof *d->order, compare, d->records);
}

/* Make room for one more entry of @bytes. Returns: 1; 0 when the window is full; or -ENOMEM. */
static int make_room(struct directory *d, size_t bytes)
{
	if (d->bytes + bytes > WINDOW_BYTES)
		return 0;
	if (d->bytes + bytes > d->room_bytes) {
		size_t room = d->room_bytes ? d->room_bytes * 2 : 4096;
		char *records = realloc(d->records, room);
		if (!records)
			return -ENOMEM;
		d->records = records;
		d->room_bytes = room;
	}
	if (d->n == d->n_room) {
		size_t room = d->n_room ? d->n_room * 2 : 128;
		uint32_t *order = realloc(d->order, room * sizeof *order);
		if (!order)
			return -ENOMEM;
		d->order = order;
		d->n_room = room;
	}
	return 1;
}

/* Drop the greater half of the names in a full window. A later window will hold them. */
static int halve(struct directory *d)
{
	char *records = malloc(d->room_bytes);
	if (!records)
		return -ENOMEM;
	sort(d);
	d->n /= 2;
	d->bytes = 0;
	for (size_t i = 0; i < d->n; i++) {
		const struct dirent64 *entry = entry_at(d, i);
		memcpy(records + d->bytes, entry, entry->d_reclen);
		d->order[i] = (uint32_t)d->bytes;
		d->bytes += entry->d_reclen;
	}
	free(d->records);
	d->records = records;
	d->has_more = true;
	return 0;
}

static int add(struct directory *d, const struct dirent64 *entry, char ceiling[256])
{
	if (d->floor[0] && strcmp(entry->d_name, d->floor) <= 0)
		return 0;
	int r = ceiling[0] ? 1 : make_room(d, entry->d_reclen);
	if (ceiling[0] && strcmp(entry->d_name, ceiling) > 0)
		return 0;
	r = r == 1 ? make_room(d, entry->d_reclen) : r;
	if (r == 0) {
		r = halve(d);
		if (r < 0)
			return r;
		strcpy(ceiling, entry_at(d, d->n - 1)->d_name);
		return add(d, entry, ceiling);
	}
	if (r < 0)
		return r;
	memcpy(d->records + d->bytes, entry, entry->d_reclen);
	d->order[d->n++] = (uint32_t)d->bytes;
	d->bytes += entry->d_reclen;
	return 0;
}

/* Fill the window with the smallest names greater than @floor. Returns: 0, or a negative errno. */
static int load(struct directory *d)
{
	_Alignas(struct dirent64) char chunk[READ_BYTES];
	char ceiling[256] = "";
	ssize_t n = lseek(d->fd, 0, SEEK_SET) < 0 ? -1 : 0;
	int r = n < 0 ? -errno : 0;
	d->n = d->at = d->bytes = 0;
	d->has_more = false;
	d->is_read = true;
	while (r == 0 && (n = getdents64(d->fd, chunk, sizeof chunk)) > 0)
		for (ssize_t at = 0; r == 0 && at < n;) {
			const struct dirent64 *entry = (void *)(chunk + at);
			r = add(d, entry, ceiling);
			at += entry->d_reclen;
		}
	/*
	 * The kernel answers ENOENT for a directory that was removed. libc shows such a directory
	 * as empty, and so does this function.
	 */
	if (r == 0 && n < 0 && errno != ENOENT)
		r = -errno;
	sort(d);
	return r;
}

static int load_next(struct directory *d)
{
	strcpy(d->floor, entry_at(d, d->n - 1)->d_name);
	d->first += (long)d->n;
	return load(d);
}

static void rewind_to_start(struct directory *d)
{
	d->is_read = false;
	d->floor[0] = '\0';
	d->first = 0;
	d->n = d->at = 0;
}

/*
 * Return the next entry, or NULL at the end of the directory or on failure. *@error is an error
 * number, 0 if there was no failure.
 */
static const struct dirent64 *next(struct directory *d, int *error)
{
	int r = d->is_read ? 0 : load(d);
	if (r == 0 && d->at == d->n && d->n > 0 && d->has_more)
		r = load_next(d);
	*error = -r;
	return r == 0 && d->at < d->n ? entry_at(d, d->at++) : NULL;
}

static void copy(const struct directory *d, const struct dirent64 *entry, struct dirent64 *out)
{
	memcpy(out, entry, offsetof(struct dirent64, d_name) + strlen(entry->d_name) + 1);
	out->d_off = d->first + (long)d->at;
}

/* ---- opening and closing ---- */

static DIR *open_fd(int fd)
{
	struct directory *d = calloc(1, sizeof *d);
	if (!d)
		return NULL;
	d->fd = fd;
	(void)pthread_mutex_init(&d->lock, NULL);
	return (DIR *)(void *)d;
}

static DIR *open_at(int base, const char *path)
{
	int fd = openat(base, path, O_RDONLY | O_NONBLOCK | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : open_fd(fd);
	if (fd >= 0 && !dir)
		(void)close(fd);
	return dir;
}

STAND_IN DIR *opendir(const char *path)
{
	return still_has_seed() ? open_at(AT_FDCWD, path) : REAL(opendir)(path);
}

STAND_IN DIR *fdopendir(int fd)
{
	struct stat st;
	if (!still_has_seed())
		return REAL(fdopendir)(fd);
	int flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fstat(fd, &st) < 0)
		return NULL;
	if (!S_ISDIR(st.st_mode) || (flags & O_PATH)) {
		errno = flags & O_PATH ? EBADF : ENOTDIR;
		return NULL;
	}
	return open_fd(fd);
}

STAND_IN int closedir(DIR *dir)
{
	struct directory *d = (void *)dir;
	if (!still_has_seed())
		return REAL(closedir)(dir);
	if (!d) {
		errno = EINVAL;
		return -1;
	}
	int fd = d->fd;
	(void)pthread_mutex_destroy(&d->lock);
	free(d->records);
	free(d->order);
	free(d);
	return close(fd);
}

STAND_IN int dirfd(DIR *dir)
{
	return still_has_seed() ? ((struct directory *)(void *)dir)->fd : REAL(dirfd)(dir);
}

/* ---- reading ---- */

STAND_IN struct dirent64 *readdir64(DIR *dir)
{
	struct directory *d = (void *)dir;
	int error;
	if (!still_has_seed())
		return REAL(readdir64)(dir);
	(void)pthread_mutex_lock(&d->lock);
	const struct dirent64 *entry = next(d, &error);
	if (entry)
		copy(d, entry, &d->shown);
	(void)pthread_mutex_unlock(&d->lock);
	if (error)
		errno = error;
	return entry ? &d->shown : NULL;
}

STAND_IN struct dirent *readdir(DIR *dir)
{
	return still_has_seed() ? (struct dirent *)(void *)readdir64(dir) : REAL(readdir)(dir);
}

STAND_IN int readdir64_r(DIR *dir, struct dirent64 *out, struct dirent64 **result)
{
	struct directory *d = (void *)dir;
	int error;
	if (!still_has_seed())
		return REAL(readdir64_r)(dir, out, result);
	(void)pthread_mutex_lock(&d->lock);
	const struct dirent64 *entry = next(d, &error);
	if (entry)
		copy(d, entry, out);
	(void)pthread_mutex_unlock(&d->lock);
	*result = entry ? out : NULL;
	return error;
}

STAND_IN int readdir_r(DIR *dir, struct dirent *out, struct dirent **result)
{
	return still_has_seed() ? readdir64_r(dir, (struct dirent64 *)(void *)out,
					  (struct dirent64 **)(void *)result)
				: REAL(readdir_r)(dir, out, result);
}

/* ---- positions ---- */

STAND_IN void rewinddir(DIR *dir)
{
	struct directory *d = (void *)dir;
	if (!still_has_seed()) {
		REAL(rewinddir)(dir);
		return;
	}
	(void)pthread_mutex_lock(&d->lock);
	rewind_to_start(d);
	(void)pthread_mutex_unlock(&d->lock);
}

STAND_IN long telldir(DIR *dir)
{
	const struct directory *d = (void *)dir;
	return still_has_seed() ? d->first + (long)d->at : REAL(telldir)(dir);
}

STAND_IN void seekdir(DIR *dir, long place)
{
	struct directory *d = (void *)dir;
	if (!still_has_seed()) {
		REAL(seekdir)(dir, place);
		return;
	}
	(void)pthread_mutex_lock(&d->lock);
	if (place < d->first)
		rewind_to_start(d);
	int r = d->is_read ? 0 : load(d);
	while (r == 0 && d->n > 0 && d->has_more && place > d->first + (long)d->n)
		r = load_next(d);
	size_t at = place > d->first ? (size_t)(place - d->first) : 0;
	d->at = at < d->n ? at : d->n;
	(void)pthread_mutex_unlock(&d->lock);
}

/* ---- scandir: libc's own does not call readdir(), so it is replaced too ---- */

typedef int filter_fn(const struct dirent64 *entry);
typedef int order_fn(const struct dirent64 **a, const struct dirent64 **b);

static int free_list(struct dirent64 **list, size_t n)
{
	int saved = errno;
	while (n > 0)
		free(list[--n]);
	free(list);
	errno = saved;
	return -1;
}

static int append(struct dirent64 ***list, size_t n, const struct dirent64 *entry)
{
	size_t bytes = offsetof(struct dirent64, d_name) + strlen(entry->d_name) + 1;
	if ((n & (n - 1)) == 0) { /* the list is full: double its size */
		struct dirent64 **more = realloc(*list, (n ? n * 2 : 1) * sizeof **list);
		if (!more)
			return -1;
		*list = more;
	}
	(*list)[n] = malloc(bytes);
	if (!(*list)[n])
		return -1;
	memcpy((*list)[n], entry, bytes);
	return 0;
}

static int scan(
	int base, const char *path, struct dirent64 ***out, filter_fn *filter, order_fn *order)
{
	struct dirent64 **list = NULL, *entry;
	DIR *dir = open_at(base, path);
	size_t n = 0;
	int r = dir ? 0 : -1, saved = errno;
	while (r == 0 && (errno = 0, entry = readdir64(dir)))
		if (!filter || filter(entry))
			n += (r = append(&list, n, entry)) == 0;
	if (dir) {
		int error = errno;
		(void)closedir(dir);
		r = error ? -1 : r;
		errno = error ? error : saved;
	}
	if (r < 0)
		return free_list(list, n);
	if (order && n > 1)
		qsort(list, n, sizeof(struct dirent64 *), (__compar_fn_t)order);
	*out = list ? list : malloc(1);
	return (int)n;
}

STAND_IN int scandirat64(
	int base, const char *path, struct dirent64 ***out, filter_fn *filter, order_fn *order)
{
	return still_has_seed() ? scan(base, path, out, filter, order)
				: REAL(scandirat64)(base, path, out, filter, order);
}

STAND_IN int scandir64(const char *path, struct dirent64 ***out, filter_fn *filter, order_fn *order)
{
	return scandirat64(AT_FDCWD, path, out, filter, order);
}

typedef int filter_short_fn(const struct dirent *entry);
typedef int order_short_fn(const struct dirent **a, const struct dirent **b);

STAND_IN int scandirat(int base, const char *path, struct dirent ***out, filter_short_fn *filter,
	order_short_fn *order)
{
	return scandirat64(base, path, (struct dirent64 ***)(void *)out, (filter_fn *)filter,
		(order_fn *)order);
}

STAND_IN int scandir(
	const char *path, struct dirent ***out, filter_short_fn *filter, order_short_fn *order)
{
	return scandirat(AT_FDCWD, path, out, filter, order);
}
