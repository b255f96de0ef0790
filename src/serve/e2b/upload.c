/*
 * Uploads of the front "e2b": POST /files.
 *
 * A body may be of any size, and is never in memory as a whole. It is a file, or a form with files,
 * and may be packed with gzip. It goes these ways, and each step waits for the one behind it:
 *
 *     the connection  →  inflate.c, if packed  →  the form, if it is one  →  parts  →  path.write
 *
 * A part is at most PART_BYTES of one file. The first part of a file replaces the old content, and
 * the others are appended. While a part is written, nothing more is taken from the connection.
 *
 * Source: e2b-dev/infra, packages/envd/internal/api/upload.go.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/e2b/files.h"

#include "base/alloc.h"
#include "base/ascii.h"
#include "base/base64.h"
#include "base/buf.h"
#include "base/timer.h"
#include "base/utf8.h"
#include "serve/e2b/inflate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
	PIECE_BYTES = 64 << 10,
	PART_BYTES = 1 << 20,
	FILES_MAX = 10000,
	OTHER_BYTES = 1 << 20, /* of fields of a form that are no files */
	FILE_MODE = 0644,
	STALL_MS = 60000, /* without any byte of the body */
};

/* What metadata of a file may be. Source: as above, upload_metadata.go. */
enum { KEY_BYTES = 246, METADATA_BYTES = 4096, METADATA_MAX = 64 };

/* A file that is written, or waits for it. */
struct upload_file {
	struct upload_file *next;
	char *path; /* absolute */
	char *name; /* as the form has it; or NULL */
	struct buf data;
	bool has_data; /* some of it has come */
	bool is_begun; /* its first part was written */
	bool is_over;  /* all of it has come */
};

struct e2b_upload {
	struct front_call *c;
	char path[E2B_PATH_BYTES]; /* of the query */
	bool has_path;
	json_t *metadata; /* as attributes of path.write */
	json_t *paths;	  /* of all files, as an object */
	json_t *entries;  /* the answer */
	struct http_form *form;
	struct e2b_inflate *inflate;
	struct upload_file *files, **last;
	size_t other_bytes;
	uv_timer_t stall;
	bool is_writing, is_busy, is_read; /* is_read: the whole body was taken */
	bool has_piece;			   /* `piece` is not used up */
	unsigned status;		   /* 0, or the request is wrong: then it has `err` */
	struct err err;
	char piece[PIECE_BYTES], out[PIECE_BYTES];
};

/* ---- the end ---- */

static void drop_file(struct e2b_upload *u)
{
	struct upload_file *f = u->files;
	u->files = f->next;
	if (!u->files)
		u->last = &u->files;
	buf_done(&f->data);
	free(f->path);
	free(f->name);
	free(f);
}

static void on_stall_closed(uv_handle_t *handle)
{
	free(handle->data);
}

/* Release all but the call, which the caller must answer. */
static struct front_call *release(struct e2b_upload *u)
{
	struct front_call *c = u->c;
	struct err unsaid;
	while (u->files)
		drop_file(u);
	if (u->form)
		(void)http_form_close(u->form, &unsaid);
	e2b_inflate_close(u->inflate);
	json_decref(u->metadata);
	json_decref(u->paths);
	json_decref(u->entries);
	uv_close((uv_handle_t *)&u->stall, on_stall_closed);
	return c;
}

static void refuse(struct e2b_upload *u, unsigned status, const struct err *err)
{
	const struct err copy = *err;
	e2b_refuse(release(u), status, "%s%s%s", copy.msg, copy.hint[0] ? ": " : "", copy.hint);
}

/* The client has gone, or the engine stops. */
static void on_gone(void *arg)
{
	struct e2b_upload *u = arg;
	struct err unsaid;
	u->c->x = NULL;
	/* The form refers to the connection. */
	if (u->form && !u->is_busy)
		(void)http_form_close(take_ptr(u->form), &unsaid);
	if (u->is_writing)
		front_cancel(u->c); /* on_written() follows */
	else if (!u->is_busy)
		(void)front_take(release(u));
}

static void on_stop(void *arg)
{
	struct e2b_upload *u = arg;
	if (u->is_writing)
		front_cancel(u->c);
	else if (!u->is_busy)
		e2b_refuse(release(u), 503, "the engine is being stopped");
}

