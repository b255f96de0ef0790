/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/rule/rule.h"

#include "base/ascii.h"
#include "base/attr.h"

#include <string.h>
#include <strings.h>
#include <stdio.h>

enum { LABEL_MAX = 63, V4_BITS = 32 };
/* How specific a rule is. That of RULE_BELOW grows with the length of its name. */
enum { LEVEL_ASK = 1, LEVEL_ANY, LEVEL_BELOW, LEVEL_NAME = 1024 };

static int bad(struct err *err, const char *text, const char *problem, const char *hint)
{
	return err_fail(err, ERR_USAGE, hint, "network rule \"%.100s\": %s", text, problem);
}

/* Whether the last label is one that libraries read as a number of an address: "1", "0x7f". */
static bool is_number(const char *label, size_t bytes)
{
	if (bytes >= 2 && label[0] == '0' && (label[1] | 0x20) == 'x')
		return true;
	for (size_t i = 0; i < bytes; i++)
		if (!ascii_is_digit((unsigned char)label[i]))
			return false;
	return true;
}

bool rule_name(char out[RULE_HOST_BYTES], const char *name, size_t bytes)
{
	size_t label = 0;
	if (bytes > 0 && name[bytes - 1] == '.')
		bytes--;
	if (bytes == 0 || bytes >= RULE_HOST_BYTES)
		return false;
	for (size_t i = 0; i < bytes; i++) {
		unsigned char c = (unsigned char)name[i];
		bool is_dot = c == '.';
		if (is_dot ? i == label : !ascii_is_name(c) && c != '-')
			return false;
		if (i - label > LABEL_MAX || (!is_dot && i - label == LABEL_MAX))
			return false;
		label = is_dot ? i + 1 : label;
	}
	if (label == bytes || is_number(name + label, bytes - label))
		return false;
	for (size_t i = 0; i < bytes; i++)
		out[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] | 0x20 : name[i]);
	out[bytes] = '\0';
	return true;
}

bool rule_name_is_local(const char *name)
{
	static const char local[] = ".localhost";
	size_t bytes = strlen(name), n = sizeof local - 1;
	return strcmp(name, local + 1) == 0 || (bytes > n && strcmp(name + bytes - n, local) == 0);
}

bool rule_port(uint16_t *out, const char *digits, size_t bytes)
{
	uint32_t port = 0;
	if (bytes == 0 || bytes > 5)
		return false;
	for (size_t i = 0; i < bytes; i++) {
		if (!ascii_is_digit((unsigned char)digits[i]))
			return false;
		port = port * 10 + (uint32_t)(digits[i] - '0');
	}
	if (port == 0 || port > UINT16_MAX)
		return false;
	*out = (uint16_t)port;
	return true;
}

static int bad_port(struct err *err, const char *text, const char *port)
{
	return err_fail(err, ERR_USAGE,
		"ports go from 1 to 65535; without one, 80 and 443 are meant",
		"network rule \"%.100s\": \"%.20s\" is no port", text, port);
}

/* A URL: say which rule would be for its host. */
static int bad_url(struct err *err, const char *text, const char *url)
{
	char authority[RULE_AUTHORITY_BYTES];
	(void)bad(err, text, "a rule names a host, not a URL", "--net api.example:443");
	return err_negative(
		rule_url_authority(authority, url) ? err_hint(err, "--net %.240s", authority) : -1);
}

/* What no rule @text has before its path: in @part. */
static int check_bytes(const char *part, const char *text, struct err *err)
{
	for (const char *s = part; *s; s++) {
		unsigned char c = (unsigned char)*s;
		if (c >= 0x80)
			return bad(err, text, "it has letters that are not ASCII",
				"write the name as DNS has it: xn--bcher-kva.example");
		if (c <= ' ' || c == ',' || c == 0x7f)
			return bad(err, text, "it has a space or a comma",
				"one rule each: --net api.example:443 --net db:5432");
	}
	if (strstr(part, "://"))
		return bad_url(err, text, part);
	if (part[0] == '@')
		return bad(err, text, "only --net reads rules of a file", "give them one by one");
	if (memchr(part, '@', strcspn(part, "/")))
		return bad(err, text, "a rule names no user", "--net api.example:443");
	return 0;
}

/* Refuse networks with addresses that lead nowhere else from within a box: those that overlap one
 * of these. Addresses that no server has (224.0.0.0/3) may be a part of a network, but not all of
 * it. */
