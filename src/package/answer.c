/* SPDX-License-Identifier: Apache-2.0 */
#include "package/answer.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "gateway/rule/rule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* An address that begins with http:// or https://, taken apart. */
struct site {
	const char *rest; /* what follows the host and the port */
	char host[RULE_HOST_BYTES];
	uint16_t port;
	bool is_tls, has_port;
	bool is_loopback; /* of this host */
	bool is_v6;	  /* @host has "[" and "]" */
};

enum { SCHEME_BYTES = sizeof "http://" - 1 };

static bool is_word_end(char c)
{
	return c == '\0' || strchr(" \t\r\n,|", c) != NULL;
}

static int refuse(const char *set, const char *why, struct err *err)
{
	err_set(err, ERR_USAGE, "%s: an address that this host's client is configured with %s", set,
		why);
	return err_hint(err, "name its host: --net HOST, and give programs the address with -e");
}

/* Read [HOST][:PORT] up to @end. */
static int read_place(
	struct site *out, const char *set, const char *at, const char *end, struct err *err)
{
	out->is_v6 = *at == '[';
	const char *close = out->is_v6 ? memchr(at, ']', (size_t)(end - at)) : NULL;
	const char *from = close ? close : at;
	const char *colon = memchr(from, ':', (size_t)(end - from));
	const char *stop = colon ? colon : end;
	size_t bytes = (size_t)(stop - at);
	if (bytes == 0 || bytes >= sizeof out->host || (out->is_v6 && !close))
		return refuse(set, "has no name of a host", err);
	memcpy(out->host, at, bytes);
	out->host[bytes] = '\0';
	out->has_port = colon && colon + 1 < end;
	if (out->has_port && !rule_port(&out->port, colon + 1, (size_t)(end - colon - 1)))
		return refuse(set, "has no valid port", err);
	out->is_loopback = strcasecmp(out->host, "localhost") == 0 ||
		strncmp(out->host, "127.", 4) == 0 || strcmp(out->host, "[::1]") == 0;
	return 0;
}

/* Take the address apart that begins at @at, behind "http". */
static int read_site(struct site *out, const char *set, const char *at, struct err *err)
{
	*out = (struct site){.is_tls = at[4] == 's'};
	const char *host = at + SCHEME_BYTES + out->is_tls, *end = host, *word = host;
	while (!is_word_end(*word))
		word++;
	while (end < word && !strchr("/?#", *end))
		end++;
	out->rest = end;
	out->port = out->is_tls ? RULE_PORT_HTTPS : RULE_PORT_HTTP;
	if (memchr(host, '@', (size_t)(end - host)))
		return err_fail(err, ERR_USAGE,
			"leave them out there; name the host, and let programs use the password with "
			"--secret NAME=SOURCE@HOST",
			"%s: an address that this host's client is configured with has a user name or "
			"password, which a box must not have",
			set);
	if (memchr(end, '?', (size_t)(word - end)))
		return refuse(set, "has a query, which may be a password", err);
	int r = read_place(out, set, host, end, err);
	if (r == 0 && out->is_loopback && out->is_tls)
		r = refuse(set,
			"is of this host's loopback, where a box cannot check its certificate",
			err);
	return r;
}

static int keep(char **list, size_t *n, const char *set, char *text, struct err *err)
{
	if (!text)
		xdie("a rule");
	for (size_t i = 0; i < *n; i++)
		if (strcmp(list[i], text) == 0)
			return free(text), 0;
	if (*n == PACKAGE_ITEMS_MAX) {
		free(text);
		return err_set(err, ERR_LIMIT, "%s: more than %d hosts", set, PACKAGE_ITEMS_MAX);
	}
	list[(*n)++] = text;
	return 0;
}

int package_answer_rule(struct package_answer *a, const char *rule, struct err *err)
{
	struct rule parsed;
	if (rule_parse(&parsed, rule, err) < 0)
		return err_wrap(err, "%s", a->set);
	return keep(a->rules, &a->n_rules, a->set, xstrdup(rule), err);
}

/* What is a host of an address may be more as a rule: any, or *.HOST. */
static bool is_one_host(const char *rule)
{
	struct rule r;
	struct err ignored;
	return rule_parse(&r, rule, &ignored) == 0 && !r.may_be_private && !r.is_mapped &&
		!r.is_http && (r.kind == RULE_NAME || (r.kind == RULE_NETWORK && r.bits == 32));
}

