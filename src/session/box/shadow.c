/*
 * Saves the files of a workspace, and finds the actions that restore them.
 *
 * A shadow is a list of files (workspace.h) with the bytes of the small ones. Two shadows share the
 * bytes of a file that has the same inode, size and time of change in both. A file can change twice
 * within one tick of the kernel's clock. So if a file was read within RACY_NS of its last change,
 * its bytes are not shared, and the next shadow reads it again.
 *
 * shadow_diff() compares a shadow with the present files and emits actions in an order that works.
 * Removals come first, from the end of the sorted list, so that directories are empty when they are
 * removed. Then missing and changed files are restored, from the start of the list, so that their
 * directories exist. If a file has several names, its bytes are restored before other names are
 * linked to it. Modes of directories come last, since a mode may forbid writing into the directory.
 *
 * Renames are handled earlier, by shadow_diff_moved(). It recognizes a renamed file by inode, size
 * and time, and gives it its old name back. This restores the name of a large file, whose bytes are
 * not saved, and programs that have the file open keep it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "session/box/shadow.h"

#include "base/fd.h"
#include "sandbox/syscalls.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* If a file is read within this time after its last change, a further change may fall into the
 * same tick of the clock and leave the file's time as it is. */
enum { RACY_NS = 20 * 1000 * 1000 };

struct blob {
	unsigned n_refs;
	bool is_racy;
	size_t bytes;
	char data[];
};

struct shadow {
	unsigned n_refs;
	struct workspace files;
	struct blob **blobs; /* saved bytes of each file, or NULL if they are not saved */
	size_t n_due;	     /* number of files whose bytes shadow_read() still has to read */
};

static void blob_let_go(struct blob *b)
{
	if (b && --b->n_refs == 0)
		free(b);
}

struct shadow *shadow_hold(struct shadow *s)
{
	s->n_refs++;
	return s;
}

void shadow_let_go(struct shadow *s)
{
	if (!s || --s->n_refs > 0)
		return;
	for (size_t i = 0; s->blobs && i < s->files.n_files; i++)
		blob_let_go(s->blobs[i]);
	free(s->blobs);
	workspace_done(&s->files);
	free(s);
}

const struct workspace *shadow_files(const struct shadow *s)
{
	return &s->files;
}

