/*
 * Two readers of libarchive stand behind each other: the first decompresses the source, and what it
 * gives is hashed and read by the second, which takes the tar archive to pieces. The digest of an
 * image's layer is that of the archive before it was compressed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "image/process/stream.h"

#include "base/digest.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SOURCE_BYTES = 256 << 10, REPORT_BYTES = 4 << 20, MAGIC_BYTES = 10 };

struct stream {
	struct stream_order order;
	const struct libarchive *lib; /* of the order */
	struct archive *outer, *inner;
	struct digest_state digest;
	uint64_t read, plain, told; /* bytes of the source, decompressed, when last reported */
	uint64_t most;		    /* that may be decompressed */
	struct err *err;
	bool has_failed;     /* `err` is set */
	const char *packing; /* a compression that is not supported, by the first bytes; or NULL */
	char source[SOURCE_BYTES];
};

static void note(struct stream *s)
{
	struct unpack_counts counts = tree_counts(s->order.tree);
	counts.read = s->read;
	s->told = s->plain;
	s->order.report(s->order.arg, &counts);
}

/* ---- the callbacks of the two readers ---- */

static const struct packing {
	const char *name, *magic;
	size_t at, bytes;
} packings[] = {
	{"xz",
		"\xfd"
		"7zXZ",
		0, 6}, /* with its NUL */
	{"bzip2", "1AY&SY", 4, 6},
	{"lz4", "\x04\x22M\x18", 0, 4},
	{"lzip", "LZIP\1", 0, 5},
};

static const char *find_packing(const char *data, size_t bytes)
{
	for (size_t i = 0; i < ARRAY_LEN(packings); i++) {
		const struct packing *p = &packings[i];
		if (bytes >= p->at + p->bytes && memcmp(data + p->at, p->magic, p->bytes) == 0)
			return p->name;
	}
	return NULL;
}

/* Read up to a full buffer, since the first bytes are looked at together. */
static ssize_t fill(struct stream *s)
{
	size_t done = 0;
	ssize_t n;
	do {
		n = read(s->order.fd, s->source + done, sizeof s->source - done);
		done += n > 0 ? (size_t)n : 0;
	} while ((n < 0 && errno == EINTR) || (n > 0 && s->read == 0 && done < MAGIC_BYTES));
	return n < 0 ? n : (ssize_t)done;
}

static la_ssize_t read_source(struct archive *a, void *arg, const void **data)
{
	struct stream *s = arg;
	ssize_t n = fill(s);
	if (n < 0)
		s->lib->set_error(a, errno, "cannot be read");
	else if (s->read == 0)
		s->packing = find_packing(s->source, (size_t)n);
	s->read += n > 0 ? (uint64_t)n : 0;
	*data = s->source;
	return n;
}

/* How long the archive may be: what is behind its end is limited, too. An entry has a header of 512
 * bytes, and names and attributes. */
static uint64_t most_of(const struct unpack_request *request)
{
	uint64_t most;
	if (__builtin_mul_overflow(request->max_entries, 1024, &most) ||
		__builtin_add_overflow(most, request->max_bytes, &most) ||
		__builtin_add_overflow(most, 64 << 20, &most))
		return UINT64_MAX;
	return most;
}

static la_ssize_t read_plain(struct archive *a, void *arg, const void **data)
{
	struct stream *s = arg;
	size_t bytes = 0;
	la_int64_t at;
	int r = s->lib->read_data_block(s->outer, data, &bytes, &at);
	if (r == ARCHIVE_EOF)
		return 0;
	if (r < ARCHIVE_WARN) {
		s->lib->set_error(a, EIO, "%s", s->lib->error_string(s->outer));
		return ARCHIVE_FATAL;
	}
	digest_add(&s->digest, *data, bytes);
	s->plain += bytes;
	if (s->plain > s->most) {
		s->has_failed = true;
		(void)err_set(s->err, ERR_LIMIT, "the archive has more than %llu MiB",
			(unsigned long long)(s->most >> 20));
		s->lib->set_error(a, E2BIG, "too long");
		return ARCHIVE_FATAL;
	}
	if (s->plain - s->told >= REPORT_BYTES)
		note(s);
	return (la_ssize_t)bytes;
}

static int fail(struct stream *s, struct archive *a)
{
	const char *said = s->lib->error_string(a);
	if (s->has_failed)
		return -err_errno(s->err->code);
	s->has_failed = true;
	if (s->packing)
		return err_set(s->err, ERR_USAGE,
			"this is compressed with %s; tar archives may be compressed with gzip or "
			"zstd",
			s->packing);
	bool is_text = said && utf8_is_valid(said, strlen(said));
	return err_set(s->err, ERR_USAGE, "this is no tar archive, or a damaged one%s%.150s",
		is_text ? ": " : "", is_text ? said : "");
}

