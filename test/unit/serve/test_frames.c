/* The messages of a WebSocket, as bytes and back. SPDX-License-Identifier: Apache-2.0 */
#include "serve/web/frames.h"

#include "t.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LAST = 0x80, MASKED = 0x80, TEXT = 1, BINARY = 2, CLOSE = 8, PING = 9, PONG = 10 };

struct bench {
	struct frames *frames;
	struct buf in,
		got; /* what the client sends; the messages that came, each followed by "|" */
	unsigned n;
	size_t n_bytes;
};

static void on_message(void *arg, bool is_text, const char *data, size_t bytes)
{
	struct bench *b = arg;
	b->n++;
	b->n_bytes += bytes;
	if (bytes < 100) {
		buf_add(&b->got, is_text ? "t:" : "b:");
		(void)buf_append(&b->got, data, bytes);
		buf_add(&b->got, "|");
	}
}

static void bench_open(struct bench *b)
{
	struct err err;
	*b = (struct bench){.in = BUF_INIT(8 << 20), .got = BUF_INIT(1 << 16)};
	const struct frames_config config = {.message = on_message, .arg = b};
	CHECK_INT(frames_open(&b->frames, &config, &err), 0);
}

static void bench_done(struct bench *b)
{
	frames_free(b->frames);
	buf_done(&b->in);
	buf_done(&b->got);
}

/* Add a frame that the client sends. */
static void add(struct bench *b, int first, const char *data, size_t bytes)
{
	static const unsigned char mask[4] = {0x37, 0xfa, 0x21, 0x3d};
	unsigned char head[10] = {(unsigned char)first};
	size_t n = 2;
	if (bytes < 126) {
		head[1] = (unsigned char)(MASKED | bytes);
	} else {
		head[1] = MASKED | 127;
		for (n = 2; n < 10; n++)
			head[n] = (unsigned char)((uint64_t)bytes >> 8 * (9 - n));
	}
	(void)buf_append(&b->in, (char *)head, n);
	(void)buf_append(&b->in, (const char *)mask, sizeof mask);
	for (size_t i = 0; i < bytes; i++)
		(void)buf_append(&b->in, &(char){(char)((unsigned char)data[i] ^ mask[i % 4])}, 1);
}

static void add_text(struct bench *b, int first, const char *text)
{
	add(b, first, text, strlen(text));
}

/* Have all of it read, @step bytes at a time. */
static void read_all(struct bench *b, size_t step)
{
	for (size_t at = 0; at < b->in.bytes; at += step)
		frames_read(b->frames, b->in.data + at, MIN(step, b->in.bytes - at));
	buf_clear(&b->in);
}

/* Take a frame, up to 125 bytes long, of what is sent to the client. Returns: its first byte; 0 if
 * nothing is there. */
static int take(struct bench *b, char out[126])
{
	struct buf *sent = frames_out(b->frames);
	out[0] = '\0';
	if (sent->bytes < 2)
		return 0;
	int first = (unsigned char)sent->data[0];
	size_t n = (unsigned char)sent->data[1];
	CHECK(n < 126 && sent->bytes >= n + 2);
	memcpy(out, sent->data + 2, n);
	out[n] = '\0';
	buf_consume(sent, n + 2);
	return first;
}

/* Return the code of the close that is sent; -1: it has none; 0: there is no close. */
static int closed_with(struct bench *b)
{
	char data[126];
	int first;
	while ((first = take(b, data)) != 0)
		if (first == (LAST | CLOSE))
			return data[0] ? (unsigned char)data[0] << 8 | (unsigned char)data[1] : -1;
	return 0;
}

TEST(messages_come_whatever_the_pieces)
{
	for (size_t step = 1; step < 40; step++) {
		struct bench b;
		char data[126];
		bench_open(&b);
		add_text(&b, LAST | TEXT, "one");
		add_text(&b, BINARY, "t");
		add_text(&b, 0, "w");
		add_text(&b, LAST | PING, "hello");
		add_text(&b, LAST, "o");
		add_text(&b, LAST | TEXT, "");
		add_text(&b, LAST | PONG, "unasked");
		read_all(&b, step);
		CHECK_STR(buf_str(&b.got), "t:one|b:two|t:|");
		CHECK_INT(take(&b, data), LAST | PONG);
		CHECK_STR(data, "hello");
		CHECK_INT(take(&b, data), 0);
		CHECK(!frames_is_over(b.frames));
		bench_done(&b);
	}
}

TEST(messages_are_sent)
{
	struct bench b;
	char data[126];
	bench_open(&b);
	CHECK_INT(frames_send(b.frames, true, "text", 4), 0);
	CHECK_INT(frames_send(b.frames, false, "\xff\xfe", 2), 0);
	CHECK_INT(frames_ping(b.frames), 0);
	CHECK_INT(frames_waiting(b.frames), 6 + 4 + 2);
	CHECK_INT(take(&b, data), LAST | TEXT);
	CHECK_STR(data, "text");
	CHECK_INT(take(&b, data), LAST | BINARY);
	CHECK_STR(data, "\xff\xfe");
	CHECK_INT(take(&b, data), LAST | PING);
	CHECK_INT(frames_waiting(b.frames), 0);
	bench_done(&b);
}

