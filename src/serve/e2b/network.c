/*
 * The network of a sandbox: what a request asks for, as rules of the session.
 *
 * The operator's rules are the most that a box may have; a request only narrows them. With
 * everything denied, what it allows remains: of each of the operator's rules and each destination
 * that the request allows, what both allow. Without that, all of the operator's rules are in force.
 * E2B lets everything through that is not denied, so a list of what is denied, other than
 * everything, cannot be said in rules; it is refused, as all else is that rules cannot say.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/e2b/inside.h"

#include "api/operation/principal.h"
#include "base/num.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define EVERYTHING "0.0.0.0/0"

enum { RULES_MAX = 64, RULE_BYTES = 640, HOST_BYTES = 256, LIST_BYTES = 32 << 10 };

/* ---- addresses ---- */

/* IPv4 addresses: the first `bits` of `network`, in host byte order. */
struct range {
	uint32_t network;
	unsigned bits;
};

static bool read_range(struct range *out, const char *text)
{
	char address[INET_ADDRSTRLEN];
	struct in_addr v4;
	struct err err;
	uint64_t bits = 32;
	size_t n = strcspn(text, "/");
	if (n >= sizeof address)
		return false;
	memcpy(address, text, n);
	address[n] = '\0';
	if (inet_pton(AF_INET, address, &v4) != 1 ||
		(text[n] && num_parse_count(text + n + 1, (struct num_range){0, 32}, &bits, &err)))
		return false;
	*out = (struct range){ntohl(v4.s_addr), (unsigned)bits};
	return true;
}

static bool is_inside(const struct range *a, const struct range *b)
{
	uint32_t mask = b->bits ? UINT32_MAX << (32 - b->bits) : 0;
	return a->bits >= b->bits && (a->network & mask) == (b->network & mask);
}

/* ---- names ---- */

static bool is_name(const char *text)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	const char *name = strncmp(text, "*.", 2) == 0 ? text + 2 : text;
	return name[0] && name[0] != '.' && name[strspn(name, letters)] == '\0' &&
		strlen(text) < HOST_BYTES;
}

/* Is @name, which may be "*.DOMAIN", below @above, "*.DOMAIN"? */
static bool is_below(const char *name, const char *above)
{
	size_t n = strlen(name), m = strlen(above + 1);
	return strncmp(above, "*.", 2) == 0 && n >= m && strcasecmp(name + n - m, above + 1) == 0;
}

/* Return the destination that both allow; NULL: there is none. @host: of a rule. */
static const char *common(const char *host, const char *asked)
{
	struct range a, b;
	if (read_range(&a, asked))
		return !read_range(&b, host) ? NULL
			: is_inside(&a, &b)  ? asked
			: is_inside(&b, &a)  ? host
					     : NULL;
	if (strcasecmp(host, asked) == 0 || is_below(host, asked))
		return host;
	return strcmp(host, "any") == 0 || is_below(asked, host) ? asked : NULL;
}

/* ---- rules ---- */

/* Write the rule for what both @rule and the destination @asked allow. Its method, port and path
 * stay. Returns: false if there is nothing, or if the rule is too long. */
static bool narrow(char out[RULE_BYTES], const char *rule, const char *asked)
{
	char host[HOST_BYTES];
	const char *space = strrchr(rule, ' '), *from = space ? space + 1 : rule;
	struct range range;
	from += *from == '!';
	size_t n = strcspn(from, ":/=");
	if (from[n] == '/' && !space) /* a network of addresses */
		n += strcspn(from + n, ":=");
	if (n >= sizeof host)
		return false;
	memcpy(host, from, n);
	host[n] = '\0';
	const char *both = common(host, asked);
	if (!both || strcmp(host, "ask") == 0)
		return false;
	bool is_network = read_range(&range, both) && range.bits == 0;
	int r = snprintf(out, RULE_BYTES, "%.*s%s%s", (int)(from - rule), rule, both, from + n);
	return !is_network && r > 0 && r < RULE_BYTES;
}

static bool has(const json_t *list, const char *text)
{
	size_t i;
	json_t *item;
	json_array_foreach(
		list, i, item) if (strcmp(json_string_value(item), text) == 0) return true;
	return false;
}

/* Add to @rules what the operator's rules @all allow of @asked. Returns: false: nothing. */
static bool add_narrowed(json_t *rules, const json_t *all, const char *asked)
{
	char text[RULE_BYTES];
	size_t i;
	json_t *rule;
	bool is_any = false;
	json_array_foreach(all, i, rule)
	{
		if (!narrow(text, json_string_value(rule), asked))
			continue;
		is_any = true;
		if (!has(rules, text))
			json_add_text(rules, text);
	}
	return is_any;
}

/* ---- reading a request ---- */

/* Members that rules cannot say, unless they are empty. */
static const struct unsaid_member {
	const char *name, *instead;
} unsaid[] = {
	{"rules", "headers are set by the program; for keys the engine has network secrets"},
	{"egressProxy", "connections leave by the engine's gateway"},
	{"maskRequestHost", "programs see the host that the client has called"},
	{"httpsPorts", "ports of programs are served without TLS"},
};

