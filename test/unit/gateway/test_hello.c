/* Hellos of TLS clients: made by hand, whole, cut, spread over records. SPDX-License-Identifier:
 * Apache-2.0 */
#include "gateway/process/hello.h"

#include "base/buf.h"

#include "t.h"

#include <stdlib.h>
#include <string.h>

static void put(struct buf *b, size_t value, size_t bytes)
{
	while (bytes-- > 0) {
		char c = (char)(value >> 8 * bytes);
		(void)buf_append(b, &c, 1);
	}
}

static void put_sni(struct buf *b, const char *host)
{
	size_t n = strlen(host);
	put(b, 0, 2);
	put(b, n + 5, 2);
	put(b, n + 3, 2);
	put(b, 0, 1);
	put(b, n, 2);
	(void)buf_add(b, host);
}

/* The message, with its head. */
static struct buf message(const struct buf *extensions)
{
	struct buf body = BUF_INIT(1 << 20), out = BUF_INIT(1 << 20);
	put(&body, 0x0303, 2);
	for (int i = 0; i < 32; i++)
		put(&body, 7, 1);
	put(&body, 0, 1);
	put(&body, 4, 2);
	put(&body, 0x13011302, 4);
	put(&body, 0x0100, 2);
	if (extensions) {
		put(&body, extensions->bytes, 2);
		(void)buf_append(&body, extensions->data, extensions->bytes);
	}
	put(&out, 1, 1);
	put(&out, body.bytes, 3);
	(void)buf_append(&out, body.data, body.bytes);
	buf_done(&body);
	return out;
}

/* Spread over records of @each bytes. */
static struct buf records(const struct buf *m, size_t each)
{
	struct buf out = BUF_INIT(1 << 20);
	for (size_t at = 0; at < m->bytes; at += each) {
		size_t n = MIN(each, m->bytes - at);
		put(&out, 0x160301, 3);
		put(&out, n, 2);
		(void)buf_append(&out, m->data + at, n);
	}
	return out;
}

/* Read in storage of its very size; each part before the whole gets HELLO_MORE or the same. */
static enum hello_verdict read_all(struct hello *out, const char *data, size_t bytes)
{
	enum hello_verdict verdict = HELLO_MORE, last = HELLO_MORE;
	size_t step = bytes > 4096 ? 97 : 1;
	for (size_t n = 0; n <= bytes; n = n == bytes ? n + 1 : MIN(n + step, bytes)) {
		uint8_t *exact = malloc(n + (n == 0));
		memcpy(exact, data, n);
		verdict = hello_read(out, exact, n);
		free(exact);
		if (last != HELLO_MORE && !CHECK_INT(verdict, last))
			break;
		last = verdict;
	}
	return verdict;
}

static enum hello_verdict read_extensions(struct hello *out, struct buf *extensions)
{
	struct buf m = message(extensions), whole = records(&m, 16384);
	enum hello_verdict verdict = read_all(out, whole.data, whole.bytes);
	buf_done(&m);
	buf_done(&whole);
	buf_done(extensions);
	return verdict;
}

TEST(a_name)
{
	struct buf e = BUF_INIT(4096);
	struct hello hello;
	put(&e, 0x002b000302, 5);
	put(&e, 0x0304, 2);
	put_sni(&e, "Api.Example");
	CHECK_INT(read_extensions(&hello, &e), HELLO_TLS);
	CHECK_STR(hello.host, "api.example");
	CHECK(!hello.has_ech);
}

TEST(no_name)
{
	struct buf e = BUF_INIT(4096), none = message(NULL), whole = records(&none, 16384);
	struct hello hello;
	CHECK_INT(read_all(&hello, whole.data, whole.bytes), HELLO_TLS);
	CHECK_STR(hello.host, "");
	put(&e, 0x00230000, 4);
	CHECK_INT(read_extensions(&hello, &e), HELLO_TLS);
	CHECK_STR(hello.host, "");
	buf_done(&none);
	buf_done(&whole);
}

TEST(an_encrypted_hello_is_told)
{
	struct buf e = BUF_INIT(4096);
	struct hello hello;
	put(&e, 0xfe0d000100, 5);
	put_sni(&e, "public.example");
	CHECK_INT(read_extensions(&hello, &e), HELLO_TLS);
	CHECK_STR(hello.host, "public.example");
	CHECK(hello.has_ech);
}