/* Add the rule for @s, and write to @name how the box calls its host. */
static int add_site(struct package_answer *a, const struct site *s, char name[RULE_HOST_BYTES + 8],
	struct err *err)
{
	char rule[RULE_TEXT_BYTES];
	int n = RULE_HOST_BYTES;
	if (!s->is_loopback && !s->is_v6) {
		snprintf(name, (size_t)n, "%s", s->host);
		snprintf(rule, sizeof rule, "%s:%u", name, (unsigned)s->port);
		return is_one_host(rule) ? package_answer_rule(a, rule, err)
					 : refuse(a->set, "has no name of a host", err);
	}
	snprintf(name, (size_t)n, "%s.host.internal", a->set);
	snprintf(rule, sizeof rule, "%s:%u=%s:%u", name, (unsigned)s->port,
		strcasecmp(s->host, "localhost") == 0 ? "127.0.0.1" : s->host, (unsigned)s->port);
	return package_answer_rule(a, rule, err);
}

/* Add @host to the value of the variable @a->trusts, which is the first in @a->env. */
static int trust(struct package_answer *a, const char *host, struct err *err)
{
	char *text = NULL;
	size_t bytes = strlen(a->trusts);
	for (size_t i = 0; i < a->n_env; i++) {
		if (strncmp(a->env[i], a->trusts, bytes) != 0 || a->env[i][bytes] != '=')
			continue;
		if (strstr(a->env[i], host))
			return 0;
		if (asprintf(&text, "%s %s", a->env[i], host) < 0)
			xdie("a variable");
		free(a->env[i]);
		a->env[i] = text;
		return 0;
	}
	if (asprintf(&text, "%s=%s", a->trusts, host) < 0)
		text = NULL;
	return keep(a->env, &a->n_env, a->set, text, err);
}

/* Add the address at @at to @value, under the name that the box knows. */
static int add_address(struct package_answer *a, const char *at, const char *end, bool is_trusted,
	struct buf *value, struct err *err)
{
	struct site s;
	char name[RULE_HOST_BYTES + 8];
	int r = read_site(&s, a->set, at, err);
	if (r == 0)
		r = add_site(a, &s, name, err);
	if (r == 0 && is_trusted && !s.is_tls)
		r = trust(a, name, err);
	if (r < 0)
		return r;
	(void)buf_addf(value, "http%s://%s", s.is_tls ? "s" : "", name);
	if (s.has_port)
		(void)buf_addf(value, ":%u", (unsigned)s.port);
	(void)buf_append(value, s.rest, (size_t)(end - s.rest));
	return 0;
}

static bool is_address(const char *at)
{
	return strncmp(at, "http://", SCHEME_BYTES) == 0 ||
		strncmp(at, "https://", SCHEME_BYTES + 1) == 0;
}

int package_answer_add(
	struct package_answer *a, const char *name, const char *text, struct err *err)
{
	cleanup_buf struct buf value = BUF_INIT(PACKAGE_VALUE_BYTES);
	bool is_trusted = name && a->trusts;
	int r = 0;
	for (const char *at = text, *end; r == 0 && *at; at = end) {
		end = at + 1;
		if (!is_address(at)) {
			(void)buf_append(&value, at, 1);
			continue;
		}
		while (!is_word_end(*end))
			end++;
		r = add_address(a, at, end, is_trusted, &value, err);
	}
	if (r < 0 || !name)
		return r;
	if (buf_error(&value) < 0)
		return err_set(err, ERR_LIMIT, "%s: %s is longer than %d bytes", a->set, name,
			PACKAGE_VALUE_BYTES);
	char *variable = NULL;
	if (asprintf(&variable, "%s=%s", name, buf_str(&value)) < 0)
		variable = NULL;
	return keep(a->env, &a->n_env, a->set, variable, err);
}

void package_answer_done(struct package_answer *a)
{
	for (size_t i = 0; i < a->n_rules; i++)
		free(a->rules[i]);
	for (size_t i = 0; i < a->n_env; i++)
		free(a->env[i]);
	a->n_rules = a->n_env = 0;
}
