/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/answer/refusal.h"

#include "base/json.h"

#include <string.h>

/* The reasons of the gateway, and the rule that would allow what was refused: the name, with its
 * port, between @before and @behind. @behind NULL: @before is all of it. @before NULL: there is no
 * rule. */
static const struct {
	const char *reason, *before, *behind;
} cures[] = {
	{"no rule names it", "", ""},
	{"no rule names this port", "", ""},
	{"nobody is ", "", ""},
	{" is loopback", "NAME:PORT=127.0.0.1:PORT", NULL},
	{" is link-local", NULL, NULL},
	{" is private", "'!", "'"},
};

/* What a refused request follows, "GET /v1/x", of which a rule can be made. */
static const char request[] = "no rule allows ";
static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ-* ";

/* Names such as _http._tcp.api.example are asked for by clients that go on without an answer. */
static bool is_refused(const json_t *row)
{
	const char *verdict = json_get_text(row, "verdict");
	bool is_bad = strcmp(verdict, "refused") == 0 || strcmp(verdict, "failed") == 0;
	return is_bad && json_get_text(row, "name")[0] != '_';
}

static void add_place(struct buf *out, const json_t *row)
{
	int64_t port = json_get_int(row, "port");
	buf_add(out, json_get_text(row, "name"));
	if (port && port != 80 && port != 443)
		buf_addf(out, ":%d", (int)port);
}

/* Append the rule that would allow it, if there is one. */
static void add_cure(struct buf *out, const json_t *row, const char *how)
{
	const char *reason = json_get_text(row, "reason");
	const char *path = strchr(reason, '/');
	size_t i = 0;
	const char *method = reason + sizeof request - 1;
	if (path && strncmp(reason, request, sizeof request - 1) == 0) {
		/* The gateway is not trusted, and this is for shells. */
		if (strchr(reason, '\'') || strspn(method, letters) != (size_t)(path - method))
			return;
		buf_addf(out, ": %s'%.*s", how, (int)(path - method), method);
		add_place(out, row);
		buf_addf(out, "%s'", path);
		return;
	}
	while (i < ARRAY_LEN(cures) && !strstr(reason, cures[i].reason))
		i++;
	if (i == ARRAY_LEN(cures) || !cures[i].before)
		return;
	buf_addf(out, ": %s%s", how, cures[i].before);
	if (!cures[i].behind)
		return;
	add_place(out, row);
	buf_add(out, cures[i].behind);
}

bool refusal_add(struct buf *out, const json_t *record, const char *how)
{
	size_t i, n = 0;
	json_t *row;
	json_array_foreach(json_object_get(record, "network"), i, row)
	{
		int64_t port = json_get_int(row, "port");
		if (!is_refused(row) || n++ >= REFUSALS_SHOWN)
			continue;
		buf_addf(out, "net: %s", json_get_text(row, "name"));
		if (port)
			buf_addf(out, ":%d", (int)port);
		buf_addf(out, " %s: %s", json_get_text(row, "verdict"),
			json_get_text(row, "reason"));
		add_cure(out, row, how);
		buf_add(out, "\n");
	}
	if (n > REFUSALS_SHOWN)
		buf_addf(out, "net: … and %zu more\n", n - REFUSALS_SHOWN);
	return n > 0;
}
