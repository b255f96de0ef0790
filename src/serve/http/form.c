/* Bodies that are forms (multipart/form-data, RFC 7578), which the library parses.
 * SPDX-License-Identifier: Apache-2.0 */
#include "serve/http/inside.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* FIELD_HEAD_BYTES: how long the head of a field may be, with its names. EMPTY_BYTES: how long a
 * form without fields may be. */
enum { FIELD_HEAD_BYTES = 16 << 10, EMPTY_BYTES = 256 };

struct http_form {
	struct MHD_PostProcessor *parser;
	const struct microhttpd *lib;
	bool (*each)(void *arg, const struct http_piece *piece);
	void *arg;
	bool is_over;	/* `each` wants no more */
	bool has_field; /* it has been called */
	/* The body until then, or its beginning: the library takes a body without any boundary for
	 * a form. */
	char start[EMPTY_BYTES];
	size_t n_start;
	char *type; /* of the content */
};

/* NOLINTNEXTLINE(readability-function-size): the library's signature */
static enum MHD_Result on_piece(void *arg, enum MHD_ValueKind kind, const char *name,
	const char *filename, const char *type, const char *encoding, const char *data,
	uint64_t offset, size_t bytes)
{
	struct http_form *f = arg;
	const struct http_piece piece = {name ? name : "", filename, data, bytes, offset};
	(void)kind;
	(void)type;
	(void)encoding;
	f->has_field = true;
	f->is_over = f->is_over || !f->each(f->arg, &piece);
	return f->is_over ? MHD_NO : MHD_YES;
}

static int fail(struct err *err)
{
	return err_set(err, ERR_USAGE, "the body is not a whole form");
}

int http_form_open(struct http_form **out, struct http_exchange *x,
	bool (*each)(void *arg, const struct http_piece *piece), void *arg, struct err *err)
{
	struct http_form *f = xnew(struct http_form);
	f->lib = &x->server->lib;
	f->each = each;
	f->arg = arg;
	f->parser = x->connection
		? f->lib->create_post_processor(x->connection->mhd, FIELD_HEAD_BYTES, on_piece, f)
		: NULL;
	*out = f;
	if (f->parser) {
		f->type = xstrdup(http_header(x, "Content-Type"));
		return 0;
	}
	free(take_ptr(*out));
	return err_set(err, ERR_USAGE, "the body has no boundary");
}

/* Is the body that of a form without fields, "--BOUNDARY--"? */
static bool is_empty(const struct http_form *f)
{
	const char *at = memmem(f->type, strlen(f->type), "boundary=", 9);
	size_t n = f->n_start;
	while (n > 0 && strchr("\r\n", f->start[n - 1]))
		n--;
	if (!at || n < 4 || f->n_start == EMPTY_BYTES || memcmp(f->start, "--", 2) != 0 ||
		memcmp(f->start + n - 2, "--", 2) != 0)
		return false;
	at += 9 + (at[9] == '"');
	return strncmp(at, f->start + 2, n - 4) == 0 && strchr("\"; \t", at[n - 4]);
}

int http_form_put(struct http_form *f, const char *data, size_t bytes, struct err *err)
{
	size_t n = MIN(bytes, EMPTY_BYTES - f->n_start);
	memcpy(f->start + f->n_start, data, n);
	f->n_start += n;
	if (f->is_over || f->lib->post_process(f->parser, data, bytes) == MHD_YES || f->is_over)
		return 0;
	return fail(err);
}

int http_form_close(struct http_form *f, struct err *err)
{
	bool is_good = f->lib->destroy_post_processor(f->parser) == MHD_YES || f->is_over;
	is_good = is_good && (f->has_field || is_empty(f));
	free(f->type);
	free(f);
	return is_good ? 0 : fail(err);
}

int http_read_form(struct http_exchange *x, bool (*each)(void *arg, const struct http_piece *piece),
	void *arg, struct err *err)
{
	struct http_form *f;
	struct err unsaid;
	int r = http_form_open(&f, x, each, arg, err);
	if (r < 0)
		return r;
	r = http_form_put(f, buf_str(&x->body), x->body.bytes, err);
	int end = http_form_close(f, r < 0 ? &unsaid : err);
	return r < 0 ? r : end;
}