static int64_t now_ns(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/*
 * Return whether the file can change while its times stay the same. SQLite writes the index of its
 * write-ahead log through a shared mapping, which does not change the times of a file in a tmpfs.
 * If the index were not restored, it would describe another log.
 */
static bool is_written_unseen(const char *path)
{
	static const char ending[] = "-shm";
	size_t n = strlen(path), n_ending = sizeof ending - 1;
	return n > n_ending && strcmp(path + n - n_ending, ending) == 0;
}

/* Read the bytes of @f. Returns: NULL if the file cannot be read or no longer has the size in
 * the list. */
static struct blob *read_blob(int fd, const struct workspace_file *f)
{
	size_t room = f->kind == WORKSPACE_LINK ? PATH_MAX : (size_t)f->size_bytes + 1;
	struct blob *b = malloc(sizeof *b + room);
	ssize_t n = -1;
	if (b && f->kind == WORKSPACE_LINK) {
		n = readlinkat(fd, f->path, b->data, room);
	} else if (b) {
		cleanup_fd int file =
			sys_open_below(fd, f->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		n = file < 0 ? -1 : fd_read_all(file, b->data, room);
	}
	if (n < 0 || (f->kind == WORKSPACE_FILE && (uint64_t)n != f->size_bytes)) {
		free(b);
		return NULL;
	}
	b->n_refs = 1;
	b->bytes = (size_t)n;
	b->is_racy = f->changed_ns > now_ns() - RACY_NS || is_written_unseen(f->path);
	return b;
}

static bool is_same(const struct workspace_file *a, const struct workspace_file *b)
{
	return a->ino == b->ino && a->changed_ns == b->changed_ns &&
		a->size_bytes == b->size_bytes && a->kind == b->kind;
}

/* Marks a file in `blobs` whose bytes shadow_read() still has to read. */
static struct blob due;

static struct blob *known_blob(
	const struct shadow *prev, size_t *at_prev, const struct workspace_file *f)
{
	while (prev && *at_prev < prev->files.n_files &&
		strcmp(prev->files.files[*at_prev].path, f->path) < 0)
		(*at_prev)++;
	bool is_known = prev && *at_prev < prev->files.n_files &&
		strcmp(prev->files.files[*at_prev].path, f->path) == 0 &&
		is_same(&prev->files.files[*at_prev], f);
	struct blob *b = is_known ? prev->blobs[*at_prev] : NULL;
	return b && !b->is_racy ? b : NULL;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(
		((const struct workspace_file *)a)->path, ((const struct workspace_file *)b)->path);
}

bool shadow_has_bytes(const struct shadow *s, const struct workspace_file *f, int fd)
{
	const struct workspace_file *files = s->files.files, *then;
	then = s->files.n_files > 0 ? bsearch(f, files, s->files.n_files, sizeof *files, by_path)
				    : NULL;
	const struct blob *was = then && f->kind == WORKSPACE_FILE ? s->blobs[then - files] : NULL;
	if (!was || was->bytes != f->size_bytes)
		return false;
	struct blob *is = read_blob(fd, f);
	bool is_same = is && memcmp(is->data, was->data, was->bytes) == 0;
	free(is);
	return is_same;
}

/*
 * Decide about the bytes of file @i: share the bytes that @prev has if the file is unchanged, else
 * have shadow_read() read them. Returns: how much of @room the bytes take; 0 if they are not saved.
 */
static size_t plan_blob(
	struct shadow *s, size_t i, const struct shadow *prev, size_t *at_prev, size_t room)
{
	const struct workspace_file *f = &s->files.files[i];
	struct blob *known = known_blob(prev, at_prev, f);
	if (f->kind != WORKSPACE_FILE && f->kind != WORKSPACE_LINK)
		return 0;
	if (f->kind == WORKSPACE_FILE &&
		(f->size_bytes > SHADOW_FILE_BYTES || f->size_bytes > room))
		return 0;
	if (known)
		known->n_refs++;
	else
		s->n_due++;
	s->blobs[i] = known ? known : &due;
	return MIN((size_t)f->size_bytes, room);
}

int shadow_begin(
	struct shadow **out, struct workspace *files, const struct shadow *prev, struct err *err)
{
	struct shadow *s = calloc(1, sizeof *s);
	size_t n = files->n_files, at_prev = 0, room = SHADOW_TOTAL_BYTES;
	struct blob **blobs = n > 0 ? calloc(n, sizeof(struct blob *)) : NULL;
	if (!s || (n > 0 && !blobs)) {
		free(s);
		free(blobs);
		return err_set(err, ERR_NO_MEMORY, "no memory for the workspace's files");
	}
	*s = (struct shadow){.n_refs = 1, .files = *files, .blobs = blobs};
	*files = (struct workspace){0};
	for (size_t i = 0; i < n; i++)
		room -= plan_blob(s, i, prev, &at_prev, room);
	*out = s;
	return 0;
}

size_t shadow_count_due(const struct shadow *s)
{
	return s->n_due;
}

void shadow_read(struct shadow *s, int fd)
{
	for (size_t i = 0; s->n_due > 0 && i < s->files.n_files; i++)
		if (s->blobs[i] == &due) {
			s->blobs[i] = read_blob(fd, &s->files.files[i]);
			s->n_due--;
		}
}

/*
 * Return whether the saved bytes of @then may be written into @now, the present file of the same
 * name. This keeps the inode, so programs that have the file open see the restored bytes. It is not
 * allowed in two cases:
 *
 * - The inode differs, so @now may be another file.
 * - The file got a second name since. Writing would change it under that name, too.
 */
static bool is_own(const struct workspace_file *now, const struct workspace_file *then)
{
	return now && now->kind == then->kind && now->ino == then->ino &&
		(!now->is_linked || then->is_linked);
}

static void lose(const char *path, shadow_action_fn *fn, void *arg)
{
	fn(arg, &(struct shadow_action){.act = SHADOW_LOST, .path = path});
}

/* Return whether the file has a set-user-ID or set-group-ID bit. Writing to the file clears the
 * bit, and neither a program of the box nor init may set it again. */
static bool has_special_mode(const struct workspace_file *f)
{
	return f->mode & (S_ISUID | S_ISGID);
}

/* Emit the action that restores the saved file @i of @then. @is is the present file of that
 * name, or NULL. */
static void restore(const struct shadow *then, size_t i, const struct workspace_file *is,
	shadow_action_fn *fn, void *arg)
{
	const struct workspace_file *f = &then->files.files[i];
	const struct blob *b = then->blobs[i];
	struct shadow_action a = {.path = f->path, .mode = f->mode};
	a.modified = f->kind == WORKSPACE_DIR ? NULL : &f->modified;
	a.is_dir = f->kind == WORKSPACE_DIR;
	a.act = a.is_dir		    ? SHADOW_MAKE
		: !b			    ? SHADOW_LOST
		: f->kind == WORKSPACE_LINK ? SHADOW_LINK
		: is_own(is, f)		    ? SHADOW_WRITE
					    : SHADOW_ANEW;
	a.data = b ? b->data : NULL;
	a.bytes = b ? b->bytes : 0;
	fn(arg, &a);
	if (f->kind == WORKSPACE_FILE && b && has_special_mode(f))
		lose(f->path, fn, arg);
}

static void remove_one(const struct workspace_file *f, shadow_action_fn *fn, void *arg)
{
	const struct shadow_action a = {
		.act = SHADOW_REMOVE, .path = f->path, .is_dir = f->kind == WORKSPACE_DIR};
	if (f->kind != WORKSPACE_MOUNT)
		fn(arg, &a);
}

static const struct workspace_file *find(const struct workspace *w, const char *path)
{
	size_t low = 0, high = w->n_files;
	while (low < high) {
		size_t middle = (low + high) / 2;
		int order = strcmp(w->files[middle].path, path);
		if (order == 0)
			return &w->files[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static bool must_go(const struct workspace_file *now, const struct workspace_file *then)
{
	return !then || now->kind != then->kind || now->kind == WORKSPACE_LINK;
}

void shadow_diff_mode(
	const struct workspace *then, const struct workspace *now, shadow_action_fn *fn, void *arg)
{
	if (then->mode && then->mode != now->mode)
		fn(arg,
			&(struct shadow_action){.act = SHADOW_MODE,
				.path = ".",
				.is_dir = true,
				.mode = then->mode & 07777});
}

/*
 * Emit the action that restores the mode or the time of the saved file @f.
 * @is: the present file with the name of @f. NULL if there is no such file. Also NULL if its kind
 * differs from the kind of @f, for example if a directory has replaced a FIFO.
 */
static void restore_mode(const struct workspace_file *f, const struct workspace_file *is,
	shadow_action_fn *fn, void *arg)
{
	bool is_dir = f->kind == WORKSPACE_DIR;
	/* Set the mode again if the saved mode does not give the directory's owner full access. In
	 * such a directory, init may have added access for the owner, so that it could restore
	 * files there. The list of present files was made before that, so @is does not show it. */
	bool is_closed = is_dir && (f->mode & 0700) != 0700;
	struct shadow_action a = {
		.path = f->path, .is_dir = is_dir, .mode = f->mode, .modified = &f->modified};
	if (!is && !is_dir)
		return;
	a.act = SHADOW_MODE;
	if (!is || is->mode != f->mode || is_closed)
		fn(arg, &a);
	else if (is_dir && is->changed_ns != f->changed_ns)
		a.act = SHADOW_TIME, fn(arg, &a);
	if (has_special_mode(f) && (!is || is->mode != f->mode))
		lose(f->path, fn, arg);
}

/* Restore modes from the end of the list, subdirectories first: the restored mode of a directory
 * may deny access to its subdirectories. */
static void restore_modes(
	const struct shadow *then, const struct workspace *now, shadow_action_fn *fn, void *arg)
{
	for (size_t i = then->files.n_files; i-- > 0;) {
		const struct workspace_file *f = &then->files.files[i];
		const struct workspace_file *is = find(now, f->path);
		if (f->kind == WORKSPACE_DIR || f->kind == WORKSPACE_OTHER)
			restore_mode(f, is && is->kind == f->kind ? is : NULL, fn, arg);
	}
	shadow_diff_mode(&then->files, now, fn, arg);
	if ((then->files.mode & (S_ISUID | S_ISGID)) && then->files.mode != now->mode)
		lose(".", fn, arg);
}

void shadow_diff_new(
	const struct workspace *then, const struct workspace *now, shadow_action_fn *fn, void *arg)
{
	for (size_t i = now->n_files; i-- > 0;)
		if (!find(then, now->files[i].path))
			remove_one(&now->files[i], fn, arg);
}

/* A list of files, sorted by inode and then by path. */
struct inodes {
	const struct workspace_file **files;
	size_t n;
};

static int by_inode(const void *a, const void *b)
{
	const struct workspace_file *one = *(const struct workspace_file *const *)a;
	const struct workspace_file *two = *(const struct workspace_file *const *)b;
	return one->ino != two->ino ? (one->ino > two->ino) - (one->ino < two->ino)
				    : (one > two) - (one < two);
}

/* Sort all files of @w by inode, or only those that have several names (@is_linked). If memory
 * is exhausted, the result is empty. */
static struct inodes sort_inodes(const struct workspace *w, bool is_linked)
{
	struct inodes s = {0};
	for (size_t i = 0; i < w->n_files; i++)
		s.n += !is_linked || w->files[i].is_linked;
	s.files = s.n > 0 ? calloc(s.n, sizeof *s.files) : NULL;
	s.n = 0;
	for (size_t i = 0; s.files && i < w->n_files; i++)
		if (!is_linked || w->files[i].is_linked)
			s.files[s.n++] = &w->files[i];
	if (s.files)
		qsort(s.files, s.n, sizeof *s.files, by_inode);
	return s;
}

/* Return the index of the first file with @ino, or the index at which it would be inserted. */
static size_t find_inode(const struct inodes *s, uint64_t ino)
{
	size_t low = 0, high = s->n;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (s->files[middle]->ino < ino)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct moving {
	const struct workspace *then, *now;
	struct inodes sorted; /* present files, sorted by inode */
	bool *is_taken; /* for each present file, whether its name is already part of a move */
};

static bool *taken(const struct moving *m, const struct workspace_file *now)
{
	return &m->is_taken[now - m->now->files];
}

/* Return whether the present file @now is the saved file @then, perhaps under another name.
 * Equal inode numbers are not enough, because a new file may get the inode number of a removed
 * file. */
static bool is_that(const struct workspace_file *now, const struct workspace_file *then)
{
	return now->ino == then->ino && now->kind == then->kind &&
		(then->kind == WORKSPACE_DIR ||
			(now->size_bytes == then->size_bytes &&
				now->modified.tv_sec == then->modified.tv_sec &&
				now->modified.tv_nsec == then->modified.tv_nsec));
}

/*
 * Return whether the present file @now got its present name after the saved list was made. Only
 * such a file may be renamed back to an old name. If the file already had its present name in the
 * saved list, the file must keep that name.
 * If the saved list is not complete and lacks the name, the answer is not known, and the result is
 * false.
 */
static bool is_astray(const struct moving *m, const struct workspace_file *now)
{
	const struct workspace_file *old = find(m->then, now->path);
	return old ? old->ino != now->ino : !m->then->is_cut;
}

/* If the saved file @then was renamed, find it among the present files by its inode. Returns:
 * the present file, which is the saved file under its new name. NULL if no such file is
 * found, for example because the saved file was removed or its content has changed. */
static const struct workspace_file *find_moved(
	const struct moving *m, const struct workspace_file *then)
{
	for (size_t i = find_inode(&m->sorted, then->ino); i < m->sorted.n; i++) {
		const struct workspace_file *now = m->sorted.files[i];
		if (now->ino != then->ino)
			break;
		if (is_that(now, then) && is_astray(m, now) && !*taken(m, now))
			return now;
	}
	return NULL;
}

static bool is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);
	return strncmp(path, dir, n) == 0 && path[n] == '/';
}

/*
 * Return whether a renamed file can get back its old name, which is the name of the saved file
 * @then. @is: the present file that has this name now, or NULL.
 *
 * - If @is is NULL, no file has the name, so the result is true.
 * - If @is has the same inode as @then, the file has its old name already: false.
 * - If @is has another inode, the two files can exchange their names: true. There are two
 *   exceptions: @is is a mount point, or its name is already part of another rename.
 */
static bool makes_way(
	const struct moving *m, const struct workspace_file *is, const struct workspace_file *then)
{
	return !is || (is->ino != then->ino && is->kind != WORKSPACE_MOUNT && !*taken(m, is));
}

static void move_all(const struct moving *m, shadow_action_fn *fn, void *arg)
{
	/* The last directory that was moved. The files below this directory moved with it. */
	const struct workspace_file *dir = NULL;
	for (size_t i = 0; i < m->then->n_files; i++) {
		const struct workspace_file *then = &m->then->files[i], *from = NULL;
		const struct workspace_file *is = find(m->now, then->path);
		if (then->kind != WORKSPACE_MOUNT && makes_way(m, is, then) &&
			!(dir && is_below(then->path, dir->path)))
			from = find_moved(m, then);
		if (!from)
			continue;
		*taken(m, from) = true;
		if (is)
			*taken(m, is) = true;
		if (then->kind == WORKSPACE_DIR)
			dir = then;
		fn(arg,
			&(struct shadow_action){.act = SHADOW_MOVE,
				.path = then->path,
				.is_dir = then->kind == WORKSPACE_DIR,
				.data = from->path,
				.bytes = strlen(from->path)});
	}
}

void shadow_diff_moved(
	const struct workspace *then, const struct workspace *now, shadow_action_fn *fn, void *arg)
{
	size_t n = now->n_files;
	struct moving m = {.then = then, .now = now, .sorted = sort_inodes(now, false)};
	m.is_taken = n ? calloc(n, sizeof *m.is_taken) : NULL;
	if (m.is_taken)
		move_all(&m, fn, arg);
	free(m.sorted.files);
	free(m.is_taken);
}

/*
 * The saved file @f has several names, all with the same inode. The name @f->path will be restored
 * as a hard link to another of these names. Choose that other name. @linked lists all saved files
 * with several names, so it has all names of @f.
 *
 * - If a present file with one of these names still has the inode of @f, choose this name.
 * - Otherwise choose the first of these names in @linked, because it is restored before the others.
 *
 * Returns: the saved file with the chosen name. If it is @f itself, no link is needed.
 */
static const struct workspace_file *same_file(
	const struct inodes *linked, const struct workspace *now, const struct workspace_file *f)
{
	size_t first = find_inode(linked, f->ino);
	for (size_t i = first; i < linked->n && linked->files[i]->ino == f->ino; i++) {
		const struct workspace_file *is = find(now, linked->files[i]->path);
		if (is && is->ino == f->ino && is->kind == f->kind)
			return linked->files[i];
	}
	return first < linked->n ? linked->files[first] : f;
}

/*
 * If the saved file @f has several names, emit the action that makes @f->path a hard link to
 * another of these names.
 * An earlier action has already written the saved bytes to @f->path. So the content of the file is
 * right even if the hard link cannot be made.
 */
static void restore_name(const struct inodes *linked, const struct workspace *now,
	const struct workspace_file *f, shadow_action_fn *fn, void *arg)
{
	const struct workspace_file *is = find(now, f->path), *other;
	if (!f->is_linked || f->kind != WORKSPACE_FILE || is_own(is, f))
		return;
	other = same_file(linked, now, f);
	if (other != f)
		fn(arg,
			&(struct shadow_action){.act = SHADOW_NAME,
				.path = f->path,
				.data = other->path,
				.bytes = strlen(other->path)});
}

void shadow_diff(
	const struct shadow *then, const struct workspace *now, shadow_action_fn *fn, void *arg)
{
	/*
	 * The list is sorted, so a directory comes before the files in it. Remove from the end of
	 * the list, so that the files are removed before their directory. Restore from the start,
	 * so that a directory is made before its files.
	 */
	for (size_t i = now->n_files; i-- > 0;) {
		const struct workspace_file *f = &now->files[i];
		const struct workspace_file *old = find(&then->files, f->path);
		/* A saved list that is not complete (is_cut) may lack files that existed when it
		 * was made. So a present file that the list lacks is not known to be new. Do not
		 * remove such a file. */
		bool is_unknown = !old && then->files.is_cut;
		if (must_go(f, old) && !is_unknown && !(old && is_same(f, old)))
			remove_one(f, fn, arg);
	}
	struct inodes linked = sort_inodes(&then->files, true);
	for (size_t i = 0; i < then->files.n_files; i++) {
		const struct workspace_file *f = &then->files.files[i];
		const struct workspace_file *is = find(now, f->path);
		bool is_unsure = then->blobs[i] && is_written_unseen(f->path);
		bool is_there = is && is->kind == f->kind &&
			(f->kind == WORKSPACE_DIR || (is_same(is, f) && !is_unsure));
		/* For a FIFO, compare only the kind. Its times are not compared, because every
		 * use of a FIFO changes them. */
		if (f->kind == WORKSPACE_OTHER)
			is_there = is && is->kind == f->kind;
		if (!is_there && f->kind != WORKSPACE_MOUNT)
			restore(then, i, is, fn, arg);
		if (!is_there && then->blobs[i])
			restore_name(&linked, now, f, fn, arg);
	}
	free(linked.files);
	restore_modes(then, now, fn, arg);
}