static int check_network(const struct rule *r, const char *text, struct err *err)
{
	static const struct {
		uint32_t network;
		uint8_t bits;
		const char *problem, *hint;
	} odd[] = {
		{0x7f000000, 8, "127.0.0.0/8, the sandbox itself, is in it",
			"give the host's service a name: --net db:5432=127.0.0.1:5432"},
		{0x00000000, 8, "0.0.0.0/8, the sandbox itself, is in it",
			"--net any allows every name; a network is 10.0.0.0/8"},
		{0xc6120000, 15, "198.18.0.0/15, which stands for names in a sandbox, is in it",
			"name the host instead"},
		{0xe0000000, 3, "no server has such an address", "a network is 10.0.0.0/8"},
	};
	for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
		bool is_last = i + 1 == ARRAY_LEN(odd);
		uint8_t bits = is_last ? odd[i].bits : MIN(r->bits, odd[i].bits);
		if (r->bits >= bits && (r->network ^ odd[i].network) >> (V4_BITS - bits) == 0)
			return bad(err, text, odd[i].problem, odd[i].hint);
	}
	return 0;
}

/* ADDRESS, and @bits, NULL or what follows its "/". */
static int read_network(
	struct rule *r, uint32_t v4, const char *bits, const char *text, struct err *err)
{
	uint16_t n = V4_BITS;
	if (bits && strspn(bits, "0") == strlen(bits) && *bits)
		return bad(err, text, "a network has 1 to 32 bits",
			"--net any allows every name on ports 80 and 443");
	if (bits && (!rule_port(&n, bits, strlen(bits)) || n > V4_BITS))
		return bad(err, text, "a network has 1 to 32 bits", "--net 10.0.0.0/8:443");
	*r = (struct rule){.kind = RULE_NETWORK,
		.may_be_private = r->may_be_private,
		.port = r->port,
		.bits = (uint8_t)n,
		.network = v4 & UINT32_MAX << (V4_BITS - n)};
	if (r->network != v4) {
		struct rule right = *r;
		char as[RULE_TEXT_BYTES];
		right.may_be_private = false;
		rule_write(&right, as);
		(void)bad(err, text, "the address has bits set beyond those of the network", "");
		return err_hint(err, "--net %s", as);
	}
	return check_network(r, text, err);
}

static int bad_name(struct err *err, const char *host, const char *text)
{
	const char *hint = "a name has letters, digits, \"-\" and \"_\": api.example";
	size_t bytes = strlen(host);
	const char *last = strrchr(host, '.');
	last = last ? last + 1 : host;
	if (bytes == 0)
		return bad(err, text, "it names no host", "--net api.example:443");
	if (*last && is_number(last, strlen(last)))
		return bad(err, text, "this is neither a name nor an address",
			"write an address as four decimal numbers: 192.0.2.1");
	if (bytes >= RULE_HOST_BYTES)
		return bad(err, text, "the name is too long", "a name has at most 253 letters");
	return bad(err, text, "this is no name of a host", hint);
}

static int read_name(struct rule *r, const char *host, const char *text, struct err *err)
{
	r->kind = RULE_NAME;
	if (strcmp(host, "*") == 0 || strncmp(host, "*.*", 3) == 0)
		return bad(err, text, "\"*\" stands before a name", "--net any allows every name");
	if (strncmp(host, "*.", 2) == 0) {
		r->kind = RULE_BELOW;
		host += 2;
	}
	if (strchr(host, '*'))
		return bad(err, text, "\"*\" stands for whole names before a \".\" only",
			"*.api.example, which is all names below api.example");
	if (host[0] == '-' || !rule_name(r->host, host, strlen(host)))
		return bad_name(err, host, text);
	if (rule_name_is_local(r->host))
		return bad(err, text, "localhost is the sandbox itself",
			"give the host's service another name: --net db:5432=127.0.0.1:5432");
	if (r->kind == RULE_BELOW)
		return 0;
	if (strcmp(r->host, "none") == 0)
		return bad(err, text, "\"none\" is no rule", "--net none alone: no network");
	bool is_ask = strcmp(r->host, "ask") == 0;
	if (is_ask || strcmp(r->host, "any") == 0) {
		r->kind = is_ask ? RULE_ASK : RULE_ANY;
		memset(r->host, 0, sizeof r->host);
	}
	return 0;
}