TEST(names_that_are_bad)
{
	static const char *const hosts[] = {
		"", "127.0.0.1", "::1", "a b", "a..b", "0x7f.1", "b\xc3\xbc"};
	struct hello hello = {.host = "before"};
	for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
		struct buf e = BUF_INIT(4096);
		put_sni(&e, hosts[i]);
		CHECK_INT(read_extensions(&hello, &e), HELLO_BAD);
	}
	CHECK_STR(hello.host, "before");
}

TEST(a_name_is_there_once)
{
	static const struct {
		const char *data;
		size_t bytes;
	} rows[] = {
		{"\0\0\0\x0a\0\x08\0\0\1a\0\0\1b", 14}, /* two names */
		{"\0\0\0\x0a\0\x08\0\0\1a\1\0\1b", 14}, /* one of another type */
		{"\0\0\0\6\0\4\1\0\1a", 10},		/* only of another type */
		{"\0\0\0\2\0\0", 6},			/* no name */
		{"\0\0\0\0", 4},
		{"\0\0\0\7\0\4\0\0\1ab", 11}, /* something behind the list */
		{"\0\0\0\7\0\5\0\0\1ab", 11}, /* in it */
		{"\0\0\0\6\0\4\0\0\2a", 10},  /* cut */
		{"\0\0\0\7\0\4\0\0\1a", 10},
		{"\0\0\0\6\0\5\0\0\1a", 10},
		{"\0\0\0", 3},
	};
	struct hello hello;
	struct buf e = BUF_INIT(4096);
	put_sni(&e, "a.example");
	put_sni(&e, "a.example");
	CHECK_INT(read_extensions(&hello, &e), HELLO_BAD);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		(void)buf_append(&e, rows[i].data, rows[i].bytes);
		CHECK_INT(read_extensions(&hello, &e), HELLO_BAD);
		e = BUF_INIT(4096);
	}
}

TEST(spread_over_records)
{
	struct buf e = BUF_INIT(4096);
	put_sni(&e, "spread.example");
	struct buf m = message(&e);
	for (size_t each = 1; each <= m.bytes; each++) {
		struct hello hello = {0};
		struct buf whole = records(&m, each);
		bool fits = (m.bytes + each - 1) / each <= HELLO_RECORDS_MAX;
		CHECK_INT(read_all(&hello, whole.data, whole.bytes), fits ? HELLO_TLS : HELLO_BAD);
		CHECK_STR(hello.host, fits ? "spread.example" : "");
		buf_done(&whole);
	}
	buf_done(&m);
	buf_done(&e);
}

/* With padding up to @bytes in all; @each in a record. */
static enum hello_verdict read_padded(size_t bytes, size_t each)
{
	static const char zeros[1 << 15];
	struct buf e = BUF_INIT(1 << 20);
	struct hello hello = {0};
	put_sni(&e, "padded.example");
	put(&e, 21, 2);
	struct buf m = message(&e);
	size_t n = bytes + 4 - m.bytes - 2;
	put(&e, n, 2);
	(void)buf_append(&e, zeros, n);
	buf_done(&m);
	m = message(&e);
	CHECK_INT(m.bytes, bytes + 4);
	struct buf whole = records(&m, each);
	enum hello_verdict verdict = read_all(&hello, whole.data, whole.bytes);
	CHECK_STR(hello.host, verdict == HELLO_TLS ? "padded.example" : "");
	buf_done(&whole);
	buf_done(&m);
	buf_done(&e);
	return verdict;
}

TEST(long_hellos)
{
	CHECK_INT(read_padded(16380, 16384), HELLO_TLS);
	CHECK_INT(read_padded(HELLO_BODY_BYTES, 16384), HELLO_TLS);
	CHECK_INT(read_padded(HELLO_BODY_BYTES, 257), HELLO_TLS);
	CHECK_INT(read_padded(HELLO_BODY_BYTES, 256), HELLO_BAD);
	CHECK_INT(read_padded(HELLO_BODY_BYTES + 1, 16384), HELLO_BAD);
}

