/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/process/resolver.h"

#include <string.h>

enum {
	HEADER_BYTES = 12,
	QUESTION_TAIL_BYTES = 4, /* type and class, behind the name */
	NAME_BYTES = 255,
	OPT_BYTES = 11, /* without options */
	LABEL_MAX = 63,
};
enum { TYPE_A = 1, TYPE_OPT = 41, CLASS_IN = 1 };
enum {
	NO_ERROR = 0,
	FORMERR = 1,
	SERVFAIL = 2,
	NXDOMAIN = 3,
	NOTIMP = 4,
	REFUSED = 5,
	BADVERS = 16
};
/* Of the header's third and fourth byte. */
enum { QR = 0x80, OPCODE = 0x78, AA = 0x04, RD = 0x01, RA = 0x80 };

static uint16_t u16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static void put_u16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

/*
 * Read the name that begins at @at. A pointer is an error: nothing stands before it that it could
 * point to.
 * Returns: where it ends; 0: it is malformed. @out is "" if no host can have the name.
 */
static size_t read_name(char out[RULE_HOST_BYTES], const uint8_t *data, size_t bytes, size_t at)
{
	char name[NAME_BYTES + 1];
	size_t start = at, n = 0;
	bool is_host = true;
	while (at < bytes && data[at] != 0) {
		size_t len = data[at++];
		if (len > LABEL_MAX || len >= bytes - at || at + len - start >= NAME_BYTES)
			return 0;
		is_host = is_host && !memchr(data + at, '.', len);
		memcpy(name + n, data + at, len);
		n += len;
		name[n++] = '.';
		at += len;
	}
	if (at >= bytes)
		return 0;
	if (!is_host || !rule_name(out, name, n))
		out[0] = '\0';
	return at + 1;
}

/* Read what follows the question. Returns: an rcode. */
static uint8_t read_edns(
	struct resolver_query *out, const uint8_t *data, size_t bytes, unsigned n_records)
{
	if (n_records == 0)
		return bytes == 0 ? NO_ERROR : FORMERR;
	if (n_records > 1 || bytes < OPT_BYTES || data[0] != 0 || u16(data + 1) != TYPE_OPT ||
		u16(data + 9) != bytes - OPT_BYTES)
		return FORMERR;
	out->has_edns = true;
	return data[6] == 0 ? NO_ERROR : BADVERS;
}

/* Read all behind the header. Returns: an rcode; NO_ERROR: @out has a name. */
static uint8_t read_question(struct resolver_query *out, const uint8_t *data, size_t bytes)
{
	if (u16(data + 4) != 1 || u16(data + 6) != 0 || u16(data + 8) != 0)
		return FORMERR;
	size_t at = read_name(out->name, data, bytes, HEADER_BYTES);
	if (at == 0 || bytes - at < QUESTION_TAIL_BYTES)
		return FORMERR;
	out->type = u16(data + at);
	uint16_t class = u16(data + at + 2);
	at += QUESTION_TAIL_BYTES;
	uint8_t rcode = read_edns(out, data + at, bytes - at, u16(data + 10));
	if (rcode == FORMERR)
		return rcode;
	out->echo_bytes = at;
	if (rcode != NO_ERROR)
		return rcode;
	if (class != CLASS_IN)
		return REFUSED;
	return out->name[0] ? NO_ERROR : NXDOMAIN;
}

bool resolver_read(struct resolver_query *out, const uint8_t *data, size_t bytes)
{
	if (bytes < HEADER_BYTES || data[2] & QR)
		return false;
	*out = (struct resolver_query){.echo_bytes = HEADER_BYTES, .data = data};
	if (data[2] & OPCODE)
		out->rcode = NOTIMP;
	else if (bytes > RESOLVER_QUERY_BYTES)
		out->rcode = FORMERR;
	else
		out->rcode = read_question(out, data, bytes);
	if (out->rcode != NO_ERROR)
		out->name[0] = '\0';
	out->wants_address = out->name[0] && out->type == TYPE_A;
	return true;
}

static size_t put_address(uint8_t *out, uint32_t v4)
{
	/* The name is the question's. */
	static const uint8_t record[] = {
		0xc0, HEADER_BYTES, 0, TYPE_A, 0, CLASS_IN, 0, 0, 0, RESOLVER_TTL_S, 0, 4};
	memcpy(out, record, sizeof record);
	put_u16(out + sizeof record, (uint16_t)(v4 >> 16));
	put_u16(out + sizeof record + 2, (uint16_t)v4);
	return sizeof record + 4;
}

size_t resolver_write(const struct resolver_query *q, enum resolver_result result, uint32_t v4,
	uint8_t out[RESOLVER_ANSWER_BYTES])
{
	static const uint8_t rcodes[] = {[RESOLVER_FOUND] = NO_ERROR,
		[RESOLVER_REFUSED] = NXDOMAIN,
		[RESOLVER_FULL] = SERVFAIL};
	uint8_t rcode = q->rcode != NO_ERROR ? q->rcode : rcodes[result];
	size_t at = q->echo_bytes;
	memcpy(out, q->data, at);
	out[2] = (uint8_t)(QR | AA | (out[2] & (OPCODE | RD)));
	out[3] = (uint8_t)(RA | (rcode & 0x0f));
	memset(out + 4, 0, HEADER_BYTES - 4);
	out[5] = at > HEADER_BYTES;
	if (rcode == NO_ERROR && q->wants_address) {
		out[7] = 1;
		at += put_address(out + at, v4);
	}
	if (q->has_edns) {
		memset(out + at, 0, OPT_BYTES);
		out[11] = 1;
		put_u16(out + at + 1, TYPE_OPT);
		put_u16(out + at + 3, RESOLVER_QUERY_BYTES);
		out[at + 5] = rcode >> 4;
		at += OPT_BYTES;
	}
	return at;
}
