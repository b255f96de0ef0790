/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies out of a session. The archive comes from a box, so whoever controls the box wrote it:
 * every name, link and size in it may be an attack on this host. So only one format is read,
 * without compression. Each entry gets a name below the destination that we make of the entry's
 * own, after each component of it was checked. Only files, directories, and links of both kinds are
 * made, and links only if they stay below the copy. libarchive makes them, and refuses to go
 * through any symbolic link on the way (ARCHIVE_EXTRACT_SECURE_SYMLINKS). Owners, set-id bits,
 * attributes and ACLs are not copied. The sizes in the headers are added up before anything is
 * written.
 *
 * Why a symbolic link is safe whose target begins with at most as many ".." as the link has
 * directories of the copy above it, and has no ".." after that: the directories above the link are
 * real ones, so the ".." lead to a directory of the copy; from there the target only goes down,
 * through directories, or through links for which the same holds.
 */
#include "cli/process/cp.h"

#include "base/alloc.h"
#include "base/num.h"
#include "base/libarchive.h"

#include <errno.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ENTRIES_MAX = 1 << 20, BLOCK_BYTES = 256 << 10 };

/* What each entry of the archive is called. */
struct mapping {
	struct cp_path from; /* names in the archive begin with from.name, unless from.is_content */
	char top[CP_NAME_BYTES]; /* its name here; "" if entries are put into the destination itself
				  */
	bool is_file_only; /* a file is in the place of the copy: it can be replaced by a file */
	bool must_be_directory; /* the destination ends with a slash, and is not there */
};

struct taking {
	struct cp *cp;
	struct pump pump;
	struct libarchive lib;
	struct mapping map;
	struct buf block; /* what libarchive has got last */
	struct archive *in, *out;
	uint64_t n_bytes, n_entries;
	char part[CP_NAME_BYTES]; /* what is there of a file that did not come whole, or "" */
};

/* ---- names ---- */

/* Return the next component of *@at, and move *@at behind it. Empty components and "." are skipped.
 */
static const char *next_part(const char **at, size_t *bytes)
{
	const char *part;
	do {
		*at += strspn(*at, "/");
		part = *at;
		*bytes = strcspn(part, "/");
		*at += *bytes;
	} while (*bytes == 1 && part[0] == '.');
	return *bytes > 0 ? part : NULL;
}

static bool is_up(const char *part, size_t bytes)
{
	return bytes == 2 && part[0] == '.' && part[1] == '.';
}

/*
 * Make the name of an entry below the destination. *@depth: how many directories are above it in
 * the copy; -1: it is the copy. Returns: 0; 1 if the entry is the destination itself; or negative
 * errno: the name is absolute, leads up, is too long, or is not of what was asked for.
 */
static int map_name(
	const struct mapping *map, const char *name, char out[CP_NAME_BYTES], int *depth)
{
	const char *at = name, *part, *top = map->top;
	const struct cp_path *from = &map->from;
	size_t bytes, used = 0;
	if (!name || name[0] == '/')
		return -EINVAL;
	*depth = -1;
	if (!from->is_content) {
		part = next_part(&at, &bytes);
		if (!part || bytes != strlen(from->name) || strncmp(part, from->name, bytes) != 0)
			return -EINVAL;
	}
	used = (size_t)snprintf(out, CP_NAME_BYTES, "%s", top);
	while ((part = next_part(&at, &bytes))) {
		if (is_up(part, bytes))
			return -EINVAL;
		if (used + bytes + 2 > CP_NAME_BYTES)
			return -ENAMETOOLONG;
		if (used > 0)
			out[used++] = '/';
		memcpy(out + used, part, bytes);
		used += bytes;
		out[used] = '\0';
		(*depth)++;
	}
	return used == 0;
}

/* Return whether a symbolic link at @depth stays in the copy; see the head of this file. */
static bool is_safe_target(const char *target, int depth)
{
	const char *at = target, *part;
	size_t bytes;
	bool is_down = false;
	if (depth < 0 || !target || !*target || target[0] == '/')
		return false;
	while ((part = next_part(&at, &bytes))) {
		if (!is_up(part, bytes))
			is_down = true;
		else if (is_down || depth-- == 0)
			return false;
	}
	return true;
}