/* What is not taken waits, and comes in its order. */
TEST(many_messages_wait)
{
	enum { MESSAGES = 100, BYTES = 10000 };
	struct bench b;
	static char data[BYTES];
	size_t n = 0;
	bench_open(&b);
	for (int i = 0; i < MESSAGES; i++) {
		memset(data, i, sizeof data);
		CHECK_INT(frames_send(b.frames, false, data, sizeof data), 0);
	}
	CHECK(frames_waiting(b.frames) >= MESSAGES * BYTES);
	struct buf *out;
	while ((out = frames_out(b.frames))->bytes > 0) {
		CHECK(out->bytes <= 256 << 10);
		for (size_t i = 0; i < out->bytes; i++, n++)
			if (n % (BYTES + 4) >= 4 &&
				!CHECK_INT((unsigned char)out->data[i], n / (BYTES + 4)))
				break;
		buf_clear(out);
	}
	CHECK_INT(n, MESSAGES * (BYTES + 4));
	CHECK_INT(frames_waiting(b.frames), 0);
	bench_done(&b);
}

TEST(what_breaks_the_protocol_closes)
{
	static const struct {
		const char *bytes;
		size_t n;
		int code; /* -1: without a code */
	} rows[] = {
		{"\x82\x01x", 3, 1002},	       /* not masked */
		{"\xc2\x80\0\0\0\0", 6, 1002}, /* reserved bits */
		{"\x83\x80\0\0\0\0", 6, 1002}, /* unknown */
		{"\x80\x80\0\0\0\0", 6, 1002}, /* goes on with nothing */
		{"\x01\x80\0\0\0\0\x81\x80\0\0\0\0", 12, 1002},
		{"\x81\x82\0\0\0\0\xff\xfe", 8, 1007},
		{"\x81\x83\0\0\0\0\xed\xa0\x80", 9, 1007}, /* a surrogate */
		{"\x81\x82\0\0\0\0\xe2\x98", 8, 1007},	   /* cut off */
		{"\x09\x80\0\0\0\0", 6, -1},
		{"\x89\xfe\x00\x7e\0\0\0\0x", 9, -1},
		{"\x82\xff\x40\0\0\0\0\0\0\0\0\0\0\0x", 15, 1009},
		{"\x82\xff\xff\0\0\0\0\0\0\0\0\0\0\0x", 15, -1},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct bench b;
		bench_open(&b);
		frames_read(b.frames, rows[i].bytes, rows[i].n);
		CHECK_INT(closed_with(&b), rows[i].code);
		CHECK(frames_is_over(b.frames));
		CHECK(!frames_is_answered(b.frames));
		CHECK_INT(b.n, 0);
		CHECK_INT(frames_send(b.frames, true, "x", 1), -EPIPE);
		add_text(&b, LAST | TEXT, "late");
		read_all(&b, 100);
		CHECK_INT(b.n, 0);
		bench_done(&b);
	}
}

TEST(messages_have_a_maximum)
{
	static char data[FRAMES_MESSAGE_BYTES + 1];
	for (int more = 0; more < 2; more++)
		for (int parts = 1; parts < 3; parts++) {
			struct bench b;
			bench_open(&b);
			size_t all = FRAMES_MESSAGE_BYTES + (size_t)more,
			       first = all / (size_t)parts;
			add(&b, (parts == 1 ? LAST : 0) | BINARY, data, first);
			if (parts == 2)
				add(&b, LAST, data, all - first);
			read_all(&b, 60000);
			CHECK_INT(b.n_bytes, more ? 0 : all);
			CHECK_INT(closed_with(&b), more ? 1009 : 0);
			bench_done(&b);
		}
}

TEST(closes)
{
	struct bench b;
	bench_open(&b);
	CHECK_INT(frames_close(b.frames, FRAMES_GOING_AWAY, "bye"), 0);
	CHECK_INT(frames_send(b.frames, true, "x", 1), -EPIPE);
	CHECK_INT(frames_ping(b.frames), -EPIPE);
	CHECK_INT(closed_with(&b), FRAMES_GOING_AWAY);
	CHECK(!frames_is_over(b.frames));
	add(&b, LAST | CLOSE, "\x03\xe9", 2);
	read_all(&b, 3);
	CHECK(frames_is_over(b.frames));
	CHECK(frames_is_answered(b.frames));
	CHECK_INT(closed_with(&b), 0);
	bench_done(&b);

	bench_open(&b);
	add(&b, LAST | CLOSE,
		"\x0f\xa0"
		"because",
		9);
	add_text(&b, LAST | TEXT, "late");
	read_all(&b, 1000);
	CHECK_INT(closed_with(&b), 4000);
	CHECK(frames_is_over(b.frames) && frames_is_answered(b.frames));
	CHECK_INT(b.n, 0);
	bench_done(&b);
}

TEST(keys)
{
	static const struct {
		const char *key, *want;
	} rows[] = {
		{"dGhlIHNhbXBsZSBub25jZQ==", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="}, /* RFC 6455, 1.3 */
		{"", NULL},
		{"dGhlIHNhbXBsZSBub25jZQ", NULL},
		{"dGhlIHNhbXBsZSBub25jZQ== ", NULL},
		{"AAAA", NULL},
		{"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", NULL},
		{"!", NULL},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char out[FRAMES_ACCEPT_BYTES] = "";
		struct err err = {0};
		int r = frames_accept(rows[i].key, out, &err);
		CHECK_INT(r == 0, rows[i].want != NULL);
		CHECK_STR(out, rows[i].want ? rows[i].want : "");
		if (r < 0)
			CHECK_INT(err.code, ERR_USAGE);
	}
}
