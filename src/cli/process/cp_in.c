/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies into a session: libarchive reads files of this host and writes an archive, which a tar in
 * the box unpacks. The box does what it likes with it; on this side, nothing comes back but what
 * tar says on stderr.
 */
#include "cli/process/cp.h"

#include "base/alloc.h"
#include "base/json.h"
#include "cli/process/foreground.h"
#include "base/libarchive.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK_BYTES = 64 << 10 };

struct giving {
	struct cp *cp;
	struct pump pump;
	struct libarchive lib;
	struct cp_path from, to;
	char top[CP_NAME_BYTES]; /* name of the copy in the box; "": files go into the directory
				    itself */
	/* Name of a single file until it is whole; "": the source is a directory. So a copy that is
	 * cut off leaves no half file under its name. */
	char part[CP_PART_BYTES];
	const char *dir; /* directory of the box in which the archive is unpacked */
	size_t n_skip;	 /* bytes at the front of each path that are not part of its name */
	struct archive *in, *out;
	char block[BLOCK_BYTES];
};

/* ---- where the copy goes ---- */

/* Ask the box what there is at a path: "d": a directory; "f": something else; "n": nothing, but its
 * directory is there; "-": not even that. */
static int ask(const struct cp *cp, const struct cp_path *to, char *answer, struct err *err)
{
	static const char script[] =
		"if [ -d \"$1\" ]; then echo d; elif [ -e \"$1\" ]; then echo f; "
		"elif [ -d \"$2\" ]; then echo n; else echo -; fi";
	const char *const argv[] = {"/bin/sh", "-c", script, "sh", cp->box_path, to->dir, NULL};
	struct pump p;
	cp_start((struct cp *)(uintptr_t)cp, &p, argv, false);
	while (pump_turn(&p))
		;
	*answer = p.out[0].waiting.bytes > 0 ? p.out[0].waiting.data[0] : '\0';
	int r = 0;
	if (p.last_signal)
		r = 128 + p.last_signal;
	else if (p.end != PUMP_EXITED) {
		*err = p.err;
		r = -err_errno(err->code);
	}
	pump_close(&p);
	return r;
}

/* The single file is whole: give it its name. Or remove what there is of it. */
static int settle(struct giving *g, bool is_whole, struct err *err)
{
	char part[CP_NAME_BYTES + CP_PART_BYTES], name[2 * CP_NAME_BYTES];
	const char *const move[] = {"mv", "-f", "--", part, name, NULL};
	const char *const remove[] = {"rm", "-f", "--", part, NULL};
	if (!g->part[0])
		return 0;
	snprintf(part, sizeof part, "%s/%s", g->dir, g->part);
	snprintf(name, sizeof name, "%s/%s", g->dir, g->top);
	cp_start(g->cp, &g->pump, is_whole ? move : remove, false);
	return cp_finish(g->cp, &g->pump, false, false, err);
}

/* Speak of the file by its own name. */
static void name_whole(const struct giving *g, struct err *err)
{
	const struct err was = *err;
	const char *at = g->part[0] ? strstr(was.msg, g->part) : NULL;
	if (at)
		snprintf(err->msg, sizeof err->msg, "%.*s%s%s", (int)(at - was.msg), was.msg,
			g->top, at + strlen(g->part));
}

static int find_place(struct giving *g, bool is_directory, struct err *err)
{
	char there = '\0';
	int r = ask(g->cp, &g->to, &there, err);
	if (r != 0)
		return r;
	g->dir = there == 'd' ? g->cp->box_path : g->to.dir;
	const char *name = there != 'd' ? g->to.name : g->from.is_content ? "" : g->from.name;
	snprintf(g->top, sizeof g->top, "%s", name);
	if (!is_directory)
		snprintf(g->part, sizeof g->part, CP_PART, (int)getpid());
	if (there == 'f' && is_directory)
		return err_fail(err, ERR_USAGE, "name a directory, or a name that is free",
			"cp: %.150s in the session is a file, and %.60s a directory",
			g->cp->box_path, g->cp->host_path);
	bool is_missing = there == '-' || (there == 'n' && g->to.has_slash && !is_directory) ||
		(there != 'd' && g->to.is_content);
	if (is_missing)
		return err_fail(err, ERR_NOT_FOUND,
			"make it first: retort exec SESSION mkdir -p DIR",
			"cp: the session has no directory %.150s",
			there == '-' ? g->to.dir : g->cp->box_path);
	return 0;
}