static int open_readers(struct stream *s)
{
	struct archive_entry *e;
	s->outer = s->lib->read_new();
	s->inner = s->lib->read_new();
	if (!s->outer || !s->inner) {
		s->has_failed = true;
		return err_set(s->err, ERR_NO_MEMORY, "no memory for a layer");
	}
	(void)s->lib->read_support_filter_gzip(s->outer);
	(void)s->lib->read_support_filter_zstd(s->outer);
	(void)s->lib->read_support_format_raw(s->outer);
	(void)s->lib->read_support_format_tar(s->inner);
	/* Names are bytes, as they are for the kernel. */
	(void)s->lib->read_set_options(s->inner, "hdrcharset=BINARY");
	if (s->lib->read_open(s->outer, s, NULL, read_source, NULL) != ARCHIVE_OK ||
		s->lib->read_next_header(s->outer, &e) < ARCHIVE_WARN)
		return fail(s, s->outer);
	if (s->lib->read_open(s->inner, s, NULL, read_plain, NULL) != ARCHIVE_OK)
		return fail(s, s->inner);
	return 0;
}

/* ---- entries ---- */

static enum tree_kind kind_of(const struct stream *s, struct archive_entry *e)
{
	if (s->lib->entry_hardlink(e))
		return TREE_HARD_LINK;
	switch (s->lib->entry_filetype(e)) {
	case AE_IFREG:
		return TREE_FILE;
	case AE_IFDIR:
		return TREE_DIR;
	case AE_IFLNK:
		return TREE_LINK;
	case AE_IFIFO:
		return TREE_FIFO;
	default:
		return TREE_OTHER;
	}
}

static int take_content(struct stream *s)
{
	const void *data;
	size_t bytes;
	la_int64_t at;
	int r;
	while ((r = s->lib->read_data_block(s->inner, &data, &bytes, &at)) == ARCHIVE_OK) {
		int bad = at < 0 ? err_set(s->err, ERR_USAGE, "the archive has a damaged file")
				 : tree_write(s->order.tree, data, bytes, (uint64_t)at, s->err);
		if (bad < 0) {
			s->has_failed = true;
			return bad;
		}
	}
	return r == ARCHIVE_EOF ? 0 : fail(s, s->inner);
}

static int take_entry(struct stream *s, struct archive_entry *e)
{
	struct tree_entry entry = {.kind = kind_of(s, e),
		.path = s->lib->entry_pathname(e),
		.mode = s->lib->entry_perm(e),
		.time = {s->lib->entry_mtime(e), s->lib->entry_mtime_nsec(e)}};
	entry.target =
		entry.kind == TREE_HARD_LINK ? s->lib->entry_hardlink(e) : s->lib->entry_symlink(e);
	int64_t size = entry.kind == TREE_FILE ? s->lib->entry_size(e) : 0;
	entry.bytes = size > 0 ? (uint64_t)size : 0;
	if (!entry.path)
		return fail(s, s->inner);
	int r = tree_add(s->order.tree, &entry, s->err);
	s->has_failed = r < 0;
	if (r < 0 || entry.kind != TREE_FILE)
		return r; /* the contents of others are skipped */
	return take_content(s);
}

/* Read what is behind the archive. */
static int read_rest(struct stream *s)
{
	const void *data;
	la_ssize_t n;
	while ((n = read_plain(s->inner, s, &data)) > 0)
		;
	return n < 0 ? fail(s, s->inner) : 0;
}

int stream_unpack(const struct stream_order *order, struct unpack_reply *reply, struct err *err)
{
	static struct stream s; /* large, and there is one */
	s = (struct stream){
		.order = *order, .lib = order->lib, .most = most_of(order->request), .err = err};
	struct archive_entry *e;
	digest_begin(&s.digest);
	int r = open_readers(&s);
	while (r == 0) {
		int got = s.lib->read_next_header(s.inner, &e);
		if (got == ARCHIVE_EOF)
			break;
		r = got < ARCHIVE_WARN ? fail(&s, s.inner) : take_entry(&s, e);
	}
	r = r < 0 ? r : read_rest(&s);
	r = r < 0 ? r : tree_finish(order->tree, err);
	digest_end(&s.digest, reply->digest);
	reply->counts = tree_counts(order->tree);
	reply->counts.read = s.read;
	(void)s.lib->read_free(s.inner);
	(void)s.lib->read_free(s.outer);
	return r;
}
