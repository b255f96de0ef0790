/* Network rules, one a line: what is read is written and read again as the same, a name is found by
 * one rule only if that rule fits it, and each line is a request as well.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "gateway/rule/rule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTS_MAX = 2 * RULES_MAX };

static bool is_same(const struct rule *a, const struct rule *b)
{
	return a->kind == b->kind && a->may_be_private == b->may_be_private &&
		a->is_mapped == b->is_mapped && a->port == b->port && a->to_port == b->to_port &&
		a->network == b->network && a->bits == b->bits &&
		memcmp(&a->to, &b->to, sizeof a->to) == 0 && strcmp(a->host, b->host) == 0 &&
		a->is_http == b->is_http && strcmp(a->method, b->method) == 0 &&
		strcmp(a->path, b->path) == 0;
}

/* A rule for requests allows its own path, where each "*" stands for itself. */
static void check_request_rule(const struct rules *one)
{
	const struct rule *r = &one->v[0];
	char name[RULE_HOST_BYTES + 2];
	uint16_t port = r->port > 0 ? r->port : 443;
	struct rule_request request = {.method = r->method, .target = r->path};
	if (!r->is_http) {
		MUST(!rules_have_http(one) && !r->method[0] && !r->path[0]);
		return;
	}
	MUST(r->kind != RULE_NETWORK && !r->is_mapped && rules_have_http(one));
	MUST(r->method[0] && rule_target_is_plain(r->path));
	if (strcmp(r->method, "WEBSOCKET") == 0) {
		MUST(!rule_request_fits(r, &request));
		request = (struct rule_request){"GET", r->path, true};
	}
	(void)snprintf(name, sizeof name, "%s%s", r->kind == RULE_NAME ? "" : "a.", r->host);
	MUST(rules_are_http(one, name, port));
	MUST(rules_allow_request(one, name, port, &request));
	MUST(!rules_are_http(one, name, port ^ 1));
	request.is_websocket = !request.is_websocket;
	MUST(!rule_request_fits(r, &request));
}

static void check_rule(const char *text)
{
	struct err err = {0};
	struct rule r, again;
	char written[RULE_TEXT_BYTES], name[RULE_HOST_BYTES];
	struct rules one = {.n = 1};
	if (rule_parse(&r, text, &err) < 0) {
		MUST(err.code == ERR_USAGE && err.msg[0] && err.hint[0]);
		return;
	}
	rule_write(&r, written);
	MUST(strlen(written) < RULE_TEXT_BYTES);
	MUST(rule_parse(&again, written, &err) == 0);
	MUST(is_same(&r, &again));
	one.v[0] = r;
	check_request_rule(&one);
	if (r.kind == RULE_NETWORK) {
		MUST(rules_for_address(&one, r.network, r.port > 0 ? r.port : 443));
		MUST(!rules_for_name(&one, "a"));
		return;
	}
	if (r.kind != RULE_ANY && r.kind != RULE_ASK) {
		MUST(rule_name(name, r.host, strlen(r.host)) && strcmp(name, r.host) == 0);
		MUST(!!rules_for_name(&one, r.host) == (r.kind == RULE_NAME));
		MUST(!rules_for_name(&one, "b.evil.example") ||
			strcmp(r.host, "b.evil.example") == 0 || r.kind == RULE_BELOW);
	}
	MUST(!rules_for_address(&one, r.network, r.port));
}

/* "METHOD TARGET", of each name that a rule has. */
static void check_request(const struct rules *r, const char *line)
{
	char method[RULE_METHOD_BYTES];
	struct rule_request request = {.method = method, .target = strchr(line, '/')};
	if (!request.target)
		return;
	(void)snprintf(method, sizeof method, "%.*s", (int)strcspn(line, " /"), line);
	for (size_t i = 0; i < 2 * r->n; i++) {
		const struct rule *of = &r->v[i / 2], *rule = r->v;
		uint16_t port = of->port > 0 ? of->port : 80;
		request.is_websocket = i % 2 == 1;
		if (!rules_allow_request(r, of->host, port, &request))
			continue;
		while (rule < r->v + r->n && !(rule->is_http && rule_request_fits(rule, &request)))
			rule++;
		MUST(rules_are_http(r, of->host, port) && rule < r->v + r->n);
		MUST(!strchr(request.target, ' '));
		MUST(request.is_websocket == (strcmp(rule->method, "WEBSOCKET") == 0));
		MUST(rule_target_is_plain(request.target) || strcmp(rule->path, "/*") == 0);
		MUST(strncmp(rule->path, request.target, strcspn(rule->path, "*")) == 0);
	}
}

/* Each line, with those that are rules. */
static void check_requests(const char *const *texts, size_t n)
{
	const char *good[TEXTS_MAX] = {NULL};
	struct err err = {0};
	struct rules r;
	struct rule one;
	size_t n_good = 0;
	for (size_t i = 0; i < n; i++)
		if (rule_parse(&one, texts[i], &err) == 0)
			good[n_good++] = texts[i];
	if (rules_parse(&r, good, n_good, &err) < 0)
		return;
	for (size_t i = 0; i < n; i++)
		check_request(&r, texts[i]);
}

static void check_rules(const char *const *texts, size_t n)
{
	struct err err = {0};
	struct rules r;
	uint16_t ports[2 * RULES_MAX];
	if (rules_parse(&r, texts, n, &err) < 0) {
		MUST(err.msg[0] && err.hint[0]);
		return;
	}
	MUST(r.n <= RULES_MAX && r.n <= n);
	size_t n_ports = rules_ports(&r, ports);
	MUST(n_ports <= 2 * r.n);
	for (size_t i = 0; i < r.n; i++) {
		for (size_t j = 0; j < i; j++)
			MUST(!is_same(&r.v[i], &r.v[j]));
		if (r.v[i].kind == RULE_NAME)
			MUST(strcmp(rules_for_name(&r, r.v[i].host)->host, r.v[i].host) == 0);
	}
}

/* An address is read in one way only, and is as public as what it is written as. */
static void check_ip(const char *text)
{
	struct ip a, again;
	char written[IP_TEXT_BYTES], name[RULE_HOST_BYTES];
	struct sockaddr_storage sa;
	if (!ip_parse(&a, text))
		return;
	ip_write(&a, written);
	MUST(ip_parse(&again, written) && memcmp(&a, &again, sizeof a) == 0);
	MUST(ip_to(&a, 1, &sa) <= sizeof sa);
	MUST(ip_from(&again, (const struct sockaddr *)&sa) && ip_kind(&again) == ip_kind(&a));
	MUST(!rule_name(name, text, strlen(text)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char *text = fuzz_text(data, bytes), *rest = text, *line;
	const char *texts[TEXTS_MAX];
	size_t n = 0;
	while (n < TEXTS_MAX && (line = strsep(&rest, "\n"))) {
		check_ip(line);
		check_rule(line);
		texts[n++] = line;
	}
	check_rules(texts, n);
	check_requests(texts, n);
	free(text);
	return 0;
}