TEST(no_more_bytes_than_said)
{
	struct hello hello;
	uint8_t *data = malloc(HELLO_BYTES);
	for (size_t i = 0; i < HELLO_BYTES; i++)
		data[i] = 0;
	for (int i = 0; i < HELLO_RECORDS_MAX; i++)
		memcpy(data + i * 6, "\x16\3\1\0\1\1", 6);
	CHECK(hello_read(&hello, data, HELLO_BYTES) == HELLO_BAD);
	memcpy(data, "\x16\3\1\x40\0\1\0\x40\0", 9);
	CHECK_INT(hello_read(&hello, data, 5 + 16384), HELLO_MORE);
	CHECK_INT(hello_read(&hello, data, HELLO_BYTES), HELLO_BAD);
	memcpy(data, "\x16\3\1\0\x0a\1\0\x40\0\0\0\0\0\0\0\x16\3\1\x40\0", 20);
	CHECK_INT(hello_read(&hello, data, 20), HELLO_BAD); /* a record behind its end */
	CHECK_INT(hello_read(&hello, data, HELLO_BYTES), HELLO_BAD);
	free(data);
}

TEST(what_follows)
{
	struct buf e = BUF_INIT(4096);
	struct hello hello;
	put_sni(&e, "a.example");
	struct buf m = message(&e), whole = records(&m, 16384);
	(void)buf_append(&whole, "\x14\3\3\0\1\1", 6); /* in a record of its own */
	CHECK_INT(read_all(&hello, whole.data, whole.bytes), HELLO_TLS);
	(void)buf_append(&m, "\x01", 1); /* in the same */
	buf_done(&whole);
	whole = records(&m, 16384);
	CHECK_INT(read_all(&hello, whole.data, whole.bytes), HELLO_BAD);
	buf_done(&m);
	buf_done(&whole);
	buf_done(&e);
}

#define VERDICT(text) read_all(&(struct hello){0}, text, sizeof(text) - 1)

TEST(other_protocols)
{
	CHECK_INT(VERDICT(""), HELLO_MORE);
	CHECK_INT(VERDICT("SSH-2.0-x\r\n"), HELLO_NOT_TLS);
	CHECK_INT(VERDICT("GET / HTTP/1.1\r\n"), HELLO_NOT_TLS);
	CHECK_INT(VERDICT("\0\0\0\x08\x04\xd2\x16\x2f"), HELLO_NOT_TLS); /* PostgreSQL */
	CHECK_INT(VERDICT("\x10\x16"), HELLO_NOT_TLS);
	CHECK_INT(VERDICT("\x13"), HELLO_NOT_TLS);
	CHECK_INT(VERDICT("\x19"), HELLO_NOT_TLS);
	CHECK_INT(VERDICT("\x16\x10"), HELLO_NOT_TLS);
	CHECK_INT(VERDICT("\x80\x2e\x02\3\1"), HELLO_NOT_TLS);
	CHECK_INT(VERDICT("\x80\x2e\x01\4\1"), HELLO_NOT_TLS);
}

TEST(tls_that_is_bad)
{
	CHECK_INT(VERDICT("\x80\x2e\x01\0\2\0\x15\0\0\0\x10"), HELLO_BAD); /* SSL 2 */
	CHECK_INT(VERDICT("\x80\x2e\x01\3\1\0\x15\0\0\0\x10"), HELLO_BAD); /* in its form */
	CHECK_INT(VERDICT("\x80\x2e\x01\3"), HELLO_MORE);
	CHECK_INT(VERDICT("\x15\3\1\0\2\1\0"), HELLO_BAD); /* an alert first */
	CHECK_INT(VERDICT("\x14\3\1\0\1\1"), HELLO_BAD);
	CHECK_INT(VERDICT("\x17\3\3\0\1\1"), HELLO_BAD);
	CHECK_INT(VERDICT("\x16\3\1\0\0"), HELLO_BAD);	     /* an empty record */
	CHECK_INT(VERDICT("\x16\3\1\x40\1"), HELLO_BAD);     /* too long a record */
	CHECK_INT(VERDICT("\x16\3\1\0\4\2"), HELLO_BAD);     /* another message */
	CHECK_INT(VERDICT("\x16\3\1\0\1\1\x17"), HELLO_BAD); /* another record between */
	CHECK_INT(VERDICT("\x16\3\1\0\4\1\0\x40\1"), HELLO_BAD);
	CHECK_INT(VERDICT("\x16\3\1\0\4\1\0\0\0"), HELLO_BAD);
	CHECK_INT(VERDICT("\x16\2\1\0\4\1\0\0\0"), HELLO_BAD); /* a version that some overlook */
}
