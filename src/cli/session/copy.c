/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/session/copy.h"

#include "base/base64.h"
#include "base/utf8.h"
#include "cli/host/outdir.h"
#include "cli/host/program.h"
#include "cli/session/session.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	COPY_MAX_BYTES = 1 << 30,
	/* Size of the first read of a file. Its response shows whether the file was copied
	 * already under another name. */
	FIRST_BYTES = 64 << 10,
	CHUNK_BYTES = 8 << 20,
	PUT_MAX_BYTES = 40 << 20,
	/* Limit on the total size of files that are copied again under a further name, because
	 * no link could be made. */
	AGAIN_MAX_BYTES = 1 << 30,
	INODE_BYTES = 48
};

struct copied {
	char inode[INODE_BYTES];
	struct outdir_file file;
	char *path;
};

/* The state of a copy of many files. A file with several names is copied once, and a link is
 * made for each further name. */
struct copying {
	const struct copy_from *from;
	int out_fd;
	uint64_t again_bytes;
	struct copied *copied;
	size_t n_copied, room;
};

/* A file that is being read, with what the last response said about it. */
struct reading {
	const char *path;
	json_int_t size, at;
	/* Identifies a file that has several names; "": it has one name. */
	char inode[INODE_BYTES];
};

/* Append the content that the result of file.read contains. Returns: the number of bytes, or
 * negative errno. */
static ssize_t take_content(const json_t *result, struct buf *out, struct err *err)
{
	const json_t *content = json_object_get(result, "content");
	size_t before = out->bytes;
	const char *text = json_string_value(content);
	size_t bytes = json_string_length(content);
	if (!text)
		return err_set(err, ERR_PROTOCOL, "the engine sent no content");
	int r = strcmp(session_text(result, "encoding"), "base64") == 0
		? base64_read(out, text, bytes, err)
		: buf_append(out, text, bytes);
	if (r < 0)
		return err_set(err, ERR_LIMIT, "a file over %zu MiB", out->max_bytes >> 20);
	return (ssize_t)(out->bytes - before);
}

/* Read the next part of a file. Returns: 1 if more parts follow; 0 at the end; or negative
 * errno. */
static int read_part(const struct copy_from *from, struct reading *reading, int limit,
	struct buf *out, struct err *err)
{
	json_t *result = NULL;
	json_t *params = json_pack("{s:s, s:s, s:I, s:i}", "session", from->session, "path",
		reading->path, "offset", reading->at, "limit", limit);
	int r = from->call(from->arg, "file.read", params, &result, err);
	ssize_t n = r < 0 ? r : take_content(result, out, err);
	reading->size = json_integer_value(json_object_get(result, "size"));
	snprintf(reading->inode, sizeof reading->inode, "%s", session_text(result, "inode"));
	json_decref(result);
	if (n < 0)
		return (int)n;
	reading->at += n;
	return n > 0 && reading->at < reading->size;
}

static int read_rest(
	const struct copy_from *from, struct reading *reading, struct buf *out, struct err *err)
{
	int r;
	while ((r = read_part(from, reading, CHUNK_BYTES, out, err)) > 0)
		;
	return r;
}

int copy_read(const struct copy_from *from, const char *path, struct buf *out, struct err *err)
{
	struct reading reading = {.path = path};
	return read_rest(from, &reading, out, err);
}

static const struct copied *find_copied(const struct copying *c, const char *inode)
{
	for (size_t i = 0; inode[0] && i < c->n_copied; i++)
		if (strcmp(c->copied[i].inode, inode) == 0)
			return &c->copied[i];
	return NULL;
}

/* Remember a copied file. If memory is short, each further name becomes a copy instead of a
 * link. */
static void note_copied(struct copying *c, const struct reading *of, const struct outdir_file *file)
{
	if (c->n_copied == c->room) {
		size_t room = c->room ? c->room * 2 : 16;
		struct copied *copied = realloc(c->copied, room * sizeof *copied);
		if (!copied)
			return;
		c->copied = copied;
		c->room = room;
	}
	struct copied *to = &c->copied[c->n_copied];
	*to = (struct copied){.file = *file, .path = strdup(of->path)};
	memcpy(to->inode, of->inode, sizeof to->inode);
	c->n_copied += to->path != NULL;
}

