/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/process/hello.h"

#include "base/attr.h"

#include <string.h>

enum { RECORD_HEAD_BYTES = 5, RECORD_BODY_BYTES = 16384, HEAD_BYTES = 4 };
/* Types of records, of messages, of extensions. */
enum { RECORD_FIRST = 0x14, RECORD_HANDSHAKE = 0x16, RECORD_LAST = 0x18 };
enum { CLIENT_HELLO = 1, EXTENSION_SNI = 0, EXTENSION_ECH = 0xfe0d };

/* What is left of a message. After a read behind its end, `is_cut` stays set. */
struct cursor {
	const uint8_t *p;
	size_t left;
	bool is_cut;
};

/* Return @bytes bytes, or NULL. */
static const uint8_t *take(struct cursor *c, size_t bytes)
{
	const uint8_t *p = c->p;
	if (c->is_cut || bytes > c->left) {
		c->is_cut = true;
		return NULL;
	}
	c->p += bytes;
	c->left -= bytes;
	return p;
}

static size_t take_number(struct cursor *c, size_t bytes)
{
	const uint8_t *p = take(c, bytes);
	size_t n = 0;
	for (size_t i = 0; p && i < bytes; i++)
		n = n << 8 | p[i];
	return n;
}

/* Take a list that stands behind its length, a number of @bytes. */
static struct cursor take_list(struct cursor *c, size_t bytes)
{
	size_t n = take_number(c, bytes);
	const uint8_t *p = take(c, n);
	return (struct cursor){.p = p, .left = p ? n : 0, .is_cut = !p};
}

/* One name, of the only type there is. */
static bool read_sni(struct hello *out, struct cursor *extension)
{
	struct cursor names = take_list(extension, 2);
	bool is_host = take_number(&names, 1) == 0;
	struct cursor host = take_list(&names, 2);
	return !host.is_cut && is_host && names.left == 0 && extension->left == 0 &&
		rule_name(out->host, (const char *)host.p, host.left);
}

static bool read_extensions(struct hello *out, struct cursor *c)
{
	bool has_sni = false;
	while (c->left > 0) {
		size_t type = take_number(c, 2);
		struct cursor extension = take_list(c, 2);
		if (extension.is_cut)
			return false;
		if (type == EXTENSION_SNI && (has_sni || !read_sni(out, &extension)))
			return false;
		has_sni |= type == EXTENSION_SNI;
		out->has_ech |= type == EXTENSION_ECH;
	}
	return true;
}

static bool read_body(struct hello *out, const uint8_t *body, size_t bytes)
{
	struct cursor c = {.p = body, .left = bytes};
	(void)take(&c, 2 + 32); /* version, random */
	struct cursor session = take_list(&c, 1);
	struct cursor ciphers = take_list(&c, 2);
	struct cursor compressions = take_list(&c, 1);
	if (c.is_cut || session.left > 32 || ciphers.left == 0 || ciphers.left % 2 != 0 ||
		compressions.left == 0)
		return false;
	if (c.left == 0)
		return true;
	struct cursor extensions = take_list(&c, 2);
	return !extensions.is_cut && c.left == 0 && read_extensions(out, &extensions);
}

/* Of SSL 2, or in its form: a length with its highest bit set, a type, a version. */
static enum hello_verdict look_at_ssl2(const uint8_t *data, size_t bytes)
{
	if (bytes < 3)
		return HELLO_MORE;
	if (data[2] != CLIENT_HELLO)
		return HELLO_NOT_TLS;
	if (bytes < 5)
		return HELLO_MORE;
	return data[3] == 3 || (data[3] == 0 && data[4] == 2) ? HELLO_BAD : HELLO_NOT_TLS;
}

/* Some servers overlook an alert that comes first, and some look at no more of the version than
 * that it is below 0x1000. Returns: HELLO_TLS: it has to be a hello, or is bad. */
static enum hello_verdict look_at_start(const uint8_t *data, size_t bytes)
{
	if (bytes == 0)
		return HELLO_MORE;
	if (data[0] & 0x80)
		return look_at_ssl2(data, bytes);
	if (data[0] < RECORD_FIRST || data[0] > RECORD_LAST)
		return HELLO_NOT_TLS;
	if (bytes < 2)
		return HELLO_MORE;
	return data[1] < 0x10 ? HELLO_TLS : HELLO_NOT_TLS;
}

/* A message, put together from its records. */
struct message {
	size_t bytes;
	uint8_t data[HEAD_BYTES + HELLO_BODY_BYTES];
};

/*
 * Add @bytes of a record that has @record_bytes.
 * Returns: HELLO_TLS if the message is whole; HELLO_MORE if it needs more.
 */
static enum hello_verdict add(
	struct message *m, const uint8_t *data, size_t bytes, size_t record_bytes)
{
	size_t end = m->bytes + record_bytes, n = MIN(bytes, sizeof m->data - m->bytes);
	memcpy(m->data + m->bytes, data, n);
	m->bytes += n;
	if (m->bytes > 0 && m->data[0] != CLIENT_HELLO)
		return HELLO_BAD;
	if (m->bytes < HEAD_BYTES)
		return HELLO_MORE;
	size_t want =
		HEAD_BYTES + ((size_t)m->data[1] << 16 | (size_t)m->data[2] << 8 | m->data[3]);
	if (want > sizeof m->data || end > want)
		return HELLO_BAD;
	return m->bytes == want ? HELLO_TLS : HELLO_MORE;
}

static enum hello_verdict gather(struct message *m, const uint8_t *data, size_t bytes)
{
	enum hello_verdict verdict = HELLO_MORE;
	for (int i = 0; i < HELLO_RECORDS_MAX; i++) {
		if (bytes > 0 && data[0] != RECORD_HANDSHAKE)
			return HELLO_BAD;
		if (bytes < RECORD_HEAD_BYTES)
			return HELLO_MORE;
		size_t record = (size_t)data[3] << 8 | data[4];
		if (record == 0 || record > RECORD_BODY_BYTES)
			return HELLO_BAD;
		data += RECORD_HEAD_BYTES;
		bytes -= RECORD_HEAD_BYTES;
		verdict = add(m, data, MIN(bytes, record), record);
		if (verdict != HELLO_MORE || bytes < record)
			return verdict;
		data += record;
		bytes -= record;
	}
	return HELLO_BAD;
}

enum hello_verdict hello_read(struct hello *out, const uint8_t *data, size_t bytes)
{
	struct message m;
	struct hello hello = {0};
	enum hello_verdict verdict = look_at_start(data, bytes);
	if (verdict != HELLO_TLS)
		return verdict;
	m.bytes = 0;
	verdict = gather(&m, data, bytes);
	if (verdict != HELLO_TLS)
		return verdict;
	if (!read_body(&hello, m.data + HEAD_BYTES, m.bytes - HEAD_BYTES))
		return HELLO_BAD;
	*out = hello;
	return HELLO_TLS;
}