static bool is_empty(const json_t *value)
{
	return !value || (json_is_object(value) && json_object_size(value) == 0) ||
		(json_is_array(value) && json_array_size(value) == 0) ||
		(json_is_string(value) && json_string_length(value) == 0);
}

/* Return whether the lists have destinations only, and answer the request if not. */
static bool check_lists(struct front_call *c, const json_t *allowed, const json_t *denied)
{
	struct range range;
	size_t i;
	json_t *item;
	json_array_foreach(allowed, i, item)
	{
		const char *text = json_string_value(item);
		if (read_range(&range, text) || is_name(text))
			continue;
		e2b_refuse(c, 400, "network.allowOut: '%.100s' is no host, IPv4 address or network",
			text);
		return false;
	}
	json_array_foreach(denied, i, item)
	{
		const char *text = json_string_value(item);
		if (read_range(&range, text))
			continue;
		e2b_refuse(c, 400, "network.denyOut: '%.100s' is no IPv4 address or network", text);
		return false;
	}
	return true;
}

static bool check(struct front_call *c, json_t *network)
{
	static const struct e2b_member members[] = {
		{"allowOut", E2B_LIST, .max = LIST_BYTES},
		{"denyOut", E2B_LIST, .max = LIST_BYTES},
		{"allowPublicTraffic", E2B_BOOL},
		{"allow_internet_access", E2B_BOOL},
	};
	if (!e2b_check(c, network, members, ARRAY_LEN(members)))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(unsaid); i++) {
		if (is_empty(json_object_get(network, unsaid[i].name)))
			continue;
		e2b_refuse(c, 400, "network.%s is not supported: %s", unsaid[i].name,
			unsaid[i].instead);
		return false;
	}
	return check_lists(
		c, json_object_get(network, "allowOut"), json_object_get(network, "denyOut"));
}

/* Make the rules of @allowed. @is_closed: everything else is denied. Returns: NULL, and the request
 * was answered, if the operator's rules @all do not allow one of them. */
static json_t *make_rules(
	struct front_call *c, const json_t *all, const json_t *allowed, bool is_closed)
{
	json_t *rules = json_need(json_array());
	size_t i;
	json_t *item;
	const char *wrong = NULL;
	json_array_foreach(allowed, i, item)
	{
		if (!has(allowed, EVERYTHING) && !add_narrowed(rules, all, json_string_value(item)))
			wrong = json_string_value(item);
	}
	if (!is_closed || has(allowed, EVERYTHING)) {
		json_decref(rules);
		rules = json_need(json_copy(json_unconst(all)));
	}
	if (!wrong && json_array_size(rules) <= RULES_MAX)
		return rules;
	json_decref(rules);
	if (!wrong)
		e2b_refuse(c, 400, "network.allowOut: more than %d rules", RULES_MAX);
	else if (json_array_size(all) == 0)
		e2b_refuse(c, 400,
			"network.allowOut: sandboxes of this caller have no network: the operator "
			"gives one with --front-net, and net=public or net=any in the line of the "
			"token");
	else
		e2b_refuse(c, 400,
			"network.allowOut: the rules of --front-net do not allow '%.100s'", wrong);
	return NULL;
}

json_t *e2b_read_network(struct front_call *c, json_t *network, bool has_internet)
{
	bool may = principal_may_have_net(c->context->principal);
	const json_t *given = json_object_get(c->state->box, "net");
	cleanup_json json_t *all =
		json_need(may && given ? json_copy(json_unconst(given)) : json_array());
	if (!network)
		return has_internet ? json_incref(all) : json_need(json_array());
	if (!check(c, network))
		return NULL;
	const json_t *denied = json_object_get(network, "denyOut");
	bool is_closed = !has_internet || has(denied, EVERYTHING) ||
		json_is_false(json_object_get(network, "allow_internet_access"));
	if (!is_closed && json_array_size(denied) > 0 && json_array_size(all) > 0) {
		e2b_refuse(c, 400,
			"network.denyOut can only be '" EVERYTHING "', everything: name what is "
			"allowed in allowOut");
		return NULL;
	}
	return make_rules(c, all, json_object_get(network, "allowOut"), is_closed);
}

/* ---- PUT /sandboxes/ID/network ---- */

static void on_set(struct front_call *c, const json_t *result, const struct err *err)
{
	struct e2b_sandbox *s = e2b_find_own(c, json_get_text(c->kept, "sandbox"));
	if (s && result) {
		json_decref(s->network);
		s->network = json_incref(json_object_get(c->kept, "network"));
		json_decref(s->rules);
		s->rules = json_incref(json_object_get(c->kept, "rules"));
	}
	if (result)
		front_answer_empty(c);
	else
		front_fail(c, err);
}

void e2b_start_network(struct front_call *c, struct e2b_sandbox *s)
{
	json_t *rules = e2b_read_network(c, c->body, true);
	if (!rules)
		return;
	c->kept = json_need(
		json_pack("{s:s, s:O, s:o}", "sandbox", s->id, "network", c->body, "rules", rules));
	front_operate(
		c, "session.net", json_pack("{s:s, s:O}", "session", s->id, "net", rules), on_set);
}
