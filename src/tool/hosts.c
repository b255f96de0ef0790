/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/hosts.h"

#include "base/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char member[] = "retort/net", any[] = "any";

static bool is_host(const json_t *host)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789._*/-";
	const char *text = json_string_value(host);
	size_t bytes = json_string_length(host);
	return bytes > 0 && bytes <= TOOL_HOST_MAX_BYTES && strspn(text, letters) == bytes;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Collect the hosts that @meta declares, sorted, each once. Returns: how many. */
static uint32_t collect(const json_t *meta, const char *host[TOOL_HOSTS_MAX])
{
	const json_t *list = json_object_get(meta, member), *one;
	bool is_list = json_is_array(list) && json_array_size(list) <= TOOL_HOSTS_MAX;
	uint32_t n = 0, n_kept = 0;
	size_t i;
	if (!meta || json_is_null(meta) || (json_is_object(meta) && !list))
		return 0;
	json_array_foreach(is_list ? list : NULL, i, one)
	{
		is_list &= is_host(one);
		host[n++] = json_string_value(one);
	}
	if (!is_list) {
		host[0] = any;
		return 1;
	}
	if (n > 0)
		qsort(host, n, sizeof *host, compare);
	for (i = 0; i < n; i++)
		if (n_kept == 0 || strcmp(host[n_kept - 1], host[i]) != 0)
			host[n_kept++] = host[i];
	return n_kept;
}

int hosts_read(struct tool_shelf *shelf, const json_t *meta, struct tool *out)
{
	const char *host[TOOL_HOSTS_MAX], **kept;
	uint32_t n = collect(meta, host);
	if (n == 0)
		return 0;
	kept = shelf_take(shelf, n * sizeof *kept);
	for (uint32_t i = 0; kept && i < n; i++)
		if (!(kept[i] = shelf_text(shelf, host[i])))
			return -ENOMEM;
	out->host = kept;
	out->n_hosts = n;
	return kept ? 0 : -ENOMEM;
}

json_t *hosts_meta(const json_t *meta)
{
	const char *host[TOOL_HOSTS_MAX];
	uint32_t n = collect(meta, host);
	if (n == 0)
		return NULL;
	json_t *list = json_need(json_array());
	for (uint32_t i = 0; i < n; i++)
		json_add_text(list, host[i]);
	return json_pack("{s:o}", member, list);
}
