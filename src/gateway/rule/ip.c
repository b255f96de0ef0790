/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/rule/ip.h"

#include "base/attr.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

/* A network, and what its addresses are. */
struct network {
	uint8_t prefix[16];
	uint8_t bits;
	uint8_t carried_at; /* where an IPv4 address stands in it, which is looked at first; 0: none
			     */
	const char *kind;   /* NULL: public */
};

enum { V4_BITS = 96, V4_AT = 12 };

#define V4(a, b, c, d)                                                                             \
	{                                                                                          \
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d                               \
	}

/* The first that fits decides. */
static const struct network networks[] = {
	{V4(0, 0, 0, 0), V4_BITS + 8, 0, "unspecified"},
	{V4(10, 0, 0, 0), V4_BITS + 8, 0, "private"},
	{V4(100, 64, 0, 0), V4_BITS + 10, 0, "private"}, /* of a provider, behind its NAT */
	{V4(127, 0, 0, 0), V4_BITS + 8, 0, "loopback"},
	/* Not in the registries: in Azure, the host of each machine answers here. */
	{V4(168, 63, 129, 16), V4_BITS + 32, 0, "the cloud's own"},
	{V4(169, 254, 0, 0), V4_BITS + 16, 0, "link-local"}, /* and the metadata of clouds */
	{V4(172, 16, 0, 0), V4_BITS + 12, 0, "private"},
	{V4(192, 0, 0, 0), V4_BITS + 24, 0, "reserved"},
	{V4(192, 0, 2, 0), V4_BITS + 24, 0, "for documentation"},
	{V4(192, 88, 99, 0), V4_BITS + 24, 0, "a tunnel"}, /* relays of 6to4 */
	{V4(192, 168, 0, 0), V4_BITS + 16, 0, "private"},
	{V4(198, 18, 0, 0), V4_BITS + 15, 0, "for benchmarks"}, /* stands for names in boxes */
	{V4(198, 51, 100, 0), V4_BITS + 24, 0, "for documentation"},
	{V4(203, 0, 113, 0), V4_BITS + 24, 0, "for documentation"},
	{V4(224, 0, 0, 0), V4_BITS + 4, 0, "multicast"},
	{V4(255, 255, 255, 255), V4_BITS + 32, 0, "broadcast"},
	{V4(240, 0, 0, 0), V4_BITS + 4, 0, "reserved"},
	{V4(0, 0, 0, 0), V4_BITS, 0, NULL},
	{{0}, 128, 0, "unspecified"},
	{{[15] = 1}, 128, 0, "loopback"},
	{{0}, 96, 12, "a tunnel"},			     /* v4-compatible */
	{{0, 0x64, 0xff, 0x9b}, 96, 12, NULL},		     /* NAT64 */
	{{0, 0x64, 0xff, 0x9b, 0, 1}, 48, 0, "private"},     /* NAT64, local use: RFC 8215 */
	{{1}, 64, 0, "discarded"},			     /* 100::/64 */
	{{0x20, 1}, 32, 0, "a tunnel"},			     /* Teredo */
	{{0x20, 1, 0, 2}, 48, 0, "for benchmarks"},	     /* 2001:2::/48 */
	{{0x20, 1}, 23, 0, "reserved"},			     /* protocol assignments, ORCHID */
	{{0x20, 1, 0x0d, 0xb8}, 32, 0, "for documentation"}, /* 2001:db8::/32 */
	{{0x20, 2}, 16, 2, "a tunnel"},			     /* 6to4 */
	{{0x3f, 0xff}, 20, 0, "for documentation"},	     /* 3fff::/20 */
	{{0x20}, 3, 0, NULL},				     /* what is given out: 2000::/3 */
	{{0xfc}, 7, 0, "private"},			     /* unique local */
	{{0xfe, 0x80}, 10, 0, "link-local"},
	{{0xfe, 0xc0}, 10, 0, "private"}, /* site-local */
	{{0xff}, 8, 0, "multicast"},
	{{0}, 0, 0, "reserved"},
};

