/* Questions of DNS and their answers, byte by byte. SPDX-License-Identifier: Apache-2.0 */
#include "gateway/process/resolver.h"

#include "t.h"

#include <stdlib.h>
#include <string.h>

enum { A = 1, PTR = 12, MX = 15, TXT = 16, AAAA = 28, SRV = 33, SVCB = 64, HTTPS = 65, ANY = 255 };

#define HEAD "\x12\x34\x01\x20\x00\x01\x00\x00\x00\x00\x00"

/* A datagram in storage of its very size. */
struct message {
	uint8_t *data;
	size_t bytes;
};

static struct message message(const char *data, size_t bytes)
{
	struct message m = {malloc(bytes + (bytes == 0)), bytes};
	memcpy(m.data, data, bytes);
	return m;
}

#define MESSAGE(text) message(text, sizeof(text) - 1)

/* A question of type @type for "Api.eXample", with @tail behind it. */
static struct message ask(int type, const char *tail, size_t bytes)
{
	char data[RESOLVER_QUERY_BYTES + 1] = HEAD "\0\3Api\7eXample\0\0\0\0\1";
	size_t at = 12 + 4 + 8 + 1 + 4;
	data[11] = bytes > 0;
	data[at - 3] = (char)type;
	memcpy(data + at, tail, bytes);
	return message(data, at + bytes);
}

static size_t answer(const struct message *m, enum resolver_result result, uint8_t *out)
{
	struct resolver_query q;
	if (!CHECK(resolver_read(&q, m->data, m->bytes)))
		return 0;
	return resolver_write(&q, result, 0xc6120100, out);
}

TEST(an_address)
{
	static const char want[] = "\x12\x34\x85\x80\0\1\0\1\0\0\0\0\3Api\7eXample\0\0\1\0\1"
				   "\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\xc6\x12\1\0";
	uint8_t out[RESOLVER_ANSWER_BYTES];
	struct message m = ask(A, "", 0);
	struct resolver_query q;
	CHECK(resolver_read(&q, m.data, m.bytes));
	CHECK_STR(q.name, "api.example");
	CHECK(q.wants_address);
	CHECK_INT(q.type, A);
	CHECK_INT(resolver_write(&q, RESOLVER_FOUND, 0xc6120100, out), sizeof want - 1);
	CHECK(memcmp(out, want, sizeof want - 1) == 0);
	free(m.data);
}

TEST(no_data_of_other_types)
{
	static const int types[] = {2, 5, 6, PTR, MX, TXT, AAAA, SRV, SVCB, HTTPS, 252, ANY};
	uint8_t out[RESOLVER_ANSWER_BYTES];
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		struct message m = ask(types[i], "", 0);
		struct resolver_query q;
		CHECK(resolver_read(&q, m.data, m.bytes) && !q.wants_address);
		CHECK_STR(q.name, "api.example");
		CHECK_INT(answer(&m, RESOLVER_FOUND, out), m.bytes);
		CHECK_INT(out[3], 0x80);
		CHECK_INT(out[7], 0);
		CHECK_INT(answer(&m, RESOLVER_REFUSED, out), m.bytes);
		CHECK_INT(out[3], 0x83);
		free(m.data);
	}
}

TEST(refused_and_full)
{
	uint8_t out[RESOLVER_ANSWER_BYTES];
	struct message m = ask(A, "", 0);
	CHECK_INT(answer(&m, RESOLVER_REFUSED, out), m.bytes);
	CHECK_INT(out[3], 0x83);
	CHECK_INT(out[7], 0);
	CHECK(memcmp(out + 12, m.data + 12, m.bytes - 12) == 0);
	CHECK_INT(answer(&m, RESOLVER_FULL, out), m.bytes);
	CHECK_INT(out[3], 0x82);
	free(m.data);
}

