/* SPDX-License-Identifier: Apache-2.0 */
#include "session/box/loss.h"

#include "base/attr.h"
#include "base/buf.h"

#include <stdio.h>

enum { COUNT_MAX = 1000000 };
static const json_int_t bytes_max = (json_int_t)1 << 50;

static uint64_t bytes(const json_t *said, const char *name)
{
	json_int_t n = json_integer_value(json_object_get(said, name));
	return n < 0 ? 0 : (uint64_t)MIN(n, bytes_max);
}

static unsigned count(const json_t *counts, const char *name)
{
	json_int_t n = json_integer_value(json_object_get(counts, name));
	return n < 0 ? 0 : (unsigned)MIN(n, (json_int_t)COUNT_MAX);
}

void loss_parse(struct loss *out, const json_t *said)
{
	const json_t *counts = json_object_get(said, "closed");
	*out = (struct loss){.n_sockets = count(counts, "sockets"),
		.n_pipes = count(counts, "pipes"),
		.n_others = count(counts, "others"),
		.n_locks = count(said, "locks"),
		.n_unread = count(said, "unread"),
		.n_astray = count(said, "astray"),
		.bytes = bytes(said, "unkept"),
		.gone_bytes = bytes(said, "gone")};
}

void loss_add(struct loss *loss, const struct loss *more)
{
	loss->n_sockets += more->n_sockets;
	loss->n_pipes += more->n_pipes;
	loss->n_others += more->n_others;
	loss->n_locks += more->n_locks;
	loss->n_unread += more->n_unread;
	loss->n_astray += more->n_astray;
	loss->n_processes += more->n_processes;
	loss->bytes += more->bytes;
	loss->gone_bytes += more->gone_bytes;
}

/* Append @what, @n and the noun @one or @more, unless @n is 0: "not held any more: 2 locks of
 * files". */
static void add_count(
	struct buf *text, const char *what, unsigned n, const char *one, const char *more)
{
	if (n > 0)
		buf_addf(text, "%s%s%u %s", text->bytes ? "; " : "", what, n, n == 1 ? one : more);
}

static void add_mib(struct buf *text, const char *what, uint64_t bytes, const char *of)
{
	if (bytes > 0)
		buf_addf(text, "%s%s%.1f MiB %s", text->bytes ? "; " : "", what,
			MAX((double)bytes / (1 << 20), 0.1), of);
}

void loss_say(char out[LOSS_BYTES], const struct loss *loss)
{
	const struct {
		unsigned n;
		const char *one, *more;
	} rows[] = {{loss->n_sockets, "socket", "sockets"},
		{loss->n_pipes, "end of a pipe", "ends of pipes"},
		{loss->n_others, "other descriptor", "other descriptors"}};
	cleanup_buf struct buf text = BUF_INIT(LOSS_BYTES);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (rows[i].n > 0)
			buf_addf(&text, "%s%u %s", text.bytes ? ", " : "closed: ", rows[i].n,
				rows[i].n == 1 ? rows[i].one : rows[i].more);
	add_count(&text, "not copied: ", loss->n_processes, "process", "processes");
	add_mib(&text, "not put back: ", loss->bytes, "of shared memory");
	add_mib(&text, "gone: ", loss->gone_bytes, "written to private mappings of files");
	add_count(&text, "not copied: unread datagrams of ", loss->n_unread, "socket", "sockets");
	add_count(&text, "not held any more: ", loss->n_locks, "lock of files", "locks of files");
	add_count(&text, "open, but gone: ", loss->n_astray, "file", "files");
	snprintf(out, LOSS_BYTES, "%s", buf_str(&text));
}

void loss_parse_text(struct loss_text *out, const json_t *said)
{
	*out = (struct loss_text){.n_omitted = count(said, "omitted"),
		.n_descriptors = count(said, "descriptors"),
		.is_homeless = json_is_true(json_object_get(said, "homeless"))};
	out->is_all = out->n_omitted > 0 && json_string_length(json_object_get(said, "state")) == 0;
}

void loss_add_text(char out[LOSS_BYTES], const char *what, const struct loss_text *loss)
{
	cleanup_buf struct buf text = BUF_INIT(LOSS_BYTES);
	buf_addf(&text, "%s%snot kept of the %s: ", out, out[0] ? "; " : "", what);
	size_t empty = text.bytes;
	if (loss->is_all)
		buf_add(&text, "all of its state, which was too large");
	else if (loss->n_omitted > 0)
		buf_addf(&text, "%u large %s", loss->n_omitted,
			loss->n_omitted == 1 ? "variable" : "variables");
	if (loss->n_descriptors > 0)
		buf_addf(&text, "%s%u open %s", text.bytes > empty ? ", " : "", loss->n_descriptors,
			loss->n_descriptors == 1 ? "descriptor" : "descriptors");
	if (loss->is_homeless)
		buf_addf(&text, "%sits directory, which was gone", text.bytes > empty ? ", " : "");
	if (text.bytes > empty)
		snprintf(out, LOSS_BYTES, "%s", buf_str(&text));
}
