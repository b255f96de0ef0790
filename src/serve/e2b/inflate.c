/*
 * A body may be a few bytes that become gigabytes. So nothing here holds a result: the caller takes
 * what there is piece by piece, each of the size that it wants.
 *
 * A body may consist of several gzip members, one after the other. Source: RFC 1952, 2.2.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/e2b/inflate.h"

#include "base/alloc.h"
#include "base/attr.h"
#include "base/library.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

/* windowBits of inflateInit2() for gzip only. Source: zlib.h */
enum { GZIP_BITS = 15 + 16 };

#define ZLIB_SYMBOLS(X)                                                                            \
	X(inflate)                                                                                 \
	X(inflateEnd)                                                                              \
	X(inflateInit2_)                                                                           \
	X(inflateReset)

struct zlib {
#define X(symbol) typeof(symbol) *symbol##_at;
	ZLIB_SYMBOLS(X)
#undef X
};

struct e2b_inflate {
	struct zlib lib;
	z_stream stream;
	bool is_between; /* a member has ended, and no other has begun */
};

static int load(struct zlib *lib, struct err *err)
{
	static const char *const names[] = {"libz.so.1", NULL};
	static const struct library_symbol symbols[] = {
#define X(symbol) {#symbol, offsetof(struct zlib, symbol##_at)},
		ZLIB_SYMBOLS(X)
#undef X
	};
	static const struct library library = {.names = names,
		.symbols = symbols,
		.n_symbols = ARRAY_LEN(symbols),
		.hint = "install zlib: on Debian and Ubuntu, apt install zlib1g"};
	return library_load(&library, lib, err);
}

int e2b_inflate_open(struct e2b_inflate **out, struct err *err)
{
	struct e2b_inflate *f = xnew(struct e2b_inflate);
	*out = NULL;
	int r = load(&f->lib, err);
	if (r == 0 &&
		f->lib.inflateInit2__at(
			&f->stream, GZIP_BITS, ZLIB_VERSION, (int)sizeof f->stream) != Z_OK)
		r = err_set(err, ERR_NO_MEMORY, "no memory to unpack the body");
	if (r < 0) {
		free(f);
		return r;
	}
	*out = f;
	return 0;
}

void e2b_inflate_close(struct e2b_inflate *f)
{
	if (!f)
		return;
	(void)f->lib.inflateEnd_at(&f->stream);
	free(f);
}

void e2b_inflate_put(struct e2b_inflate *f, const char *data, size_t bytes)
{
	f->stream.next_in = (z_const Bytef *)(uintptr_t)data;
	f->stream.avail_in = (uInt)bytes;
}

long e2b_inflate_some(struct e2b_inflate *f, char *out, size_t room, struct err *err)
{
	z_stream *s = &f->stream;
	s->next_out = (Bytef *)out;
	s->avail_out = (uInt)room;
	while (s->avail_out == room) {
		if (f->is_between && s->avail_in > 0) {
			(void)f->lib.inflateReset_at(s);
			f->is_between = false;
		}
		if (f->is_between)
			break;
		int r = f->lib.inflate_at(s, Z_NO_FLUSH);
		if (r == Z_BUF_ERROR || (r == Z_OK && s->avail_in == 0 && s->avail_out == room))
			break; /* it needs more of the body */
		if (r == Z_MEM_ERROR)
			return err_set(err, ERR_NO_MEMORY, "no memory to unpack the body");
		if (r != Z_OK && r != Z_STREAM_END)
			return err_set(err, ERR_USAGE,
				"error decompressing request body: it is not in the format gzip");
		f->is_between = r == Z_STREAM_END;
	}
	return (long)(room - s->avail_out);
}

bool e2b_inflate_is_whole(const struct e2b_inflate *f)
{
	return f->is_between;
}
