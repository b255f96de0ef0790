/* SPDX-License-Identifier: Apache-2.0 */
#include "api/once/secret_list.h"

#include "base/alloc.h"
#include "base/digest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define PREFIX_USUAL "retort-"

/* Make the placeholder of @s: random, since it depends on bytes that only this process knows. */
static int make_placeholder(struct secret *s, const char *prefix, const char *to, struct err *err)
{
	static unsigned char key[32];
	static bool has_key;
	char digest[DIGEST_BYTES];
	if (!has_key && getrandom(key, sizeof key, 0) != sizeof key)
		return err_set(err, ERR_INTERNAL, "no random bytes for a placeholder");
	has_key = true;
	const struct digest_part parts[] = {
		{key, sizeof key}, {s->name, strlen(s->name)}, {to, strlen(to)}};
	digest_parts(digest, parts, ARRAY_LEN(parts));
	snprintf(s->placeholder, sizeof s->placeholder, "%s%.*s", prefix[0] ? prefix : PREFIX_USUAL,
		SECRET_RANDOM_BYTES, digest);
	return 0;
}

int secret_list_add(struct secret_list *l, const char *name, const char *to, const char *value,
	size_t value_bytes, struct err *err)
{
	char prefix[SECRET_PREFIX_BYTES];
	if (l->secrets.n == SECRETS_MAX)
		return err_set(err, ERR_LIMIT, "more than %d secrets", SECRETS_MAX);
	struct secret *s = &l->secrets.v[l->secrets.n];
	*s = (struct secret){.port = 0};
	int r = secret_check_name(name, err);
	if (r == 0 && secrets_find(&l->secrets, name))
		r = err_fail(err, ERR_USAGE, "give each a name of its own",
			"the secret %s is there twice", name);
	if (r == 0 && (r = secret_read_place(s, prefix, to, err)) < 0)
		r = err_wrap(err, "the secret %s", name);
	if (r == 0)
		r = secret_check_value(name, value, value_bytes, err);
	if (r == 0) {
		snprintf(s->name, sizeof s->name, "%s", name);
		r = make_placeholder(s, prefix, to, err);
	}
	if (r < 0)
		return r;
	secret_set_value(s, value);
	l->secrets.n++;
	return 0;
}

static const char *own(struct secret_list *l, char *text)
{
	if (!text)
		xdie("a text");
	return l->own[l->n_own++] = text;
}

static int check_env(const struct order *order, const struct secret *s, struct err *err)
{
	size_t bytes = strlen(s->name);
	for (size_t i = 0; i < order->n_env; i++)
		if (strncmp(order->env[i], s->name, bytes) == 0 && order->env[i][bytes] == '=')
			return err_fail(err, ERR_USAGE, "give one of them another name",
				"%s is both a secret and an environment variable", s->name);
	return 0;
}

static void add_env(struct secret_list *l, struct order *order)
{
	l->env = xcalloc(order->n_env + l->secrets.n + 1, sizeof *l->env);
	for (size_t i = 0; i < order->n_env; i++)
		l->env[i] = order->env[i];
	for (size_t i = 0; i < l->secrets.n; i++) {
		const struct secret *s = &l->secrets.v[i];
		char *text = NULL;
		if (asprintf(&text, "%s=%s", s->name, s->placeholder) < 0)
			text = NULL;
		l->env[order->n_env++] = own(l, text);
	}
	order->env = l->env;
}

/* "none" alone stands for no rule. */
static size_t n_rules(const struct order *order)
{
	return order_has_net(order->net, order->n_net) ? order->n_net : 0;
}

static int add_rules(struct secret_list *l, struct order *order, struct err *err)
{
	struct rules *rules = xnew(struct rules);
	int r = rules_parse(rules, order->net, order->n_net, err);
	size_t n = n_rules(order);
	l->net = xcalloc(n + l->secrets.n + 1, sizeof *l->net);
	for (size_t i = 0; i < n; i++)
		l->net[i] = order->net[i];
	for (size_t i = 0; r == 0 && i < l->secrets.n; i++) {
		const struct secret *s = &l->secrets.v[i];
		char *text = NULL;
		if (rules_are_http(rules, s->host, s->port))
			continue;
		if (asprintf(&text, "* %s:%u/*", s->host, (unsigned)s->port) < 0)
			text = NULL;
		l->net[n++] = own(l, text);
		/* a second secret of the same host needs no second rule */
		r = rules_parse(rules, l->net, n, err);
	}
	free(rules);
	order->net = l->net;
	order->n_net = n;
	return r;
}

int secret_list_extend(struct secret_list *l, struct order *order, struct err *err)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < l->secrets.n; i++)
		r = check_env(order, &l->secrets.v[i], err);
	if (r < 0 || l->secrets.n == 0)
		return r;
	r = add_rules(l, order, err);
	add_env(l, order);
	order->secrets = &l->secrets;
	return r;
}

void secret_list_done(struct secret_list *l)
{
	secrets_done(&l->secrets);
	for (size_t i = 0; i < l->n_own; i++)
		free(l->own[i]);
	free(l->env);
	free(l->net);
	*l = (struct secret_list){.n_own = 0};
}