/* ---- the archive ---- */

static la_ssize_t on_write(struct archive *a, void *arg, const void *data, size_t bytes)
{
	struct giving *g = arg;
	if (pump_put(&g->pump, data, bytes))
		return (la_ssize_t)bytes;
	g->lib.set_error(a, EPIPE, "tar in the session takes no more");
	return -1;
}

static int fail_archive(struct giving *g, struct archive *a, struct err *err)
{
	const char *text = g->lib.error_string(a);
	return err_set(err, ERR_IO, "cp: %.200s", text ? text : "the archive cannot be written");
}

/* Copy the content of a file. What was announced and cannot be read becomes zeros: the file is
 * named on stderr. */
static int give_data(struct giving *g, const char *path, struct err *err)
{
	for (;;) {
		la_ssize_t n = g->lib.read_data(g->in, g->block, sizeof g->block);
		if (n < 0) {
			const char *why = g->lib.error_string(g->in);
			cp_leave_out(g->cp, path, why ? why : "it cannot be read");
		}
		if (n <= 0)
			break;
		if (g->lib.write_data(g->out, g->block, (size_t)n) < 0)
			return fail_archive(g, g->out, err);
	}
	return g->lib.write_finish_entry(g->out) < ARCHIVE_WARN ? fail_archive(g, g->out, err) : 0;
}

/* Name an entry as it is to be called in the box. */
static int name_entry(
	struct giving *g, struct archive_entry *entry, const char *path, struct err *err)
{
	char name[CP_NAME_BYTES];
	const char *rest = path + MIN(g->n_skip, strlen(path));
	rest += strspn(rest, "/");
	const char *top = g->part[0] ? g->part : g->top;
	bool has_both = top[0] && *rest;
	int n = snprintf(name, sizeof name, "./%s%s%s", top, has_both ? "/" : "", rest);
	if (n >= (int)sizeof name)
		return err_set(err, ERR_LIMIT, "cp: a path of %d bytes: %.100s", n, path);
	g->lib.entry_set_pathname(entry, name);
	/* The user and the names of this host mean nothing in the box. */
	g->lib.entry_set_uid(entry, 0);
	g->lib.entry_set_gid(entry, 0);
	g->lib.entry_set_uname(entry, "");
	g->lib.entry_set_gname(entry, "");
	return 0;
}

static int give_entry(struct giving *g, struct archive_entry *entry, struct err *err)
{
	char path[CP_NAME_BYTES];
	const char *found = g->lib.entry_pathname(entry);
	mode_t type = g->lib.entry_filetype(entry);
	snprintf(path, sizeof path, "%s", found ? found : "");
	if (type != AE_IFREG && type != AE_IFDIR && type != AE_IFLNK) {
		cp_leave_out(g->cp, path, "neither a file nor a directory");
		return 0;
	}
	int r = name_entry(g, entry, path, err);
	if (r < 0)
		return r;
	r = g->lib.write_header(g->out, entry);
	if (r == ARCHIVE_FATAL)
		return fail_archive(g, g->out, err);
	if (r < ARCHIVE_WARN) {
		const char *why = g->lib.error_string(g->out);
		cp_leave_out(g->cp, path, why ? why : "it does not fit into an archive");
		return 0;
	}
	return type == AE_IFREG ? give_data(g, path, err) : 0;
}

