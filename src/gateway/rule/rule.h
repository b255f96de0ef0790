/*
 * Network rules: which names and ports a box may connect to. Pure.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   HOST[:PORT]             one name; without a port, 80 and 443
 *   *.HOST[:PORT]           all names below HOST, at any depth, but not HOST itself
 *   ADDRESS[:PORT]          one IPv4 address
 *   ADDRESS/BITS[:PORT]     the IPv4 addresses of a network
 *   any[:PORT]              every name, and no address
 *   ask[:PORT]              every name, if a person allows the connection
 *   HOST:PORT=ADDRESS[:PORT]  one name, which is the given address of the host's network, IPv4 or
 *                           [IPv6]; so a service of the host can be reached: db:5432=127.0.0.1:5432
 *   !RULE                   the name may also have an address of a private network, but not of the
 *                           host itself or of its link: for these, there is "="
 *   METHOD HOST[:PORT]/PATH  HTTP requests, with or without TLS: GET api.example/v1/users*. HOST
 *                           may be *.HOST or any. METHOD: in capitals; "*" is every method, GET
 *                           allows HEAD too, WEBSOCKET is what a WebSocket begins with. In PATH,
 *                           "*" is any text without "/", and at the end any text. Any query fits
 *
 * Names are compared without regard to case. A rule that names an address allows it, public or not,
 * so "!" is refused there.
 *
 * Of the rules that fit a name, the most specific decides, wherever it stands: HOST before *.HOST,
 * a longer *.HOST before a shorter one, then any, and ask last. So "any" and "!db.internal:5432"
 * together let db.internal alone be private. Of rules for the same names, one with "=" decides
 * before one without, and one with "!" before one without. If one of the rules that decide is for
 * requests, then requests are all that is allowed, of these names and this port: TLS ends at the
 * gateway, and a request must fit one of these rules. So "any" and "GET api.example/v1" together
 * allow all of every other host, but of api.example one request. "GET any/" with a "*" behind it
 * lets programs read everything, and send nothing but a query.
 */
#pragma once

#include "base/err.h"
#include "gateway/rule/ip.h"
#include "gateway/rule/request.h"

enum {
	RULES_MAX = 64,
	RULE_HOST_BYTES = 254,			/* the longest name, with its NUL; RFC 1035 */
	RULE_HOSTS_BYTES = RULE_HOST_BYTES + 2, /* "*." and the longest name */
	RULE_TEXT_BYTES = 640,
	RULE_PORT_HTTP = 80,
	RULE_PORT_HTTPS = 443
};

enum rule_kind { RULE_NAME, RULE_BELOW, RULE_NETWORK, RULE_ANY, RULE_ASK };

struct rule {
	enum rule_kind kind;
	bool may_be_private;
	bool is_mapped; /* @to and @to_port are where the name leads */
	bool is_http;	/* only for requests that @method and @path fit; not RULE_NETWORK */
	uint16_t port;	/* 0: RULE_PORT_HTTP and RULE_PORT_HTTPS */
	uint16_t to_port;
	uint32_t network; /* RULE_NETWORK: in host byte order, the bits beyond @bits are 0 */
	uint8_t bits;	  /* RULE_NETWORK: 1 to 32 */
	struct ip to;
	char host[RULE_HOST_BYTES]; /* RULE_NAME, RULE_BELOW: lower case, without "*." */
	char method[RULE_METHOD_BYTES], path[RULE_PATH_BYTES];
};

/* Rules, in the order they were given. */
struct rules {
	struct rule v[RULES_MAX];
	size_t n;
};

/* Read one rule. Errors: ERR_USAGE, with a sentence that says what is wrong with @text. */
int rule_parse(struct rule *out, const char *text, struct err *err);
void rule_write(const struct rule *r, char out[RULE_TEXT_BYTES]);
/* Write only the hosts of a rule: "api.example", "*.example.org", "192.0.2.0/24", "any", "ask". */
void rule_write_hosts(const struct rule *r, char out[RULE_HOSTS_BYTES]);

/* Read @n rules. "none" alone is no rule; with others it is an error. A rule that is there twice is
 * kept once. Errors: ERR_USAGE; ERR_LIMIT for more than RULES_MAX. */
int rules_parse(struct rules *out, const char *const *texts, size_t n, struct err *err);

/* Make @name what rules are compared with: lower case, without a dot at its end. @out may be @name.
 * Returns: false if @name is no name of a host: too long, an empty label, a label of more than 63
 * bytes, other bytes than letters, digits, '-' and '_', or an address in any notation (a last label
 * of digits or 0x…). */
bool rule_name(char out[RULE_HOST_BYTES], const char *name, size_t bytes);

/* Return whether @name, as rule_name() made it, is the sandbox itself: localhost, or below it. */
bool rule_name_is_local(const char *name);

/* Read a port: digits, 1 to 65535. */
bool rule_port(uint16_t *out, const char *digits, size_t bytes);

/* Return the rule that decides for @name, as rule_name() made it, with any port or just @port; or
 * NULL if none fits. */
const struct rule *rules_for_name(const struct rules *r, const char *name);
const struct rule *rules_for_port(const struct rules *r, const char *name, uint16_t port);
/* Return a rule that names the IPv4 address @v4, in host byte order, and @port; or NULL. */
const struct rule *rules_for_address(const struct rules *r, uint32_t v4, uint16_t port);

/* Return whether only HTTP requests are allowed of @name, as rule_name() made it, and @port. */
bool rules_are_http(const struct rules *r, const char *name, uint16_t port);
/* Return whether there is a rule for requests among the rules. */
bool rules_have_http(const struct rules *r);
/* Return whether a rule allows @request of @name, as rule_name() made it, and @port. */
bool rules_allow_request(
	const struct rules *r, const char *name, uint16_t port, const struct rule_request *request);

/* Collect the ports that the rules name, each once. Returns: how many, at most 2 * RULES_MAX. */
size_t rules_ports(const struct rules *r, uint16_t out[2 * RULES_MAX]);
