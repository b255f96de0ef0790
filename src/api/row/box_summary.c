/* SPDX-License-Identifier: Apache-2.0 */
#include "api/row/box_summary.h"

#include "api/row/param.h"
#include "base/alloc.h"
#include "base/json.h"
#include "base/num.h"
#include "base/utf8.h"
#include "gateway/rule/secret.h"
#include "package/package.h"
#include "runtime/package.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { VOLUMES_SHOWN = 8, NAMES_SHOWN = 6, NAME_BYTES = 60 };

static void add_name(struct buf *out, const char *name, const struct stat *st)
{
	(void)utf8_escape_terminal(
		out, name, utf8_cut(name, strlen(name), NAME_BYTES), UTF8_ONE_LINE);
	if (S_ISDIR(st->st_mode))
		buf_add(out, "/");
	else
		buf_addf(out, " (%s)", num_format_bytes((uint64_t)st->st_size).text);
}

/* Return whether the file is shown, for scandir(). Hidden files are not. */
static int is_listed(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void add_names(struct buf *out, const char *path)
{
	struct dirent **names = NULL;
	int n = scandir(path, &names, is_listed, alphasort), n_shown = 0;
	for (int i = 0; i < n; i++) {
		struct stat st;
		cleanup_buf struct buf whole = BUF_INIT(1 << 16);
		bool is_there = n_shown < NAMES_SHOWN &&
			buf_addf(&whole, "%s/%s", path, names[i]->d_name) == 0 &&
			stat(buf_str(&whole), &st) == 0;
		if (is_there) {
			buf_add(out, n_shown++ ? ", " : ": ");
			add_name(out, names[i]->d_name, &st);
		}
		free(names[i]);
	}
	free(names);
	if (n > n_shown)
		buf_addf(out, "%s%d more", n_shown ? ", " : ": ", n - n_shown);
}

static void add_volume(struct buf *out, const char *src, const char *dst, bool is_writable)
{
	struct stat st;
	bool is_there = stat(src, &st) == 0, is_dir = is_there && S_ISDIR(st.st_mode);
	(void)utf8_escape_terminal(out, dst, utf8_cut(dst, strlen(dst), NAME_BYTES), UTF8_ONE_LINE);
	buf_addf(out, "%s (%s%s%s)", is_dir ? "/" : "",
		is_there && !is_dir ? num_format_bytes((uint64_t)st.st_size).text : "",
		is_there && !is_dir ? ", " : "", is_writable ? "writable" : "read-only");
	if (is_dir)
		add_names(out, src);
}

void box_summary_files(struct buf *out, const json_t *create)
{
	const json_t *volumes = json_object_get(create, "volumes");
	const char *workspace = param_text(create, "workspace", NULL);
	size_t i, n = json_array_size(volumes), before = out->bytes;
	json_t *row;
	if (workspace) {
		buf_add(out, "the working directory (writable)");
		add_names(out, workspace);
	}
	json_array_foreach(volumes, i, row)
	{
		if (i == VOLUMES_SHOWN)
			break;
		if (out->bytes > before)
			buf_add(out, "; ");
		add_volume(out, param_text(row, "src", ""), param_text(row, "dst", ""),
			strcmp(param_text(row, "mode", "ro"), "rw") == 0);
	}
	if (n > VOLUMES_SHOWN)
		buf_addf(out, "; %zu more", n - VOLUMES_SHOWN);
}

void box_summary_limits(struct buf *out, const json_t *create)
{
	const json_t *limits = json_object_get(create, "limits");
	uint64_t memory = param_count(limits, "memory_bytes", 0);
	uint64_t time = param_count(limits, "timeout_ms", 0);
	if (memory > 0 && time > 0)
		buf_addf(out, "%s of memory, %s per step", num_format_bytes(memory).text,
			num_format_ms(time).text);
}

/* Return whether @rule only says where a host is for which @create has a secret or a rule for
 * requests. */
static bool is_only_a_place(const char *rule, const json_t *create)
{
	size_t i, host = strcspn(rule, ":=");
	const json_t *other;
	if (!strchr(rule, '='))
		return false;
	json_array_foreach(json_object_get(create, "secrets"), i, other)
	{
		const char *to = param_text(other, "to", "");
		if (strncmp(to, rule, host) == 0 && strchr(":,", to[host]))
			return true;
	}
	json_array_foreach(json_object_get(create, "net"), i, other)
	{
		const char *space = strchr(json_string_value(other), ' ');
		if (space && strncmp(space + 1, rule, host) == 0 && strchr(":/", space[1 + host]))
			return true;
	}
	return false;
}

static bool is_ask(const char *text)
{
	text += *text == '!';
	size_t bytes = strcspn(text, ":");
	return bytes == 3 && strncasecmp(text, "ask", bytes) == 0;
}

void box_summary_net(struct buf *out, const json_t *create)
{
	bool asks = false;
	size_t i;
	const json_t *secret, *rule;
	const char *before = "";
	/* Secrets come first: a long text is cut. */
	json_array_foreach(json_object_get(create, "secrets"), i, secret)
	{
		const char *to = param_text(secret, "to", "");
		buf_addf(out, "%s%.*s with a key for headers in $%s", before, (int)strcspn(to, ","),
			to, param_text(secret, "name", ""));
		before = ", ";
	}
	json_array_foreach(json_object_get(create, "net"), i, rule)
	{
		const char *text = json_string_value(rule);
		asks = asks || is_ask(text);
		if (is_ask(text) || is_only_a_place(text, create))
			continue;
		buf_addf(out, "%s%.*s", before, (int)strcspn(text, strchr(text, ' ') ? "" : "="),
			text);
		before = ", ";
	}
	if (asks)
		buf_addf(out, "%shosts that the user allows when a program connects", before);
}

/* Add the hosts of the rules @net, in which sets of packages are replaced, as keys of @out. */
static int add_hosts(json_t *out, const char *const *net, size_t n)
{
	struct package_expansion e = {0};
	struct rules *rules = xnew(struct rules);
	struct err ignored = {0};
	int r = package_expand(&e, net, n, &ignored);
	if (r == 0)
		r = rules_parse(rules, e.has_set ? (const char *const *)e.net : net,
			e.has_set ? e.n_net : n, &ignored);
	for (size_t i = 0; r == 0 && i < rules->n; i++) {
		char host[RULE_HOSTS_BYTES];
		rule_write_hosts(&rules->v[i], host);
		/* A person may allow any host. */
		json_put_new(out, rules->v[i].kind == RULE_ASK ? "any" : host, json_true());
	}
	package_expansion_done(&e);
	free(rules);
	return r;
}

/* A secret allows requests to its host without a rule. */
static int add_secret_hosts(json_t *out, const json_t *secrets)
{
	const json_t *one;
	size_t i;
	json_array_foreach(secrets, i, one)
	{
		struct secret s = {0};
		struct err ignored = {0};
		char prefix[SECRET_PREFIX_BYTES];
		int r = secret_read_place(&s, prefix, param_text(one, "to", ""), &ignored);
		if (r < 0)
			return r;
		json_put_new(out, s.host, json_true());
	}
	return 0;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

json_t *box_summary_hosts(const json_t *create)
{
	const json_t *net = json_object_get(create, "net"), *rule;
	cleanup_json json_t *found = json_need(json_object());
	const char **text = xcalloc(json_array_size(net) + 1, sizeof *text), *host;
	size_t i, n = 0;
	json_t *out, *one;
	json_array_foreach(net, i, rule) text[n++] = json_string_value(rule);
	if (add_hosts(found, text, n) < 0 ||
		add_secret_hosts(found, json_object_get(create, "secrets")) < 0)
		json_put_new(found, "any", json_true());
	free(text);
	n = json_object_size(found);
	const char **sorted = xcalloc(n + 1, sizeof *sorted);
	i = 0;
	json_object_foreach(found, host, one) sorted[i++] = host;
	qsort(sorted, n, sizeof *sorted, by_text);
	out = n > 0 ? json_need(json_array()) : NULL;
	for (i = 0; i < n; i++)
		json_add_text(out, sorted[i]);
	free(sorted);
	return out;
}

static bool has_image(const json_t *create)
{
	return param_text(create, "rootfs", NULL) || param_text(create, "image", NULL);
}

bool box_summary_is_complete(const json_t *create)
{
	const json_t *preload = json_object_get(create, "preload");
	const char *python = param_text(create, "python", NULL);
	const char *slash = python ? strrchr(python, '/') : NULL;
	bool is_python = strcmp(param_text(create, "runtime", "python"), "python") == 0;
	struct stat st;
	size_t i;
	json_t *module;
	if (!is_python)
		return true;
	/* A path counts as a Python if the file name begins with "python", or if it is a
	 * directory, which is then that of a virtual environment. */
	if (python && strncmp(slash ? slash + 1 : python, "python", 6) != 0 &&
		!(stat(python, &st) == 0 && S_ISDIR(st.st_mode)))
		return false;
	json_array_foreach(preload, i, module)
	{
		if (has_image(create) || !package_has(python, json_string_value(module)))
			return false;
	}
	return true;
}

void box_summary_packages(struct buf *out, const json_t *create)
{
	if (!has_image(create))
		(void)package_list(param_text(create, "python", NULL), out);
}