/* A path without a method: say which rule has both. */
static int bad_path(struct err *err, const char *text)
{
	bool is_private = *text == '!';
	const char *host = text + is_private;
	size_t bytes = strcspn(host, "?#");
	const char *slash = memchr(host, '/', bytes);
	(void)bad(err, text, "a path needs a method before its host", "--net 'GET api.example/v1'");
	if (slash == host)
		return err_negative(-1);
	return err_hint(err, "--net '%sGET %.*s%s'", is_private ? "!" : "", (int)bytes, host,
		!slash				    ? "/*"
			: slash + 1 == host + bytes ? "*"
						    : "");
}

/* What stands before a "=". @left is changed. */
static int read_left(struct rule *r, char *left, const char *text, struct err *err)
{
	struct ip ip;
	uint32_t v4 = 0;
	char host[RULE_TEXT_BYTES];
	char *slash = strchr(left, '/');
	(void)snprintf(host, sizeof host, "%.*s", (int)strcspn(left, "/"), left);
	char *port = strchr(host, ':');
	if (host[0] == '[' || (port && strchr(port + 1, ':')))
		return bad(err, text,
			ip_parse(&ip, host) || strchr(host, '[') || strstr(host, "::")
				? "an IPv6 address is no rule"
				: "it has more than one port",
			"name the host instead, with one port: the gateway uses IPv6 by itself");
	host[strcspn(host, ":")] = '\0';
	bool is_v4 = ip_parse(&ip, host) && ip_is_v4(&ip, &v4);
	if (slash && !is_v4)
		return bad_path(err, text);
	port = strchr(left, ':');
	if (port) {
		*port++ = '\0';
		if (!rule_port(&r->port, port, strlen(port)))
			return bad_port(err, text, port);
	}
	if (is_v4)
		return read_network(r, v4, slash ? slash + 1 : NULL, text, err);
	return read_name(r, left, text, err);
}

/* What stands behind a "=": ADDRESS, ADDRESS:PORT, [ADDRESS], [ADDRESS]:PORT. */
static int read_target(struct rule *r, const char *to, const char *text, struct err *err)
{
	static const char hint[] = "HOST:PORT=ADDRESS:PORT: --net db:5432=127.0.0.1:5432";
	char ip[IP_TEXT_BYTES];
	bool is_v6 = *to == '[';
	size_t bytes = strcspn(to + is_v6, is_v6 ? "]" : ":");
	const char *rest = to + is_v6 + bytes;
	if (r->kind != RULE_NAME)
		return bad(err, text, "only one name can lead to an address", hint);
	if (r->port == 0)
		return bad(err, text, "a name that leads to an address needs a port", hint);
	if (is_v6 && *rest)
		rest++;
	(void)snprintf(ip, sizeof ip, "%.*s", (int)MIN(bytes, sizeof ip), to + is_v6);
	if (bytes >= sizeof ip || !ip_parse(&r->to, ip) || is_v6 != (strchr(ip, ':') != NULL))
		return bad(err, text, "what follows \"=\" is no address", hint);
	if (is_v6 && to[bytes + 1] != ']')
		return bad(err, text, "a \"]\" is missing", hint);
	r->is_mapped = true;
	r->to_port = r->port;
	if (*rest == '\0')
		return 0;
	if (*rest != ':')
		return bad(err, text, "what follows \"=\" is no address", hint);
	if (!rule_port(&r->to_port, rest + 1, strlen(rest + 1)))
		return bad_port(err, text, rest + 1);
	return 0;
}

static int read_request(struct rule *r, const char *rest, const char *text, struct err *err)
{
	char authority[RULE_AUTHORITY_BYTES];
	if (rule_request_read(r, authority, rest, err) < 0)
		return err_negative(err_wrap(err, "network rule \"%.100s\"", text));
	int n = check_bytes(authority, text, err);
	if (n == 0)
		n = read_left(r, authority, text, err);
	if (n < 0)
		return n;
	r->is_http = true;
	if (r->kind == RULE_ASK)
		return bad(err, text, "a person is asked about connections, not about requests",
			"--net ask");
	if (r->kind != RULE_NETWORK)
		return 0;
	struct ip address = ip_of_v4(r->network);
	char ip[IP_TEXT_BYTES];
	unsigned port = r->port > 0 ? r->port : RULE_PORT_HTTP;
	ip_write(&address, ip);
	(void)bad(err, text, "rules for requests are for names, not for addresses", "");
	return err_negative(
		err_hint(err, "give the address a name: --net api:%u=%s:%u", port, ip, port));
}

