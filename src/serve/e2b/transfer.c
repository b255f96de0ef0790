/*
 * Downloads of the front "e2b", and who may use /files at all.
 *
 * A request to /files has the token of a sandbox, or a signature that was made with the token. A
 * signed URL does not say which sandbox it is for: then its signature is compared with those of all
 * sandboxes.
 *
 * A file is sent as it comes from the box, in pieces of 64 KiB. If only a part of it is wanted, or
 * only the headers, its size is asked for first.
 *
 * Source: e2b-dev/infra, packages/envd/internal/api; RFC 9110, 14.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/e2b/files.h"

#include "api/call/path_message.h"
#include "base/alloc.h"
#include "base/ascii.h"
#include "base/num.h"
#include "base/utf8.h"
#include "serve/e2b/signature.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum { HEADER_BYTES = 4096, DATE_BYTES = 40, MIME_BYTES = 96, MS_PER_S = 1000 };

/* ---- the query ---- */

/* Parameters of the query, without their escapes. A path may be relative, "~" and so on. */
struct file_query {
	bool has_path, has_signature, has_end;
	char path[E2B_PATH_BYTES], user[64], signature[128], end[24];
};

/* Copy a parameter without its escapes; "+" was replaced already. Returns: false if it is too long,
 * or contains NUL. */
static bool read_query(
	const struct front_call *c, const char *name, char *out, size_t room, bool *is_given)
{
	const char *at = http_query(c->x, name);
	size_t n = 0;
	*is_given = at != NULL;
	for (; at && *at; n++) {
		int high = at[0] == '%' ? ascii_hex_value(at[1]) : -1;
		int low = high >= 0 ? ascii_hex_value(at[2]) : -1;
		if (n + 1 >= room || (high == 0 && low == 0))
			return false;
		out[n] = low >= 0 ? (char)(high * 16 + low) : *at;
		at += low >= 0 ? 3 : 1;
	}
	out[n] = '\0';
	return true;
}

static bool read_file_query(const struct front_call *c, struct file_query *q)
{
	bool has_user;
	return read_query(c, "path", q->path, sizeof q->path, &q->has_path) &&
		read_query(c, "username", q->user, sizeof q->user, &has_user) &&
		read_query(c, "signature", q->signature, sizeof q->signature, &q->has_signature) &&
		read_query(c, "signature_expiration", q->end, sizeof q->end, &q->has_end);
}

/* ---- who may ---- */

static bool has_signature(
	const struct e2b_signing *signing, const struct e2b_sandbox *s, const char *signature)
{
	char right[E2B_SIGNATURE_BYTES];
	e2b_sign(signing, s->token, right);
	return e2b_is_secret(right, signature);
}

/* Return the sandbox that the signature of a URL is for; NULL if it is for none. */
static struct e2b_sandbox *find_signed(
	const struct e2b *e, const struct e2b_signing *signing, const char *signature)
{
	for (struct e2b_sandbox *s = e->sandboxes; s; s = s->next)
		if ((s->phase == E2B_RUNNING || s->phase == E2B_PAUSED) &&
			has_signature(signing, s, signature))
			return s;
	return NULL;
}

/* Return why a request may not use the files of the sandbox; NULL if it may. @s NULL: it is for no
 * sandbox. */
static const char *wrong_proof(const struct front_call *c, const struct e2b_sandbox *s,
	const struct e2b_signing *signing, const char *signature)
{
	const char *token = http_header(c->x, "X-Access-Token");
	if (token && s)
		return e2b_is_secret(s->token, token)
			? NULL
			: "access token present in header but does not match";
	if (!signature)
		return "missing signature query parameter";
	if (!s || !has_signature(signing, s, signature))
		return "invalid signature";
	if (signing->expiration && e2b_is_expired(signing->expiration, e2b_now() / MS_PER_S))
		return "signature is already expired";
	return NULL;
}

int e2b_resolve(const char *text, char path[E2B_PATH_BYTES], struct err *err)
{
	_Static_assert(PATH_BYTES + 1 <= E2B_PATH_BYTES, "a path must fit");
	if (!utf8_is_valid(text, strlen(text)))
		return err_set(err, ERR_USAGE, "error resolving path: not UTF-8");
	int r = path_clean(text, path, err);
	return r < 0 ? err_wrap(err, "error resolving path") : 0;
}