static void on_stall(uv_timer_t *timer)
{
	struct e2b_upload *u = timer->data;
	if (!u->is_writing && !u->is_busy)
		e2b_refuse(release(u), 408, "nothing came of the body for %d s", STALL_MS / 1000);
}

/* Note why the request cannot go on. Returns: false. */
static bool note_wrong(struct e2b_upload *u, unsigned status)
{
	if (u->status == 0)
		u->status = status;
	return false;
}

/* ---- files ---- */

static bool begin_file(struct e2b_upload *u, const char *name)
{
	char path[E2B_PATH_BYTES];
	if (!u->has_path && (!name || !name[0])) {
		(void)err_set(&u->err, ERR_USAGE, "a file of the form has no name: give it one");
		return note_wrong(u, 400);
	}
	if (!u->has_path && e2b_resolve(name, path, &u->err) < 0)
		return note_wrong(u, 400);
	if (u->has_path)
		strcpy(path, u->path);
	if (json_object_get(u->paths, path)) {
		(void)err_set(&u->err, ERR_USAGE,
			"you cannot upload multiple files to the same path '%.120s' in one upload "
			"request",
			path);
		return note_wrong(u, 400);
	}
	if (json_object_size(u->paths) >= FILES_MAX) {
		(void)err_set(&u->err, ERR_LIMIT, "over %d files in one request", FILES_MAX);
		return note_wrong(u, 413);
	}
	json_put_bool(u->paths, path, true);
	struct upload_file *f = xnew(struct upload_file);
	f->path = xstrdup(path);
	f->name = name ? xstrdup(name) : NULL;
	f->data = BUF_INIT(PART_BYTES + 2 * PIECE_BYTES);
	*u->last = f;
	u->last = &f->next;
	return true;
}

static struct upload_file *newest(const struct e2b_upload *u)
{
	struct upload_file *f = u->files;
	while (f && f->next)
		f = f->next;
	return f && !f->is_over ? f : NULL;
}

static void end_file(const struct e2b_upload *u)
{
	struct upload_file *f = newest(u);
	if (f)
		f->is_over = true;
}

static bool add_data(struct e2b_upload *u, const char *data, size_t bytes)
{
	struct upload_file *f = newest(u);
	if (f && buf_append(&f->data, data, bytes) == 0) {
		f->has_data |= bytes > 0;
		return true;
	}
	(void)err_set(&u->err, ERR_NO_MEMORY, "no memory for the file");
	return note_wrong(u, 503);
}

/* Does a field begin with this piece? The first piece may be empty, and then there is another first
 * one. */
static bool begins_field(const struct e2b_upload *u, const struct http_piece *piece)
{
	const struct upload_file *f = newest(u);
	bool is_file = strcmp(piece->name, "file") == 0;
	if (piece->offset > 0)
		return false;
	return !f || !is_file || f->has_data || !f->name != !piece->filename ||
		(f->name && strcmp(f->name, piece->filename) != 0);
}

/* A piece of a field of the form has come. */
static bool on_field(void *arg, const struct http_piece *piece)
{
	struct e2b_upload *u = arg;
	bool is_new = begins_field(u, piece);
	if (is_new)
		end_file(u);
	if (strcmp(piece->name, "file") != 0) {
		u->other_bytes += piece->bytes;
		if (u->other_bytes <= OTHER_BYTES)
			return true;
		(void)err_set(&u->err, ERR_LIMIT, "fields that are not called 'file': over %d MiB",
			OTHER_BYTES >> 20);
		return note_wrong(u, 413);
	}
	if (is_new && !begin_file(u, piece->filename))
		return false;
	return add_data(u, piece->data, piece->bytes);
}

/* ---- the body ---- */

static bool feed(struct e2b_upload *u, const char *data, size_t bytes)
{
	if (!u->form)
		return add_data(u, data, bytes);
	if (http_form_put(u->form, data, bytes, &u->err) < 0)
		return note_wrong(u, 400);
	return u->status == 0;
}

/* The whole body has come. */
static bool finish_body(struct e2b_upload *u)
{
	u->is_read = true;
	(void)uv_timer_stop(&u->stall);
	if (u->inflate && !e2b_inflate_is_whole(u->inflate)) {
		(void)err_set(&u->err, ERR_USAGE,
			"error decompressing request body: unexpected end of the body");
		return note_wrong(u, 400);
	}
	if (u->form && http_form_close(take_ptr(u->form), &u->err) < 0)
		return note_wrong(u, 400);
	end_file(u);
	return u->status == 0;
}