/* ---- reading what tar writes ---- */

static la_ssize_t on_read(struct archive *a, void *arg, const void **data)
{
	struct taking *t = arg;
	struct buf *waiting = &t->pump.out[0].waiting;
	(void)a;
	buf_clear(&t->block);
	while (waiting->bytes == 0 && pump_turn(&t->pump))
		;
	size_t bytes = MIN(waiting->bytes, (size_t)BLOCK_BYTES);
	if (buf_append(&t->block, waiting->data, bytes) < 0)
		bytes = 0;
	buf_consume(waiting, bytes);
	*data = buf_str(&t->block);
	return (la_ssize_t)bytes;
}

static int fail_archive(struct taking *t, struct archive *a, struct err *err)
{
	const char *text = t->lib.error_string(a);
	bool is_ours = a == t->out;
	return err_set(err, is_ours ? ERR_IO : ERR_PROTOCOL, "cp: %s%.200s",
		is_ours ? "" : "what came out of the session is no archive: ", text ? text : "");
}

/* ---- one entry ---- */

static int count(struct taking *t, int64_t bytes, struct err *err)
{
	if (++t->n_entries > ENTRIES_MAX)
		return err_set(err, ERR_LIMIT, "cp: more than %d files", ENTRIES_MAX);
	if (bytes < 0 || (uint64_t)bytes > t->cp->max_bytes - t->n_bytes) {
		(void)err_set(err, ERR_LIMIT, "cp: more than %s",
			num_format_bytes(t->cp->max_bytes).text);
		return err_hint(err, "allow more with --max-size");
	}
	t->n_bytes += (uint64_t)bytes;
	return 0;
}

/* Let a further name of a file lead to what its first name is here. A link to a symbolic link is
 * refused: in another directory, that one would lead elsewhere. */