/* Find the sandbox that the request is for, and check that it may use its files. Returns: NULL, and
 * the request was answered, if it may not. */
static struct e2b_sandbox *find_files(
	struct front_call *c, const char *action, const struct file_query *q)
{
	unsigned port;
	const char *id = e2b_read_place(c, &port);
	const char *signature = q->has_signature ? q->signature : NULL;
	struct e2b *e = e2b_of(c);
	struct e2b_signing signing;
	e2b_sign_begin(&signing, q->path, action, q->user, q->has_end ? q->end : NULL);
	if (!id && !signature) {
		e2b_refuse(c, 400,
			"missing header: E2b-Sandbox-Id and E2b-Sandbox-Port, or a signature");
		return NULL;
	}
	struct e2b_sandbox *s = id ? e2b_find(e, id) : find_signed(e, &signing, signature);
	if (id && (!s || port != E2B_ENVD_PORT)) {
		e2b_answer_lost(c, id);
		return NULL;
	}
	const char *wrong = wrong_proof(c, s, &signing, signature);
	if (wrong)
		e2b_refuse(c, 401, "%s", wrong);
	return wrong ? NULL : s;
}

struct e2b_sandbox *e2b_enter_files(
	struct front_call *c, const char *action, char path[E2B_PATH_BYTES], bool *given)
{
	struct file_query q;
	struct err err;
	if (!read_file_query(c, &q)) {
		e2b_refuse(c, 400, "a parameter of the query is too long, or contains NUL");
		return NULL;
	}
	struct e2b_sandbox *s = find_files(c, action, &q);
	if (!s)
		return NULL;
	if (s->phase == E2B_PAUSED && s->resumes_itself)
		e2b_wake(s);
	*given = q.has_path;
	if (s->phase != E2B_RUNNING)
		e2b_answer_lost(c, s->id);
	else if (!e2b_is_user(q.user))
		e2b_refuse(c, 401, E2B_NO_USER, q.user);
	else if (e2b_resolve(q.path, path, &err) < 0)
		e2b_refuse(c, 400, "%s", err.msg);
	else {
		c->context = s->context;
		http_set_context(c->x, s->context);
		c->kept = json_need(json_pack("{s:s, s:s}", "sandbox", s->id, "path", path));
		return s;
	}
	return NULL;
}

void e2b_fail_file(struct front_call *c, const char *path, const struct err *err)
{
	unsigned status = (unsigned)err_http(err->code);
	if (!e2b_is_there(c, err))
		return;
	if (err->code == ERR_NOT_FOUND)
		e2b_refuse(c, 404, "path '%.200s' does not exist", path);
	else if (err->code == ERR_USAGE && strstr(err->msg, ": a directory"))
		e2b_refuse(c, 400, "path '%.200s' is a directory", path);
	else if (err->code == ERR_NO_SPACE)
		e2b_refuse(c, 507, "not enough disk space available: %.200s", path);
	else
		e2b_refuse(c, err->code == ERR_INTERRUPTED ? 503 : status, "%s%s%s", err->msg,
			err->hint[0] ? ": " : "", err->hint);
}

/* ---- ranges ---- */

/* A part of a file, of which one end may be open: -1. With no first byte, it is the last `last`
 * bytes. */
struct byte_range {
	int64_t first, last;
};

/* Read a value of the header Range with one range of bytes. Returns: false if it is something else,
 * which is not obeyed. */
static bool read_range(const char *text, struct byte_range *out)
{
	char number[2][24] = {"", ""};
	int64_t *const ends[] = {&out->first, &out->last};
	int n = 0;
	if (!text || sscanf(text, "bytes=%23[0-9]-%n", number[0], &n) < 1 || n == 0) {
		n = 0;
		if (!text || strncmp(text, "bytes=-", 7) != 0)
			return false;
		n = 7;
		number[0][0] = '\0';
	}
	size_t digits = strspn(text + n, "0123456789");
	if (text[(size_t)n + digits] || digits >= sizeof number[1])
		return false;
	memcpy(number[1], text + n, digits);
	for (unsigned i = 0; i < 2; i++) {
		uint64_t value = 0;
		struct err err;
		*ends[i] = -1;
		if (!number[i][0])
			continue;
		if (num_parse_count(number[i], (struct num_range){0, INT64_MAX}, &value, &err) < 0)
			return false;
		*ends[i] = (int64_t)value;
	}
	return out->first < 0 ? out->last >= 0 : out->last < 0 || out->first <= out->last;
}