TEST(edns)
{
	static const char opt[] = "\0\0\x29\x10\0\0\0\x80\0\0\x0c\0\x0a\0\x08"
				  "cookie!!";
	static const char want[] = "\0\0\x29\x04\xd0\0\0\0\0\0\0";
	uint8_t out[RESOLVER_ANSWER_BYTES];
	struct message m = ask(A, opt, sizeof opt - 1);
	size_t n = answer(&m, RESOLVER_FOUND, out), question = m.bytes - (sizeof opt - 1);
	CHECK_INT(n, question + 16 + 11);
	CHECK_INT(out[7], 1);
	CHECK_INT(out[11], 1);
	CHECK(memcmp(out + n - 11, want, 11) == 0);
	n = answer(&m, RESOLVER_REFUSED, out);
	CHECK_INT(n, question + 11);
	CHECK_INT(out[3], 0x83);
	m.data[question + 6] = 1; /* a version that does not exist yet: BADVERS */
	n = answer(&m, RESOLVER_FOUND, out);
	CHECK_INT(n, question + 11);
	CHECK_INT(out[3], 0x80);
	CHECK_INT(out[7], 0);
	CHECK_INT(out[question + 5], 1);
	free(m.data);
}

static void check_error(struct message m, int rcode)
{
	uint8_t out[RESOLVER_ANSWER_BYTES];
	struct resolver_query q;
	CHECK(resolver_read(&q, m.data, m.bytes));
	CHECK_STR(q.name, "");
	CHECK(!q.wants_address);
	CHECK_INT(answer(&m, RESOLVER_FOUND, out), 12);
	CHECK(memcmp(out, m.data, 2) == 0);
	CHECK_INT(out[2], 0x84 | (m.data[2] & 0x79));
	CHECK_INT(out[3], 0x80 | rcode);
	for (int i = 4; i < 12; i++)
		CHECK_INT(out[i], 0);
	free(m.data);
}

TEST(malformed)
{
	char label[12 + 1 + 64 + 1 + 4] = HEAD "\0\x40", tail[40] = "";
	check_error(MESSAGE(HEAD "\0"), 1);
	check_error(MESSAGE(HEAD "\0\3a"), 1);
	check_error(MESSAGE(HEAD "\0\1a\0\0\1\0"), 1);
	check_error(MESSAGE(HEAD "\0\1a"), 1);
	check_error(MESSAGE(HEAD "\0\xc0\x0c\0\1\0\1"), 1);    /* a pointer */
	check_error(MESSAGE(HEAD "\0\1a\xc0\x0c\0\1\0\1"), 1); /* to itself */
	check_error(MESSAGE(HEAD "\0\1a\0\0\1\0\1x"), 1);      /* something behind it */
	check_error(MESSAGE(HEAD "\1\1a\0\0\1\0\1"), 1);       /* no record though one is said */
	check_error(MESSAGE(HEAD "\2\1a\0\0\1\0\1\0\0\x29\4\xd0\0\0\0\0\0\0"), 1);
	check_error(MESSAGE(HEAD "\1\1a\0\0\1\0\1\0\0\x29\4\xd0\0\0\0\0\0\1"), 1);
	check_error(MESSAGE(HEAD "\1\1a\0\0\1\0\1\0\0\xfa\4\xd0\0\0\0\0\0\0"), 1); /* TSIG */
	check_error(MESSAGE("\1\2\1\0\0\0\0\0\0\0\0\0"), 1);			   /* no question */
	check_error(MESSAGE("\1\2\1\0\0\0\0\0\0\0\0\0\1a\0\0\1\0\1"), 1);
	check_error(MESSAGE("\1\2\1\0\0\2\0\0\0\0\0\0\1a\0\0\1\0\1"), 1);
	check_error(MESSAGE("\1\2\1\0\0\2\0\0\0\0\0\0\1a\0\0\1\0\1\1b\0\0\1\0\1"), 1);
	check_error(MESSAGE("\1\2\1\0\0\1\0\1\0\0\0\0\1a\0\0\1\0\1"), 1); /* with an answer */
	check_error(message(label, sizeof label), 1);			  /* a label of 64 bytes */
	check_error(ask(A, tail, sizeof tail), 1);
}