/* Unpack some of the piece. Returns: false if the request is wrong. */
static bool unpack(struct e2b_upload *u)
{
	long n = e2b_inflate_some(u->inflate, u->out, sizeof u->out, &u->err);
	u->has_piece = n > 0;
	if (n < 0)
		return note_wrong(u, 400);
	return n == 0 || feed(u, u->out, (size_t)n);
}

/* Take more of the body. Returns: false if there is none now, or if the request is wrong. */
static bool take_more(struct e2b_upload *u)
{
	if (u->has_piece)
		return unpack(u);
	ssize_t n = http_take_body(u->c->x, u->piece, sizeof u->piece);
	if (n == -EAGAIN)
		return false;
	if (n == 0)
		return finish_body(u);
	timer_start(&u->stall, on_stall, STALL_MS, 0);
	if (!u->inflate)
		return feed(u, u->piece, (size_t)n);
	e2b_inflate_put(u->inflate, u->piece, (size_t)n);
	u->has_piece = true;
	return true;
}

/* ---- writing ---- */

static void advance(struct e2b_upload *u);

static void add_entry(struct e2b_upload *u, const json_t *entry)
{
	json_t *out = json_need(json_object());
	json_put_shared(out, "path", json_object_get(entry, "path"));
	json_put_shared(out, "name", json_object_get(entry, "name"));
	json_put_text(out, "type", "file");
	json_put_new(out, "metadata", e2b_metadata_json(entry));
	json_add_new(u->entries, out);
}

static void on_written(struct front_call *c, const json_t *result, const struct err *err)
{
	struct e2b_upload *u = c->own;
	struct upload_file *f = u->files;
	u->is_writing = false;
	if (!result || !c->x) {
		const struct err why = err ? *err : (struct err){.code = ERR_INTERRUPTED};
		char *path = take_ptr(f->path);
		u->is_busy = true; /* advance() goes no further */
		(void)release(u);
		if (!c->x)
			(void)front_take(c);
		else
			e2b_fail_file(c, path, &why);
		free(path);
		return;
	}
	if (f->is_over && f->data.bytes == 0) {
		add_entry(u, result);
		drop_file(u);
	}
	f = NULL;
	if (!u->is_busy)
		advance(u);
}

/* Write what has come of the first file. */
static void write_part(struct e2b_upload *u)
{
	struct upload_file *f = u->files;
	size_t n = f->data.bytes;
	cleanup_buf struct buf text = BUF_INIT(base64_bytes(n) + 1);
	json_t *params = json_need(json_object());
	json_put_shared(params, "session", json_object_get(u->c->kept, "sandbox"));
	json_put_text(params, "path", f->path);
	(void)base64_write(&text, buf_str(&f->data), n);
	json_put_new(params, "content", json_stringn(buf_str(&text), text.bytes));
	json_put_text(params, "encoding", "base64");
	json_put_bool(params, "append", f->is_begun);
	/* The owner of a new file is set by E2B, which watchers see as "chmod". */
	json_put_int(params, "new_mode", FILE_MODE);
	json_put_shared(params, "attributes", u->metadata);
	json_put_text(params, "attribute_prefix", E2B_METADATA_PREFIX);
	buf_clear(&f->data);
	f->is_begun = true;
	u->is_writing = true;
	(void)uv_timer_stop(&u->stall);
	front_operate(u->c, "path.write", params, on_written);
}

/* Do what can be done now. The upload may have ended afterwards. */
static void advance(struct e2b_upload *u)
{
	struct front_call *c = u->c;
	while (u->status == 0 && !u->is_writing) {
		const struct upload_file *f = u->files;
		if (f && (f->is_over || f->data.bytes >= PART_BYTES)) {
			write_part(u);
			return;
		}
		if (u->is_read) {
			json_t *entries = json_incref(u->entries);
			(void)release(u);
			front_answer(c, 200, entries);
			return;
		}
		u->is_busy = true;
		bool is_more = take_more(u);
		u->is_busy = false;
		if (!c->x) {
			(void)front_take(release(u));
			return;
		}
		if (!is_more && u->status == 0) {
			if (!u->is_read && !uv_is_active((uv_handle_t *)&u->stall))
				timer_start(&u->stall, on_stall, STALL_MS, 0);
			return;
		}
	}
	if (u->status != 0)
		refuse(u, u->status, &u->err);
}