/* Fit a range into a file of @size bytes. Returns: false if nothing of it is there. */
static bool fit_range(struct byte_range *range, int64_t size)
{
	if (range->first < 0) {
		int64_t n = MIN(range->last, size);
		*range = (struct byte_range){size - n, size - 1};
		return n > 0;
	}
	if (range->last < 0 || range->last >= size)
		range->last = size - 1;
	return range->first < size;
}

/* ---- downloads ---- */

struct e2b_download {
	bool is_head, has_range, is_known, is_open, has_length, is_lost;
	struct byte_range range;
	int64_t size, left; /* `left` is of what is sent */
	char mime[MIME_BYTES], date[DATE_BYTES];
};

static bool is_token(const char *text)
{
	size_t n = strlen(text);
	for (size_t i = 0; i < n; i++)
		if (!ascii_is_name(text[i]) && !strchr("!#$%&'*+-.^`|~", text[i]))
			return false;
	return n > 0;
}

/* Tell the name of the file, which may have any characters. Source: RFC 6266, 4; RFC 8187. */
static void set_name(struct front_call *c, const char *name)
{
	cleanup_buf struct buf out = BUF_INIT(HEADER_BYTES);
	bool is_plain = true;
	for (const char *at = name; *at; at++)
		is_plain = is_plain && *at >= ' ' && *at <= '~';
	buf_add(&out, "inline; filename");
	if (is_token(name)) {
		buf_addf(&out, "=%s", name);
	} else if (is_plain) {
		buf_add(&out, "=\"");
		for (const char *at = name; *at; at++)
			buf_addf(&out, "%s%c", strchr("\"\\", *at) ? "\\" : "", *at);
		buf_add(&out, "\"");
	} else {
		buf_add(&out, "*=utf-8''");
		for (const char *at = name; *at; at++)
			if (ascii_is_name(*at) || strchr("-.!~", *at))
				buf_append(&out, at, 1);
			else
				buf_addf(&out, "%%%02X", (unsigned)(unsigned char)*at);
	}
	if (buf_error(&out) == 0)
		(void)http_set_header(c->x, "Content-Disposition", buf_str(&out));
}

/* Learn about the file from the first event of path.read. */
static void know(struct front_call *c, struct e2b_download *d, const json_t *event)
{
	const json_t *entry = json_object_get(event, "entry");
	const char *path = json_get_text(c->kept, "path"), *slash = strrchr(path, '/');
	time_t seconds = (time_t)(json_get_int(entry, "modified_ms") / MS_PER_S);
	struct tm at;
	d->is_known = true;
	d->size = json_get_int(event, "size");
	snprintf(d->mime, sizeof d->mime, "%s", json_get_text(event, "mime"));
	if (gmtime_r(&seconds, &at))
		(void)strftime(d->date, sizeof d->date, "%a, %d %b %Y %H:%M:%S GMT", &at);
	if (!c->x)
		return;
	set_name(c, slash ? slash + 1 : path);
	(void)http_set_header(c->x, "Accept-Ranges", "bytes");
	(void)http_set_header(c->x, "Last-Modified", d->date);
}

/* Begin the answer. @bytes: its length, or -1. */
static void open_answer(
	struct front_call *c, struct e2b_download *d, unsigned status, int64_t bytes)
{
	d->is_open = true;
	d->has_length = bytes >= 0;
	d->left = bytes;
	d->is_lost = !c->x || http_stream_open_sized(c->x, status, d->mime, bytes) < 0;
}

static void on_file_event(struct front_call *c, const json_t *event)
{
	struct e2b_download *d = c->own;
	if (strcmp(json_get_text(event, "event"), "file") != 0 || d->is_known)
		return;
	know(c, d, event);
	/* Files of the kernel, such as those in /proc, say that they are empty. */
	if (!d->has_range && !d->is_head && d->size > 0)
		open_answer(c, d, 200, d->size);
}

static void on_content(struct front_call *c, const char *members, const char *data, size_t bytes)
{
	struct e2b_download *d = c->own;
	size_t n = bytes;
	(void)members;
	if (!d->is_open)
		open_answer(c, d, 200, -1);
	if (d->has_length)
		n = (size_t)MIN((int64_t)bytes, d->left);
	if (!d->is_lost && n > 0 && http_stream_put(c->x, data, n) < 0)
		d->is_lost = true;
	d->left -= d->has_length ? (int64_t)n : 0;
	/* The file has grown meanwhile; there may be no end of it. */
	if (d->is_lost || n < bytes)
		front_cancel(c); /* on_sent() follows */
}