/* HOST[:PORT] and what may follow it: "/BITS", and "=". */
static int read_connection(struct rule *r, const char *rest, const char *text, struct err *err)
{
	char left[RULE_TEXT_BYTES];
	size_t bytes = strcspn(rest, "=");
	int n = check_bytes(rest, text, err);
	if (n < 0)
		return n;
	if (*rest == '\0')
		return bad(err, text, "it is empty", "--net api.example:443, or --net any");
	if (bytes >= sizeof left)
		return bad(err, text, "the name is too long", "a name has at most 253 letters");
	memcpy(left, rest, bytes);
	left[bytes] = '\0';
	n = read_left(r, left, text, err);
	if (n == 0 && rest[bytes] == '=')
		n = read_target(r, rest + bytes + 1, text, err);
	if (n < 0)
		return n;
	if (r->may_be_private && (r->is_mapped || r->kind == RULE_NETWORK))
		return bad(err, text, "\"!\" is needless: an address that a rule names is allowed",
			"leave it out");
	return 0;
}

int rule_parse(struct rule *out, const char *text, struct err *err)
{
	struct rule r = {.may_be_private = *text == '!'};
	const char *rest = text + r.may_be_private;
	int n = rule_request_is(rest) ? read_request(&r, rest, text, err)
				      : read_connection(&r, rest, text, err);
	if (n < 0)
		return n;
	*out = r;
	return 0;
}

void rule_write_hosts(const struct rule *r, char out[RULE_HOSTS_BYTES])
{
	static const char *const before[] = {[RULE_NAME] = "",
		[RULE_BELOW] = "*.",
		[RULE_NETWORK] = "",
		[RULE_ANY] = "any",
		[RULE_ASK] = "ask"};
	char host[RULE_HOST_BYTES] = "", bits[8] = "";
	if (r->kind == RULE_NETWORK) {
		struct ip network = ip_of_v4(r->network);
		ip_write(&network, host);
	} else {
		(void)snprintf(host, sizeof host, "%s", r->host);
	}
	if (r->kind == RULE_NETWORK && r->bits < V4_BITS)
		(void)snprintf(bits, sizeof bits, "/%u", r->bits);
	(void)snprintf(out, RULE_HOSTS_BYTES, "%s%s%s", before[r->kind], host, bits);
}

void rule_write(const struct rule *r, char out[RULE_TEXT_BYTES])
{
	char hosts[RULE_HOSTS_BYTES], ip[IP_TEXT_BYTES];
	char port[8] = "", to[IP_TEXT_BYTES + 16] = "";
	rule_write_hosts(r, hosts);
	if (r->port > 0)
		(void)snprintf(port, sizeof port, ":%u", r->port);
	if (r->is_mapped) {
		bool is_v4 = ip_is_v4(&r->to, NULL);
		ip_write(&r->to, ip);
		(void)snprintf(to, sizeof to, is_v4 ? "=%s:%u" : "=[%s]:%u", ip, r->to_port);
	}
	(void)snprintf(out, RULE_TEXT_BYTES, "%s%s%s%s%s%s%s", r->may_be_private ? "!" : "",
		r->method, r->is_http ? " " : "", hosts, port, to, r->path);
}

static bool is_same(const struct rule *a, const struct rule *b)
{
	char one[RULE_TEXT_BYTES], other[RULE_TEXT_BYTES];
	rule_write(a, one);
	rule_write(b, other);
	return strcmp(one, other) == 0;
}

static int rules_add(struct rules *r, const char *text, struct err *err)
{
	struct rule rule;
	int n = rule_parse(&rule, text, err);
	if (n < 0)
		return n;
	for (size_t i = 0; i < r->n; i++)
		if (is_same(&r->v[i], &rule))
			return 0;
	if (r->n == RULES_MAX)
		return err_fail(err, ERR_LIMIT,
			"*.HOST and ADDRESS/BITS are for many hosts at once",
			"there are more than %d network rules", RULES_MAX);
	r->v[r->n++] = rule;
	return 0;
}