TEST(the_longest_query)
{
	enum { QUESTION = 12 + 13 + 4, OPT = 11 };
	static const char opt[] = "\0\0\x29\4\xd0\0\0\0\0";
	char tail[RESOLVER_QUERY_BYTES + 1 - QUESTION] = "";
	uint8_t out[RESOLVER_ANSWER_BYTES];
	size_t n = RESOLVER_QUERY_BYTES - QUESTION;
	memcpy(tail, opt, sizeof opt - 1);
	tail[9] = (char)((n - OPT) >> 8);
	tail[10] = (char)(n - OPT);
	struct message m = ask(A, tail, n);
	CHECK_INT(m.bytes, RESOLVER_QUERY_BYTES);
	CHECK_INT(answer(&m, RESOLVER_FOUND, out), QUESTION + 16 + OPT);
	free(m.data);
	tail[9] = (char)((n + 1 - OPT) >> 8);
	tail[10] = (char)(n + 1 - OPT);
	check_error(ask(A, tail, n + 1), 1);
}

TEST(other_opcodes)
{
	check_error(MESSAGE("\1\2\x29\0\0\1\0\0\0\0\0\0\1a\0\0\6\0\1"), 4); /* UPDATE */
	check_error(MESSAGE("\1\2\x20\0\0\1\0\0\0\0\0\0\1a\0\0\6\0\1"), 4); /* NOTIFY */
	check_error(MESSAGE("\1\2\x10\0\0\0\0\0\0\0\0\0"), 4);		    /* STATUS */
}

TEST(what_gets_no_answer)
{
	static const char text[] = "\1\2\x81\x80\0\1\0\0\0\0\0\0\1a\0\0\1\0\1";
	struct resolver_query q;
	struct message m = MESSAGE(text);
	CHECK(!resolver_read(&q, m.data, m.bytes)); /* it is an answer itself */
	m.data[2] = 1;
	CHECK(resolver_read(&q, m.data, m.bytes));
	free(m.data);
	for (size_t n = 0; n < 12; n++) {
		m = message(HEAD, n);
		CHECK(!resolver_read(&q, m.data, m.bytes));
		free(m.data);
	}
}

static void check_settled(struct message m, int rcode)
{
	uint8_t out[RESOLVER_ANSWER_BYTES];
	struct resolver_query q;
	CHECK(resolver_read(&q, m.data, m.bytes));
	CHECK_STR(q.name, "");
	CHECK_INT(answer(&m, RESOLVER_FOUND, out), m.bytes);
	CHECK_INT(out[3], 0x80 | rcode);
	CHECK_INT(out[7], 0);
	free(m.data);
}

TEST(no_host_has_such_a_name)
{
	check_settled(MESSAGE(HEAD "\0\0\0\1\0\1"), 3);	      /* the root */
	check_settled(MESSAGE(HEAD "\0\3a.b\0\0\1\0\1"), 3);  /* a dot in a label */
	check_settled(MESSAGE(HEAD "\0\3a\0b\0\0\1\0\1"), 3); /* a NUL */
	check_settled(MESSAGE(HEAD "\0\1\xff\0\0\1\0\1"), 3);
	check_settled(MESSAGE(HEAD "\0\1"
				   "1\1"
				   "2\1"
				   "3\1"
				   "4\0\0\1\0\1"),
		3);
	check_settled(MESSAGE(HEAD "\0\1a\0\0\1\0\3"), 5); /* of CHAOS */
	check_settled(MESSAGE(HEAD "\0\1a\0\0\1\0\xff"), 5);
}

TEST(the_longest_name)
{
	uint8_t out[RESOLVER_ANSWER_BYTES];
	char data[400] = HEAD;
	size_t at = 12;
	for (int i = 0; i < 4; i++) {
		size_t len = i < 3 ? 63 : 61;
		data[at++] = (char)len;
		memset(data + at, 'x', len);
		at += len;
	}
	struct resolver_query q;
	memcpy(data + at, "\0\0\1\0\1", 5);
	struct message m = message(data, at + 5);
	CHECK(resolver_read(&q, m.data, m.bytes));
	CHECK_INT(strlen(q.name), 253);
	CHECK_INT(resolver_write(&q, RESOLVER_FOUND, 1, out), m.bytes + 16);
	free(m.data);
	data[12 + 3 * 64] = 62;
	memcpy(data + at, "x\0\0\1\0\1", 6);
	check_error(message(data, at + 6), 1);
}
