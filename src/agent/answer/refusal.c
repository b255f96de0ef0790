/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/answer/refusal.h"

#include "base/json.h"

#include <string.h>

/* The reasons of the gateway for which a rule can be given. @prefix: what stands before the name in
 * that rule. */
static const struct {
	const char *reason, *prefix;
} cures[] = {
	{"no rule names it", ""},
	{"no rule names this port", ""},
	{"its address ", "!"},
};

static bool is_refused(const json_t *row)
{
	const char *verdict = json_get_text(row, "verdict");
	return strcmp(verdict, "refused") == 0 || strcmp(verdict, "failed") == 0;
}

/* Append the rule that would allow it, if there is one. */
static void add_cure(struct buf *out, const json_t *row, const char *how)
{
	const char *reason = json_get_text(row, "reason"), *name = json_get_text(row, "name");
	int64_t port = json_get_int(row, "port");
	for (size_t i = 0; i < ARRAY_LEN(cures); i++) {
		if (!strstr(reason, cures[i].reason))
			continue;
		bool is_quoted = cures[i].prefix[0] != '\0';
		buf_addf(out, ": %s%s%s%s", how, is_quoted ? "'" : "", cures[i].prefix, name);
		if (port && port != 80 && port != 443)
			buf_addf(out, ":%d", (int)port);
		buf_add(out, is_quoted ? "'" : "");
		return;
	}
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