int rules_parse(struct rules *out, const char *const *texts, size_t n, struct err *err)
{
	out->n = 0;
	if (n == 1 && strcasecmp(texts[0], "none") == 0)
		return 0;
	for (size_t i = 0; i < n; i++) {
		int r = strcasecmp(texts[i], "none") == 0
			? bad(err, texts[i], "it stands alone", "leave it out, or all other rules")
			: rules_add(out, texts[i], err);
		if (r < 0)
			return r;
	}
	return 0;
}

static bool has_port(const struct rule *r, uint16_t port)
{
	if (r->port == 0)
		return port == RULE_PORT_HTTP || port == RULE_PORT_HTTPS;
	return port == r->port;
}

/* How specific @r is for @name. Returns: 0 if it does not fit. */
static size_t level_of(const struct rule *r, const char *name)
{
	size_t host = strlen(r->host), bytes = strlen(name);
	if (r->kind == RULE_NAME)
		return strcmp(r->host, name) == 0 ? LEVEL_NAME : 0;
	if (r->kind == RULE_ANY || r->kind == RULE_ASK)
		return bytes == 0 ? 0 : r->kind == RULE_ANY ? LEVEL_ANY : LEVEL_ASK;
	if (r->kind == RULE_BELOW && bytes > host + 1 && name[bytes - host - 1] == '.')
		return strcmp(r->host, name + bytes - host) == 0 ? LEVEL_BELOW + host : 0;
	return 0;
}

/* The same, and where several rules are for the same names. */
static size_t rank_of(const struct rule *r, const char *name)
{
	size_t level = level_of(r, name);
	return level == 0 ? 0 : level * 4 + r->is_mapped * 2u + r->may_be_private;
}

/* @port: NULL for any. */
static const struct rule *find(const struct rules *r, const char *name, const uint16_t *port)
{
	const struct rule *best = NULL;
	size_t best_rank = 0;
	for (size_t i = 0; i < r->n; i++) {
		size_t rank = port && !has_port(&r->v[i], *port) ? 0 : rank_of(&r->v[i], name);
		if (rank > best_rank) {
			best_rank = rank;
			best = &r->v[i];
		}
	}
	return best;
}

const struct rule *rules_for_name(const struct rules *r, const char *name)
{
	return find(r, name, NULL);
}

const struct rule *rules_for_port(const struct rules *r, const char *name, uint16_t port)
{
	return find(r, name, &port);
}

/* Whether there is a rule for requests among those that decide; unless @request is NULL, one that
 * allows it. */
static bool has_http(
	const struct rules *r, const char *name, uint16_t port, const struct rule_request *request)
{
	const struct rule *best = rules_for_port(r, name, port);
	for (size_t i = 0; best && i < r->n; i++) {
		const struct rule *rule = &r->v[i];
		if (rule->is_http && has_port(rule, port) &&
			level_of(rule, name) == level_of(best, name) &&
			(!request || rule_request_fits(rule, request)))
			return true;
	}
	return false;
}

bool rules_are_http(const struct rules *r, const char *name, uint16_t port)
{
	return has_http(r, name, port, NULL);
}

bool rules_allow_request(
	const struct rules *r, const char *name, uint16_t port, const struct rule_request *request)
{
	return has_http(r, name, port, request);
}

bool rules_have_http(const struct rules *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].is_http)
			return true;
	return false;
}

const struct rule *rules_for_address(const struct rules *r, uint32_t v4, uint16_t port)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct rule *rule = &r->v[i];
		if (rule->kind == RULE_NETWORK && has_port(rule, port) &&
			(v4 ^ rule->network) >> (V4_BITS - rule->bits) == 0)
			return rule;
	}
	return NULL;
}

static size_t add_port(uint16_t out[2 * RULES_MAX], size_t n, uint16_t port)
{
	for (size_t i = 0; i < n; i++)
		if (out[i] == port)
			return n;
	out[n] = port;
	return n + 1;
}

size_t rules_ports(const struct rules *r, uint16_t out[2 * RULES_MAX])
{
	size_t n = 0;
	for (size_t i = 0; i < r->n; i++) {
		if (r->v[i].port > 0) {
			n = add_port(out, n, r->v[i].port);
			continue;
		}
		n = add_port(out, n, RULE_PORT_HTTP);
		n = add_port(out, n, RULE_PORT_HTTPS);
	}
	return n;
}