static const struct front_events file_events = {.event = on_file_event, .raw = on_content};

static void on_sent(struct front_call *c, const json_t *result, const struct err *err)
{
	struct e2b_download *d = c->own;
	bool is_whole = !d->is_lost && (d->has_length ? d->left == 0 : result != NULL);
	bool is_open = d->is_open;
	char mime[MIME_BYTES];
	snprintf(mime, sizeof mime, "%s", d->mime);
	free(d);
	if (!is_open && !result) {
		e2b_fail_file(c, json_get_text(c->kept, "path"), err);
		return;
	}
	struct http_exchange *x = front_take(c);
	if (!x)
		return;
	if (!is_open)
		http_answer(x, 200, mime, "", 0);
	else if (is_whole)
		http_stream_end(x);
	else
		http_stream_cut(x);
}

static json_t *read_params(const struct front_call *c)
{
	return json_need(
		json_pack("{s:O, s:O, s:b, s:b}", "session", json_object_get(c->kept, "sandbox"),
			"path", json_object_get(c->kept, "path"), "stream", 1, "raw", 1));
}

static void send_range(struct front_call *c, struct e2b_download *d)
{
	json_t *params = read_params(c);
	char text[80];
	int64_t bytes = d->range.last - d->range.first + 1;
	snprintf(text, sizeof text, "bytes %lld-%lld/%lld", (long long)d->range.first,
		(long long)d->range.last, (long long)d->size);
	(void)http_set_header(c->x, "Content-Range", text);
	json_put_int(params, "offset", d->range.first);
	json_put_int(params, "limit", bytes);
	open_answer(c, d, 206, bytes);
	front_follow(c, "path.read", params, &file_events, on_sent);
}

static void refuse_range(struct front_call *c, const struct e2b_download *d)
{
	char text[40];
	snprintf(text, sizeof text, "bytes */%lld", (long long)d->size);
	(void)http_set_header(c->x, "Content-Range", text);
	e2b_refuse(c, 416, "the file has %lld bytes", (long long)d->size);
}

/* The size of the file is known, and nothing was sent. */
static void on_probed(struct front_call *c, const json_t *result, const struct err *err)
{
	struct e2b_download *d = c->own;
	const char *date = c->x ? http_header(c->x, "If-Range") : NULL;
	if (!result || !c->x) {
		free(d);
		if (result)
			(void)front_take(c);
		else
			e2b_fail_file(c, json_get_text(c->kept, "path"), err);
		return;
	}
	/* Some clients ask for a range of any file, and are content with all of an empty one. */
	if (d->size == 0 || (date && strcmp(date, d->date) != 0))
		d->has_range = false;
	if (d->has_range && !fit_range(&d->range, d->size)) {
		refuse_range(c, d);
		free(d);
	} else if (d->is_head) {
		open_answer(c, d, 200, d->size);
		free(d);
		http_stream_end(front_take(c));
	} else if (d->has_range) {
		send_range(c, d);
	} else {
		if (d->size > 0)
			open_answer(c, d, 200, d->size);
		front_follow(c, "path.read", read_params(c), &file_events, on_sent);
	}
}

void e2b_start_download(struct front_call *c)
{
	char path[E2B_PATH_BYTES];
	bool given;
	if (!e2b_enter_files(c, "read", path, &given))
		return;
	struct e2b_download *d = xnew(struct e2b_download);
	c->own = d;
	d->is_head = strcmp(http_method(c->x), "HEAD") == 0;
	d->has_range = !d->is_head && read_range(http_header(c->x, "Range"), &d->range);
	json_t *params = read_params(c);
	if (!d->is_head && !d->has_range) {
		front_follow(c, "path.read", params, &file_events, on_sent);
		return;
	}
	json_put_int(params, "limit", 0);
	front_follow(c, "path.read", params, &file_events, on_probed);
}

/* ---- the environment ---- */

void e2b_start_envs(struct front_call *c)
{
	const struct e2b_sandbox *s = e2b_enter(c, E2B_ENVD_PORT);
	if (s)
		front_answer(c, 200, json_copy(s->env));
}