static bool is_within(const struct ip *a, const struct network *n)
{
	size_t whole = n->bits / 8;
	if (memcmp(a->bytes, n->prefix, whole) != 0)
		return false;
	return n->bits % 8 == 0 || (a->bytes[whole] ^ n->prefix[whole]) >> (8 - n->bits % 8) == 0;
}

/* ISATAP stands behind any prefix. Source: RFC 5214, 6.1. */
static bool is_isatap(const struct ip *a)
{
	static const uint8_t id[] = {0, 0, 0x5e, 0xfe};
	const uint8_t is[] = {a->bytes[8] & 0xfd, a->bytes[9], a->bytes[10], a->bytes[11]};
	return memcmp(id, is, sizeof id) == 0;
}

static const char *kind_of_carried(const struct ip *a, size_t at, const char *otherwise)
{
	struct ip carried = {V4(0, 0, 0, 0)};
	memcpy(carried.bytes + V4_AT, a->bytes + at, 4);
	const char *kind = ip_kind(&carried);
	return kind ? kind : otherwise;
}

const char *ip_kind(const struct ip *a)
{
	const struct network *n = networks;
	while (!is_within(a, n))
		n++;
	const char *kind = n->carried_at > 0 ? kind_of_carried(a, n->carried_at, n->kind) : n->kind;
	if (!kind && !ip_is_v4(a, NULL) && is_isatap(a))
		kind = kind_of_carried(a, V4_AT, "a tunnel");
	return kind;
}

bool ip_is_own(const struct ip *a)
{
	static const char *const kinds[] = {"unspecified", "loopback", "link-local",
		"the cloud's own", "multicast", "broadcast"};
	const char *kind = ip_kind(a);
	for (size_t i = 0; kind && i < ARRAY_LEN(kinds); i++)
		if (strcmp(kind, kinds[i]) == 0)
			return true;
	return false;
}

bool ip_parse(struct ip *out, const char *text)
{
	struct ip a = {V4(0, 0, 0, 0)};
	if (inet_pton(AF_INET, text, a.bytes + V4_AT) != 1 &&
		inet_pton(AF_INET6, text, a.bytes) != 1)
		return false;
	*out = a;
	return true;
}

void ip_write(const struct ip *a, char out[IP_TEXT_BYTES])
{
	if (ip_is_v4(a, NULL))
		(void)inet_ntop(AF_INET, a->bytes + V4_AT, out, IP_TEXT_BYTES);
	else
		(void)inet_ntop(AF_INET6, a->bytes, out, IP_TEXT_BYTES);
}

struct ip ip_of_v4(uint32_t v4)
{
	struct ip a = {
		V4((uint8_t)(v4 >> 24), (uint8_t)(v4 >> 16), (uint8_t)(v4 >> 8), (uint8_t)v4)};
	return a;
}

bool ip_is_v4(const struct ip *a, uint32_t *v4)
{
	static const struct network mapped = {V4(0, 0, 0, 0), V4_BITS, 0, NULL};
	uint32_t net;
	if (!is_within(a, &mapped))
		return false;
	memcpy(&net, a->bytes + V4_AT, sizeof net);
	if (v4)
		*v4 = ntohl(net);
	return true;
}

bool ip_from(struct ip *out, const struct sockaddr *sa)
{
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	if (sa->sa_family == AF_INET) {
		memcpy(&in, sa, sizeof in);
		*out = ip_of_v4(ntohl(in.sin_addr.s_addr));
		return true;
	}
	if (sa->sa_family != AF_INET6)
		return false;
	memcpy(&in6, sa, sizeof in6);
	memcpy(out->bytes, &in6.sin6_addr, sizeof out->bytes);
	return true;
}

socklen_t ip_to(const struct ip *a, uint16_t port, struct sockaddr_storage *out)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	bool is_v4 = ip_is_v4(a, NULL);
	*out = (struct sockaddr_storage){0};
	memcpy(&in.sin_addr, a->bytes + V4_AT, sizeof in.sin_addr);
	memcpy(&in6.sin6_addr, a->bytes, sizeof in6.sin6_addr);
	if (is_v4)
		memcpy(out, &in, sizeof in);
	else
		memcpy(out, &in6, sizeof in6);
	return is_v4 ? sizeof in : sizeof in6;
}
