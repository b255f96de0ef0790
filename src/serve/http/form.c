/* Bodies that are forms (multipart/form-data, RFC 7578), which the library parses.
 * SPDX-License-Identifier: Apache-2.0 */
#include "serve/http/inside.h"

#include <string.h>

/* How long the head of a field may be, with its names. */
enum { FIELD_HEAD_BYTES = 16 << 10 };

struct form {
	bool (*each)(void *arg, const struct http_piece *piece);
	void *arg;
	bool is_over; /* `each` wants no more */
};

/* NOLINTNEXTLINE(readability-function-size): the library's signature */
static enum MHD_Result on_piece(void *arg, enum MHD_ValueKind kind, const char *name,
	const char *filename, const char *type, const char *encoding, const char *data,
	uint64_t offset, size_t bytes)
{
	struct form *f = arg;
	const struct http_piece piece = {name ? name : "", filename, data, bytes, offset};
	(void)kind;
	(void)type;
	(void)encoding;
	f->is_over = f->is_over || !f->each(f->arg, &piece);
	return f->is_over ? MHD_NO : MHD_YES;
}

int http_read_form(struct http_exchange *x, bool (*each)(void *arg, const struct http_piece *piece),
	void *arg, struct err *err)
{
	const struct microhttpd *lib = &x->server->lib;
	struct form f = {.each = each, .arg = arg};
	struct MHD_PostProcessor *parser = x->connection
		? lib->create_post_processor(x->connection->mhd, FIELD_HEAD_BYTES, on_piece, &f)
		: NULL;
	if (!parser)
		return err_set(err, ERR_USAGE, "the body has no boundary");
	bool is_good = lib->post_process(parser, buf_str(&x->body), x->body.bytes) == MHD_YES;
	is_good = lib->destroy_post_processor(parser) == MHD_YES && is_good;
	if (is_good || f.is_over)
		return 0;
	return err_set(err, ERR_USAGE, "the body is not a whole form");
}