static int give_all(struct giving *g, struct err *err)
{
	struct archive_entry *entry = g->lib.entry_new();
	int r = entry ? 0 : err_set(err, ERR_NO_MEMORY, "no memory for an archive");
	while (r == 0) {
		int said = g->lib.read_next_header2(g->in, entry);
		if (said == ARCHIVE_EOF)
			break;
		if (said == ARCHIVE_FATAL)
			r = fail_archive(g, g->in, err);
		else if (said < ARCHIVE_WARN) {
			const char *name = g->lib.entry_pathname(entry);
			const char *why = g->lib.error_string(g->in);
			cp_leave_out(
				g->cp, name ? name : "a file", why ? why : "it cannot be read");
		} else {
			(void)g->lib.read_disk_descend(g->in);
			r = give_entry(g, entry, err);
		}
	}
	g->lib.entry_free(entry);
	if (r == 0 && g->lib.write_close(g->out) < ARCHIVE_WARN)
		r = fail_archive(g, g->out, err);
	return r;
}

static int open_archives(struct giving *g, struct err *err)
{
	const int how =
		ARCHIVE_READDISK_NO_XATTR | ARCHIVE_READDISK_NO_ACL | ARCHIVE_READDISK_NO_FFLAGS;
	int r = libarchive_load(&g->lib, err);
	if (r < 0)
		return r;
	g->in = g->lib.read_disk_new();
	g->out = g->lib.write_new();
	if (!g->in || !g->out)
		return err_set(err, ERR_NO_MEMORY, "no memory for an archive");
	/* A link that the user names is followed in any case. */
	int links = g->cp->is_through_links ? g->lib.read_disk_set_symlink_logical(g->in)
					    : g->lib.read_disk_set_symlink_hybrid(g->in);
	if (links != ARCHIVE_OK || g->lib.read_disk_set_behavior(g->in, how) != ARCHIVE_OK ||
		g->lib.read_disk_open(g->in, g->cp->host_path) != ARCHIVE_OK)
		return fail_archive(g, g->in, err);
	if (g->lib.write_set_format_gnutar(g->out) != ARCHIVE_OK ||
		g->lib.write_set_bytes_per_block(g->out, BLOCK_BYTES) != ARCHIVE_OK ||
		g->lib.write_set_bytes_in_last_block(g->out, 1) != ARCHIVE_OK)
		return fail_archive(g, g->out, err);
	return 0;
}

static int give(struct giving *g, struct err *err)
{
	const char *const argv[] = {"tar", "-xof", "-", "-C", g->dir, NULL};
	struct err ended, ignored;
	int r = open_archives(g, err);
	if (r < 0)
		return r;
	cp_start(g->cp, &g->pump, argv, true);
	if (g->lib.write_open(g->out, g, NULL, on_write, NULL) < ARCHIVE_WARN)
		r = fail_archive(g, g->out, err);
	if (r == 0)
		r = give_all(g, err);
	int end = cp_finish(g->cp, &g->pump, true, r < 0, &ended);
	if (end < 0)
		*err = ended;
	r = end != 0 ? end : r;
	if (r == 0)
		return settle(g, true, err);
	name_whole(g, err);
	(void)settle(g, false, &ignored);
	return r;
}

/* Look at the source on this host. Returns: 1 for a directory, 0 for a file, or negative errno. */
static int look(struct giving *g, struct err *err)
{
	const char *path = g->cp->host_path;
	struct stat st;
	int r = cp_cut(path, &g->from, err);
	if (r < 0)
		return r;
	if (stat(path, &st) < 0 || access(path, R_OK) < 0)
		return err_fail_sys(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_ACCESS, errno,
			"name a file or directory of this host that you may read", "cp: %.200s",
			path);
	g->n_skip = strlen(path);
	return S_ISDIR(st.st_mode);
}

int cp_in(struct cp *cp, struct err *err)
{
	struct cp_path to;
	int r = cp_cut(cp->box_path, &to, err);
	if (r < 0)
		return r;
	if (strcmp(cp->host_path, "-") == 0) {
		const char *const argv[] = {"tar", "-xof", "-", "-C", cp->box_path, NULL};
		return cp_pass(cp, argv, true, err);
	}
	struct giving *g = xnew(struct giving);
	g->cp = cp;
	g->to = to;
	r = look(g, err);
	if (r >= 0)
		r = find_place(g, r, err);
	if (r == 0)
		r = give(g, err);
	if (g->in)
		(void)g->lib.read_free(g->in);
	if (g->out)
		(void)g->lib.write_free(g->out);
	free(g);
	return r;
}