static int count_again(struct copying *c, const struct reading *reading, struct err *err)
{
	if ((uint64_t)reading->size > AGAIN_MAX_BYTES - c->again_bytes)
		return err_fail(err, ERR_LIMIT,
			"choose a directory on a file system that has hard links",
			"copy %s out: copies of hard-linked files are over %d MiB", reading->path,
			AGAIN_MAX_BYTES >> 20);
	c->again_bytes += (uint64_t)reading->size;
	return 0;
}

static int copy_file(struct copying *c, const char *path, struct err *err)
{
	cleanup_buf struct buf data = BUF_INIT(COPY_MAX_BYTES);
	struct reading reading = {.path = path};
	struct outdir_file file;
	int r = read_part(c->from, &reading, FIRST_BYTES, &data, err);
	if (r < 0)
		return r;
	const struct copied *first = find_copied(c, reading.inode);
	if (first && outdir_link(c->out_fd, first->path, &first->file, path) == 0)
		return 0;
	if (first && count_again(c, &reading, err) < 0)
		return -err_errno(ERR_LIMIT);
	if (r > 0)
		r = read_rest(c->from, &reading, &data, err);
	if (r == 0)
		r = outdir_put(c->out_fd, path, buf_str(&data), data.bytes, &file, err);
	if (r == 0 && !first && reading.inode[0])
		note_copied(c, &reading, &file);
	return r;
}

static void copying_done(struct copying *c)
{
	for (size_t i = 0; i < c->n_copied; i++)
		free(c->copied[i].path);
	free(c->copied);
}

int copy_one(const struct copy_from *from, const char *path, int out_fd, struct err *err)
{
	struct copying c = {.from = from, .out_fd = out_fd};
	int r = copy_file(&c, path, err);
	copying_done(&c);
	return r;
}

static int copy_rows(const struct copy_from *from, const json_t *rows, int out_fd, struct err *err)
{
	struct copying c = {.from = from, .out_fd = out_fd};
	struct err later;
	int first = 0;
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);
		if (strcmp(session_text(row, "change"), "deleted") == 0)
			continue;
		int r = copy_file(&c, session_text(row, "path"), first < 0 ? &later : err);
		first = first < 0 ? first : r;
	}
	copying_done(&c);
	return first;
}

int copy_changed(const struct copy_from *from, const json_t *record, int out_fd, struct err *err)
{
	return copy_rows(from, json_object_get(record, "files"), out_fd, err);
}

int copy_all(const struct copy_from *from, int out_fd, struct err *err)
{
	json_t *list = NULL;
	json_t *params = json_pack("{s:s}", "session", from->session);
	int r = from->call(from->arg, "file.list", params, &list, err);
	if (r == 0)
		r = copy_rows(from, json_object_get(list, "files"), out_fd, err);
	if (r == 0)
		r = json_is_true(json_object_get(list, "truncated"));
	json_decref(list);
	return r;
}

int copy_put(const struct copy_from *from, const char *file, const char *path, struct err *err)
{
	cleanup_buf struct buf data = BUF_INIT(PUT_MAX_BYTES);
	cleanup_buf struct buf text = BUF_INIT(PUT_MAX_BYTES * 2);
	const char *slash = strrchr(file, '/');
	const char *name = path ? path : slash ? slash + 1 : file;
	json_t *result = NULL;
	if (!utf8_is_valid(name, strlen(name)))
		return err_set(err, ERR_USAGE, "the name %.100s is not UTF-8", name);
	int r = program_read(file, &data, err);
	if (r < 0 && err->code == ERR_LIMIT)
		return err_set(err, ERR_LIMIT, "%s is over %d MiB", file, PUT_MAX_BYTES >> 20);
	if (r < 0 && (err->code == ERR_NOT_FOUND || err->code == ERR_USAGE))
		return err_hint(err, "name a file of this host");
	if (r == 0 && base64_write(&text, buf_str(&data), data.bytes) < 0)
		r = err_set(err, ERR_NO_MEMORY, "no memory for %s", file);
	if (r < 0)
		return r;
	json_t *params = json_pack("{s:s, s:s, s:s, s:s}", "session", from->session, "path", name,
		"content", buf_str(&text), "encoding", "base64");
	r = from->call(from->arg, "file.write", params, &result, err);
	json_decref(result);
	return r;
}