static void on_progress(void *arg)
{
	struct e2b_upload *u = arg;
	if (!u->is_busy && !u->is_writing)
		advance(u);
}

/* ---- the request ---- */

/* What on_metadata() reads. */
struct metadata_reading {
	json_t *out;
	size_t bytes;
	const char *wrong;
};

static bool is_printable(const char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			return false;
	return true;
}

static void on_metadata(void *arg, const char *name, const char *value)
{
	static const char prefix[] = "X-Metadata-";
	struct metadata_reading *r = arg;
	char key[KEY_BYTES + 1];
	size_t n = 0;
	if (strncasecmp(name, prefix, sizeof prefix - 1) != 0)
		return;
	name += sizeof prefix - 1;
	r->bytes += strlen(name) + strlen(value);
	if (!name[0] || strlen(name) > KEY_BYTES)
		r->wrong = "metadata: a key has 1 to 246 bytes";
	else if (r->bytes > METADATA_BYTES || json_object_size(r->out) >= METADATA_MAX)
		r->wrong = "metadata: over 4096 bytes or 64 keys";
	else if (!is_printable(name) || !is_printable(value))
		r->wrong = "metadata: only printable ASCII characters are allowed";
	if (r->wrong)
		return;
	for (; name[n]; n++)
		key[n] = ascii_lower(name[n]);
	key[n] = '\0';
	json_put_text(r->out, key, value);
}

static bool is_type(const char *type, const char *wanted)
{
	size_t n = strlen(wanted);
	return strncasecmp(type, wanted, n) == 0 && (!type[n] || strchr("; \t", type[n]));
}

/* Prepare for a body of its kind. Returns: false, with u->err and u->status, if it is of none. */
static bool prepare(struct e2b_upload *u)
{
	const char *type = http_header(u->c->x, "Content-Type");
	const char *coding = http_header(u->c->x, "Content-Encoding");
	struct metadata_reading reading = {.out = json_need(json_object())};
	u->metadata = reading.out;
	http_each_header(u->c->x, on_metadata, &reading);
	if (reading.wrong) {
		(void)err_set(&u->err, ERR_USAGE, "%s", reading.wrong);
		return note_wrong(u, 400);
	}
	if (coding && strcasecmp(coding, "gzip") == 0) {
		if (e2b_inflate_open(&u->inflate, &u->err) < 0)
			return note_wrong(u, 501);
	} else if (coding && strcasecmp(coding, "identity") != 0) {
		(void)err_set(&u->err, ERR_USAGE,
			"unsupported content encoding: %.60s, expected gzip or identity", coding);
		return note_wrong(u, 400);
	}
	type = type ? type : "";
	if (is_type(type, "multipart/form-data"))
		return http_form_open(&u->form, u->c->x, on_field, u, &u->err) == 0 ||
			note_wrong(u, 400);
	if (!is_type(type, "application/octet-stream"))
		(void)err_set(&u->err, ERR_USAGE,
			"unsupported content type: %.60s, expected multipart/form-data or "
			"application/octet-stream",
			type);
	else if (!u->has_path)
		(void)err_set(
			&u->err, ERR_USAGE, "path query parameter is required for raw body upload");
	else
		return begin_file(u, NULL);
	return note_wrong(u, 400);
}

void e2b_start_upload(struct front_call *c)
{
	char path[E2B_PATH_BYTES];
	bool has_path;
	if (!e2b_enter_files(c, "write", path, &has_path))
		return;
	struct e2b_upload *u = xnew(struct e2b_upload);
	u->c = c;
	c->own = u;
	u->has_path = has_path;
	strcpy(u->path, path);
	u->last = &u->files;
	u->paths = json_need(json_object());
	u->entries = json_need(json_array());
	(void)uv_timer_init(c->context->loop, &u->stall);
	u->stall.data = u;
	http_on_gone(c->x, on_gone, u);
	http_on_stop(c->x, on_stop, u);
	http_on_progress(c->x, on_progress, u);
	(void)prepare(u);
	advance(u);
}