static bool map_hard_link(struct taking *t, struct archive_entry *entry)
{
	char target[CP_NAME_BYTES];
	struct stat st;
	int ignored;
	if (map_name(&t->map, t->lib.entry_hardlink(entry), target, &ignored) != 0 ||
		lstat(target, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	t->lib.entry_set_hardlink(entry, target);
	t->lib.entry_unset_size(entry); /* the first name has brought the data */
	return true;
}

/* Return whether a device, FIFO or socket is where the entry would be put. It would be replaced. */
static bool is_special(const char *name)
{
	struct stat st;
	return lstat(name, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode) &&
		!S_ISLNK(st.st_mode);
}

/* Return NULL if the entry may be made, or why not. */
static const char *why_not(
	struct taking *t, struct archive_entry *entry, const char *name, int depth)
{
	static const char out[] = "a link that leads out of the copy";
	mode_t type = t->lib.entry_filetype(entry);
	if (is_special(name))
		return "in its place is neither a file nor a directory";
	if (t->lib.entry_hardlink(entry))
		return map_hard_link(t, entry) ? NULL : out;
	if (type == AE_IFLNK)
		return is_safe_target(t->lib.entry_symlink(entry), depth) ? NULL : out;
	return type == AE_IFREG || type == AE_IFDIR ? NULL : "neither a file nor a directory";
}

/* Copy the content of a file, and close it. */
static int write_data(struct taking *t, struct err *err)
{
	const void *data;
	size_t bytes;
	la_int64_t offset;
	int r;
	while ((r = t->lib.read_data_block(t->in, &data, &bytes, &offset)) == ARCHIVE_OK)
		if (t->lib.write_data_block(t->out, data, bytes, offset) < ARCHIVE_OK)
			return fail_archive(t, t->out, err);
	if (r != ARCHIVE_EOF)
		return fail_archive(t, t->in, err);
	return t->lib.write_finish_entry(t->out) < ARCHIVE_WARN ? fail_archive(t, t->out, err) : 0;
}

/* Check that what is copied can be at its place. @type: of the first entry. */
static int check_place(const struct taking *t, mode_t type, struct err *err)
{
	if (t->map.is_file_only && type == AE_IFDIR)
		return err_fail(err, ERR_USAGE, "name a directory, or a name that is free",
			"cp: %.200s is a file, and the source is a directory", t->cp->host_path);
	if (t->map.must_be_directory && type != AE_IFDIR)
		return err_fail(err, ERR_NOT_FOUND, "make it, or leave out the slash at the end",
			"cp: there is no directory %.200s", t->cp->host_path);
	return 0;
}

/* A file gets its name when it is whole, also if we are killed: until then it has another one in
 * the same directory, if that is not too long. */
static void name_part(const char *name, char out[CP_NAME_BYTES])
{
	const char *slash = strrchr(name, '/');
	int bytes = slash ? (int)(slash + 1 - name) : 0;
	int n = snprintf(out, CP_NAME_BYTES, "%.*s" CP_PART, bytes, name, (int)getpid());
	if (n >= CP_NAME_BYTES)
		snprintf(out, CP_NAME_BYTES, "%s", name);
}

static int make_file(struct taking *t, const char *part, const char *name, struct err *err)
{
	int r = write_data(t, err);
	if (r == 0 && rename(part, name) < 0) {
		cp_leave_out(t->cp, name, strerror(errno));
		(void)unlink(part);
	}
	/* Its end is made when the archive is closed. */
	if (r < 0)
		snprintf(t->part, sizeof t->part, "%s", part);
	return r;
}

/* Make what an entry is. Returns: 0, also if it was left out; or negative errno. */
static int make_entry(
	struct taking *t, struct archive_entry *entry, const char *name, struct err *err)
{
	char part[CP_NAME_BYTES];
	bool has_data = t->lib.entry_size(entry) > 0;
	name_part(name, part);
	t->lib.entry_set_pathname(entry, has_data ? part : name);
	int r = t->lib.write_header(t->out, entry);
	if (r >= ARCHIVE_WARN)
		return has_data ? make_file(t, part, name, err) : 0;
	if (r == ARCHIVE_FATAL)
		return fail_archive(t, t->out, err);
	const char *why = t->lib.error_string(t->out);
	cp_leave_out(t->cp, name, why ? why : "it cannot be made");
	return 0;
}

static int take_entry(struct taking *t, struct archive_entry *entry, struct err *err)
{
	char name[CP_NAME_BYTES];
	int depth;
	const char *theirs = t->lib.entry_pathname(entry);
	int where = map_name(&t->map, theirs, name, &depth);
	if (where < 0) {
		(void)err_set(err, ERR_PROTOCOL, "cp: a name leads out of the copy: %.120s",
			theirs ? theirs : "");
		return err_hint(err, "the tar of this box is not to be trusted");
	}
	int r = count(t, t->lib.entry_size(entry), err);
	if (r == 0 && t->n_entries == 1)
		r = check_place(t, t->lib.entry_filetype(entry), err);
	if (r < 0 || where == 1)
		return r;
	const char *why = why_not(t, entry, name, depth);
	if (!why)
		return make_entry(t, entry, name, err);
	cp_leave_out(t->cp, name, why);
	return 0;
}

/* ---- the copy ---- */

static int take_all(struct taking *t, struct err *err)
{
	struct archive_entry *entry;
	int r = 0, said = ARCHIVE_OK;
	while (r == 0 && (said = t->lib.read_next_header(t->in, &entry)) >= ARCHIVE_WARN &&
		said != ARCHIVE_EOF)
		r = take_entry(t, entry, err);
	if (r == 0 && said != ARCHIVE_EOF)
		r = fail_archive(t, t->in, err);
	/* Modes and times of directories are set at the end. */
	if (t->lib.write_close(t->out) < ARCHIVE_WARN && r == 0)
		r = fail_archive(t, t->out, err);
	if (t->part[0])
		(void)unlink(t->part);
	return r;
}

static int open_archives(struct taking *t, struct err *err)
{
	const int how = ARCHIVE_EXTRACT_TIME | ARCHIVE_EXTRACT_SECURE_SYMLINKS |
		ARCHIVE_EXTRACT_SECURE_NODOTDOT | ARCHIVE_EXTRACT_SECURE_NOABSOLUTEPATHS;
	int r = libarchive_load(&t->lib, err);
	if (r < 0)
		return r;
	t->in = t->lib.read_new();
	t->out = t->lib.write_disk_new();
	if (!t->in || !t->out)
		return err_set(err, ERR_NO_MEMORY, "no memory for an archive");
	if (t->lib.read_support_format_tar(t->in) != ARCHIVE_OK ||
		t->lib.write_disk_set_options(t->out, how) != ARCHIVE_OK)
		return fail_archive(t, t->in, err);
	return 0;
}

/* Find out where the copy is to be, and make that the working directory. */
static int find_place(const struct cp *cp, struct mapping *map, struct err *err)
{
	struct cp_path to;
	struct stat st;
	int r = cp_cut(cp->box_path, &map->from, err);
	if (r == 0)
		r = cp_cut(cp->host_path, &to, err);
	if (r < 0)
		return r;
	bool exists = stat(cp->host_path, &st) == 0;
	bool is_directory = exists && S_ISDIR(st.st_mode);
	/* It would be replaced by a file: as root, even /dev/null. */
	if (exists && !is_directory && !S_ISREG(st.st_mode))
		return err_fail(err, ERR_USAGE,
			"choose another name; `retort exec SESSION cat FILE` writes to anything",
			"cp: %.200s is neither a file nor a directory", cp->host_path);
	const char *dir = is_directory ? cp->host_path : to.dir;
	if (is_directory)
		snprintf(map->top, sizeof map->top, "%s",
			map->from.is_content ? "" : map->from.name);
	else
		snprintf(map->top, sizeof map->top, "%s", to.name);
	map->is_file_only = exists && !is_directory;
	map->must_be_directory = !exists && to.has_slash;
	if (!is_directory && to.is_content)
		return err_fail(err, ERR_NOT_FOUND, "make it first",
			"cp: there is no directory %.200s", cp->host_path);
	if (chdir(dir) < 0)
		return err_fail_sys(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_ACCESS, errno,
			"name a directory that is there", "cp: %.200s", dir);
	return 0;
}

static const char *tar_flags(const struct cp *cp)
{
	return cp->is_through_links ? "-chf" : "-cf";
}

static int take(struct taking *t, struct err *err)
{
	char member[CP_NAME_BYTES + 2];
	const char *const argv[] = {
		"tar", tar_flags(t->cp), "-", "-C", t->map.from.dir, member, NULL};
	snprintf(member, sizeof member, "%s%s", t->map.from.is_content ? "" : "./",
		t->map.from.name);
	int r = open_archives(t, err);
	if (r < 0)
		return r;
	cp_start(t->cp, &t->pump, argv, false);
	struct err ended;
	if (t->lib.read_open(t->in, t, NULL, on_read, NULL) < ARCHIVE_WARN)
		r = fail_archive(t, t->in, err);
	if (r == 0)
		r = take_all(t, err);
	/* If the archive is not whole, why tar ended says more. A tar that ended well has said
	 * nothing. */
	int end = cp_finish(t->cp, &t->pump, false, r < 0, &ended);
	if (end < 0)
		*err = ended;
	return end != 0 ? end : r;
}

int cp_out(struct cp *cp, struct err *err)
{
	struct cp_path from;
	int r = cp_cut(cp->box_path, &from, err);
	if (r < 0)
		return r;
	if (strcmp(cp->host_path, "-") == 0) {
		const char *const argv[] = {
			"tar", tar_flags(cp), "-", "-C", from.dir, "--", from.name, NULL};
		return cp_pass(cp, argv, false, err);
	}
	struct taking *t = xnew(struct taking);
	t->cp = cp;
	t->block = BUF_INIT(BLOCK_BYTES);
	r = find_place(cp, &t->map, err);
	if (r == 0)
		r = take(t, err);
	if (t->in)
		(void)t->lib.read_free(t->in);
	if (t->out)
		(void)t->lib.write_free(t->out);
	buf_done(&t->block);
	free(t);
	return r;
}
